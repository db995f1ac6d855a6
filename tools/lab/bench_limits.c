/* SPDX-License-Identifier: Apache-2.0
 *
 * Measuring and looking up limits (bench_limits.h).
 */
#include "tools/lab/bench_limits.h"
#include "core/tessera_tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The device's limits at one footprint. */
typedef struct limits {
  uint64_t footprint_bytes;
  tsr_roofline_row *rows;
  size_t count;
} limits;

struct tsr_bench_limits {
  size_t count;
  limits at[];
};

tsr_bench_limits *tsr_bench_limits_create(size_t most) {
  return calloc(1, sizeof(tsr_bench_limits) + most * sizeof(limits));
}

void tsr_bench_limits_free(tsr_bench_limits *l) {
  for (size_t i = 0; l && i < l->count; i++) free(l->at[i].rows);
  free(l);
}

/* The nearest power of two. */
static uint64_t round_to_power(uint64_t bytes) {
  uint64_t power = 1;
  while (power <= bytes / 2) power *= 2;
  return bytes - power > power / 2 ? power * 2 : power;
}

/* Of a table in the host's memory the bus is what counts, and it has one rate. */
static uint64_t footprint_of(const tsr_table_info *info) {
  return info->host_bytes ? 1ull << 30 : round_to_power(info->bytes);
}

void tsr_bench_limits_measure(tsr_bench_limits *l, int device, const tsr_table_info *info) {
  tsr_error error;
  limits fresh = {.footprint_bytes = footprint_of(info)};
  for (size_t i = 0; i < l->count; i++)
    if (l->at[i].footprint_bytes == fresh.footprint_bytes) return;
  if (tsr_roofline(device, fresh.footprint_bytes, &fresh.rows, &fresh.count, &error)) {
    fprintf(stderr, "tessera: no limits to compare with: %s\n", error.message);
    fresh.rows = NULL;
    fresh.count = 0;
  }
  l->at[l->count++] = fresh;
}

double tsr_bench_limits_of(const tsr_bench_limits *l, const tsr_table_info *info, const char *name) {
  const tsr_roofline_row *best = NULL;
  for (size_t i = 0; name && i < l->count; i++) {
    if (l->at[i].footprint_bytes != footprint_of(info)) continue;
    for (size_t k = 0; k < l->at[i].count; k++) {
      const tsr_roofline_row *row = &l->at[i].rows[k];
      if (strcmp(row->name, name) != 0 || (strcmp(name, "read") == 0 && row->bytes < info->bucket_bytes)) continue;
      bool is_better = !best || row->bytes < best->bytes ||
                       (row->bytes == best->bytes && row->giga_per_second > best->giga_per_second);
      if (is_better) best = row;
    }
  }
  return best ? best->giga_per_second : 0;
}

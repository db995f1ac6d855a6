/* SPDX-License-Identifier: Apache-2.0
 *
 * `tessera roofline`: asks for the device's limits at each footprint and prints them.
 */
#include "tools/lab/roofline.h"

#include <stdlib.h>
#include <string.h>

#include "core/spec/number.h"
#include "core/tessera_tools.h"
#include "tools/lab/words.h"

enum { FOOTPRINTS_MAX = 16, DEVICES_MAX = 64, NUMBER_LETTERS_MAX = 24 };

typedef struct request {
  int device;
  uint64_t footprints[FOOTPRINTS_MAX];
  size_t footprint_count;
} request;

/* The limits at one footprint, in the order of the kernels, which is the same for all footprints. */
typedef struct column {
  tsr_roofline_row *rows;
  size_t count;
} column;

/* ---- The command line ------------------------------------------------------------------------ */

static const tsr_option options[] = {
    {"--device", "N", false, "Which GPU; 0."},
    {"--footprint", "BYTES,BYTES...", false, "Sizes of the memory that is accessed, as 64Mi,1Gi; 1Gi."},
    TSR_OPTION_END};

static tsr_status read_footprints(const char *text, request *r, tsr_error *error) {
  r->footprint_count = 0;
  for (const char *item = text; item;) {
    size_t letters = strcspn(item, ",");
    char number[NUMBER_LETTERS_MAX + 1] = "";
    uint64_t bytes = 0;
    if (letters <= NUMBER_LETTERS_MAX) memcpy(number, item, letters);
    if (!tsr_parse_u64(number, &bytes) || bytes < 1 << 20 || r->footprint_count == FOOTPRINTS_MAX)
      return tsr_fail(error, TSR_BAD_ARGUMENT,
                      "roofline: --footprint %s: must be 1 to %d numbers of bytes, each at least 1Mi, with commas "
                      "between, such as 64Mi,1Gi",
                      text, FOOTPRINTS_MAX);
    r->footprints[r->footprint_count++] = bytes;
    item = item[letters] ? item + letters + 1 : NULL;
  }
  return TSR_OK;
}

static tsr_status read_device(const char *text, request *r, tsr_error *error) {
  uint64_t number;
  if (!tsr_parse_u64(text, &number) || number >= DEVICES_MAX)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "roofline: --device %s: must be a number from 0 to %d", text,
                    DEVICES_MAX - 1);
  r->device = (int)number;
  return TSR_OK;
}

static tsr_status read_request(int argc, char **argv, request *r, tsr_error *error) {
  tsr_words words = {.command = "roofline", .options = options, .argc = argc, .argv = argv, .at = 1};
  const tsr_option *which;
  const char *value;
  tsr_status status = TSR_OK;
  *r = (request){.footprints = {1ull << 30}, .footprint_count = 1};
  while (status == TSR_OK && tsr_words_next(&words, &which, &value, &status, error)) {
    if (!which) return tsr_fail(error, TSR_BAD_ARGUMENT, "roofline: %s: there is nothing to name here", value);
    status = which == options ? read_device(value, r, error) : read_footprints(value, r, error);
  }
  return status;
}

/* ---- Measuring and printing ------------------------------------------------------------------ */

static void print_csv(const column *c) {
  for (size_t i = 0; i < c->count; i++)
    printf("%s,%u,%u,%llu,%.3f\n", c->rows[i].name, c->rows[i].bytes, c->rows[i].lanes,
           (unsigned long long)c->rows[i].footprint_bytes, c->rows[i].giga_per_second);
  fflush(stdout);
}

static void print_table(const request *r, const tsr_device_info *info, const column *columns) {
  printf("#\n# %s, sm_%u, %.1f GB of memory, %.1f MB of L2\n", info->name, info->sm, (double)info->memory_bytes / 1e9,
         (double)info->l2_bytes / 1e6);
  printf("# 10^9 operations a second (copy and the bus: bytes); MiB of footprint:\n# %-11s %5s %5s", "", "bytes",
         "lanes");
  for (size_t k = 0; k < r->footprint_count; k++) printf(" %9llu", (unsigned long long)(r->footprints[k] >> 20));
  printf("\n");
  for (size_t i = 0; i < columns[0].count; i++) {
    printf("# %-11s %5u %5u", columns[0].rows[i].name, columns[0].rows[i].bytes, columns[0].rows[i].lanes);
    for (size_t k = 0; k < r->footprint_count && i < columns[k].count; k++)
      printf(" %9.1f", columns[k].rows[i].giga_per_second);
    printf("\n");
  }
}

static tsr_status measure(const request *r, column *columns, tsr_error *error) {
  tsr_device_info info = {0};
  tsr_status status = tsr_device_describe(r->device, &info, error);
  if (status) return status;
  printf("name,bytes,lanes,footprint_bytes,giga_per_second\n");
  for (size_t k = 0; status == TSR_OK && k < r->footprint_count; k++) {
    status = tsr_roofline(r->device, r->footprints[k], &columns[k].rows, &columns[k].count, error);
    if (status == TSR_OK) print_csv(&columns[k]);
  }
  if (status == TSR_OK) print_table(r, &info, columns);
  if (status == TSR_OK && (fflush(stdout) || ferror(stdout)))
    status = tsr_fail(error, TSR_IO, "roofline: writing to standard output failed");
  return status;
}

const tsr_synopsis tsr_roofline_synopsis = {"roofline", "",
                                            "Measures the limits of a GPU's memory: random reads, compare-and-swaps, a "
                                            "copy, and copies to and from the host. Prints CSV, then a table.",
                                            options, NULL};

int tsr_roofline_command(int argc, char **argv) {
  request r;
  column columns[FOOTPRINTS_MAX] = {{NULL, 0}};
  tsr_error error;
  tsr_status status = read_request(argc, argv, &r, &error);
  if (status == TSR_OK) status = measure(&r, columns, &error);
  if (status) fprintf(stderr, "tessera: %s\n", error.message);
  for (size_t k = 0; k < FOOTPRINTS_MAX; k++) free(columns[k].rows);
  return status == TSR_OK ? 0 : status == TSR_BAD_ARGUMENT ? 2 : 1;
}

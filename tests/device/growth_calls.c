/* SPDX-License-Identifier: Apache-2.0
 *
 * How long each call takes that inserts a batch of new keys into a table that grows, as CSV: the median, the worst and their
 * ratio, for several tables one after the other, and beside each for a table that was made large. A call that is slow in one
 * of the tables alone was disturbed; one that is slow in all of them, and in none that was made large, is the growth's.
 * Calls above four medians go to standard error with the pairs that were there. Build //tests/device:growth_calls:
 *
 *   growth_calls SPEC KEYS_OF_A_CALL PAIRS [TABLES] [BACKEND]      TESSERA_PLUGINS names the plugins' folders
 *
 * The keys are in the table's memory, and each call is waited for. Read next: small_calls.c.
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "core/tessera_tools.h"

enum { FIRST_PAIRS = 1 << 16, TABLES = 3 };

typedef struct run {
  const tsr_spec *spec;
  uint64_t call_keys, pairs;
  double *ms, *sorted; /* of each call */
  long *preempted;     /* in each call, how often another thread got its core */
  uint32_t *keys;
} run;

static tsr_error error;

static void need(tsr_status status) {
  if (status == TSR_OK) return;
  fprintf(stderr, "growth_calls: %s\n", error.message);
  exit(1);
}

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static long preemptions(void) {
  struct rusage usage;
  return getrusage(RUSAGE_SELF, &usage) ? 0 : usage.ru_nivcsw;
}

static int compare(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Fills the table by calls. Returns how many there were. */
static size_t fill(const run *r, tsr_table *table, const uint32_t *keys) {
  size_t calls = 0;
  for (uint64_t done = 0; done + r->call_keys <= r->pairs; done += r->call_keys) {
    const long before = preemptions();
    const double start = now_ms();
    need(tsr_insert(table, r->call_keys, keys + done, keys + done, NULL, &error));
    need(tsr_table_wait(table, &error));
    r->ms[calls] = now_ms() - start;
    r->preempted[calls++] = preemptions() - before;
  }
  return calls;
}

static void tell(const run *r, const char *made, uint32_t number, size_t calls) {
  size_t worst = 0, above = 0;
  double all = 0;
  memcpy(r->sorted, r->ms, calls * sizeof *r->ms);
  qsort(r->sorted, calls, sizeof *r->sorted, compare);
  const double median = r->sorted[calls / 2];
  for (size_t i = 0; i < calls; i++) {
    if (r->ms[i] > r->ms[worst]) worst = i;
    all += r->ms[i];
    if (r->ms[i] <= 4 * median) continue;
    above++;
    fprintf(stderr,
            "%s table %" PRIu32 ": call %zu, with %" PRIu64
            " pairs, %.3f ms, %.1f ms from the first call, preempted %ld times\n",
            made, number, i, i * r->call_keys, r->ms[i], all, r->preempted[i]);
  }
  printf("%s,%" PRIu32 ",%" PRIu64 ",%zu,%.3f,%.3f,%zu,%.1f,%zu,%.0f\n", made, number, r->call_keys, calls, median,
         r->ms[worst], worst, r->ms[worst] / median, above, all);
}

/* Every pair is found, with its value. */
static void check(const run *r, tsr_table *table, const uint32_t *keys, uint64_t n) {
  uint32_t *found = malloc(n * sizeof *found);
  void *values;
  need(tsr_memory_allocate(table, n * sizeof *found, &values, &error));
  need(tsr_find(table, n, keys, values, NULL, &error));
  need(tsr_table_wait(table, &error));
  need(found ? tsr_memory_copy(table, found, values, n * sizeof *found, &error) : TSR_NO_MEMORY);
  for (uint64_t i = 0; i < n; i++)
    if (found[i] != r->keys[i]) {
      fprintf(stderr, "growth_calls: key %" PRIu32 " has value %" PRIu32 "\n", r->keys[i], found[i]);
      exit(1);
    }
  tsr_memory_free(table, values);
  free(found);
}

static void measure(const run *r, const char *made, uint32_t number, uint64_t capacity) {
  const tsr_options options = {.capacity = capacity};
  const uint64_t bytes = r->pairs * sizeof *r->keys;
  tsr_table *table = NULL;
  void *keys;
  uint64_t size = 0;
  need(tsr_table_create(r->spec, &options, &table, &error));
  need(tsr_memory_allocate(table, bytes, &keys, &error));
  need(tsr_memory_copy(table, keys, r->keys, bytes, &error));
  const size_t calls = fill(r, table, keys);
  need(tsr_size(table, &size, &error));
  if (size != calls * r->call_keys) {
    fprintf(stderr, "growth_calls: %" PRIu64 " pairs of %" PRIu64 "\n", size, calls * r->call_keys);
    exit(1);
  }
  check(r, table, keys, size);
  tell(r, made, number, calls);
  tsr_memory_free(table, keys);
  tsr_table_destroy(table);
}

int main(int argc, char **argv) {
  run r = {.call_keys = argc > 2 ? strtoull(argv[2], NULL, 10) : 0,
           .pairs = argc > 3 ? strtoull(argv[3], NULL, 10) : 0};
  const uint32_t tables = argc > 4 ? (uint32_t)strtoul(argv[4], NULL, 10) : TABLES;
  char setting[64];
  tsr_spec *spec = NULL;
  if (argc < 4 || !r.call_keys || r.pairs < r.call_keys)
    return fprintf(stderr, "usage: growth_calls SPEC KEYS_OF_A_CALL PAIRS [TABLES] [BACKEND]\n"), 2;
  snprintf(setting, sizeof setting, "table.backend=%s", argc > 5 ? argv[5] : "cuda");
  need(tsr_spec_read(argv[1], &spec, &error));
  need(tsr_spec_set(spec, setting, &error));
  r.spec = spec;
  const size_t calls = (size_t)(r.pairs / r.call_keys);
  r.ms = malloc(calls * sizeof *r.ms);
  r.sorted = malloc(calls * sizeof *r.sorted);
  r.preempted = malloc(calls * sizeof *r.preempted);
  r.keys = malloc(r.pairs * sizeof *r.keys);
  if (!r.ms || !r.sorted || !r.preempted || !r.keys) return fprintf(stderr, "growth_calls: no memory\n"), 1;
  for (uint64_t i = 0; i < r.pairs; i++) r.keys[i] = (uint32_t)i * 2654435761u; /* odd, so all differ */
  puts("table,number,keys,calls,median_ms,worst_ms,worst_call,ratio,above_four_medians,all_ms");
  for (uint32_t i = 0; i < tables; i++) {
    measure(&r, "growing", i, FIRST_PAIRS);
    measure(&r, "made large", i, r.pairs);
  }
  free(r.ms);
  free(r.sorted);
  free(r.preempted);
  free(r.keys);
  tsr_spec_free(spec);
  return 0;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Pairs in memory (pairs.h).
 */
#include "tools/cli/pairs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cli/data_file.h"

typedef struct pair {
  uint64_t key, value;
} pair;

static tsr_status no_memory(const tsr_pairs *p, const char *what, tsr_error *error) {
  return tsr_fail(error, TSR_NO_MEMORY, "no memory to %s %" PRIu64 " pairs", what, p->count);
}

tsr_status tsr_pairs_export(tsr_table *table, tsr_pairs *pairs, tsr_error *error) {
  tsr_table_info info = {0};
  tsr_table_describe(table, &info);
  *pairs = (tsr_pairs){.key_bits = info.key_bits, .value_bits = info.value_bits};
  tsr_status status = tsr_size(table, &pairs->count, error);
  if (status) return status;
  const uint64_t room = pairs->count;
  pairs->keys = malloc((room + 1) * (info.key_bits / 8));
  pairs->values = info.value_bits ? malloc((room + 1) * (info.value_bits / 8)) : NULL;
  if (!pairs->keys || (info.value_bits && !pairs->values)) return no_memory(pairs, "export", error);
  return tsr_export(table, room, pairs->keys, pairs->values, &pairs->count, error);
}

/* A value that is no number counts as 0. */
static pair pair_at(const tsr_pairs *p, uint64_t i) {
  const bool has_number = p->value_bits == 32 || p->value_bits == 64;
  return (pair){tsr_number_at(p->keys, p->key_bits, i), has_number ? tsr_number_at(p->values, p->value_bits, i) : 0};
}

static void put_pair(tsr_pairs *p, uint64_t i, pair put) {
  tsr_number_put(p->keys, p->key_bits, i, put.key);
  if (p->value_bits) tsr_number_put(p->values, p->value_bits, i, put.value);
}

void tsr_pairs_keep(tsr_pairs *pairs, uint64_t least) {
  uint64_t kept = 0;
  for (uint64_t i = 0; i < pairs->count; i++) {
    const pair one = pair_at(pairs, i);
    if (one.value >= least) put_pair(pairs, kept++, one);
  }
  pairs->count = kept;
}

static int compare(uint64_t a, uint64_t b) { return (a > b) - (a < b); }

static int by_key(const void *left, const void *right) {
  const pair *a = left, *b = right;
  const int order = compare(a->key, b->key);
  return order ? order : compare(a->value, b->value);
}

/* A pair with a value of bytes. */
typedef struct wide_pair {
  uint64_t key;
  const char *value;
  size_t bytes;
} wide_pair;

static int by_key_and_bytes(const void *left, const void *right) {
  const wide_pair *a = left, *b = right;
  const int order = compare(a->key, b->key);
  return order ? order : memcmp(a->value, b->value, a->bytes);
}

static tsr_status sort_wide(tsr_pairs *pairs, tsr_error *error) {
  const size_t bytes = pairs->value_bits / 8;
  wide_pair *sorted = malloc((pairs->count + 1) * sizeof *sorted);
  char *values = malloc((pairs->count + 1) * bytes);
  const bool has_memory = sorted && values;
  for (uint64_t i = 0; has_memory && i < pairs->count; i++)
    sorted[i] = (wide_pair){tsr_number_at(pairs->keys, pairs->key_bits, i), (char *)pairs->values + i * bytes, bytes};
  if (has_memory) qsort(sorted, pairs->count, sizeof *sorted, by_key_and_bytes);
  for (uint64_t i = 0; has_memory && i < pairs->count; i++) {
    tsr_number_put(pairs->keys, pairs->key_bits, i, sorted[i].key);
    memcpy(values + i * bytes, sorted[i].value, bytes);
  }
  char *useless = has_memory ? pairs->values : values;
  if (has_memory) pairs->values = values;
  free(useless);
  free(sorted);
  return has_memory ? TSR_OK : no_memory(pairs, "sort", error);
}

/* Turns the order of numbers with a sign into that of numbers without, and back. */
static void turn_signs(tsr_pairs *p) {
  const bool has_number = p->value_bits == 32 || p->value_bits == 64;
  for (uint64_t i = 0; p->signed_keys && i < p->count; i++)
    tsr_number_put(p->keys, p->key_bits, i, tsr_number_at(p->keys, p->key_bits, i) ^ UINT64_C(1) << (p->key_bits - 1));
  for (uint64_t i = 0; p->signed_values && has_number && i < p->count; i++)
    tsr_number_put(p->values, p->value_bits, i,
                   tsr_number_at(p->values, p->value_bits, i) ^ UINT64_C(1) << (p->value_bits - 1));
}

static tsr_status sort_pairs(tsr_pairs *pairs, tsr_error *error) {
  if (pairs->value_bits > 64) return sort_wide(pairs, error);
  pair *sorted = malloc((pairs->count + 1) * sizeof *sorted);
  if (!sorted) return no_memory(pairs, "sort", error);
  for (uint64_t i = 0; i < pairs->count; i++) sorted[i] = pair_at(pairs, i);
  qsort(sorted, pairs->count, sizeof *sorted, by_key);
  for (uint64_t i = 0; i < pairs->count; i++) put_pair(pairs, i, sorted[i]);
  free(sorted);
  return TSR_OK;
}

tsr_status tsr_pairs_sort(tsr_pairs *pairs, tsr_error *error) {
  turn_signs(pairs);
  tsr_status status = sort_pairs(pairs, error);
  turn_signs(pairs);
  return status;
}

tsr_status tsr_pairs_write(const tsr_pairs *pairs, uint32_t letters, const char *path, tsr_error *error) {
  const tsr_rows rows = {.keys = pairs->keys,
                         .values = pairs->values,
                         .count = pairs->count,
                         .key_bits = pairs->key_bits,
                         .value_bits = pairs->value_bits,
                         .letters = letters,
                         .signed_keys = pairs->signed_keys,
                         .signed_values = pairs->signed_values,
                         .names = {pairs->names ? pairs->names->key : "", pairs->names ? pairs->names->value : ""}};
  return tsr_rows_write(path, &rows, error);
}

/* ---- The histogram --------------------------------------------------------------------------- */

static int by_number(const void *left, const void *right) {
  return compare(*(const uint64_t *)left, *(const uint64_t *)right);
}

/* The end of the run of equal numbers that begins at `first`. */
static uint64_t end_of_run(const uint64_t *sorted, uint64_t count, uint64_t first) {
  uint64_t end = first + 1;
  while (end < count && sorted[end] == sorted[first]) end++;
  return end;
}

/* Sorts the numbers and puts in their place how often each occurs; returns how many different ones there are. */
static uint64_t count_equal(uint64_t *numbers, uint64_t count) {
  uint64_t different = 0;
  qsort(numbers, count, sizeof *numbers, by_number);
  for (uint64_t i = 0; i < count;) {
    const uint64_t end = end_of_run(numbers, count, i);
    numbers[different++] = end - i;
    i = end;
  }
  return different;
}

tsr_status tsr_pairs_histogram(const tsr_pairs *pairs, bool is_counted, tsr_error *error) {
  uint64_t count = pairs->count, *counts = malloc((count + 1) * sizeof *counts);
  if (!counts) return no_memory(pairs, "count", error);
  for (uint64_t i = 0; i < count; i++) {
    const pair one = pair_at(pairs, i);
    counts[i] = is_counted ? one.value : one.key;
  }
  if (!is_counted) count = count_equal(counts, count);
  qsort(counts, count, sizeof *counts, by_number);
  for (uint64_t i = 0, end; i < count; i = end) {
    end = end_of_run(counts, count, i);
    printf("%" PRIu64 " %" PRIu64 "\n", counts[i], end - i);
  }
  free(counts);
  return TSR_OK;
}

void tsr_pairs_free(tsr_pairs *pairs) {
  free(pairs->keys);
  free(pairs->values);
  *pairs = (tsr_pairs){.count = 0};
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Pairs in memory (pairs.h).
 */
#include "tools/cli/pairs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/spec/number.h"
#include "tools/cli/console.h"
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

static bool says(const tsr_spec *spec, const char *key, const char *word) {
  const char *value = tsr_spec_get(spec, "table", key);
  return value && strcmp(value, word) == 0;
}

uint32_t tsr_bits_of_stop(const tsr_table *table) {
  const tsr_spec *spec = tsr_table_spec(table);
  const char *bits = tsr_spec_get(spec, "table", "value_bits");
  tsr_table_info info = {0};
  tsr_table_describe(table, &info);
  if (says(spec, "kind", "counter")) return bits ? (uint32_t)strtoul(bits, NULL, 10) : info.value_bits;
  return says(spec, "overflow", "saturate") && says(spec, "duplicates", "add") ? info.value_bits : 0;
}

void tsr_say_stopped(const char *of, const tsr_table *table, const tsr_pairs *pairs) {
  const uint32_t bits = tsr_bits_of_stop(table);
  const uint64_t most = ~(uint64_t)0 >> (64 - bits);
  const char *what = says(tsr_table_spec(table), "kind", "counter") ? "count" : "sum";
  const char *advice = bits < 64 ? ". Use a larger value_bits" : "";
  uint64_t stopped = 0;
  const char *colon = *of ? ": " : "";
  if (!pairs)
    tsr_say("%s%s%ss passed the largest that fits, %" PRIu64 ", and stopped there%s", of, colon, what, most, advice);
  for (uint64_t i = 0; pairs && i < pairs->count; i++)
    stopped += tsr_number_at(pairs->values, pairs->value_bits, i) == most;
  if (stopped)
    tsr_say("%s%s%" PRIu64 " key%s the largest %s that fits, %" PRIu64 ": the true one may be larger%s", of, colon,
            stopped, stopped == 1 ? " has" : "s have", what, most, advice);
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

/* ---- Numbers with a sign --------------------------------------------------------------------- */

/* What the values of one key are made; the sum in 128 bits. */
typedef struct folded {
  int64_t least, greatest, high;
  uint64_t low;
} folded;

static int64_t signed_at(const tsr_pairs *p, uint64_t i) {
  const uint64_t value = tsr_number_at(p->values, p->value_bits, i);
  return p->value_bits == 32 ? (int64_t)(int32_t)(uint32_t)value : (int64_t)value;
}

static void fold_in(folded *f, int64_t value) {
  const uint64_t low = f->low + (uint64_t)value;
  f->high += (value < 0 ? -1 : 0) + (low < f->low);
  f->low = low;
  if (value < f->least) f->least = value;
  if (value > f->greatest) f->greatest = value;
}

tsr_status tsr_pairs_fold(tsr_pairs *pairs, tsr_fold how, tsr_error *error) {
  tsr_status status = tsr_pairs_sort(pairs, error);
  if (status) return status;
  int64_t *values = malloc((pairs->count + 1) * sizeof *values);
  uint64_t keys = 0, overflows = 0;
  if (!values) return no_memory(pairs, "add up", error);
  for (uint64_t i = 0, end; i < pairs->count; i = end) {
    const uint64_t key = tsr_number_at(pairs->keys, pairs->key_bits, i);
    folded f = {.least = INT64_MAX, .greatest = INT64_MIN};
    for (end = i; end < pairs->count && tsr_number_at(pairs->keys, pairs->key_bits, end) == key; end++)
      fold_in(&f, signed_at(pairs, end));
    overflows += f.high != (f.low >> 63 ? -1 : 0);
    values[keys] = how == TSR_FOLD_MIN ? f.least : how == TSR_FOLD_MAX ? f.greatest : (int64_t)f.low;
    tsr_number_put(pairs->keys, pairs->key_bits, keys++, key);
  }
  free(pairs->values);
  pairs->values = values;
  pairs->value_bits = 64;
  pairs->count = keys;
  if (how != TSR_FOLD_SUM || !overflows) return TSR_OK;
  return tsr_fail(error, TSR_IO, "the sums of %" PRIu64 " key%s are beyond -2^63 to 2^63 - 1", overflows,
                  overflows == 1 ? "" : "s");
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

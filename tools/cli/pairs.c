/* SPDX-License-Identifier: Apache-2.0
 *
 * Pairs in memory (pairs.h).
 */
#define _GNU_SOURCE /* qsort_r */
#include "tools/cli/pairs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/spec/number.h"
#include "tools/cli/console.h"
#include "tools/cli/data_file.h"
#include "tools/cli/sort.h"
#include "tools/cli/tally.h"
#include "tools/cli/texts.h"

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
    const uint64_t value = tsr_number_at(pairs->values, pairs->value_bits, i);
    if (value < least) continue;
    tsr_key_put(pairs->keys, pairs->key_bits, kept, tsr_key_at(pairs->keys, pairs->key_bits, i));
    tsr_number_put(pairs->values, pairs->value_bits, kept++, value);
  }
  pairs->count = kept;
}

/* The number by which a key of several columns is sorted: the first column comes first, and signs are turned. */
static tsr_any_key order_of(tsr_any_key key, const tsr_key_parts *parts) {
  tsr_any_key order = 0;
  for (uint32_t c = 0; c < parts->count; c++) {
    const tsr_key_part *part = &parts->part[c];
    const tsr_any_key sign = part->is_signed ? (tsr_any_key)1 << (8 * part->bytes - 1) : 0;
    const tsr_any_key number = key >> (8 * part->offset) & tsr_part_mask(part);
    order = order << (8 * part->bytes) | (number ^ sign);
  }
  return order;
}

/* The key of such a number. */
static tsr_any_key key_of(tsr_any_key order, const tsr_key_parts *parts) {
  tsr_any_key key = 0;
  for (uint32_t c = parts->count; c-- > 0;) {
    const tsr_key_part *part = &parts->part[c];
    const tsr_any_key sign = part->is_signed ? (tsr_any_key)1 << (8 * part->bytes - 1) : 0;
    key |= ((order & tsr_part_mask(part)) ^ sign) << (8 * part->offset);
    order >>= 8 * part->bytes;
  }
  return key;
}

static void turn_keys(tsr_pairs *p, tsr_any_key (*turn)(tsr_any_key, const tsr_key_parts *)) {
  for (uint64_t i = 0; p->form && p->form->parts.count && i < p->count; i++)
    tsr_key_put(p->keys, p->key_bits, i, turn(tsr_key_at(p->keys, p->key_bits, i), &p->form->parts));
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

/* What is sorted: items of one word, key and value, or of two. With values of bytes the second word is the pair's number. */
typedef struct items {
  uint64_t *word, *spare;
  uint32_t words;
  char *bytes; /* the values that numbers stand for */
} items;

static bool take_items(const tsr_pairs *p, items *all) {
  const bool is_wide = p->value_bits > 64;
  all->words = !is_wide && p->key_bits + p->value_bits <= 64 ? 1 : 2;
  all->word = malloc((p->count + 1) * all->words * sizeof *all->word);
  for (uint64_t i = 0; all->word && i < p->count; i++) {
    const pair one = pair_at(p, i);
    if (all->words == 1) {
      all->word[i] = p->value_bits ? one.key << p->value_bits | one.value : one.key;
    } else {
      all->word[2 * i] = one.key;
      all->word[2 * i + 1] = is_wide ? i : one.value;
    }
  }
  return all->word != NULL;
}

static bool put_items(tsr_pairs *p, const items *all) {
  const size_t value_bytes = p->value_bits / 8;
  p->keys = malloc((p->count + 1) * (p->key_bits / 8));
  p->values = value_bytes ? malloc((p->count + 1) * value_bytes) : NULL;
  if (!p->keys || (value_bytes && !p->values)) return false;
  for (uint64_t i = 0; i < p->count; i++) {
    const uint64_t first = all->word[i * all->words];
    const uint64_t value = all->words == 2 ? all->word[2 * i + 1] : first;
    const uint64_t key = all->words == 2 || !value_bytes ? first : first >> p->value_bits;
    if (all->bytes) memcpy((char *)p->values + i * value_bytes, all->bytes + value * value_bytes, value_bytes);
    if (all->bytes)
      tsr_number_put(p->keys, p->key_bits, i, key);
    else
      put_pair(p, i, (pair){key, value});
  }
  return true;
}

static void sort_items(items *all, uint64_t n, uint32_t low_bits) {
  uint64_t *sorted = tsr_sort(all->word, all->spare, n, all->words, low_bits);
  if (sorted == all->word) return;
  all->spare = all->word;
  all->word = sorted;
}

static void swap_words(const items *all, uint64_t n) {
  for (uint64_t i = 0; i < n; i++) {
    const uint64_t key = all->word[2 * i];
    all->word[2 * i] = all->word[2 * i + 1];
    all->word[2 * i + 1] = key;
  }
}

typedef struct wide_values {
  const char *bytes;
  size_t size;
} wide_values;

static int by_bytes(const void *left, const void *right, void *values) {
  const wide_values *v = values;
  return memcmp(v->bytes + ((const uint64_t *)left)[1] * v->size, v->bytes + ((const uint64_t *)right)[1] * v->size,
                v->size);
}

/* Puts pairs of one key in the order of their values. Few tables have such pairs, so keys are sorted alone first. */
static void sort_values(items *all, uint64_t n, uint32_t value_bits) {
  const uint32_t words = all->words, shift = words == 1 ? value_bits : 0;
  wide_values values = {all->bytes, value_bits / 8};
  bool repeats = false;
  for (uint64_t i = 0, end; i < n; i = end) {
    for (end = i + 1; end < n && all->word[end * words] >> shift == all->word[i * words] >> shift; end++) continue;
    if (all->bytes && end - i > 1) qsort_r(all->word + 2 * i, end - i, 2 * sizeof *all->word, by_bytes, &values);
    repeats = repeats || end - i > 1;
  }
  if (all->bytes || !repeats) return;
  if (words == 2) {
    swap_words(all, n);
    sort_items(all, n, 0);
    swap_words(all, n);
  }
  sort_items(all, n, 0);
}

/* Items take as much memory as keys and values, which are freed meanwhile. */
static tsr_status sort_pairs(tsr_pairs *pairs, tsr_error *error) {
  items all = {.words = 0};
  if (!take_items(pairs, &all)) return no_memory(pairs, "sort", error);
  free(pairs->keys);
  if (pairs->value_bits > 64)
    all.bytes = pairs->values;
  else
    free(pairs->values);
  pairs->keys = pairs->values = NULL;
  all.spare = malloc((pairs->count + 1) * all.words * sizeof *all.spare);
  if (all.spare) sort_items(&all, pairs->count, all.words == 1 ? pairs->value_bits : 0);
  if (all.spare && pairs->value_bits) sort_values(&all, pairs->count, pairs->value_bits);
  const bool has_memory = all.spare != NULL;
  free(all.spare);
  const tsr_status status = has_memory && put_items(pairs, &all) ? TSR_OK : no_memory(pairs, "sort", error);
  free(all.word);
  free(all.bytes);
  return status;
}

/* ---- Keys of 128 bits ------------------------------------------------------------------------ */

enum { WORD_OF_VALUE, WORD_OF_LOW, WORD_OF_HIGH, WORDS };

static uint64_t word_at(const tsr_pairs *p, uint64_t i, uint32_t which) {
  if (which == WORD_OF_VALUE) return tsr_number_at(p->values, p->value_bits, i);
  return (uint64_t)(tsr_key_at(p->keys, p->key_bits, i) >> (which == WORD_OF_HIGH ? 64 : 0));
}

/* Sorts the pairs' numbers, which are second words, by one word of each after the other, the last one first. */
static void sort_wide(const tsr_pairs *p, items *order) {
  for (uint64_t i = 0; i < p->count; i++) order->word[2 * i + 1] = i;
  for (uint32_t which = 0; which < WORDS; which++) {
    if (which == WORD_OF_VALUE && p->value_bits != 32 && p->value_bits != 64) continue;
    for (uint64_t i = 0; i < p->count; i++) order->word[2 * i] = word_at(p, order->word[2 * i + 1], which);
    sort_items(order, p->count, 0);
  }
  if (p->value_bits <= 64) return;
  wide_values values = {p->values, p->value_bits / 8};
  for (uint64_t i = 0, end; i < p->count; i = end) {
    const tsr_any_key key = tsr_key_at(p->keys, p->key_bits, order->word[2 * i + 1]);
    for (end = i + 1; end < p->count && tsr_key_at(p->keys, p->key_bits, order->word[2 * end + 1]) == key; end++)
      continue;
    if (end - i > 1) qsort_r(order->word + 2 * i, end - i, 2 * sizeof *order->word, by_bytes, &values);
  }
}

/* The items of an array of that size, in an order. */
static void *in_order(const void *array, size_t bytes, const uint64_t *order, uint64_t count) {
  char *moved = malloc((count + 1) * bytes);
  for (uint64_t i = 0; moved && i < count; i++)
    memcpy(moved + i * bytes, (const char *)array + order[2 * i + 1] * bytes, bytes);
  return moved;
}

/* Puts the pairs in an order of their numbers, which are second words. */
static tsr_status take_order(tsr_pairs *p, const uint64_t *order, tsr_error *error) {
  void *keys = in_order(p->keys, p->key_bits / 8, order, p->count);
  void *values = p->value_bits ? in_order(p->values, p->value_bits / 8, order, p->count) : NULL;
  if (!keys || (p->value_bits && !values)) {
    free(keys);
    free(values);
    return no_memory(p, "sort", error);
  }
  free(p->keys);
  free(p->values);
  p->keys = keys;
  p->values = values;
  return TSR_OK;
}

static tsr_status sort_wide_pairs(tsr_pairs *p, tsr_error *error) {
  const size_t bytes = (p->count + 1) * 2 * sizeof(uint64_t);
  items order = {.word = malloc(bytes), .spare = malloc(bytes), .words = 2};
  const bool has_memory = order.word && order.spare;
  if (has_memory) sort_wide(p, &order);
  const tsr_status status = has_memory ? take_order(p, order.word, error) : no_memory(p, "sort", error);
  free(order.word);
  free(order.spare);
  return status;
}

/* ---- Keys that are texts --------------------------------------------------------------------- */

typedef struct text_order {
  const char **texts;
  size_t *bytes;
} text_order;

/* Of numbers of pairs that are in the order of their values: the lower one comes first. */
static int by_text(const void *left, const void *right, void *order) {
  const text_order *o = order;
  const uint64_t i = ((const uint64_t *)left)[1], k = ((const uint64_t *)right)[1];
  const size_t a = o->texts[i] ? o->bytes[i] : 0, b = o->texts[k] ? o->bytes[k] : 0;
  const int is = memcmp(o->texts[i] ? o->texts[i] : "", o->texts[k] ? o->texts[k] : "", a < b ? a : b);
  return is ? is : a != b ? (a < b ? -1 : 1) : i < k ? -1 : i > k;
}

/* Sorts pairs, which are in the order of their keys and values, by the bytes of the texts. */
static tsr_status sort_texts(tsr_pairs *p, tsr_error *error) {
  text_order order = {malloc((p->count + 1) * sizeof *order.texts), malloc((p->count + 1) * sizeof *order.bytes)};
  uint64_t *numbers = malloc((p->count + 1) * 2 * sizeof *numbers);
  tsr_status status = order.texts && order.bytes && numbers ? TSR_OK : no_memory(p, "sort", error);
  if (status == TSR_OK) status = tsr_texts_find(p->form->texts, p->count, p->keys, order.texts, order.bytes, error);
  if (status == TSR_OK) {
    for (uint64_t i = 0; i < p->count; i++) numbers[2 * i + 1] = i;
    qsort_r(numbers, p->count, 2 * sizeof *numbers, by_text, &order);
    tsr_texts_done(p->form->texts);
    status = take_order(p, numbers, error);
  }
  free(order.texts);
  free(order.bytes);
  free(numbers);
  return status;
}

tsr_status tsr_pairs_sort(tsr_pairs *pairs, tsr_error *error) {
  turn_signs(pairs);
  turn_keys(pairs, order_of);
  const tsr_status status = pairs->key_bits > 64 ? sort_wide_pairs(pairs, error) : sort_pairs(pairs, error);
  if (status) return status;
  turn_keys(pairs, key_of);
  turn_signs(pairs);
  return tsr_form_texts(pairs->form) ? sort_texts(pairs, error) : TSR_OK;
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
    const tsr_any_key key = tsr_key_at(pairs->keys, pairs->key_bits, i);
    folded f = {.least = INT64_MAX, .greatest = INT64_MIN};
    for (end = i; end < pairs->count && tsr_key_at(pairs->keys, pairs->key_bits, end) == key; end++)
      fold_in(&f, signed_at(pairs, end));
    overflows += f.high != (f.low >> 63 ? -1 : 0);
    values[keys] = how == TSR_FOLD_MIN ? f.least : how == TSR_FOLD_MAX ? f.greatest : (int64_t)f.low;
    tsr_key_put(pairs->keys, pairs->key_bits, keys++, key);
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
                         .form = pairs->form,
                         .letters = letters,
                         .signed_keys = pairs->signed_keys,
                         .signed_values = pairs->signed_values,
                         .names = {pairs->names ? pairs->names->key : "", pairs->names ? pairs->names->value : ""}};
  return tsr_rows_write(path, &rows, error);
}

/* ---- The histogram --------------------------------------------------------------------------- */

/* The end of the run of equal numbers that begins at `first`. */
static uint64_t end_of_run(const uint64_t *sorted, uint64_t count, uint64_t first) {
  uint64_t end = first + 1;
  while (end < count && sorted[end] == sorted[first]) end++;
  return end;
}

/* Puts in the place of sorted numbers how often each occurs; returns how many different ones there are. */
static uint64_t count_equal(uint64_t *numbers, uint64_t count) {
  uint64_t different = 0;
  for (uint64_t i = 0; i < count;) {
    const uint64_t end = end_of_run(numbers, count, i);
    numbers[different++] = end - i;
    i = end;
  }
  return different;
}

static void print_runs(const uint64_t *sorted, uint64_t count) {
  for (uint64_t i = 0, end; i < count; i = end) {
    end = end_of_run(sorted, count, i);
    printf("%" PRIu64 " %" PRIu64 "\n", sorted[i], end - i);
  }
}

static tsr_status print_values(const tsr_pairs *p, tsr_error *error) {
  tsr_tally *tally = calloc(1, sizeof *tally);
  if (!tally) return no_memory(p, "count", error);
  for (uint64_t i = 0; i < p->count; i++) tsr_tally_add(tally, tsr_number_at(p->values, p->value_bits, i));
  const tsr_status status = tsr_tally_print(tally, 0, error);
  tsr_tally_end(tally);
  free(tally);
  return status;
}

/* How many pairs each key has. *count: of keys. False: no memory. */
static bool take_numbers(tsr_pairs *p, items *all, uint64_t *count) {
  if (p->key_bits <= 64) {
    for (uint64_t i = 0; i < p->count; i++) all->word[i] = tsr_number_at(p->keys, p->key_bits, i);
    sort_items(all, *count, 0);
    *count = count_equal(all->word, *count);
    return true;
  }
  tsr_error error;
  if (tsr_pairs_sort(p, &error)) return false;
  *count = 0;
  for (uint64_t i = 0, end; i < p->count; i = end) {
    const tsr_any_key key = tsr_key_at(p->keys, p->key_bits, i);
    for (end = i + 1; end < p->count && tsr_key_at(p->keys, p->key_bits, end) == key; end++) continue;
    all->word[(*count)++] = end - i;
  }
  return true;
}

static bool print_pairs_of_keys(tsr_pairs *p) {
  uint64_t count = p->count;
  items all = {
      .word = malloc((count + 1) * sizeof *all.word), .spare = malloc((count + 1) * sizeof *all.word), .words = 1};
  const bool has_memory = all.word && all.spare && take_numbers(p, &all, &count);
  if (has_memory) sort_items(&all, count, 0);
  if (has_memory) print_runs(all.word, count);
  free(all.word);
  free(all.spare);
  return has_memory;
}

tsr_status tsr_pairs_histogram(tsr_pairs *pairs, bool is_counted, tsr_error *error) {
  if (is_counted) return print_values(pairs, error);
  return print_pairs_of_keys(pairs) ? TSR_OK : no_memory(pairs, "count", error);
}

void tsr_pairs_free(tsr_pairs *pairs) {
  free(pairs->keys);
  free(pairs->values);
  *pairs = (tsr_pairs){.count = 0};
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * tsr_key_column: a column of keys, what it tells, and the rows of other keys in it. Read next: column.h.
 */
#include <stdlib.h>
#include <string.h>

#include "core/cpu/column.h"
#include "core/cpu/parallel.h"
#include "core/sized.h"

static tsr_status no_memory(const char *call, uint64_t n, tsr_error *error) {
  return tsr_fail(error, TSR_NO_MEMORY, "%s: no memory for %llu rows", call, (unsigned long long)n);
}

static tsr_status check_rows(const char *call, uint64_t n, const void *keys, tsr_error *error) {
  if (n > TSR_KEY_COLUMN_MOST)
    return tsr_fail(error, TSR_UNSUPPORTED, "%s: n = %llu: a column has at most %llu rows: pass it in parts", call,
                    (unsigned long long)n, (unsigned long long)TSR_KEY_COLUMN_MOST);
  if (n && !keys)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: keys is NULL, but n = %llu", call, (unsigned long long)n);
  return TSR_OK;
}

/* ---- A column -------------------------------------------------------------------------------- */

tsr_status tsr_key_column_create(uint32_t key_bits, uint32_t detail, uint64_t n, const void *keys, int64_t *numbers,
                                 tsr_key_column **column, uint64_t *distinct, tsr_error *error) {
  if (!column || !distinct)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_key_column_create: column or distinct is NULL");
  if (key_bits != 32 && key_bits != 64)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_key_column_create: key_bits = %u: it is 32 or 64", key_bits);
  if (detail > TSR_KEY_COLUMN_NUMBERS)
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "tsr_key_column_create: detail = %u: it is TSR_KEY_COLUMN_KEYS, _COUNTS or _NUMBERS", detail);
  if (numbers && detail != TSR_KEY_COLUMN_NUMBERS)
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "tsr_key_column_create: detail = %u: numbers are written with TSR_KEY_COLUMN_NUMBERS", detail);
  *column = NULL;
  *distinct = 0;
  tsr_status status = check_rows("tsr_key_column_create", n, keys, error);
  if (status) return status;
  tsr_key_column *c = calloc(1, sizeof *c);
  if (!c) return no_memory("tsr_key_column_create", n, error);
  *c = (tsr_key_column){.keys = keys, .n = n, .key_bytes = key_bits / 8, .detail = detail, .written = numbers};
  if (n && !tsr_key_column_number(c)) {
    tsr_key_column_free(c);
    return no_memory("tsr_key_column_create", n, error);
  }
  *column = c;
  *distinct = c->size;
  return TSR_OK;
}

void tsr_key_column_free(tsr_key_column *c) {
  if (!c) return;
  for (uint32_t i = 0; c->sets && i < 1u << c->parts_log2; i++) tsr_key_column_set_free(&c->sets[i]);
  free(c->sets);
  free(c->ids);
  free(c->bases);
  free(c->numbers);
  free(c->firsts);
  free(c->counts);
  free(c->begins);
  free(c->rows);
  free(c);
}

typedef struct telling {
  const tsr_key_column *column;
  const tsr_key_column_arrays *arrays;
} telling;

static void tell_counts(void *argument, uint64_t begin, uint64_t end) {
  const telling *t = argument;
  for (uint64_t i = begin; i < end; i++) {
    const tsr_key_column_set *set = &t->column->sets[i];
    const tsr_key_column_slot *slots = set->slots;
    for (uint64_t s = 0; s < 1ull << set->bits; s++)
      if (slots[s].key) t->arrays->counts[slots[s].number] = slots[s].count;
  }
}

/* Short slots have no counts. */
static void tell_short_counts(const tsr_key_column *c, uint64_t *counts) {
  for (uint64_t i = 0; i < c->size; i++) counts[i] = c->counts ? c->counts[i] : 0;
  for (uint64_t i = 0; i < c->n && !c->counts; i++) counts[tsr_key_column_number_of(c, i)]++;
}

static void tell_all_counts(const telling *t) {
  const tsr_key_column *c = t->column;
  uint64_t *counts = t->arrays->counts;
  if (c->sets[0].form == TSR_KEY_COLUMN_SHORT) {
    tell_short_counts(c, counts);
    return;
  }
  tsr_parallel_each(1ull << c->parts_log2, tell_counts, (void *)t);
  counts[0] = c->n; /* the first key has no slot */
  for (uint64_t i = 1; i < c->size; i++) counts[0] -= counts[i];
}

static void tell_keys(void *argument, uint64_t begin, uint64_t end) {
  const telling *t = argument;
  const tsr_key_column *c = t->column;
  for (uint64_t i = begin; i < end; i++) {
    const uint64_t row = c->firsts[i];
    if (t->arrays->firsts) t->arrays->firsts[i] = (int64_t)row;
    if (t->arrays->keys && c->key_bytes == sizeof(uint64_t))
      ((uint64_t *)t->arrays->keys)[i] = ((const uint64_t *)c->keys)[row];
    if (t->arrays->keys && c->key_bytes == sizeof(uint32_t))
      ((uint32_t *)t->arrays->keys)[i] = ((const uint32_t *)c->keys)[row];
  }
}

tsr_status tsr_key_column_tell(tsr_key_column *c, const tsr_key_column_arrays *arrays, tsr_error *error) {
  tsr_key_column_arrays known;
  tsr_status status = tsr_take_over("tsr_key_column_tell", &known, arrays, sizeof known, error);
  if (status == TSR_OK && !c) status = tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_key_column_tell: the column is NULL");
  const uint32_t asked = known.numbers || known.short_numbers ? TSR_KEY_COLUMN_NUMBERS
                         : known.counts                       ? TSR_KEY_COLUMN_COUNTS
                                                              : TSR_KEY_COLUMN_KEYS;
  if (status == TSR_OK && asked > c->detail)
    status = tsr_fail(error, TSR_BAD_ARGUMENT,
                      "tsr_key_column_tell: the column was created without %s: create it with TSR_KEY_COLUMN_%s",
                      known.counts && !c->detail ? "counts" : "numbers",
                      asked == TSR_KEY_COLUMN_NUMBERS ? "NUMBERS" : "COUNTS");
  if (status || !c->n) return status;
  telling t = {c, &known};
  tsr_key_column_write(c, known.numbers, known.short_numbers);
  if (known.counts) tell_all_counts(&t);
  if (known.firsts || known.keys) tsr_parallel_for(c->size, tell_keys, &t);
  return TSR_OK;
}

/* ---- Other keys in a column ------------------------------------------------------------------- */

typedef struct search {
  const tsr_key_column *column;
  const void *keys;
  int64_t *numbers;
  uint8_t *present;
} search;

/* Its arguments from is_wide on are constants where this is called. */
__attribute__((always_inline)) static inline void search_each(const search *all, uint64_t begin, uint64_t end,
                                                              bool is_wide, tsr_key_column_form form, bool has_parts) {
  const search s = *all;
  const tsr_key_column_set *const sets = s.column->sets, first = sets[0];
  const uint32_t log2 = s.column->parts_log2;
  const uint64_t asked = begin + tsr_key_column_asked(&first, end - begin);
  for (uint64_t i = begin; i < end; i++) {
    if (i < asked) {
      const uint64_t ahead = tsr_key_column_key(s.keys, i + TSR_KEY_COLUMN_AHEAD, is_wide) ^ first.base;
      const uint64_t hash = tsr_key_column_hash(ahead);
      const tsr_key_column_set *set = has_parts ? &sets[tsr_key_column_part(hash, log2)] : &first;
      tsr_key_column_ask(set->slots, tsr_key_column_home(set, hash), is_wide, form);
    }
    const uint64_t key = tsr_key_column_key(s.keys, i, is_wide) ^ first.base;
    const tsr_key_column_set *set = has_parts ? &sets[tsr_key_column_part(tsr_key_column_hash(key), log2)] : &first;
    const uint64_t at = tsr_key_column_seek(set, key, is_wide, form);
    const bool is_there = tsr_key_column_slot_key(set->slots, at, is_wide, form) == key;
    if (s.numbers && form != TSR_KEY_COLUMN_PLAIN) { /* without a branch, which nobody could foresee */
      const int64_t number = form == TSR_KEY_COLUMN_SHORT ? ((const tsr_key_column_short *)set->slots)[at].word
                                                          : ((const tsr_key_column_slot *)set->slots)[at].number;
      const int64_t absent = (int64_t)is_there - 1;
      s.numbers[i] = number | absent;
    }
    if (s.present) s.present[i] = is_there;
  }
}

static void search_rows(void *argument, uint64_t begin, uint64_t end) {
  const search *s = argument;
  const bool is_wide = s->column->key_bytes == sizeof(uint64_t);
  const tsr_key_column_form WHOLE = TSR_KEY_COLUMN_WHOLE, SHORT = TSR_KEY_COLUMN_SHORT, PLAIN = TSR_KEY_COLUMN_PLAIN;
  if (s->column->sets[0].form == PLAIN)
    is_wide ? search_each(s, begin, end, true, PLAIN, false) : search_each(s, begin, end, false, PLAIN, false);
  else if (s->column->sets[0].form == SHORT)
    search_each(s, begin, end, false, SHORT, false);
  else if (s->column->parts_log2)
    is_wide ? search_each(s, begin, end, true, WHOLE, true) : search_each(s, begin, end, false, WHOLE, true);
  else
    is_wide ? search_each(s, begin, end, true, WHOLE, false) : search_each(s, begin, end, false, WHOLE, false);
}

static void answer_none(void *argument, uint64_t begin, uint64_t end) {
  const search *s = argument;
  for (uint64_t i = begin; i < end; i++) {
    if (s->numbers) s->numbers[i] = -1;
    if (s->present) s->present[i] = 0;
  }
}

tsr_status tsr_key_column_find(tsr_key_column *c, uint64_t n, const void *keys, int64_t *numbers, uint8_t *present,
                               tsr_error *error) {
  search s = {.column = c, .keys = keys, .numbers = numbers, .present = present};
  tsr_status status = check_rows("tsr_key_column_find", n, keys, error);
  if (status == TSR_OK && !c) status = tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_key_column_find: the column is NULL");
  if (status == TSR_OK && numbers && c->detail == TSR_KEY_COLUMN_KEYS)
    status = tsr_fail(error, TSR_BAD_ARGUMENT,
                      "tsr_key_column_find: the column was created without numbers: create it with "
                      "TSR_KEY_COLUMN_COUNTS or _NUMBERS");
  if (status) return status;
  for (uint32_t i = 0; c->sets && i < 1u << c->parts_log2; i++)
    tsr_key_column_set_spread(&c->sets[i], n >> c->parts_log2);
  tsr_parallel_for(n, c->n ? search_rows : answer_none, &s);
  return status;
}

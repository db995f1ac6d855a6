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

/* Memory for the numbers that the first write gives. */
static bool make_numbers(tsr_key_column *c) {
  if (!c->parts.keys) return true;
  c->bases = calloc(c->set_count + 1, sizeof *c->bases);
  c->numbers = tsr_key_column_memory(c->size * sizeof *c->numbers);
  c->firsts = tsr_key_column_memory(c->size * sizeof *c->firsts);
  for (uint32_t p = 0; c->bases && p < c->set_count; p++) c->bases[p + 1] = c->bases[p] + c->sets[p].size;
  return c->bases && c->numbers && c->firsts;
}

tsr_status tsr_key_column_create(uint32_t key_bits, uint64_t n, const void *keys, tsr_key_column **column,
                                 uint64_t *distinct, tsr_error *error) {
  if (!column || !distinct)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_key_column_create: column or distinct is NULL");
  if (key_bits != 32 && key_bits != 64)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_key_column_create: key_bits = %u: it is 32 or 64", key_bits);
  *column = NULL;
  *distinct = 0;
  tsr_status status = check_rows("tsr_key_column_create", n, keys, error);
  if (status) return status;
  tsr_key_column *c = calloc(1, sizeof *c);
  if (!c) return no_memory("tsr_key_column_create", n, error);
  *c = (tsr_key_column){.keys = keys, .n = n, .key_bytes = key_bits / 8};
  if (n && !(tsr_key_column_number(c) && make_numbers(c))) {
    tsr_key_column_free(c);
    return no_memory("tsr_key_column_create", n, error);
  }
  *column = c;
  *distinct = c->size;
  return TSR_OK;
}

void tsr_key_column_free(tsr_key_column *c) {
  if (!c) return;
  for (uint32_t i = 0; c->sets && i < c->set_count; i++) tsr_key_column_set_free(&c->sets[i]);
  tsr_key_column_parts_free(&c->parts);
  free(c->sets);
  free(c->ids);
  free(c->seen);
  free(c->chunk_first);
  free(c->bases);
  free(c->numbers);
  free(c->firsts);
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
  const tsr_key_column *c = t->column;
  for (uint64_t i = begin; i < end; i++) {
    const tsr_key_column_set *set = &c->sets[i];
    for (uint64_t s = 0; s < 1ull << set->bits; s++) {
      const tsr_key_column_slot *slot = &set->slots[s];
      if (slot->number)
        t->arrays->counts[c->parts.keys ? c->numbers[c->bases[i] + slot->number - 1] : slot->number - 1] = slot->count;
    }
  }
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
  if (status || !c->n) return status;
  telling t = {c, &known};
  tsr_key_column_write(c, known.numbers, known.short_numbers);
  if (known.counts) tsr_parallel_each(c->parts.keys ? c->set_count : 1, tell_counts, &t);
  if (known.firsts || known.keys) tsr_parallel_for(c->size, tell_keys, &t);
  return TSR_OK;
}

/* ---- Other keys in a column ------------------------------------------------------------------- */

typedef struct search {
  const tsr_key_column *column;
  tsr_key_column_parts parts;
  const void *keys;
  int64_t *numbers;
  uint8_t *present;
} search;

/* The number in the column, plus 1; 0: there is none. Where only presence is asked for, numbers may be unknown. */
static inline uint32_t sought(const search *s, uint64_t part, uint64_t key) {
  const tsr_key_column *c = s->column;
  const uint32_t found = tsr_key_column_sought(&c->sets[part], key);
  if (!s->numbers || !c->parts.keys) return found; /* before the other question, which nobody could foresee */
  return found ? c->numbers[c->bases[part] + found - 1] + 1 : 0;
}

static inline void answer(const search *s, uint64_t i, uint32_t found) {
  if (s->numbers) s->numbers[i] = (int64_t)found - 1;
  if (s->present) s->present[i] = found != 0;
}

static inline void search_each(const search *s, uint64_t begin, uint64_t end, bool is_wide) {
  const tsr_key_column_set *set = &s->column->sets[0];
  for (uint64_t i = begin; i < end; i++) {
    if (i + TSR_KEY_COLUMN_AHEAD < end)
      tsr_key_column_ask(set, tsr_key_column_key(s->keys, i + TSR_KEY_COLUMN_AHEAD, is_wide));
    answer(s, i, sought(s, 0, tsr_key_column_key(s->keys, i, is_wide)));
  }
}

static void search_rows(void *argument, uint64_t begin, uint64_t end) {
  const search *s = argument;
  if (s->column->key_bytes == sizeof(uint64_t))
    search_each(s, begin, end, true);
  else
    search_each(s, begin, end, false);
}

static inline void search_run(const search *s, uint64_t part, uint64_t begin, uint64_t end, bool is_wide) {
  for (uint64_t i = begin; i < end; i++) {
    const uint32_t found = sought(s, part, tsr_key_column_key(s->parts.keys, i, is_wide));
    if (is_wide)
      ((uint64_t *)s->parts.keys)[i] = found;
    else
      ((uint32_t *)s->parts.keys)[i] = found;
  }
}

static void search_parts(void *argument, uint64_t first, uint64_t last) {
  const search *s = argument;
  const uint64_t count = 1ull << s->parts.log2;
  for (uint64_t part = first; part < last; part++)
    for (uint64_t chunk = 0; chunk < s->parts.chunks; chunk++) {
      const uint64_t row = chunk * TSR_KEY_COLUMN_CHUNK, left = s->parts.n - row;
      const uint32_t *offsets = s->parts.offsets + chunk * count + part;
      const uint64_t begin = row + offsets[0];
      const uint64_t end = row + (part + 1 < count              ? offsets[1]
                                  : left < TSR_KEY_COLUMN_CHUNK ? left
                                                                : TSR_KEY_COLUMN_CHUNK);
      if (s->column->key_bytes == sizeof(uint64_t))
        search_run(s, part, begin, end, true);
      else
        search_run(s, part, begin, end, false);
    }
}

static inline void answer_chunk(const search *s, uint64_t chunk, bool is_wide) {
  const uint64_t row = chunk * TSR_KEY_COLUMN_CHUNK, left = s->parts.n - row, count = 1ull << s->parts.log2;
  const uint64_t end = row + (left < TSR_KEY_COLUMN_CHUNK ? left : TSR_KEY_COLUMN_CHUNK);
  uint32_t next[TSR_KEY_COLUMN_PARTS];
  memcpy(next, s->parts.offsets + chunk * count, count * sizeof *next);
  for (uint64_t i = row; i < end; i++) {
    const uint64_t part =
        tsr_key_column_part(tsr_key_column_hash(tsr_key_column_key(s->keys, i, is_wide)), s->parts.log2);
    answer(s, i, (uint32_t)tsr_key_column_key(s->parts.keys, row + next[part]++, is_wide));
  }
}

static void answer_chunks(void *argument, uint64_t begin, uint64_t end) {
  const search *s = argument;
  for (uint64_t chunk = begin; chunk < end; chunk++)
    if (s->column->key_bytes == sizeof(uint64_t))
      answer_chunk(s, chunk, true);
    else
      answer_chunk(s, chunk, false);
}

static void answer_none(void *argument, uint64_t begin, uint64_t end) {
  for (uint64_t i = begin; i < end; i++) answer(argument, i, 0);
}

tsr_status tsr_key_column_find(tsr_key_column *c, uint64_t n, const void *keys, int64_t *numbers, uint8_t *present,
                               tsr_error *error) {
  search s = {.column = c, .keys = keys, .numbers = numbers, .present = present};
  tsr_status status = check_rows("tsr_key_column_find", n, keys, error);
  if (status == TSR_OK && !c) status = tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_key_column_find: the column is NULL");
  if (status) return status;
  if (!c->n) {
    tsr_parallel_for(n, answer_none, &s);
    return TSR_OK;
  }
  if (numbers && !c->is_numbered) tsr_key_column_write(c, NULL, NULL);
  if (!n || !c->parts.keys) {
    tsr_parallel_for(n, search_rows, &s);
    return TSR_OK;
  }
  if (!tsr_key_column_split(&s.parts, keys, n, c->key_bytes, c->parts.log2))
    return no_memory("tsr_key_column_find", n, error);
  tsr_parallel_each(c->set_count, search_parts, &s);
  tsr_parallel_each(s.parts.chunks, answer_chunks, &s);
  tsr_key_column_parts_free(&s.parts);
  return TSR_OK;
}

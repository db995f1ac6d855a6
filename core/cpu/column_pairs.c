/* SPDX-License-Identifier: Apache-2.0
 *
 * The pairs of a join: for each number of a row on the left the rows of a column that have it (column.h).
 */
#include <stdlib.h>
#include <string.h>

#include "core/cpu/column.h"
#include "core/cpu/parallel.h"
#include "core/sized.h"

enum {
  RANGE = 1 << 14,  /* left rows that a thread takes at once */
  LISTED_SHARE = 4, /* rows per key, at least, of each thread that lists rows */
  AHEAD = 16,       /* rows between asking for memory and looking at it */
  AT_ONCE = 2 /* pairs that are written for each row, though it may have fewer: those of the next row replace them */
};

/* The rows of each key, ascending: begins[number + 1] .. begins[number + 2], so that -1 has none. Each range of rows is counted
 * and placed by a thread. */
typedef struct listing {
  tsr_key_column *column;
  uint32_t *numbers; /* of rows */
  uint32_t *places;  /* of each range: for each key, how many rows it has there, then where the next one goes */
  uint64_t ranges;
} listing;

static uint64_t listed_from(const listing *l, uint64_t range) { return l->column->n * range / l->ranges; }

static void count_listed(void *argument, uint64_t first, uint64_t last) {
  const listing *l = argument;
  for (uint64_t range = first; range < last; range++) {
    uint32_t *counts = l->places + range * l->column->size;
    for (uint64_t i = listed_from(l, range); i < listed_from(l, range + 1); i++) counts[l->numbers[i]]++;
  }
}

static void place_listed(void *argument, uint64_t first, uint64_t last) {
  const listing *l = argument;
  for (uint64_t range = first; range < last; range++) {
    uint32_t *places = l->places + range * l->column->size;
    for (uint64_t i = listed_from(l, range); i < listed_from(l, range + 1); i++)
      l->column->rows[places[l->numbers[i]]++] = (uint32_t)i;
  }
}

static void list_in(listing *l, uint32_t *begins) {
  tsr_key_column *c = l->column;
  tsr_key_column_write(c, NULL, l->numbers);
  tsr_parallel_each(l->ranges, count_listed, l);
  uint32_t sum = 0;
  begins[0] = 0;
  for (uint64_t k = 0; k < c->size; k++) {
    begins[k + 1] = sum;
    for (uint64_t range = 0; range < l->ranges; range++) {
      uint32_t *place = &l->places[range * c->size + k];
      const uint32_t count = *place;
      *place = sum;
      sum += count;
    }
  }
  begins[c->size + 1] = begins[c->size + 2] = sum;
  tsr_parallel_each(l->ranges, place_listed, l);
  memset(c->rows + c->n, 0, AT_ONCE * sizeof *c->rows);
}

/* Of distinct keys the number is the row. */
static bool list_rows(tsr_key_column *c) {
  if (c->begins || c->size == c->n) return true;
  const uint64_t most = c->n / LISTED_SHARE / c->size, threads = tsr_parallel_threads();
  listing l = {.column = c, .ranges = most < 1 ? 1 : most < threads ? most : threads};
  l.numbers = tsr_key_column_memory(c->n * sizeof *l.numbers);
  l.places = calloc(l.ranges * c->size, sizeof *l.places);
  uint32_t *begins = tsr_key_column_memory((c->size + 3) * sizeof *begins);
  c->rows = tsr_key_column_memory((c->n + AT_ONCE) * sizeof *c->rows); /* more are read than a key has */
  if (l.numbers && l.places && c->rows && begins) {
    list_in(&l, begins);
    c->begins = begins;
  } else {
    free(begins);
    free(c->rows);
    c->rows = NULL;
  }
  free(l.places);
  free(l.numbers);
  return c->begins != NULL;
}

typedef struct pairing {
  const tsr_key_column *column;
  const tsr_key_column_pairs *wanted;
  uint64_t *places;  /* of each range, plus 1 */
  uint8_t *is_found; /* after one byte, of each key of the column: a left row has it; NULL: not asked for */
} pairing;

/* The numbers of a range of left rows. */
typedef struct left_range {
  const int64_t *numbers;
  uint64_t n;
} left_range;

static left_range range_of(const tsr_key_column_pairs *w, uint64_t range) {
  const uint64_t left = w->n - range * RANGE;
  return (left_range){w->numbers + range * RANGE, left < RANGE ? left : RANGE};
}

/* How many pairs a left row makes, without a branch, which nobody could foresee. */
static inline uint32_t pairs_of(const uint32_t *begins, int64_t number, uint32_t alone) {
  const uint32_t found = begins ? begins[number + 2] - begins[number + 1] : 1;
  return number < 0 ? alone : found;
}

static void count_range(void *argument, uint64_t first, uint64_t last) {
  const pairing *p = argument;
  const uint32_t *begins = p->column->begins, alone = p->wanted->keeps_all ? 1 : 0;
  for (uint64_t range = first; range < last; range++) {
    const left_range left = range_of(p->wanted, range);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < left.n; i++) sum += pairs_of(begins, left.numbers[i], alone);
    p->places[range + 1] = sum;
    /* Several threads may write one byte, always the same. -1 also has a byte. */
    for (uint64_t i = 0; i < left.n && p->is_found; i++)
      __atomic_store_n(&p->is_found[left.numbers[i] + 1], 1, __ATOMIC_RELAXED);
  }
}

static void pair_range(void *argument, uint64_t first, uint64_t last) {
  const pairing *p = argument;
  const tsr_key_column_pairs *w = p->wanted;
  const uint32_t *begins = p->column->begins, *rows = p->column->rows, alone = w->keeps_all ? 1 : 0;
  int64_t *const lefts = w->left_rows, *const rights = w->right_rows;
  for (uint64_t range = first; range < last; range++) {
    const left_range left = range_of(w, range);
    uint64_t at = p->places[range];
    const uint64_t stop = p->places[range + 1];
    for (uint64_t i = 0; i < left.n; i++) {
      const int64_t number = left.numbers[i], row = (int64_t)(range * RANGE + i);
      const uint32_t count = pairs_of(begins, number, alone), from = begins ? begins[number + 1] : 0;
      uint32_t done = 0;
      if (begins && i + AHEAD < left.n) __builtin_prefetch(&begins[left.numbers[i + AHEAD] + 1]);
      if (at + AT_ONCE <= stop) {
        lefts[at] = lefts[at + 1] = row;
        rights[at] = number < 0 || !begins ? number : rows[from];
        rights[at + 1] = begins ? rows[from + 1] : 0;
        done = AT_ONCE;
      }
      for (uint32_t k = done; k < count; k++) {
        lefts[at + k] = row;
        rights[at + k] = number < 0 || !begins ? number : rows[from + k];
      }
      at += count;
    }
  }
}

/* Pairs of the rows of the column whose key no left row has, from place `at` on. Returns how many; out: false counts only. */
static uint64_t pair_others(const pairing *p, uint64_t at, bool out) {
  const tsr_key_column *c = p->column;
  uint64_t count = 0;
  for (uint64_t i = 0; i < c->n; i++) {
    if (p->is_found[tsr_key_column_number_of(c, i) + 1]) continue;
    if (out) {
      p->wanted->left_rows[at + count] = -1;
      p->wanted->right_rows[at + count] = (int64_t)i;
    }
    count++;
  }
  return count;
}

static tsr_status pair_all(const pairing *p, uint64_t ranges, uint64_t *count, tsr_error *error) {
  const tsr_key_column_pairs *w = p->wanted;
  tsr_parallel_each(ranges, count_range, (void *)p);
  for (uint64_t range = 0; range < ranges; range++) p->places[range + 1] += p->places[range];
  const uint64_t lefts = p->places[ranges];
  *count = lefts + (w->keeps_others ? pair_others(p, 0, false) : 0);
  if (!w->room) return TSR_OK;
  if (w->room < *count)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_key_column_pair: there are %llu pairs, the arrays have room for %llu",
                    (unsigned long long)*count, (unsigned long long)w->room);
  tsr_parallel_each(ranges, pair_range, (void *)p);
  if (w->keeps_others) pair_others(p, lefts, true);
  return TSR_OK;
}

tsr_status tsr_key_column_pair(tsr_key_column *c, const tsr_key_column_pairs *pairs, uint64_t *count,
                               tsr_error *error) {
  tsr_key_column_pairs known;
  tsr_status status = tsr_take_over("tsr_key_column_pair", &known, pairs, sizeof known, error);
  if (status == TSR_OK && (!c || !count || (known.n && !known.numbers)))
    status = tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_key_column_pair: column, numbers or count is NULL");
  if (status) return status;
  if (c->detail != TSR_KEY_COLUMN_NUMBERS)
    return tsr_fail(
        error, TSR_BAD_ARGUMENT,
        "tsr_key_column_pair: the column was created without numbers: create it with TSR_KEY_COLUMN_NUMBERS");
  const uint64_t ranges = (known.n + RANGE - 1) / RANGE;
  pairing p = {c, &known, calloc(ranges + 1, sizeof *p.places), known.keeps_others ? calloc(c->size + 1, 1) : NULL};
  if (p.places && (p.is_found || !known.keeps_others) && list_rows(c))
    status = pair_all(&p, ranges, count, error);
  else
    status = tsr_fail(error, TSR_NO_MEMORY, "tsr_key_column_pair: no memory for the rows of %llu keys",
                      (unsigned long long)c->size);
  free(p.places);
  free(p.is_found);
  return status;
}

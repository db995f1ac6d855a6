/* SPDX-License-Identifier: Apache-2.0
 *
 * The pairs of a join: for each number of a row on the left the rows of a column that have it (column.h).
 */
#include <stdlib.h>
#include <string.h>

#include "core/cpu/column.h"
#include "core/cpu/parallel.h"
#include "core/sized.h"

/* The rows of each key, ascending: begins[number] .. begins[number + 1]. Of distinct keys the number is the row. */
static bool list_rows(tsr_key_column *c) {
  if (c->begins || c->size == c->n) return true;
  uint32_t *numbers = tsr_key_column_memory(c->n * sizeof *numbers);
  uint32_t *begins = tsr_key_column_memory((c->size + 2) * sizeof *begins);
  c->rows = tsr_key_column_memory(c->n * sizeof *c->rows);
  if (numbers && c->rows && begins) {
    memset(begins, 0, (c->size + 2) * sizeof *begins);
    tsr_key_column_write(c, NULL, numbers);
    for (uint64_t i = 0; i < c->n; i++) begins[numbers[i] + 2]++; /* one further: the places move on */
    for (uint64_t k = 0; k < c->size; k++) begins[k + 2] += begins[k + 1];
    for (uint64_t i = 0; i < c->n; i++) c->rows[begins[numbers[i] + 1]++] = (uint32_t)i;
    c->begins = begins;
  } else {
    free(begins);
    free(c->rows);
    c->rows = NULL;
  }
  free(numbers);
  return c->begins != NULL;
}

enum { RANGE = 1 << 14, AHEAD = 16 }; /* left rows that a thread takes at once; rows between asking and looking */

typedef struct pairing {
  const tsr_key_column *column;
  const tsr_key_column_pairs *wanted;
  uint64_t *places;  /* of each range, plus 1 */
  uint8_t *is_found; /* of each key of the column: a left row has it; NULL: not asked for */
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

static void count_range(void *argument, uint64_t first, uint64_t last) {
  const pairing *p = argument;
  const uint32_t *begins = p->column->begins;
  const uint64_t alone = p->wanted->keeps_all ? 1 : 0;
  for (uint64_t range = first; range < last; range++) {
    const left_range left = range_of(p->wanted, range);
    uint64_t sum = 0;
    for (uint64_t i = 0; i < left.n; i++) {
      const int64_t number = left.numbers[i];
      sum += number < 0 ? alone : begins ? begins[number + 1] - begins[number] : 1;
    }
    p->places[range + 1] = sum;
    /* Several threads may write one byte, always the same. */
    for (uint64_t i = 0; i < left.n && p->is_found; i++)
      if (left.numbers[i] >= 0) __atomic_store_n(&p->is_found[left.numbers[i]], 1, __ATOMIC_RELAXED);
  }
}

static void pair_range(void *argument, uint64_t first, uint64_t last) {
  const pairing *p = argument;
  const tsr_key_column_pairs *w = p->wanted;
  const uint32_t *begins = p->column->begins, *rows = p->column->rows;
  int64_t *const lefts = w->left_rows, *const rights = w->right_rows;
  for (uint64_t range = first; range < last; range++) {
    const left_range left = range_of(w, range);
    uint64_t at = p->places[range];
    for (uint64_t i = 0; i < left.n; i++) {
      const int64_t number = left.numbers[i], row = (int64_t)(range * RANGE + i);
      if (begins && i + AHEAD < left.n && left.numbers[i + AHEAD] >= 0)
        __builtin_prefetch(&begins[left.numbers[i + AHEAD]]);
      if (number < 0 || !begins) {
        if (number < 0 && !w->keeps_all) continue;
        lefts[at] = row;
        rights[at++] = number;
        continue;
      }
      for (uint32_t r = begins[number], stop = begins[number + 1]; r < stop; r++) {
        lefts[at] = row;
        rights[at++] = rows[r];
      }
    }
  }
}

/* Pairs of the rows of the column whose key no left row has, from place `at` on. Returns how many; out: false counts only. */
static uint64_t pair_others(const pairing *p, uint64_t at, bool out) {
  const tsr_key_column *c = p->column;
  uint64_t count = 0;
  for (uint64_t i = 0; i < c->n; i++) {
    if (p->is_found[tsr_key_column_number_of(c, i)]) continue;
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

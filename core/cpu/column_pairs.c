/* SPDX-License-Identifier: Apache-2.0
 *
 * The pairs of a join: for each number of a row on the left the rows of a column that have it (column.h).
 */
#include <stdlib.h>
#include <string.h>

#include "core/cpu/column.h"
#include "core/cpu/parallel.h"
#include "core/sized.h"

/* The rows of each key, ascending: begins[number] .. begins[number + 1]. */
static bool list_rows(tsr_key_column *c) {
  if (c->begins) return true;
  uint32_t *numbers = tsr_key_column_memory(c->n * sizeof *numbers + 1);
  c->rows = tsr_key_column_memory(c->n * sizeof *c->rows + 1);
  uint64_t *begins = calloc(c->size + 2, sizeof *begins);
  if (numbers && c->rows && begins) {
    if (c->n) tsr_key_column_write(c, NULL, numbers);
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

enum { RANGE = 1 << 14 }; /* left rows that a thread takes at once */

typedef struct pairing {
  const tsr_key_column *column;
  const tsr_key_column_pairs *wanted;
  uint64_t *places; /* of each range, plus 1 */
} pairing;

static void count_range(void *argument, uint64_t first, uint64_t last) {
  const pairing *p = argument;
  const uint64_t *begins = p->column->begins, alone = p->wanted->keeps_all ? 1 : 0;
  for (uint64_t range = first; range < last; range++) {
    const uint64_t left = p->wanted->n - range * RANGE, n = left < RANGE ? left : RANGE;
    const int64_t *numbers = p->wanted->numbers + range * RANGE;
    uint64_t sum = 0;
    for (uint64_t i = 0; i < n; i++) sum += numbers[i] < 0 ? alone : begins[numbers[i] + 1] - begins[numbers[i]];
    p->places[range + 1] = sum;
  }
}

static void pair_range(void *argument, uint64_t first, uint64_t last) {
  const pairing *p = argument;
  const tsr_key_column_pairs *w = p->wanted;
  const uint64_t *begins = p->column->begins;
  for (uint64_t range = first; range < last; range++) {
    uint64_t at = p->places[range];
    const uint64_t begin = range * RANGE, end = w->n - begin < RANGE ? w->n : begin + RANGE;
    for (uint64_t i = begin; i < end; i++) {
      const int64_t number = w->numbers[i];
      if (number < 0 && w->keeps_all) {
        w->left_rows[at] = (int64_t)i;
        w->right_rows[at++] = -1;
      }
      for (uint64_t r = number < 0 ? 0 : begins[number], stop = number < 0 ? 0 : begins[number + 1]; r < stop; r++) {
        w->left_rows[at] = (int64_t)i;
        w->right_rows[at++] = p->column->rows[r];
      }
    }
  }
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
  pairing p = {c, &known, calloc(ranges + 1, sizeof *p.places)};
  if (!p.places || !list_rows(c)) {
    free(p.places);
    return tsr_fail(error, TSR_NO_MEMORY, "tsr_key_column_pair: no memory for the rows of %llu keys",
                    (unsigned long long)c->size);
  }
  tsr_parallel_each(ranges, count_range, &p);
  for (uint64_t range = 0; range < ranges; range++) p.places[range + 1] += p.places[range];
  *count = p.places[ranges];
  if (known.room && known.room < *count)
    status =
        tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_key_column_pair: there are %llu pairs, the arrays have room for %llu",
                 (unsigned long long)*count, (unsigned long long)known.room);
  else if (known.room)
    tsr_parallel_each(ranges, pair_range, &p);
  free(p.places);
  return status;
}

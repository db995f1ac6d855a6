/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps on rows, which store values of [table] value_bytes: their list, their argument, and what an item does.
 * Read next: steps.h, ../table/wide.h.
 */
#ifndef TSR_WIDE_STEPS_H
#define TSR_WIDE_STEPS_H

#include "core/kernels/steps.h"

#define TSR_WIDE_NONE 0xFFFFFFFFu /* no row: the key is absent */

/* list     all rows are spare
 * mark     the rows that the items name are in use
 * spare    lists the rows that are not marked
 * put      the items' values go to their rows
 * get      they come from there
 * claim    each item writes its number over the beginning of its row
 * judge    an item keeps its row if its number stands there, so that each row has one item
 * tell     an item whose key was present gets the result that it was replaced
 * release  clears the bits of the rows that the items name
 * offer    the items get the last numbers of the list of spare rows
 * take     one item: the list is shorter by them
 * measure  one item: the list is that long
 * back     the rows that the items name are spare again
 * recode   results of one code get another one */
#define TSR_WIDE_STEPS(ITEM, OWN)                                                                                      \
  ITEM(list)                                                                                                           \
  ITEM(mark)                                                                                                           \
  OWN(spare)                                                                                                           \
  OWN(put, .fit = fit_rows)                                                                                            \
  OWN(get, .fit = fit_rows)                                                                                            \
  ITEM(claim)                                                                                                          \
  ITEM(judge)                                                                                                          \
  ITEM(tell)                                                                                                           \
  ITEM(release)                                                                                                        \
  ITEM(offer)                                                                                                          \
  ITEM(take)                                                                                                           \
  ITEM(measure)                                                                                                        \
  OWN(back)                                                                                                            \
  ITEM(recode)
#define TSR_WIDE_ENUM(step, ...) TSR_WIDE_##step,
enum { TSR_WIDE_STEPS(TSR_WIDE_ENUM, TSR_WIDE_ENUM) TSR_WIDE_STEP_COUNT };

/* Arrays hold n items, or are NULL if a step does not use them. */
typedef struct tsr_wide_run {
  uint64_t n;         /* of list and spare, rows */
  uint64_t row_count; /* an item whose number is not below it has no row */
  uint32_t row_bytes, word_bytes;
  void *rows;
  uint32_t *numbers;   /* the items' rows; TSR_WIDE_NONE: none. list, spare, judge: written */
  uint8_t *codes;      /* put, get: NULL, or only items whose code is in the set `wanted` are worked on, */
  uint64_t wanted;     /* ... which has the bit 1 << code. recode: the code, and 256 times the new one */
  const uint64_t *end; /* get: NULL, or only items before this number are worked on */
  void *values;        /* put, get */
  uint64_t missing;    /* get: its 8 bytes, repeated, are the value of an item without a row */
  uint8_t *marks;      /* mark, spare: of each row */
  uint64_t *count;     /* spare: how many were listed; offer, take, measure, back: how long the list is */
  uint32_t *listed;    /* offer, back: the list of spare rows */
  uint64_t taken;      /* take, measure: how many */
  uint32_t *bits;      /* release: of each row, 32 a word */
} tsr_wide_run;

TSR_STEP_FUNCTION uint32_t tsr_wide_is_wanted(const tsr_wide_run *w, uint64_t i) {
  return (!w->codes || (w->wanted >> w->codes[i] & 1u)) && (!w->end || i < *w->end);
}

TSR_STEP_FUNCTION char *tsr_wide_row(const tsr_wide_run *w, uint32_t number) {
  return (char *)w->rows + number * (uint64_t)w->row_bytes;
}

/* A row's first word, which is aligned, as value_bytes is a multiple of 4. */
TSR_STEP_FUNCTION volatile uint32_t *tsr_wide_first(const tsr_wide_run *w, uint32_t number) {
  return (volatile uint32_t *)(void *)tsr_wide_row(w, number);
}

TSR_STEP_FUNCTION void tsr_wide_list_item(const tsr_wide_run *w, uint64_t i) { w->numbers[i] = (uint32_t)i; }

/* All threads write the same to a mark. */
TSR_STEP_FUNCTION void tsr_wide_mark_item(const tsr_wide_run *w, uint64_t i) {
  if (w->numbers[i] < w->row_count) TSR_STEP_STORE(&w->marks[w->numbers[i]], 1);
}

/* If several items write to a row at once, any one of them remains; judge reads it in the next step. */
TSR_STEP_FUNCTION void tsr_wide_claim_item(const tsr_wide_run *w, uint64_t i) {
  if (w->numbers[i] < w->row_count) TSR_STEP_STORE(tsr_wide_first(w, w->numbers[i]), (uint32_t)i);
}

TSR_STEP_FUNCTION void tsr_wide_judge_item(const tsr_wide_run *w, uint64_t i) {
  if (w->numbers[i] < w->row_count && *tsr_wide_first(w, w->numbers[i]) != (uint32_t)i) w->numbers[i] = TSR_WIDE_NONE;
}

TSR_STEP_FUNCTION void tsr_wide_tell_item(const tsr_wide_run *w, uint64_t i) {
  if (w->codes[i] == TSR_RESULT_PRESENT) w->codes[i] = TSR_RESULT_REPLACED;
}

TSR_STEP_FUNCTION void tsr_wide_recode_item(const tsr_wide_run *w, uint64_t i) {
  if (w->codes[i] == (w->wanted & 0xFF)) w->codes[i] = (uint8_t)(w->wanted >> 8);
}

/* Relaxed: no two items have one bit, and the next step reads them. */
TSR_STEP_FUNCTION void tsr_wide_release_item(const tsr_wide_run *w, uint64_t i) {
#ifdef __CUDACC__
  atomicAnd(&w->bits[w->numbers[i] / 32], ~(1u << w->numbers[i] % 32));
#else
  __atomic_fetch_and(&w->bits[w->numbers[i] / 32], ~(1u << w->numbers[i] % 32), __ATOMIC_RELAXED);
#endif
}

TSR_STEP_FUNCTION void tsr_wide_offer_item(const tsr_wide_run *w, uint64_t i) {
  w->numbers[i] = w->listed[*w->count - w->n + i];
}

TSR_STEP_FUNCTION void tsr_wide_take_item(const tsr_wide_run *w, uint64_t i) {
  (void)i;
  *w->count -= w->taken;
}

TSR_STEP_FUNCTION void tsr_wide_measure_item(const tsr_wide_run *w, uint64_t i) {
  (void)i;
  *w->count = w->taken;
}

TSR_STEPS(tsr_wide_steps)

#ifndef __CUDACC__
/* The largest word that divides a row and the addresses of two arrays of them. */
static inline uint32_t tsr_wide_word(uint64_t row_bytes, const void *rows, const void *values) {
  const uint64_t bits = row_bytes | (uint64_t)(uintptr_t)rows | (uint64_t)(uintptr_t)values;
  return bits % 16 == 0 ? 16 : bits % 8 == 0 ? 8 : bits % 4 == 0 ? 4 : 1;
}
#endif

#endif

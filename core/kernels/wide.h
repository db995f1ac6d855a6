/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps on rows, where values of [table] value_bytes lie, as the host sees them: their list and their one argument.
 * Shared by wide.cu and ../cpu/wide.c, and compiles as C11 and CUDA C. Read next: ../table/wide.h.
 */
#ifndef TSR_WIDE_STEPS_H
#define TSR_WIDE_STEPS_H

#include "plugins/table.h"

#ifdef __CUDACC__
#define TSR_WIDE_FUNCTION static __device__ __forceinline__
#else
#define TSR_WIDE_FUNCTION static inline
#endif

#define TSR_WIDE_NONE 0xFFFFFFFFu /* no row: the key is absent */

/* list: all rows are spare. mark: those that the items name are in use. spare: those that are not marked are listed.
 * put: the items' values go to their rows. get: they come from there. claim: each item writes its number over the beginning
 * of its row. judge: an item keeps its row if its number stands there, so that one item of each row does. tell: who found
 * its key present is told that it was replaced. release: the bits of the rows that the items name are cleared. */
#define TSR_WIDE_STEPS(F) F(list) F(mark) F(spare) F(put) F(get) F(claim) F(judge) F(tell) F(release)
#define TSR_WIDE_ENUM(step) TSR_WIDE_##step,
enum { TSR_WIDE_STEPS(TSR_WIDE_ENUM) TSR_WIDE_STEP_COUNT };

/* Arrays hold n items, or are NULL where a step has no use for them. */
typedef struct tsr_wide_run {
  uint64_t n;         /* of list and spare, rows */
  uint64_t row_count; /* mark: an item that names none of them is passed over */
  uint32_t row_bytes, word_bytes;
  void *rows;
  uint32_t *numbers;   /* the items' rows; TSR_WIDE_NONE: none. list, spare, judge: written */
  uint8_t *codes;      /* put, get: NULL, or only items are worked on whose code is in the set `wanted`, */
  uint32_t wanted;     /* which has the bit 1 << code */
  const uint64_t *end; /* get: NULL, or only items before this number of them are worked on */
  void *values;        /* put, get */
  uint64_t missing;    /* get: its 8 bytes, over and over, are the value of an item without a row */
  uint8_t *marks;      /* mark, spare: of each row */
  uint64_t *count;     /* spare: how many were listed */
  uint32_t *bits;      /* release: of each row, 32 a word */
} tsr_wide_run;

TSR_WIDE_FUNCTION uint32_t tsr_wide_is_wanted(const tsr_wide_run *w, uint64_t i) {
  return (!w->codes || (w->wanted >> w->codes[i] & 1u)) && (!w->end || i < *w->end);
}

TSR_WIDE_FUNCTION char *tsr_wide_row(const tsr_wide_run *w, uint32_t number) {
  return (char *)w->rows + number * (uint64_t)w->row_bytes;
}

/* A row's first word, which is aligned, as value_bytes is a multiple of 4. */
TSR_WIDE_FUNCTION volatile uint32_t *tsr_wide_first(const tsr_wide_run *w, uint32_t number) {
  return (volatile uint32_t *)(void *)tsr_wide_row(w, number);
}

TSR_WIDE_FUNCTION void tsr_wide_judge_item(const tsr_wide_run *w, uint64_t i) {
  if (w->numbers[i] != TSR_WIDE_NONE && *tsr_wide_first(w, w->numbers[i]) != (uint32_t)i) w->numbers[i] = TSR_WIDE_NONE;
}

TSR_WIDE_FUNCTION void tsr_wide_tell_item(const tsr_wide_run *w, uint64_t i) {
  if (w->codes[i] == TSR_RESULT_PRESENT) w->codes[i] = TSR_RESULT_REPLACED;
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Which keys an index gives up ([table] eviction). Each number has a score of 64 bits, in memory behind the free numbers. A
 * call that has more new keys than there is room for chooses the keys to erase before it inserts: the threshold of the scores
 * is found by halving, and prefix sums say where each chosen key goes in the list. Read next: numbering.c, which erases them.
 */
#ifndef TSR_TABLE_EVICTION_H
#define TSR_TABLE_EVICTION_H

#include "core/table/free_numbers.h"

/* A call that numbers keys, and its memory. */
typedef struct tsr_eviction {
  tsr_table *t;
  void *stream;
  uint8_t *marks;   /* of all numbers */
  uint64_t *places; /* one more than these */
  uint32_t *met;    /* `met_room` places for the items of a part */
  uint64_t met_room;
} tsr_eviction;

/* part: the most items at a time. */
tsr_status tsr_eviction_begin(tsr_table *table, uint64_t part, void *stream, tsr_eviction *eviction, tsr_error *error)
    TSR_MUST_CHECK;
/* Whether n more keys may be too many. It is so at most once for every free number. */
bool tsr_eviction_may_be_due(const tsr_table *table, uint64_t n);
/* Lists the keys that must go before `items` are inserted, whose numbers are found: keys, numbers and ranks. They are the last
 * *count of the table's list. Waits. */
tsr_status tsr_eviction_choose(const tsr_eviction *eviction, const tsr_numbering_run *items, uint64_t *count,
                               tsr_error *error) TSR_MUST_CHECK;
/* The scores of `items`, which are inserted. pre: the table is entered. */
tsr_status tsr_eviction_use(const tsr_eviction *eviction, const tsr_numbering_run *items, tsr_error *error)
    TSR_MUST_CHECK;
/* Counts a use of the keys that have these numbers, in device memory. */
tsr_status tsr_eviction_touch(tsr_table *table, uint64_t n, uint32_t *numbers, void *stream, tsr_error *error)
    TSR_MUST_CHECK;
tsr_status tsr_eviction_end(tsr_eviction *eviction, tsr_error *error) TSR_MUST_CHECK;

#endif

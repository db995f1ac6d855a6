/* SPDX-License-Identifier: Apache-2.0
 *
 * How far a table grows: by doubling, as far as growth_limit and the memory allow. Read next: enlarge.c, piece.h.
 */
#ifndef TSR_TABLE_ENLARGE_H
#define TSR_TABLE_ENLARGE_H

#include "core/table/rebuild.h"

/* An insert into a table that may grow. */
typedef struct tsr_growth {
  tsr_table *t;
  void *stream;
  uint64_t to_come; /* items that are not inserted yet */
  bool may_grow;    /* false: it could not the last time */
  bool is_starved;  /* and memory was why */
} tsr_growth;

/* By how many pairs the table is below its capacity. t->known.pairs is known. */
uint64_t tsr_growth_room(const tsr_growth *growth);
/* By how many pairs it may end beyond its capacity, because nobody counts them exactly: an eighth of the slots that stay
 * empty. None where it is to hold no more. */
uint64_t tsr_growth_slack(const tsr_growth *growth);
/* Whether it grows by buckets that split, in place. */
bool tsr_growth_splits(const tsr_table *table);
/* Doubles the capacity, until `needed` pairs have room or memory ends; at least once. *grown = false, and the table as it
 * was, where it cannot. */
tsr_status tsr_enlarge(tsr_growth *growth, uint64_t needed, const tsr_change *change, bool *grown, tsr_error *error)
    TSR_MUST_CHECK;

/* Doubles the capacity until n pairs more have room, as far as growth_limit and the memory allow. *is_starved: memory
 * ended it. For an insert that works on all of the table at once, growing is no more than that. Waits. */
tsr_status tsr_enlarge_for(tsr_table *table, uint64_t n, void *stream, bool *is_starved, tsr_error *error)
    TSR_MUST_CHECK;

#endif

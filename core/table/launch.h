/* SPDX-License-Identifier: Apache-2.0
 *
 * Launching operations on a store. An insert goes the way that suits its batch: page by page or by random access. Read
 * next: order.h.
 */
#ifndef TSR_TABLE_LAUNCH_H
#define TSR_TABLE_LAUNCH_H

#include "core/batch/plan.h"
#include "core/table/table_struct.h"

/* What counts pairs for tsr_find_all: a batch that travels is in another order then, and nothing is noted of it. */
uint32_t tsr_counts_by(const tsr_store *store);

/* Says that the table's operations `ops` follow, each over n items in all, so that their code can be made at once. */
void tsr_launch_expect(const tsr_table *table, const uint32_t *ops, uint32_t count, uint64_t n);

/* The stages of an operation on n items. */
tsr_stages tsr_launch_plan(const tsr_table *table, const tsr_store *store, uint32_t op, uint64_t n, bool has_answers,
                           const tsr_call_state *call);

/* Enqueues an operation; of none items nothing. bulk: with state and tally. Page by page, an insert also combines what it
 * has left; by random access TSR_BULK_combine does that, when no other insert runs any more. */
tsr_status tsr_launch(const tsr_table *table, tsr_store *store, uint32_t op, const tsr_bulk *bulk,
                      const tsr_call_state *call, tsr_error *error) TSR_MUST_CHECK;

/* Enqueues one outside the report's counters and waits for what it counted; nothing else works on the store. bulk:
 * without state and tally. With results, an insert also combines what it has left. */
tsr_status tsr_launch_alone(const tsr_table *table, tsr_store *store, uint32_t op, const tsr_bulk *bulk, void *stream,
                            tsr_tally *tally, tsr_error *error) TSR_MUST_CHECK;

/* Before an insert: counts the offered values that alone pass the largest count, where it is stored in more bits than it has.
 * The kernels cut them where they read them, some more than once. bulk: with tally. */
tsr_status tsr_launch_tell_of_values(const tsr_table *table, uint32_t op, const tsr_bulk *bulk, void *stream,
                                     tsr_error *error) TSR_MUST_CHECK;
/* Whether there are such tables: before their inserts are captured the code of that has to be there. */
bool tsr_launch_tells_of_values(const tsr_table *table);

#endif

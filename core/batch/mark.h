/* SPDX-License-Identifier: Apache-2.0
 *
 * Setting the bits of many keys in a filter, which is the table or stands before it, in the order of its blocks: a page of
 * it after another, each in the memory of a block of threads. Why: ../design/0019-kinds.md.
 */
#ifndef TSR_BATCH_MARK_H
#define TSR_BATCH_MARK_H

#include "core/batch/order.h"

/* Enqueues it for the items of *pages, which tsr_partition_run has put in order. */
tsr_status tsr_mark_pages(const tsr_work *work, const tsr_pages *pages) TSR_MUST_CHECK;

/* Puts the keys in order, and sets their bits. *began: false if nothing was done, because there is no scratch memory for
 * them. bulk: with state and tally. */
tsr_status tsr_mark_in_order(const tsr_table *table, const tsr_store *store, const tsr_bulk *bulk, void *stream,
                             bool *began, tsr_error *error) TSR_MUST_CHECK;

#endif

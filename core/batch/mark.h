/* SPDX-License-Identifier: Apache-2.0
 *
 * Setting the bits of many keys in a filter, which is the table or stands before it, in the order of its blocks: a page of
 * it after another, each in the memory of a block of threads. Why: ../design/0019-kinds.md.
 */
#ifndef TSR_BATCH_MARK_H
#define TSR_BATCH_MARK_H

#include "core/batch/order.h"

/* Enqueues it. */
tsr_status tsr_mark_ordered(const tsr_work *work, const tsr_ordered *ordered) TSR_MUST_CHECK;

/* Puts the keys in order, and sets their bits. *began: false if nothing was done, because there is no scratch memory for
 * them. bulk: with state and tally. */
tsr_status tsr_mark_in_order(const tsr_work *work, const tsr_bulk *bulk, bool *began) TSR_MUST_CHECK;

#endif

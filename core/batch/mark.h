/* SPDX-License-Identifier: Apache-2.0
 *
 * Sets the bits of many keys in a filter, which is a table or stands before one. The keys are put in the order of
 * the filter's blocks. Then each page of blocks is worked on in the shared memory of one block of threads. Why:
 * ../design/0019-kinds.md.
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

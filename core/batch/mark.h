/* SPDX-License-Identifier: Apache-2.0
 *
 * Setting the bits of many keys in the order of a filter's blocks, page by page, each page in the memory of a block of
 * threads. The filter is the table or stands before it. Why: ../design/0019-kinds.md.
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

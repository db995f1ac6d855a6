/* SPDX-License-Identifier: Apache-2.0
 *
 * Inserting into tables that are made of whole batches: lists in bulk (fact lists; HashGraph 3.2, 3.3), and schemes with
 * build(). The plan of its steps.
 */
#ifndef TSR_BATCH_LISTS_H
#define TSR_BATCH_LISTS_H

#include "core/batch/work.h"

/* Makes the table of bulk->n pairs and of those that it has. If it has any, the call waits for the device,
 * takes them out and makes the table again. Pairs beyond the table's slots go to the stash while it has room, or are handed
 * back. bulk: with state and tally. Nothing else works on the table meanwhile. If memory is short, the table stays
 * as it was. */
tsr_status tsr_lists_insert(const tsr_work *work, const tsr_bulk *bulk) TSR_MUST_CHECK;

#endif

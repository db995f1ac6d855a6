/* SPDX-License-Identifier: Apache-2.0
 *
 * Inserting into lists that are made in bulk (fact lists; HashGraph 3.2, 3.3): the plan of its steps.
 */
#ifndef TSR_BATCH_LISTS_H
#define TSR_BATCH_LISTS_H

#include "core/batch/work.h"

/* Makes the lists of bulk->n pairs and of those that the table has. If it has any, the call waits for the device,
 * takes them out and makes all lists again. Pairs beyond the table's slots go to the stash while it has room, or are handed
 * back. bulk: with state and tally. Nothing else works on the table meanwhile. If memory is short, the table stays
 * as it was. */
tsr_status tsr_lists_insert(const tsr_work *work, const tsr_bulk *bulk) TSR_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Pairs that a cache gives up, handed to a function of the caller's (tsr_write_behind). Read next: cache.h.
 */
#ifndef TSR_TABLE_BEHIND_H
#define TSR_TABLE_BEHIND_H

#include "core/table/stage.h"

/* Whether a request's pairs that come back go to the caller's function. */
bool tsr_writes_behind(const tsr_table *table, const tsr_request *request);
/* Does what is asked for by `operation`, with all arrays on the device, then calls the function. Waits. */
tsr_status tsr_operate_behind(tsr_table *table, const tsr_request *request, tsr_operation *operation, tsr_error *error)
    TSR_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Operations on the keys of a batch, of a table of one store: a request, which says what the call is, becomes
 * launches. tsr_single_operate, in single.h, does any of them. This header has what only inserts need.
 */
#ifndef TSR_TABLE_OPERATE_H
#define TSR_TABLE_OPERATE_H

#include "core/table/table_struct.h"

/* The request of an insert, or of another call that inserts, as `op` says. call: not NULL. */
tsr_request tsr_inserting(const tsr_table *table, uint32_t op, uint64_t n, const void *keys, const void *values,
                          const tsr_call *call);
/* An insert that is no call of its own for the report: waits, and returns what it counted. */
tsr_status tsr_insert_counted(tsr_table *table, uint64_t n, const void *keys, const void *values, const tsr_call *call,
                              tsr_tally *tally, tsr_error *error) TSR_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * What table.c has for those that insert by it: build.c.
 */
#ifndef TSR_TABLE_TABLE_H
#define TSR_TABLE_TABLE_H

#include "core/table/handle.h"

/* What tsr_insert refuses. */
tsr_status tsr_check_insert(const tsr_table *table, const char *call, uint64_t n, const void *keys, const void *values,
                            tsr_error *error) TSR_MUST_CHECK;
/* An insert that is no call of its own for the report: waits, and returns what it counted. */
tsr_status tsr_insert_counted(tsr_table *table, uint64_t n, const void *keys, const void *values, const tsr_call *call,
                              tsr_tally *tally, tsr_error *error) TSR_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * What tsr_insert refuses, for calls that are inserts by another name: build.c.
 */
#ifndef TSR_TABLE_TABLE_H
#define TSR_TABLE_TABLE_H

#include "core/table/table_struct.h"

/* call: its name in messages. */
tsr_status tsr_check_insert(const tsr_table *table, const char *call, uint64_t n, const void *keys, const void *values,
                            tsr_error *error) TSR_MUST_CHECK;

#endif

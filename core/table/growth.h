/* SPDX-License-Identifier: Apache-2.0
 *
 * Inserting with growth = double. Read next: growth.c; operate.h.
 */
#ifndef TSR_TABLE_GROWTH_H
#define TSR_TABLE_GROWTH_H

#include "core/table/table_struct.h"

/* An insert, or the inserts of tsr_find_or_insert, with growth = double. The request's arrays may be in host memory. Waits. */
tsr_status tsr_insert_growing(tsr_table *table, const tsr_request *request, tsr_error *error) TSR_MUST_CHECK;

/* The status of an insert that left `pairs` pairs without a place because there was no memory to grow: TSR_NO_MEMORY, so
 * that a caller who reads the status alone learns of them. 0: TSR_OK. */
tsr_status tsr_growth_tell(const tsr_table *table, uint64_t pairs, tsr_error *error) TSR_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Inserting with growth = double. Read next: growth.c; table.h.
 */
#ifndef TSR_TABLE_GROWTH_H
#define TSR_TABLE_GROWTH_H

#include "core/table/handle.h"

/* tsr_insert (op = TSR_BULK_insert) or the inserts of tsr_find_or_insert (TSR_BULK_find_or_insert), with growth =
 * double; arguments checked. Waits. */
tsr_status tsr_insert_growing(tsr_table *table, uint32_t op, uint64_t n, const void *keys, const void *values,
                              const tsr_call *call, tsr_error *error) TSR_MUST_CHECK;

/* Doubles the capacity until n pairs more have room, as far as growth_limit and the memory allow: where an insert works
 * on all of the table at once, that is all that growing means. Waits. */
tsr_status tsr_grow_for(tsr_table *table, uint64_t n, void *stream, tsr_error *error) TSR_MUST_CHECK;

#endif

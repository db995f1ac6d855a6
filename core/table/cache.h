/* SPDX-License-Identifier: Apache-2.0
 *
 * A cache (kind = cache): inserts and finds are steps of their own (../kernels/cache.h), and everything else is as of a table
 * whose values are in its slots. The clock and the scores are a region of the store, so files and tsr_clear know of them.
 */
#ifndef TSR_TABLE_CACHE_H
#define TSR_TABLE_CACHE_H

#include "core/table/values.h"

bool tsr_is_cache(const tsr_table *table);
tsr_status tsr_cache_operate(tsr_table *table, const tsr_request *request, tsr_operation *narrow, tsr_error *error)
    TSR_MUST_CHECK;
/* How many pairs were given up since the report was reset; resets: and begins anew. Waits. */
tsr_status tsr_cache_read_evicted(tsr_table *table, bool resets, uint64_t *evicted, tsr_error *error) TSR_MUST_CHECK;

#endif

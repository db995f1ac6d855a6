/* SPDX-License-Identifier: Apache-2.0
 *
 * Filters as tables (kind = filter): what they refuse. What is told of them, and unions, are in filter.c. Read next:
 * wide.h.
 */
#ifndef TSR_TABLE_FILTER_H
#define TSR_TABLE_FILTER_H

#include "core/table/handle.h"

bool tsr_is_filter(const tsr_table *table);
/* TSR_UNSUPPORTED with a sentence, if the table is a filter: for calls that need keys, of which it has none. */
tsr_status tsr_refuse_filter(const tsr_table *table, const char *call, tsr_error *error) TSR_MUST_CHECK;

#endif

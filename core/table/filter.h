/* SPDX-License-Identifier: Apache-2.0
 *
 * Filters as tables (kind = filter): what they refuse. Reports and unions are in filter.c. Read next: wide.h.
 */
#ifndef TSR_TABLE_FILTER_H
#define TSR_TABLE_FILTER_H

#include "core/table/table_struct.h"

bool tsr_is_filter(const tsr_table *table);
/* TSR_UNSUPPORTED with a sentence that begins with `call`, if the table does not go with what the call wants
 * (core/compose/compatible.h). A table that is NULL passes. */
tsr_status tsr_table_admits(const tsr_table *table, tsr_feature feature, const char *call, tsr_error *error)
    TSR_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Cleaning. A slot whose pair was erased stays in the way of every search until the table is rebuilt. So before an
 * insert that finds more than half as many slots erased as empty, a table rebuilds itself in its place (../design/0030-cleaning.md).
 * Read next: clean.c.
 */
#ifndef TSR_TABLE_CLEAN_H
#define TSR_TABLE_CLEAN_H

#include "core/table/table_struct.h"

/* Before a request: notes what it may erase and insert. Of one that inserts, where enough was erased, it counts slots and
 * cleans the table; then it waits. A table that cannot be cleaned now, for want of memory say, stays as it is. */
tsr_status tsr_clean(tsr_table *table, const tsr_request *request, tsr_error *error) TSR_MUST_CHECK;
/* Notes the same of a launch that is no request. */
void tsr_clean_note(tsr_table *table, uint64_t may_erase, uint64_t may_insert);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of [table] value_bytes, a layer above a table of 32-bit values. Each pair has a row, and what the table stores as
 * its value is the row's number.
 *
 * An insert offers for its items the next numbers of a list of spare rows, then writes the rows of those items whose
 * numbers may be in the table. Nothing gives a row back: not the key that was present, not an erased pair, not a call that
 * failed. When the list is short the rows in use are marked, by one scan over the table, and the others listed anew. So
 * which rows are spare has one source, the table itself, and the host knows how many without asking the device.
 * Read next: operate.c.
 */
#ifndef TSR_TABLE_WIDE_H
#define TSR_TABLE_WIDE_H

#include "core/kernels/wide.h"
#include "core/table/values.h"

bool tsr_is_wide(const tsr_table *table);
/* Makes rows, so that there are as many as the store needs, and `count` at least; those that are there stay. Waits. */
tsr_status tsr_wide_reserve(tsr_table *table, uint64_t count, tsr_error *error) TSR_MUST_CHECK;
/* Lists the rows that no pair has. TSR_IO: two pairs have one row, or there is none of that number. Waits. */
tsr_status tsr_wide_collect(tsr_table *table, void *stream, tsr_error *error) TSR_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows at the numbers of an index (value_bytes). Their memory is that of the free numbers (free_numbers.h), and only callers
 * write to it. Read next: numbering.h.
 */
#ifndef TSR_TABLE_NUMBER_ROWS_H
#define TSR_TABLE_NUMBER_ROWS_H

#include "core/table/numbering.h"

/* tsr_insert with values: numbers the keys, and writes their rows. */
tsr_status tsr_number_rows_insert(tsr_table *table, uint64_t n, const void *keys, const void *rows,
                                  const tsr_call *call, tsr_error *error) TSR_MUST_CHECK;

#endif

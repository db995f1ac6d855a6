/* SPDX-License-Identifier: Apache-2.0
 *
 * An index (kind = index), a layer above a table of 32-bit values: the value of each key is its number.
 *
 * A batch is inserted by find_or_insert, and each item offers a mark, which is the item's position. So the mark that a new
 * key has in the table says which item of the batch inserted it. One item of each new key is chosen, a prefix sum over the
 * chosen ones says which number each takes, and TSR_BULK_combine writes the numbers over the marks. All of this is
 * enqueued, and the host never learns how many keys were new. Which numbers are free is in device memory: those from
 * `given` on, and a list of those that came back from erased keys. Read next: operate.c.
 */
#ifndef TSR_TABLE_NUMBERING_H
#define TSR_TABLE_NUMBERING_H

#include "core/kernels/numbering.h"
#include "core/table/values.h"

bool tsr_is_index(const tsr_table *table);
/* What a call that waits refuses: another kind, as `feature` says, and a stream that is captured. */
tsr_status tsr_index_begin(tsr_table *table, tsr_feature feature, const char *call, void *stream, tsr_error *error)
    TSR_MUST_CHECK;
/* Fails where a call has failed when keys had marks in place of numbers. */
tsr_status tsr_numbering_check(const tsr_table *table, tsr_error *error) TSR_MUST_CHECK;
/* Runs a step on the table's numbers. */
tsr_status tsr_numbering_step(const tsr_table *table, uint32_t which, const tsr_numbering_run *run, void *stream,
                              tsr_error *error) TSR_MUST_CHECK;
/* How many were given, and how many of them are free. Waits for the stream. */
tsr_status tsr_read_free_numbers(tsr_table *table, tsr_free_numbers *numbers, void *stream, tsr_error *error)
    TSR_MUST_CHECK;

#endif

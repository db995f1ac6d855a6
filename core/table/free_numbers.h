/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory of an index: which numbers are free; with eviction, the score of each number; with value_bytes, its row. Read
 * next: eviction.h, numbering.h, which work on it by steps.
 */
#ifndef TSR_TABLE_FREE_NUMBERS_H
#define TSR_TABLE_FREE_NUMBERS_H

#include "core/kernels/numbering.h"
#include "core/table/table_struct.h"

bool tsr_evicts(const tsr_table *table);
/* Where the scores are in memory that has a list of `room` free numbers; NULL: the table evicts nothing. */
uint64_t *tsr_scores_in(const tsr_table *table, struct tsr_free_numbers *memory, uint64_t room);
/* Where the rows of numbers are in the same memory; NULL: they have none. */
void *tsr_rows_in(const tsr_table *table, struct tsr_free_numbers *memory, uint64_t room);
/* Runs a step on the table's numbers. */
tsr_status tsr_numbering_step(const tsr_table *table, uint32_t which, const tsr_numbering_run *run, void *stream,
                              tsr_error *error) TSR_MUST_CHECK;
/* How many were given, and how many of them are free. Waits for the stream. */
tsr_status tsr_read_free_numbers(tsr_table *table, tsr_free_numbers *numbers, void *stream, tsr_error *error)
    TSR_MUST_CHECK;

#endif

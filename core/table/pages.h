/* SPDX-License-Identifier: Apache-2.0
 *
 * Inserting a batch page by page: the plan of its steps (../kernels/pages.h), which both backends follow.
 */
#ifndef TSR_TABLE_PAGES_H
#define TSR_TABLE_PAGES_H

#include "core/table/handle.h"

/* The most device memory that such a batch of n pairs needs meanwhile, beside its own arrays. has_answers: its results, or
 * the pairs without a place, are wanted. */
uint64_t tsr_pages_scratch_bytes(const tsr_table *table, const tsr_composition *composition, uint64_t n,
                                 bool has_answers);

/* Enqueues the insert of bulk->n pairs; *began: false if nothing was done, for want of scratch memory. bulk: with state
 * and tally. Nothing else works on the table meanwhile: pages are written back whole. */
tsr_status tsr_pages_insert(const tsr_table *table, const tsr_store *store, const tsr_bulk *bulk, void *stream,
                            bool *began, tsr_error *error) TSR_MUST_CHECK;

#endif

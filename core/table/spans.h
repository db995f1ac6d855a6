/* SPDX-License-Identifier: Apache-2.0
 *
 * Before an insert by random access: what neighbouring items of a large batch offer for one key becomes one item
 * (../kernels/spans.cuh). Read next: launch.h.
 */
#ifndef TSR_TABLE_SPANS_H
#define TSR_TABLE_SPANS_H

#include "core/table/handle.h"

/* Enqueues that for bulk->spans, where it may pay: where nobody wants answers, and there is *memory for it, which the
 * caller frees in the stream's order when the insert is enqueued; else NULL. */
tsr_status tsr_spans_make(const tsr_table *table, tsr_bulk *bulk, void *stream, void **memory, tsr_error *error)
    TSR_MUST_CHECK;

#endif

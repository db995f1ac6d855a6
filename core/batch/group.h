/* SPDX-License-Identifier: Apache-2.0
 *
 * Before an insert by random access: offers of neighbouring items of a large batch for one key become one item
 * (spans.cuh). Read next: ../table/launch.h.
 */
#ifndef TSR_BATCH_GROUP_H
#define TSR_BATCH_GROUP_H

#include "core/batch/steps.h"
#include "core/batch/work.h"

/* Enqueues that for bulk->spans, if it may pay and there is *memory for it; otherwise *memory is NULL. The caller frees it
 * in the stream's order when the insert is enqueued. */
tsr_status tsr_spans_make(const tsr_work *work, tsr_bulk *bulk, void **memory) TSR_MUST_CHECK;

/* Enqueues, after the insert of bulk->spans, which are in `memory`, the answers for the items that became part of a pair. */
tsr_status tsr_spans_answer(const tsr_work *work, const tsr_bulk *bulk, void *memory) TSR_MUST_CHECK;

/* A batch as one list, with one item for the offers of neighbouring items for a key. */
typedef struct tsr_span_list {
  uint64_t n;
  const void *keys, *values;
  const uint32_t *counts; /* of how many items each was made; NULL: the list is the batch itself */
  void *memory;           /* of the list, which the caller frees in the stream's order; NULL: none */
} tsr_span_list;

/* Makes the list of the batch bulk->keys and bulk->values, if that may pay, and waits to know how long it is. */
tsr_status tsr_spans_list(const tsr_work *work, const tsr_bulk *bulk, tsr_span_list *list) TSR_MUST_CHECK;

#endif

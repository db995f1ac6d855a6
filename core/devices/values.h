/* SPDX-License-Identifier: Apache-2.0
 *
 * All values of the keys of a chunk: the work and the way back of tsr_find_all, whose answers have different lengths.
 * Read next: batch.h.
 */
#ifndef TSR_DEVICES_VALUES_H
#define TSR_DEVICES_VALUES_H

#include "core/devices/task.h"

/* After tsr_chunk_split: travels, retrieves and brings back. The caller's offsets say where the values of each item begin.
 * wants, back: members * members numbers each, for the sizes of the exchange. */
tsr_status tsr_chunk_retrieve(const tsr_task *task, uint32_t flight, tsr_status status, uint64_t *wants, uint64_t *back)
    TSR_MUST_CHECK;

#endif

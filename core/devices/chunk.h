/* SPDX-License-Identifier: Apache-2.0
 *
 * The four legs of a chunk, as in multi-GPU HashGraph. Each member splits its part of the chunk by the shards of its
 * keys, and all exchange how much they have for each shard. The items travel. Each shard works on what came. The
 * answers travel back and are put into the caller's order. `flight` is the chunk's. All processes of a group call each
 * function together. Read next: batch.h, which goes through the chunks.
 */
#ifndef TSR_DEVICES_CHUNK_H
#define TSR_DEVICES_CHUNK_H

#include "core/devices/task.h"

/* Sets the items of a round in each member's part: a chunk's share, or what is left. */
void tsr_chunk_take_round(const tsr_task *task, uint32_t flight, uint64_t round);
/* The member's part of a chunk in the order of shards, which follow each other. */
tsr_runs tsr_chunk_runs(const tsr_task *task, const tsr_flight *flight);
/* A column of the member's part of a chunk, at a place that its device reads at the full rate: the caller's own array,
 * or a copy. */
tsr_status tsr_chunk_fetch(const tsr_task *task, uint32_t member, tsr_flight *flight, tsr_column column) TSR_MUST_CHECK;

tsr_status tsr_chunk_split(const tsr_task *task, uint32_t flight, uint64_t round) TSR_MUST_CHECK;
/* status: how the split went in this process, which the others learn here. */
tsr_status tsr_chunk_travel(const tsr_task *task, uint32_t flight, tsr_status status) TSR_MUST_CHECK;
tsr_status tsr_chunk_work(const tsr_task *task, uint32_t flight) TSR_MUST_CHECK;
tsr_status tsr_chunk_bring_back(const tsr_task *task, uint32_t flight) TSR_MUST_CHECK;

#endif

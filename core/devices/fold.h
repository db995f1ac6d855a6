/* SPDX-License-Identifier: Apache-2.0
 *
 * Items of one key become one before they travel (../batch/fold.h): when, and what follows from it. A shard says what became
 * of each item that it gets, so that one without a place counts, and comes back, as the items that it stands for. Read next:
 * chunk.h.
 */
#ifndef TSR_DEVICES_FOLD_H
#define TSR_DEVICES_FOLD_H

#include "core/devices/task.h"

/* What tables of a group tell each other: their setting, or that they have nothing to fold. */
enum { TSR_FOLDS_AUTO, TSR_FOLDS_ALWAYS, TSR_FOLDS_NEVER };

/* Sets what a row says of the parts here. Waits for a sample of them. */
tsr_status tsr_fold_sample(const tsr_task *task, tsr_task_row *row) TSR_MUST_CHECK;
/* Decides by the rows of all members, and sets the columns that travel then. */
void tsr_fold_decide(tsr_task *task);

/* Room for answers that the device cannot write to the caller's arrays. */
tsr_status tsr_fold_reserve(const tsr_task *task, uint32_t member, tsr_flight *flight) TSR_MUST_CHECK;
/* Folds a member's part of a chunk. */
tsr_status tsr_fold_part(const tsr_task *task, const tsr_member *member, tsr_flight *flight) TSR_MUST_CHECK;
/* Whether the shards have to give this answer although nobody has asked for it. */
bool tsr_fold_needs(const tsr_task *task, tsr_answer answer);
/* Before the work of a shard: makes the values of a counter's items, where these are all that travels. */
tsr_status tsr_fold_unpack(const tsr_task *task, uint32_t member, uint32_t flight) TSR_MUST_CHECK;
/* After the work of a shard: counts, for the report, what its items stand for. */
tsr_status tsr_fold_weigh(const tsr_task *task, uint32_t member, uint32_t flight) TSR_MUST_CHECK;
/* When the answers are in the order of what was made: gives each item its own. */
tsr_status tsr_fold_answer(const tsr_task *task, uint32_t member, uint32_t flight) TSR_MUST_CHECK;

#endif

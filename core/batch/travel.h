/* SPDX-License-Identifier: Apache-2.0
 *
 * Batches of a table that is in the host's memory: put in the order of their keys' pages, while runs of these pages come
 * to the device, are worked on there, and go back if the operation writes. Read next: ../table/launch.h.
 */
#ifndef TSR_BATCH_TRAVEL_H
#define TSR_BATCH_TRAVEL_H

#include "core/batch/plan.h"
#include "core/batch/work.h"

/* Enqueues the operation; waits for the device once for each part of the batch that its memory has room for, since the host
 * has to know which pages have keys. bulk: with state and tally. *began: false, and nothing was done: a find that has no
 * memory for its batch can be done another way. */
tsr_status tsr_travel(const tsr_work *work, const tsr_stages *stages, uint32_t op, const tsr_bulk *bulk, bool *began)
    TSR_MUST_CHECK;

#endif

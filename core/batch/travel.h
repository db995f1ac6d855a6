/* SPDX-License-Identifier: Apache-2.0
 *
 * Batches of a table in host memory. They are sorted by their keys' pages. Runs of these pages come to the device, are
 * worked on there, and go back if the operation writes. Read next: ../table/launch.h.
 */
#ifndef TSR_BATCH_TRAVEL_H
#define TSR_BATCH_TRAVEL_H

#include "core/batch/plan.h"
#include "core/batch/work.h"

/* Enqueues the operation. Waits for the device once for each part of the batch that its memory has room for, since the
 * host has to know which pages have keys. bulk: with state and tally. *began: false, and nothing was done: a find
 * without memory for its batch can take another way. */
tsr_status tsr_travel(const tsr_work *work, const tsr_stages *stages, uint32_t op, const tsr_bulk *bulk, bool *began)
    TSR_MUST_CHECK;

#endif

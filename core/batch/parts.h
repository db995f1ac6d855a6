/* SPDX-License-Identifier: Apache-2.0
 *
 * How large the shards of a table of several devices are. Read next: split.h, which splits a batch.
 */
#ifndef TSR_BATCH_PARTS_H
#define TSR_BATCH_PARTS_H

#include "core/compose/settings.h"

/* The pairs that each of `count` shards must hold, so that all of them hold the capacity. */
uint64_t tsr_shard_capacity(const tsr_settings *settings, uint32_t count);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Which bins each shard has. Read next: balance.c.
 */
#ifndef TSR_DEVICES_BALANCE_H
#define TSR_DEVICES_BALANCE_H

#include "core/devices/shards.h"

/* Equal parts: what distinct keys need. */
void tsr_balance_evenly(tsr_shards *shards);
/* For tables in which each pair of a key takes a slot: the parts follow how many keys of a batch each bin has. `count`
 * adds the keys of one member, arrays of its device. `choose` makes the parts; all processes have to call it. capacity:
 * of all shards; the part that the batch does not fill is taken to come evenly. */
tsr_status tsr_balance_add(tsr_shards *shards, uint32_t member, uint64_t n, const void *keys, uint32_t key_bytes,
                           tsr_error *error) TSR_MUST_CHECK;
tsr_status tsr_balance_choose(tsr_shards *shards, uint64_t capacity, tsr_error *error) TSR_MUST_CHECK;
/* The keys that were added are not, and the table is empty. */
void tsr_balance_forget(tsr_shards *shards);
/* More memory for a buffer of a member, if it needs it; what was in it is lost. pre: no work on it is under way. */
tsr_status tsr_buffer_reserve(const tsr_member *member, tsr_buffer *buffer, uint64_t bytes, tsr_error *error)
    TSR_MUST_CHECK;
void tsr_buffer_free(tsr_device *device, tsr_buffer *buffer);
/* All buffers of a flight. */
void tsr_flight_free(tsr_device *device, tsr_flight *flight);

#endif

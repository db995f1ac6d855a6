/* SPDX-License-Identifier: Apache-2.0
 *
 * The beginning and end of a table of several devices. Read next: furnish.c.
 */
#ifndef TSR_DEVICES_FURNISH_H
#define TSR_DEVICES_FURNISH_H

#include "core/devices/shards.h"

/* Makes shard i of this process. from: whatever the maker needs. */
typedef tsr_status tsr_shard_maker(const tsr_table *table, uint32_t i, const void *from, tsr_table **shard,
                                   tsr_error *error);
/* Makes an empty shard by the table's spec. from: NULL. */
tsr_status tsr_shard_create(const tsr_table *table, uint32_t i, const void *from, tsr_table **shard, tsr_error *error)
    TSR_MUST_CHECK;
/* The number of the device of shard i. */
uint32_t tsr_shard_device(const tsr_table *table, uint32_t i);
/* All shards, and what belongs to them. On failure tsr_shards_release frees what was made. */
tsr_status tsr_shards_furnish(tsr_table *table, tsr_shard_maker *make, const void *from, tsr_error *error)
    TSR_MUST_CHECK;
void tsr_shards_release(tsr_table *table);

#endif

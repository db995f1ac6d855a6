/* SPDX-License-Identifier: Apache-2.0
 *
 * How a table of a group of processes is made, whatever its shards are made from. Read next: group.c.
 */
#ifndef TSR_DEVICES_GROUP_H
#define TSR_DEVICES_GROUP_H

#include "core/devices/furnish.h"

uint32_t tsr_group_rank(const tsr_group *group);
uint32_t tsr_group_size(const tsr_group *group);
/* Makes this process's part by a spec; the caller destroys *table, on failure too. */
tsr_status tsr_group_make(tsr_group *group, const tsr_spec *spec, const tsr_options *options, tsr_shard_maker *make,
                          const void *from, tsr_table **table, tsr_error *error) TSR_MUST_CHECK;
/* Learns whether all processes have made their parts, and alike, and connects them. Takes `made` over: it becomes
 * *table, or is destroyed. status: how making it went. */
tsr_status tsr_group_complete(tsr_group *group, tsr_table *made, tsr_status status, tsr_table **table, tsr_error *error)
    TSR_MUST_CHECK;

#endif

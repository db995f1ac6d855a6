/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of several devices as wholes: built, and moved to new shards. Read next: move.c.
 */
#ifndef TSR_DEVICES_MOVE_H
#define TSR_DEVICES_MOVE_H

#include "core/devices/shards.h"

/* Of tsr_methods_shards. */
tsr_status tsr_shards_build(tsr_table *table, uint64_t n, const void *keys, const void *values, const tsr_call *call,
                            uint32_t tries, tsr_error *error) TSR_MUST_CHECK;
tsr_status tsr_shards_rehash(tsr_table *table, const tsr_rehash_options *options, tsr_error *error) TSR_MUST_CHECK;

/* A table that holds the pairs of `right` in the shards in which `left` would. The caller destroys *made, on failure
 * too. */
tsr_status tsr_shards_redeal(tsr_table *right, const tsr_shards *left, tsr_table **made, tsr_error *error)
    TSR_MUST_CHECK;

/* A table of the same parts and pairs on the devices that a spec names: `devices` has the backend, the devices and
 * [devices]. The original may be a table of one store. The caller destroys *made, on failure too. */
tsr_status tsr_shards_move(tsr_table *table, const tsr_spec *devices, tsr_table **made, tsr_error *error)
    TSR_MUST_CHECK;

#endif

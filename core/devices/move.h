/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of several devices as wholes: built, moved to new shards, joined. Read next: move.c.
 */
#ifndef TSR_DEVICES_MOVE_H
#define TSR_DEVICES_MOVE_H

#include "core/devices/shards.h"

/* Of tsr_form_shards. */
tsr_status tsr_shards_build(tsr_table *table, uint64_t n, const void *keys, const void *values, const tsr_call *call,
                            uint32_t tries, tsr_error *error) TSR_MUST_CHECK;
tsr_status tsr_shards_rehash(tsr_table *table, const tsr_rehash_options *options, tsr_error *error) TSR_MUST_CHECK;
tsr_status tsr_shards_join(tsr_table *left, tsr_table *right, uint32_t kind, const tsr_join_rows *rows, uint64_t *count,
                           tsr_error *error) TSR_MUST_CHECK;

#endif

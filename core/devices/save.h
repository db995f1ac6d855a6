/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of several devices in files: one file that holds each shard as a file of its own would. Read next:
 * ../table/save_format.h.
 */
#ifndef TSR_DEVICES_SAVE_H
#define TSR_DEVICES_SAVE_H

#include "core/devices/shards.h"

/* Of tsr_methods_shards. */
tsr_status tsr_shards_save(tsr_table *table, const char *path, tsr_error *error) TSR_MUST_CHECK;
tsr_status tsr_shards_take(tsr_table *table, bool copies, struct tsr_snapshot *snapshot, tsr_error *error)
    TSR_MUST_CHECK;
tsr_status tsr_shards_load(const char *path, int file, uint64_t bytes, const tsr_load_options *options,
                           tsr_table **table, tsr_error *error) TSR_MUST_CHECK;

#endif

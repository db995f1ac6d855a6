/* SPDX-License-Identifier: Apache-2.0
 *
 * Joins of tables of several devices. Read next: join.c.
 */
#ifndef TSR_DEVICES_JOIN_H
#define TSR_DEVICES_JOIN_H

#include "core/devices/shards.h"

/* Of tsr_methods_shards. */
tsr_status tsr_shards_join(tsr_table *left, tsr_table *right, uint32_t kind, const tsr_join_rows *rows, uint64_t *count,
                           tsr_error *error) TSR_MUST_CHECK;

#endif

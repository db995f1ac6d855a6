/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions about a table of several devices as a whole. Read next: whole.c; move.h.
 */
#ifndef TSR_DEVICES_WHOLE_H
#define TSR_DEVICES_WHOLE_H

#include "core/devices/shards.h"

/* How many shards of this process hold pairs that no other one holds: the first ones. */
uint32_t tsr_shards_holders(const tsr_shards *shards);
/* The sum of a number over all processes. A process that has all shards has the sum already. */
tsr_status tsr_shards_add_up(tsr_shards *shards, uint64_t *number, tsr_error *error) TSR_MUST_CHECK;

/* How many pairs the shards of this process have handed back because there was no memory to grow. */
uint64_t tsr_shards_ungrown(const tsr_table *table);
/* The status of an operation, as tsr_growth_tell: alike in all processes. before: what was counted before it. */
tsr_status tsr_shards_tell_ungrown(tsr_table *table, uint32_t op, uint64_t before, tsr_error *error) TSR_MUST_CHECK;

/* Passes one column of rows, `counts` from each process, to all processes: from the shard's device to `callers`, an array
 * for all rows. NULL: the column is passed on, but not kept. */
tsr_status tsr_shards_pass_column(tsr_table *table, const uint64_t *counts, const void *mine, void *callers,
                                  uint32_t item_bytes, tsr_error *error) TSR_MUST_CHECK;

/* Of tsr_methods_shards: */
void tsr_shards_describe(const tsr_table *table, tsr_table_info *info);
tsr_status tsr_shards_prepare(tsr_table *table, uint32_t calls, tsr_error *error) TSR_MUST_CHECK;
tsr_status tsr_shards_clear(tsr_table *table, void *stream, tsr_error *error) TSR_MUST_CHECK;
tsr_status tsr_shards_size(tsr_table *table, uint64_t *size, tsr_error *error) TSR_MUST_CHECK;
tsr_status tsr_shards_write_out(tsr_table *table, uint64_t size, void *keys, void *values, tsr_error *error)
    TSR_MUST_CHECK;
tsr_status tsr_shards_use(tsr_table *table, tsr_usage *usage, tsr_error *error) TSR_MUST_CHECK;
tsr_status tsr_shards_flush(tsr_table *table, uint64_t *units, tsr_error *error) TSR_MUST_CHECK;
tsr_status tsr_shards_report(tsr_table *table, tsr_report *report, tsr_error *error) TSR_MUST_CHECK;
tsr_status tsr_shards_report_reset(tsr_table *table, tsr_error *error) TSR_MUST_CHECK;
tsr_status tsr_shards_wait(tsr_table *table, tsr_error *error) TSR_MUST_CHECK;

#endif

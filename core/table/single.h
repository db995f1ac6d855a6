/* SPDX-License-Identifier: Apache-2.0
 *
 * The methods of a table of one store (tsr_methods in table_struct.h), each in the file of its operation.
 */
#ifndef TSR_TABLE_SINGLE_H
#define TSR_TABLE_SINGLE_H

#include "core/table/table_struct.h"

/* create.c */
tsr_status tsr_single_furnish(tsr_table *table, tsr_error *error) TSR_MUST_CHECK;
void tsr_single_release(tsr_table *table);
tsr_status tsr_single_clear(tsr_table *table, void *stream, tsr_error *error) TSR_MUST_CHECK;
/* order.c */
tsr_status tsr_single_wait(tsr_table *table, tsr_error *error) TSR_MUST_CHECK;
/* rebuild.c; save.c; join.c; build.c */
tsr_status tsr_single_rehash(tsr_table *table, const tsr_rehash_options *options, tsr_error *error) TSR_MUST_CHECK;
tsr_status tsr_single_save(tsr_table *table, const char *path, tsr_error *error) TSR_MUST_CHECK;
tsr_status tsr_single_take(tsr_table *table, bool copies, struct tsr_snapshot *snapshot, tsr_error *error)
    TSR_MUST_CHECK;
tsr_status tsr_single_load(const char *path, int file, uint64_t bytes, const tsr_load_options *options,
                           tsr_table **table, tsr_error *error) TSR_MUST_CHECK;
tsr_status tsr_single_join(tsr_table *left, tsr_table *right, uint32_t kind, const tsr_join_rows *rows, uint64_t *count,
                           tsr_error *error) TSR_MUST_CHECK;
/* The error of a join with sums past 2^64 - 1, for a caller without a place for their number. */
tsr_status tsr_join_refuse_overflow(uint64_t overflowed, tsr_error *error);
tsr_status tsr_single_build(tsr_table *table, uint64_t n, const void *keys, const void *values, const tsr_call *call,
                            uint32_t tries, tsr_error *error) TSR_MUST_CHECK;
/* prepare.c */
tsr_status tsr_single_prepare(tsr_table *table, uint32_t calls, tsr_error *error) TSR_MUST_CHECK;
/* Loads what the inserts of a table that grows by splitting run, so that its first calls take as long as later ones. */
tsr_status tsr_single_prepare_splits(tsr_table *table, tsr_error *error) TSR_MUST_CHECK;
/* operate.c */
tsr_status tsr_single_operate(tsr_table *table, const tsr_request *request, tsr_error *error) TSR_MUST_CHECK;
/* The same as a call of its own, whose status says where growing ended (tsr_growth_tell). */
tsr_status tsr_single_call(tsr_table *table, const tsr_request *request, tsr_error *error) TSR_MUST_CHECK;
/* tell.c */
void tsr_single_describe(const tsr_table *table, tsr_table_info *info);
tsr_status tsr_single_size(tsr_table *table, uint64_t *size, tsr_error *error) TSR_MUST_CHECK;
/* Pairs as slots hold them: with value_bytes values are the numbers of rows (wide.h). */
tsr_status tsr_single_write_slots(tsr_table *table, uint64_t size, void *keys, void *values, tsr_error *error)
    TSR_MUST_CHECK;
tsr_status tsr_single_write_out(tsr_table *table, uint64_t size, void *keys, void *values, tsr_error *error)
    TSR_MUST_CHECK;
tsr_status tsr_single_use(tsr_table *table, tsr_usage *usage, tsr_error *error) TSR_MUST_CHECK;
tsr_status tsr_single_flush(tsr_table *table, uint64_t *units, tsr_error *error) TSR_MUST_CHECK;
tsr_status tsr_single_report(tsr_table *table, tsr_report *report, tsr_error *error) TSR_MUST_CHECK;
tsr_status tsr_single_report_reset(tsr_table *table, tsr_error *error) TSR_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of one store (single.h). Those of several devices are in ../devices/methods.c.
 */
#include "core/table/single.h"

static tsr_table *part(tsr_table *t, uint32_t i) { return i == 0 ? t : NULL; }

const tsr_methods tsr_methods_store = {
    .furnish = tsr_single_furnish,
    .release = tsr_single_release,
    .describe = tsr_single_describe,
    .prepare = tsr_single_prepare,
    .operate = tsr_single_call,
    .clear = tsr_single_clear,
    .size = tsr_single_size,
    .write_out = tsr_single_write_out,
    .use = tsr_single_use,
    .flush = tsr_single_flush,
    .build = tsr_single_build,
    .rehash = tsr_single_rehash,
    .join = tsr_single_join,
    .save = tsr_single_save,
    .take = tsr_single_take,
    .load = tsr_single_load,
    .report = tsr_single_report,
    .report_reset = tsr_single_report_reset,
    .wait = tsr_single_wait,
    .part = part,
};

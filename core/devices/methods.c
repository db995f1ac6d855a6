/* SPDX-License-Identifier: Apache-2.0
 *
 * The methods of tables of several devices (shards.h), the counterpart of ../table/single.c. Operations with an answer
 * per item are batches (batch.c); the rest is asked of each shard (whole.c).
 *
 * Read next: batch.h.
 */
#include "core/devices/batch.h"
#include "core/devices/furnish.h"
#include "core/devices/join.h"
#include "core/devices/modes.h"
#include "core/devices/move.h"
#include "core/devices/save.h"
#include "core/devices/whole.h"
#include "core/table/call.h"

static tsr_status operate_shards(tsr_table *t, const tsr_request *asked, tsr_error *error) {
  tsr_request begun = *asked;
  const tsr_request *r = &begun;
  const tsr_status status = tsr_call_begin(t, &begun, error);
  if (status) return status;
  if (r->n == 0 && r->op != TSR_BULK_retrieve && !t->shards->transport.group) return TSR_OK;
  switch (t->shards->split) {
  case TSR_SPLIT_INDEPENDENT:
    return tsr_independent_operate(t, r, error);
  case TSR_SPLIT_REPLICATED:
    return tsr_replicated_operate(t, r, error);
  default:
    return r->op == TSR_BULK_retrieve ? tsr_batch_find_all(t, r, error) : tsr_batch_run(t, r, error);
  }
}

static tsr_status operate(tsr_table *t, const tsr_request *r, tsr_error *error) {
  const uint64_t before = tsr_shards_ungrown(t);
  const tsr_status status = operate_shards(t, r, error);
  return status ? status : tsr_shards_tell_ungrown(t, r->op, before, error);
}

static tsr_status furnish(tsr_table *t, tsr_error *error) {
  return tsr_shards_furnish(t, tsr_shard_create, NULL, error);
}

static tsr_table *part(tsr_table *t, uint32_t i) {
  return i < t->shards->transport.here ? t->shards->members[i].shard : NULL;
}

const tsr_methods tsr_methods_shards = {
    .furnish = furnish,
    .release = tsr_shards_release,
    .describe = tsr_shards_describe,
    .prepare = tsr_shards_prepare,
    .operate = operate,
    .clear = tsr_shards_clear,
    .size = tsr_shards_size,
    .write_out = tsr_shards_write_out,
    .use = tsr_shards_use,
    .flush = tsr_shards_flush,
    .build = tsr_shards_build,
    .rehash = tsr_shards_rehash,
    .join = tsr_shards_join,
    .save = tsr_shards_save,
    .take = tsr_shards_take,
    .load = tsr_shards_load,
    .report = tsr_shards_report,
    .report_reset = tsr_shards_report_reset,
    .wait = tsr_shards_wait,
    .part = part,
};

/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions about a whole table of several devices (whole.h): each shard is asked, and the answers are added up.
 */
#include "core/devices/whole.h"

#include <stdlib.h>
#include <string.h>

#include "core/table/call.h"
#include "core/table/growth.h"
#include "core/table/single.h"
#include "core/table/stage.h"

uint32_t tsr_shards_holders(const tsr_shards *s) { return s->split == TSR_SPLIT_REPLICATED ? 1 : s->transport.here; }

tsr_status tsr_shards_add_up(tsr_shards *s, uint64_t *number, tsr_error *error) {
  tsr_transport *x = &s->transport;
  uint64_t rows[TSR_DEVICES_MAX] = {0}; /* the first member here has the sum over all members here */
  rows[x->first] = *number;
  tsr_status status = x->gather(x, rows, 1, TSR_OK, error);
  if (status) return status;
  *number = 0;
  for (uint32_t i = 0; i < x->members; i++) *number += rows[i];
  return TSR_OK;
}

uint64_t tsr_shards_ungrown(const tsr_table *t) {
  uint64_t pairs = 0;
  for (uint32_t i = 0; i < t->shards->transport.here; i++) pairs += t->shards->members[i].shard->done.ungrown;
  return pairs;
}

tsr_status tsr_shards_tell_ungrown(tsr_table *t, uint32_t op, uint64_t before, tsr_error *error) {
  uint64_t pairs = tsr_shards_ungrown(t) - before;
  if (!t->store.composition->settings.upkeep.growth || (op != TSR_BULK_insert && op != TSR_BULK_find_or_insert))
    return TSR_OK;
  const tsr_status status = tsr_shards_add_up(t->shards, &pairs, error);
  return status ? status : tsr_growth_tell(t, pairs, error);
}

void tsr_shards_describe(const tsr_table *t, tsr_table_info *info) {
  const tsr_shards *s = t->shards;
  uint64_t capacity = 0;
  if (!s || !s->members || !s->members[0].shard) return;
  tsr_single_describe(s->members[0].shard, info);
  info->backend_reason = t->reason;
  info->slots = info->buckets = info->bytes = 0;
  info->code_counts = (tsr_code_counts){0};
  for (uint32_t i = 0; i < s->transport.here; i++) {
    tsr_table_info one;
    if (!s->members[i].shard) continue;
    tsr_single_describe(s->members[i].shard, &one);
    info->bytes += one.bytes;
    info->code_counts.ahead += one.code_counts.ahead;
    info->code_counts.cached += one.code_counts.cached;
    info->code_counts.made += one.code_counts.made;
    if (i >= tsr_shards_holders(s)) continue;
    capacity += one.capacity;
    info->slots += one.slots;
    info->buckets += one.buckets;
  }
  const bool has_grown = capacity > t->store.composition->settings.capacity * tsr_shards_holders(s);
  info->capacity = has_grown ? capacity : t->capacity;
}

tsr_status tsr_shards_prepare(tsr_table *t, uint32_t calls, tsr_error *error) {
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; status == TSR_OK && i < t->shards->transport.here; i++)
    status = tsr_single_prepare(t->shards->members[i].shard, calls, error);
  return status;
}

tsr_status tsr_shards_size(tsr_table *t, uint64_t *size, tsr_error *error) {
  uint64_t sum = 0, one = 0;
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; status == TSR_OK && i < tsr_shards_holders(t->shards); i++) {
    status = tsr_single_size(t->shards->members[i].shard, &one, error);
    sum += one;
  }
  status = t->shards->transport.agree(&t->shards->transport, status, error);
  if (status == TSR_OK) status = tsr_shards_add_up(t->shards, &sum, error);
  if (status == TSR_OK) *size = sum;
  return status;
}

tsr_status tsr_shards_clear(tsr_table *t, void *stream, tsr_error *error) {
  tsr_request r = {.op = TSR_CALL_CLEAR,
                   .call.stream = stream}; /* a stream for work on the caller's arrays; shards have their own */
  tsr_status status = tsr_call_begin(t, &r, error);
  for (uint32_t i = 0; status == TSR_OK && i < t->shards->transport.here; i++) {
    tsr_table *shard = t->shards->members[i].shard;
    status = tsr_single_clear(shard, NULL, error);
    if (status == TSR_OK) status = tsr_single_wait(shard, error);
  }
  t->shards->is_empty = true;
  t->shards->is_stale = false;
  return t->shards->transport.agree(&t->shards->transport, status, error);
}

tsr_status tsr_shards_use(tsr_table *t, tsr_usage *usage, tsr_error *error) {
  tsr_usage sum = {.size = 0}, one;
  double used = 0;
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; status == TSR_OK && i < tsr_shards_holders(t->shards); i++) {
    status = tsr_single_use(t->shards->members[i].shard, &one, error);
    if (status) break;
    sum.pairs += one.pairs;
    sum.tombstones += one.tombstones;
    sum.units += one.units;
    sum.slots += one.slots;
    used += one.utilization * (double)one.slots;
  }
  sum.utilization = sum.slots ? used / (double)sum.slots : 0;
  *usage = sum;
  return status;
}

tsr_status tsr_shards_flush(tsr_table *t, uint64_t *units, tsr_error *error) {
  uint64_t sum = 0;
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; status == TSR_OK && i < t->shards->transport.here; i++) {
    uint64_t one = 0;
    status = tsr_single_flush(t->shards->members[i].shard, &one, error);
    sum += one;
  }
  if (status == TSR_OK && units) *units = sum;
  return status;
}

/* Maxima, and sums. */
static void add_report(tsr_report *sum, const tsr_report *one) {
  uint64_t *all = (uint64_t *)sum;
  const uint64_t *words = (const uint64_t *)one;
  const tsr_report before = *sum;
  _Static_assert(sizeof *sum % sizeof *all == 0, "a report is all words");
  for (size_t i = 1; i < sizeof *sum / sizeof *all; i++) all[i] += words[i];
#define LARGER(member) sum->member = before.member > one->member ? before.member : one->member
  LARGER(insert_probes_max);
  LARGER(find_probes_max);
  LARGER(erase_probes_max);
  LARGER(insert_moves_max);
  LARGER(apply_probes_max);
  LARGER(insert_scratch_bytes);
#undef LARGER
}

tsr_status tsr_shards_report(tsr_table *t, tsr_report *report, tsr_error *error) {
  tsr_report sum = t->shards->carried, one;
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; status == TSR_OK && i < t->shards->transport.here; i++) {
    status = tsr_single_report(t->shards->members[i].shard, &one, error);
    if (status == TSR_OK) add_report(&sum, &one);
  }
  *report = sum;
  return status;
}

tsr_status tsr_shards_report_reset(tsr_table *t, tsr_error *error) {
  tsr_status status = TSR_OK;
  t->shards->carried = (tsr_report){.size = 0};
  for (uint32_t i = 0; status == TSR_OK && i < t->shards->transport.here; i++)
    status = tsr_single_report_reset(t->shards->members[i].shard, error);
  return status;
}

tsr_status tsr_shards_wait(tsr_table *t, tsr_error *error) {
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; t->shards && i < t->shards->transport.here; i++) {
    if (!t->shards->members || !t->shards->members[i].shard) continue;
    tsr_status waited = tsr_single_wait(t->shards->members[i].shard, status ? NULL : error);
    if (status == TSR_OK) status = waited;
  }
  return status;
}

/* ---- All pairs ------------------------------------------------------------------------------- */

/* In step k each process gets the pairs of the process k ranks further. rows: how many each has. */
static tsr_status pass_around(tsr_table *t, const uint64_t *rows, const void *mine, char *all, uint32_t item_bytes,
                              tsr_error *error) {
  tsr_transport *x = &t->shards->transport;
  const uint32_t n = x->members, me = x->first;
  uint64_t *sizes = calloc((size_t)n * n, sizeof *sizes);
  tsr_status status = sizes ? TSR_OK : tsr_fail(error, TSR_NO_MEMORY, "no memory for the pairs of %u ranks", n);
  for (uint32_t k = 0; status == TSR_OK && k < n; k++) {
    const uint32_t source = (me + k) % n;
    uint64_t before = 0;
    for (uint32_t i = 0; i < source; i++) before += rows[i];
    if (k == 0) {
      if (rows[me])
        status = t->backend->copy(t->device, all + before * item_bytes, mine, rows[me] * item_bytes, NULL, error);
      continue;
    }
    for (uint32_t i = 0; i < n; i++) sizes[(i + k) % n * n + i] = rows[(i + k) % n];
    const void *from[] = {mine};
    void *to[] = {all + before * item_bytes}, *streams[] = {NULL};
    status = x->exchange(x, &(tsr_parcels){from, to, sizes, item_bytes, streams}, 1, error);
    memset(sizes, 0, (size_t)n * n * sizeof *sizes);
  }
  free(sizes);
  return status;
}

tsr_status tsr_shards_pass_column(tsr_table *t, const uint64_t *rows, const void *mine, void *callers,
                                  uint32_t item_bytes, tsr_error *error) {
  tsr_transport *x = &t->shards->transport;
  uint64_t all = 0;
  void *room = NULL;
  for (uint32_t i = 0; i < x->members; i++) all += rows[i];
  tsr_array column = {.callers = callers, .bytes = all * item_bytes, .use = TSR_ARRAY_PARTLY_WRITTEN};
  tsr_status status = tsr_stage_in(t, &column, 1, NULL, error);
  if (status == TSR_OK && !callers) status = t->backend->allocate(t->device, all * item_bytes, &room, error);
  if (status == TSR_OK) status = t->backend->synchronize(t->device, NULL, error);
  status = x->agree(x, status, error);
  if (status == TSR_OK) status = pass_around(t, rows, mine, callers ? column.devices : room, item_bytes, error);
  status = tsr_stage_out(t, &column, 1, NULL, status, error);
  const tsr_status waited = t->backend->synchronize(t->device, NULL, status ? NULL : error);
  if (room) t->backend->free(t->device, room);
  return status ? status : waited;
}

static tsr_status write_out_of_group(tsr_table *t, void *keys, void *values, tsr_error *error) {
  tsr_table *shard = t->shards->members[0].shard;
  const uint32_t key_bytes = t->store.composition->shape.key_bits / 8;
  const uint32_t value_bytes = tsr_composition_value_bytes(t->store.composition);
  tsr_transport *x = &t->shards->transport;
  uint64_t rows[TSR_DEVICES_MAX] = {0}, size = 0;
  void *my_keys = NULL, *my_values = NULL;
  tsr_status status = tsr_single_size(shard, &size, error);
  rows[x->first] = size;
  if (status == TSR_OK) status = t->backend->allocate(t->device, size * key_bytes, &my_keys, error);
  if (status == TSR_OK) status = t->backend->allocate(t->device, size * value_bytes, &my_values, error);
  if (status == TSR_OK && size)
    status = tsr_single_write_out(shard, size, my_keys, value_bytes ? my_values : NULL, error);
  status = x->gather(x, rows, 1, status, error);
  if (status == TSR_OK) status = tsr_shards_pass_column(t, rows, my_keys, keys, key_bytes, error);
  if (status == TSR_OK && value_bytes) status = tsr_shards_pass_column(t, rows, my_values, values, value_bytes, error);
  if (my_keys) t->backend->free(t->device, my_keys);
  if (my_values) t->backend->free(t->device, my_values);
  return status;
}

tsr_status tsr_shards_write_out(tsr_table *t, uint64_t size, void *keys, void *values, tsr_error *error) {
  const uint64_t key_bytes = t->store.composition->shape.key_bits / 8;
  const uint64_t value_bytes = tsr_composition_value_bytes(t->store.composition);
  uint64_t done = 0;
  tsr_status status = TSR_OK;
  if (t->shards->transport.group) return write_out_of_group(t, keys, values, error);
  for (uint32_t i = 0; status == TSR_OK && i < tsr_shards_holders(t->shards); i++) {
    uint64_t written = 0;
    status = tsr_export(t->shards->members[i].shard, size - done, (char *)keys + done * key_bytes,
                        values ? (char *)values + done * value_bytes : NULL, &written, error);
    done += written;
  }
  return status;
}

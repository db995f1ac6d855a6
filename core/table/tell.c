/* SPDX-License-Identifier: Apache-2.0
 *
 * What a table of one store reports (single.h): what it is, its pairs, how it uses its memory, what its operations
 * counted; and lists, packed. Nothing here takes keys: a scan goes over all buckets.
 */
#include <string.h>

#include "core/table/cache.h"
#include "core/table/launch.h"
#include "core/table/order.h"
#include "core/table/single.h"
#include "core/table/stage.h"
#include "core/table/values.h"

/* ---- What it is ------------------------------------------------------------------------------ */

/* Of all memory. Outside the store there may be more than the composition plans, since memory that was made stays. */
static uint64_t bytes_of(const tsr_table *t) {
  return tsr_composition_store_bytes(t->store.composition) + t->values->memory(t);
}

void tsr_single_describe(const tsr_table *t, tsr_table_info *info) {
  const tsr_shape *shape = &t->store.composition->shape;
  const tsr_code *code = t->store.code;
  tsr_program *const program = code ? code->program : NULL;
  *info = (tsr_table_info){.backend = t->backend->name,
                           .device = t->device->info.name,
                           .backend_reason = t->reason,
                           .key_bits = shape->key_bits,
                           .value_bits = 8 * tsr_composition_value_bytes(t->store.composition),
                           .capacity = shape->capacity,
                           .seed = shape->seed,
                           .slots = tsr_composition_slots(t->store.composition),
                           .buckets = shape->buckets,
                           .bytes = bytes_of(t),
                           .bucket_slots = shape->bucket_slots,
                           .bucket_bytes = shape->bucket_bytes,
                           .tile_lanes = shape->tile_lanes,
                           .host_bytes = tsr_composition_host_bytes(t->store.composition),
                           .window_bytes = tsr_composition_window_bytes(t->store.composition),
                           .statistics = shape->statistics != 0,
                           .makes_lists = tsr_is_whole(shape),
                           .code = program ? t->backend->program_describe(program) : ""};
  if (program) info->code_counts = t->backend->count_code(t->device, program);
}

/* ---- Its pairs ------------------------------------------------------------------------------- */

/* Runs an operation over all buckets. */
static tsr_status scan(tsr_table *t, uint32_t op, void *keys, void *values, tsr_tally *tally, tsr_error *error) {
  tsr_bulk bulk = {.n = tsr_composition_refs(t->store.composition), .keys_out = keys, .values_out = values};
  tsr_status status = tsr_table_enter(t, TSR_PHASE_ALONE, NULL, error);
  if (status == TSR_OK) status = tsr_launch_alone(t, &t->store, op, &bulk, NULL, tally, error);
  return status ? status : tsr_table_leave(t, NULL, error);
}

tsr_status tsr_single_size(tsr_table *t, uint64_t *size, tsr_error *error) {
  tsr_tally tally;
  tsr_status status = scan(t, TSR_BULK_size, NULL, NULL, &tally, error);
  if (status == TSR_OK) *size = tally.hits;
  return status;
}

tsr_status tsr_single_write_slots(tsr_table *t, uint64_t size, void *keys, void *values, tsr_error *error) {
  const tsr_shape *shape = &t->store.composition->shape;
  tsr_tally tally;
  const uint32_t key_bytes = shape->key_bits / 8, value_bytes = shape->value_bits / 8;
  tsr_array arrays[] = {
      {.callers = keys, .bytes = size * key_bytes, .word = key_bytes, .use = TSR_ARRAY_WRITTEN},
      {.callers = values, .bytes = size * value_bytes, .word = value_bytes, .use = TSR_ARRAY_WRITTEN}};
  tsr_status status = tsr_stage_in(t, arrays, 2, NULL, error);
  if (status == TSR_OK) status = scan(t, TSR_BULK_export, arrays[0].devices, arrays[1].devices, &tally, error);
  status = tsr_stage_out(t, arrays, 2, NULL, status, error);
  return status ? status : t->backend->synchronize(t->device, NULL, error);
}

tsr_status tsr_single_write_out(tsr_table *t, uint64_t size, void *keys, void *values, tsr_error *error) {
  void *numbers = NULL;
  if (!t->values->are_apart || !values) return tsr_single_write_slots(t, size, keys, values, error);
  tsr_status status = t->backend->allocate(t->device, size * sizeof(uint32_t), &numbers, error);
  if (status == TSR_OK) status = tsr_single_write_slots(t, size, keys, numbers, error);
  if (status == TSR_OK) status = t->values->read(t, size, numbers, values, 0, error);
  if (numbers) t->backend->free(t->device, numbers);
  return status;
}

/* ---- Its memory ------------------------------------------------------------------------------ */

tsr_status tsr_single_use(tsr_table *t, tsr_usage *usage, tsr_error *error) {
  const tsr_shape *shape = &t->store.composition->shape;
  tsr_tally tally;
  tsr_status status = scan(t, TSR_BULK_size, NULL, NULL, &tally, error);
  if (status) return status;
  const tsr_region *regions = t->store.composition->part[TSR_ROLE_LAYOUT].plan.regions;
  uint64_t buckets = shape->buckets + (shape->has_link ? tally.units : 0), bucket_bytes = 0;
  for (uint32_t i = 0; i < TSR_REGIONS_MAX && regions[i].name; i++) bucket_bytes += regions[i].bytes_per_bucket;
  const bool has_value_lists = t->store.composition->facts.value_list_first != 0;
  const uint64_t value_bytes = tsr_composition_value_bytes(t->store.composition),
                 row_bytes = t->store.composition->settings.numbers.row_bytes;
  const double held = ((double)(has_value_lists ? tally.keys : tally.hits) * shape->key_bits +
                       (double)tally.hits * 8 * (double)(value_bytes + row_bytes)) /
                      8;
  double bytes = (double)shape->buckets * (double)bucket_bytes + (double)tally.units * shape->unit_bytes +
                 (double)t->values->bytes(t);
  *usage = (tsr_usage){.pairs = tally.hits,
                       .tombstones = tally.tombstones,
                       .units = tally.units,
                       .slots = buckets * shape->bucket_slots,
                       .utilization = held / bytes,
                       .keys = tally.keys,
                       .density = held / (double)bytes_of(t)};
  return TSR_OK;
}

tsr_status tsr_single_flush(tsr_table *t, uint64_t *units, tsr_error *error) {
  const tsr_shape *shape = &t->store.composition->shape;
  tsr_bulk bulk = {.n = shape->buckets + TSR_TAIL_RESERVED};
  tsr_tally tally;
  tsr_status status = tsr_table_enter(t, TSR_PHASE_ALONE, NULL, error);
  if (status == TSR_OK) status = tsr_launch_alone(t, &t->store, TSR_BULK_flush, &bulk, NULL, &tally, error);
  if (status == TSR_OK) status = tsr_table_leave(t, NULL, error);
  if (status) return status;
  t->store.state.has_erased = 0;
  if (units) *units = tally.units;
  return TSR_OK;
}

/* ---- Its report ------------------------------------------------------------------------------ */

tsr_status tsr_single_report(tsr_table *t, tsr_report *report, tsr_error *error) {
  tsr_tally tallies[TSR_BULKS];
  tsr_status status = tsr_table_wait(t, error);
  if (status == TSR_OK) status = t->backend->copy(t->device, tallies, t->tallies, sizeof tallies, NULL, error);
  if (status == TSR_OK) status = t->backend->synchronize(t->device, NULL, error);
  if (status) return status;
  tsr_tally_add(&tallies[TSR_BULK_insert], &t->done.counted);
  tsr_tally_add(&tallies[TSR_BULK_insert], &tallies[TSR_BULK_find_or_insert]);
  tsr_tally_add(&tallies[TSR_BULK_find], &tallies[TSR_BULK_contains]);
  tsr_tally_add(&tallies[TSR_BULK_find], &tallies[TSR_BULK_count]);
  tsr_tally_add(&tallies[TSR_BULK_erase], &tallies[TSR_BULK_erase_pair]);
  uint64_t evicted = t->done.evicted;
  if (tsr_is_cache(t)) status = tsr_cache_read_evicted(t, false, &evicted, error);
  if (status) return status;
  const tsr_tally *insert = &tallies[TSR_BULK_insert], *find = &tallies[TSR_BULK_find];
  const tsr_tally *erase = &tallies[TSR_BULK_erase];
  const tsr_tally *apply = &tallies[TSR_BULK_apply];
  const uint64_t told = insert->overflows + apply->overflows + tallies[TSR_BULK_apply_inserts].overflows +
                        tallies[TSR_BULK_combine].overflows;
  const bool keeps_all = t->store.composition->shape.duplicates == TSR_DUPLICATES_KEEP;
  *report = (tsr_report){.insert_keys = t->done.insert_keys + apply->asked[TSR_CLASS_INSERT],
                         .inserted = insert->hits + apply->answered[TSR_CLASS_INSERT],
                         .not_placed = insert->not_placed + apply->not_placed,
                         .find_keys = t->done.find_keys + apply->asked[TSR_CLASS_FIND],
                         .found = find->hits + apply->answered[TSR_CLASS_FIND],
                         .erase_keys = t->done.erase_keys + apply->asked[TSR_CLASS_ERASE],
                         .erased = erase->hits + apply->answered[TSR_CLASS_ERASE] + t->done.swept,
                         .insert_probes = insert->probes,
                         .insert_probes_max = insert->probes_max,
                         .find_probes = find->probes,
                         .find_probes_max = find->probes_max,
                         .erase_probes = erase->probes,
                         .erase_probes_max = erase->probes_max,
                         .insert_moves = insert->moves,
                         .insert_moves_max = insert->moves_max,
                         .insert_lost_claims = insert->lost_claims + apply->lost_claims,
                         .insert_stashed = insert->stashed + apply->stashed,
                         .insert_paged = t->store.paged_keys,
                         .zoned = t->store.zoned_keys,
                         .apply_probes = apply->probes,
                         .apply_probes_max = apply->probes_max,
                         .insert_scratch_bytes = t->store.paged_bytes,
                         .cleanings = t->done.cleanings,
                         .ungrown = t->done.ungrown,
                         .evicted = evicted,
                         .erased_slots = t->store.erased_slots + t->store.may_erase,
                         .overflows = keeps_all ? 0 : told,
                         .insert_long = keeps_all ? told : 0};
  _Static_assert(sizeof report->insert_histogram == sizeof insert->histogram, "one number of bins");
  memcpy(report->insert_histogram, insert->histogram, sizeof report->insert_histogram);
  memcpy(report->find_histogram, find->histogram, sizeof report->find_histogram);
  memcpy(report->erase_histogram, erase->histogram, sizeof report->erase_histogram);
  return TSR_OK;
}

tsr_status tsr_single_report_reset(tsr_table *t, tsr_error *error) {
  tsr_status status = tsr_table_wait(t, error);
  if (status == TSR_OK)
    status = t->backend->fill(t->device, t->tallies, 0, TSR_TALLIES * sizeof *t->tallies, NULL, error);
  if (status == TSR_OK) status = t->backend->synchronize(t->device, NULL, error);
  if (status == TSR_OK && tsr_is_cache(t)) status = tsr_cache_read_evicted(t, true, &(uint64_t){0}, error);
  if (status) return status;
  t->done.insert_keys = t->done.find_keys = t->done.erase_keys = t->store.paged_keys = t->store.paged_bytes = 0;
  t->store.zoned_keys = 0;
  t->known.erased_then = t->known.erase_keys_then = t->done.cleanings = t->done.ungrown = 0;
  t->done.evicted = t->done.swept = 0;
  t->done.counted = (tsr_tally){.hits = 0};
  t->known.is_known = false;
  return TSR_OK;
}

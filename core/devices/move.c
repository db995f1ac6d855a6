/* SPDX-License-Identifier: Apache-2.0
 *
 * Whole tables of several devices (move.h). A rehash makes new shards and deals all pairs to them, so that they are
 * balanced again. The old ones are destroyed when every pair has its place.
 */
#include "core/devices/move.h"

#include <string.h>

#include "core/devices/balance.h"
#include "core/devices/whole.h"
#include "core/table/create.h"
#include "core/table/rebuild.h"
#include "core/table/single.h"
#include "core/table/store.h"
#include "core/tessera_devices.h"

/* ---- Building -------------------------------------------------------------------------------- */

/* Empty shards of another seed. */
static tsr_status reseed(tsr_table *t, uint64_t seed, tsr_error *error) {
  tsr_status status = tsr_shards_clear(t, NULL, error);
  const tsr_rehash_options options = {.seed = seed};
  for (uint32_t i = 0; status == TSR_OK && i < t->shards->transport.here; i++)
    status = tsr_rehash(t->shards->members[i].shard, &options, error);
  return status;
}

tsr_status tsr_shards_build(tsr_table *t, uint64_t n, const void *keys, const void *values, const tsr_call *call,
                            uint32_t tries, tsr_error *error) {
  const uint64_t seed = t->store.composition->shape.seed;
  tsr_report before, after;
  if (t->store.composition->settings.upkeep.growth) return tsr_insert(t, n, keys, values, call, error);
  tsr_status status = tsr_shards_report(t, &before, error);
  for (uint32_t try = 1; status == TSR_OK; try++) {
    tsr_call this_call = *call;
    if (try < tries) this_call.unplaced_keys = this_call.unplaced_values = NULL; /* written once, by the last try */
    status = tsr_insert(t, n, keys, values, &this_call, error);
    if (status == TSR_OK) status = tsr_shards_report(t, &after, error);
    uint64_t not_placed = after.not_placed - before.not_placed;
    if (status == TSR_OK) status = tsr_shards_add_up(t->shards, &not_placed, error);
    if (status) break;
    if (not_placed == 0 || try == tries) return TSR_OK;
    status = reseed(t, tsr_next_seed(seed, try), error);
    if (status == TSR_OK) status = tsr_shards_report_reset(t, error); /* this try was none */
    t->shards->carried = before;
  }
  tsr_status cleared = tsr_shards_clear(t, NULL, NULL);
  (void)cleared; /* the caller is told of the first failure */
  return status;
}

/* ---- Moving all pairs ------------------------------------------------------------------------ */

static bool is_about_devices(const tsr_spec_entry *entry) {
  return strcmp(entry->section, "devices") == 0 ||
         (strcmp(entry->section, "table") == 0 &&
          (strcmp(entry->key, "devices") == 0 || strcmp(entry->key, "device") == 0 ||
           strcmp(entry->key, "backend") == 0));
}

static tsr_status add_entries(tsr_spec *to, const tsr_spec *from, bool about_devices, tsr_error *error) {
  tsr_status status = TSR_OK;
  for (size_t i = 0; status == TSR_OK && i < tsr_spec_count(from); i++) {
    const tsr_spec_entry *entry = tsr_spec_at(from, i);
    if (is_about_devices(entry) != about_devices) continue;
    if (!tsr_spec_find_section(to, entry->section))
      status = tsr_spec_add_section(to, entry->section, entry->line, error);
    if (status == TSR_OK) status = tsr_spec_add_entry(to, entry->section, entry->key, entry->value, entry->line, error);
  }
  return status;
}

/* The parts and policies of one spec on the devices of the other. */
static tsr_status merge_specs(const tsr_spec *parts, const tsr_spec *devices, tsr_spec **merged, tsr_error *error) {
  tsr_spec *spec = tsr_spec_new(tsr_spec_name(parts));
  tsr_status status = spec ? TSR_OK : tsr_fail(error, TSR_NO_MEMORY, "no memory for the spec of a rehash");
  if (status == TSR_OK) status = add_entries(spec, parts, false, error);
  if (status == TSR_OK) status = add_entries(spec, devices, true, error);
  if (status)
    tsr_spec_free(spec);
  else
    *merged = spec;
  return status;
}

/* The pairs of one shard, in its device's memory. */
typedef struct pairs {
  uint64_t count;
  void *keys, *values;
} pairs;

/* The tables of one store that hold a table's own pairs in this process: its shards, or the table itself. */
static uint32_t tables_of(tsr_table *t, tsr_table **tables) {
  const uint32_t count = t->shards ? tsr_shards_holders(t->shards) : 1;
  for (uint32_t i = 0; i < count; i++) tables[i] = t->shards ? t->shards->members[i].shard : t;
  return count;
}

static tsr_status agree(tsr_table *t, tsr_status status, tsr_error *error) {
  return t->shards ? t->shards->transport.agree(&t->shards->transport, status, error) : status;
}

static void free_pairs(tsr_table *t, pairs *p) {
  tsr_table *tables[TSR_DEVICES_MAX];
  const uint32_t count = tables_of(t, tables);
  for (uint32_t i = 0; i < count; i++) {
    tsr_device *device = tables[i]->device;
    if (p[i].keys) device->backend->free(device, p[i].keys);
    if (p[i].values) device->backend->free(device, p[i].values);
  }
}

static tsr_status take_pairs(tsr_table *shard, pairs *p, tsr_error *error) {
  const tsr_shape *shape = &shard->store.composition->shape;
  const uint64_t value_bytes = tsr_composition_value_bytes(shard->store.composition);
  tsr_status status = tsr_single_size(shard, &p->count, error);
  if (status || p->count == 0) return status;
  status = shard->backend->allocate(shard->device, p->count * (shape->key_bits / 8), &p->keys, error);
  if (status == TSR_OK && value_bytes)
    status = shard->backend->allocate(shard->device, p->count * value_bytes, &p->values, error);
  return status ? status : tsr_single_write_out(shard, p->count, p->keys, p->values, error);
}

static tsr_status take_all(tsr_table *t, pairs *p, tsr_error *error) {
  tsr_table *tables[TSR_DEVICES_MAX];
  const uint32_t count = tables_of(t, tables);
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; status == TSR_OK && i < count; i++) status = take_pairs(tables[i], &p[i], error);
  return agree(t, status, error);
}

/* Deals the pairs of all old shards to the new ones: to parts like those of `as`, or balanced ones if it is NULL. If
 * there are more old shards than new ones, the old ones are on the new ones' devices in turn. */
static tsr_status put_pairs(tsr_table *t, const pairs *p, uint32_t holders, const tsr_shards *as, uint64_t *not_placed,
                            tsr_error *error) {
  const tsr_shape *shape = &t->store.composition->shape;
  tsr_report report;
  tsr_status status = TSR_OK;
  const bool balances = !as && t->shards->split == TSR_SPLIT_HASH && shape->duplicates == TSR_DUPLICATES_KEEP;
  if (as) {
    t->shards->seed = as->seed;
    memcpy(t->shards->first_bin, as->first_bin, sizeof as->first_bin);
  }
  for (uint32_t i = 0; balances && status == TSR_OK && i < holders; i++)
    status =
        tsr_balance_add(t->shards, i % t->shards->transport.here, p[i].count, p[i].keys, shape->key_bits / 8, error);
  if (balances) status = t->shards->transport.agree(&t->shards->transport, status, error);
  if (balances && status == TSR_OK) status = tsr_balance_choose(t->shards, t->capacity, error);
  t->shards->is_empty = false;
  for (uint32_t i = 0; status == TSR_OK && i < holders; i++)
    status = t->methods->operate(t,
                                 &(tsr_request){.op = TSR_BULK_insert,
                                                .phase = TSR_PHASE_INSERT,
                                                .n = p[i].count,
                                                .keys = p[i].keys,
                                                .values = p[i].values},
                                 error);
  if (status == TSR_OK) status = tsr_shards_report(t, &report, error);
  if (status == TSR_OK) *not_placed = report.not_placed;
  return status == TSR_OK ? tsr_shards_add_up(t->shards, not_placed, error) : status;
}

static tsr_status make_anew(const tsr_table *t, const tsr_spec *spec, uint64_t capacity, uint64_t seed,
                            tsr_table **made, tsr_error *error) {
  const tsr_options options = {.plugins = t->plugins, .capacity = capacity, .seed = seed};
  tsr_group *group = t->shards ? t->shards->transport.group : NULL;
  if (group) return tsr_group_table_create(group, spec, &options, made, error);
  return tsr_table_create(spec, &options, made, error);
}

static tsr_status move_pairs(tsr_table *t, const tsr_spec *spec, uint64_t capacity, uint64_t seed, tsr_table **made,
                             tsr_error *error) {
  pairs p[TSR_DEVICES_MAX] = {{0}};
  tsr_table *tables[TSR_DEVICES_MAX];
  const uint32_t holders = tables_of(t, tables);
  uint64_t not_placed = 1;
  tsr_status status = take_all(t, p, error);
  for (uint32_t try = 0; status == TSR_OK && not_placed && try < TSR_REHASH_TRIES; try++) {
    tsr_table_destroy(*made);
    *made = NULL;
    status = make_anew(t, spec, capacity, try ? tsr_next_seed(seed, try) : seed, made, error);
    if (status == TSR_OK) status = put_pairs(*made, p, holders, NULL, &not_placed, error);
  }
  if (status == TSR_OK && not_placed)
    status = tsr_fail(error, TSR_UNSUPPORTED,
                      "capacity = %llu: %llu of the table's pairs found no room in %u shards with %d seeds. The table "
                      "is unchanged: raise capacity or lower load_factor",
                      (unsigned long long)capacity, (unsigned long long)not_placed, (*made)->shards->transport.members,
                      TSR_REHASH_TRIES);
  free_pairs(t, p);
  return status;
}

/* The caller's handle keeps its device, memory and timers, and gets the shards of the new table. */
static tsr_status take_place(tsr_table *t, tsr_table *made, tsr_error *error) {
  tsr_report before;
  tsr_status status = tsr_shards_report(t, &before, error);
  if (status == TSR_OK) status = tsr_shards_report_reset(made, error);
  if (status) return status;
  made->shards->carried = before;
  tsr_table old = *t;
  t->shards = made->shards;
  t->store = made->store;
  t->spec = made->spec;
  t->capacity = made->capacity;
  made->shards = old.shards;
  made->store = old.store;
  made->spec = old.spec;
  made->capacity = old.capacity;
  return TSR_OK;
}

tsr_status tsr_shards_rehash(tsr_table *t, const tsr_rehash_options *options, tsr_error *error) {
  tsr_spec *spec = NULL;
  tsr_table *made = NULL;
  tsr_table_info info = {0};
  tsr_table_describe(t, &info);
  const tsr_options chosen = {.plugins = t->plugins,
                              .capacity = options->capacity ? options->capacity : info.capacity,
                              .seed = options->seed ? options->seed : t->store.composition->shape.seed};
  tsr_status status = tsr_rehash_check(t, options->spec ? options->spec : t->spec, &chosen, error);
  if (status == TSR_OK) status = merge_specs(options->spec ? options->spec : t->spec, t->spec, &spec, error);
  if (status == TSR_OK) status = move_pairs(t, spec, chosen.capacity, chosen.seed, &made, error);
  if (status == TSR_OK) status = take_place(t, made, error);
  tsr_table_destroy(made);
  tsr_spec_free(spec);
  return status;
}

tsr_status tsr_shards_move(tsr_table *t, const tsr_spec *devices, tsr_table **made, tsr_error *error) {
  tsr_spec *spec = NULL;
  tsr_table_info info = {0};
  tsr_table_describe(t, &info);
  tsr_status status = tsr_compatible_call(&t->store.composition->settings.traits, TSR_HAS_CALL_REHASH,
                                          "moving it to another number of devices", error);
  if (status == TSR_OK) status = merge_specs(t->spec, devices, &spec, error);
  if (status == TSR_OK) status = move_pairs(t, spec, info.capacity, t->store.composition->shape.seed, made, error);
  tsr_spec_free(spec);
  return status;
}

/* ---- Dealing pairs like another table -------------------------------------------------------- */

/* A shard may need more room, because its parts were made for other keys. */
tsr_status tsr_shards_redeal(tsr_table *right, const tsr_shards *left, tsr_table **made, tsr_error *error) {
  pairs p[TSR_DEVICES_MAX] = {{0}};
  const uint32_t holders = tsr_shards_holders(right->shards), members = right->shards->transport.members;
  uint64_t not_placed = 1;
  tsr_status status = take_all(right, p, error);
  for (uint64_t room = 1; status == TSR_OK && not_placed && room <= 2 * members; room *= 2) {
    tsr_table_destroy(*made);
    *made = NULL;
    status = make_anew(right, right->spec, right->capacity * room, right->store.composition->shape.seed, made, error);
    if (status == TSR_OK) status = put_pairs(*made, p, holders, left, &not_placed, error);
  }
  if (status == TSR_OK && not_placed)
    status = tsr_fail(error, TSR_UNSUPPORTED,
                      "tsr_join: %llu of the right table's pairs found no room in parts like the left table's: swap "
                      "the tables, or join tables of one device",
                      (unsigned long long)not_placed);
  free_pairs(right, p);
  return status;
}

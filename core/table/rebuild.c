/* SPDX-License-Identifier: Apache-2.0
 *
 * Rebuilding: all pairs of a table into a new store, which takes the old one's place only when every pair was placed.
 * Read next: growth.c, which rebuilds while it inserts.
 */
#include "core/table/rebuild.h"
#include "core/table/hold.h"

#include "core/sized.h"
#include "core/table/filter.h"
#include "core/table/launch.h"
#include "core/table/order.h"
#include "core/table/single.h"
#include "core/table/store.h"
#include "core/table/values.h"

/* ---- The pairs ------------------------------------------------------------------------------- */

/* All pairs of a table, copied out in device memory. */
typedef struct pairs {
  uint64_t count;
  void *keys, *values;
} pairs;

static void free_pairs(const tsr_table *t, pairs *p, void *stream) {
  const tsr_shape *shape = &t->store.composition->shape;
  tsr_store_release(t, p->keys, p->count * (shape->key_bits / 8), stream);
  tsr_store_release(t, p->values, p->count * (shape->value_bits / 8), stream);
}

static tsr_status take_pairs(tsr_table *t, pairs *p, void *stream, tsr_error *error) {
  const tsr_shape *shape = &t->store.composition->shape;
  tsr_bulk bulk = {.n = tsr_composition_refs(t->store.composition)};
  tsr_tally tally;
  if (t->store.is_clear) return TSR_OK;
  tsr_status status = tsr_launch_alone(t, &t->store, TSR_BULK_size, &bulk, stream, &tally, error);
  if (status || tally.hits == 0) return status;
  p->count = tally.hits;
  status = tsr_store_allocate(t, p->count * (shape->key_bits / 8), stream, &p->keys, error);
  if (status == TSR_OK && shape->value_bits)
    status = tsr_store_allocate(t, p->count * (shape->value_bits / 8), stream, &p->values, error);
  if (status) return status;
  bulk.keys_out = p->keys;
  bulk.values_out = p->values;
  return tsr_launch_alone(t, &t->store, TSR_BULK_export, &bulk, stream, &tally, error);
}

/* The keys are distinct and the slots hold the policy's identity: whatever the policy, values stay as they are. */
static tsr_status put_pairs(const tsr_table *t, tsr_store *store, const pairs *p, const tsr_change *change,
                            void *stream, uint64_t *not_placed, tsr_error *error) {
  tsr_bulk bulk = {.n = p->count, .keys = p->keys, .values = p->values};
  tsr_tally tally = {.not_placed = 0};
  tsr_status status = tsr_store_clear(t, store, stream, error);
  if (status == TSR_OK && p->count) status = tsr_launch_alone(t, store, TSR_BULK_insert, &bulk, stream, &tally, error);
  *not_placed = tally.not_placed;
  if (status == TSR_OK && change && change->erased) {
    tsr_bulk erase = {.n = change->erased, .keys = change->erased_keys};
    store->state.has_erased = 1;
    status = tsr_launch_alone(t, store, TSR_BULK_erase, &erase, stream, &tally, error);
  }
  if (status == TSR_OK && change && change->added) {
    tsr_bulk add = {.n = change->added, .keys = change->added_keys, .values = change->added_values};
    status = tsr_launch_alone(t, store, TSR_BULK_insert, &add, stream, &tally, error);
    *not_placed += tally.not_placed;
  }
  return status;
}

/* ---- rehash ---------------------------------------------------------------------------------- */

/* tries: 0 where there are fewer slots than pairs, and none was made. */
static tsr_status too_many(const tsr_composition *composition, uint64_t count, uint64_t not_placed, uint32_t tries,
                           tsr_error *error) {
  const tsr_shape *shape = &composition->shape;
  char seeds[32] = "";
  if (tries) snprintf(seeds, sizeof seeds, " with %u seeds", tries);
  return tsr_fail(error, TSR_UNSUPPORTED,
                  "capacity = %llu: %llu of the table's %llu pairs found no room in %llu slots%s. The table is "
                  "unchanged: raise capacity or lower load_factor",
                  (unsigned long long)shape->capacity, (unsigned long long)not_placed, (unsigned long long)count,
                  (unsigned long long)tsr_composition_slots(composition), seeds);
}

/* Fills `store`, which was made with `seed`; more tries only where the pairs could fit at all. */
static tsr_status fill_store(const tsr_table *t, const tsr_spec *spec, tsr_store *store, const pairs *p,
                             const tsr_change *change, void *stream, tsr_error *error) {
  const uint64_t seed = store->composition->shape.seed;
  uint64_t slots = tsr_composition_refs(store->composition) * store->composition->shape.bucket_slots, not_placed = 0;
  const bool has_value_lists = store->composition->facts.value_list_first != 0; /* which hold any number of pairs */
  if (p->count > slots && !has_value_lists) return too_many(store->composition, p->count, p->count - slots, 0, error);
  tsr_status status = put_pairs(t, store, p, change, stream, &not_placed, error);
  for (uint32_t try = 1; status == TSR_OK && not_placed && try < TSR_REHASH_TRIES; try++) {
    status = tsr_store_reseed(t, spec, tsr_next_seed(seed, try), store, error);
    if (status == TSR_OK) status = put_pairs(t, store, p, change, stream, &not_placed, error);
  }
  if (status == TSR_OK && not_placed)
    status = too_many(store->composition, p->count, not_placed, TSR_REHASH_TRIES, error);
  return status;
}

tsr_status tsr_rebuild(tsr_table *t, const tsr_spec *spec, uint64_t capacity, uint64_t seed, const tsr_change *change,
                       void *stream, tsr_error *error) {
  pairs p = {.count = 0};
  tsr_store store = {.code = NULL};
  tsr_status status = take_pairs(t, &p, stream, error);
  if (status == TSR_OK) status = tsr_store_make(t, spec, capacity, seed, stream, &store, error);
  if (status == TSR_OK) status = fill_store(t, spec, &store, &p, change, stream, error);
  const bool frees_at_once = t->store.windows || store.code != t->store.code; /* the host's memory, code */
  if (status == TSR_OK && frees_at_once) status = t->backend->synchronize(t->device, stream, error);
  store.paged_keys = t->store.paged_keys; /* of calls, which moved none of the pairs */
  store.paged_bytes = t->store.paged_bytes;
  store.zoned_keys = t->store.zoned_keys;
  tsr_store *useless = status ? &store : &t->store;
  tsr_store_free(t, useless, stream);
  if (status == TSR_OK) t->store = store;
  free_pairs(t, &p, stream);
  return status;
}

/* The memory of a store of the same composition, copied over the table's own. No lock is held in either. */
static tsr_status copy_regions(tsr_table *t, const tsr_store *from, void *stream, tsr_error *error) {
  const tsr_composition *composition = t->store.composition;
  tsr_status status = TSR_OK;
  for (tsr_region_walk at = {0}; status == TSR_OK && tsr_next_region(composition, &at);)
    status =
        t->backend->copy(t->device, t->store.state.part[at.role].region[at.i], from->state.part[at.role].region[at.i],
                         tsr_region_bytes(composition, at.region), stream, error);
  if (status) return status;
  t->store.state.has_erased = t->store.in_graph;
  t->store.is_clear = from->is_clear && !t->store.in_graph;
  t->store.held = from->held;
  t->store.may_erase = t->store.may_insert = t->store.slack = t->store.erased_slots = 0;
  return TSR_OK;
}

tsr_status tsr_rebuild_in_place(tsr_table *t, void *stream, tsr_error *error) {
  const tsr_shape *shape = &t->store.composition->shape;
  pairs p = {.count = 0};
  tsr_store store = {.code = NULL};
  uint64_t not_placed = 0;
  tsr_status status = take_pairs(t, &p, stream, error);
  if (status == TSR_OK) status = tsr_store_make(t, t->spec, shape->capacity, shape->seed, stream, &store, error);
  if (status == TSR_OK) status = put_pairs(t, &store, &p, NULL, stream, &not_placed, error);
  if (status == TSR_OK && not_placed) status = too_many(store.composition, p.count, not_placed, 1, error);
  if (status == TSR_OK) status = copy_regions(t, &store, stream, error);
  tsr_store_free(t, &store, stream);
  free_pairs(t, &p, stream);
  return status;
}

tsr_status tsr_rehash_check(const tsr_table *t, const tsr_spec *spec, const tsr_options *options, tsr_error *error) {
  if (options->capacity > TSR_CAPACITY_MAX)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_rehash: capacity = %llu: must be 1 .. 2^40",
                    (unsigned long long)options->capacity);
  tsr_settings settings;
  tsr_status status = tsr_settings_read(spec, options, &settings, error);
  if (status) return status;
  return tsr_settings_check_same(&settings, &t->store.composition->settings, "tsr_rehash", error);
}

tsr_status tsr_rehash(tsr_table *t, const tsr_rehash_options *options, tsr_error *error) {
  TSR_WRITES(t);
  tsr_rehash_options known;
  if (!t) return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_rehash: the table is NULL");
  tsr_status status = tsr_table_admits(t, TSR_HAS_CALL_KEYS, "tsr_rehash", error);
  if (status == TSR_OK) status = tsr_table_admits(t, TSR_HAS_CALL_REHASH, "tsr_rehash", error);
  if (status == TSR_OK) status = tsr_take_over("tsr_rehash", &known, options, sizeof known, error);
  return status ? status : t->methods->rehash(t, &known, error);
}

tsr_status tsr_single_rehash(tsr_table *t, const tsr_rehash_options *options, tsr_error *error) {
  tsr_spec *spec = NULL;
  const tsr_shape *shape = &t->store.composition->shape;
  tsr_options chosen = {.plugins = t->plugins,
                        .capacity = options->capacity ? options->capacity : shape->capacity,
                        .seed = options->seed ? options->seed : shape->seed};
  tsr_status status = tsr_rehash_check(t, options->spec ? options->spec : t->spec, &chosen, error);
  if (status == TSR_OK && options->spec) status = tsr_spec_copy(options->spec, &spec, error);
  if (status == TSR_OK) status = tsr_table_enter(t, TSR_PHASE_ALONE, NULL, error);
  if (status == TSR_OK) status = tsr_rebuild(t, spec ? spec : t->spec, chosen.capacity, chosen.seed, NULL, NULL, error);
  if (status == TSR_OK && spec) {
    tsr_spec *old = t->spec;
    t->spec = spec;
    spec = old;
  }
  tsr_spec_free(spec);
  if (status == TSR_OK) status = t->values->reserve(t, 0, error); /* a call may be captured next */
  return status ? status : tsr_table_leave(t, NULL, error);
}

const tsr_spec *tsr_table_spec(const tsr_table *t) { return t ? t->spec : NULL; }

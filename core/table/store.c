/* SPDX-License-Identifier: Apache-2.0
 *
 * Stores (store.h): memory and code for a composition. Making one leaves nothing behind when it fails. Read next:
 * order.c.
 */
#include "core/table/store.h"

#include <stdlib.h>
#include <string.h>

#include "core/batch/windows.h"
#include "core/compose/compose.h"
#include "core/cpu/bulk.h"
#include "core/kernels/cache.h"
#include "plugins/probing.cuh"

/* ---- Seeds ----------------------------------------------------------------------------------- */

uint64_t tsr_next_seed(uint64_t seed, uint32_t try) {
  uint64_t z = seed + try * 0x9E3779B97F4A7C15u; /* SplitMix64 */
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return ((z ^ z >> 31) >> 1) + 1; /* what [table] seed may be: 1 to 2^63 */
}

/* Where keys are short, the pairs of a reserved key are in the page of key 0 and in a bucket behind all pages. If pages
 * come to the device in turn, both are there together only if that page is the last one. */
static bool needs_key_0_last(const tsr_composition *c) {
  return c->facts.has_meanings && c->shape.short_keys && c->window_pages;
}

/* A seed by which key 0 is in the last page: the composition's, or one of the next. On average as many are tried as there
 * are pages, which takes some 10 ns each. 0: there is none, because the hasher makes nothing of its seed. */
static uint64_t seed_with_key_0_last(const tsr_composition *c) {
  enum { TRIES_PER_PAGE = 64 };
  const tsr_part *hasher = &c->part[TSR_ROLE_HASHER];
  const tsr_cpu_bulk *bulk = tsr_cpu_bulk_for(c->shape.key_bits, c->shape.payload_bits);
  const tsr_cpu cpu = tsr_cpu_of(c);
  const uint64_t key = 0, tries = c->shape.pages * TRIES_PER_PAGE;
  tsr_state state = tsr_composition_state(c);
  tsr_shape shape = c->shape;
  for (uint32_t try = 0; try < tries && try < UINT32_MAX; try++) {
    tsr_plan plan = {0};
    uint32_t page;
    if (try) shape.seed = tsr_next_seed(c->shape.seed, try);
    if (hasher->plugin->plan(hasher->config, &shape, &plan, NULL)) return 0;
    memcpy(state.part[TSR_ROLE_HASHER].word, plan.state, sizeof plan.state);
    bulk->pages(&cpu, &state, c->shape.pages, &key, 0, 1, &page);
    if (page == c->shape.pages - 1) return shape.seed;
  }
  return 0;
}

/* A step that every such table has. */
static const tsr_step *a_step_of(const tsr_composition *c) {
  return c->settings.kind == TSR_KIND_CACHE ? &tsr_cache_steps.step[TSR_CACHE_find] : TSR_BULK_STEP(TSR_BULK_contains);
}

/* ---- Compositions ---------------------------------------------------------------------------- */

tsr_status tsr_store_compose(const tsr_table *t, const tsr_spec *spec, const tsr_options *options,
                             tsr_composition **composition, tsr_error *error) {
  tsr_composition *composed;
  tsr_status status = tsr_compose(spec, options, t->device->info.sm, 1, &composed, error);
  if (status) return status;
  if (needs_key_0_last(composed)) {
    tsr_options seeded = *options;
    seeded.seed = seed_with_key_0_last(composed);
    tsr_composition_free(composed);
    if (!seeded.seed)
      return tsr_fail(error, TSR_UNSUPPORTED,
                      "no seed of this hasher puts key 0 into the last page, where a multimap with short keys and "
                      "device_bytes needs it: use another hasher");
    status = tsr_compose(spec, &seeded, t->device->info.sm, 1, &composed, error);
    if (status) return status;
  }
  status = tsr_composition_check_code(composed, error);
  if (status == TSR_OK && t->backend->can_make) status = t->backend->can_make(composed, a_step_of(composed), error);
  if (status) {
    tsr_composition_free(composed);
    return status;
  }
  *composition = composed;
  return TSR_OK;
}

/* ---- Code ------------------------------------------------------------------------------------ */

/* Whether two compositions differ in state only: code is made of parts, widths, parameters and facts (glue.h). */
static bool same_code(const tsr_composition *a, const tsr_composition *b) {
#define DIFFERS(fact)                                                                                                  \
  if (a->shape.fact != b->shape.fact) return false;
  TSR_FACTS(DIFFERS)
  DIFFERS(key_bits)
  DIFFERS(payload_bits)
#undef DIFFERS
  if (memcmp(&a->facts, &b->facts, sizeof a->facts) != 0) return false;
  for (uint32_t role = 0; role < TSR_ROLES; role++) {
    const tsr_part *x = &a->part[role], *y = &b->part[role];
    if (x->plugin != y->plugin || x->image != y->image) return false;
    if (x->plugin && memcmp(x->config, y->config, x->plugin->config_bytes) != 0) return false;
  }
  return true;
}

static tsr_status take_code(const tsr_table *t, tsr_store *store, tsr_error *error) {
  tsr_code *code = t->store.code;
  if (!code || !same_code(code->composition, store->composition)) {
    code = calloc(1, sizeof *code);
    if (!code) return tsr_fail(error, TSR_NO_MEMORY, "no memory for a table's operations");
    tsr_status status = t->backend->program_create(t->device, store->composition, &code->program, error);
    if (status) {
      free(code);
      return status;
    }
    code->composition = store->composition;
  }
  code->holders++;
  store->code = code;
  return TSR_OK;
}

static void drop_composition(tsr_store *store) {
  if (!store->code || store->composition != store->code->composition) tsr_composition_free(store->composition);
  store->composition = NULL;
}

tsr_code *tsr_store_keep_code(tsr_store *store) {
  store->code->holders++;
  return store->code;
}

void tsr_store_leave_code(const tsr_backend *backend, tsr_code *code) {
  if (!code || --code->holders > 0) return;
  backend->program_destroy(code->program);
  tsr_composition_free(code->composition);
  free(code);
}

static void drop_code(const tsr_table *t, tsr_store *store) {
  tsr_store_leave_code(t->backend, store->code);
  store->code = NULL;
}

/* ---- Memory ---------------------------------------------------------------------------------- */

/* On a GPU an allocation of its own waits for all work and takes as long as a million inserts, so small memory comes
 * from what the device keeps for such. For a large table it matters more that other programs find its memory free
 * again. */
enum { KEPT_BYTES = 64 << 20 };

tsr_status tsr_store_allocate(const tsr_table *t, uint64_t bytes, void *stream, void **memory, tsr_error *error) {
  return bytes <= KEPT_BYTES ? t->backend->allocate_in(t->device, bytes ? bytes : 1, stream, memory, error)
                             : t->backend->allocate(t->device, bytes, memory, error);
}

/* The first memory of a table that does not grow stays: there is nothing to be kept for. */
static tsr_status allocate_to_stay(const tsr_table *t, uint64_t bytes, void *stream, void **memory, tsr_error *error) {
  (void)stream;
  return t->backend->allocate(t->device, bytes, memory, error);
}

typedef tsr_status allocator(const tsr_table *t, uint64_t bytes, void *stream, void **memory, tsr_error *error);

/* The memory that a region grows in, if the table grows in place; NULL: an allocation of its own. */
static tsr_extent *extent_of(const tsr_store *store, const tsr_region_walk *at) {
  return store->extents && at->region->bytes_per_bucket ? &store->extents[at->role * TSR_REGIONS_MAX + at->i] : NULL;
}

/* Addresses up to growth_limit, where it is set, and otherwise up to all memory of the device. A lower load factor that the
 * scheme may need then is thought of. */
static tsr_status allocate_extent(const tsr_table *t, const tsr_composition *c, uint64_t bytes, tsr_extent *extent,
                                  tsr_error *error) {
  enum { SPARE = 4 };
  const uint64_t all = t->device->info.memory_bytes, limit = c->settings.upkeep.growth_limit;
  const double limited = limit ? SPARE * (double)bytes * ((double)limit / (double)c->shape.capacity + 1) : (double)all;
  const uint64_t most = limited < (double)all ? (uint64_t)limited : all;
  tsr_status status = t->backend->extents->reserve(t->device, bytes, most, extent, error);
  return status ? status : t->backend->extents->extend(t->device, extent, bytes, error);
}

static tsr_status allocate_region(const tsr_table *t, tsr_store *store, const tsr_region_walk *at, allocator *allocate,
                                  void *stream, tsr_error *error) {
  const uint64_t bytes = tsr_region_bytes(store->composition, at->region);
  void **memory = &store->state.part[at->role].region[at->i];
  tsr_extent *extent = extent_of(store, at);
  if (tsr_region_travels(store->composition, at->region))
    return t->backend->allocate_host(t->device, bytes, memory, error);
  if (!extent) return allocate(t, bytes, stream, memory, error);
  tsr_status status = allocate_extent(t, store->composition, bytes, extent, error);
  *memory = extent->memory;
  return status;
}

static tsr_status allocate_regions(const tsr_table *t, tsr_store *store, allocator *allocate, void *stream,
                                   tsr_error *error) {
  const tsr_composition *composition = store->composition;
  store->state = tsr_composition_state(composition);
  if (composition->settings.upkeep.growth == TSR_GROWTH_SPLIT) {
    store->extents = calloc(TSR_STATE_ROLES * TSR_REGIONS_MAX, sizeof *store->extents);
    if (!store->extents) return tsr_fail(error, TSR_NO_MEMORY, "no memory for a table that grows");
  }
  for (tsr_region_walk at = {0}; tsr_next_region(composition, &at);) {
    tsr_error why = {TSR_OK, ""};
    tsr_status status = allocate_region(t, store, &at, allocate, stream, &why);
    if (status)
      return tsr_fail(error, status, "region %s of %llu bytes (the whole table has %llu): %s", at.region->name,
                      (unsigned long long)tsr_region_bytes(composition, at.region),
                      (unsigned long long)tsr_composition_bytes(composition), why.message);
  }
  if (!composition->lock_bytes) return TSR_OK;
  void *locks;
  tsr_status status = allocate(t, composition->lock_bytes, stream, &locks, error);
  if (status == TSR_OK) store->state.locks = locks;
  return status;
}

/* Fills the regions that hold words drawn from a seed, which operations only read. */
static tsr_status draw_regions(const tsr_table *t, const tsr_store *store, void *stream, tsr_error *error) {
  tsr_status status = TSR_OK;
  for (tsr_region_walk at = {0}; status == TSR_OK && tsr_next_region(store->composition, &at);) {
    if (!at.region->draws) continue;
    uint64_t *words = malloc(at.region->bytes);
    if (!words)
      return tsr_fail(error, TSR_NO_MEMORY, "no host memory for region %s of %llu bytes", at.region->name,
                      (unsigned long long)at.region->bytes);
    tsr_draw_region(at.region, words);
    status =
        t->backend->copy(t->device, store->state.part[at.role].region[at.i], words, at.region->bytes, stream, error);
    if (status == TSR_OK) status = t->backend->synchronize(t->device, stream, error);
    free(words);
  }
  return status;
}

tsr_status tsr_store_clear(const tsr_table *t, tsr_store *store, void *stream, tsr_error *error) {
  const tsr_composition *composition = store->composition;
  tsr_status status = TSR_OK;
  store->state.has_erased = store->in_graph;
  store->is_clear = false;
  store->held = store->may_erase = store->may_insert = store->slack = store->erased_slots = 0;
  for (tsr_region_walk at = {0}; status == TSR_OK && tsr_next_region(composition, &at);)
    if (!at.region->draws)
      status = t->backend->fill(t->device, store->state.part[at.role].region[at.i], at.region->fill,
                                tsr_region_bytes(composition, at.region), stream, error);
  if (status == TSR_OK && composition->lock_bytes)
    status = t->backend->fill(t->device, store->state.locks, 0, composition->lock_bytes, stream, error);
  store->is_clear = status == TSR_OK && !store->in_graph;
  return status;
}

static tsr_status furnish(const tsr_table *t, tsr_store *store, allocator *allocate, void *stream, tsr_error *error) {
  tsr_status status = allocate_regions(t, store, allocate, stream, error);
  if (status == TSR_OK) status = draw_regions(t, store, stream, error);
  if (status == TSR_OK && store->composition->window_pages) {
    const tsr_work work = tsr_work_on(t, store, NULL, error);
    status = tsr_windows_make(&work, store->composition, &store->windows);
  }
  return status ? status : take_code(t, store, error);
}

/* A table that grows takes its memory from what the device keeps, as its later stores do. The first memory of that takes
 * milliseconds in a process, which no insert then waits for. */
tsr_status tsr_store_furnish(const tsr_table *t, tsr_store *store, tsr_error *error) {
  const bool grows = store->composition->settings.upkeep.growth != TSR_GROWTH_NONE;
  return furnish(t, store, grows ? tsr_store_allocate : allocate_to_stay, NULL, error);
}

/* ---- Stores ---------------------------------------------------------------------------------- */

tsr_status tsr_store_make(const tsr_table *t, const tsr_spec *spec, uint64_t capacity, uint64_t seed, void *stream,
                          tsr_store *store, tsr_error *error) {
  tsr_options options = {.plugins = t->plugins, .capacity = capacity, .seed = seed};
  tsr_store made = {.code = NULL};
  tsr_status status = tsr_store_compose(t, spec, &options, &made.composition, error);
  if (status) return status;
  status = furnish(t, &made, tsr_store_allocate, stream, error);
  if (status)
    tsr_store_free(t, &made, stream);
  else
    *store = made;
  return status;
}

static bool same_regions(const tsr_composition *a, const tsr_composition *b) {
  if (a->lock_bytes != b->lock_bytes) return false;
  for (uint32_t role = 0; role < TSR_ROLES; role++)
    for (uint32_t i = 0; i < TSR_REGIONS_MAX; i++) {
      const tsr_region *x = &a->part[role].plan.regions[i], *y = &b->part[role].plan.regions[i];
      if (!x->name != !y->name || (x->name && tsr_region_bytes(a, x) != tsr_region_bytes(b, y))) return false;
    }
  return true;
}

tsr_status tsr_store_reseed(const tsr_table *t, const tsr_spec *spec, uint64_t seed, tsr_store *store,
                            tsr_error *error) {
  tsr_options options = {.plugins = t->plugins, .capacity = store->composition->shape.capacity, .seed = seed};
  tsr_store other = *store;
  tsr_status status = tsr_store_compose(t, spec, &options, &other.composition, error);
  if (status) return status;
  if (!same_regions(store->composition, other.composition) || !same_code(store->composition, other.composition)) {
    tsr_composition_free(other.composition);
    return tsr_fail(error, TSR_UNSUPPORTED, "another seed gives this composition other sizes or other code");
  }
  other.state = tsr_composition_state(other.composition);
  other.state.locks = store->state.locks;
  for (uint32_t role = 0; role < TSR_STATE_ROLES; role++)
    memcpy(other.state.part[role].region, store->state.part[role].region, sizeof other.state.part[role].region);
  drop_composition(store);
  *store = other;
  return draw_regions(t, store, NULL, error);
}

void tsr_store_release(const tsr_table *t, void *memory, uint64_t bytes, void *stream) {
  tsr_status status = TSR_OK;
  if (memory && bytes <= KEPT_BYTES) status = t->backend->free_in(t->device, memory, stream, NULL);
  if (memory && bytes > KEPT_BYTES) t->backend->free(t->device, memory);
  (void)status; /* it fails if the context was lost, and then the memory is gone too */
}

static void free_region(const tsr_table *t, tsr_store *store, const tsr_region_walk *at, void *stream) {
  void *memory = store->state.part[at->role].region[at->i];
  tsr_extent *extent = extent_of(store, at);
  if (extent)
    t->backend->extents->release(t->device, extent);
  else if (memory && tsr_region_travels(store->composition, at->region))
    t->backend->free_host(t->device, memory);
  else if (memory)
    tsr_store_release(t, memory, tsr_region_bytes(store->composition, at->region), stream);
}

void tsr_store_free(const tsr_table *t, tsr_store *store, void *stream) {
  const tsr_work work = tsr_work_on(t, store, NULL, NULL);
  tsr_windows_free(&work, store->windows);
  if (store->composition)
    for (tsr_region_walk at = {0}; tsr_next_region(store->composition, &at);) free_region(t, store, &at, stream);
  free(store->extents);
  if (store->state.locks) tsr_store_release(t, store->state.locks, store->composition->lock_bytes, stream);
  drop_composition(store);
  drop_code(t, store);
  *store = (tsr_store){.code = NULL};
}

/* ---- Growing in place ------------------------------------------------------------------------ */

/* Whether memory of the one is the beginning of the other's, tail buckets apart. */
static bool extends(const tsr_composition *small, const tsr_composition *large) {
  if (large->shape.buckets < small->shape.buckets || large->tail_buckets != small->tail_buckets) return false;
  for (uint32_t role = 0; role < TSR_STATE_ROLES; role++)
    for (uint32_t i = 0; i < TSR_REGIONS_MAX; i++) {
      const tsr_region *x = &small->part[role].plan.regions[i], *y = &large->part[role].plan.regions[i];
      if (!x->name != !y->name || x->bytes != y->bytes || x->bytes_per_bucket != y->bytes_per_bucket ||
          x->fill != y->fill || x->draws != y->draws || (x->bytes && x->bytes_per_bucket))
        return false;
    }
  return true;
}

/* Memory for all that the larger store has more of; what there is already is not touched. */
static tsr_status extend_extents(const tsr_table *t, const tsr_store *larger, tsr_error *error) {
  tsr_status status = TSR_OK;
  for (tsr_region_walk at = {0}; status == TSR_OK && tsr_next_region(larger->composition, &at);) {
    tsr_extent *extent = extent_of(larger, &at);
    if (extent)
      status = t->backend->extents->extend(t->device, extent, tsr_region_bytes(larger->composition, at.region), error);
  }
  return status;
}

/* The tail buckets of a region go behind the new ones, which are filled as those of an empty table: last, so that the region is
 * as it was if this fails. */
static tsr_status move_tail(const tsr_table *t, const tsr_composition *former, const tsr_composition *now,
                            const tsr_region_walk *at, char *memory, char *tail, void *stream, tsr_error *error) {
  const uint64_t bucket = at->region->bytes_per_bucket, bytes = bucket * now->tail_buckets;
  char *const from = memory + bucket * former->shape.buckets, *const to = memory + bucket * now->shape.buckets;
  tsr_status status = t->backend->copy(t->device, tail, from, bytes, stream, error);
  if (status == TSR_OK) status = t->backend->copy(t->device, to, tail, bytes, stream, error);
  return status ? status : t->backend->fill(t->device, from, at->region->fill, (uint64_t)(to - from), stream, error);
}

/* Of all regions; or, if that has failed, back again. tail: scratch memory for all of them. */
static tsr_status move_tails(const tsr_table *t, const tsr_composition *former, const tsr_store *larger, char *tail,
                             bool back, void *stream, tsr_error *error) {
  tsr_status status = TSR_OK;
  for (tsr_region_walk at = {0}; status == TSR_OK && tsr_next_region(larger->composition, &at);) {
    const tsr_extent *extent = extent_of(larger, &at);
    const uint64_t bucket = at.region->bytes_per_bucket, bytes = bucket * larger->composition->tail_buckets;
    if (!extent) continue;
    char *const memory = extent->memory;
    status = back ? t->backend->copy(t->device, memory + bucket * former->shape.buckets, tail, bytes, stream, error)
                  : move_tail(t, former, larger->composition, &at, memory, tail, stream, error);
    tail += bytes;
  }
  return status;
}

/* No lock is held. */
static tsr_status renew_locks(const tsr_table *t, const tsr_store *store, tsr_store *larger, void *stream,
                              tsr_error *error) {
  void *locks = NULL;
  const uint64_t bytes = larger->composition->lock_bytes;
  larger->state.locks = store->state.locks;
  if (bytes == store->composition->lock_bytes) return TSR_OK;
  tsr_status status = tsr_store_allocate(t, bytes, stream, &locks, error);
  larger->state.locks = locks;
  return status ? status : t->backend->fill(t->device, locks, 0, bytes, stream, error);
}

/* Makes the larger store, but for its buckets' memory, which both have. *tail: scratch memory. */
static tsr_status prepare_larger(const tsr_table *t, const tsr_store *store, tsr_store *larger, void **tail,
                                 void *stream, tsr_error *error) {
  uint64_t tail_bytes = 0;
  if (!extends(store->composition, larger->composition))
    return tsr_fail(error, TSR_UNSUPPORTED, "this capacity gives the table other memory");
  for (tsr_region_walk at = {0}; tsr_next_region(larger->composition, &at);)
    tail_bytes += at.region->bytes_per_bucket * larger->composition->tail_buckets;
  larger->state = tsr_composition_state(larger->composition);
  larger->state.has_erased = store->state.has_erased;
  for (uint32_t role = 0; role < TSR_STATE_ROLES; role++)
    memcpy(larger->state.part[role].region, store->state.part[role].region, sizeof store->state.part[role].region);
  tsr_status status = t->backend->allocate_in(t->device, tail_bytes, stream, tail, error);
  if (status == TSR_OK) status = renew_locks(t, store, larger, stream, error);
  if (status == TSR_OK) status = take_code(t, larger, error);
  return status ? status : extend_extents(t, larger, error);
}

/* Moves what belongs into new buckets. When that is under way there is no way back, and none is needed. */
static tsr_status fill_larger(const tsr_table *t, const tsr_store *store, tsr_store *larger, void *tail, void *stream,
                              tsr_error *error) {
  const uint64_t former = store->composition->shape.buckets, buckets = larger->composition->shape.buckets;
  const tsr_bulk bulk = {.state = larger->state,
                         .n = tsr_split_count(former, buckets),
                         .former = former,
                         .tally = t->tallies + TSR_TALLY_UNREAD};
  const tsr_work work = tsr_work_on(t, larger, stream, error);
  if (former == buckets) return TSR_OK;
  tsr_status status = move_tails(t, store->composition, larger, tail, false, stream, error);
  if (status == TSR_OK && !store->is_clear) status = tsr_work_random(&work, TSR_BULK_split, &bulk);
  const tsr_status back = status ? move_tails(t, store->composition, larger, tail, true, stream, NULL) : TSR_OK;
  (void)back; /* the first failure is what the caller hears of */
  return status;
}

tsr_status tsr_store_extend(const tsr_table *t, tsr_store *store, uint64_t capacity, void *stream, tsr_error *error) {
  tsr_options options = {.plugins = t->plugins, .capacity = capacity, .seed = store->composition->shape.seed};
  tsr_store larger = *store;
  void *tail = NULL;
  larger.code = NULL;
  larger.state.locks = NULL;
  tsr_status status = tsr_store_compose(t, t->spec, &options, &larger.composition, error);
  if (status) return status;
  status = prepare_larger(t, store, &larger, &tail, stream, error);
  if (status == TSR_OK) status = fill_larger(t, store, &larger, tail, stream, error);
  tsr_store *useless = status ? &larger : store;
  tsr_status after = tail ? t->backend->free_in(t->device, tail, stream, status ? NULL : error) : TSR_OK;
  if (status == TSR_OK && after == TSR_OK && store->code != larger.code) /* what is under way may use it */
    after = t->backend->synchronize(t->device, stream, error);
  if (store->state.locks != larger.state.locks && useless->state.locks)
    tsr_store_release(t, useless->state.locks, useless->composition->lock_bytes, stream);
  drop_composition(useless);
  drop_code(t, useless);
  if (status == TSR_OK) *store = larger;
  return status ? status : after;
}

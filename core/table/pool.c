/* SPDX-License-Identifier: Apache-2.0
 *
 * Pools (tessera_tools.h): an allocator without a table around it, so that it can be measured and checked alone. What an
 * operation does to an item is in kernels/pool.cuh. Read next: pool.h.
 */
#include "core/table/pool.h"

#include <stdlib.h>
#include <string.h>

#include "core/compose/compose.h"
#include "core/compose/registry.h"
#include "core/sized.h"
#include "core/table/open.h"
#include "core/tessera_tools.h"

struct tsr_pool {
  tsr_device *device;
  tsr_spec *spec; /* the pool's own copy: the caller may free his, and tsr_pool_reserve composes again */
  char *plugins;
  tsr_composition *composition;      /* of the memory as it is now */
  tsr_composition *code_composition; /* of the program, which stays the first one: growth changes sizes, not code */
  tsr_program *program;
  tsr_state state;
  uint64_t *places;
  tsr_pool_tally *tally;
  uint64_t items, held; /* held: items that have a place now */
  uint32_t units_each;
  bool is_system;
  tsr_event *from, *to;
  char reason[256];
};

/* ---- Regions --------------------------------------------------------------------------------- */

static tsr_status check_enlarges(const tsr_composition *now, const tsr_composition *next, uint32_t role,
                                 tsr_error *error) {
  const tsr_part *a = &now->part[role], *b = &next->part[role];
  bool fits = a->plugin == b->plugin && memcmp(a->config, b->config, a->plugin->config_bytes) == 0;
  for (uint32_t i = 0; fits && i < TSR_REGIONS_MAX; i++) {
    const tsr_region *x = &a->plan.regions[i], *y = &b->plan.regions[i];
    fits = !x->name == !y->name &&
           (!x->name || (x->fill == y->fill && tsr_region_bytes(now, x) <= tsr_region_bytes(next, y)));
  }
  if (fits) return TSR_OK;
  return tsr_fail(error, TSR_UNSUPPORTED, "%s/%s plans other regions for a larger pool (P-63), so it cannot grow",
                  tsr_role_names[role], a->plugin->name);
}

/* Makes a region's longer successor, with what the region holds at its front. The caller frees *grown, on failure too. */
static tsr_status enlarge(tsr_device *device, const void *old, uint64_t old_bytes, uint64_t bytes, uint8_t fill,
                          void *stream, void **grown, tsr_error *error) {
  const tsr_backend *b = device->backend;
  tsr_status status = b->allocate(device, bytes, grown, error);
  if (status) return status;
  status = b->copy(device, *grown, old, old_bytes, stream, error);
  if (status == TSR_OK && bytes > old_bytes)
    status = b->fill(device, (char *)*grown + old_bytes, fill, bytes - old_bytes, stream, error);
  return status;
}

tsr_status tsr_regions_enlarge(tsr_device *device, const tsr_composition *now, const tsr_composition *next,
                               uint32_t role, tsr_state *state, void *stream, tsr_error *error) {
  const tsr_backend *b = device->backend;
  const tsr_plan *plan = &now->part[role].plan, *wanted = &next->part[role].plan;
  tsr_part_state grown = {{NULL}, {0}};
  tsr_status status = check_enlarges(now, next, role, error);
  for (uint32_t i = 0; status == TSR_OK && i < TSR_REGIONS_MAX && plan->regions[i].name; i++)
    status =
        enlarge(device, state->part[role].region[i], tsr_region_bytes(now, &plan->regions[i]),
                tsr_region_bytes(next, &wanted->regions[i]), wanted->regions[i].fill, stream, &grown.region[i], error);
  if (status == TSR_OK) status = b->synchronize(device, stream, error);
  tsr_part_state *freed = status ? &grown : &state->part[role];
  for (uint32_t i = 0; i < TSR_REGIONS_MAX; i++)
    if (freed->region[i]) b->free(device, freed->region[i]);
  if (status) return status;
  memcpy(grown.word, wanted->state, sizeof grown.word);
  state->part[role] = grown;
  return TSR_OK;
}

/* ---- Making ---------------------------------------------------------------------------------- */

static tsr_status compose_units(const tsr_pool *p, uint64_t units, uint32_t lanes, tsr_composition **composition,
                                tsr_error *error) {
  tsr_options options = {.plugins = p->plugins, .capacity = units};
  tsr_status status =
      tsr_compose_pool(p->spec, &options, p->device->info.sm, p->device->info.sm ? lanes : 1, composition, error);
  if (status || !p->is_system) return status;
  /* A pool over malloc is compared with the allocator that the spec names, so it keeps that one's facts, and drops the
   * part itself. */
  tsr_part *part = &(*composition)->part[TSR_ROLE_ALLOCATOR];
  free(part->config);
  *part = (tsr_part){.plugin = NULL};
  return TSR_OK;
}

static tsr_status check_options(const tsr_pool_options *o, tsr_error *error) {
  uint32_t lanes = o->tile_lanes;
  if (lanes > 32 || (lanes & (lanes - 1)))
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_pool_create: tile_lanes = %u: must be a power of two up to 32",
                    lanes);
  if (o->items == 0 || o->items > 1ull << 36)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_pool_create: items = %llu: must be 1 to 2^36",
                    (unsigned long long)o->items);
  return TSR_OK;
}

/* Whether an allocator has code for the device that was opened is known only when it is loaded. So with backend = auto
 * this gives up a GPU for which there is none, and composes once more for the cpu backend. */
static tsr_status compose_first(tsr_pool *p, const tsr_pool_options *o, const tsr_settings *settings,
                                tsr_error *error) {
  uint32_t lanes = o->tile_lanes ? o->tile_lanes : 1;
  tsr_status status = compose_units(p, o->units, lanes, &p->composition, error);
  tsr_error why = {TSR_OK, ""};
  if (status || tsr_composition_check_code(p->composition, &why) == TSR_OK) return status;
  if (settings->target.backend == TSR_BACKEND_CUDA) {
    if (error) *error = why;
    return why.status;
  }
  snprintf(p->reason, sizeof p->reason, "%.250s", why.message);
  tsr_composition_free(p->composition);
  p->composition = NULL;
  p->device->backend->close(p->device);
  p->device = NULL;
  status = tsr_cpu_backend.open(0, &p->device, error);
  return status ? status : compose_units(p, o->units, 1, &p->composition, error);
}

static tsr_status check_units_each(const tsr_pool *p, tsr_error *error) {
  const tsr_shape *shape = &p->composition->shape;
  if (p->is_system || p->units_each <= shape->units_at_once) return TSR_OK;
  return tsr_fail(error, TSR_INCOMPATIBLE, "allocator = %s gives at most %u units at once, and %u are asked for",
                  p->composition->part[TSR_ROLE_ALLOCATOR].plugin->name, shape->units_at_once, p->units_each);
}

/* CUDA cannot enlarge a heap once a kernel has used it. So all pools of a comparison ask for the same size: four times what
 * the items can hold, because malloc keeps some memory for itself. */
static tsr_status heap_bytes(const tsr_pool *p, uint64_t *bytes, tsr_error *error) {
  const uint64_t place_bytes = (uint64_t)p->units_each * p->composition->shape.unit_bytes;
  *bytes = 0;
  if (!p->is_system || !__builtin_mul_overflow(4 * p->items, place_bytes, bytes)) return TSR_OK;
  return tsr_fail(error, TSR_NO_MEMORY,
                  "tsr_pool_create: %llu items of %llu bytes each from malloc: no heap is so large: ask for fewer",
                  (unsigned long long)p->items, (unsigned long long)place_bytes);
}

static tsr_status furnish(tsr_pool *p, tsr_error *error) {
  const tsr_backend *b = p->device->backend;
  void *places = NULL, *tally = NULL;
  uint64_t heap;
  tsr_status status = heap_bytes(p, &heap, error);
  p->state = tsr_composition_state(p->composition);
  for (uint32_t i = 0; status == TSR_OK && i < TSR_REGIONS_MAX; i++) {
    const tsr_region *region = &p->composition->part[TSR_ROLE_ALLOCATOR].plan.regions[i];
    if (!region->name) break;
    status = b->allocate(p->device, tsr_region_bytes(p->composition, region),
                         &p->state.part[TSR_ROLE_ALLOCATOR].region[i], error);
  }
  if (status == TSR_OK) status = b->allocate(p->device, p->items * sizeof *p->places, &places, error);
  p->places = places;
  if (status == TSR_OK) status = b->allocate(p->device, sizeof *p->tally, &tally, error);
  p->tally = tally;
  if (status == TSR_OK) status = b->events->create(p->device, true, &p->from, error);
  if (status == TSR_OK) status = b->events->create(p->device, true, &p->to, error);
  if (status == TSR_OK && p->is_system) status = b->reserve_heap(p->device, heap, error);
  if (status == TSR_OK) status = b->program_create(p->device, p->composition, &p->program, error);
  p->code_composition = p->composition;
  return status;
}

static tsr_status make(tsr_pool *p, const tsr_spec *spec, const tsr_pool_options *o, tsr_error *error) {
  tsr_settings settings;
  tsr_options options = {.plugins = o->plugins, .capacity = o->units};
  tsr_status status = check_options(o, error);
  if (status == TSR_OK) status = tsr_settings_read_pool(spec, &options, &settings, error);
  if (status == TSR_OK) status = tsr_spec_copy(spec, &p->spec, error);
  if (status) return status;
  p->items = o->items;
  p->units_each = o->units_each ? o->units_each : 1;
  p->is_system = o->system;
  if (o->plugins) {
    size_t bytes = strlen(o->plugins) + 1;
    p->plugins = malloc(bytes);
    if (!p->plugins) return tsr_fail(error, TSR_NO_MEMORY, "no memory for a pool");
    memcpy(p->plugins, o->plugins, bytes);
  }
  status = tsr_device_open(&settings, &p->device, p->reason, sizeof p->reason, error);
  if (status == TSR_OK) status = compose_first(p, o, &settings, error);
  if (status == TSR_OK) status = check_units_each(p, error);
  if (status == TSR_OK) status = furnish(p, error);
  return status ? status : tsr_pool_clear(p, error);
}

tsr_status tsr_pool_create(const tsr_spec *spec, const tsr_pool_options *options, tsr_pool **pool, tsr_error *error) {
  if (!spec || !options || !pool)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_pool_create needs a spec, options and a place for the pool");
  tsr_pool *p = calloc(1, sizeof *p);
  if (!p) return tsr_fail(error, TSR_NO_MEMORY, "no memory for a pool");
  tsr_pool_options known;
  tsr_status status = tsr_take_over("tsr_pool_create", &known, options, sizeof known, error);
  if (status == TSR_OK) status = make(p, spec, &known, error);
  if (status)
    tsr_pool_destroy(p);
  else
    *pool = p;
  return status;
}

void tsr_pool_destroy(tsr_pool *p) {
  if (!p) return;
  if (p->device) {
    const tsr_backend *b = p->device->backend;
    if (p->is_system && p->program) { /* the places come from malloc, so only this frees them */
      tsr_pool_result result = {0};
      tsr_status status = tsr_pool_operate(p, TSR_POOL_RELEASE, false, &result, NULL);
      (void)status;
    }
    if (p->program) b->program_destroy(p->program);
    for (uint32_t i = 0; i < TSR_REGIONS_MAX; i++)
      if (p->state.part[TSR_ROLE_ALLOCATOR].region[i]) b->free(p->device, p->state.part[TSR_ROLE_ALLOCATOR].region[i]);
    if (p->places) b->free(p->device, p->places);
    if (p->tally) b->free(p->device, p->tally);
    if (p->from) b->events->destroy(p->device, p->from);
    if (p->to) b->events->destroy(p->device, p->to);
    b->close(p->device);
  }
  if (p->code_composition != p->composition) tsr_composition_free(p->code_composition);
  tsr_composition_free(p->composition);
  tsr_spec_free(p->spec);
  free(p->plugins);
  free(p);
}

void tsr_pool_describe(const tsr_pool *p, tsr_pool_info *info) {
  if (!info) return;
  const tsr_pool_info none = {.backend = "", .device = "", .backend_reason = "", .allocator = ""};
  if (!p) {
    tsr_hand_over(info, &none, sizeof none);
    return;
  }
  const tsr_composition *t = p->composition;
  const tsr_plugin *plugin = t->part[TSR_ROLE_ALLOCATOR].plugin;
  const tsr_pool_info ours = {.backend = p->device->backend->name,
                              .device = p->device->info.name,
                              .backend_reason = p->reason,
                              .allocator = plugin ? plugin->name : "malloc",
                              .units = t->shape.units,
                              .items = p->items,
                              .bytes = tsr_composition_bytes(t),
                              .unit_bytes = t->shape.unit_bytes,
                              .units_each = p->units_each,
                              .tile_lanes = t->shape.tile_lanes,
                              .reuses_units = p->is_system || t->shape.reuses_units};
  tsr_hand_over(info, &ours, sizeof ours);
}

/* ---- Operations ------------------------------------------------------------------------------ */

/* Runs an operation over n items, or over n units for TSR_POOL_count. *tally gets what it counted, and *milliseconds how
 * long the device took; it may be NULL. */
static tsr_status work(tsr_pool *p, uint32_t op, uint64_t n, bool checks, tsr_pool_tally *tally, double *milliseconds,
                       tsr_error *error) {
  const tsr_backend *b = p->device->backend;
  tsr_pool_run run = {.state = p->state,
                      .n = n,
                      .places = p->places,
                      .units = p->units_each,
                      .unit_bytes = p->composition->shape.unit_bytes,
                      .rounds = TSR_POOL_ROUNDS,
                      .checks = checks,
                      .tally = p->tally};
  const tsr_steps *set = p->is_system ? &tsr_pool_system_steps : &tsr_pool_steps;
  *tally = (tsr_pool_tally){.hits = 0};
  if (n == 0) return TSR_OK;
  tsr_status status = b->fill(p->device, p->tally, 0, sizeof *p->tally, NULL, error);
  if (status == TSR_OK) status = b->events->record(p->device, p->from, NULL, error);
  if (status == TSR_OK) status = b->step(p->device, p->program, &set->step[op], &run, n, NULL, error);
  if (status == TSR_OK) status = b->events->record(p->device, p->to, NULL, error);
  if (status == TSR_OK) status = b->events->finish(p->device, p->to, error);
  if (status == TSR_OK && milliseconds) status = b->events->between(p->device, p->from, p->to, milliseconds, error);
  if (status == TSR_OK) status = b->copy(p->device, tally, p->tally, sizeof *tally, NULL, error);
  return status ? status : b->synchronize(p->device, NULL, error);
}

tsr_status tsr_pool_used(tsr_pool *p, uint64_t *units, tsr_error *error) {
  if (!p || !units) return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_pool_used needs a pool and a place for the number");
  tsr_pool_tally tally;
  if (p->is_system) {
    *units = p->held * p->units_each;
    return TSR_OK;
  }
  tsr_status status = work(p, TSR_POOL_count, p->composition->shape.units, false, &tally, NULL, error);
  if (status == TSR_OK) *units = tally.hits;
  return status;
}

/* Two items that were given the same place would overwrite each other. So every item writes its own mark to its place,
 * then all marks are read back; and the allocator must count as many units as the items hold. */
static tsr_status check_places(tsr_pool *p, tsr_pool_result *result, tsr_error *error) {
  tsr_pool_tally stamped, verified;
  uint64_t used = 0;
  tsr_status status = work(p, TSR_POOL_stamp, p->items, false, &stamped, NULL, error);
  if (status == TSR_OK) status = work(p, TSR_POOL_verify, p->items, false, &verified, NULL, error);
  p->held = stamped.hits;
  if (status == TSR_OK) status = tsr_pool_used(p, &used, error);
  if (status || result->complaint[0]) return status;
  const bool reuses = p->is_system || p->composition->shape.reuses_units;
  uint64_t held = p->held * p->units_each;
  if (verified.wrong)
    snprintf(result->complaint, sizeof result->complaint, "%llu of %llu places overlap another",
             (unsigned long long)verified.wrong, (unsigned long long)verified.hits);
  else if (reuses ? used != held : used < held)
    snprintf(result->complaint, sizeof result->complaint,
             "the items hold %llu units, and the allocator has handed out %llu", (unsigned long long)held,
             (unsigned long long)used);
  return TSR_OK;
}

/* Checks the operation's own counts: each thing that was asked for was either done or found the pool exhausted. */
static void check_tally(const tsr_pool *p, int operation, uint64_t held_before, const tsr_pool_tally *tally,
                        tsr_pool_result *result) {
  uint64_t asked = operation == TSR_POOL_CHURN     ? p->items * TSR_POOL_ROUNDS
                   : operation == TSR_POOL_RELEASE ? held_before
                                                   : p->items;
  if (tally->wrong)
    snprintf(result->complaint, sizeof result->complaint, "%llu places were overwritten while an item held them",
             (unsigned long long)tally->wrong);
  else if (tally->hits + tally->exhausted != asked)
    snprintf(result->complaint, sizeof result->complaint, "%llu of %llu were done",
             (unsigned long long)(tally->hits + tally->exhausted), (unsigned long long)asked);
}

static tsr_status operate(tsr_pool *p, int operation, bool checks, tsr_pool_result *result, tsr_error *error) {
  tsr_pool_tally tally;
  if (operation < TSR_POOL_ALLOCATE || operation > TSR_POOL_CHURN)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_pool_operate: there is no operation %d", operation);
  if (operation == TSR_POOL_ALLOCATE && p->held)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_pool_operate: %llu items have a place already: release them first",
                    (unsigned long long)p->held);
  tsr_status status = work(p, (uint32_t)operation, p->items, checks, &tally, &result->milliseconds, error);
  if (status) return status;
  *(operation == TSR_POOL_RELEASE ? &result->released : &result->allocated) = tally.hits;
  result->exhausted = tally.exhausted;
  result->changes = tally.changes;
  result->lost_claims = tally.lost_claims;
  check_tally(p, operation, p->held, &tally, result);
  return check_places(p, result, error);
}

tsr_status tsr_pool_operate(tsr_pool *p, int operation, bool checks, tsr_pool_result *result, tsr_error *error) {
  if (!p || !result)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_pool_operate needs a pool and a place for the result");
  tsr_pool_result ours = {0};
  tsr_status status = operate(p, operation, checks, &ours, error);
  tsr_hand_over(result, &ours, sizeof ours);
  return status;
}

tsr_status tsr_pool_clear(tsr_pool *p, tsr_error *error) {
  if (!p) return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_pool_clear: the pool is NULL");
  const tsr_backend *b = p->device->backend;
  tsr_status status = TSR_OK;
  if (p->is_system && p->held) {
    tsr_pool_result result = {0};
    status = tsr_pool_operate(p, TSR_POOL_RELEASE, false, &result, error);
  }
  for (uint32_t i = 0; status == TSR_OK && i < TSR_REGIONS_MAX; i++) {
    const tsr_region *region = &p->composition->part[TSR_ROLE_ALLOCATOR].plan.regions[i];
    if (!region->name) break;
    status = b->fill(p->device, p->state.part[TSR_ROLE_ALLOCATOR].region[i], region->fill,
                     tsr_region_bytes(p->composition, region), NULL, error);
  }
  if (status == TSR_OK) status = b->fill(p->device, p->places, 0xFF, p->items * sizeof *p->places, NULL, error);
  if (status == TSR_OK) status = b->synchronize(p->device, NULL, error);
  if (status == TSR_OK) p->held = 0;
  return status;
}

/* ---- Growth ---------------------------------------------------------------------------------- */

tsr_status tsr_pool_reserve(tsr_pool *p, uint64_t units, tsr_error *error) {
  if (!p) return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_pool_reserve: the pool is NULL");
  const tsr_shape *shape = &p->composition->shape;
  tsr_composition *next = NULL;
  uint64_t used = 0;
  if (p->is_system) return TSR_OK;
  tsr_status status = tsr_pool_used(p, &used, error);
  if (status || shape->units - used >= units) return status;
  status = compose_units(p, used + units, shape->tile_lanes, &next, error);
  if (status == TSR_OK)
    status = tsr_regions_enlarge(p->device, p->composition, next, TSR_ROLE_ALLOCATOR, &p->state, NULL, error);
  if (status) {
    tsr_composition_free(next);
    return status;
  }
  if (p->composition != p->code_composition) tsr_composition_free(p->composition);
  p->composition = next;
  return TSR_OK;
}

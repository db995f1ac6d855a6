/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a table lives: its backend, its handle, and its stores, that is a composition with memory and code. Making one
 * leaves nothing behind when it fails. Read next: table.c (what is done with it), rebuild.c (who makes the next one).
 */
#define _POSIX_C_SOURCE 200809L /* strdup */
#include <stdlib.h>
#include <string.h>

#include "core/table/table.h"

static const tsr_options no_options;

/* ---- Backend --------------------------------------------------------------------------------- */

tsr_status tsr_device_open(const tsr_settings *settings, tsr_device **device, char *reason, size_t reason_bytes,
                           tsr_error *error) {
  if (settings->backend != TSR_BACKEND_CPU) {
    tsr_error why = {TSR_OK, ""};
    tsr_status status = tsr_cuda_backend.open((int)settings->device, device, &why);
    if (status == TSR_OK) {
      if (settings->backend == TSR_BACKEND_AUTO) snprintf(reason, reason_bytes, "CUDA can be used");
      return TSR_OK;
    }
    if (settings->backend == TSR_BACKEND_CUDA) {
      if (error) *error = why;
      return status;
    }
    snprintf(reason, reason_bytes, "%.250s", why.message);
  }
  return tsr_cpu_backend.open((int)settings->device, device, error);
}

static tsr_status compose(const tsr_table *t, const tsr_spec *spec, const tsr_options *options,
                          tsr_composition **composition, tsr_error *error) {
  tsr_composition *composed;
  tsr_status status = tsr_compose(spec, options, t->device->info.sm, 1, &composed, error);
  if (status) return status;
  status = tsr_composition_check_code(composed, error);
  if (status) {
    tsr_composition_free(composed);
    return status;
  }
  *composition = composed;
  return TSR_OK;
}

/* A plugin without device code sends backend = auto to the CPU and says why. */
static tsr_status compose_for_device(tsr_table *t, const tsr_options *options, uint64_t wanted, tsr_error *error) {
  tsr_error why = {TSR_OK, ""};
  tsr_status status = compose(t, t->spec, options, &t->store.composition, &why);
  if (status == TSR_NO_DEVICE && wanted == TSR_BACKEND_AUTO) {
    snprintf(t->reason, sizeof t->reason, "%.250s", why.message);
    t->backend->close(t->device);
    t->device = NULL;
    t->backend = &tsr_cpu_backend;
    status = t->backend->open(0, &t->device, &why);
    if (status == TSR_OK) status = compose(t, t->spec, options, &t->store.composition, &why);
  }
  if (status && error) *error = why;
  return status;
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
  code->users++;
  store->code = code;
  return TSR_OK;
}

static void drop_composition(tsr_store *store) {
  if (!store->code || store->composition != store->code->composition) tsr_composition_free(store->composition);
  store->composition = NULL;
}

static void drop_code(const tsr_table *t, tsr_store *store) {
  if (store->code && --store->code->users == 0) {
    t->backend->program_destroy(store->code->program);
    tsr_composition_free(store->code->composition);
    free(store->code);
  }
  store->code = NULL;
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static tsr_status allocate_regions(const tsr_table *t, tsr_store *store, tsr_error *error) {
  const tsr_composition *composition = store->composition;
  store->state = tsr_composition_state(composition);
  for (uint32_t role = 0; role < TSR_ROLES; role++)
    for (uint32_t i = 0; i < TSR_REGIONS_MAX && composition->part[role].plan.regions[i].name; i++) {
      const tsr_region *region = &composition->part[role].plan.regions[i];
      uint64_t bytes = tsr_region_bytes(composition, region);
      tsr_error why = {TSR_OK, ""};
      tsr_status status = t->backend->allocate(t->device, bytes, &store->state.part[role].region[i], &why);
      if (status)
        return tsr_fail(error, status, "region %s of %llu bytes (the whole table has %llu): %s", region->name,
                        (unsigned long long)bytes, (unsigned long long)tsr_composition_bytes(composition), why.message);
    }
  if (!composition->lock_bytes) return TSR_OK;
  void *locks;
  tsr_status status = t->backend->allocate(t->device, composition->lock_bytes, &locks, error);
  if (status == TSR_OK) store->state.locks = locks;
  return status;
}

tsr_status tsr_store_clear(const tsr_table *t, tsr_store *store, void *stream, tsr_error *error) {
  const tsr_composition *composition = store->composition;
  tsr_status status = TSR_OK;
  store->state.has_erased = 0;
  for (uint32_t role = 0; role < TSR_ROLES; role++)
    for (uint32_t i = 0; status == TSR_OK && i < TSR_REGIONS_MAX && composition->part[role].plan.regions[i].name; i++) {
      const tsr_region *region = &composition->part[role].plan.regions[i];
      status = t->backend->fill(t->device, store->state.part[role].region[i], region->fill,
                                tsr_region_bytes(composition, region), stream, error);
    }
  if (status == TSR_OK && composition->lock_bytes)
    status = t->backend->fill(t->device, store->state.locks, 0, composition->lock_bytes, stream, error);
  return status;
}

static tsr_status furnish(const tsr_table *t, tsr_store *store, tsr_error *error) {
  tsr_status status = allocate_regions(t, store, error);
  return status ? status : take_code(t, store, error);
}

/* ---- Stores ---------------------------------------------------------------------------------- */

tsr_status tsr_store_make(const tsr_table *t, const tsr_spec *spec, uint64_t capacity, uint64_t seed, tsr_store *store,
                          tsr_error *error) {
  tsr_options options = {.plugins = t->plugins, .capacity = capacity, .seed = seed};
  tsr_store made = {.code = NULL};
  tsr_status status = compose(t, spec, &options, &made.composition, error);
  if (status) return status;
  status = furnish(t, &made, error);
  if (status)
    tsr_store_free(t, &made);
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
  tsr_status status = compose(t, spec, &options, &other.composition, error);
  if (status) return status;
  if (!same_regions(store->composition, other.composition) || !same_code(store->composition, other.composition)) {
    tsr_composition_free(other.composition);
    return tsr_fail(error, TSR_UNSUPPORTED, "another seed gives this composition other sizes or other code");
  }
  other.state = tsr_composition_state(other.composition);
  other.state.locks = store->state.locks;
  for (uint32_t role = 0; role < TSR_ROLES; role++)
    memcpy(other.state.part[role].region, store->state.part[role].region, sizeof other.state.part[role].region);
  drop_composition(store);
  *store = other;
  return TSR_OK;
}

void tsr_store_free(const tsr_table *t, tsr_store *store) {
  for (uint32_t role = 0; role < TSR_ROLES; role++)
    for (uint32_t i = 0; i < TSR_REGIONS_MAX; i++)
      if (store->state.part[role].region[i]) t->backend->free(t->device, store->state.part[role].region[i]);
  if (store->state.locks) t->backend->free(t->device, store->state.locks);
  drop_composition(store);
  drop_code(t, store);
  *store = (tsr_store){.code = NULL};
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static tsr_status create_events(tsr_table *t, tsr_error *error) {
  tsr_status status = t->backend->event_create(t->device, &t->gate, error);
  if (status == TSR_OK) status = t->backend->event_create(t->device, &t->timer_from, error);
  if (status == TSR_OK) status = t->backend->event_create(t->device, &t->timer_to, error);
  for (uint32_t i = 0; status == TSR_OK && i < TSR_USERS_MAX; i++)
    status = t->backend->event_create(t->device, &t->users[i].event, error);
  return status;
}

tsr_status tsr_table_open(const tsr_spec *spec, const tsr_options *options, tsr_table **table, tsr_error *error) {
  tsr_settings settings;
  tsr_status status = tsr_settings_read(spec, options, &settings, error);
  if (status) return status;
  tsr_table *t = calloc(1, sizeof *t);
  if (!t) return tsr_fail(error, TSR_NO_MEMORY, "no memory for a table's handle");
  *table = t;
  if (options->plugins && !(t->plugins = strdup(options->plugins)))
    return tsr_fail(error, TSR_NO_MEMORY, "no memory for a table's handle");
  status = tsr_spec_copy(spec, &t->spec, error);
  if (status == TSR_OK) status = tsr_device_open(&settings, &t->device, t->reason, sizeof t->reason, error);
  if (status) return status;
  t->backend = t->device->backend;
  return compose_for_device(t, options, settings.backend, error);
}

tsr_status tsr_table_furnish(tsr_table *t, tsr_error *error) {
  void *tallies;
  tsr_status status = furnish(t, &t->store, error);
  if (status == TSR_OK) status = t->backend->allocate(t->device, TSR_TALLIES * sizeof(tsr_tally), &tallies, error);
  if (status) return status;
  t->tallies = tallies;
  status = create_events(t, error);
  if (status == TSR_OK) status = tsr_clear(t, NULL, error);
  return status ? status : tsr_table_report_reset(t, error);
}

tsr_status tsr_table_create(const tsr_spec *spec, const tsr_options *options, tsr_table **table, tsr_error *error) {
  tsr_table *made = NULL;
  if (!spec || !table)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_table_create needs a spec and a place for the table");
  tsr_status status = tsr_table_open(spec, options ? options : &no_options, &made, error);
  if (status == TSR_OK) status = tsr_table_furnish(made, error);
  if (status)
    tsr_table_destroy(made);
  else
    *table = made;
  return status;
}

void tsr_table_destroy(tsr_table *t) {
  if (!t) return;
  if (t->device) {
    tsr_status status = t->gate ? tsr_table_wait(t, NULL) : TSR_OK;
    (void)status; /* nobody is left to hear of it */
    tsr_store_free(t, &t->store);
    if (t->tallies) t->backend->free(t->device, t->tallies);
    tsr_event *events[] = {t->gate, t->timer_from, t->timer_to};
    for (uint32_t i = 0; i < 3; i++)
      if (events[i]) t->backend->event_destroy(t->device, events[i]);
    for (uint32_t i = 0; i < TSR_USERS_MAX; i++)
      if (t->users[i].event) t->backend->event_destroy(t->device, t->users[i].event);
    t->backend->close(t->device);
  }
  tsr_spec_free(t->spec);
  free(t->plugins);
  free(t);
}

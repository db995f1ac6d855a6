/* SPDX-License-Identifier: Apache-2.0
 *
 * A table's beginning and end (create.h): its struct, device, first store; clearing. Read next: rebuild.c.
 */
#define _POSIX_C_SOURCE 200809L /* strdup */
#include "core/table/create.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/batch/parts.h"
#include "core/sized.h"
#include "core/table/call.h"
#include "core/table/hold.h"
#include "core/table/open.h"
#include "core/table/order.h"
#include "core/table/single.h"
#include "core/table/store.h"
#include "core/table/values.h"

/* A plugin without device code sends backend = auto to the CPU and says why. */
static tsr_status compose_for_device(tsr_table *t, const tsr_options *options, uint64_t wanted, tsr_error *error) {
  tsr_error why = {TSR_OK, ""};
  tsr_status status = tsr_store_compose(t, t->spec, options, &t->store.composition, &why);
  if (status == TSR_NO_DEVICE && wanted == TSR_BACKEND_AUTO) {
    snprintf(t->reason, sizeof t->reason, "%.250s", why.message);
    t->backend->close(t->device);
    t->device = NULL;
    t->backend = &tsr_cpu_backend;
    status = t->backend->open(0, &t->device, &why);
    if (status == TSR_OK) status = tsr_store_compose(t, t->spec, options, &t->store.composition, &why);
  }
  if (status == TSR_OK) t->values = tsr_values_of(t->store.composition);
  if (status && error) *error = why;
  return status;
}

/* What [table] devices names, `all` counted. */
static tsr_devices devices_of(const tsr_table *t, const tsr_settings *settings) {
  tsr_devices devices = settings->sharing.devices;
  if (devices.count != TSR_DEVICES_ALL) return devices;
  devices.count = tsr_device_count(t->backend);
  for (uint32_t i = 0; i < devices.count; i++) devices.numbers[i] = (uint8_t)i;
  return devices;
}

static bool reads_together(const tsr_table *t) { return t->backend->events->are_immediate && !t->devices.count; }

/* ---- Tables ---------------------------------------------------------------------------------- */

tsr_status tsr_table_open(const tsr_spec *spec, const tsr_options *options, tsr_table **table, tsr_error *error) {
  tsr_settings settings;
  tsr_status status = tsr_settings_read(spec, options, &settings, error);
  if (status) return status;
  tsr_table *t = calloc(1, sizeof *t);
  if (!t) return tsr_fail(error, TSR_NO_MEMORY, "no memory for a table");
  *table = t;
  t->values = &tsr_values_in_slots;
  t->methods = settings.sharing.devices.count ? &tsr_methods_shards : &tsr_methods_store;
  if (options->plugins && !(t->plugins = strdup(options->plugins)))
    return tsr_fail(error, TSR_NO_MEMORY, "no memory for a table");
  status = tsr_hold_open(t, error);
  if (status == TSR_OK) status = tsr_spec_copy(spec, &t->spec, error);
  if (status == TSR_OK) status = tsr_device_open(&settings, &t->device, t->reason, sizeof t->reason, error);
  if (status) return status;
  t->backend = t->device->backend;
  t->devices = devices_of(t, &settings);
  t->capacity = settings.capacity;
  tsr_options of_shard = *options;
  if (t->devices.count) of_shard.capacity = tsr_shard_capacity(&settings, t->devices.count);
  status = compose_for_device(t, &of_shard, settings.target.backend, error);
  t->order.reads_together = status == TSR_OK && reads_together(t);
  return status;
}

tsr_status tsr_table_furnish(tsr_table *t, tsr_error *error) { return t->methods->furnish(t, error); }

tsr_status tsr_single_furnish(tsr_table *t, tsr_error *error) {
  void *tallies;
  tsr_status status = tsr_store_furnish(t, &t->store, error);
  if (status == TSR_OK) status = t->backend->allocate(t->device, TSR_TALLIES * sizeof(tsr_tally), &tallies, error);
  if (status) return status;
  t->tallies = tallies;
  status = tsr_order_open(t, error);
  if (status == TSR_OK) status = tsr_single_prepare_splits(t, error);
  if (status == TSR_OK) status = t->values->reserve(t, 0, error);
  if (status == TSR_OK) status = tsr_clear(t, NULL, error);
  if (status == TSR_OK)
    status = t->backend->fill(t->device, t->tallies, 0, TSR_TALLIES * sizeof *t->tallies, NULL, error);
  return status ? status : t->backend->synchronize(t->device, NULL, error);
}

tsr_status tsr_table_create(const tsr_spec *spec, const tsr_options *options, tsr_table **table, tsr_error *error) {
  tsr_table *made = NULL;
  tsr_options known;
  if (!spec || !table)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_table_create needs a spec and a place for the table");
  tsr_status status = tsr_take_over("tsr_table_create", &known, options, sizeof known, error);
  if (status == TSR_OK) status = tsr_table_open(spec, &known, &made, error);
  if (status == TSR_OK) status = tsr_table_furnish(made, error);
  if (status)
    tsr_table_destroy(made);
  else
    *table = made;
  return status;
}

void tsr_single_release(tsr_table *t) {
  tsr_order_close(t);
  t->values->free(t);
  if (t->tallies) t->backend->free(t->device, t->tallies);
}

void tsr_table_destroy(tsr_table *t) {
  if (!t) return;
  if (t->device) {
    t->methods->release(t);
    tsr_store_free(t, &t->store, NULL);
    tsr_status waited = t->backend->synchronize(t->device, NULL, NULL); /* until then it may not be free */
    (void)waited;
    t->backend->close(t->device);
  }
  tsr_spec_free(t->spec);
  tsr_hold_close(t);
  free(t->plugins);
  free(t);
}

tsr_status tsr_clear(tsr_table *t, void *stream, tsr_error *error) {
  TSR_WRITES(t);
  if (!t) return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_clear: the table is NULL");
  return t->methods->clear(t, stream, error);
}

tsr_status tsr_single_clear(tsr_table *t, void *stream, tsr_error *error) {
  tsr_request r = {.op = TSR_CALL_CLEAR, .call.stream = stream};
  tsr_status status = tsr_call_begin(t, &r, error);
  if (status) return status;
  t->known.is_known = false;
  status = tsr_call_enter(t, TSR_PHASE_ALONE, &r.call, error);
  if (status == TSR_OK) status = tsr_store_clear(t, &t->store, stream, error);
  if (status == TSR_OK) status = t->values->clear(t, stream, error);
  return status ? status : tsr_call_leave(t, &r.call, error);
}

const char *tsr_version(void) { return TSR_VERSION; }

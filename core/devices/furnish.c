/* SPDX-License-Identifier: Apache-2.0
 *
 * The beginning and end of a table of several devices (furnish.h): its shards, and the streams, events and buffers by
 * which batches come to them. Read next: task.h.
 */
#include "core/devices/furnish.h"

#include <stdlib.h>
#include <string.h>

#include "core/devices/balance.h"
#include "core/devices/reach.h"
#include "core/table/create.h"
#include "core/table/numbering.h"
#include "core/table/order.h"

static bool is_about_devices(const char *section, const char *key) {
  return strcmp(section, "devices") == 0 ||
         (strcmp(section, "table") == 0 &&
          (strcmp(key, "devices") == 0 || strcmp(key, "device") == 0 || strcmp(key, "backend") == 0));
}

/* The spec of a shard: the table's without the list of devices, and with one device. */
static tsr_status spec_of_shard(const tsr_table *t, uint32_t number, tsr_spec **made, tsr_error *error) {
  char value[24];
  tsr_spec *spec = tsr_spec_new(tsr_spec_name(t->spec));
  tsr_status status = spec ? TSR_OK : tsr_fail(error, TSR_NO_MEMORY, "no memory for the spec of a shard");
  for (size_t i = 0; status == TSR_OK && i < tsr_spec_section_count(t->spec); i++) {
    const tsr_spec_section *section = tsr_spec_section_at(t->spec, i);
    if (strcmp(section->name, "devices") != 0) status = tsr_spec_add_section(spec, section->name, section->line, error);
  }
  for (size_t i = 0; status == TSR_OK && i < tsr_spec_count(t->spec); i++) {
    const tsr_spec_entry *entry = tsr_spec_at(t->spec, i);
    if (!is_about_devices(entry->section, entry->key))
      status = tsr_spec_add_entry(spec, entry->section, entry->key, entry->value, entry->line, error);
  }
  if (status == TSR_OK) status = tsr_spec_put(spec, "table", "backend", t->backend->name, error);
  snprintf(value, sizeof value, "%u", number);
  if (status == TSR_OK) status = tsr_spec_put(spec, "table", "device", value, error);
  const uint64_t limit = t->store.composition->settings.upkeep.growth_limit, members = t->shards->transport.members;
  const uint64_t least = t->store.composition->settings.capacity, part = limit / members;
  snprintf(value, sizeof value, "%llu", (unsigned long long)(part > least ? part : least));
  if (status == TSR_OK && limit && members > 1 && t->shards->split != TSR_SPLIT_REPLICATED)
    status = tsr_spec_put(spec, "table", "growth_limit", value, error);
  if (status)
    tsr_spec_free(spec);
  else
    *made = spec;
  return status;
}

uint32_t tsr_shard_device(const tsr_table *t, uint32_t i) {
  return t->devices.count ? t->devices.numbers[i] : (uint32_t)t->store.composition->settings.target.device;
}

tsr_status tsr_shard_create(const tsr_table *t, uint32_t i, const void *from, tsr_table **shard, tsr_error *error) {
  (void)from;
  const tsr_composition *composition = t->store.composition;
  tsr_spec *spec = NULL;
  const tsr_options options = {
      .plugins = t->plugins, .capacity = composition->settings.capacity, .seed = composition->shape.seed};
  tsr_status status = spec_of_shard(t, tsr_shard_device(t, i), &spec, error);
  if (status == TSR_OK) status = tsr_table_create(spec, &options, shard, error);
  tsr_spec_free(spec);
  return status;
}

/* Kernels that move items are urgent, those that work on items are not: there is always enough work. Otherwise a
 * chunk's first kernel would wait for the work on the chunk before, and the devices would wait for the host. */
static tsr_status furnish_member(tsr_member *m, tsr_error *error) {
  tsr_device *device = m->shard->device;
  tsr_status status = TSR_OK;
  for (uint32_t leg = 0; status == TSR_OK && leg < TSR_LEGS; leg++)
    status = device->backend->stream_create(device, leg != TSR_LEG_WORK, &m->streams[leg], error);
  for (uint32_t i = 0; i < TSR_FLIGHTS; i++) {
    tsr_flight *k = &m->flights[i];
    void *sizes = NULL;
    if (status == TSR_OK)
      status = device->backend->allocate_host(device, TSR_DEVICES_MAX * sizeof *k->sizes, &sizes, error);
    k->sizes = sizes;
    if (status == TSR_OK) status = device->backend->events->create(device, true, &k->times.back_at, error);
    for (uint32_t leg = 0; status == TSR_OK && leg < TSR_LEGS; leg++) {
      status = device->backend->events->create(device, true, &k->ended[leg], error);
      if (status == TSR_OK) status = device->backend->events->create(device, true, &k->times.begun[leg], error);
    }
  }
  return status;
}

static void release_member(tsr_member *m) {
  if (!m->shard) return;
  tsr_device *device = m->shard->device;
  tsr_buffer_free(device, &m->bins);
  tsr_buffer_free(device, &m->sample);
  for (uint32_t i = 0; i < TSR_FLIGHTS; i++) {
    tsr_flight *k = &m->flights[i];
    tsr_flight_free(device, k);
    if (k->sizes) device->backend->free_host(device, k->sizes);
    if (k->times.back_at) device->backend->events->destroy(device, k->times.back_at);
    for (uint32_t leg = 0; leg < TSR_LEGS; leg++) {
      if (k->ended[leg]) device->backend->events->destroy(device, k->ended[leg]);
      if (k->times.begun[leg]) device->backend->events->destroy(device, k->times.begun[leg]);
    }
  }
  for (uint32_t leg = 0; leg < TSR_LEGS; leg++)
    if (m->streams[leg]) device->backend->stream_destroy(device, m->streams[leg]);
  tsr_table_destroy(m->shard);
}

/* A table of a group has its transport already, and one member in this process. */
tsr_status tsr_shards_furnish(tsr_table *t, tsr_shard_maker *make, const void *from, tsr_error *error) {
  tsr_device *devices[TSR_DEVICES_MAX];
  const tsr_settings *settings = &t->store.composition->settings;
  const bool in_group = t->shards != NULL;
  if (!in_group) t->shards = calloc(1, sizeof *t->shards);
  tsr_shards *s = t->shards;
  if (!s) return tsr_fail(error, TSR_NO_MEMORY, "no memory for a table of several devices");
  if (!in_group) s->transport.members = s->transport.here = t->devices.count;
  s->split = (uint32_t)settings->sharing.split;
  /* each insert makes such a table anew, so a batch must come at once */
  s->chunk = tsr_is_whole(&t->store.composition->shape) ? 1ull << 31 : settings->sharing.chunk;
  s->seed = t->store.composition->shape.seed;
  s->is_empty = true;
  const uint32_t here = s->transport.here;
  s->members = calloc(here, sizeof *s->members);
  tsr_status status = s->members ? tsr_order_open(t, error) : tsr_fail(error, TSR_NO_MEMORY, "no memory for shards");
  for (uint32_t i = 0; status == TSR_OK && i < here; i++) {
    status = make(t, i, from, &s->members[i].shard, error);
    if (status) break;
    tsr_numbering_take_turns(s->members[i].shard, i, here);
    devices[i] = s->members[i].shard->device;
    status = furnish_member(&s->members[i], error);
  }
  if (status) return status;
  if (in_group)
    s->transport.devices[0] = devices[0];
  else
    tsr_local_transport(&s->transport, devices, here, settings->sharing.exchange == TSR_EXCHANGE_COPY);
  tsr_balance_evenly(s);
  return TSR_OK;
}

void tsr_shards_release(tsr_table *t) {
  tsr_shards *s = t->shards;
  tsr_order_close(t);
  if (s && s->members) tsr_reach_leave(s);
  for (uint32_t i = 0; s && s->members && i < s->transport.here; i++) release_member(&s->members[i]);
  if (s) free(s->members);
  free(s);
  t->shards = NULL;
}

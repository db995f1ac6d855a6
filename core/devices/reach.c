/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of other processes (reach.h).
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "core/devices/reach.h"

#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include "core/devices/balance.h"

/* What a process tells of a buffer. Only 64-bit numbers, because it is sent. */
typedef struct shared_row {
  uint64_t name[TSR_SHARED_NAME_BYTES / sizeof(uint64_t)];
  uint64_t bytes; /* 0: there is none */
  uint64_t token; /* that is written there */
} shared_row;
enum { ROW_WORDS = sizeof(shared_row) / sizeof(uint64_t) };

static tsr_buffer *buffer_at(const tsr_flight *k, size_t offset) {
  return (tsr_buffer *)((char *)(uintptr_t)k + offset);
}

const tsr_flight *tsr_reach_flight(const tsr_shards *s, uint32_t member, uint32_t flight) {
  const uint32_t first = s->transport.first;
  const bool is_here = member >= first && member < first + s->transport.here;
  return is_here ? &s->members[member - first].flights[flight] : &s->far[member].flights[flight];
}

/* ---- Whether all reach each other ------------------------------------------------------------ */

/* The number that another process has written. */
static bool finds(tsr_device *device, const shared_row *row) {
  const tsr_backend *backend = device->backend;
  uint64_t token = 0;
  void *memory = NULL;
  if (backend->extents->open_shared(device, (const uint8_t *)row->name, &memory, NULL)) return false;
  tsr_status status = backend->copy(device, &token, memory, sizeof token, NULL, NULL);
  if (status == TSR_OK) status = backend->synchronize(device, NULL, NULL);
  backend->extents->close_shared(device, memory);
  return status == TSR_OK && token == row->token;
}

/* Another one for each process and table: nothing else is ever asked of it. */
static uint64_t new_token(uint32_t rank) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec) << 6) + rank;
}

/* Memory with this process's number in it; where there is none the group has another way. */
static void offer(tsr_device *device, shared_row *row, void **memory) {
  const tsr_backend *backend = device->backend;
  *memory = NULL;
  if (backend->extents->share(device, TSR_MAP_LEAST, memory, (uint8_t *)row->name, NULL)) return;
  tsr_status status = backend->copy(device, *memory, &row->token, sizeof row->token, NULL, NULL);
  if (status == TSR_OK) status = backend->synchronize(device, NULL, NULL);
  row->bytes = status ? 0 : TSR_MAP_LEAST;
}

tsr_status tsr_reach_meet(tsr_shards *s, bool is_wanted, tsr_error *error) {
  tsr_transport *x = &s->transport;
  tsr_device *device = s->members->shard->device;
  const tsr_extents *extents = device->backend->extents;
  uint64_t yes[TSR_DEVICES_MAX] = {0};
  void *memory = NULL;
  shared_row *rows = calloc(x->members, sizeof *rows);
  s->far = calloc(x->members, sizeof *s->far);
  tsr_status status = rows && s->far ? TSR_OK : tsr_fail(error, TSR_NO_MEMORY, "no memory for %u ranks", x->members);
  if (status == TSR_OK) {
    rows[x->first].token = new_token(x->first);
    if (is_wanted && extents && extents->share) offer(device, &rows[x->first], &memory);
  }
  status = x->gather(x, (uint64_t *)rows, ROW_WORDS, status, error);
  bool reaches = status == TSR_OK;
  for (uint32_t i = 0; reaches && i < x->members; i++) reaches = rows[i].bytes != 0;
  for (uint32_t i = 0; reaches && i < x->members; i++) reaches = i == x->first || finds(device, &rows[i]);
  yes[x->first] = reaches;
  if (status == TSR_OK) status = x->gather(x, yes, 1, TSR_OK, error); /* then nobody maps the memory any more */
  x->is_direct = status == TSR_OK;
  for (uint32_t i = 0; i < x->members; i++) x->is_direct = x->is_direct && yes[i];
  if (memory) extents->unshare(device, memory);
  if (!x->is_direct) free(s->far);
  if (!x->is_direct) s->far = NULL;
  free(rows);
  return status;
}

/* ---- Room ------------------------------------------------------------------------------------ */

static tsr_status reserve_here(tsr_shards *s, uint32_t flight, const tsr_need *needs, uint32_t count,
                               tsr_error *error) {
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; i < s->transport.here; i++)
    for (uint32_t c = 0; status == TSR_OK && c < count; c++)
      status = tsr_buffer_reserve(&s->members[i], buffer_at(&s->members[i].flights[flight], needs[c].buffer),
                                  needs[c].bytes[s->transport.first + i], error);
  return status;
}

static bool must_grow(const tsr_buffer *b, uint64_t bytes) { return bytes && (!b->memory || b->bytes < bytes); }

/* Unmaps the buffers of others that grow. Returns whether any buffer does. */
static bool unmap_growing(tsr_shards *s, uint32_t flight, const tsr_need *needs, uint32_t count) {
  tsr_device *device = s->members->shard->device;
  bool any = false;
  for (uint32_t c = 0; c < count; c++)
    for (uint32_t i = 0; i < s->transport.members; i++) {
      tsr_buffer *b = buffer_at(tsr_reach_flight(s, i, flight), needs[c].buffer);
      if (!must_grow(b, needs[c].bytes[i])) continue;
      any = true;
      if (i == s->transport.first || !b->memory) continue;
      device->backend->extents->close_shared(device, b->memory);
      *b = (tsr_buffer){.memory = NULL};
    }
  return any;
}

/* rows: one for each buffer; those that stay are left empty. */
static tsr_status grow_own(tsr_shards *s, uint32_t flight, const tsr_need *needs, uint32_t count, shared_row *rows,
                           tsr_error *error) {
  tsr_device *device = s->members->shard->device;
  const tsr_extents *extents = device->backend->extents;
  tsr_status status = TSR_OK;
  for (uint32_t c = 0; status == TSR_OK && c < count; c++) {
    tsr_buffer *b = buffer_at(&s->members->flights[flight], needs[c].buffer);
    const uint64_t bytes = needs[c].bytes[s->transport.first];
    if (!must_grow(b, bytes)) continue;
    if (b->memory) extents->unshare(device, b->memory);
    *b = (tsr_buffer){.memory = NULL};
    const uint64_t roomy = (bytes + bytes / 8 + TSR_MAP_LEAST) / TSR_MAP_LEAST * TSR_MAP_LEAST;
    status = extents->share(device, roomy, &b->memory, (uint8_t *)rows[c].name, error);
    if (status) b->memory = NULL;
    if (status == TSR_OK) *b = (tsr_buffer){.memory = b->memory, .bytes = roomy, .is_shared = true};
    rows[c].bytes = roomy;
  }
  return status;
}

static tsr_status map_grown(tsr_shards *s, uint32_t flight, const tsr_need *needs, uint32_t count,
                            const shared_row *rows, tsr_error *error) {
  tsr_device *device = s->members->shard->device;
  tsr_status status = TSR_OK;
  for (uint32_t c = 0; c < count; c++)
    for (uint32_t i = 0; status == TSR_OK && i < s->transport.members; i++) {
      const shared_row *row = &rows[i * count + c];
      tsr_buffer *b = buffer_at(tsr_reach_flight(s, i, flight), needs[c].buffer);
      if (i == s->transport.first || !row->bytes) continue;
      status = device->backend->extents->open_shared(device, (const uint8_t *)row->name, &b->memory, error);
      *b = (tsr_buffer){.memory = status ? NULL : b->memory, .bytes = row->bytes};
    }
  return status;
}

tsr_status tsr_reach_room(tsr_shards *s, uint32_t flight, const tsr_need *needs, uint32_t count, tsr_error *error) {
  tsr_transport *x = &s->transport;
  if (!s->far) return reserve_here(s, flight, needs, count, error);
  if (!unmap_growing(s, flight, needs, count)) return TSR_OK;
  tsr_status status = x->agree(x, TSR_OK, error);
  if (status) return status;
  shared_row *rows = calloc((size_t)x->members * count, sizeof *rows);
  status = rows ? grow_own(s, flight, needs, count, rows + (size_t)x->first * count, error)
                : tsr_fail(error, TSR_NO_MEMORY, "no memory for the names of shared buffers");
  status = x->gather(x, (uint64_t *)rows, count * ROW_WORDS, status, error);
  if (status == TSR_OK) status = map_grown(s, flight, needs, count, rows, error);
  free(rows);
  return status;
}

/* ---- The end --------------------------------------------------------------------------------- */

static void close_range(tsr_device *device, tsr_buffer *buffers, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (buffers[i].memory) device->backend->extents->close_shared(device, buffers[i].memory);
}

void tsr_reach_close(tsr_shards *s) {
  for (uint32_t i = 0; s->far && i < s->transport.members; i++)
    for (uint32_t f = 0; f < TSR_FLIGHTS; f++) {
      tsr_device *device = s->members->shard->device;
      tsr_flight *k = &s->far[i].flights[f];
      close_range(device, k->arrived, TSR_QUESTIONS);
      close_range(device, k->answer, TSR_ANSWERS);
      close_range(device, k->back, TSR_ANSWERS);
      close_range(device, &k->gathered.values, 1);
    }
  free(s->far);
  s->far = NULL;
}

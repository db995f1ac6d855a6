/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of other processes (reach.h).
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime, nanosleep */
#include "core/devices/reach.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/devices/balance.h"
#include "core/devices/mesh.h"

/* What a process tells of a buffer. Only 64-bit numbers, because it is sent. */
typedef struct shared_row {
  uint64_t name[TSR_SHARED_NAME_BYTES / sizeof(uint64_t)];
  uint64_t bytes; /* 0: there is none */
} shared_row;
enum { ROW_WORDS = sizeof(shared_row) / sizeof(uint64_t) };

/* What it tells before there are any: of its board, and of memory with a number in it. */
typedef struct meeting_row {
  shared_row board, memory;
  uint64_t token;
} meeting_row;
enum { MEETING_WORDS = sizeof(meeting_row) / sizeof(uint64_t) };

/* In host memory that all processes map. */
typedef struct tsr_board {
  uint64_t process;                   /* whose it is */
  uint32_t has_left[TSR_DEVICES_MAX]; /* by rank: it uses that process's memory no more, and never will again */
} tsr_board;

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
static bool finds(tsr_device *device, const meeting_row *row) {
  const tsr_backend *backend = device->backend;
  uint64_t token = 0;
  void *memory = NULL;
  if (backend->extents->open_shared(device, (const uint8_t *)row->memory.name, &memory, NULL)) return false;
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

/* Memory with this process's number in it, and a board; where there is either none the group has another way. */
static void offer(tsr_shards *s, meeting_row *row, void **memory) {
  tsr_device *device = s->members->shard->device;
  const tsr_backend *backend = device->backend;
  void *board = NULL;
  *memory = NULL;
  if (backend->extents->share(device, TSR_MAP_LEAST, memory, (uint8_t *)row->memory.name, NULL)) *memory = NULL;
  if (!*memory) return;
  tsr_status status = backend->copy(device, *memory, &row->token, sizeof row->token, NULL, NULL);
  if (status == TSR_OK) status = backend->synchronize(device, NULL, NULL);
  if (status == TSR_OK)
    status = tsr_cpu_backend.extents->share(NULL, sizeof(tsr_board), &board, (uint8_t *)row->board.name, NULL);
  if (status) return;
  s->boards[s->transport.first] = board;
  s->boards[s->transport.first]->process = (uint64_t)getpid();
  row->memory.bytes = TSR_MAP_LEAST;
  row->board.bytes = sizeof(tsr_board);
}

/* Whether this process reaches the memory and the boards of all others. */
static bool reaches(tsr_shards *s, const meeting_row *rows) {
  const tsr_transport *x = &s->transport;
  bool all = true;
  for (uint32_t i = 0; all && i < x->members; i++) all = rows[i].memory.bytes != 0;
  for (uint32_t i = 0; all && i < x->members; i++) {
    void *board = NULL;
    if (i == x->first) continue;
    all = tsr_cpu_backend.extents->open_shared(NULL, (const uint8_t *)rows[i].board.name, &board, NULL) == TSR_OK;
    if (all) s->boards[i] = board;
    all = all && finds(s->members->shard->device, &rows[i]);
  }
  return all;
}

tsr_status tsr_reach_meet(tsr_shards *s, bool is_wanted, tsr_error *error) {
  tsr_transport *x = &s->transport;
  tsr_device *device = s->members->shard->device;
  const tsr_extents *extents = device->backend->extents;
  uint64_t yes[TSR_DEVICES_MAX] = {0};
  void *memory = NULL;
  meeting_row *rows = calloc(x->members, sizeof *rows);
  s->far = calloc(x->members, sizeof *s->far);
  s->boards = calloc(x->members, sizeof *s->boards);
  tsr_status status =
      rows && s->far && s->boards ? TSR_OK : tsr_fail(error, TSR_NO_MEMORY, "no memory for %u ranks", x->members);
  if (status == TSR_OK) {
    rows[x->first].token = new_token(x->first);
    if (is_wanted && extents && extents->share) offer(s, &rows[x->first], &memory);
  }
  status = x->gather(x, (uint64_t *)rows, MEETING_WORDS, status, error);
  yes[x->first] = status == TSR_OK && reaches(s, rows);
  if (status == TSR_OK) status = x->gather(x, yes, 1, TSR_OK, error); /* then nobody maps the memory any more */
  x->is_direct = status == TSR_OK;
  for (uint32_t i = 0; i < x->members; i++) x->is_direct = x->is_direct && yes[i];
  if (memory && status == TSR_OK)
    extents->unshare(device, memory); /* otherwise others may read it: it goes with the process */
  if (!x->is_direct) tsr_reach_leave(s);
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
    rows[c].bytes = status ? 0 : roomy;
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

void tsr_reach_finish(const tsr_shards *s) {
  for (uint32_t i = 0; s->members && i < s->transport.here; i++) {
    const tsr_member *m = &s->members[i];
    for (uint32_t leg = 0; m->shard && leg < TSR_LEGS; leg++) {
      tsr_device *device = m->shard->device;
      if (!m->streams[leg]) continue;
      const tsr_status waited = device->backend->synchronize(device, m->streams[leg], NULL);
      (void)waited; /* a device that has failed does nothing any more */
    }
  }
}

static void close_range(tsr_device *device, tsr_buffer *buffers, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) {
    if (buffers[i].memory) device->backend->extents->close_shared(device, buffers[i].memory);
    buffers[i] = (tsr_buffer){.memory = NULL};
  }
}

/* Unmaps all that other processes own. */
static void close_far(tsr_shards *s) {
  for (uint32_t i = 0; s->far && i < s->transport.members; i++)
    for (uint32_t f = 0; f < TSR_FLIGHTS; f++) {
      tsr_device *device = s->members->shard->device;
      tsr_flight *k = &s->far[i].flights[f];
      close_range(device, k->arrived, TSR_QUESTIONS);
      close_range(device, k->answer, TSR_ANSWERS);
      close_range(device, k->back, TSR_ANSWERS);
      close_range(device, &k->gathered.values, 1);
    }
}

tsr_status tsr_reach_drop(tsr_shards *s, tsr_error *error) {
  tsr_reach_finish(s);
  close_far(s);
  const tsr_status status = s->transport.agree(&s->transport, TSR_OK, error);
  for (uint32_t i = 0; status == TSR_OK && i < s->transport.here; i++)
    for (uint32_t f = 0; f < TSR_FLIGHTS; f++) tsr_flight_free(s->members[i].shard->device, &s->members[i].flights[f]);
  return status;
}

/* Whether it runs. One that was killed and that nobody has waited for does not, and its memory is gone. */
static bool is_alive(uint64_t process) {
  char path[64], text[512] = "";
  snprintf(path, sizeof path, "/proc/%llu/stat", (unsigned long long)process);
  FILE *file = fopen(path, "re");
  const size_t got = file ? fread(text, 1, sizeof text - 1, file) : 0;
  if (file) fclose(file);
  const char *name = got ? strrchr(text, ')') : NULL; /* the state follows */
  return name && name[1] && name[2] != 'Z' && name[2] != 'X';
}

/* Acquire and release: what a process did to this one's memory, and that it has unmapped it, comes before its word. */
static bool has_left(const tsr_shards *s, uint32_t rank) {
  const tsr_board *mine = s->boards[s->transport.first];
  return __atomic_load_n(&mine->has_left[rank], __ATOMIC_ACQUIRE) || !s->boards[rank] ||
         !is_alive(s->boards[rank]->process);
}

/* The first rank that has not left within limit_s; this one's: all have. */
static uint32_t wait_for_others(const tsr_shards *s) {
  const tsr_transport *x = &s->transport;
  const double until = tsr_mesh_now_s() + x->limit_s;
  long pause_ns = 20000;
  for (uint32_t i = 0; i < x->members; i++)
    while (i != x->first && !has_left(s, i)) {
      if (tsr_mesh_now_s() > until) return i;
      nanosleep(&(struct timespec){.tv_nsec = pause_ns}, NULL);
      if (pause_ns < 5000000) pause_ns *= 2;
    }
  return x->first;
}

/* Shared buffers of this process. forgets: they are not freed. */
static bool owns_shared(tsr_shards *s, bool forgets) {
  bool any = false;
  for (uint32_t f = 0; f < TSR_FLIGHTS; f++) {
    tsr_flight *k = &s->members->flights[f];
    const struct {
      tsr_buffer *buffers;
      uint32_t count;
    } shared[] = {
        {k->arrived, TSR_QUESTIONS}, {k->answer, TSR_ANSWERS}, {k->back, TSR_ANSWERS}, {&k->gathered.values, 1}};
    for (uint32_t r = 0; r < sizeof shared / sizeof shared[0]; r++)
      for (uint32_t i = 0; i < shared[r].count; i++) {
        tsr_buffer *b = &shared[r].buffers[i];
        any = any || b->is_shared;
        if (b->is_shared && forgets) *b = (tsr_buffer){.memory = NULL};
      }
  }
  return any;
}

/* Another one maps this process's memory, so that has to stay, and with it what the device keeps of a process. */
static void abandon(tsr_shards *s, uint32_t rank) {
  const tsr_table *shard = s->members->shard;
  tsr_device *stays = NULL;
  tsr_error why;
  const tsr_status opened = shard->backend->open((int)shard->store.composition->settings.target.device, &stays, NULL);
  (void)opened; /* then the device has failed, and nobody reads its memory */
  owns_shared(s, true);
  tsr_fail(&why, TSR_IO,
           "rank %u has not destroyed its part of a table within %g s (limit_s): memory that it maps stays until this "
           "process ends, and the group is broken; all processes destroy a group's tables in the same order",
           rank, s->transport.limit_s);
  s->transport.give_up(&s->transport, &why);
}

void tsr_reach_leave(tsr_shards *s) {
  const tsr_transport *x = &s->transport;
  uint32_t missing = x->first;
  if (s->far) tsr_reach_finish(s);
  if (s->far) close_far(s);
  for (uint32_t i = 0; s->boards && i < x->members; i++)
    if (i != x->first && s->boards[i]) __atomic_store_n(&s->boards[i]->has_left[x->first], 1, __ATOMIC_RELEASE);
  if (s->boards && s->boards[x->first] && owns_shared(s, false)) missing = wait_for_others(s);
  if (missing != x->first) abandon(s, missing);
  for (uint32_t i = 0; s->boards && i < x->members; i++)
    if (i != x->first && s->boards[i]) tsr_cpu_backend.extents->close_shared(NULL, s->boards[i]);
  if (s->boards && s->boards[x->first]) tsr_cpu_backend.extents->unshare(NULL, s->boards[x->first]);
  free(s->boards);
  free(s->far);
  s->boards = NULL;
  s->far = NULL;
}

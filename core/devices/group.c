/* SPDX-License-Identifier: Apache-2.0
 *
 * Groups of processes (tessera_devices.h): the transport of tables whose shards are each in a process of its own.
 * Messages go over a mesh of sockets. Items do too, or go by a wire from GPU to GPU, while the mesh shows whether all
 * processes are still there.
 *
 * Read next: mesh.c.
 */
#include <stdlib.h>
#include <string.h>

#include "core/batch/parts.h"
#include "core/devices/furnish.h"
#include "core/devices/group.h"
#include "core/devices/mesh.h"
#include "core/devices/reach.h"
#include "core/sized.h"
#include "core/table/create.h"
#include "core/table/save_format.h"
#include "core/tessera_devices.h"

struct tsr_group {
  tsr_mesh mesh;
  tsr_over over;      /* what carries the mesh's messages, if anything but sockets does */
  tsr_device *device; /* if memory is not the host's: the device of all tables of this process, */
  uint32_t number;    /* its number, */
  tsr_wire *wire;     /* and its way to the others' */
};

/* ---- The transport --------------------------------------------------------------------------- */

/* Whether all processes that have failed have no memory. All come to the same answer. */
static bool lack_memory(const tsr_transport *x, tsr_status mine, const tsr_error *theirs) {
  bool any = mine != TSR_OK, all = mine == TSR_OK || mine == TSR_NO_MEMORY;
  for (uint32_t i = 0; i < x->members; i++) {
    if (i == x->first) continue;
    any = any || theirs[i].status;
    all = all && (theirs[i].status == TSR_OK || theirs[i].status == TSR_NO_MEMORY);
  }
  return any && all;
}

static void give_up(tsr_transport *x, const tsr_error *why) {
  const tsr_status broken = tsr_mesh_break(&x->group->mesh, why);
  (void)broken; /* it is that of `why`, or of an earlier failure */
}

/* What a process tells of its own work. All return the sentence of the first process that failed. */
static tsr_status agree(tsr_transport *x, tsr_status status, tsr_error *error) {
  tsr_error mine = {.status = status}, theirs[TSR_DEVICES_MAX];
  tsr_mail mail = {.out = {NULL}};
  if (x->group->mesh.is_broken && status) return status;
  if (status && error) mine = *error;
  mine.status = status;
  for (uint32_t i = 0; i < x->members; i++) {
    mail.out[i] = &mine;
    mail.in[i] = &theirs[i];
    mail.out_bytes[i] = mail.in_bytes[i] = sizeof mine;
  }
  tsr_status passed = tsr_mesh_exchange(&x->group->mesh, &mail, status ? NULL : error);
  const bool is_forgiven = x->forgives && passed == TSR_OK && lack_memory(x, status, theirs);
  if (status && !is_forgiven) give_up(x, &mine);
  if (status) return status; /* this process reports its own failure */
  if (passed) return passed;
  for (uint32_t i = 0; i < x->members; i++) {
    if (i == x->first || !theirs[i].status) continue;
    tsr_error why;
    theirs[i].message[sizeof theirs[i].message - 1] = '\0';
    passed = tsr_fail(&why, theirs[i].status, "rank %u: %.900s", i, theirs[i].message);
    if (!is_forgiven) passed = tsr_mesh_break(&x->group->mesh, &why);
    if (error) *error = why;
    return passed;
  }
  return TSR_OK;
}

/* A row goes with the status of its process behind it. Where one has failed, all know, and learn why. */
static tsr_status gather(tsr_transport *x, uint64_t *rows, uint32_t words, tsr_status status, tsr_error *error) {
  const size_t row = words + 1;
  tsr_mail mail = {.out = {NULL}};
  if (x->group->mesh.is_broken && status) return status;
  uint64_t *all = calloc(x->members * row, sizeof *all), *mine = all + x->first * row;
  if (!all) {
    tsr_error why;
    tsr_fail(&why, TSR_NO_MEMORY, "no memory for numbers of %u ranks", x->members);
    if (error) *error = why;
    return tsr_mesh_break(&x->group->mesh, &why);
  }
  if (status == TSR_OK) memcpy(mine, rows + (size_t)x->first * words, words * sizeof *rows);
  mine[words] = (uint64_t)status;
  for (uint32_t i = 0; i < x->members; i++) {
    mail.out[i] = mine;
    mail.in[i] = all + i * row;
    mail.out_bytes[i] = mail.in_bytes[i] = row * sizeof *all;
  }
  const tsr_status passed = tsr_mesh_exchange(&x->group->mesh, &mail, status ? NULL : error);
  bool has_failed = status != TSR_OK;
  for (uint32_t i = 0; passed == TSR_OK && i < x->members; i++) {
    has_failed = has_failed || (i != x->first && all[i * row + words]);
    if (i != x->first && status == TSR_OK) memcpy(rows + (size_t)i * words, all + i * row, words * sizeof *rows);
  }
  free(all);
  if (passed) return status ? status : passed;
  return has_failed ? agree(x, status, error) : TSR_OK;
}

/* Waits until a wire is ready, while all processes are there. A failure, also an earlier one, ends the group at once,
 * because the others wait for what this process does not send. */
static tsr_status finish_wire(tsr_group *g, tsr_error before, tsr_error *error) {
  const tsr_wires *wires = g->device->backend->wires;
  const double since = tsr_mesh_now_s();
  tsr_error why = before;
  bool is_done = false;
  tsr_status status = before.status;
  while (status == TSR_OK && !is_done) {
    status = wires->is_done(g->wire, &is_done, &why);
    if (status == TSR_OK && !is_done) status = tsr_mesh_watch(&g->mesh, since, &why);
  }
  if (status == TSR_OK) return TSR_OK;
  wires->close(g->wire);
  g->wire = NULL;
  status = tsr_mesh_break(&g->mesh, &why);
  if (error) *error = g->mesh.why;
  return status;
}

/* What a column of this process sends and gets. */
static tsr_mail mail_of(const tsr_transport *x, const tsr_parcels *p) {
  tsr_mail mail = {.out = {NULL}};
  uint64_t before = 0, arrived = 0;
  const uint32_t me = x->first, n = x->members;
  for (uint32_t i = 0; i < n; i++) {
    const uint64_t out = p->sizes[me * n + i] * p->item_bytes, in = p->sizes[i * n + me] * p->item_bytes;
    mail.out[i] = (const char *)p->from[0] + before;
    mail.in[i] = (char *)p->to[0] + arrived;
    mail.out_bytes[i] = out;
    mail.in_bytes[i] = in;
    before += out;
    arrived += in;
  }
  mail.out_bytes[me] = mail.in_bytes[me] = 0;
  return mail;
}

/* Copies from device to device, or by sockets if the memory is the host's. */
static tsr_status exchange(tsr_transport *x, const tsr_parcels *parcels, uint32_t columns, tsr_error *error) {
  tsr_group *g = x->group;
  const tsr_wires *wires = x->devices[0]->backend->wires;
  tsr_mail mails[TSR_PARCELS_MAX];
  tsr_status status = TSR_OK;
  for (uint32_t c = 0; c < columns; c++) mails[c] = mail_of(x, &parcels[c]);
  for (uint32_t c = 0; status == TSR_OK && (!wires || x->members == 1) && c < columns; c++)
    status = tsr_mesh_exchange(&g->mesh, &mails[c], error);
  if (!wires || x->members == 1 || !columns) return status;
  if (!g->wire) return tsr_mesh_watch(&g->mesh, 0, error); /* it was lost, and why is known */
  tsr_error why = {TSR_OK, ""};
  why.status = wires->exchange(g->wire, mails, columns, parcels->streams[0], &why);
  return finish_wire(g, why, error);
}

/* ---- Groups ---------------------------------------------------------------------------------- */

enum { LIMIT_S = 60 };

static tsr_status read_options(const char *call, uint32_t rank, uint32_t size, const tsr_group_options *options,
                               tsr_group_options *known, tsr_error *error) {
  const tsr_status status = tsr_take_over(call, known, options, sizeof *known, error);
  if (status) return status;
  if (size == 0 || size > TSR_DEVICES_MAX || rank >= size)
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "%s: rank = %u, size = %u: ranks count from 0 to before size, which is at most %d", call, rank,
                    size, TSR_DEVICES_MAX);
  if (!(known->limit_s >= 0) || !(known->late_s >= 0))
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "%s: limit_s = %g, late_s = %g: each must be a time, or 0 for the default of %d s or of 10 times "
                    "limit_s",
                    call, known->limit_s, known->late_s, LIMIT_S);
  if (known->limit_s == 0) known->limit_s = LIMIT_S;
  return TSR_OK;
}

tsr_status tsr_group_create(uint32_t rank, uint32_t size, const char *id, const tsr_group_options *options,
                            tsr_group **group, tsr_error *error) {
  tsr_group_options known;
  if (!id || !group) return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_group_create needs an id and a place for the group");
  tsr_status status = read_options("tsr_group_create", rank, size, options, &known, error);
  if (status) return status;
  tsr_group *made = calloc(1, sizeof *made);
  if (!made) return tsr_fail(error, TSR_NO_MEMORY, "no memory for a group");
  status = tsr_mesh_open(&made->mesh, rank, size, id, known.limit_s, known.late_s, error);
  if (status)
    tsr_group_destroy(made);
  else
    *group = made;
  return status;
}

static void close_communicator(const tsr_communicator *c) {
  if (c->close) c->close(c->context);
}

tsr_status tsr_group_create_over(const tsr_communicator *communicator, const tsr_group_options *options,
                                 tsr_group **group, tsr_error *error) {
  enum { LATER = 10 };
  tsr_group_options known;
  tsr_communicator over;
  if (!communicator || !group)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_group_create_over needs a communicator and a place for the group");
  tsr_status status = tsr_take_over("tsr_group_create_over", &over, communicator, sizeof over, error);
  if (status) return status;
  if (!over.exchange)
    status = tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_group_create_over: the communicator has no exchange");
  if (status == TSR_OK) status = read_options("tsr_group_create_over", over.rank, over.ranks, options, &known, error);
  tsr_group *made = status ? NULL : calloc(1, sizeof *made);
  if (status == TSR_OK && !made) status = tsr_fail(error, TSR_NO_MEMORY, "no memory for a group");
  if (status) {
    close_communicator(&over);
    return status;
  }
  made->over = (tsr_over){over, known.late_s > 0 ? known.late_s : LATER * known.limit_s, 0};
  made->mesh = (tsr_mesh){.rank = over.rank,
                          .size = over.ranks,
                          .limit_s = known.limit_s,
                          .late_s = made->over.late_s,
                          .over = &made->over};
  *group = made;
  return TSR_OK;
}

tsr_status tsr_group_create_by(const char *transport, const void *handle, const tsr_group_options *options,
                               tsr_group **group, tsr_error *error) {
  tsr_communicator over;
  if (!transport || !group)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_group_create_by needs a transport and a place for the group");
  const tsr_status status = tsr_over_load(transport, handle, &over, error);
  return status ? status : tsr_group_create_over(&over, options, group, error);
}

tsr_status tsr_group_describe(const tsr_group *group, uint32_t *rank, uint32_t *size, tsr_error *error) {
  if (!group || !rank || !size)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_group_describe needs a group and places for rank and size");
  *rank = group->mesh.rank;
  *size = group->mesh.size;
  return TSR_OK;
}

tsr_status tsr_group_add_up(tsr_group *group, uint32_t count, uint64_t *numbers, tsr_error *error) {
  enum { MOST = 64 };
  uint64_t rows[TSR_DEVICES_MAX * MOST];
  if (!group || !numbers || count > MOST)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_group_add_up needs a group and at most %d numbers", MOST);
  tsr_transport all = {.members = group->mesh.size, .first = group->mesh.rank, .here = 1, .group = group};
  memcpy(rows + (size_t)all.first * count, numbers, count * sizeof *numbers);
  const tsr_status status = gather(&all, rows, count, TSR_OK, error);
  for (uint32_t i = 0; status == TSR_OK && i < all.members; i++)
    for (uint32_t j = 0; i != all.first && j < count; j++) numbers[j] += rows[(size_t)i * count + j];
  return status;
}

void tsr_group_destroy(tsr_group *group) {
  const tsr_error left = {TSR_IO, "has left the group"};
  if (!group) return;
  if (group->wire) group->device->backend->wires->close(group->wire);
  if (group->device) group->device->backend->close(group->device);
  if (group->mesh.over && !group->mesh.is_broken) tsr_over_say_why(&group->over, &left);
  tsr_mesh_close(&group->mesh);
  close_communicator(&group->over.communicator);
  free(group);
}

uint32_t tsr_group_rank(const tsr_group *group) { return group->mesh.rank; }

uint32_t tsr_group_size(const tsr_group *group) { return group->mesh.size; }

tsr_status tsr_group_make(tsr_group *group, const tsr_spec *spec, const tsr_options *options, tsr_shard_maker *make,
                          const void *from, tsr_table **table, tsr_error *error) {
  tsr_settings settings;
  tsr_options of_shard = *options;
  tsr_status status = tsr_settings_read(spec, options, &settings, error);
  if (status == TSR_OK) {
    tsr_compatible_refuse_calls(&settings.traits);
    status = tsr_compatible_call(&settings.traits, TSR_HAS_CALL_GROUP, "tsr_group_table_create", error);
  }
  if (status) return status;
  of_shard.capacity = tsr_shard_capacity(&settings, group->mesh.size);
  status = tsr_table_open(spec, &of_shard, table, error);
  if (status) return status;
  tsr_shards *shards = calloc(1, sizeof *shards);
  if (!shards) return tsr_fail(error, TSR_NO_MEMORY, "no memory for a table of a group");
  shards->transport = (tsr_transport){.members = group->mesh.size,
                                      .first = group->mesh.rank,
                                      .here = 1,
                                      .group = group,
                                      .limit_s = group->mesh.limit_s,
                                      .gather = gather,
                                      .exchange = exchange,
                                      .agree = agree,
                                      .give_up = give_up};
  (*table)->methods = &tsr_methods_shards;
  (*table)->shards = shards;
  (*table)->capacity = settings.capacity;
  return tsr_shards_furnish(*table, make, from, error);
}

/* All processes must ask for the same table, as far as their requests are to agree. */
static tsr_status compare(tsr_table *t, tsr_error *error) {
  enum { WORDS = 9 };
  uint64_t rows[TSR_DEVICES_MAX * WORDS] = {0};
  tsr_transport *x = &t->shards->transport;
  const tsr_shape *shape = &t->store.composition->shape;
  uint64_t *mine = rows + (size_t)x->first * WORDS;
  const uint64_t bins = tsr_save_checksum(0, t->shards->first_bin, sizeof t->shards->first_bin);
  const uint64_t words[WORDS] = {shape->kind,
                                 shape->key_bits,
                                 shape->value_bits,
                                 shape->duplicates,
                                 shape->seed,
                                 t->shards->chunk,
                                 t->backend->wires != NULL,
                                 bins,
                                 tsr_composition_value_bytes(t->store.composition)};
  memcpy(mine, words, sizeof words);
  tsr_status status = gather(x, rows, WORDS, TSR_OK, error);
  for (uint32_t i = 0; status == TSR_OK && i < x->members; i++)
    if (memcmp(rows + (size_t)i * WORDS, words, sizeof words) != 0)
      status =
          tsr_fail(error, TSR_BAD_ARGUMENT,
                   "tsr_group_table_create: rank %u has another kind, width, policy, seed, chunk or backend: give all "
                   "processes the same spec",
                   i);
  return agree(x, status, error);
}

/* The wire of a group, made with its first table; rank 0 gives out its name. */
static tsr_status connect_devices(tsr_group *g, tsr_table *t, tsr_error *error) {
  enum { WORDS = TSR_WIRE_NAME_BYTES / sizeof(uint64_t) };
  uint64_t rows[TSR_DEVICES_MAX * WORDS] = {0};
  tsr_transport *x = &t->shards->transport;
  const tsr_backend *backend = t->backend;
  const uint32_t number = tsr_shard_device(t, 0);
  tsr_status status = TSR_OK;
  if (!backend->wires || x->members == 1) return TSR_OK;
  const bool is_new = !g->wire;
  if (is_new) {
    status = g->device ? TSR_OK : backend->open((int)number, &g->device, error);
    if (status == TSR_OK && x->first == 0) status = backend->wires->name((uint8_t *)rows, error);
    g->number = number;
  } else if (g->number != number) {
    status = tsr_fail(error, TSR_UNSUPPORTED,
                      "tsr_group_table_create: [table] device = %u: the group's tables are on device %u: each process "
                      "has one",
                      number, g->number);
  }
  status = agree(x, status, error);
  if (status || !is_new) return status;
  status = gather(x, rows, WORDS, TSR_OK, error);
  if (status == TSR_OK)
    status = backend->wires->open(g->device, (const uint8_t *)rows, x->first, x->members, &g->wire, error);
  status = agree(x, status, error);
  return status ? status : finish_wire(g, (tsr_error){TSR_OK, ""}, error);
}

tsr_status tsr_group_complete(tsr_group *group, tsr_table *made, tsr_status status, tsr_table **table,
                              tsr_error *error) {
  tsr_transport all = {.members = group->mesh.size, .first = group->mesh.rank, .here = 1, .group = group};
  status = agree(&all, status, error);
  if (status == TSR_OK) status = compare(made, error);
  if (status == TSR_OK) status = connect_devices(group, made, error);
  if (status == TSR_OK && all.members > 1) {
    const bool copies = made->store.composition->settings.sharing.exchange == TSR_EXCHANGE_COPY;
    status = tsr_reach_meet(made->shards, !copies, error);
  }
  if (status)
    tsr_table_destroy(made);
  else
    *table = made;
  return status;
}

tsr_status tsr_group_table_create(tsr_group *group, const tsr_spec *spec, const tsr_options *options, tsr_table **table,
                                  tsr_error *error) {
  tsr_options known;
  tsr_table *made = NULL;
  if (!group || !spec || !table)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_group_table_create needs a group, a spec and a place for the table");
  tsr_status status = tsr_take_over("tsr_group_table_create", &known, options, sizeof known, error);
  if (status == TSR_OK) status = tsr_group_make(group, spec, &known, tsr_shard_create, NULL, &made, error);
  return tsr_group_complete(group, made, status, table, error);
}

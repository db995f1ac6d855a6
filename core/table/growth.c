/* SPDX-License-Identifier: Apache-2.0
 *
 * Inserting with growth = double. The keys are worked through in pieces: a piece is inserted; while pairs come back the
 * capacity is doubled and they are inserted again; then, if the table holds more than its capacity, it is doubled once
 * more. A piece is as large as the room that is left: a key that finds none may look at every bucket before it comes
 * back. Where keys repeat, the room hardly shrinks and may be small; so the least size of a piece doubles as long as
 * nothing comes back, up to what such a vain search may cost. Read next: settle.c.
 */
#include "core/table/growth.h"

#include "core/table/order.h"
#include "core/table/rebuild.h"
#include "core/table/store.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE_MIN = 4096, PIECE_MAX = 1 << 21, VAIN_LOOKS_MAX = 1 << 28 };

typedef struct growing {
  tsr_table *t;
  uint32_t op;
  const tsr_call *call;
  const char *keys, *values; /* the caller's */
  uint64_t n, done;
  uint64_t piece_min;
  bool may_grow;
} growing;

/* ---- A piece's arrays ------------------------------------------------------------------------ */

static void piece_free(tsr_piece *p) {
  void *on_device[] = {p->some_keys, p->some_values, p->back_keys, p->back_values, p->results};
  void *on_host[] = {p->host_keys, p->host_values, p->codes, p->own, p->unplaced};
  for (uint32_t i = 0; i < 5; i++) {
    if (on_device[i]) p->table->backend->free(p->table->device, on_device[i]);
    free(on_host[i]);
  }
}

/* All that the piece can need is there before its first launch: later, a pair could get lost for want of memory. */
static tsr_status piece_allocate(tsr_piece *p, tsr_error *error) {
  void **on_device[] = {&p->some_keys, &p->back_keys, &p->some_values, &p->back_values};
  void *results;
  tsr_status status = p->table->backend->allocate(p->table->device, p->n, &results, error);
  if (status) return status;
  p->results = results;
  for (uint32_t i = 0; status == TSR_OK && i < (p->value_bytes ? 4 : 2); i++)
    status = p->table->backend->allocate(p->table->device, p->n * (i < 2 ? p->key_bytes : p->value_bytes), on_device[i],
                                         error);
  if (status) return status;
  p->host_keys = malloc(p->n * 8);
  p->host_values = malloc(p->n * 8);
  p->codes = malloc(p->n);
  p->own = malloc(p->n);
  p->unplaced = malloc(p->n * sizeof *p->unplaced);
  if (p->host_keys && p->host_values && p->codes && p->own && p->unplaced) return TSR_OK;
  return tsr_fail(error, TSR_NO_MEMORY, "no memory to insert %llu keys with growth = double", (unsigned long long)p->n);
}

uint64_t tsr_piece_item(const void *items, uint64_t bytes, uint64_t i) {
  uint64_t item = 0;
  memcpy(&item, (const char *)items + i * bytes, bytes); /* little-endian, like every host of a GPU */
  return item;
}

tsr_status tsr_piece_fetch(tsr_piece *p, uint64_t n, const void *keys, const void *values, tsr_error *error) {
  const tsr_backend *b = p->table->backend;
  tsr_status status = b->copy(p->table->device, p->host_keys, keys, n * p->key_bytes, p->stream, error);
  if (status == TSR_OK && values)
    status = b->copy(p->table->device, p->host_values, values, n * p->value_bytes, p->stream, error);
  return status ? status : b->synchronize(p->table->device, p->stream, error);
}

tsr_status tsr_piece_run(tsr_piece *p, uint32_t op, uint64_t count, tsr_tally *tally, tsr_error *error) {
  tsr_device *device = p->table->device;
  const tsr_backend *b = p->table->backend;
  for (uint64_t i = 0; i < count; i++) {
    memcpy((char *)p->host_keys + i * p->key_bytes, &p->unplaced[i].key, p->key_bytes);
    memcpy((char *)p->host_values + i * p->value_bytes, &p->unplaced[i].value, p->value_bytes);
  }
  tsr_status status = b->copy(device, p->some_keys, p->host_keys, count * p->key_bytes, p->stream, error);
  if (status == TSR_OK && p->value_bytes)
    status = b->copy(device, p->some_values, p->host_values, count * p->value_bytes, p->stream, error);
  tsr_bulk bulk = {.n = count,
                   .keys = p->some_keys,
                   .values = p->some_values,
                   .values_out = op == TSR_BULK_find ? p->back_values : NULL,
                   .unplaced_keys = p->back_keys,
                   .unplaced_values = p->back_values,
                   .results = p->results};
  if (status == TSR_OK) status = tsr_store_run(p->table, &p->table->store, op, &bulk, p->stream, tally, error);
  if (status == TSR_OK) status = b->copy(device, p->codes, p->results, count, p->stream, error);
  return status ? status : b->synchronize(device, p->stream, error);
}

/* ---- Inserting a piece ----------------------------------------------------------------------- */

static tsr_status insert_piece(tsr_piece *p, tsr_tally *tally, tsr_error *error) {
  tsr_bulk bulk = {.n = p->n,
                   .keys = p->keys,
                   .values = p->values,
                   .unplaced_keys = p->back_keys,
                   .unplaced_values = p->back_values,
                   .results = p->results};
  tsr_status status = tsr_store_run(p->table, &p->table->store, p->op, &bulk, p->stream, tally, error);
  if (status == TSR_OK)
    status = p->table->backend->copy(p->table->device, p->codes, p->results, p->n, p->stream, error);
  if (status == TSR_OK) status = tsr_piece_fetch(p, p->n, p->back_keys, p->back_values, error);
  if (status) return status;
  for (uint64_t i = 0; i < p->n; i++) {
    p->own[i] = p->codes[i] == TSR_NOT_PLACED ? TSR_INSERTED : p->codes[i];
    if (p->codes[i] != TSR_NOT_PLACED) continue;
    p->unplaced[p->unplaced_count++] =
        (tsr_unplaced){.key = tsr_piece_item(p->host_keys, p->key_bytes, i),
                       .value = p->value_bytes ? tsr_piece_item(p->host_values, p->value_bytes, i) : 0,
                       .index = i};
  }
  return TSR_OK;
}

/* Inserts the unplaced pairs; keeps those that came back. Where nothing moves a pair is its own input's, and what
 * happens to it now is that input's result; otherwise settling has said it. */
static tsr_status insert_again(tsr_piece *p, bool settled, tsr_tally *sum, tsr_error *error) {
  uint64_t kept = 0;
  tsr_tally tally;
  tsr_status status = tsr_piece_run(p, p->op, p->unplaced_count, &tally, error);
  if (status == TSR_OK) status = tsr_piece_fetch(p, p->unplaced_count, p->back_keys, p->back_values, error);
  if (status) return status;
  tsr_tally_add(sum, &tally);
  for (uint64_t i = 0; i < p->unplaced_count; i++) {
    uint64_t index = p->unplaced[i].index;
    if (p->codes[i] != TSR_NOT_PLACED) {
      if (!settled) p->own[index] = p->codes[i];
      continue;
    }
    p->unplaced[kept++] =
        (tsr_unplaced){.key = tsr_piece_item(p->host_keys, p->key_bytes, i),
                       .value = p->value_bytes ? tsr_piece_item(p->host_values, p->value_bytes, i) : 0,
                       .index = index};
  }
  p->unplaced_count = kept;
  return TSR_OK;
}

/* Doubles the capacity. *grown = false, and the table as it was, where it cannot. */
static tsr_status grow(growing *g, bool *grown, tsr_error *error) {
  const tsr_composition *composition = g->t->store.composition;
  uint64_t limit = composition->settings.growth_limit, capacity = composition->shape.capacity;
  tsr_error why = {TSR_OK, ""};
  *grown = false;
  if (!limit || limit > TSR_CAPACITY_MAX) limit = TSR_CAPACITY_MAX;
  tsr_status status = TSR_UNSUPPORTED;
  while (g->may_grow && status == TSR_UNSUPPORTED && capacity < limit) { /* not placed there: the next size */
    capacity = capacity > limit / 2 ? limit : 2 * capacity;
    status = tsr_rebuild(g->t, g->t->spec, capacity, composition->shape.seed, g->call->stream, &why);
    composition = g->t->store.composition;
  }
  *grown = g->may_grow && status == TSR_OK;
  g->may_grow = *grown;
  if (status == TSR_OK || status == TSR_NO_MEMORY || status == TSR_UNSUPPORTED || status == TSR_INCOMPATIBLE)
    return TSR_OK; /* incompatible: more than a part can count */
  if (error) *error = why;
  return status;
}

/* The keys whose bits mark empty and erased slots have a bucket each, of the same size in every table: what a multimap
 * has too many of stays unplaced. */
static bool growing_helps(const tsr_piece *p) {
  const uint64_t reserved = (p->key_bytes == 8 ? UINT64_MAX : UINT32_MAX) - (TSR_TAIL_RESERVED - 1);
  for (uint64_t i = 0; i < p->unplaced_count; i++)
    if (p->unplaced[i].key < reserved) return true;
  return false;
}

static tsr_status place_unplaced(growing *g, tsr_piece *p, tsr_tally *tally, tsr_error *error) {
  const bool moves = g->t->store.composition->shape.moves_pairs;
  bool settles = moves && p->policy < TSR_DUPLICATES_PROMISE_UNIQUE, grown = true;
  tsr_status status = TSR_OK;
  while (status == TSR_OK && growing_helps(p)) {
    status = grow(g, &grown, error);
    if (status || !grown) break;
    if (settles) status = tsr_piece_settle(p, error);
    settles = false;
    if (status == TSR_OK && p->unplaced_count) status = insert_again(p, moves, tally, error);
  }
  return status;
}

/* ---- What the caller learns ------------------------------------------------------------------ */

/* Writes which inputs hand back a pair, into codes, and all others' results. A pair whose index was settled otherwise
 * takes another input that claims a place: there are as many as the table has failed to grow by. */
static void assign_results(tsr_piece *p) {
  memcpy(p->codes, p->own, p->n);
  for (uint64_t i = 0; i < p->unplaced_count; i++)
    if (p->own[p->unplaced[i].index] == TSR_INSERTED) p->codes[p->unplaced[i].index] = TSR_NOT_PLACED;
  uint64_t free_index = 0;
  for (uint64_t i = 0; i < p->unplaced_count; i++) {
    if (p->own[p->unplaced[i].index] == TSR_INSERTED) continue;
    while (free_index < p->n && p->codes[free_index] != TSR_INSERTED) free_index++;
    if (free_index < p->n) p->unplaced[i].index = free_index;
    p->codes[p->unplaced[i].index] = TSR_NOT_PLACED;
  }
}

/* One of the caller's arrays of unplaced items: read, changed where a pair is handed back, written. */
static tsr_status write_unplaced(tsr_piece *p, char *users, uint64_t bytes, bool wants_keys, tsr_error *error) {
  const tsr_backend *b = p->table->backend;
  tsr_device *device = p->table->device;
  if (!users || !bytes || !p->unplaced_count) return TSR_OK;
  tsr_status status = b->copy(device, p->host_keys, users, p->n * bytes, p->stream, error);
  if (status == TSR_OK) status = b->synchronize(device, p->stream, error);
  if (status) return status;
  for (uint64_t i = 0; i < p->unplaced_count; i++)
    memcpy((char *)p->host_keys + p->unplaced[i].index * bytes,
           wants_keys ? &p->unplaced[i].key : &p->unplaced[i].value, bytes);
  status = b->copy(device, users, p->host_keys, p->n * bytes, p->stream, error);
  return status ? status : b->synchronize(device, p->stream, error);
}

static tsr_status tell(const growing *g, tsr_piece *p, tsr_error *error) {
  const tsr_call *call = g->call;
  tsr_status status = TSR_OK;
  if (call->results) {
    status = p->table->backend->copy(p->table->device, call->results + g->done, p->codes, p->n, p->stream, error);
    if (status == TSR_OK) status = p->table->backend->synchronize(p->table->device, p->stream, error);
  }
  if (status == TSR_OK && call->unplaced_keys)
    status = write_unplaced(p, (char *)call->unplaced_keys + g->done * p->key_bytes, p->key_bytes, true, error);
  if (status == TSR_OK && call->unplaced_values)
    status = write_unplaced(p, (char *)call->unplaced_values + g->done * p->value_bytes, p->value_bytes, false, error);
  return status;
}

/* ---- Piece by piece -------------------------------------------------------------------------- */

/* The whole way of a piece whose arrays are there. Whatever fails, its pairs are accounted for and told of. */
static tsr_status work_piece(growing *g, tsr_piece *p, tsr_error *error) {
  tsr_tally tally = {.hits = 0};
  tsr_status status = insert_piece(p, &tally, error);
  if (status) return status; /* the device failed */
  g->piece_min = p->unplaced_count ? PIECE_MIN : g->piece_min < PIECE_MAX ? 2 * g->piece_min : PIECE_MAX;
  status = place_unplaced(g, p, &tally, error);
  assign_results(p);
  tally.hits = tally.not_placed = 0;
  for (uint64_t i = 0; i < p->n; i++) {
    tally.hits += p->codes[i] == TSR_INSERTED;
    tally.not_placed += p->codes[i] == TSR_NOT_PLACED;
  }
  tsr_tally_add(&g->t->counted, &tally);
  g->t->insert_keys += p->n;
  g->t->pairs += tally.hits;
  tsr_status told = tell(g, p, status ? NULL : error);
  bool grown = true;
  while (status == TSR_OK && grown && g->t->pairs > g->t->store.composition->shape.capacity)
    status = grow(g, &grown, error);
  return status ? status : told;
}

static uint64_t piece_size(const growing *g) {
  const tsr_shape *shape = &g->t->store.composition->shape;
  uint64_t least = VAIN_LOOKS_MAX / shape->buckets;
  if (least > g->piece_min) least = g->piece_min;
  if (least < PIECE_MIN) least = PIECE_MIN;
  uint64_t n = shape->capacity > g->t->pairs ? shape->capacity - g->t->pairs : 0;
  if (n < least) n = least;
  if (n > PIECE_MAX) n = PIECE_MAX;
  return n < g->n - g->done ? n : g->n - g->done;
}

static tsr_status next_piece(growing *g, tsr_error *error) {
  const tsr_shape *shape = &g->t->store.composition->shape;
  uint64_t n = piece_size(g);
  tsr_piece p = {.table = g->t,
                 .stream = g->call->stream,
                 .op = g->op,
                 .policy = g->op == TSR_BULK_find_or_insert ? TSR_DUPLICATES_FIRST : shape->duplicates,
                 .n = n,
                 .key_bytes = shape->key_bits / 8,
                 .value_bytes = shape->value_bits / 8};
  tsr_array keys = {.users = (void *)(uintptr_t)(g->keys + g->done * p.key_bytes), .bytes = n * p.key_bytes};
  tsr_array values = {.users = p.value_bytes ? (void *)(uintptr_t)(g->values + g->done * p.value_bytes) : NULL,
                      .bytes = n * p.value_bytes};
  p.present = g->op == TSR_BULK_find_or_insert     ? TSR_FOUND
              : p.policy == TSR_DUPLICATES_FIRST   ? TSR_PRESENT
              : p.policy == TSR_DUPLICATES_REPLACE ? TSR_REPLACED
                                                   : TSR_COMBINED;
  tsr_status status = piece_allocate(&p, error);
  if (status == TSR_OK) status = tsr_stage_in(g->t, &keys, p.stream, error);
  if (status == TSR_OK) status = tsr_stage_in(g->t, &values, p.stream, error);
  p.keys = keys.devices;
  p.values = values.devices;
  if (status == TSR_OK) status = work_piece(g, &p, error);
  tsr_status freed = tsr_stage_out(g->t, &keys, p.stream, true, status ? NULL : error);
  if (status == TSR_OK) status = freed;
  freed = tsr_stage_out(g->t, &values, p.stream, true, status ? NULL : error);
  if (status) { /* a copy may be under way to or from the piece's arrays, or the caller's */
    tsr_status waited = g->t->backend->synchronize(g->t->device, p.stream, NULL);
    (void)waited; /* the first failure is what the caller hears of */
  }
  piece_free(&p);
  if (status == TSR_OK) g->done += n;
  return status ? status : freed;
}

/* How many pairs there are: known from the last time, and from what was erased since. */
static tsr_status count_pairs(tsr_table *t, void *stream, tsr_error *error) {
  tsr_tally tallies[TSR_BULKS], counted;
  tsr_bulk bulk = {.n = tsr_composition_refs(t->store.composition)};
  tsr_status status = t->backend->copy(t->device, tallies, t->tallies, sizeof tallies, stream, error);
  if (status == TSR_OK) status = t->backend->synchronize(t->device, stream, error);
  if (status == TSR_OK && !t->knows_pairs)
    status = tsr_store_run(t, &t->store, TSR_BULK_size, &bulk, stream, &counted, error);
  if (status) return status;
  const uint64_t erased = tallies[TSR_BULK_erase].hits + tallies[TSR_BULK_erase_pair].hits;
  t->pairs = t->knows_pairs ? t->pairs - (erased - t->erased_then) : counted.hits;
  t->erased_then = erased;
  t->knows_pairs = true;
  return TSR_OK;
}

tsr_status tsr_insert_growing(tsr_table *t, uint32_t op, uint64_t n, const void *keys, const void *values,
                              const tsr_call *call, tsr_error *error) {
  growing g = {
      .t = t, .op = op, .call = call, .keys = keys, .values = values, .n = n, .piece_min = PIECE_MIN, .may_grow = true};
  tsr_array results = {.users = call->results, .bytes = n, .use = TSR_ARRAY_WRITTEN};
  if (n == 0) return TSR_OK;
  tsr_status status = tsr_table_enter(t, TSR_PHASE_ALONE, call->stream, error);
  if (status) return status;
  status = tsr_stage_in(t, &results, call->stream, error);
  if (status == TSR_OK && results.devices)
    status = t->backend->fill(t->device, results.devices, 0, n, call->stream, error);
  tsr_status freed = tsr_stage_out(t, &results, call->stream, status != TSR_OK, status ? NULL : error);
  if (status == TSR_OK) status = freed;
  if (status == TSR_OK) status = count_pairs(t, call->stream, error);
  while (status == TSR_OK && g.done < n) status = next_piece(&g, error);
  tsr_status left = tsr_table_leave(t, call->stream, status ? NULL : error);
  if (status == TSR_OK) status = left;
  if (status) t->knows_pairs = false;
  return status;
}

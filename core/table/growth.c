/* SPDX-License-Identifier: Apache-2.0
 *
 * Inserting with growth = double: the keys are worked through in pieces, in their order.
 *
 * Size. A piece is so short that its new keys cannot take the table beyond its capacity, since walks get long, and
 * where they have no bound very long, once a table is fuller than it was made for. As many keys as there is room for
 * are such a piece, and, but for a little (slack_of), so are all whose different keys have room, as a sketch counts them
 * (sketch.h). Else, where keys may repeat, more of them than there is room for are looked up, and the piece ends before
 * the first new key that has no room; if that is its first one, the table grows.
 *
 * How far. The capacity is doubled, at once as often as the keys to come need at the least: each doubling by itself would
 * be a rebuild. That is their number where they all make pairs; else as many as the sketch says that differ at the least,
 * so that the table ends as large as if it had been doubled whenever it was full. For a pair that no size helps it ends
 * before memory does.
 *
 * Pairs that come back. A scheme may hand back pairs below the capacity too. Where pairs stay where they are, such a
 * pair is its own input's, and is inserted again after the capacity was doubled. Where a scheme moves pairs, it may be
 * one that was in the table before, and a later input of the same launch may have inserted its key as if it were new.
 * So a piece of such a table begins with a find, and the keys that come back are undone: the rebuild leaves their pairs
 * out and adds what they had before the piece, and their inputs are inserted again.
 *
 * Keys that repeat. Where nobody asks for answers a large batch is first made a list in which what neighbouring items offer
 * for a key is one item (../batch/group.h). That list is inserted: its pieces are complete pairs, which may come back like others.
 */
#include "core/table/growth.h"

#include <stdlib.h>
#include <string.h>

#include "core/batch/group.h"
#include "core/batch/plan.h"
#include "core/batch/sketch.h"
#include "core/table/launch.h"
#include "core/table/order.h"
#include "core/table/rebuild.h"
#include "core/table/stage.h"
#include "core/table/store.h"

enum { LOOK_MIN = 4096, PIECE_MAX = 1 << 22, LIST_MAX = 1 << 23 };

/* A pair to insert, or that came back, and the input of the piece whose result it decides. */
typedef struct item {
  uint64_t key, value, index;
} item;

/* A key that came back, and what the table held of it before the piece. */
typedef struct undone {
  uint64_t key, value;
  bool was_there;
} undone;

typedef struct growing {
  tsr_table *t;
  uint32_t op;
  const tsr_call *call;
  const char *keys, *values; /* the caller's */
  const uint32_t *counts;    /* of how many items each was made; NULL: of one */
  uint64_t n, done;
  uint64_t key_bytes, value_bytes;
  bool looks;    /* a key that is present is not inserted */
  bool undoes;   /* and a launch may hand back pairs that are not its inputs' */
  uint64_t look; /* how many keys are looked up to find the end of a piece */
  uint64_t fits; /* the keys up to this one are known to have room */
  bool may_grow;
  void *block; /* device memory of a piece's items: */
  void *back_keys, *back_values, *again_keys, *again_values, *old_values, *results, *olds;
  void *host_block; /* host memory of as many: */
  void *host_keys, *host_values, *host_old_values;
  uint8_t *codes;   /* what the caller learns */
  uint8_t *answers; /* of one launch */
  uint8_t *were;    /* of the find before it */
  item *now, *back, *next;
  undone *undone;
  uint64_t back_count, next_count;
} growing;

/* ---- Arrays ---------------------------------------------------------------------------------- */

enum { ALIGNED = 256 };

static tsr_status free_arrays(growing *g, tsr_error *error) {
  free(g->host_block);
  return g->block ? g->t->backend->free_in(g->t->device, g->block, g->call->stream, error) : TSR_OK;
}

/* A row for each array: its name, and the bytes of an item. */
#define ARRAYS_ON_DEVICE(ARRAY)                                                                                        \
  ARRAY(results, 1)                                                                                                    \
  ARRAY(back_keys, g->key_bytes)                                                                                       \
  ARRAY(again_keys, g->key_bytes)                                                                                      \
  ARRAY(back_values, g->value_bytes)                                                                                   \
  ARRAY(again_values, g->value_bytes)                                                                                  \
  ARRAY(olds, g->undoes)                                                                                               \
  ARRAY(old_values, g->undoes ? g->value_bytes : 0)
#define ARRAYS_ON_HOST(ARRAY)                                                                                          \
  ARRAY(now, sizeof *g->now)                                                                                           \
  ARRAY(back, sizeof *g->back)                                                                                         \
  ARRAY(next, sizeof *g->next)                                                                                         \
  ARRAY(undone, sizeof *g->undone)                                                                                     \
  ARRAY(host_keys, sizeof(uint64_t))                                                                                   \
  ARRAY(host_values, sizeof(uint64_t))                                                                                 \
  ARRAY(host_old_values, sizeof(uint64_t))                                                                             \
  ARRAY(codes, 1)                                                                                                      \
  ARRAY(answers, 1)                                                                                                    \
  ARRAY(were, 1)

/* The bytes of all arrays of n items, which begin at `block`. NULL: of none yet. */
static uint64_t lay_out_on_device(growing *g, uint64_t n, char *block) {
  uint64_t end = 0;
#define LAY_OUT(array, bytes)                                                                                          \
  if (block && (bytes)) g->array = (void *)(block + end);                                                              \
  end += (n * (bytes) + ALIGNED - 1) / ALIGNED * ALIGNED;
  ARRAYS_ON_DEVICE(LAY_OUT)
  return end;
}

static uint64_t lay_out_on_host(growing *g, uint64_t n, char *block) {
  uint64_t end = 0;
  ARRAYS_ON_HOST(LAY_OUT)
  return end;
#undef LAY_OUT
}

/* All that a piece can need is there before the first launch: later, a pair could get lost for want of memory. One block
 * for all, on the device from what it keeps for such: an allocation of its own costs as much as some hundred thousand
 * inserts of a GPU, and on the host, where hardly any array is touched, as some ten thousand. */
static tsr_status allocate_arrays(growing *g, tsr_error *error) {
  const uint64_t n = g->n < PIECE_MAX ? g->n : PIECE_MAX;
  tsr_status status =
      g->t->backend->allocate_in(g->t->device, lay_out_on_device(g, n, NULL), g->call->stream, &g->block, error);
  if (status) return status;
  lay_out_on_device(g, n, g->block);
  g->host_block = malloc(lay_out_on_host(g, n, NULL));
  if (!g->host_block)
    return tsr_fail(error, TSR_NO_MEMORY, "no memory to insert %llu keys with growth = double", (unsigned long long)n);
  lay_out_on_host(g, n, g->host_block);
  return TSR_OK;
}

static uint64_t number_at(const void *numbers, uint64_t bytes, uint64_t i) {
  uint64_t number = 0;
  memcpy(&number, (const char *)numbers + i * bytes, bytes); /* little-endian, like every host of a GPU */
  return number;
}

static tsr_status copy(const growing *g, void *to, const void *from, uint64_t bytes, tsr_error *error) {
  return bytes ? g->t->backend->copy(g->t->device, to, from, bytes, g->call->stream, error) : TSR_OK;
}

static tsr_status wait(const growing *g, tsr_error *error) {
  return g->t->backend->synchronize(g->t->device, g->call->stream, error);
}

/* Copies keys and values from the device to host_keys and host_values. */
static tsr_status fetch(growing *g, uint64_t n, const void *keys, const void *values, tsr_error *error) {
  tsr_status status = copy(g, g->host_keys, keys, n * g->key_bytes, error);
  if (status == TSR_OK && values) status = copy(g, g->host_values, values, n * g->value_bytes, error);
  return status ? status : wait(g, error);
}

/* And the other way. */
static tsr_status send(growing *g, uint64_t n, void *keys, void *values, tsr_error *error) {
  tsr_status status = copy(g, keys, g->host_keys, n * g->key_bytes, error);
  if (status == TSR_OK && values) status = copy(g, values, g->host_values, n * g->value_bytes, error);
  return status ? status : wait(g, error);
}

static void put(growing *g, uint64_t i, uint64_t key, uint64_t value) {
  memcpy((char *)g->host_keys + i * g->key_bytes, &key, g->key_bytes);
  memcpy((char *)g->host_values + i * g->value_bytes, &value, g->value_bytes);
}

/* ---- Growing --------------------------------------------------------------------------------- */

static uint64_t limit_of(const tsr_table *t) {
  const uint64_t limit = t->store.composition->settings.growth_limit;
  return !limit || limit > TSR_CAPACITY_MAX ? TSR_CAPACITY_MAX : limit;
}

/* A pair that finds no place where so many times what the table holds and what is to come had room meets others in tables
 * of every size: one key has too many pairs, or the hasher does not spread the keys. Who has set a limit knows better. */
enum { SPARSE = 256, SPARSE_MIN = 1 << 20 };

static uint64_t limit_of_insert(const growing *g) {
  const uint64_t limit = limit_of(g->t), pairs = g->t->pairs + g->n - g->done;
  const uint64_t sparse = pairs > SPARSE_MIN / SPARSE ? pairs * SPARSE : SPARSE_MIN;
  return g->t->store.composition->settings.growth_limit || limit < sparse ? limit : sparse;
}

/* Whether a rebuild that ends so is one that did not happen, and no error: incompatible is more than a part can count. */
static bool is_too_large(tsr_status status) {
  return status == TSR_NO_MEMORY || status == TSR_UNSUPPORTED || status == TSR_INCOMPATIBLE;
}

/* Doubles the capacity, until `needed` pairs have room or memory ends; at least once. *grown = false, and the table as it
 * was, where it cannot. */
static tsr_status grow(growing *g, uint64_t needed, const tsr_change *change, bool *grown, tsr_error *error) {
  const tsr_composition *composition = g->t->store.composition;
  const uint64_t limit = limit_of_insert(g), former = composition->shape.capacity;
  uint64_t capacity = former;
  tsr_error why = {TSR_OK, ""};
  tsr_status status = TSR_UNSUPPORTED;
  while (g->may_grow && status == TSR_UNSUPPORTED && capacity < limit) { /* not placed there: the next size */
    do capacity = capacity > limit / 2 ? limit : 2 * capacity;
    while (capacity < needed && capacity < limit);
    status = tsr_rebuild(g->t, g->t->spec, capacity, composition->shape.seed, change, g->call->stream, &why);
    if (needed && (status == TSR_NO_MEMORY || status == TSR_INCOMPATIBLE)) { /* not at once: as far as it goes */
      capacity = former;
      needed = 0;
      status = TSR_UNSUPPORTED;
    }
  }
  *grown = g->may_grow && status == TSR_OK;
  g->may_grow = *grown;
  if (status == TSR_OK || is_too_large(status)) return TSR_OK;
  if (error) *error = why;
  return status;
}

/* How many of the next n keys are not in the table and differ. keys: in device memory; at most a piece of them where the
 * table has pairs. */
static tsr_status count_absent(growing *g, uint64_t n, const void *keys, tsr_different *absent, tsr_error *error) {
  const bool is_empty = g->t->pairs == 0;
  tsr_bulk bulk = {.n = n, .keys = keys, .results = g->results};
  tsr_tally tally;
  tsr_status status = TSR_OK;
  if (!is_empty)
    status = tsr_launch_alone(g->t, &g->t->store, TSR_BULK_contains, &bulk, g->call->stream, &tally, error);
  if (status) return status;
  return tsr_sketch(g->t, n, keys, is_empty ? NULL : g->results, g->call->stream, absent, error);
}

static uint64_t room_of(const growing *g) {
  const uint64_t capacity = g->t->store.composition->shape.capacity;
  return capacity > g->t->pairs ? capacity - g->t->pairs : 0;
}

/* By how many pairs a table may end beyond its capacity, because nobody counts them exactly: an eighth of the slots that
 * stay empty. None where it is to hold no more. */
static uint64_t slack_of(const growing *g) {
  const tsr_composition *c = g->t->store.composition;
  const double capacity = (double)c->shape.capacity;
  return c->shape.capacity < limit_of(g->t) ? (uint64_t)(capacity * (1 / c->settings.load_factor - 1) / 8) : 0;
}

/* Makes room for what is known to come, of which these are the next n keys; must: for one pair at the least. */
static tsr_status grow_for(growing *g, uint64_t n, const void *keys, bool must, tsr_error *error) {
  tsr_different absent = {g->n - g->done, g->n - g->done};
  bool grown = false;
  tsr_status status = g->looks ? count_absent(g, n, keys, &absent, error) : TSR_OK;
  const uint64_t pairs = absent.least + g->t->pairs;
  if (status == TSR_OK && (must || pairs > g->t->store.composition->shape.capacity)) {
    status = grow(g, pairs, NULL, &grown, error);
    if (!must) g->may_grow = true; /* there may be room for those that come first */
  }
  if (g->looks && absent.most <= room_of(g) + slack_of(g)) g->fits = g->done + n;
  return status;
}

static tsr_array next_keys(const growing *g, uint64_t n) {
  return (tsr_array){.users = g->keys + g->done * g->key_bytes, .bytes = n * g->key_bytes};
}

/* For a new key that has met a full table. */
static tsr_status grow_on(growing *g, tsr_error *error) {
  const uint64_t n = g->n - g->done < PIECE_MAX ? g->n - g->done : PIECE_MAX;
  tsr_array keys = next_keys(g, n);
  tsr_status status = tsr_stage_in(g->t, &keys, 1, g->call->stream, error);
  if (status == TSR_OK) status = grow_for(g, n, keys.devices, true, error);
  return tsr_stage_out(g->t, &keys, 1, g->call->stream, status, error);
}

/* The keys whose bits mark empty and erased slots have a bucket each, of the same size in every table: what a multimap
 * has too many of stays unplaced. */
static bool growing_helps(const growing *g) {
  const uint64_t reserved = (g->key_bytes == 8 ? UINT64_MAX : UINT32_MAX) - (TSR_TAIL_RESERVED - 1);
  for (uint64_t i = 0; i < g->back_count; i++)
    if (g->back[i].key < reserved) return true;
  return false;
}

/* ---- Undoing --------------------------------------------------------------------------------- */

static int compare(uint64_t a, uint64_t b) { return (a > b) - (a < b); }

static int by_key(const void *a, const void *b) { return compare(((const item *)a)->key, ((const item *)b)->key); }

static int key_to_undone(const void *key, const void *member) {
  return compare(*(const uint64_t *)key, ((const undone *)member)->key);
}

/* Makes the change that undoes what a launch of n inputs did to the keys that came back, and the list of their inputs,
 * `next`. A key that no input names was in the table before, with the value that came back. now: NULL: input i is the
 * piece's. */
static tsr_status plan_undoing(growing *g, uint64_t n, const void *keys, const void *values, const item *now,
                               tsr_change *change, tsr_error *error) {
  const uint8_t found = g->value_bytes ? TSR_FOUND : 1;
  uint64_t count = 0, added = 0;
  qsort(g->back, g->back_count, sizeof *g->back, by_key);
  for (uint64_t i = 0; i < g->back_count; i++)
    if (count == 0 || g->undone[count - 1].key != g->back[i].key)
      g->undone[count++] = (undone){g->back[i].key, g->back[i].value, true};
  tsr_status status = copy(g, g->were, g->olds, n, error);
  if (status == TSR_OK) status = copy(g, g->host_old_values, g->old_values, n * g->value_bytes, error);
  if (status == TSR_OK) status = fetch(g, n, keys, values, error);
  if (status) return status;
  g->next_count = 0;
  for (uint64_t i = 0; i < n; i++) {
    uint64_t key = number_at(g->host_keys, g->key_bytes, i);
    undone *u = bsearch(&key, g->undone, count, sizeof *u, key_to_undone);
    if (!u) continue;
    u->was_there = g->were[i] == found;
    if (u->was_there) u->value = number_at(g->host_old_values, g->value_bytes, i);
    const uint64_t value = values ? number_at(g->host_values, g->value_bytes, i) : 1; /* as insert offers it */
    g->next[g->next_count++] = (item){key, value, now ? now[i].index : i};
  }
  for (uint64_t i = 0; i < count; i++) put(g, i, g->undone[i].key, 0);
  status = send(g, count, g->again_keys, NULL, error);
  for (uint64_t i = 0; i < count; i++)
    if (g->undone[i].was_there) put(g, added++, g->undone[i].key, g->undone[i].value);
  if (status == TSR_OK) status = send(g, added, g->back_keys, g->back_values, error);
  *change = (tsr_change){count, g->again_keys, added, g->back_keys, g->back_values};
  return status;
}

/* ---- Inserting a piece ----------------------------------------------------------------------- */

static tsr_status find_olds(growing *g, uint64_t n, const void *keys, tsr_error *error) {
  tsr_tally tally;
  if (g->t->store.is_clear) return g->t->backend->fill(g->t->device, g->olds, 0, n, g->call->stream, error);
  tsr_bulk bulk = {.n = n, .keys = keys, .values_out = g->old_values, .results = g->olds};
  return tsr_launch_alone(g->t, &g->t->store, g->value_bytes ? TSR_BULK_find : TSR_BULK_contains, &bulk,
                          g->call->stream, &tally, error);
}

static tsr_status insert(growing *g, uint64_t n, const void *keys, const void *values, tsr_tally *tally,
                         tsr_error *error) {
  tsr_bulk bulk = {.n = n,
                   .keys = keys,
                   .values = values,
                   .unplaced_keys = g->back_keys,
                   .unplaced_values = g->back_values,
                   .results = g->results};
  return tsr_launch_alone(g->t, &g->t->store, g->op, &bulk, g->call->stream, tally, error);
}

/* Takes the answers of a launch, and what came back, from the device. */
static tsr_status take_answers(growing *g, uint64_t n, const item *now, bool any_back, tsr_error *error) {
  if (!now) memset(g->codes, 0, n); /* what is not told of was not inserted */
  tsr_status status = copy(g, g->answers, g->results, n, error);
  if (status == TSR_OK) status = any_back ? fetch(g, n, g->back_keys, g->back_values, error) : wait(g, error);
  if (status) return status;
  g->back_count = 0;
  for (uint64_t i = 0; i < n; i++) {
    const uint64_t index = now ? now[i].index : i;
    g->codes[index] = g->answers[i];
    if (g->answers[i] == TSR_NOT_PLACED)
      g->back[g->back_count++] =
          (item){number_at(g->host_keys, g->key_bytes, i), number_at(g->host_values, g->value_bytes, i), index};
  }
  return TSR_OK;
}

/* After a launch of which pairs came back: grows, and makes `now` the list of what is to be inserted again, on the
 * device too. *count = 0 where growing is at its end. */
static tsr_status prepare_again(growing *g, uint64_t *count, const void *keys, const void *values, const item *now,
                                bool undoes, tsr_error *error) {
  tsr_change change = {.erased = 0};
  bool grown = false;
  const uint64_t n = *count;
  *count = 0;
  tsr_status status = undoes ? plan_undoing(g, n, keys, values, now, &change, error) : TSR_OK;
  if (status == TSR_OK) status = grow(g, 0, &change, &grown, error);
  if (status || !grown) return status;
  for (uint64_t i = 0; i < g->back_count; i++) g->codes[g->back[i].index] = TSR_INSERTED; /* or it is in `next` */
  item **list = undoes ? &g->next : &g->back, *former = g->now;
  *count = undoes ? g->next_count : g->back_count;
  g->now = *list;
  *list = former;
  g->back_count = 0;
  for (uint64_t i = 0; i < *count; i++) put(g, i, g->now[i].key, g->now[i].value);
  return send(g, *count, g->again_keys, g->again_values, error);
}

/* Fills codes, and back with what could not be placed in the end. *tally: of all launches. */
static tsr_status insert_piece(growing *g, uint64_t n, const void *keys, const void *values, tsr_tally *tally,
                               tsr_error *error) {
  const item *now = NULL;
  tsr_status status = TSR_OK;
  for (uint64_t count = n; status == TSR_OK && count;) {
    tsr_tally launched = {.hits = 0};
    const bool undoes = g->undoes && g->may_grow;
    if (undoes) status = find_olds(g, count, keys, error);
    if (status == TSR_OK) status = insert(g, count, keys, values, &launched, error);
    if (status) return status;
    tsr_tally_add(tally, &launched);
    if (g->call->results || launched.not_placed || now)
      status = take_answers(g, count, now, launched.not_placed != 0, error);
    if (status || !launched.not_placed || !g->may_grow || !growing_helps(g)) return status;
    status = prepare_again(g, &count, keys, values, now, undoes, error);
    now = g->now;
    keys = g->again_keys;
    values = g->again_values;
  }
  return status;
}

/* ---- What the caller learns ------------------------------------------------------------------ */

/* One of the caller's arrays of unplaced items: read, changed where a pair is handed back, written. */
static tsr_status write_unplaced(growing *g, uint64_t n, void *users, uint64_t bytes, bool wants_keys,
                                 tsr_error *error) {
  if (!users || !bytes || !g->back_count) return TSR_OK;
  char *theirs = (char *)users + g->done * bytes;
  tsr_status status = copy(g, g->host_keys, theirs, n * bytes, error);
  if (status == TSR_OK) status = wait(g, error);
  if (status) return status;
  for (uint64_t i = 0; i < g->back_count; i++)
    memcpy((char *)g->host_keys + g->back[i].index * bytes, wants_keys ? &g->back[i].key : &g->back[i].value, bytes);
  status = copy(g, theirs, g->host_keys, n * bytes, error);
  return status ? status : wait(g, error);
}

static tsr_status tell(growing *g, uint64_t n, tsr_error *error) {
  const tsr_call *call = g->call;
  tsr_status status = TSR_OK;
  if (call->results) status = copy(g, call->results + g->done, g->codes, n, error);
  if (status == TSR_OK && call->results) status = wait(g, error);
  if (status == TSR_OK) status = write_unplaced(g, n, call->unplaced_keys, g->key_bytes, true, error);
  if (status == TSR_OK) status = write_unplaced(g, n, call->unplaced_values, g->value_bytes, false, error);
  return status;
}

/* How many items had no place in the end, of a piece whose items were made of several: all of which a pair was made that
 * came back; one for another pair, which had to go. */
static tsr_status count_unplaced(growing *g, uint64_t n, const void *keys, uint64_t *unplaced, tsr_error *error) {
  uint32_t *const counts = g->host_values;
  tsr_status status = copy(g, counts, g->counts + g->done, n * sizeof *counts, error);
  if (status == TSR_OK) status = fetch(g, n, keys, NULL, error);
  if (status) return status;
  *unplaced = 0;
  for (uint64_t i = 0; i < g->back_count; i++) {
    const uint64_t index = g->back[i].index;
    *unplaced += number_at(g->host_keys, g->key_bytes, index) == g->back[i].key ? counts[index] : 1;
  }
  return TSR_OK;
}

/* The whole way of a piece. Whatever fails, its pairs are accounted for and told of. */
static tsr_status work_piece(growing *g, uint64_t n, const void *keys, const void *values, tsr_error *error) {
  tsr_tally tally = {.hits = 0};
  g->back_count = 0;
  if (g->call->results) memset(g->codes, 0, n);
  tsr_status status = insert_piece(g, n, keys, values, &tally, error);
  if (tally.not_placed) { /* the launches have counted pairs that were inserted again */
    tally.hits = tally.not_placed = 0;
    for (uint64_t i = 0; i < n; i++) {
      tally.hits += g->codes[i] == TSR_INSERTED;
      tally.not_placed += g->codes[i] == TSR_NOT_PLACED;
    }
    if (status == TSR_OK && g->counts && tally.not_placed)
      status = count_unplaced(g, n, keys, &tally.not_placed, error);
  }
  tsr_tally_add(&g->t->counted, &tally);
  g->t->insert_keys += n;
  g->t->pairs += tally.hits;
  /* Keys that are mostly present hardly fill the room, so that a piece may be longer than it. */
  g->look = tally.hits > n / 2 ? LOOK_MIN : g->look < PIECE_MAX ? 2 * g->look : PIECE_MAX;
  tsr_status told = tell(g, n, status ? NULL : error);
  return status ? status : told;
}

/* ---- Piece by piece -------------------------------------------------------------------------- */

/* How many of n keys make a piece whose new keys have room. 0: not even the first one. */
static tsr_status measure_piece(growing *g, uint64_t n, const void *keys, uint64_t *size, tsr_error *error) {
  const uint64_t room = room_of(g);
  tsr_tally tally;
  tsr_bulk bulk = {.n = n, .keys = keys, .results = g->results};
  *size = n;
  if (n <= room || g->done + n <= g->fits) return TSR_OK;
  tsr_status status = tsr_launch_alone(g->t, &g->t->store, TSR_BULK_contains, &bulk, g->call->stream, &tally, error);
  if (status || n - tally.hits <= room) return status;
  status = copy(g, g->answers, g->results, n, error);
  if (status == TSR_OK) status = wait(g, error);
  if (status) return status;
  uint64_t i = 0;
  for (uint64_t absent = 0; i < n && (absent += !g->answers[i]) <= room;) i++;
  *size = i;
  if (i < n / 2) g->look = LOOK_MIN;
  return TSR_OK;
}

/* How many of n keys a piece may begin with. */
static uint64_t cut_piece(const growing *g, uint64_t n) {
  const uint64_t room = room_of(g), fitting = g->fits > g->done ? g->fits - g->done : 0;
  const uint64_t wanted = !g->may_grow ? n : fitting > room ? fitting : g->looks && g->look > room ? g->look : room;
  return n < wanted ? n : wanted;
}

static tsr_status next_piece(growing *g, tsr_error *error) {
  const bool is_first = g->done == 0 && g->may_grow && g->n > room_of(g); /* what is known to come has room first */
  uint64_t n = g->n - g->done < PIECE_MAX ? g->n - g->done : PIECE_MAX, size = 0;
  if (!is_first) n = cut_piece(g, n);
  tsr_array arrays[] = {next_keys(g, n), {.users = g->values ? g->values + g->done * g->value_bytes : NULL}};
  tsr_array *keys = &arrays[0], *values = &arrays[1];
  tsr_status status = tsr_stage_in(g->t, keys, 1, g->call->stream, error);
  if (status == TSR_OK && is_first) {
    const bool sees_all = g->t->pairs == 0 && !keys->is_staged;
    status = grow_for(g, sees_all ? g->n : n, keys->devices, false, error);
    n = cut_piece(g, n);
  }
  size = n;
  if (status == TSR_OK && g->may_grow) status = measure_piece(g, n, keys->devices, &size, error);
  if (status == TSR_OK && size == 0) status = grow_on(g, error);
  if (status == TSR_OK && size) {
    values->bytes = size * g->value_bytes;
    status = tsr_stage_in(g->t, values, 1, g->call->stream, error);
    if (status == TSR_OK) status = work_piece(g, size, keys->devices, values->devices, error);
  }
  status = tsr_stage_out(g->t, arrays, 2, g->call->stream, status, error);
  if (status == TSR_OK) g->done += size;
  return status;
}

/* Pieces are short at first, and a rebuild inserts again what they have: the backend hears of all of them at once. */
static void announce(const growing *g) {
  uint32_t ops[4], count = 0;
  ops[count++] = TSR_BULK_insert;
  if (g->op != TSR_BULK_insert) ops[count++] = g->op;
  if (g->undoes) ops[count++] = g->value_bytes ? TSR_BULK_find : TSR_BULK_contains;
  if (g->t->store.composition->facts.combines_later) ops[count++] = TSR_BULK_combine;
  tsr_launch_expect(g->t, ops, count, g->n);
}

/* How many pairs were erased since the report was reset. The device is asked only where a call may have erased some since
 * it was asked last. */
static tsr_status count_erased(const tsr_table *t, void *stream, uint64_t *erased, tsr_error *error) {
  tsr_tally tallies[TSR_BULKS];
  *erased = t->erased_then;
  if (t->erase_keys == t->erase_keys_then && !t->erases_unseen) return TSR_OK;
  tsr_status status = t->backend->copy(t->device, tallies, t->tallies, sizeof tallies, stream, error);
  if (status == TSR_OK) status = t->backend->synchronize(t->device, stream, error);
  if (status == TSR_OK) *erased = tallies[TSR_BULK_erase].hits + tallies[TSR_BULK_erase_pair].hits;
  return status;
}

/* How many pairs there are: known from the last time, and from what was erased since. */
static tsr_status count_pairs(tsr_table *t, void *stream, tsr_error *error) {
  tsr_tally counted = {.hits = 0};
  tsr_bulk bulk = {.n = tsr_composition_refs(t->store.composition)};
  uint64_t erased;
  tsr_status status = count_erased(t, stream, &erased, error);
  if (status == TSR_OK && !t->knows_pairs && !t->store.is_clear)
    status = tsr_launch_alone(t, &t->store, TSR_BULK_size, &bulk, stream, &counted, error);
  if (status) return status;
  t->pairs = t->knows_pairs ? t->pairs - (erased - t->erased_then) : counted.hits;
  t->erased_then = erased;
  t->erase_keys_then = t->erase_keys;
  t->knows_pairs = true;
  return TSR_OK;
}

/* counts: as in `growing`. */
static tsr_status insert_list(tsr_table *t, uint32_t op, uint64_t n, const void *keys, const void *values,
                              const uint32_t *counts, const tsr_call *call, tsr_error *error) {
  const tsr_shape *shape = &t->store.composition->shape;
  const uint32_t policy = op == TSR_BULK_find_or_insert ? TSR_DUPLICATES_FIRST : shape->duplicates;
  growing g = {.t = t,
               .op = op,
               .call = call,
               .keys = keys,
               .values = values,
               .counts = counts,
               .n = n,
               .key_bytes = shape->key_bits / 8,
               .value_bytes = shape->value_bits / 8,
               .looks = TSR_POLICY_LOOKS(policy) && shape->kind != TSR_KIND_MULTIMAP,
               .undoes = TSR_POLICY_LOOKS(policy) && shape->moves_pairs,
               .look = LOOK_MIN,
               .may_grow = true};
  tsr_array results = {.users = call->results, .bytes = n, .use = TSR_ARRAY_WRITTEN};
  if (n == 0) return TSR_OK;
  tsr_status status = tsr_table_enter(t, TSR_PHASE_ALONE, call->stream, error);
  if (status) return status;
  status = tsr_stage_in(t, &results, 1, call->stream, error);
  if (status == TSR_OK && results.devices)
    status = t->backend->fill(t->device, results.devices, 0, n, call->stream, error);
  status = tsr_stage_out(t, &results, 1, call->stream, status, error);
  if (status == TSR_OK) status = count_pairs(t, call->stream, error);
  if (status == TSR_OK) status = allocate_arrays(&g, error);
  if (status == TSR_OK) announce(&g);
  while (status == TSR_OK && g.done < n) status = next_piece(&g, error);
  if (status) { /* a copy may be under way to or from these arrays, or the caller's */
    tsr_status waited = wait(&g, NULL);
    (void)waited; /* the first failure is what the caller hears of */
  }
  const tsr_status freed = free_arrays(&g, status ? NULL : error);
  if (status == TSR_OK) status = freed;
  tsr_status left = tsr_table_leave(t, call->stream, status ? NULL : error);
  if (status == TSR_OK) status = left;
  if (status) t->knows_pairs = false;
  return status;
}

/* Inserts so many of n items as make a list: *taken. All of them, as they are, where the first ones repeat no key. */
static tsr_status insert_combined(tsr_table *t, uint64_t n, const char *keys, const char *values, const tsr_call *call,
                                  uint64_t *taken, tsr_error *error) {
  const tsr_shape *shape = &t->store.composition->shape;
  const uint64_t first = n < LIST_MAX ? n : LIST_MAX;
  tsr_array all[] = {{.users = keys, .bytes = first * (shape->key_bits / 8)},
                     {.users = values, .bytes = first * (shape->value_bits / 8)}};
  tsr_span_list list = {.n = 0};
  tsr_status status = tsr_stage_in(t, all, 2, call->stream, error);
  const tsr_bulk batch = {.state = t->store.state,
                          .n = first,
                          .keys = all[0].devices,
                          .values = all[1].devices,
                          .tally = t->tallies + TSR_BULK_insert}; /* of sums that overflow */
  if (status == TSR_OK) status = tsr_spans_list(t, &batch, call->stream, &list, error);
  const bool is_whole = list.counts || first == n;
  *taken = is_whole ? first : n;
  if (status == TSR_OK && is_whole)
    status = insert_list(t, TSR_BULK_insert, list.n, list.keys, list.values, list.counts, call, error);
  else if (status == TSR_OK)
    status = insert_list(t, TSR_BULK_insert, n, keys, values, NULL, call, error);
  if (status == TSR_OK && is_whole) t->insert_keys += first - list.n;
  tsr_status freed = TSR_OK;
  if (list.memory) freed = t->backend->free_in(t->device, list.memory, call->stream, status ? NULL : error);
  return tsr_stage_out(t, all, 2, call->stream, status ? status : freed, error);
}

tsr_status tsr_insert_growing(tsr_table *t, uint32_t op, uint64_t n, const void *keys, const void *values,
                              const tsr_call *call, tsr_error *error) {
  const tsr_shape *shape = &t->store.composition->shape;
  const bool combines = op == TSR_BULK_insert && tsr_plan_has_step(t->store.composition, TSR_PAGES_spans_list) &&
                        !call->results && !call->unplaced_keys && !call->unplaced_values;
  if (!combines) return insert_list(t, op, n, keys, values, NULL, call, error);
  tsr_status status = TSR_OK;
  for (uint64_t done = 0, taken; done < n && status == TSR_OK; done += taken)
    status =
        insert_combined(t, n - done, (const char *)keys + done * (shape->key_bits / 8),
                        values ? (const char *)values + done * (shape->value_bits / 8) : NULL, call, &taken, error);
  return status;
}

tsr_status tsr_grow_for(tsr_table *t, uint64_t n, void *stream, tsr_error *error) {
  const tsr_shape *shape = &t->store.composition->shape;
  const uint64_t limit = limit_of(t);
  tsr_bulk bulk = {.n = tsr_composition_refs(t->store.composition)};
  tsr_tally counted = {.hits = 0};
  tsr_error why = {TSR_OK, ""};
  tsr_status status = tsr_table_enter(t, TSR_PHASE_ALONE, stream, error);
  if (status == TSR_OK && !t->store.is_clear)
    status = tsr_launch_alone(t, &t->store, TSR_BULK_size, &bulk, stream, &counted, error);
  uint64_t capacity = shape->capacity;
  while (capacity < limit && capacity < counted.hits + n) capacity = capacity > limit / 2 ? limit : 2 * capacity;
  if (status == TSR_OK && capacity > shape->capacity) {
    status = tsr_rebuild(t, t->spec, capacity, shape->seed, NULL, stream, &why);
    if (is_too_large(status)) status = TSR_OK;
    if (status && error) *error = why;
  }
  tsr_status left = tsr_table_leave(t, stream, status ? NULL : error);
  return status ? status : left;
}

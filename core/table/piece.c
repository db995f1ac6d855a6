/* SPDX-License-Identifier: Apache-2.0
 *
 * A piece inserted, and what comes back of it inserted again (piece.h). Read next: growth.c.
 */
#include "core/table/piece.h"

#include <stdlib.h>
#include <string.h>

#include "core/table/launch.h"

/* ---- Arrays ---------------------------------------------------------------------------------- */

enum { ALIGNED = 256 };

tsr_status tsr_pieces_close(tsr_pieces *p, tsr_error *error) {
  const tsr_table *t = p->growth.t;
  free(p->host.block);
  return p->device.block ? t->backend->free_in(t->device, p->device.block, p->growth.stream, error) : TSR_OK;
}

/* A row for each array: its name, and the bytes of an item. */
#define ARRAYS_ON_DEVICE(ARRAY)                                                                                        \
  ARRAY(results, 1)                                                                                                    \
  ARRAY(back_keys, p->key_bytes)                                                                                       \
  ARRAY(again_keys, p->key_bytes)                                                                                      \
  ARRAY(back_values, p->value_bytes)                                                                                   \
  ARRAY(again_values, p->value_bytes)                                                                                  \
  ARRAY(olds, p->undoes)                                                                                               \
  ARRAY(old_values, p->undoes ? p->value_bytes : 0)
#define ARRAYS_ON_HOST(ARRAY)                                                                                          \
  ARRAY(now, sizeof *p->host.now)                                                                                      \
  ARRAY(back, sizeof *p->host.back)                                                                                    \
  ARRAY(next, sizeof *p->host.next)                                                                                    \
  ARRAY(undone, sizeof *p->host.undone)                                                                                \
  ARRAY(keys, sizeof(tsr_piece_key))                                                                                   \
  ARRAY(values, sizeof(uint64_t))                                                                                      \
  ARRAY(old_values, sizeof(uint64_t))                                                                                  \
  ARRAY(codes, 1)                                                                                                      \
  ARRAY(answers, 1)                                                                                                    \
  ARRAY(were, 1)

/* The bytes of all arrays of n items, which begin at `block`. NULL: of none yet. */
static uint64_t lay_out_on_device(tsr_pieces *p, uint64_t n, char *block) {
  uint64_t end = 0;
#define TAKE(array, bytes)                                                                                             \
  if (block && (bytes)) array = (void *)(block + end);                                                                 \
  end += (n * (bytes) + ALIGNED - 1) / ALIGNED * ALIGNED;
#define TAKE_ON_DEVICE(array, bytes) TAKE(p->device.array, bytes)
  ARRAYS_ON_DEVICE(TAKE_ON_DEVICE)
  return end;
}

static uint64_t lay_out_on_host(tsr_pieces *p, uint64_t n, char *block) {
  uint64_t end = 0;
#define TAKE_ON_HOST(array, bytes) TAKE(p->host.array, bytes)
  ARRAYS_ON_HOST(TAKE_ON_HOST)
  return end;
}

/* One block for all arrays. On the device it is of the memory that is kept for such: an allocation of its own costs
 * as much as about a hundred thousand inserts of a GPU. On the host, where hardly any array is touched, an
 * allocation costs as much as about ten thousand. */
tsr_status tsr_pieces_open(tsr_pieces *p, uint64_t n, tsr_error *error) {
  const tsr_table *t = p->growth.t;
  const uint64_t bytes = lay_out_on_device(p, n, NULL);
  tsr_status status = t->backend->allocate_in(t->device, bytes, p->growth.stream, &p->device.block, error);
  if (status) return status;
  lay_out_on_device(p, n, p->device.block);
  p->host.block = malloc(lay_out_on_host(p, n, NULL));
  if (!p->host.block)
    return tsr_fail(error, TSR_NO_MEMORY, "no memory to insert %llu keys into a table that grows",
                    (unsigned long long)n);
  lay_out_on_host(p, n, p->host.block);
  return TSR_OK;
}

static uint64_t number_at(const void *numbers, uint64_t bytes, uint64_t i) {
  uint64_t number = 0;
  memcpy(&number, (const char *)numbers + i * bytes, bytes); /* little-endian, like every host of a GPU */
  return number;
}

static tsr_piece_key key_at(const tsr_pieces *p, const void *keys, uint64_t i) {
  tsr_piece_key key = 0;
  memcpy(&key, (const char *)keys + i * p->key_bytes, p->key_bytes);
  return key;
}

static tsr_status copy(const tsr_pieces *p, void *to, const void *from, uint64_t bytes, tsr_error *error) {
  return bytes ? p->growth.t->backend->copy(p->growth.t->device, to, from, bytes, p->growth.stream, error) : TSR_OK;
}

static tsr_status wait(const tsr_pieces *p, tsr_error *error) {
  return p->growth.t->backend->synchronize(p->growth.t->device, p->growth.stream, error);
}

/* Copies keys and values from the device to the host's arrays of a piece. */
static tsr_status fetch(tsr_pieces *p, uint64_t n, const void *keys, const void *values, tsr_error *error) {
  tsr_status status = copy(p, p->host.keys, keys, n * p->key_bytes, error);
  if (status == TSR_OK && values) status = copy(p, p->host.values, values, n * p->value_bytes, error);
  return status ? status : wait(p, error);
}

/* And the other way. */
static tsr_status send(tsr_pieces *p, uint64_t n, void *keys, void *values, tsr_error *error) {
  tsr_status status = copy(p, keys, p->host.keys, n * p->key_bytes, error);
  if (status == TSR_OK && values) status = copy(p, values, p->host.values, n * p->value_bytes, error);
  return status ? status : wait(p, error);
}

static void put(tsr_pieces *p, uint64_t i, tsr_piece_key key, uint64_t value) {
  memcpy((char *)p->host.keys + i * p->key_bytes, &key, p->key_bytes);
  memcpy((char *)p->host.values + i * p->value_bytes, &value, p->value_bytes);
}

/* ---- Undoing --------------------------------------------------------------------------------- */

static int compare(tsr_piece_key a, tsr_piece_key b) { return (a > b) - (a < b); }

static int by_key(const void *a, const void *b) {
  return compare(((const tsr_piece_item *)a)->key, ((const tsr_piece_item *)b)->key);
}

static int key_to_undone(const void *key, const void *member) {
  return compare(*(const tsr_piece_key *)key, ((const tsr_piece_undone *)member)->key);
}

/* Makes the change that undoes what a launch of n inputs did to the keys that came back, and the list of their inputs,
 * `next`. A key that no input names was in the table before, with the value that came back. now: NULL: input i is the
 * piece's. */
static tsr_status plan_undoing(tsr_pieces *p, uint64_t n, const void *keys, const void *values,
                               const tsr_piece_item *now, tsr_change *change, tsr_error *error) {
  const uint8_t found = p->value_bytes ? TSR_FOUND : 1;
  uint64_t count = 0, added = 0;
  qsort(p->host.back, p->back_count, sizeof *p->host.back, by_key);
  for (uint64_t i = 0; i < p->back_count; i++)
    if (count == 0 || p->host.undone[count - 1].key != p->host.back[i].key)
      p->host.undone[count++] = (tsr_piece_undone){p->host.back[i].key, p->host.back[i].value, true};
  tsr_status status = copy(p, p->host.were, p->device.olds, n, error);
  if (status == TSR_OK) status = copy(p, p->host.old_values, p->device.old_values, n * p->value_bytes, error);
  if (status == TSR_OK) status = fetch(p, n, keys, values, error);
  if (status) return status;
  p->next_count = 0;
  for (uint64_t i = 0; i < n; i++) {
    tsr_piece_key key = key_at(p, p->host.keys, i);
    tsr_piece_undone *u = bsearch(&key, p->host.undone, count, sizeof *u, key_to_undone);
    if (!u) continue;
    u->was_there = p->host.were[i] == found;
    if (u->was_there) u->value = number_at(p->host.old_values, p->value_bytes, i);
    const uint64_t value = values ? number_at(p->host.values, p->value_bytes, i) : 1; /* as insert offers it */
    p->host.next[p->next_count++] = (tsr_piece_item){key, value, now ? now[i].index : i};
  }
  for (uint64_t i = 0; i < count; i++) put(p, i, p->host.undone[i].key, 0);
  status = send(p, count, p->device.again_keys, NULL, error);
  for (uint64_t i = 0; i < count; i++)
    if (p->host.undone[i].was_there) put(p, added++, p->host.undone[i].key, p->host.undone[i].value);
  if (status == TSR_OK) status = send(p, added, p->device.back_keys, p->device.back_values, error);
  *change = (tsr_change){count, p->device.again_keys, added, p->device.back_keys, p->device.back_values};
  return status;
}

/* Where the keys whose bits mark empty and erased slots have a bucket each, of the same size in every table, what a
 * multimap has too many of stays unplaced. */
static bool growing_helps(const tsr_pieces *p) {
  const tsr_piece_key largest = ~(tsr_piece_key)0 >> 8 * (sizeof largest - p->key_bytes);
  const tsr_piece_key reserved = largest - (TSR_TAIL_RESERVED - 1);
  if (p->growth.t->store.composition->facts.has_meanings) return true;
  for (uint64_t i = 0; i < p->back_count; i++)
    if (p->host.back[i].key < reserved) return true;
  return false;
}

/* ---- Inserting a piece ----------------------------------------------------------------------- */

static tsr_status find_olds(tsr_pieces *p, uint64_t n, const void *keys, tsr_error *error) {
  tsr_table *t = p->growth.t;
  const uint32_t op = p->value_bytes ? TSR_BULK_find : TSR_BULK_contains;
  tsr_tally tally;
  if (t->store.is_clear) return t->backend->fill(t->device, p->device.olds, 0, n, p->growth.stream, error);
  tsr_bulk bulk = {.n = n, .keys = keys, .values_out = p->device.old_values, .results = p->device.olds};
  return tsr_launch_alone(t, &t->store, op, &bulk, p->growth.stream, &tally, error);
}

static tsr_status insert(tsr_pieces *p, uint64_t n, const void *keys, const void *values, tsr_tally *tally,
                         tsr_error *error) {
  tsr_bulk bulk = {.n = n,
                   .keys = keys,
                   .values = values,
                   .unplaced_keys = p->device.back_keys,
                   .unplaced_values = p->device.back_values,
                   .results = p->device.results};
  return tsr_launch_alone(p->growth.t, &p->growth.t->store, p->op, &bulk, p->growth.stream, tally, error);
}

/* Takes the answers of a launch, and what came back, from the device. */
static tsr_status take_answers(tsr_pieces *p, uint64_t n, const tsr_piece_item *now, bool any_back, tsr_error *error) {
  if (!now) memset(p->host.codes, 0, n); /* what is not told of was not inserted */
  tsr_status status = copy(p, p->host.answers, p->device.results, n, error);
  if (status == TSR_OK)
    status = any_back ? fetch(p, n, p->device.back_keys, p->device.back_values, error) : wait(p, error);
  if (status) return status;
  p->back_count = 0;
  for (uint64_t i = 0; i < n; i++) {
    const uint64_t index = now ? now[i].index : i;
    p->host.codes[index] = p->host.answers[i];
    if (p->host.answers[i] == TSR_NOT_PLACED)
      p->host.back[p->back_count++] =
          (tsr_piece_item){key_at(p, p->host.keys, i), number_at(p->host.values, p->value_bytes, i), index};
  }
  return TSR_OK;
}

/* After a launch that handed pairs back: grows, and makes `now` the list of what is to be inserted again, on the
 * device as well. *count = 0 where growing is at its end. */
static tsr_status prepare_again(tsr_pieces *p, uint64_t *count, const void *keys, const void *values,
                                const tsr_piece_item *now, bool undoes, tsr_error *error) {
  tsr_change change = {.erased = 0};
  bool grown = false;
  const uint64_t n = *count;
  *count = 0;
  tsr_status status = undoes ? plan_undoing(p, n, keys, values, now, &change, error) : TSR_OK;
  if (status == TSR_OK) status = tsr_enlarge(&p->growth, 0, &change, &grown, error);
  if (status || !grown) return status;
  for (uint64_t i = 0; i < p->back_count; i++)
    p->host.codes[p->host.back[i].index] = TSR_INSERTED; /* or it is in `next` */
  tsr_piece_item **list = undoes ? &p->host.next : &p->host.back, *former = p->host.now;
  *count = undoes ? p->next_count : p->back_count;
  p->host.now = *list;
  *list = former;
  p->back_count = 0;
  for (uint64_t i = 0; i < *count; i++) put(p, i, p->host.now[i].key, p->host.now[i].value);
  return send(p, *count, p->device.again_keys, p->device.again_values, error);
}

/* Fills codes, and back with what could not be placed in the end. *tally: of all launches. */
static tsr_status insert_piece(tsr_pieces *p, const tsr_piece *piece, tsr_tally *tally, tsr_error *error) {
  const tsr_piece_item *now = NULL;
  const void *keys = piece->keys, *values = piece->values;
  tsr_status status = TSR_OK;
  for (uint64_t count = piece->n; status == TSR_OK && count;) {
    tsr_tally launched = {.hits = 0};
    const bool undoes = p->undoes && p->growth.may_grow;
    if (undoes) status = find_olds(p, count, keys, error);
    if (status == TSR_OK) status = insert(p, count, keys, values, &launched, error);
    if (status) return status;
    tsr_tally_add(tally, &launched);
    if (p->asked->results || launched.not_placed || now)
      status = take_answers(p, count, now, launched.not_placed != 0, error);
    if (status || !launched.not_placed || !p->growth.may_grow || !growing_helps(p)) return status;
    status = prepare_again(p, &count, keys, values, now, undoes, error);
    now = p->host.now;
    keys = p->device.again_keys;
    values = p->device.again_values;
  }
  return status;
}

/* ---- What the caller learns ------------------------------------------------------------------ */

/* One of the caller's arrays of unplaced items: read, changed where a pair is handed back, written. */
static tsr_status write_unplaced(tsr_pieces *p, const tsr_piece *piece, void *callers, uint64_t bytes, bool wants_keys,
                                 tsr_error *error) {
  if (!callers || !bytes || !p->back_count) return TSR_OK;
  char *theirs = (char *)callers + piece->first * bytes, *ours = p->host.keys;
  tsr_status status = copy(p, ours, theirs, piece->n * bytes, error);
  if (status == TSR_OK) status = wait(p, error);
  if (status) return status;
  for (uint64_t i = 0; i < p->back_count; i++) {
    const tsr_piece_item *back = &p->host.back[i];
    memcpy(ours + back->index * bytes, wants_keys ? (const void *)&back->key : &back->value, bytes);
  }
  status = copy(p, theirs, ours, piece->n * bytes, error);
  return status ? status : wait(p, error);
}

static tsr_status tell(tsr_pieces *p, const tsr_piece *piece, tsr_error *error) {
  const tsr_request *r = p->asked;
  tsr_status status = TSR_OK;
  if (r->results) status = copy(p, r->results + piece->first, p->host.codes, piece->n, error);
  if (status == TSR_OK && r->results) status = wait(p, error);
  if (status == TSR_OK) status = write_unplaced(p, piece, r->unplaced_keys, p->key_bytes, true, error);
  if (status == TSR_OK) status = write_unplaced(p, piece, r->unplaced_values, p->value_bytes, false, error);
  return status;
}

/* How many items had no place in the end, of a piece whose items were made of several. A pair that came back counts
 * as all items that it was made of; another pair, which had to go, counts as one. */
static tsr_status count_unplaced(tsr_pieces *p, const tsr_piece *piece, uint64_t *unplaced, tsr_error *error) {
  uint32_t *const counts = p->host.values;
  tsr_status status = copy(p, counts, piece->counts, piece->n * sizeof *counts, error);
  if (status == TSR_OK) status = fetch(p, piece->n, piece->keys, NULL, error);
  if (status) return status;
  *unplaced = 0;
  for (uint64_t i = 0; i < p->back_count; i++) {
    const tsr_piece_item *back = &p->host.back[i];
    *unplaced += key_at(p, p->host.keys, back->index) == back->key ? counts[back->index] : 1;
  }
  return TSR_OK;
}

tsr_status tsr_piece_insert(tsr_pieces *p, const tsr_piece *piece, uint64_t *inserted, tsr_error *error) {
  tsr_table *t = p->growth.t;
  tsr_tally tally = {.hits = 0};
  p->back_count = 0;
  if (p->asked->results) memset(p->host.codes, 0, piece->n);
  const tsr_bulk offered = {.n = piece->n, .values = piece->values, .tally = t->tallies + TSR_BULK_insert};
  tsr_status status = tsr_launch_tell_of_values(t, p->op, &offered, p->growth.stream, error);
  if (status == TSR_OK) status = insert_piece(p, piece, &tally, error);
  if (tally.not_placed) { /* the launches have counted pairs that were inserted again */
    tally.hits = tally.not_placed = 0;
    for (uint64_t i = 0; i < piece->n; i++) {
      tally.hits += p->host.codes[i] == TSR_INSERTED;
      tally.not_placed += p->host.codes[i] == TSR_NOT_PLACED;
    }
    if (status == TSR_OK && piece->counts && tally.not_placed)
      status = count_unplaced(p, piece, &tally.not_placed, error);
  }
  tsr_tally_add(&t->done.counted, &tally);
  t->done.insert_keys += piece->n;
  t->known.pairs += tally.hits;
  *inserted = tally.hits;
  const tsr_status told = tell(p, piece, status ? NULL : error);
  return status ? status : told;
}

/* ---- Measuring a piece ----------------------------------------------------------------------- */

tsr_status tsr_piece_measure(tsr_pieces *p, uint64_t n, const void *keys, uint64_t room, uint64_t *size,
                             tsr_error *error) {
  tsr_table *t = p->growth.t;
  tsr_tally tally;
  tsr_bulk bulk = {.n = n, .keys = keys, .results = p->device.results};
  *size = n;
  tsr_status status = tsr_launch_alone(t, &t->store, TSR_BULK_contains, &bulk, p->growth.stream, &tally, error);
  if (status || n - tally.hits <= room) return status;
  status = copy(p, p->host.answers, p->device.results, n, error);
  if (status == TSR_OK) status = wait(p, error);
  if (status) return status;
  uint64_t i = 0;
  for (uint64_t absent = 0; i < n && (absent += !p->host.answers[i]) <= room;) i++;
  *size = i;
  return TSR_OK;
}

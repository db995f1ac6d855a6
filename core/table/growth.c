/* SPDX-License-Identifier: Apache-2.0
 *
 * Inserting into a table that grows. The keys are worked through in pieces, in their order.
 *
 * Size. The new keys of a piece cannot take the table beyond its capacity: walks get long in a table that is fuller
 * than it was made for, and where they have no bound very long. As many keys as there is room for are such a piece.
 * So are, up to a little slack (tsr_growth_slack), all keys together if the different ones among them have room, as
 * a sketch counts them (sketch.h). Otherwise keys may repeat, and more of them than there is room for are looked up.
 * The piece ends before the first new key that has no room. If that is its first one, the table grows.
 *
 * How far. With growth = split the capacity rises to what the keys to come need, as the sketch counts them at the most. With
 * growth = double it is doubled at once as often as the keys to come need at the least, because each doubling by
 * itself would be a rebuild. If all keys make pairs, that is their number. Otherwise it is the least number of
 * different keys that the sketch allows, so the table ends as large as if it had been doubled whenever it was full.
 * For a pair that no size helps, growth ends before memory does (enlarge.c). The pairs of a piece that come back are
 * inserted again (piece.h).
 *
 * Keys that repeat. Where nobody asks for answers, a large batch is first made a list in which neighbouring items of
 * one key are one item (../batch/group.h). That list is inserted. Its pieces are complete pairs, which may come back
 * like others.
 */
#include "core/table/growth.h"

#include "core/batch/group.h"
#include "core/batch/plan.h"
#include "core/batch/sketch.h"
#include "core/table/launch.h"
#include "core/table/order.h"
#include "core/table/piece.h"
#include "core/table/stage.h"

enum { LOOK_MIN = 4096, PIECE_MAX = 1 << 22, LIST_MAX = 1 << 23 };

/* The items of an insert. */
typedef struct items {
  uint64_t n;
  const char *keys, *values; /* the caller's */
  const uint32_t *counts;    /* of how many items each was made; NULL: of one */
} items;

typedef struct growing {
  tsr_pieces pieces;
  items items;
  uint64_t done;
  bool looks;       /* a key that is present is not inserted */
  uint64_t look;    /* how many keys are looked up to find the end of a piece */
  uint64_t fits;    /* the keys up to this one are known to have room */
  uint64_t ungrown; /* pairs without a place since there was no memory to grow */
} growing;

/* ---- Growing --------------------------------------------------------------------------------- */

/* How many of the next n keys are not in the table and differ. keys: in device memory; at most a piece of them where the
 * table has pairs. */
static tsr_status count_absent(growing *g, uint64_t n, const void *keys, tsr_different *absent, tsr_error *error) {
  tsr_table *t = g->pieces.growth.t;
  void *const stream = g->pieces.growth.stream, *const present = t->known.pairs ? g->pieces.device.results : NULL;
  tsr_bulk bulk = {.n = n, .keys = keys, .results = present};
  tsr_tally tally;
  tsr_status status = TSR_OK;
  if (present) status = tsr_launch_alone(t, &t->store, TSR_BULK_contains, &bulk, stream, &tally, error);
  const tsr_work work = tsr_work_on(t, &t->store, stream, error);
  return status ? status : tsr_sketch(&work, n, keys, present, absent);
}

/* Makes room for what is known to come, beginning with the next n keys; must: for at least one pair. */
static tsr_status grow_for(growing *g, uint64_t n, const void *keys, bool must, tsr_error *error) {
  tsr_growth *growth = &g->pieces.growth;
  tsr_different absent = {growth->to_come, growth->to_come};
  bool grown = false;
  tsr_status status = g->looks ? count_absent(g, n, keys, &absent, error) : TSR_OK;
  const uint64_t pairs = (tsr_growth_splits(growth->t) ? absent.most : absent.least) + growth->t->known.pairs;
  if (status == TSR_OK && (must || pairs > growth->t->store.composition->shape.capacity)) {
    status = tsr_enlarge(growth, pairs, NULL, &grown, error);
    if (!must) growth->may_grow = true; /* there may be room for those that come first */
  }
  if (g->looks && absent.most <= tsr_growth_room(growth) + tsr_growth_slack(growth)) g->fits = g->done + n;
  return status;
}

static tsr_array next_keys(const growing *g, uint64_t n) {
  const uint64_t bytes = g->pieces.key_bytes;
  return (tsr_array){.callers = g->items.keys + g->done * bytes, .bytes = n * bytes, .word = (uint32_t)bytes};
}

static uint64_t piece_max(const growing *g) {
  return g->pieces.growth.to_come < PIECE_MAX ? g->pieces.growth.to_come : PIECE_MAX;
}

/* For a new key that has met a full table. */
static tsr_status grow_on(growing *g, tsr_error *error) {
  const tsr_growth *growth = &g->pieces.growth;
  const uint64_t n = piece_max(g);
  tsr_array keys = next_keys(g, n);
  tsr_status status = tsr_stage_in(growth->t, &keys, 1, growth->stream, error);
  if (status == TSR_OK) status = grow_for(g, n, keys.devices, true, error);
  return tsr_stage_out(growth->t, &keys, 1, growth->stream, status, error);
}

/* ---- Piece by piece -------------------------------------------------------------------------- */

/* How many of n keys make a piece whose new keys have room. 0: not even the first one. */
static tsr_status measure_piece(growing *g, uint64_t n, const void *keys, uint64_t *size, tsr_error *error) {
  const uint64_t room = tsr_growth_room(&g->pieces.growth);
  *size = n;
  if (!g->pieces.growth.may_grow || n <= room || g->done + n <= g->fits) return TSR_OK;
  const tsr_status status = tsr_piece_measure(&g->pieces, n, keys, room, size, error);
  if (*size < n / 2) g->look = LOOK_MIN;
  return status;
}

/* How many of n keys a piece may begin with. */
static uint64_t cut_piece(const growing *g, uint64_t n) {
  const uint64_t room = tsr_growth_room(&g->pieces.growth), fitting = g->fits > g->done ? g->fits - g->done : 0;
  if (!g->pieces.growth.may_grow) return n;
  const uint64_t wanted = fitting > room ? fitting : g->looks && g->look > room ? g->look : room;
  return n < wanted ? n : wanted;
}

/* Keys that are mostly present hardly fill the room, so that the next piece may be longer than it. */
static void learn(growing *g, uint64_t n, uint64_t inserted) {
  g->look = inserted > n / 2 ? LOOK_MIN : g->look < PIECE_MAX ? 2 * g->look : PIECE_MAX;
}

static tsr_status insert_next(growing *g, uint64_t n, const tsr_array *keys, tsr_array *values, tsr_error *error) {
  const tsr_growth *growth = &g->pieces.growth;
  const uint64_t bytes = g->pieces.value_bytes;
  uint64_t inserted = 0;
  *values = (tsr_array){.callers = g->items.values ? g->items.values + g->done * bytes : NULL,
                        .bytes = n * bytes,
                        .word = (uint32_t)bytes};
  tsr_status status = tsr_stage_in(growth->t, values, 1, growth->stream, error);
  if (status) return status;
  const tsr_piece piece = {n, keys->devices, values->devices, g->items.counts ? g->items.counts + g->done : NULL,
                           g->done};
  const uint64_t before = growth->t->done.counted.not_placed;
  status = tsr_piece_insert(&g->pieces, &piece, &inserted, error);
  if (growth->is_starved) g->ungrown += growth->t->done.counted.not_placed - before;
  learn(g, n, inserted);
  return status;
}

static tsr_status next_piece(growing *g, tsr_error *error) {
  tsr_growth *growth = &g->pieces.growth;
  growth->to_come = g->items.n - g->done;
  /* What is known to come has room first. */
  const bool is_first = g->done == 0 && growth->may_grow && growth->to_come > tsr_growth_room(growth);
  uint64_t n = piece_max(g), size = 0;
  if (!is_first) n = cut_piece(g, n);
  tsr_array arrays[2] = {next_keys(g, n)}, *keys = &arrays[0];
  tsr_status status = tsr_stage_in(growth->t, keys, 1, growth->stream, error);
  if (status == TSR_OK && is_first) {
    const bool sees_all = growth->t->known.pairs == 0 && !keys->is_staged;
    status = grow_for(g, sees_all ? g->items.n : n, keys->devices, false, error);
    n = cut_piece(g, n);
  }
  if (status == TSR_OK) status = measure_piece(g, n, keys->devices, &size, error);
  if (status == TSR_OK && size == 0) status = grow_on(g, error);
  if (status == TSR_OK && size) status = insert_next(g, size, keys, &arrays[1], error);
  status = tsr_stage_out(growth->t, arrays, 2, growth->stream, status, error);
  if (status == TSR_OK) g->done += size;
  return status;
}

/* Pieces are short at first, and a rebuild inserts again what they have: the backend hears of all of them at once. */
static void announce(const growing *g) {
  const tsr_table *t = g->pieces.growth.t;
  uint32_t ops[5], count = 0;
  ops[count++] = TSR_BULK_insert;
  if (g->pieces.op != TSR_BULK_insert) ops[count++] = g->pieces.op;
  if (g->pieces.undoes) ops[count++] = g->pieces.value_bytes ? TSR_BULK_find : TSR_BULK_contains;
  if (t->store.composition->facts.combines_later) ops[count++] = TSR_BULK_combine;
  if (tsr_growth_splits(t)) ops[count++] = TSR_BULK_split;
  tsr_launch_expect(t, ops, count, g->items.n);
}

/* How many pairs were erased since the report was reset. The device is asked only where a call may have erased some since
 * it was asked last. */
static tsr_status count_erased(const tsr_table *t, void *stream, uint64_t *erased, tsr_error *error) {
  tsr_tally tallies[TSR_BULKS];
  *erased = t->known.erased_then;
  if (t->done.erase_keys == t->known.erase_keys_then && !t->known.erases_unseen) return TSR_OK;
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
  if (status == TSR_OK && !t->known.is_known && !t->store.is_clear)
    status = tsr_launch_alone(t, &t->store, TSR_BULK_size, &bulk, stream, &counted, error);
  if (status) return status;
  t->known.pairs = t->known.is_known ? t->known.pairs - (erased - t->known.erased_then) : counted.hits;
  t->known.erased_then = erased;
  t->known.erase_keys_then = t->done.erase_keys;
  t->known.is_known = true;
  return TSR_OK;
}

/* What is not told of was not inserted. */
static tsr_status clear_results(const tsr_table *t, const tsr_request *r, tsr_error *error) {
  tsr_array results = {.callers = r->results, .bytes = r->n, .use = TSR_ARRAY_WRITTEN};
  tsr_status status = tsr_stage_in(t, &results, 1, r->call.stream, error);
  if (status == TSR_OK && results.devices)
    status = t->backend->fill(t->device, results.devices, 0, r->n, r->call.stream, error);
  return tsr_stage_out(t, &results, 1, r->call.stream, status, error);
}

static growing growing_for(tsr_table *t, const tsr_request *r, const items *list) {
  const tsr_shape *shape = &t->store.composition->shape;
  const uint32_t policy = r->op == TSR_BULK_find_or_insert ? TSR_DUPLICATES_FIRST : shape->duplicates;
  return (growing){.pieces = {.growth = {.t = t, .stream = r->call.stream, .may_grow = true},
                              .op = r->op,
                              .key_bytes = shape->key_bits / 8,
                              .value_bytes = shape->value_bits / 8,
                              .asked = r,
                              .undoes = TSR_POLICY_LOOKS(policy) && shape->moves_pairs},
                   .items = *list,
                   .looks = TSR_POLICY_LOOKS(policy) && shape->kind != TSR_KIND_MULTIMAP,
                   .look = LOOK_MIN};
}

/* Inserts the items of a list, which stand for those of a request. */
static tsr_status insert_list(tsr_table *t, const tsr_request *r, const items *list, tsr_error *error) {
  growing g = growing_for(t, r, list);
  if (list->n == 0) return TSR_OK;
  tsr_status status = tsr_table_enter(t, TSR_PHASE_ALONE, r->call.stream, error);
  if (status) return status;
  status = clear_results(t, r, error);
  if (status == TSR_OK) status = count_pairs(t, r->call.stream, error);
  if (status == TSR_OK) status = tsr_pieces_open(&g.pieces, list->n < PIECE_MAX ? list->n : PIECE_MAX, error);
  if (status == TSR_OK) announce(&g);
  while (status == TSR_OK && g.done < list->n) status = next_piece(&g, error);
  if (status) { /* a copy may be under way to or from these arrays, or the caller's */
    const tsr_status waited = t->backend->synchronize(t->device, r->call.stream, NULL);
    (void)waited; /* the first failure is what the caller hears of */
  }
  const tsr_status closed = tsr_pieces_close(&g.pieces, status ? NULL : error);
  if (status == TSR_OK) status = closed;
  const tsr_status left = tsr_table_leave(t, r->call.stream, status ? NULL : error);
  if (status == TSR_OK) status = left;
  if (status) t->known.is_known = false;
  if (status == TSR_OK) t->done.ungrown += g.ungrown;
  return status;
}

/* ---- Keys that repeat ------------------------------------------------------------------------ */

/* Inserts as many of these items as make a list: *taken. All of them, as they are, where the first ones repeat no key. */
static tsr_status insert_combined(tsr_table *t, const tsr_request *r, const items *left, uint64_t *taken,
                                  tsr_error *error) {
  const tsr_shape *shape = &t->store.composition->shape;
  const uint64_t first = left->n < LIST_MAX ? left->n : LIST_MAX;
  void *const stream = r->call.stream;
  const uint32_t key_bytes = shape->key_bits / 8, value_bytes = shape->value_bits / 8;
  tsr_array all[] = {{.callers = left->keys, .bytes = first * key_bytes, .word = key_bytes},
                     {.callers = left->values, .bytes = first * value_bytes, .word = value_bytes}};
  tsr_span_list list = {.n = 0};
  tsr_status status = tsr_stage_in(t, all, 2, stream, error);
  const tsr_bulk batch = {.state = t->store.state,
                          .n = first,
                          .keys = all[0].devices,
                          .values = all[1].devices,
                          .tally = t->tallies + TSR_BULK_insert}; /* of sums that overflow */
  const tsr_work work = tsr_work_on(t, &t->store, stream, error);
  if (status == TSR_OK) status = tsr_spans_list(&work, &batch, &list);
  const bool is_whole = list.counts || first == left->n;
  const items made = {list.n, list.keys, list.values, list.counts};
  *taken = is_whole ? first : left->n;
  if (status == TSR_OK && list.counts) status = tsr_launch_tell_of_values(t, TSR_BULK_insert, &batch, stream, error);
  if (status == TSR_OK) status = insert_list(t, r, is_whole ? &made : left, error);
  if (status == TSR_OK && is_whole) t->done.insert_keys += first - list.n;
  tsr_status freed = TSR_OK;
  if (list.memory) freed = t->backend->free_in(t->device, list.memory, stream, status ? NULL : error);
  return tsr_stage_out(t, all, 2, stream, status ? status : freed, error);
}

tsr_status tsr_insert_growing(tsr_table *t, const tsr_request *r, tsr_error *error) {
  const tsr_shape *shape = &t->store.composition->shape;
  const bool combines = r->op == TSR_BULK_insert && tsr_plan_has_step(t->store.composition, TSR_PAGES_spans_list) &&
                        !r->results && !r->unplaced_keys && !r->unplaced_values;
  items left = {r->n, r->keys, r->values, NULL};
  if (!combines) return insert_list(t, r, &left, error);
  tsr_status status = TSR_OK;
  for (uint64_t taken; left.n && status == TSR_OK; left.n -= taken) {
    status = insert_combined(t, r, &left, &taken, error);
    left.keys += taken * (shape->key_bits / 8);
    if (left.values) left.values += taken * (shape->value_bits / 8);
  }
  return status;
}

tsr_status tsr_growth_tell(const tsr_table *t, uint64_t pairs, tsr_error *error) {
  if (pairs == 0) return TSR_OK;
  const bool splits = tsr_growth_splits(t);
  return tsr_fail(error, TSR_NO_MEMORY,
                  "%llu pairs found no room, and there is no memory to %s the table (growth = %s, capacity %llu). "
                  "These pairs were handed back, where the call had arrays for them, and all others are in the table. "
                  "Free memory and insert them again, or use more devices",
                  (unsigned long long)pairs, splits ? "add buckets to" : "double", splits ? "split" : "double",
                  (unsigned long long)t->store.composition->shape.capacity);
}

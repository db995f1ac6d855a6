/* SPDX-License-Identifier: Apache-2.0
 *
 * Doubling a table's capacity (enlarge.h). Read next: piece.h.
 */
#include "core/table/enlarge.h"

#include "core/table/launch.h"
#include "core/table/order.h"
#include "core/table/store.h"

static uint64_t limit_of(const tsr_table *t) {
  const uint64_t limit = t->store.composition->settings.upkeep.growth_limit;
  return !limit || limit > TSR_CAPACITY_MAX ? TSR_CAPACITY_MAX : limit;
}

/* A pair that finds no place where there is room for 256 times all pairs meets others in tables of every size: one
 * key has too many pairs, or the hasher does not spread the keys. A limit that the spec sets is taken at its word. */
enum { SPARSE = 256, SPARSE_MIN = 1 << 20 };

static uint64_t limit_of_insert(const tsr_growth *g) {
  const uint64_t limit = limit_of(g->t), pairs = g->t->known.pairs + g->to_come;
  const uint64_t sparse = pairs > SPARSE_MIN / SPARSE ? pairs * SPARSE : SPARSE_MIN;
  return g->t->store.composition->settings.upkeep.growth_limit || limit < sparse ? limit : sparse;
}

uint64_t tsr_growth_room(const tsr_growth *g) {
  const uint64_t capacity = g->t->store.composition->shape.capacity;
  return capacity > g->t->known.pairs ? capacity - g->t->known.pairs : 0;
}

uint64_t tsr_growth_slack(const tsr_growth *g) {
  const tsr_composition *c = g->t->store.composition;
  const double capacity = (double)c->shape.capacity;
  return c->shape.capacity < limit_of(g->t) ? (uint64_t)(capacity * (1 / c->settings.load_factor - 1) / 8) : 0;
}

/* Whether a rebuild that ends so is one that did not happen, and no error: incompatible is more than a part can count. */
static bool is_too_large(tsr_status status) {
  return status == TSR_NO_MEMORY || status == TSR_UNSUPPORTED || status == TSR_INCOMPATIBLE;
}

bool tsr_growth_splits(const tsr_table *t) { return t->store.composition->settings.upkeep.growth == TSR_GROWTH_SPLIT; }

/* The next capacity to try. A table whose buckets split becomes as large as is needed, or by a share larger where a pair found
 * no room: that one's buckets have to split. */
static uint64_t next_capacity(const tsr_table *t, uint64_t capacity, uint64_t needed, uint64_t limit) {
  enum { LEAST = 256, SHARE = 8 };
  if (tsr_growth_splits(t)) {
    const uint64_t least = capacity + LEAST + (needed > capacity ? 0 : capacity / SHARE);
    const uint64_t wanted = least > needed ? least : needed;
    return wanted < limit ? wanted : limit;
  }
  do capacity = capacity > limit / 2 ? limit : 2 * capacity;
  while (capacity < needed && capacity < limit);
  return capacity;
}

/* What to ask for where there is no memory for what is needed: half as many pairs more, or one doubling. */
static uint64_t less_needed(const tsr_table *t, uint64_t former, uint64_t needed) {
  enum { LEAST = 1024 };
  const uint64_t more = needed > former ? (needed - former) / 2 : 0;
  return tsr_growth_splits(t) && more > LEAST ? former + more : 0;
}

/* To undo an insert takes a store that the old one can be given up for, so pairs that came back from a scheme that moves pairs
 * make a rebuild. Where the load is as planned, hardly any do. */
static tsr_status grow_to(tsr_growth *g, uint64_t capacity, const tsr_change *change, tsr_error *error) {
  tsr_table *t = g->t;
  const bool undoes = change && (change->erased || change->added);
  tsr_status status = TSR_UNSUPPORTED;
  if (tsr_growth_splits(t) && !undoes) status = tsr_store_extend(t, &t->store, capacity, g->stream, error);
  if (status != TSR_UNSUPPORTED) return status;
  return tsr_rebuild(t, t->spec, capacity, t->store.composition->shape.seed, change, g->stream, error);
}

tsr_status tsr_enlarge(tsr_growth *g, uint64_t needed, const tsr_change *change, bool *grown, tsr_error *error) {
  const uint64_t limit = limit_of_insert(g), former = g->t->store.composition->shape.capacity;
  uint64_t capacity = former;
  tsr_error why = {TSR_OK, ""};
  tsr_status status = TSR_UNSUPPORTED;
  while (g->may_grow && status == TSR_UNSUPPORTED && capacity < limit) { /* not placed there: the next size */
    capacity = next_capacity(g->t, capacity, needed, limit);
    status = grow_to(g, capacity, change, &why);
    if (needed && (status == TSR_NO_MEMORY || status == TSR_INCOMPATIBLE)) { /* not at once: as far as it goes */
      capacity = former;
      needed = less_needed(g->t, former, needed);
      status = TSR_UNSUPPORTED;
    }
  }
  *grown = g->may_grow && status == TSR_OK;
  g->is_starved = status == TSR_NO_MEMORY || (g->is_starved && !g->may_grow);
  g->may_grow = *grown;
  if (status == TSR_OK || is_too_large(status)) return TSR_OK;
  if (error) *error = why;
  return status;
}

tsr_status tsr_enlarge_for(tsr_table *t, uint64_t n, void *stream, bool *is_starved, tsr_error *error) {
  const tsr_shape *shape = &t->store.composition->shape;
  const uint64_t limit = limit_of(t);
  tsr_bulk bulk = {.n = tsr_composition_refs(t->store.composition)};
  tsr_tally counted = {.hits = 0};
  tsr_error why = {TSR_OK, ""};
  tsr_status status = tsr_table_enter(t, TSR_PHASE_ALONE, stream, error);
  if (status == TSR_OK && !t->store.is_clear)
    status = tsr_launch_alone(t, &t->store, TSR_BULK_size, &bulk, stream, &counted, error);
  uint64_t capacity = shape->capacity;
  *is_starved = false;
  while (capacity < limit && capacity < counted.hits + n) capacity = capacity > limit / 2 ? limit : 2 * capacity;
  if (status == TSR_OK && capacity > shape->capacity) {
    status = tsr_rebuild(t, t->spec, capacity, shape->seed, NULL, stream, &why);
    *is_starved = status == TSR_NO_MEMORY;
    if (is_too_large(status)) status = TSR_OK;
    if (status && error) *error = why;
  }
  tsr_status left = tsr_table_leave(t, stream, status ? NULL : error);
  return status ? status : left;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Cleaning (clean.h). The host knows bounds: each erased key makes at most one slot erased, each inserted one takes
 * at most one empty slot. The slots are counted, for which the host waits, only when these bounds allow more than half
 * as many erased as empty slots, and enough keys were erased to pay for it. Read next: growth.c.
 */
#include "core/table/clean.h"

#include "core/table/launch.h"
#include "core/table/order.h"
#include "core/table/rebuild.h"

/* Empty slots per erased one, below which a table is cleaned. Then a third of its free slots are erased, and finds of
 * absent keys look at up to half again as many buckets (tests/table/debt_test.cc). */
enum { EMPTY_PER_ERASED = 2 };

/* In a graph of a mixed table anything may run at any time, also during the rebuild. */
static bool may_be_cleaned(const tsr_table *t) {
  const bool is_mixed = t->store.composition->shape.concurrency == TSR_CONCURRENCY_MIXED;
  return !tsr_composition_why_uncleaned(t->store.composition) && !(t->store.in_graph && is_mixed);
}

static bool may_owe(const tsr_store *store) {
  return store->may_erase >= tsr_composition_clean_every(store->composition) &&
         EMPTY_PER_ERASED * store->may_erase + store->may_insert > store->slack;
}

/* Lists of values whose erased buckets stay with an allocator that gives no unit out again until all are free. */
static bool wastes_units(const tsr_composition *composition) {
  return composition->facts.value_list_first && !composition->shape.reuses_units;
}

/* Counts slots: those of buckets, and of units that continue them. */
static tsr_status count_slots(tsr_table *t, uint64_t *erased, uint64_t *empty, void *stream, tsr_error *error) {
  const tsr_composition *composition = t->store.composition;
  const tsr_shape *shape = &composition->shape;
  const tsr_bulk bulk = {.n = tsr_composition_refs(composition)};
  tsr_tally tally;
  tsr_status status = tsr_launch_alone(t, &t->store, TSR_BULK_size, &bulk, stream, &tally, error);
  if (status) return status;
  const uint64_t used = (composition->facts.value_list_first ? tally.keys : tally.hits) + tally.tombstones;
  const uint64_t slots = (shape->buckets + (shape->has_link ? tally.units : 0)) * shape->bucket_slots;
  *erased = tally.tombstones;
  *empty = slots > used ? slots - used : 0; /* pairs may be in the stash */
  return TSR_OK;
}

static tsr_status count_and_clean(tsr_table *t, void *stream, tsr_error *error) {
  uint64_t erased = 0, empty = 0;
  tsr_error why = {TSR_OK, ""};
  tsr_status status = count_slots(t, &erased, &empty, stream, error);
  if (status) return status;
  if (EMPTY_PER_ERASED * erased > empty || (erased && wastes_units(t->store.composition))) {
    status = tsr_rebuild_in_place(t, stream, &why);
    if (status == TSR_OK) {
      t->done.cleanings++;
      return TSR_OK;
    }
    if (status != TSR_NO_MEMORY && status != TSR_UNSUPPORTED)
      return tsr_fail(error, status, "cleaning the table of erased slots: %s", why.message);
  }
  t->store.may_erase = t->store.may_insert = 0;
  t->store.slack = empty > EMPTY_PER_ERASED * erased ? empty - EMPTY_PER_ERASED * erased : 0;
  t->store.erased_slots = erased;
  return TSR_OK;
}

void tsr_clean_note(tsr_table *t, uint64_t may_erase, uint64_t may_insert) {
  t->store.may_erase += may_erase;
  t->store.may_insert += may_insert;
}

tsr_status tsr_clean(tsr_table *t, const tsr_request *r, tsr_error *error) {
  const bool inserts = r->op == TSR_BULK_insert || r->op == TSR_BULK_find_or_insert || r->op == TSR_BULK_apply;
  const bool erases = r->op == TSR_BULK_erase || r->op == TSR_BULK_erase_pair || r->op == TSR_BULK_apply;
  tsr_status status = TSR_OK;
  if (r->call.is_recorded) return TSR_OK;
  if (inserts && may_owe(&t->store) && may_be_cleaned(t)) {
    status = tsr_table_enter(t, TSR_PHASE_ALONE, r->call.stream, error);
    if (status == TSR_OK) status = count_and_clean(t, r->call.stream, error);
    const tsr_status left = tsr_table_leave(t, r->call.stream, status ? NULL : error);
    if (status == TSR_OK) status = left;
  }
  /* a replay of a graph tells nobody what it does, so each key of a later call stands for one that was erased */
  const bool erased = erases || t->store.in_graph;
  if (erased || inserts)
    tsr_clean_note(t, erased ? r->n : 0, inserts ? r->n : 0); /* finds, which may overlap, note nothing */
  return status;
}

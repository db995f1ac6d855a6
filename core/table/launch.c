/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches (launch.h). Read next: order.c.
 */
#include "core/table/launch.h"

#include "core/batch/lists.h"
#include "core/batch/mark.h"
#include "core/batch/place.h"
#include "core/batch/travel.h"

static tsr_status at_random(const tsr_table *t, const tsr_store *store, uint32_t op, const tsr_bulk *bulk, void *stream,
                            tsr_error *error) {
  return t->backend->step(t->device, store->code->program, TSR_BULK_STEP(op), bulk, bulk->n, stream, error);
}

/* Both passes of an insert, where there was no memory to go page by page. */
static tsr_status insert_at_random(const tsr_table *t, const tsr_store *store, const tsr_bulk *bulk, void *stream,
                                   tsr_error *error) {
  tsr_bulk kept = *bulk;
  tsr_status status = TSR_OK, freed = TSR_OK;
  if (!store->composition->facts.combines_later) return at_random(t, store, TSR_BULK_insert, bulk, stream, error);
  if (!bulk->results) status = t->backend->allocate_in(t->device, bulk->n, stream, (void **)&kept.results, error);
  if (status) return status;
  status = at_random(t, store, TSR_BULK_insert, &kept, stream, error);
  if (status == TSR_OK) status = at_random(t, store, TSR_BULK_combine, &kept, stream, error);
  if (!bulk->results) freed = t->backend->free_in(t->device, kept.results, stream, status ? NULL : error);
  return status ? status : freed;
}

/* Sets the bits of a filter before the table, or of the table that is one. *began: nothing else is left to do. */
static tsr_status mark(const tsr_table *t, const tsr_store *store, const tsr_stages *stages, const tsr_bulk *bulk,
                       void *stream, bool *began, tsr_error *error) {
  bool in_order = false;
  tsr_status status = TSR_OK;
  if (stages->mark == TSR_MARK_NONE || (stages->mark == TSR_MARK_PAGES && *began)) return TSR_OK;
  if (stages->mark == TSR_MARK_BLOCKS) status = tsr_mark_in_order(t, store, bulk, stream, &in_order, error);
  if (stages->place == TSR_PLACE_BITS) *began = in_order;
  if (status || in_order || stages->place == TSR_PLACE_BITS) return status;
  return at_random(t, store, TSR_BULK_mark, bulk, stream, error);
}

uint32_t tsr_counts_by(const tsr_store *store) { return store->windows ? TSR_BULK_count : TSR_BULK_note; }

/* The order and the place of the plan; *began: false where it is random access that is left to do. */
static tsr_status place(const tsr_table *t, tsr_store *store, const tsr_stages *stages, uint32_t op,
                        const tsr_bulk *bulk, void *stream, bool *began, tsr_error *error) {
  if (stages->place == TSR_PLACE_LISTS) {
    *began = true;
    return tsr_lists_insert(t, store, bulk, stream, error);
  }
  return stages->travels ? tsr_travel(t, store, stages, op, bulk, stream, began, error) : TSR_OK;
}

tsr_status tsr_launch(const tsr_table *t, tsr_store *store, uint32_t op, const tsr_bulk *bulk,
                      const tsr_call_state *call, tsr_error *error) {
  void *stream = call->stream;
  const tsr_stages stages = tsr_store_plan(store, op, bulk->n, tsr_wants_answers(bulk), call->is_recorded);
  const bool by_pages = stages.order == TSR_ORDER_PAGES, inserts = op == TSR_BULK_insert;
  bool began = false;
  tsr_status status = TSR_OK;
  if (bulk->n == 0) return TSR_OK;
  if (by_pages && !stages.travels) status = tsr_pages_insert(t, store, &stages, bulk, stream, &began, error);
  if (status == TSR_OK) status = mark(t, store, &stages, bulk, stream, &began, error);
  if (status) return status;
  if (!began) status = place(t, store, &stages, op, bulk, stream, &began, error);
  if (status == TSR_OK && began && inserts && by_pages) store->paged_keys += bulk->n;
  if (inserts || op == TSR_BULK_find_or_insert || op == TSR_BULK_apply || op == TSR_BULK_apply_inserts)
    store->is_clear = false;
  if (inserts) store->held += bulk->n;
  if (status || began) return status;
  return by_pages && inserts ? insert_at_random(t, store, bulk, stream, error)
                             : at_random(t, store, op, bulk, stream, error);
}

static tsr_status read_tally(const tsr_table *t, const tsr_tally *counted, void *stream, tsr_tally *tally,
                             tsr_error *error) {
  tsr_status status = t->backend->copy(t->device, tally, counted, sizeof *tally, stream, error);
  tsr_status waited = t->backend->synchronize(t->device, stream, status ? NULL : error);
  return status ? status : waited;
}

void tsr_launch_expect(const tsr_table *t, const uint32_t *ops, uint32_t count, uint64_t n) {
  if (t->backend->expect) t->backend->expect(t->store.code->program, ops, count, n);
}

tsr_status tsr_launch_alone(const tsr_table *t, tsr_store *store, uint32_t op, const tsr_bulk *bulk, void *stream,
                            tsr_tally *tally, tsr_error *error) {
  const tsr_call_state call = {.stream = stream};
  tsr_bulk whole = *bulk;
  whole.state = store->state;
  whole.tally = t->tallies + TSR_TALLY_COUNTED;
  tsr_status status = t->backend->fill(t->device, whole.tally, 0, sizeof *tally, stream, error);
  if (status == TSR_OK) status = tsr_launch(t, store, op, &whole, &call, error);
  tsr_status told = read_tally(t, whole.tally, stream, tally, status ? NULL : error);
  if (status == TSR_OK) status = told;
  const tsr_stages stages = tsr_store_plan(store, op, bulk->n, tsr_wants_answers(bulk), call.is_recorded);
  const bool may_leave = stages.combines && bulk->results && !tsr_works_alone(&stages);
  if (status || !may_leave || tally->hits + tally->not_placed == bulk->n) return status;
  status = at_random(t, store, TSR_BULK_combine, &whole, stream, error);
  return status ? status : read_tally(t, whole.tally, stream, tally, error);
}

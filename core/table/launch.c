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
  return t->backend->launch(store->code->program, op, bulk, stream, error);
}

static bool combines(const tsr_store *store, uint32_t op) {
  return op == TSR_BULK_insert && store->composition->facts.combines_later;
}

static bool makes_lists(const tsr_store *store, uint32_t op) {
  return op == TSR_BULK_insert && store->composition->shape.has_lists;
}

bool tsr_launches_pages(const tsr_store *store, uint32_t op, uint64_t n) {
  return tsr_travels(store, op, n) || (op == TSR_BULK_insert && !store->is_captured &&
                                       n >= tsr_composition_page_batch(store->composition, store->held));
}

bool tsr_launches_alone(const tsr_store *store, uint32_t op, uint64_t n) {
  return tsr_launches_pages(store, op, n) || makes_lists(store, op);
}

/* Both passes of an insert, where there was no memory to go page by page. */
static tsr_status insert_at_random(const tsr_table *t, const tsr_store *store, const tsr_bulk *bulk, void *stream,
                                   tsr_error *error) {
  tsr_bulk kept = *bulk;
  tsr_status status = TSR_OK, freed = TSR_OK;
  if (!combines(store, TSR_BULK_insert)) return at_random(t, store, TSR_BULK_insert, bulk, stream, error);
  if (!bulk->results) status = t->backend->allocate_in(t->device, bulk->n, stream, (void **)&kept.results, error);
  if (status) return status;
  status = at_random(t, store, TSR_BULK_insert, &kept, stream, error);
  if (status == TSR_OK) status = at_random(t, store, TSR_BULK_combine, &kept, stream, error);
  if (!bulk->results) freed = t->backend->free_in(t->device, kept.results, stream, status ? NULL : error);
  return status ? status : freed;
}

/* Sets the bits of a filter before the table, or of the table that is one: then nothing else is left to do. */
static tsr_status mark(const tsr_table *t, const tsr_store *store, uint32_t op, const tsr_bulk *bulk, void *stream,
                       bool *began, tsr_error *error) {
  const bool is_filter = store->composition->facts.is_filter && op == TSR_BULK_insert;
  bool in_order = false;
  tsr_status status = TSR_OK;
  if (!is_filter && !tsr_composition_marks(store->composition, op)) return TSR_OK;
  if (tsr_marks_in_order(store, bulk)) status = tsr_mark_in_order(t, store, bulk, stream, &in_order, error);
  if (is_filter) *began = in_order;
  return status || is_filter || in_order ? status : at_random(t, store, TSR_BULK_mark, bulk, stream, error);
}

uint32_t tsr_counts_by(const tsr_store *store) { return store->windows ? TSR_BULK_count : TSR_BULK_note; }

tsr_status tsr_launch(const tsr_table *t, tsr_store *store, uint32_t op, const tsr_bulk *bulk, void *stream,
                      tsr_error *error) {
  const bool travels = tsr_travels(store, op, bulk->n);
  const bool by_pages = !travels && tsr_launches_pages(store, op, bulk->n);
  bool began = false;
  tsr_status status = TSR_OK;
  if (bulk->n == 0) return TSR_OK;
  if (by_pages) status = tsr_pages_insert(t, store, bulk, stream, &began, error);
  if (status == TSR_OK && !began) status = mark(t, store, op, bulk, stream, &began, error);
  if (status) return status;
  if (travels) status = tsr_travel(t, store, op, bulk, stream, &began, error);
  if (status == TSR_OK && began && op == TSR_BULK_insert) store->paged_keys += by_pages || travels ? bulk->n : 0;
  if (makes_lists(store, op)) {
    status = tsr_graph_insert(t, store, bulk, stream, error);
    began = true;
  }
  if (op == TSR_BULK_insert || op == TSR_BULK_find_or_insert || op == TSR_BULK_apply || op == TSR_BULK_apply_inserts)
    store->is_clear = false;
  if (op == TSR_BULK_insert) store->held += bulk->n;
  if (status || began) return status;
  return by_pages ? insert_at_random(t, store, bulk, stream, error) : at_random(t, store, op, bulk, stream, error);
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
  tsr_bulk whole = *bulk;
  whole.state = store->state;
  whole.tally = t->tallies + TSR_TALLY_COUNTED;
  tsr_status status = t->backend->fill(t->device, whole.tally, 0, sizeof *tally, stream, error);
  if (status == TSR_OK) status = tsr_launch(t, store, op, &whole, stream, error);
  tsr_status told = read_tally(t, whole.tally, stream, tally, status ? NULL : error);
  if (status == TSR_OK) status = told;
  const bool may_leave = combines(store, op) && bulk->results && !tsr_launches_pages(store, op, bulk->n);
  if (status || !may_leave || tally->hits + tally->not_placed == bulk->n) return status;
  status = at_random(t, store, TSR_BULK_combine, &whole, stream, error);
  return status ? status : read_tally(t, whole.tally, stream, tally, error);
}

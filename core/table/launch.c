/* SPDX-License-Identifier: Apache-2.0
 *
 * Launches (launch.h). Read next: order.c.
 */
#include "core/table/launch.h"

#include "core/batch/lists.h"
#include "core/batch/mark.h"
#include "core/batch/place.h"
#include "core/batch/travel.h"
#include "core/batch/zones.h"
#include "core/kernels/aggregate.h"

/* Sets the bits of a filter before the table, or of the table that is one. *began: this was all that there was to
 * do. */
static tsr_status mark(const tsr_work *work, const tsr_stages *stages, const tsr_bulk *bulk, bool *began) {
  bool in_order = false;
  tsr_status status = TSR_OK;
  if (stages->mark == TSR_MARK_NONE || (stages->mark == TSR_MARK_PAGES && *began)) return TSR_OK;
  if (stages->mark == TSR_MARK_BLOCKS) status = tsr_mark_in_order(work, bulk, &in_order);
  if (stages->place == TSR_PLACE_BITS) *began = in_order;
  if (status || in_order || stages->place == TSR_PLACE_BITS) return status;
  return tsr_work_random(work, TSR_BULK_mark, bulk);
}

uint32_t tsr_counts_by(const tsr_store *store) { return store->windows ? TSR_BULK_count : TSR_BULK_note; }

/* The order and the place of the plan; *began: false where it is random access that is left to do. */
static tsr_status place(const tsr_work *work, const tsr_stages *stages, uint32_t op, const tsr_bulk *bulk,
                        bool *began) {
  if (stages->place == TSR_PLACE_LISTS || stages->place == TSR_PLACE_BUILT) {
    *began = true;
    return tsr_lists_insert(work, bulk);
  }
  if (stages->order == TSR_ORDER_ZONES) return tsr_zones_work(work, op, bulk, began);
  return stages->travels ? tsr_travel(work, stages, op, bulk, began) : TSR_OK;
}

tsr_stages tsr_launch_plan(const tsr_table *t, const tsr_store *store, uint32_t op, uint64_t n, bool has_answers,
                           const tsr_call_state *call) {
  tsr_batch batch = tsr_store_batch(store, op, n, has_answers);
  batch.is_recorded = call->is_recorded;
  batch.cache_bytes = t->device->info.l2_bytes;
  return tsr_plan_batch(store->composition, &batch);
}

tsr_status tsr_launch(const tsr_table *t, tsr_store *store, uint32_t op, const tsr_bulk *bulk,
                      const tsr_call_state *call, tsr_error *error) {
  const tsr_work work = tsr_work_on(t, store, call->stream, error);
  tsr_stages stages = tsr_launch_plan(t, store, op, bulk->n, tsr_wants_answers(bulk), call);
  const bool by_pages = stages.order == TSR_ORDER_PAGES, inserts = op == TSR_BULK_insert;
  bool began = false;
  if (bulk->spans.made && stages.order == TSR_ORDER_ZONES) stages.order = TSR_ORDER_NONE; /* spans are as they came */
  tsr_status status = TSR_OK;
  if (bulk->n == 0) return TSR_OK;
  if (by_pages && !stages.travels) status = tsr_pages_insert(&work, &stages, bulk, &began);
  if (status == TSR_OK) status = mark(&work, &stages, bulk, &began);
  if (status) return status;
  if (!began) status = place(&work, &stages, op, bulk, &began);
  if (status == TSR_OK && began && inserts && by_pages) store->paged_keys += bulk->n;
  if (status == TSR_OK && began && stages.order == TSR_ORDER_ZONES)
    __atomic_fetch_add(&store->zoned_keys, bulk->n, __ATOMIC_RELAXED); /* as in tsr_call_end */
  if (inserts || op == TSR_BULK_find_or_insert || op == TSR_BULK_apply || op == TSR_BULK_apply_inserts)
    store->is_clear = false;
  if (inserts) store->held += bulk->n;
  if (status || began) return status;
  return by_pages && inserts ? tsr_work_insert(&work, bulk) : tsr_work_random(&work, op, bulk);
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
  const tsr_stages stages = tsr_launch_plan(t, store, op, bulk->n, tsr_wants_answers(bulk), &call);
  const bool may_leave = stages.combines && bulk->results && !tsr_works_alone(&stages);
  if (status || !may_leave || tally->hits + tally->not_placed == bulk->n) return status;
  const tsr_work work = tsr_work_on(t, store, stream, error);
  status = tsr_work_random(&work, TSR_BULK_combine, &whole);
  return status ? status : read_tally(t, whole.tally, stream, tally, error);
}

/* The largest count of 8 or 16 bits; otherwise 0. */
static uint64_t narrow_most(const tsr_table *t) {
  const uint32_t policy = t->store.composition->shape.duplicates;
  return policy == TSR_DUPLICATES_COUNT_8 ? UINT8_MAX : policy == TSR_DUPLICATES_COUNT_16 ? UINT16_MAX : 0;
}

bool tsr_launch_tells_of_values(const tsr_table *t) { return narrow_most(t) != 0; }

tsr_status tsr_launch_tell_of_values(const tsr_table *t, uint32_t op, const tsr_bulk *bulk, void *stream,
                                     tsr_error *error) {
  const bool inserts = op == TSR_BULK_insert || op == TSR_BULK_find_or_insert || op == TSR_BULK_apply;
  if (!inserts || !bulk->values || !bulk->n || !narrow_most(t)) return TSR_OK;
  const uint32_t type =
      t->store.composition->shape.payload_bits == 64 ? (uint32_t)TSR_AGGREGATE_U64 : (uint32_t)TSR_AGGREGATE_U32;
  const tsr_aggregate_step step = {.n = bulk->n,
                                   .column = {.values = bulk->values, .type = type},
                                   .sums = &bulk->tally->overflows,
                                   .most = narrow_most(t),
                                   .operations = bulk->operations,
                                   .last = TSR_APPLY_REPLACE};
  return t->backend->step(t->device, NULL, &tsr_aggregate_steps.step[TSR_AGGREGATE_pass], &step, step.n, stream, error);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The operations of a table of one store (operate.h): their order, host arrays, and which launches each is made of. What an
 * operation does to a key is in kernels/decide.cuh. Read next: launch.h, stage.h, order.h.
 */
#include "core/table/operate.h"

#include <stdlib.h>

#include "core/batch/group.h"
#include "core/table/capture.h"
#include "core/table/form.h"
#include "core/table/growth.h"
#include "core/table/launch.h"
#include "core/table/order.h"
#include "core/table/stage.h"
#include "core/table/wide.h"

static tsr_status launch(tsr_table *t, uint32_t op, const tsr_bulk *bulk, void *stream, tsr_error *error) {
  return tsr_launch(t, &t->store, op, bulk, stream, error);
}

/* Counts each key's pairs, sums the counts to places, and writes the values there. The count may note a value of each key,
 * so that keys with one need no second walk. */
static tsr_status launch_gather(tsr_table *t, tsr_bulk *bulk, void *stream, tsr_error *error) {
  const uint32_t op = tsr_counts_by(&t->store);
  const uint64_t note_bytes =
      t->store.composition->facts.chain_first ? sizeof(uint64_t) : t->store.composition->shape.payload_bits / 8;
  tsr_bulk counting = *bulk;
  void *notes = NULL;
  tsr_status status = TSR_OK;
  if (op == TSR_BULK_note && bulk->values_out && bulk->n)
    status = t->backend->allocate_in(t->device, bulk->n * note_bytes, stream, &notes, error);
  if (status) return status;
  counting.values_out = notes;
  status = launch(t, op, &counting, stream, error);
  if (status == TSR_OK) status = t->backend->prefix_sum(t->device, bulk->counts, bulk->n, stream, error);
  if (status == TSR_OK && bulk->values_out) {
    bulk->values = notes;
    bulk->tally = t->tallies + TSR_TALLY_UNREAD;
    status = launch(t, TSR_BULK_retrieve, bulk, stream, error);
  }
  if (!notes) return status;
  const tsr_status freed = t->backend->free_in(t->device, notes, stream, status ? NULL : error);
  return status ? status : freed;
}

/* Inserts, and when no insert moves pairs any more combines what was offered for keys that were present
 * (kernels/ops.cuh). The results say which items are left to combine; where the caller wants none, there are some for that
 * while it takes. */
static tsr_status launch_insert_then_combine(tsr_table *t, tsr_bulk *bulk, void *stream, tsr_error *error) {
  static const uint32_t ops[] = {TSR_BULK_insert, TSR_BULK_combine};
  const bool has_results = bulk->results != NULL;
  tsr_status status = TSR_OK;
  tsr_launch_expect(t, ops, 2, bulk->n);
  if (!has_results) status = t->backend->allocate_in(t->device, bulk->n, stream, (void **)&bulk->results, error);
  if (status) return status;
  status = launch(t, TSR_BULK_insert, bulk, stream, error);
  if (status == TSR_OK) status = tsr_table_leave(t, stream, error);
  if (status == TSR_OK) status = tsr_table_enter(t, TSR_PHASE_COMBINE, stream, error);
  if (status == TSR_OK) status = launch(t, TSR_BULK_combine, bulk, stream, error);
  if (has_results) return status;
  tsr_status freed = t->backend->free_in(t->device, bulk->results, stream, status ? NULL : error);
  return status ? status : freed;
}

/* Inserts by random access, once what neighbouring items offer for one key is combined, where that pays (group.h). */
static tsr_status launch_insert_at_random(tsr_table *t, const tsr_bulk *bulk, void *stream, tsr_error *error) {
  tsr_bulk made = *bulk;
  void *memory;
  tsr_status status = tsr_spans_make(t, &made, stream, &memory, error);
  if (status == TSR_OK)
    status = t->store.composition->facts.combines_later ? launch_insert_then_combine(t, &made, stream, error)
                                                        : launch(t, TSR_BULK_insert, &made, stream, error);
  if (!memory) return status;
  if (status == TSR_OK) status = tsr_spans_answer(t, bulk, &made, stream, memory, error);
  const tsr_status freed = t->backend->free_in(t->device, memory, stream, status ? NULL : error);
  return status ? status : freed;
}

/* Where inserts and erases take turns: its erases and finds, then its inserts. The items of a call have no order, so this
 * one is as good as any. */
static tsr_status launch_apply(tsr_table *t, tsr_bulk *bulk, void *stream, tsr_error *error) {
  tsr_status status = launch(t, TSR_BULK_apply, bulk, stream, error);
  if (status == TSR_OK) status = tsr_table_leave(t, stream, error);
  if (status == TSR_OK) status = tsr_table_enter(t, TSR_PHASE_INSERT, stream, error);
  return status ? status : launch(t, TSR_BULK_apply_inserts, bulk, stream, error);
}

/* Where the report counts the items of an operation; NULL: each as what it is, on the device. */
static uint64_t *counter_of(tsr_table *t, uint32_t op) {
  switch (op) {
  case TSR_BULK_insert:
  case TSR_BULK_find_or_insert:
    return &t->insert_keys;
  case TSR_BULK_erase:
  case TSR_BULK_erase_pair:
    return &t->erase_keys;
  case TSR_BULK_apply:
    return NULL;
  default:
    return &t->find_keys;
  }
}

/* The launches that a request is made of. */
static tsr_status launch_all(tsr_table *t, const tsr_request *r, tsr_bulk *bulk, tsr_error *error) {
  if (r->op == TSR_BULK_retrieve) return launch_gather(t, bulk, r->stream, error);
  if (r->op == TSR_BULK_insert && !tsr_launches_pages(&t->store, r->op, r->n))
    return launch_insert_at_random(t, bulk, r->stream, error);
  if (r->op == TSR_BULK_apply && TSR_TAKES_TURNS(&t->store.composition->shape))
    return launch_apply(t, bulk, r->stream, error);
  return launch(t, r->op, bulk, r->stream, error);
}

/* The caller's arrays, wherever they lie. */
enum { KEYS, VALUES, VALUES_OUT, UNPLACED_KEYS, UNPLACED_VALUES, RESULTS, COUNTS, OPERATIONS, TIMES, ARRAYS };

static void list_arrays(const tsr_table *t, const tsr_request *r, tsr_array arrays[ARRAYS]) {
  const tsr_shape *shape = &t->store.composition->shape;
  const uint64_t n = r->n, key_bytes = shape->key_bits / 8, value_bytes = shape->value_bits / 8;
  const bool gathers = r->op == TSR_BULK_retrieve;
  /* of values, retrieving writes those that there are, and apply those of its finds */
  const tsr_array_use finds = gathers || r->op == TSR_BULK_apply ? TSR_ARRAY_PARTLY_WRITTEN : TSR_ARRAY_WRITTEN;
  arrays[KEYS] = (tsr_array){(void *)(uintptr_t)r->keys, NULL, n * key_bytes, false, TSR_ARRAY_READ};
  arrays[VALUES] = (tsr_array){(void *)(uintptr_t)r->values, NULL, n * value_bytes, false, TSR_ARRAY_READ};
  arrays[VALUES_OUT] = (tsr_array){r->values_out, NULL, (gathers ? r->room : n) * value_bytes, false, finds};
  arrays[UNPLACED_KEYS] = (tsr_array){r->unplaced_keys, NULL, n * key_bytes, false, TSR_ARRAY_PARTLY_WRITTEN};
  arrays[UNPLACED_VALUES] = (tsr_array){r->unplaced_values, NULL, n * value_bytes, false, TSR_ARRAY_PARTLY_WRITTEN};
  arrays[RESULTS] = (tsr_array){r->results, NULL, n, false, TSR_ARRAY_WRITTEN};
  arrays[COUNTS] = (tsr_array){r->counts, NULL, (gathers ? n + 1 : n) * sizeof *r->counts, false, TSR_ARRAY_WRITTEN};
  arrays[OPERATIONS] = (tsr_array){(void *)(uintptr_t)r->operations, NULL, n, false, TSR_ARRAY_READ};
  arrays[TIMES] = (tsr_array){r->times, NULL, n * 2 * sizeof *r->times, false, TSR_ARRAY_WRITTEN};
}

static tsr_bulk bulk_of(const tsr_table *t, const tsr_request *r, const tsr_array arrays[ARRAYS]) {
  const uint32_t tally = r->op == TSR_BULK_retrieve ? TSR_BULK_count : r->op;
  return (tsr_bulk){.state = t->store.state,
                    .n = r->n,
                    .keys = arrays[KEYS].devices,
                    .values = arrays[VALUES].devices,
                    .values_out = arrays[VALUES_OUT].devices,
                    .unplaced_keys = arrays[UNPLACED_KEYS].devices,
                    .unplaced_values = arrays[UNPLACED_VALUES].devices,
                    .results = arrays[RESULTS].devices,
                    .counts = arrays[COUNTS].devices,
                    .operations = arrays[OPERATIONS].devices,
                    .times = arrays[TIMES].devices,
                    .room = r->room,
                    .missing = r->missing,
                    .tells_presence = r->tells_presence,
                    .tally = r->tally ? r->tally : t->tallies + tally};
}

/* Brings what lies on the host to the device, launches, and brings answers back. */
static tsr_status operate(tsr_table *t, const tsr_request *r, tsr_error *error) {
  tsr_array arrays[ARRAYS];
  if (r->n == 0 && r->op != TSR_BULK_retrieve) return TSR_OK; /* retrieving writes an offset for no key, too */
  list_arrays(t, r, arrays);
  /* What was captured is the call before: tsr_table_enter learns it of this one, and a graph has no phases. */
  t->store.is_captured = false;
  const bool is_alone = tsr_launches_alone(&t->store, r->op, r->n);
  tsr_status status = tsr_table_enter(t, is_alone ? TSR_PHASE_ALONE : r->phase, r->stream, error);
  if (status == TSR_OK && t->store.is_captured) status = tsr_capture_check(t, r, arrays, ARRAYS, error);
  for (uint32_t i = 0; status == TSR_OK && i < ARRAYS; i++) {
    arrays[i].devices = arrays[i].users;
    if (!r->is_reached) status = tsr_stage_in(t, &arrays[i], r->stream, error);
  }
  if (status == TSR_OK) {
    tsr_bulk bulk = bulk_of(t, r, arrays);
    status = launch_all(t, r, &bulk, error);
  }
  bool any_staged = false;
  for (uint32_t i = 0; i < ARRAYS; i++) {
    tsr_status copied = tsr_stage_out(t, &arrays[i], r->stream, status != TSR_OK, status ? NULL : error);
    if (status == TSR_OK) status = copied;
    any_staged = any_staged || arrays[i].staged;
  }
  if (status == TSR_OK) status = tsr_table_leave(t, r->stream, error);
  /* The caller's host arrays are free again, and no later phase knows of a call that failed. */
  if ((any_staged || status) && !t->store.is_captured) {
    tsr_status waited = t->backend->synchronize(t->device, r->stream, status ? NULL : error);
    if (status == TSR_OK) status = waited;
  }
  uint64_t *counter = r->tally || t->store.is_captured ? NULL : counter_of(t, r->op);
  if (status == TSR_OK && counter) *counter += r->n;
  return status;
}

static tsr_status insert_growing(tsr_table *t, const tsr_request *r, tsr_error *error) {
  if (t->store.composition->shape.has_lists) {
    tsr_status status = tsr_grow_for(t, r->n, r->stream, error);
    return status ? status : operate(t, r, error);
  }
  const tsr_call call = {.stream = r->stream,
                         .results = r->results,
                         .unplaced_keys = r->unplaced_keys,
                         .unplaced_values = r->unplaced_values};
  return tsr_insert_growing(t, r->op, r->n, r->keys, r->values, &call, error);
}

/* Where a value is written after its key it can be read when the inserts are done; so it is after growing. */
static tsr_status find_or_insert(tsr_table *t, const tsr_request *r, tsr_error *error) {
  const bool grows = t->store.composition->settings.growth != 0;
  const bool reads_later = r->values_out && (grows || !t->store.composition->shape.whole_pairs);
  tsr_request inserts = *r;
  if (reads_later) inserts.values_out = NULL;
  tsr_status status = grows ? insert_growing(t, &inserts, error) : operate(t, &inserts, error);
  if (status || !reads_later) return status;
  return operate(t,
                 &(tsr_request){.op = TSR_BULK_find,
                                .phase = TSR_PHASE_FIND,
                                .n = r->n,
                                .keys = r->keys,
                                .values_out = r->values_out,
                                .missing = r->missing,
                                .stream = r->stream,
                                .tally = t->tallies + TSR_TALLY_UNREAD},
                 error);
}

static tsr_status operate_single(tsr_table *t, const tsr_request *r, tsr_error *error) {
  const bool inserts = r->op == TSR_BULK_insert || r->op == TSR_BULK_find_or_insert || r->op == TSR_BULK_apply;
  if (inserts && t->store.composition->settings.growth) {
    tsr_status status = tsr_capture_refuse(
        t, r->stream, "inserts into a table that grows wait, to see what fits: use growth = none", error);
    if (status) return status;
  }
  const bool erases = r->op == TSR_BULK_erase || r->op == TSR_BULK_erase_pair || r->op == TSR_BULK_apply;
  if (erases && r->n) t->store.state.has_erased = t->wide.has_erased = 1;
  if (r->op == TSR_BULK_apply) t->knows_pairs = false;
  if (r->op == TSR_BULK_find_or_insert) return find_or_insert(t, r, error);
  if (r->op == TSR_BULK_insert && t->store.composition->settings.growth) return insert_growing(t, r, error);
  return operate(t, r, error);
}

tsr_status tsr_single_operate(tsr_table *t, const tsr_request *r, tsr_error *error) {
  return tsr_is_wide(t) ? tsr_wide_operate(t, r, operate_single, error) : operate_single(t, r, error);
}

tsr_request tsr_inserting(const tsr_table *t, uint32_t op, uint64_t n, const void *keys, const void *values,
                          const tsr_call *call) {
  const bool has_values = t->store.composition->shape.value_bits > 0;
  return (tsr_request){.op = op,
                       .phase = TSR_PHASE_INSERT,
                       .n = n,
                       .keys = keys,
                       .values = has_values ? values : NULL,
                       .unplaced_keys = call->unplaced_keys,
                       .unplaced_values = has_values ? call->unplaced_values : NULL,
                       .results = call->results,
                       .missing = call->missing,
                       .stream = call->stream};
}

tsr_status tsr_insert_counted(tsr_table *t, uint64_t n, const void *keys, const void *values, const tsr_call *call,
                              tsr_tally *tally, tsr_error *error) {
  tsr_tally *counters = t->tallies + TSR_TALLY_TOLD;
  *tally = (tsr_tally){.hits = 0};
  if (n == 0) return TSR_OK;
  tsr_request request = tsr_inserting(t, TSR_BULK_insert, n, keys, values, call);
  request.tally = counters;
  tsr_status status = t->backend->fill(t->device, counters, 0, sizeof *counters, call->stream, error);
  if (status == TSR_OK)
    status = tsr_is_wide(t) ? tsr_wide_operate(t, &request, operate, error) : operate(t, &request, error);
  if (status == TSR_OK) status = t->backend->copy(t->device, tally, counters, sizeof *tally, call->stream, error);
  return status ? status : t->backend->synchronize(t->device, call->stream, error);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables: the public operations (tessera.h) over a backend (backend.h). Here live the order of operations, host arrays
 * and the report; what an operation does to a key is in kernels/decide.cuh. Read next: table.h, store.c (memory).
 */
#include <stdlib.h>
#include <string.h>

#include "core/table/table.h"

#include "core/sized.h"
#include "core/table/capture.h"
#include "core/table/filter.h"
#include "core/table/form.h"
#include "core/table/growth.h"
#include "core/table/launch.h"
#include "core/table/order.h"
#include "core/table/spans.h"
#include "core/table/stage.h"
#include "core/table/store.h"
#include "core/table/wide.h"

/* ---- What it is ------------------------------------------------------------------------------- */

/* Of all memory; rows may be more than the composition plans, since those that are there stay. */
static uint64_t bytes_of(const tsr_table *t) {
  const tsr_composition *composition = t->store.composition;
  return tsr_composition_bytes(composition) - tsr_composition_row_bytes(composition) +
         t->wide.count * (composition->settings.value_bytes + sizeof *t->wide.spare) + t->wide.bit_rows / 4;
}

void tsr_table_describe(const tsr_table *t, tsr_table_info *info) {
  tsr_table_info ours = {.backend = "", .device = "", .backend_reason = "", .code = ""};
  if (!info) return;
  if (t) t->form->describe(t, &ours);
  tsr_hand_over(info, &ours, sizeof ours);
}

void tsr_single_describe(const tsr_table *t, tsr_table_info *info) {
  const tsr_shape *shape = &t->store.composition->shape;
  const tsr_code *code = t->store.code;
  *info =
      (tsr_table_info){.backend = t->backend->name,
                       .device = t->device->info.name,
                       .backend_reason = t->reason,
                       .key_bits = shape->key_bits,
                       .value_bits = 8 * tsr_composition_value_bytes(t->store.composition),
                       .capacity = shape->capacity,
                       .seed = shape->seed,
                       .slots = tsr_composition_slots(t->store.composition),
                       .buckets = shape->buckets,
                       .bytes = bytes_of(t),
                       .bucket_slots = shape->bucket_slots,
                       .bucket_bytes = shape->bucket_bytes,
                       .tile_lanes = shape->tile_lanes,
                       .host_bytes = tsr_composition_host_bytes(t->store.composition),
                       .window_bytes = tsr_composition_window_bytes(t->store.composition),
                       .statistics = shape->statistics != 0,
                       .code = t->backend->program_describe && code ? t->backend->program_describe(code->program) : ""};
}

/* ---- Operations ------------------------------------------------------------------------------ */

enum { ARRAYS = 9 };

static tsr_status launch(tsr_table *t, uint32_t op, const tsr_bulk *bulk, void *stream, tsr_error *error) {
  return tsr_launch(t, &t->store, op, bulk, stream, error);
}

/* Counts each key's pairs, sums the counts to places, and writes the values there. */
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

/* Inserts, and when no insert moves pairs any more combines what was offered for keys that were present: core/kernels,
 * ops.cuh. Between the two it is known by the results which are left; if the caller wants none, there are some for
 * that. */
static tsr_status launch_insert(tsr_table *t, tsr_bulk *bulk, void *stream, tsr_error *error) {
  const bool has_results = bulk->results != NULL;
  tsr_status status = TSR_OK;
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

/* By random access. */
static tsr_status launch_insert_at_random(tsr_table *t, tsr_bulk *bulk, void *stream, tsr_error *error) {
  void *memory;
  tsr_status status = tsr_spans_make(t, bulk, stream, &memory, error);
  if (status == TSR_OK)
    status = t->store.composition->facts.combines_later ? launch_insert(t, bulk, stream, error)
                                                        : launch(t, TSR_BULK_insert, bulk, stream, error);
  if (!memory) return status;
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

static tsr_status operate(tsr_table *t, const tsr_request *r, tsr_error *error) {
  const bool gathers = r->op == TSR_BULK_retrieve;
  uint64_t key_bytes = t->store.composition->shape.key_bits / 8,
           value_bytes = t->store.composition->shape.value_bits / 8;
  /* of values, retrieving writes those that there are, and apply those of its finds */
  const tsr_array_use finds = gathers || r->op == TSR_BULK_apply ? TSR_ARRAY_PARTLY_WRITTEN : TSR_ARRAY_WRITTEN;
  tsr_array arrays[ARRAYS] = {
      {(void *)(uintptr_t)r->keys, NULL, r->n * key_bytes, false, TSR_ARRAY_READ},
      {(void *)(uintptr_t)r->values, NULL, r->n * value_bytes, false, TSR_ARRAY_READ},
      {r->values_out, NULL, (gathers ? r->room : r->n) * value_bytes, false, finds},
      {r->unplaced_keys, NULL, r->n * key_bytes, false, TSR_ARRAY_PARTLY_WRITTEN},
      {r->unplaced_values, NULL, r->n * value_bytes, false, TSR_ARRAY_PARTLY_WRITTEN},
      {r->results, NULL, r->n, false, TSR_ARRAY_WRITTEN},
      {r->counts, NULL, (gathers ? r->n + 1 : r->n) * sizeof *r->counts, false, TSR_ARRAY_WRITTEN},
      {(void *)(uintptr_t)r->operations, NULL, r->n, false, TSR_ARRAY_READ},
      {r->times, NULL, r->n * 2 * sizeof *r->times, false, TSR_ARRAY_WRITTEN}};
  if (r->n == 0 && !gathers) return TSR_OK;
  const bool by_pages = tsr_launches_pages(&t->store, r->op, r->n);
  const bool is_alone = tsr_launches_alone(&t->store, r->op, r->n);
  tsr_status status = tsr_table_enter(t, is_alone ? TSR_PHASE_ALONE : r->phase, r->stream, error);
  if (status == TSR_OK && t->store.is_captured) status = tsr_capture_check(t, r, arrays, ARRAYS, error);
  for (uint32_t i = 0; status == TSR_OK && i < ARRAYS; i++) {
    arrays[i].devices = arrays[i].users;
    if (!r->is_reached) status = tsr_stage_in(t, &arrays[i], r->stream, error);
  }
  if (status == TSR_OK) {
    tsr_bulk bulk = {.state = t->store.state,
                     .n = r->n,
                     .keys = arrays[0].devices,
                     .values = arrays[1].devices,
                     .values_out = arrays[2].devices,
                     .unplaced_keys = arrays[3].devices,
                     .unplaced_values = arrays[4].devices,
                     .results = arrays[5].devices,
                     .counts = arrays[6].devices,
                     .operations = arrays[7].devices,
                     .times = arrays[8].devices,
                     .room = r->room,
                     .missing = r->missing,
                     .tells_presence = r->tells_presence,
                     .tally = r->tally ? r->tally : t->tallies + (gathers ? TSR_BULK_count : r->op)};
    if (gathers)
      status = launch_gather(t, &bulk, r->stream, error);
    else if (r->op == TSR_BULK_insert && !by_pages)
      status = launch_insert_at_random(t, &bulk, r->stream, error);
    else if (r->op == TSR_BULK_apply && TSR_TAKES_TURNS(&t->store.composition->shape))
      status = launch_apply(t, &bulk, r->stream, error);
    else
      status = launch(t, r->op, &bulk, r->stream, error);
  }
  bool any_staged = false;
  for (uint32_t i = 0; i < ARRAYS; i++) {
    tsr_status copied = tsr_stage_out(t, &arrays[i], r->stream, status != TSR_OK, status ? NULL : error);
    if (status == TSR_OK) status = copied;
    any_staged = any_staged || arrays[i].staged;
  }
  if (status == TSR_OK) status = tsr_table_leave(t, r->stream, error);
  if ((any_staged || status) &&
      !t->store.is_captured) { /* the caller's host arrays are free again; no later phase knows of a call that failed */
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

/* What a grid of 2^31 - 1 blocks can count. */
static const uint64_t keys_max = (uint64_t)INT32_MAX * TSR_BLOCK_THREADS;
_Static_assert(TSR_BLOCK_THREADS == 256, "tessera.h and README.md say how many keys a call may have");

static tsr_status check_arguments(const tsr_table *t, const char *call, uint64_t n, const void *keys,
                                  tsr_error *error) {
  if (!t) return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: the table is NULL", call);
  if (n && !keys)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: keys is NULL, but n = %llu", call, (unsigned long long)n);
  if (n > keys_max)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: n = %llu: at most 2^39 - 256 keys a call: split them", call,
                    (unsigned long long)n);
  return TSR_OK;
}

/* Checks what every call has, and takes its optional parts over into *known: *call then points there. */
static tsr_status take_call(const tsr_table *t, const char *name, uint64_t n, const void *keys, const tsr_call **call,
                            tsr_call *known, tsr_error *error) {
  tsr_status status = check_arguments(t, name, n, keys, error);
  if (status == TSR_OK) status = tsr_take_over(name, known, *call, sizeof *known, error);
  *call = known;
  return status;
}

/* The same for operations that may tell who was there. */
static tsr_status take_asking(const tsr_table *t, const char *name, uint64_t n, const void *keys, const tsr_call **call,
                              tsr_call *known, tsr_error *error) {
  tsr_status status = take_call(t, name, n, keys, call, known, error);
  if (status || !known->present || !known->results) return status;
  return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: both present and results are asked for: one array takes either", name);
}

/* An insert of a counter without values counts each key once. */
static bool needs_values(const tsr_table *t) {
  const tsr_shape *shape = &t->store.composition->shape;
  return shape->value_bits && !TSR_POLICY_COUNTS(shape->duplicates);
}

tsr_status tsr_check_insert(const tsr_table *t, const char *call, uint64_t n, const void *keys, const void *values,
                            tsr_error *error) {
  tsr_status status = check_arguments(t, call, n, keys, error);
  if (status == TSR_OK && n && needs_values(t) && !values)
    status = tsr_fail(error, TSR_BAD_ARGUMENT, "%s: values is NULL, but the table has values", call);
  if (status == TSR_OK && !t->store.composition->shape.value_bits && values)
    status = tsr_fail(error, TSR_BAD_ARGUMENT,
                      "%s: the table is a set or multiset and would drop the values: pass NULL, or make a map", call);
  return status;
}

static tsr_request inserting(const tsr_table *t, uint32_t op, uint64_t n, const void *keys, const void *values,
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

tsr_status tsr_insert(tsr_table *t, uint64_t n, const void *keys, const void *values, const tsr_call *call,
                      tsr_error *error) {
  tsr_status status = tsr_check_insert(t, "tsr_insert", n, keys, values, error);
  if (status) return status;
  tsr_call known;
  status = tsr_take_over("tsr_insert", &known, call, sizeof known, error);
  if (status) return status;
  const tsr_request request = inserting(t, TSR_BULK_insert, n, keys, values, &known);
  return t->form->operate(t, &request, error);
}

tsr_status tsr_insert_counted(tsr_table *t, uint64_t n, const void *keys, const void *values, const tsr_call *call,
                              tsr_tally *tally, tsr_error *error) {
  tsr_tally *counters = t->tallies + TSR_TALLY_TOLD;
  *tally = (tsr_tally){.hits = 0};
  if (n == 0) return TSR_OK;
  tsr_request request = inserting(t, TSR_BULK_insert, n, keys, values, call);
  request.tally = counters;
  tsr_status status = t->backend->fill(t->device, counters, 0, sizeof *counters, call->stream, error);
  if (status == TSR_OK)
    status = tsr_is_wide(t) ? tsr_wide_operate(t, &request, operate, error) : operate(t, &request, error);
  if (status == TSR_OK) status = t->backend->copy(t->device, tally, counters, sizeof *tally, call->stream, error);
  return status ? status : t->backend->synchronize(t->device, call->stream, error);
}

tsr_status tsr_find_or_insert(tsr_table *t, uint64_t n, const void *keys, const void *offered, void *values,
                              const tsr_call *call, tsr_error *error) {
  tsr_status status = tsr_refuse_filter(t, "tsr_find_or_insert", error);
  if (status == TSR_OK) status = tsr_check_insert(t, "tsr_find_or_insert", n, keys, offered, error);
  if (status) return status;
  const tsr_shape *shape = &t->store.composition->shape;
  tsr_call known;
  status = tsr_take_over("tsr_find_or_insert", &known, call, sizeof known, error);
  if (status) return status;
  if (shape->duplicates == TSR_DUPLICATES_PROMISE_UNIQUE)
    return tsr_fail(error, TSR_UNSUPPORTED,
                    "tsr_find_or_insert: duplicates = promise_unique looks for no key: use another policy, first say");
  if (TSR_POLICY_COUNTS(shape->duplicates))
    return tsr_fail(error, TSR_UNSUPPORTED,
                    "tsr_find_or_insert: a counter counts each key that it is given: use tsr_insert, then tsr_find");
  if (shape->duplicates == TSR_DUPLICATES_KEEP || shape->kind == TSR_KIND_MULTIMAP)
    return tsr_fail(error, TSR_UNSUPPORTED,
                    "tsr_find_or_insert: the table keeps every pair, so that no key counts as present: use tsr_insert, "
                    "or kind = set or map");
  tsr_request request = inserting(t, TSR_BULK_find_or_insert, n, keys, offered, &known);
  request.values_out = shape->value_bits ? values : NULL;
  return t->form->operate(t, &request, error);
}

tsr_status tsr_find(tsr_table *t, uint64_t n, const void *keys, void *values, const tsr_call *call, tsr_error *error) {
  tsr_call known;
  tsr_status status = take_asking(t, "tsr_find", n, keys, &call, &known, error);
  if (status) return status;
  if (!t->store.composition->shape.value_bits)
    return tsr_fail(error, TSR_UNSUPPORTED, "tsr_find: the table is a set and has no values: use tsr_contains");
  if (n && !values) return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_find: values is NULL");
  return t->form->operate(t,
                          &(tsr_request){.op = TSR_BULK_find,
                                         .phase = TSR_PHASE_FIND,
                                         .n = n,
                                         .keys = keys,
                                         .values_out = values,
                                         .results = call->present ? call->present : call->results,
                                         .tells_presence = call->present != NULL,
                                         .missing = call->missing,
                                         .stream = call->stream},
                          error);
}

tsr_status tsr_contains(tsr_table *t, uint64_t n, const void *keys, uint8_t *present, const tsr_call *call,
                        tsr_error *error) {
  tsr_call known;
  tsr_status status = take_call(t, "tsr_contains", n, keys, &call, &known, error);
  if (status) return status;
  if (n && !present) return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_contains: present is NULL");
  return t->form->operate(t,
                          &(tsr_request){.op = TSR_BULK_contains,
                                         .phase = TSR_PHASE_FIND,
                                         .n = n,
                                         .keys = keys,
                                         .results = present,
                                         .stream = known.stream},
                          error);
}

tsr_status tsr_count_all(tsr_table *t, uint64_t n, const void *keys, uint64_t *counts, const tsr_call *call,
                         tsr_error *error) {
  tsr_call known;
  tsr_status status = take_call(t, "tsr_count_all", n, keys, &call, &known, error);
  if (status) return status;
  if (n && !counts)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_count_all: counts is NULL: it takes a number for each key");
  return t->form->operate(t,
                          &(tsr_request){.op = TSR_BULK_count,
                                         .phase = TSR_PHASE_FIND,
                                         .n = n,
                                         .keys = keys,
                                         .results = call->results,
                                         .counts = counts,
                                         .stream = call->stream},
                          error);
}

tsr_status tsr_find_all(tsr_table *t, uint64_t n, const void *keys, uint64_t *offsets, uint64_t room, void *values,
                        const tsr_call *call, tsr_error *error) {
  tsr_call known;
  tsr_status status = take_call(t, "tsr_find_all", n, keys, &call, &known, error);
  if (status) return status;
  if (!offsets) return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_find_all: offsets is NULL: it takes n + 1 numbers");
  if (!t->store.composition->shape.value_bits)
    return tsr_fail(error, TSR_UNSUPPORTED, "tsr_find_all: the table has no values: use tsr_count_all");
  if (room && !values)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_find_all: values is NULL, but room = %llu", (unsigned long long)room);
  if (room > 1ull << 48)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_find_all: room = %llu: at most 2^48 values a call",
                    (unsigned long long)room);
  return t->form->operate(t,
                          &(tsr_request){.op = TSR_BULK_retrieve,
                                         .phase = TSR_PHASE_FIND,
                                         .n = n,
                                         .keys = keys,
                                         .values_out = room ? values : NULL,
                                         .results = call->results,
                                         .counts = offsets,
                                         .room = room,
                                         .missing = call->missing,
                                         .stream = call->stream},
                          error);
}

tsr_status tsr_erase(tsr_table *t, uint64_t n, const void *keys, const tsr_call *call, tsr_error *error) {
  tsr_call known;
  tsr_status status = tsr_refuse_filter(t, "tsr_erase", error);
  if (status == TSR_OK) status = take_asking(t, "tsr_erase", n, keys, &call, &known, error);
  if (status) return status;
  return t->form->operate(t,
                          &(tsr_request){.op = TSR_BULK_erase,
                                         .phase = TSR_PHASE_ERASE,
                                         .n = n,
                                         .keys = keys,
                                         .results = call->present ? call->present : call->results,
                                         .tells_presence = call->present != NULL,
                                         .stream = call->stream},
                          error);
}

tsr_status tsr_erase_pairs(tsr_table *t, uint64_t n, const void *keys, const void *values, const tsr_call *call,
                           tsr_error *error) {
  tsr_call known;
  tsr_status status = tsr_refuse_filter(t, "tsr_erase_pairs", error);
  if (status == TSR_OK) status = take_asking(t, "tsr_erase_pairs", n, keys, &call, &known, error);
  if (status) return status;
  if (t->store.composition->facts.chain_first)
    return tsr_fail(error, TSR_UNSUPPORTED,
                    "tsr_erase_pairs: with values = buckets a key's values are erased together: use tsr_erase, or "
                    "values = inline");
  if (!t->store.composition->shape.value_bits) values = NULL;
  return t->form->operate(t,
                          &(tsr_request){.op = TSR_BULK_erase_pair,
                                         .phase = TSR_PHASE_ERASE,
                                         .n = n,
                                         .keys = keys,
                                         .values = values,
                                         .results = call->present ? call->present : call->results,
                                         .tells_presence = call->present != NULL,
                                         .stream = call->stream},
                          error);
}

_Static_assert((int)TSR_INSERTED == (int)TSR_RESULT_INSERTED && (int)TSR_PRESENT == (int)TSR_RESULT_PRESENT &&
                   (int)TSR_REPLACED == (int)TSR_RESULT_REPLACED && (int)TSR_COMBINED == (int)TSR_RESULT_COMBINED &&
                   (int)TSR_NOT_PLACED == (int)TSR_RESULT_NOT_PLACED && (int)TSR_FOUND == (int)TSR_RESULT_FOUND &&
                   (int)TSR_MISSING == (int)TSR_RESULT_MISSING && (int)TSR_ERASED == (int)TSR_RESULT_ERASED &&
                   (int)TSR_RESULTS == (int)TSR_ERASED + 1,
               "one number for a result");
_Static_assert((int)TSR_OP_INSERT == (int)TSR_APPLY_INSERT && (int)TSR_OP_REPLACE == (int)TSR_APPLY_REPLACE &&
                   (int)TSR_OP_ERASE == (int)TSR_APPLY_ERASE && (int)TSR_OP_FIND == (int)TSR_APPLY_FIND,
               "one number for an operation");

tsr_status tsr_apply(tsr_table *t, uint64_t n, const uint8_t *operations, const void *keys, const void *values,
                     void *values_out, const tsr_call *call, tsr_error *error) {
  tsr_call known;
  tsr_status status = take_call(t, "tsr_apply", n, keys, &call, &known, error);
  if (status) return status;
  const tsr_shape *shape = &t->store.composition->shape;
  if (shape->concurrency != TSR_CONCURRENCY_MIXED)
    return tsr_fail(
        error, TSR_UNSUPPORTED,
        "tsr_apply: the table is of concurrency = phased, where inserts, finds and erases must not overlap: "
        "use concurrency = mixed, or one call for each kind of operation");
  if (n && !operations)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_apply: operations is NULL, but n = %llu", (unsigned long long)n);
  if (n && ((needs_values(t) && !values) || (shape->value_bits && !values_out)))
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_apply: %s is NULL, but the table has values",
                    needs_values(t) && !values ? "values" : "values_out");
  if (!shape->value_bits) values = values_out = NULL;
  return t->form->operate(
      t,
      &(tsr_request){.op = TSR_BULK_apply,
                     .phase = TSR_TAKES_TURNS(&t->store.composition->shape) ? TSR_PHASE_ERASE : TSR_PHASE_MIXED,
                     .n = n,
                     .operations = operations,
                     .keys = keys,
                     .values = values,
                     .values_out = values_out,
                     .unplaced_keys = call->unplaced_keys,
                     .unplaced_values = shape->value_bits ? call->unplaced_values : NULL,
                     .results = call->results,
                     .times = call->times,
                     .missing = call->missing,
                     .stream = call->stream},
      error);
}

/* Runs an operation over all buckets. */
static tsr_status scan(tsr_table *t, uint32_t op, void *keys, void *values, tsr_tally *tally, tsr_error *error) {
  tsr_bulk bulk = {.n = tsr_composition_refs(t->store.composition), .keys_out = keys, .values_out = values};
  tsr_status status = tsr_table_enter(t, TSR_PHASE_ALONE, NULL, error);
  if (status == TSR_OK) status = tsr_launch_alone(t, &t->store, op, &bulk, NULL, tally, error);
  return status ? status : tsr_table_leave(t, NULL, error);
}

tsr_status tsr_size(tsr_table *t, uint64_t *size, tsr_error *error) {
  if (!t || !size) return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_size needs a table and a place for its size");
  tsr_status status = tsr_refuse_filter(t, "tsr_size", error);
  if (status) return status;
  return t->form->size(t, size, error);
}

tsr_status tsr_single_size(tsr_table *t, uint64_t *size, tsr_error *error) {
  tsr_tally tally;
  tsr_status status = scan(t, TSR_BULK_size, NULL, NULL, &tally, error);
  if (status == TSR_OK) *size = tally.hits;
  return status;
}

tsr_status tsr_table_usage(tsr_table *t, tsr_usage *usage, tsr_error *error) {
  if (!t || !usage)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_table_usage needs a table and a place for the numbers");
  tsr_usage ours;
  tsr_status status = tsr_refuse_filter(t, "tsr_table_usage", error);
  if (status == TSR_OK) status = t->form->use(t, &ours, error);
  if (status == TSR_OK) tsr_hand_over(usage, &ours, sizeof ours);
  return status;
}

tsr_status tsr_single_use(tsr_table *t, tsr_usage *usage, tsr_error *error) {
  const tsr_shape *shape = &t->store.composition->shape;
  tsr_tally tally;
  tsr_status status = scan(t, TSR_BULK_size, NULL, NULL, &tally, error);
  if (status) return status;
  const tsr_region *regions = t->store.composition->part[TSR_ROLE_LAYOUT].plan.regions;
  uint64_t buckets = shape->buckets + (shape->has_link ? tally.units : 0), bucket_bytes = 0;
  for (uint32_t i = 0; i < TSR_REGIONS_MAX && regions[i].name; i++) bucket_bytes += regions[i].bytes_per_bucket;
  const bool has_chains = t->store.composition->facts.chain_first != 0;
  const double held = ((double)(has_chains ? tally.keys : tally.hits) * shape->key_bits +
                       (double)tally.hits * 8 * tsr_composition_value_bytes(t->store.composition)) /
                      8;
  double bytes = (double)shape->buckets * (double)bucket_bytes + (double)tally.units * shape->unit_bytes +
                 (double)t->wide.count * (double)t->store.composition->settings.value_bytes;
  *usage = (tsr_usage){.pairs = tally.hits,
                       .tombstones = tally.tombstones,
                       .units = tally.units,
                       .slots = buckets * shape->bucket_slots,
                       .utilization = held / bytes,
                       .keys = tally.keys,
                       .density = held / (double)bytes_of(t)};
  return TSR_OK;
}

tsr_status tsr_flush(tsr_table *t, uint64_t *units, tsr_error *error) {
  if (!t) return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_flush: the table is NULL");
  tsr_status status = tsr_refuse_filter(t, "tsr_flush", error);
  if (status) return status;
  const tsr_shape *shape = &t->store.composition->shape;
  if (!shape->has_link || !shape->can_exchange || t->store.composition->facts.has_stash)
    return tsr_fail(error, TSR_UNSUPPORTED, "tsr_flush: %s: use tsr_rehash, which gets rid of erased slots too",
                    !shape->has_link ? "the layout's buckets do not link, so there are no lists to pack"
                    : t->store.composition->facts.has_stash ? "pairs in the stash would be cut off by empty slots"
                                                            : "the layout cannot exchange pairs");
  return t->form->flush(t, units, error);
}

tsr_status tsr_single_flush(tsr_table *t, uint64_t *units, tsr_error *error) {
  const tsr_shape *shape = &t->store.composition->shape;
  tsr_bulk bulk = {.n = shape->buckets + TSR_TAIL_RESERVED};
  tsr_tally tally;
  tsr_status status = tsr_table_enter(t, TSR_PHASE_ALONE, NULL, error);
  if (status == TSR_OK) status = tsr_launch_alone(t, &t->store, TSR_BULK_flush, &bulk, NULL, &tally, error);
  if (status == TSR_OK) status = tsr_table_leave(t, NULL, error);
  if (status) return status;
  t->store.state.has_erased = 0;
  if (units) *units = tally.units;
  return TSR_OK;
}

tsr_status tsr_export(tsr_table *t, uint64_t room, void *keys, void *values, uint64_t *size, tsr_error *error) {
  if (!t || !size || (room && !keys))
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_export needs a table, keys and a place for the size");
  tsr_status status = tsr_refuse_filter(t, "tsr_export", error);
  if (status == TSR_OK) status = tsr_size(t, size, error);
  if (status || *size == 0) return status;
  if (*size > room)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_export: the table holds %llu pairs, the arrays have room for %llu",
                    (unsigned long long)*size, (unsigned long long)room);
  return t->form->write_out(t, *size, keys, t->store.composition->shape.value_bits ? values : NULL, error);
}

tsr_status tsr_single_write_slots(tsr_table *t, uint64_t size, void *keys, void *values, tsr_error *error) {
  const tsr_shape *shape = &t->store.composition->shape;
  tsr_tally tally;
  tsr_array arrays[2] = {{keys, NULL, size * (shape->key_bits / 8), false, TSR_ARRAY_WRITTEN},
                         {values, NULL, size * (shape->value_bits / 8), false, TSR_ARRAY_WRITTEN}};
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; status == TSR_OK && i < 2; i++) status = tsr_stage_in(t, &arrays[i], NULL, error);
  if (status == TSR_OK) status = scan(t, TSR_BULK_export, arrays[0].devices, arrays[1].devices, &tally, error);
  for (uint32_t i = 0; i < 2; i++) {
    tsr_status copied = tsr_stage_out(t, &arrays[i], NULL, status != TSR_OK, status ? NULL : error);
    if (status == TSR_OK) status = copied;
  }
  return status ? status : t->backend->synchronize(t->device, NULL, error);
}

tsr_status tsr_single_write_out(tsr_table *t, uint64_t size, void *keys, void *values, tsr_error *error) {
  void *numbers = NULL;
  if (!tsr_is_wide(t) || !values) return tsr_single_write_slots(t, size, keys, values, error);
  tsr_status status = t->backend->allocate(t->device, size * sizeof(uint32_t), &numbers, error);
  if (status == TSR_OK) status = tsr_single_write_slots(t, size, keys, numbers, error);
  if (status == TSR_OK) status = tsr_wide_values(t, size, numbers, values, 0, error);
  if (numbers) t->backend->free(t->device, numbers);
  return status;
}

/* ---- Report ---------------------------------------------------------------------------------- */

tsr_status tsr_table_report(tsr_table *t, tsr_report *report, tsr_error *error) {
  tsr_report ours;
  if (!t || !report)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_table_report needs a table and a place for the report");
  tsr_status status = t->form->report(t, &ours, error);
  if (status == TSR_OK) tsr_hand_over(report, &ours, sizeof ours);
  return status;
}

tsr_status tsr_single_report(tsr_table *t, tsr_report *report, tsr_error *error) {
  tsr_tally tallies[TSR_BULKS];
  tsr_status status = tsr_table_wait(t, error);
  if (status == TSR_OK) status = t->backend->copy(t->device, tallies, t->tallies, sizeof tallies, NULL, error);
  if (status == TSR_OK) status = t->backend->synchronize(t->device, NULL, error);
  if (status) return status;
  tsr_tally_add(&tallies[TSR_BULK_insert], &t->counted);
  tsr_tally_add(&tallies[TSR_BULK_insert], &tallies[TSR_BULK_find_or_insert]);
  tsr_tally_add(&tallies[TSR_BULK_find], &tallies[TSR_BULK_contains]);
  tsr_tally_add(&tallies[TSR_BULK_find], &tallies[TSR_BULK_count]);
  tsr_tally_add(&tallies[TSR_BULK_erase], &tallies[TSR_BULK_erase_pair]);
  const tsr_tally *insert = &tallies[TSR_BULK_insert], *find = &tallies[TSR_BULK_find];
  const tsr_tally *erase = &tallies[TSR_BULK_erase];
  const tsr_tally *apply = &tallies[TSR_BULK_apply];
  *report = (tsr_report){.insert_keys = t->insert_keys + apply->asked[TSR_CLASS_INSERT],
                         .inserted = insert->hits + apply->answered[TSR_CLASS_INSERT],
                         .not_placed = insert->not_placed + apply->not_placed,
                         .find_keys = t->find_keys + apply->asked[TSR_CLASS_FIND],
                         .found = find->hits + apply->answered[TSR_CLASS_FIND],
                         .erase_keys = t->erase_keys + apply->asked[TSR_CLASS_ERASE],
                         .erased = erase->hits + apply->answered[TSR_CLASS_ERASE],
                         .insert_probes = insert->probes,
                         .insert_probes_max = insert->probes_max,
                         .find_probes = find->probes,
                         .find_probes_max = find->probes_max,
                         .erase_probes = erase->probes,
                         .erase_probes_max = erase->probes_max,
                         .insert_moves = insert->moves,
                         .insert_moves_max = insert->moves_max,
                         .insert_lost_claims = insert->lost_claims + apply->lost_claims,
                         .insert_stashed = insert->stashed + apply->stashed,
                         .insert_paged = t->store.paged_keys,
                         .apply_probes = apply->probes,
                         .apply_probes_max = apply->probes_max};
  _Static_assert(sizeof report->insert_histogram == sizeof insert->histogram, "one number of bins");
  memcpy(report->insert_histogram, insert->histogram, sizeof report->insert_histogram);
  memcpy(report->find_histogram, find->histogram, sizeof report->find_histogram);
  memcpy(report->erase_histogram, erase->histogram, sizeof report->erase_histogram);
  return TSR_OK;
}

tsr_status tsr_table_report_reset(tsr_table *t, tsr_error *error) {
  if (!t) return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_table_report_reset: the table is NULL");
  return t->form->report_reset(t, error);
}

tsr_status tsr_single_report_reset(tsr_table *t, tsr_error *error) {
  tsr_status status = tsr_table_wait(t, error);
  if (status == TSR_OK)
    status = t->backend->fill(t->device, t->tallies, 0, TSR_TALLIES * sizeof *t->tallies, NULL, error);
  if (status == TSR_OK) status = t->backend->synchronize(t->device, NULL, error);
  if (status) return status;
  t->insert_keys = t->find_keys = t->erase_keys = t->store.paged_keys = 0;
  t->erased_then = t->erase_keys_then = 0;
  t->counted = (tsr_tally){.hits = 0};
  t->knows_pairs = false;
  return TSR_OK;
}

/* ---- Memory and time ------------------------------------------------------------------------- */

tsr_status tsr_memory_allocate(tsr_table *t, uint64_t bytes, void **memory, tsr_error *error) {
  if (!t || !memory)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_memory_allocate needs a table and a place for the address");
  return t->backend->allocate(t->device, bytes, memory, error);
}

void tsr_memory_free(tsr_table *t, void *memory) {
  if (t && memory) t->backend->free(t->device, memory);
}

tsr_status tsr_memory_copy(tsr_table *t, void *to, const void *from, uint64_t bytes, tsr_error *error) {
  if (!t || (bytes && (!to || !from)))
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_memory_copy needs a table and two arrays");
  tsr_status status = t->backend->copy(t->device, to, from, bytes, NULL, error);
  return status ? status : t->backend->synchronize(t->device, NULL, error);
}

tsr_status tsr_timer_start(tsr_table *t, void *stream, tsr_error *error) {
  if (!t) return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_timer_start: the table is NULL");
  return t->backend->event_record(t->device, t->timer_from, stream, error);
}

tsr_status tsr_timer_stop(tsr_table *t, void *stream, double *milliseconds, tsr_error *error) {
  if (!t || !milliseconds)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_timer_stop needs a table and a place for the time");
  tsr_status status = t->backend->event_record(t->device, t->timer_to, stream, error);
  if (status == TSR_OK) status = t->backend->event_finish(t->device, t->timer_to, error);
  return status ? status : t->backend->event_between(t->device, t->timer_from, t->timer_to, milliseconds, error);
}

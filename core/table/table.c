/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables: the public operations (tessera.h), and what they refuse. The rest is up to the table's methods (single.h):
 * a table of one store answers in operate.c and tell.c, one of several devices in ../devices.
 */
#include "core/table/table.h"
#include "core/table/hold.h"

#include "core/sized.h"
#include "core/table/filter.h"
#include "core/table/number_rows.h"
#include "core/table/operate.h"

_Static_assert((int)TSR_INSERTED == (int)TSR_RESULT_INSERTED && (int)TSR_PRESENT == (int)TSR_RESULT_PRESENT &&
                   (int)TSR_REPLACED == (int)TSR_RESULT_REPLACED && (int)TSR_COMBINED == (int)TSR_RESULT_COMBINED &&
                   (int)TSR_NOT_PLACED == (int)TSR_RESULT_NOT_PLACED && (int)TSR_FOUND == (int)TSR_RESULT_FOUND &&
                   (int)TSR_MISSING == (int)TSR_RESULT_MISSING && (int)TSR_ERASED == (int)TSR_RESULT_ERASED &&
                   (int)TSR_RESULTS == (int)TSR_ERASED + 1 && (int)TSR_EVICTED == (int)TSR_RESULT_EVICTED,
               "one number for a result");
_Static_assert((int)TSR_OP_INSERT == (int)TSR_APPLY_INSERT && (int)TSR_OP_REPLACE == (int)TSR_APPLY_REPLACE &&
                   (int)TSR_OP_ERASE == (int)TSR_APPLY_ERASE && (int)TSR_OP_FIND == (int)TSR_APPLY_FIND,
               "one number for an operation");

/* ---- What it is ------------------------------------------------------------------------------ */

void tsr_table_describe(const tsr_table *t, tsr_table_info *info) {
  TSR_WRITES(t);
  tsr_table_info ours = {.backend = "", .device = "", .backend_reason = "", .code = ""};
  if (!info) return;
  if (t) t->methods->describe(t, &ours);
  tsr_hand_over(info, &ours, sizeof ours);
}

/* ---- Operations ------------------------------------------------------------------------------ */

/* What a grid of 2^31 - 1 blocks can count. */
static const uint64_t keys_max = (uint64_t)INT32_MAX * TSR_BLOCK_THREADS;
_Static_assert(TSR_BLOCK_THREADS == 256, "tessera.h and docs/guarantees.md say how many keys a call may have");

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

/* The same for operations that may report which keys were there. */
static tsr_status take_asking(const tsr_table *t, const char *name, uint64_t n, const void *keys, const tsr_call **call,
                              tsr_call *known, tsr_error *error) {
  tsr_status status = take_call(t, name, n, keys, call, known, error);
  if (status || !known->present || !known->results) return status;
  return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: both present and results are asked for: one array takes either", name);
}

/* Scores, a clock and looks that are no use are a cache's. */
static tsr_status check_call(const tsr_table *t, const char *name, const tsr_call *call, tsr_error *error) {
  return call->scores || call->now || call->peek ? tsr_table_admits(t, TSR_HAS_CALL_SCORES, name, error) : TSR_OK;
}

/* An insert of a counter without values counts each key once. */
static bool needs_values(const tsr_table *t) {
  const tsr_shape *shape = &t->store.composition->shape;
  return shape->value_bits && shape->kind != TSR_KIND_COUNTER && !tsr_is_index(t);
}

tsr_status tsr_check_insert(const tsr_table *t, const char *call, uint64_t n, const void *keys, const void *values,
                            tsr_error *error) {
  tsr_status status = check_arguments(t, call, n, keys, error);
  if (status == TSR_OK && n && needs_values(t) && !values)
    status = tsr_fail(error, TSR_BAD_ARGUMENT, "%s: values is NULL, but the table has values", call);
  if (status == TSR_OK && !t->store.composition->shape.value_bits && values)
    status = tsr_fail(error, TSR_BAD_ARGUMENT,
                      "%s: the table is a set or multiset and would drop the values: pass NULL, or make a map", call);
  if (status == TSR_OK && values && tsr_is_index(t))
    status =
        tsr_fail(error, TSR_BAD_ARGUMENT, "%s: an index gives its keys their numbers: pass NULL, or make a map", call);
  return status;
}

tsr_status tsr_insert(tsr_table *t, uint64_t n, const void *keys, const void *values, const tsr_call *call,
                      tsr_error *error) {
  TSR_WRITES(t);
  const bool has_rows = values && t && t->store.composition->settings.numbers.row_bytes;
  tsr_status status = tsr_check_insert(t, "tsr_insert", n, keys, has_rows ? NULL : values, error);
  if (status) return status;
  tsr_call known;
  status = tsr_take_over("tsr_insert", &known, call, sizeof known, error);
  if (status == TSR_OK) status = check_call(t, "tsr_insert", &known, error);
  if (status) return status;
  if (has_rows) return tsr_number_rows_insert(t, n, keys, values, &known, error);
  const tsr_request request = tsr_inserting(t, TSR_BULK_insert, n, keys, values, &known);
  return t->methods->operate(t, &request, error);
}

tsr_status tsr_find_or_insert(tsr_table *t, uint64_t n, const void *keys, const void *offered, void *values,
                              const tsr_call *call, tsr_error *error) {
  TSR_WRITES(t);
  tsr_status status = tsr_table_admits(t, TSR_HAS_CALL_KEYS, "tsr_find_or_insert", error);
  if (status == TSR_OK) status = tsr_check_insert(t, "tsr_find_or_insert", n, keys, offered, error);
  if (status) return status;
  tsr_call known;
  status = tsr_take_over("tsr_find_or_insert", &known, call, sizeof known, error);
  if (status == TSR_OK) status = tsr_table_admits(t, TSR_HAS_CALL_FIND_OR_INSERT, "tsr_find_or_insert", error);
  if (status == TSR_OK) status = check_call(t, "tsr_find_or_insert", &known, error);
  if (status) return status;
  tsr_request request = tsr_inserting(t, TSR_BULK_find_or_insert, n, keys, offered, &known);
  request.values_out = t->store.composition->shape.value_bits ? values : NULL;
  return t->methods->operate(t, &request, error);
}

tsr_status tsr_find(tsr_table *t, uint64_t n, const void *keys, void *values, const tsr_call *call, tsr_error *error) {
  TSR_READS(t);
  tsr_call known;
  tsr_status status = take_asking(t, "tsr_find", n, keys, &call, &known, error);
  if (status == TSR_OK) status = tsr_table_admits(t, TSR_HAS_CALL_FIND, "tsr_find", error);
  if (status == TSR_OK) status = check_call(t, "tsr_find", &known, error);
  if (status) return status;
  if (n && !values) return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_find: values is NULL");
  return t->methods->operate(t,
                             &(tsr_request){.op = TSR_BULK_find,
                                            .phase = TSR_PHASE_FIND,
                                            .n = n,
                                            .keys = keys,
                                            .values_out = values,
                                            .results = call->present ? call->present : call->results,
                                            .tells_presence = call->present != NULL,
                                            .missing = call->missing,
                                            .use = {call->scores, call->now, call->peek},
                                            .call.stream = call->stream},
                             error);
}

tsr_status tsr_contains(tsr_table *t, uint64_t n, const void *keys, uint8_t *present, const tsr_call *call,
                        tsr_error *error) {
  TSR_READS(t);
  tsr_call known;
  tsr_status status = take_call(t, "tsr_contains", n, keys, &call, &known, error);
  if (status == TSR_OK) status = check_call(t, "tsr_contains", &known, error);
  if (status) return status;
  if (n && !present) return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_contains: present is NULL");
  return t->methods->operate(t,
                             &(tsr_request){.op = TSR_BULK_contains,
                                            .phase = TSR_PHASE_FIND,
                                            .n = n,
                                            .keys = keys,
                                            .results = present,
                                            .use.now = known.now,
                                            .call.stream = known.stream},
                             error);
}

tsr_status tsr_count_all(tsr_table *t, uint64_t n, const void *keys, uint64_t *counts, const tsr_call *call,
                         tsr_error *error) {
  TSR_READS(t);
  tsr_call known;
  tsr_status status = take_call(t, "tsr_count_all", n, keys, &call, &known, error);
  if (status) return status;
  if (n && !counts)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_count_all: counts is NULL: it takes a number for each key");
  return t->methods->operate(t,
                             &(tsr_request){.op = TSR_BULK_count,
                                            .phase = TSR_PHASE_FIND,
                                            .n = n,
                                            .keys = keys,
                                            .results = call->results,
                                            .counts = counts,
                                            .call.stream = call->stream},
                             error);
}

tsr_status tsr_find_all(tsr_table *t, uint64_t n, const void *keys, uint64_t *offsets, uint64_t room, void *values,
                        const tsr_call *call, tsr_error *error) {
  TSR_READS(t);
  tsr_call known;
  tsr_status status = take_call(t, "tsr_find_all", n, keys, &call, &known, error);
  if (status == TSR_OK) status = tsr_table_admits(t, TSR_HAS_CALL_FIND_ALL, "tsr_find_all", error);
  if (status) return status;
  if (!offsets) return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_find_all: offsets is NULL: it takes n + 1 numbers");
  if (room && !values)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_find_all: values is NULL, but room = %llu", (unsigned long long)room);
  if (room > 1ull << 48)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_find_all: room = %llu: at most 2^48 values a call",
                    (unsigned long long)room);
  return t->methods->operate(t,
                             &(tsr_request){.op = TSR_BULK_retrieve,
                                            .phase = TSR_PHASE_FIND,
                                            .n = n,
                                            .keys = keys,
                                            .values_out = room ? values : NULL,
                                            .results = call->results,
                                            .counts = offsets,
                                            .room = room,
                                            .missing = call->missing,
                                            .call.stream = call->stream},
                             error);
}

tsr_status tsr_erase(tsr_table *t, uint64_t n, const void *keys, const tsr_call *call, tsr_error *error) {
  TSR_WRITES(t);
  tsr_call known;
  tsr_status status = tsr_table_admits(t, TSR_HAS_CALL_ERASE, "tsr_erase", error);
  if (status == TSR_OK) status = take_asking(t, "tsr_erase", n, keys, &call, &known, error);
  if (status) return status;
  return t->methods->operate(t,
                             &(tsr_request){.op = TSR_BULK_erase,
                                            .phase = TSR_PHASE_ERASE,
                                            .n = n,
                                            .keys = keys,
                                            .results = call->present ? call->present : call->results,
                                            .tells_presence = call->present != NULL,
                                            .call.stream = call->stream},
                             error);
}

tsr_status tsr_erase_pairs(tsr_table *t, uint64_t n, const void *keys, const void *values, const tsr_call *call,
                           tsr_error *error) {
  TSR_WRITES(t);
  tsr_call known;
  tsr_status status = tsr_table_admits(t, TSR_HAS_CALL_KEYS, "tsr_erase_pairs", error);
  if (status == TSR_OK) status = take_asking(t, "tsr_erase_pairs", n, keys, &call, &known, error);
  if (status == TSR_OK) status = tsr_table_admits(t, TSR_HAS_CALL_ERASE_PAIRS, "tsr_erase_pairs", error);
  if (status) return status;
  if (!t->store.composition->shape.value_bits) values = NULL;
  return t->methods->operate(t,
                             &(tsr_request){.op = TSR_BULK_erase_pair,
                                            .phase = TSR_PHASE_ERASE,
                                            .n = n,
                                            .keys = keys,
                                            .values = values,
                                            .results = call->present ? call->present : call->results,
                                            .tells_presence = call->present != NULL,
                                            .call.stream = call->stream},
                             error);
}

tsr_status tsr_apply(tsr_table *t, uint64_t n, const uint8_t *operations, const void *keys, const void *values,
                     void *values_out, const tsr_call *call, tsr_error *error) {
  TSR_WRITES(t);
  tsr_call known;
  tsr_status status = take_call(t, "tsr_apply", n, keys, &call, &known, error);
  if (status == TSR_OK) status = tsr_table_admits(t, TSR_HAS_CALL_APPLY, "tsr_apply", error);
  if (status) return status;
  const tsr_shape *shape = &t->store.composition->shape;
  if (n && !operations)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_apply: operations is NULL, but n = %llu", (unsigned long long)n);
  if (n && ((needs_values(t) && !values) || (shape->value_bits && !values_out)))
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_apply: %s is NULL, but the table has values",
                    needs_values(t) && !values ? "values" : "values_out");
  if (!shape->value_bits) values = values_out = NULL;
  return t->methods->operate(
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
                     .call.stream = call->stream},
      error);
}

tsr_status tsr_size(tsr_table *t, uint64_t *size, tsr_error *error) {
  TSR_WRITES(t);
  if (!t || !size) return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_size needs a table and a place for its size");
  tsr_status status = tsr_table_admits(t, TSR_HAS_CALL_KEYS, "tsr_size", error);
  if (status) return status;
  return t->methods->size(t, size, error);
}

tsr_status tsr_table_usage(tsr_table *t, tsr_usage *usage, tsr_error *error) {
  TSR_WRITES(t);
  if (!t || !usage)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_table_usage needs a table and a place for the numbers");
  tsr_usage ours;
  tsr_status status = tsr_table_admits(t, TSR_HAS_CALL_KEYS, "tsr_table_usage", error);
  if (status == TSR_OK) status = t->methods->use(t, &ours, error);
  if (status == TSR_OK) tsr_hand_over(usage, &ours, sizeof ours);
  return status;
}

tsr_status tsr_flush(tsr_table *t, uint64_t *units, tsr_error *error) {
  TSR_WRITES(t);
  if (!t) return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_flush: the table is NULL");
  tsr_status status = tsr_table_admits(t, TSR_HAS_CALL_KEYS, "tsr_flush", error);
  if (status == TSR_OK) status = tsr_table_admits(t, TSR_HAS_CALL_FLUSH, "tsr_flush", error);
  if (status) return status;
  return t->methods->flush(t, units, error);
}

tsr_status tsr_export(tsr_table *t, uint64_t room, void *keys, void *values, uint64_t *size, tsr_error *error) {
  TSR_WRITES(t);
  if (!t || !size || (room && !keys))
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_export needs a table, keys and a place for the size");
  tsr_status status = tsr_table_admits(t, TSR_HAS_CALL_KEYS, "tsr_export", error);
  if (status == TSR_OK) status = tsr_numbering_check(t, error);
  if (status == TSR_OK) status = tsr_size(t, size, error);
  if (status || *size == 0) return status;
  if (*size > room)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_export: the table holds %llu pairs, the arrays have room for %llu",
                    (unsigned long long)*size, (unsigned long long)room);
  return t->methods->write_out(t, *size, keys, t->store.composition->shape.value_bits ? values : NULL, error);
}

/* ---- Report ---------------------------------------------------------------------------------- */

tsr_status tsr_table_report(tsr_table *t, tsr_report *report, tsr_error *error) {
  TSR_WRITES(t);
  tsr_report ours;
  if (!t || !report)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_table_report needs a table and a place for the report");
  tsr_status status = t->methods->report(t, &ours, error);
  if (status == TSR_OK) tsr_hand_over(report, &ours, sizeof ours);
  return status;
}

tsr_status tsr_table_report_reset(tsr_table *t, tsr_error *error) {
  TSR_WRITES(t);
  if (!t) return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_table_report_reset: the table is NULL");
  return t->methods->report_reset(t, error);
}

/* ---- Memory and time ------------------------------------------------------------------------- */

tsr_status tsr_memory_allocate(tsr_table *t, uint64_t bytes, void **memory, tsr_error *error) {
  TSR_WRITES(t);
  if (!t || !memory)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_memory_allocate needs a table and a place for the address");
  return t->backend->allocate(t->device, bytes, memory, error);
}

void tsr_memory_free(tsr_table *t, void *memory) {
  TSR_WRITES(t);
  if (t && memory) t->backend->free(t->device, memory);
}

tsr_status tsr_memory_copy(tsr_table *t, void *to, const void *from, uint64_t bytes, tsr_error *error) {
  TSR_WRITES(t);
  if (!t || (bytes && (!to || !from)))
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_memory_copy needs a table and two arrays");
  tsr_status status = t->backend->copy(t->device, to, from, bytes, NULL, error);
  return status ? status : t->backend->synchronize(t->device, NULL, error);
}

tsr_status tsr_timer_start(tsr_table *t, void *stream, tsr_error *error) {
  TSR_WRITES(t);
  if (!t) return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_timer_start: the table is NULL");
  return t->backend->events->record(t->device, t->timer.from, stream, error);
}

tsr_status tsr_timer_stop(tsr_table *t, void *stream, double *milliseconds, tsr_error *error) {
  TSR_WRITES(t);
  if (!t || !milliseconds)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_timer_stop needs a table and a place for the time");
  tsr_status status = t->backend->events->record(t->device, t->timer.to, stream, error);
  if (status == TSR_OK) status = t->backend->events->finish(t->device, t->timer.to, error);
  return status ? status : t->backend->events->between(t->device, t->timer.from, t->timer.to, milliseconds, error);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The public calls of an index (kind = index), and what they refuse.
 */
#include "core/batch/groups.h"
#include "core/batch/sum.h"
#include "core/sized.h"
#include "core/table/call.h"
#include "core/table/eviction.h"
#include "core/table/filter.h"
#include "core/table/numbering.h"
#include "core/table/operate.h"
#include "core/table/order.h"
#include "core/table/stage.h"
#include "core/table/table.h"

tsr_status tsr_number(tsr_table *t, uint64_t n, const void *keys, uint32_t *numbers, const tsr_call *call,
                      tsr_error *error) {
  tsr_call known;
  tsr_status status = tsr_table_admits(t, TSR_HAS_CALL_NUMBER, "tsr_number", error);
  if (status == TSR_OK) status = tsr_check_insert(t, "tsr_number", n, keys, NULL, error);
  if (status == TSR_OK) status = tsr_take_over("tsr_number", &known, call, sizeof known, error);
  if (status) return status;
  tsr_request request = tsr_inserting(t, TSR_BULK_find_or_insert, n, keys, NULL, &known);
  request.values_out = numbers;
  return t->methods->operate(t, &request, error);
}

/* What a call that waits refuses: another kind, as `feature` says, and a stream that is captured. */
static tsr_status begin_as(tsr_table *t, tsr_feature feature, const char *call, void *stream, tsr_error *error) {
  tsr_request r = {.op = TSR_CALL_NUMBERS, .call.stream = stream};
  tsr_status status = t ? TSR_OK : tsr_fail(error, TSR_BAD_ARGUMENT, "%s: the table is NULL", call);
  if (status == TSR_OK) status = tsr_table_admits(t, feature, call, error);
  return status ? status : tsr_call_begin(t, &r, error);
}

static tsr_status begin(tsr_table *t, const char *call, void *stream, tsr_error *error) {
  return begin_as(t, TSR_HAS_CALL_NUMBER, call, stream, error);
}

tsr_status tsr_numbers_given(tsr_table *t, uint64_t *given, tsr_error *error) {
  tsr_free_numbers numbers;
  tsr_status status = begin(t, "tsr_numbers_given", NULL, error);
  if (status == TSR_OK && !given)
    status = tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_numbers_given needs a place for the number");
  if (status == TSR_OK) status = tsr_table_wait(t, error);
  if (status == TSR_OK) status = tsr_read_free_numbers(t, &numbers, NULL, error);
  if (status == TSR_OK) *given = numbers.given;
  return status;
}

/* ---- Keys by number -------------------------------------------------------------------------- */

/* All pairs are read, and those whose numbers are asked for are written to their places. */
static tsr_status place_keys(tsr_table *t, const tsr_numbering_run *places, void *stream, tsr_error *error) {
  tsr_held held = {.pairs = 0};
  tsr_numbering_run run = *places;
  run.n = run.room;
  tsr_status status = tsr_table_enter(t, TSR_PHASE_ALONE, stream, error);
  if (status) return status;
  status = tsr_numbering_step(t, TSR_NUMBERING_blank, &run, stream, error);
  if (status == TSR_OK) status = tsr_take_held(t, &held, stream, error);
  run.n = held.pairs;
  run.numbers = held.numbers;
  run.keys = held.keys;
  if (status == TSR_OK && held.pairs) status = tsr_numbering_step(t, TSR_NUMBERING_place, &run, stream, error);
  const tsr_status freed =
      held.numbers ? t->backend->free_in(t->device, held.numbers, stream, status ? NULL : error) : (tsr_status)TSR_OK;
  if (status == TSR_OK) status = freed;
  const tsr_status left = tsr_table_leave(t, stream, status ? NULL : error);
  return status ? status : left;
}

tsr_status tsr_keys_by_number(tsr_table *t, uint32_t from, uint64_t n, void *keys, const tsr_call *call,
                              tsr_error *error) {
  tsr_call known;
  tsr_status status = tsr_take_over("tsr_keys_by_number", &known, call, sizeof known, error);
  if (status == TSR_OK) status = begin(t, "tsr_keys_by_number", known.stream, error);
  if (status || n == 0) return status;
  if (!keys)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_keys_by_number: keys is NULL, but n = %llu", (unsigned long long)n);
  if (known.results)
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "tsr_keys_by_number: results is set: pass present, which says which numbers have keys");
  if (n > TSR_NUMBER_MARK)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_keys_by_number: n = %llu: there are at most 2^31 numbers",
                    (unsigned long long)n);
  const uint32_t key_bytes = t->store.composition->shape.key_bits / 8;
  tsr_array arrays[] = {{.callers = keys, .bytes = n * key_bytes, .word = key_bytes, .use = TSR_ARRAY_WRITTEN},
                        {.callers = known.present, .bytes = n, .use = TSR_ARRAY_WRITTEN}};
  status = tsr_numbering_check(t, error);
  if (status == TSR_OK) status = tsr_stage_in(t, arrays, 2, known.stream, error);
  const tsr_numbering_run run = {.key_bytes = key_bytes,
                                 .missing = known.missing,
                                 .keys_out = arrays[0].devices,
                                 .present = arrays[1].devices,
                                 .from = from,
                                 .room = n};
  if (status == TSR_OK) status = place_keys(t, &run, known.stream, error);
  status = tsr_stage_out(t, arrays, 2, known.stream, status, error);
  const tsr_status waited = t->backend->synchronize(t->device, known.stream, status ? NULL : error);
  return status ? status : waited;
}

/* ---- Keys that are given up ------------------------------------------------------------------ */

tsr_status tsr_touch(tsr_table *t, uint64_t n, const uint32_t *numbers, void *stream, tsr_error *error) {
  tsr_status status = begin_as(t, TSR_HAS_CALL_EVICTED, "tsr_touch", stream, error);
  if (status == TSR_OK) status = tsr_numbering_check(t, error);
  if (status || n == 0) return status;
  if (!numbers)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_touch: numbers is NULL, but n = %llu", (unsigned long long)n);
  tsr_array array = {.callers = numbers, .bytes = n * sizeof *numbers, sizeof *numbers, .use = TSR_ARRAY_READ};
  status = tsr_stage_in(t, &array, 1, stream, error);
  if (status == TSR_OK) status = tsr_eviction_touch(t, n, array.devices, stream, error);
  return tsr_stage_out(t, &array, 1, stream, status, error);
}

tsr_status tsr_evicted(tsr_table *t, uint64_t room, void *keys, uint32_t *numbers, uint64_t *count, tsr_error *error) {
  tsr_status status = begin_as(t, TSR_HAS_CALL_EVICTED, "tsr_evicted", NULL, error);
  if (status == TSR_OK && !count) status = tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_evicted needs a place for the count");
  if (status == TSR_OK) status = tsr_table_wait(t, error);
  if (status) return status;
  *count = t->numbering.evicted;
  const uint64_t n = room < *count ? room : *count, key_bytes = t->store.composition->shape.key_bits / 8;
  if (n && keys) status = t->backend->copy(t->device, keys, t->numbering.evicted_keys, n * key_bytes, NULL, error);
  if (n && numbers && status == TSR_OK)
    status = t->backend->copy(t->device, numbers, t->numbering.evicted_numbers, n * sizeof *numbers, NULL, error);
  return status ? status : t->backend->synchronize(t->device, NULL, error);
}

/* ---- Distinct keys --------------------------------------------------------------------------- */

enum { KEYS, UNIQUE, INVERSE, COUNTS, ARRAYS };

/* A call under way, with its arrays in device memory. */
typedef struct distinct {
  tsr_table *t;
  uint64_t n, room;
  bool keeps;
  tsr_array arrays[ARRAYS];
  uint32_t *inverse;
  uint64_t *ranks; /* n + 1 */
  void *stream;
} distinct;

static tsr_status run_step(const distinct *d, uint32_t which, uint64_t room, tsr_error *error) {
  const tsr_numbering_run run = {.n = d->n,
                                 .numbers = d->inverse,
                                 .ranks = d->ranks,
                                 .key_bytes = d->t->store.composition->shape.key_bits / 8,
                                 .keys = d->arrays[KEYS].devices,
                                 .keys_out = d->arrays[UNIQUE].devices,
                                 .counts = d->arrays[COUNTS].devices,
                                 .room = room};
  return tsr_numbering_step(d->t, which, &run, d->stream, error);
}

/* Numbers the keys, and counts those that have a number. */
static tsr_status number_all(const distinct *d, uint64_t *count, tsr_error *error) {
  tsr_table *t = d->t;
  const tsr_call call = {.stream = d->stream, .missing = TSR_NUMBER_NONE};
  tsr_free_numbers numbers = {.given = 0};
  uint64_t placed = 0;
  tsr_status status = tsr_clear(t, d->stream, error);
  if (status == TSR_OK) status = tsr_number(t, d->n, d->arrays[KEYS].devices, d->inverse, &call, error);
  if (status == TSR_OK) status = run_step(d, TSR_NUMBERING_leave, 0, error);
  if (status == TSR_OK) status = tsr_prefix_sum(t->device, d->ranks, d->n, d->stream, error);
  if (status == TSR_OK) status = t->backend->copy(t->device, &placed, d->ranks + d->n, sizeof placed, d->stream, error);
  if (status == TSR_OK) status = tsr_read_free_numbers(t, &numbers, d->stream, error);
  if (status) return status;
  *count = numbers.given;
  if (placed == d->n) return TSR_OK;
  return tsr_fail(error, TSR_UNSUPPORTED,
                  "tsr_unique: %llu of %llu keys found no room in the index: raise capacity, or use growth = double",
                  (unsigned long long)(d->n - placed), (unsigned long long)d->n);
}

static tsr_status lacks_room(const distinct *d, uint64_t count, tsr_error *error) {
  if ((!d->arrays[UNIQUE].devices && !d->arrays[COUNTS].devices) || d->room >= count) return TSR_OK;
  return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_unique: there are %llu distinct keys, the arrays have room for %llu",
                  (unsigned long long)count, (unsigned long long)d->room);
}

static tsr_status write_distinct(const distinct *d, uint64_t count, tsr_error *error) {
  tsr_status status = lacks_room(d, count, error);
  if (status) return status;
  if (d->arrays[UNIQUE].devices) status = run_step(d, TSR_NUMBERING_place, count, error);
  if (status || !d->arrays[COUNTS].devices) return status;
  status = d->t->backend->fill(d->t->device, d->arrays[COUNTS].devices, 0, count * sizeof(uint64_t), d->stream, error);
  return status ? status : run_step(d, TSR_NUMBERING_add, count, error);
}

/* Whether the batch alone will do. */
static bool needs_no_table(const distinct *d) {
  const tsr_composition *c = d->t->store.composition;
  return d->t->device->info.sm && !d->keeps && !c->settings.numbers.numbering && d->n <= TSR_GROUPS_MOST;
}

static tsr_status work_without_table(const distinct *d, uint64_t *count, tsr_error *error) {
  const tsr_composition *c = d->t->store.composition;
  const tsr_groups groups = {.n = d->n,
                             .keys = d->arrays[KEYS].devices,
                             .key_bytes = c->shape.key_bits / 8,
                             .seed = c->settings.seed,
                             .distinct = d->arrays[UNIQUE].devices,
                             .counts = d->arrays[COUNTS].devices,
                             .room = d->room,
                             .numbers = d->arrays[INVERSE].devices};
  tsr_status status = tsr_clear(d->t, d->stream, error);
  if (status == TSR_OK) status = tsr_groups_make(d->t->device, &groups, d->stream, count, error);
  return status ? status : lacks_room(d, *count, error);
}

/* With memory for what the caller does not want. */
static tsr_status work(distinct *d, uint64_t *count, tsr_error *error) {
  const tsr_table *t = d->t;
  const uint64_t rank_bytes = (d->n + 1) * sizeof *d->ranks;
  void *memory = NULL;
  tsr_status status =
      t->backend->allocate_in(t->device, rank_bytes + d->n * sizeof *d->inverse, d->stream, &memory, error);
  if (status) return status;
  d->ranks = memory;
  d->inverse = d->arrays[INVERSE].devices ? d->arrays[INVERSE].devices : (uint32_t *)((char *)memory + rank_bytes);
  status = number_all(d, count, error);
  if (status == TSR_OK) status = write_distinct(d, *count, error);
  const tsr_status cleared = d->keeps ? TSR_OK : tsr_clear(d->t, d->stream, status ? NULL : error);
  if (status == TSR_OK) status = cleared;
  const tsr_status freed = t->backend->free_in(t->device, memory, d->stream, status ? NULL : error);
  return status ? status : freed;
}

tsr_status tsr_unique(tsr_table *t, uint64_t n, const void *keys, const tsr_unique_arrays *arrays, uint64_t *count,
                      tsr_error *error) {
  tsr_unique_arrays known;
  tsr_status status = tsr_take_over("tsr_unique", &known, arrays, sizeof known, error);
  if (status == TSR_OK) status = begin(t, "tsr_unique", known.stream, error);
  if (status == TSR_OK) status = tsr_check_insert(t, "tsr_unique", n, keys, NULL, error);
  if (status == TSR_OK && !count)
    status = tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_unique: count is NULL: it takes the number of distinct keys");
  if (status) return status;
  *count = 0;
  if (n == 0) return tsr_clear(t, known.stream, error);
  const uint32_t key_bytes = t->store.composition->shape.key_bits / 8;
  const uint64_t room = known.room < n ? known.room : n;
  distinct d = {
      .t = t,
      .n = n,
      .room = room,
      .keeps = known.keep,
      .stream = known.stream,
      .arrays = {
          [KEYS] = {.callers = keys, .bytes = n * key_bytes, .word = key_bytes, .use = TSR_ARRAY_READ},
          [UNIQUE] = {.callers = known.keys, .bytes = room * key_bytes, .word = key_bytes, TSR_ARRAY_PARTLY_WRITTEN},
          [INVERSE] = {.callers = known.inverse, .bytes = n * sizeof(uint32_t), sizeof(uint32_t), TSR_ARRAY_WRITTEN},
          [COUNTS] = {.callers = known.counts,
                      .bytes = room * sizeof(uint64_t),
                      .word = sizeof(uint64_t),
                      .use = TSR_ARRAY_PARTLY_WRITTEN}}};
  status = tsr_stage_in(t, d.arrays, ARRAYS, d.stream, error);
  if (status == TSR_OK) status = needs_no_table(&d) ? work_without_table(&d, count, error) : work(&d, count, error);
  status = tsr_stage_out(t, d.arrays, ARRAYS, d.stream, status, error);
  const tsr_status waited = t->backend->synchronize(t->device, d.stream, status ? NULL : error);
  return status ? status : waited;
}

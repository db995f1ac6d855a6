/* SPDX-License-Identifier: Apache-2.0
 *
 * The public calls of an index (kind = index), and what they refuse. Read next: unique.c.
 */
#include <stdlib.h>
#include <string.h>

#include "core/sized.h"
#include "core/table/call.h"
#include "core/table/eviction.h"
#include "core/table/filter.h"
#include "core/table/hold.h"
#include "core/table/numbering.h"
#include "core/table/operate.h"
#include "core/table/order.h"
#include "core/table/stage.h"
#include "core/table/table.h"

tsr_status tsr_number(tsr_table *t, uint64_t n, const void *keys, uint32_t *numbers, const tsr_call *call,
                      tsr_error *error) {
  TSR_WRITES(t);
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
  TSR_WRITES(t);
  tsr_free_numbers numbers;
  tsr_status status = begin(t, "tsr_numbers_given", NULL, error);
  if (status == TSR_OK && !given)
    status = tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_numbers_given needs a place for the number");
  if (status == TSR_OK) status = tsr_table_wait(t, error);
  uint64_t end = 0;
  tsr_table *part = NULL;
  for (uint32_t i = 0; status == TSR_OK && (part = t->methods->part(t, i)) != NULL; i++) {
    status = tsr_read_free_numbers(part, &numbers, NULL, error);
    if (status == TSR_OK && tsr_numbering_end(part, numbers.given) > end) end = tsr_numbering_end(part, numbers.given);
  }
  if (status == TSR_OK) *given = end;
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

/* Of a table of one store. */
static tsr_status keys_of_store(tsr_table *t, uint32_t from, uint64_t n, void *keys, const tsr_call *call,
                                tsr_error *error) {
  const uint32_t key_bytes = t->store.composition->shape.key_bits / 8;
  tsr_array arrays[] = {{.callers = keys, .bytes = n * key_bytes, .word = key_bytes, .use = TSR_ARRAY_WRITTEN},
                        {.callers = call->present, .bytes = n, .use = TSR_ARRAY_WRITTEN}};
  tsr_status status = tsr_numbering_check(t, error);
  if (status == TSR_OK) status = tsr_stage_in(t, arrays, 2, call->stream, error);
  const tsr_numbering_run run = {.key_bytes = key_bytes,
                                 .missing = call->missing,
                                 .keys_out = arrays[0].devices,
                                 .present = arrays[1].devices,
                                 .from = from,
                                 .room = n};
  if (status == TSR_OK) status = place_keys(t, &run, call->stream, error);
  status = tsr_stage_out(t, arrays, 2, call->stream, status, error);
  const tsr_status waited = t->backend->synchronize(t->device, call->stream, status ? NULL : error);
  return status ? status : waited;
}

/* Of several devices: each shard tells the keys of its numbers, and the host puts them together. Ours are two arrays of n
 * keys, then two of what is present. */
static tsr_status keys_of_shards(tsr_table *t, uint32_t from, uint64_t n, char *ours, const tsr_call *call,
                                 tsr_error *error) {
  const uint64_t key_bytes = t->store.composition->shape.key_bits / 8;
  char *const part_keys = ours + n * key_bytes;
  uint8_t *const present = (uint8_t *)part_keys + n * key_bytes, *const part_present = present + n;
  tsr_table *part = t->methods->part(t, 0);
  tsr_call as_asked = {.missing = call->missing, .present = present};
  tsr_status status = keys_of_store(part, from, n, ours, &as_asked, error);
  as_asked.present = part_present;
  for (uint32_t i = 1; status == TSR_OK && (part = t->methods->part(t, i)) != NULL; i++) {
    status = keys_of_store(part, from, n, part_keys, &as_asked, error);
    for (uint64_t k = 0; status == TSR_OK && k < n; k++)
      if (part_present[k]) {
        memcpy(ours + k * key_bytes, part_keys + k * key_bytes, key_bytes);
        present[k] = 1;
      }
  }
  return status;
}

static tsr_status keys_of_parts(tsr_table *t, uint32_t from, uint64_t n, void *keys, const tsr_call *call,
                                tsr_error *error) {
  const uint64_t key_bytes = t->store.composition->shape.key_bits / 8;
  char *ours = malloc(n * 2 * (key_bytes + 1));
  if (!ours)
    return tsr_fail(error, TSR_NO_MEMORY, "tsr_keys_by_number: no memory for the keys of %llu numbers",
                    (unsigned long long)n);
  tsr_table *part = t->methods->part(t, 0);
  tsr_status status = tsr_table_wait(t, error);
  if (status == TSR_OK) status = keys_of_shards(t, from, n, ours, call, error);
  if (status == TSR_OK) status = tsr_memory_copy(part, keys, ours, n * key_bytes, error);
  if (status == TSR_OK && call->present)
    status = tsr_memory_copy(part, call->present, ours + n * 2 * key_bytes, n, error);
  free(ours);
  return status;
}

tsr_status tsr_keys_by_number(tsr_table *t, uint32_t from, uint64_t n, void *keys, const tsr_call *call,
                              tsr_error *error) {
  TSR_WRITES(t);
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
  return t->methods->part(t, 1) ? keys_of_parts(t, from, n, keys, &known, error)
                                : keys_of_store(t->methods->part(t, 0), from, n, keys, &known, error);
}

/* ---- Keys that are given up ------------------------------------------------------------------ */

tsr_status tsr_touch(tsr_table *t, uint64_t n, const uint32_t *numbers, void *stream, tsr_error *error) {
  TSR_WRITES(t);
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
  TSR_WRITES(t);
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

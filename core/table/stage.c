/* SPDX-License-Identifier: Apache-2.0
 *
 * Staging (stage.h): arrays on a device that cannot work on the caller's.
 */
#include "core/table/stage.h"

#include <string.h>

bool tsr_array_is_reached(const tsr_table *t, const tsr_array *a) {
  if (!a->callers || !a->bytes) return true;
  return (!a->word || (uint64_t)(uintptr_t)a->callers % a->word == 0) &&
         t->backend->is_device_memory(t->device, a->callers);
}

static tsr_status stage_in(const tsr_table *t, tsr_array *a, void *stream, tsr_error *error) {
  a->devices = (void *)(uintptr_t)a->callers;
  if (tsr_array_is_reached(t, a)) return TSR_OK;
  tsr_status status = t->backend->allocate_in(t->device, a->bytes, stream, &a->devices, error);
  if (status) {
    a->devices = NULL;
    return status;
  }
  a->is_staged = true;
  if (a->use == TSR_ARRAY_WRITTEN) return TSR_OK;
  return t->backend->copy(t->device, a->devices, a->callers, a->bytes, stream, error);
}

tsr_status tsr_stage_in(const tsr_table *t, tsr_array *arrays, uint32_t count, void *stream, tsr_error *error) {
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; status == TSR_OK && i < count; i++) status = stage_in(t, &arrays[i], stream, error);
  return status;
}

tsr_status tsr_stage_out(const tsr_table *t, tsr_array *arrays, uint32_t count, void *stream, tsr_status status,
                         tsr_error *error) {
  bool any = false;
  for (uint32_t i = 0; i < count; i++) {
    const tsr_array *a = &arrays[i];
    if (!a->is_staged) continue;
    any = true;
    if (a->use != TSR_ARRAY_READ && status == TSR_OK)
      status = t->backend->copy(t->device, (void *)(uintptr_t)a->callers, a->devices, a->bytes, stream, error);
    const tsr_status freed = t->backend->free_in(t->device, a->devices, stream, status ? NULL : error);
    if (status == TSR_OK) status = freed;
  }
  if (!any) return status;
  const tsr_status waited = t->backend->synchronize(t->device, stream, status ? NULL : error);
  return status ? status : waited;
}

/* ---- Requests -------------------------------------------------------------------------------- */

enum { KEYS, VALUES, VALUES_OUT, UNPLACED_KEYS, UNPLACED_VALUES, RESULTS, COUNTS, OPERATIONS, TIMES, SCORES };
_Static_assert(SCORES + 1 == TSR_REQUEST_ARRAYS, "every array of a request has its row");

uint32_t tsr_value_word(uint64_t value_bytes) {
  if (value_bytes > TSR_SHORT_ROW) return 16;
  return value_bytes <= 8 ? (uint32_t)value_bytes : 0;
}

void tsr_request_arrays(const tsr_table *t, const tsr_request *r, tsr_array arrays[TSR_REQUEST_ARRAYS]) {
  const tsr_composition *c = t->store.composition;
  const uint64_t n = r->n, key_bytes = c->shape.key_bits / 8, value_bytes = tsr_composition_value_bytes(c);
  /* short rows of value_bytes may be anywhere */
  const uint32_t key_word = (uint32_t)key_bytes, value_word = tsr_value_word(value_bytes);
  const bool gathers = r->op == TSR_BULK_retrieve;
  /* retrieving writes the values that there are, and apply those of its finds */
  const tsr_array_use finds = gathers || r->op == TSR_BULK_apply ? TSR_ARRAY_PARTLY_WRITTEN : TSR_ARRAY_WRITTEN;
  const tsr_array all[TSR_REQUEST_ARRAYS] = {
      [KEYS] = {.callers = r->keys, .bytes = n * key_bytes, .word = key_word, .use = TSR_ARRAY_READ},
      [VALUES] = {.callers = r->values, .bytes = n * value_bytes, .word = value_word, .use = TSR_ARRAY_READ},
      [VALUES_OUT] = {.callers = r->values_out,
                      .bytes = (gathers ? r->room : n) * value_bytes,
                      .word = value_word,
                      .use = finds},
      [UNPLACED_KEYS] = {.callers = r->unplaced_keys,
                         .bytes = n * key_bytes,
                         .word = key_word,
                         .use = TSR_ARRAY_PARTLY_WRITTEN},
      [UNPLACED_VALUES] = {.callers = r->unplaced_values,
                           .bytes = n * value_bytes,
                           .word = value_word,
                           .use = TSR_ARRAY_PARTLY_WRITTEN},
      [RESULTS] = {.callers = r->results, .bytes = n, .use = TSR_ARRAY_WRITTEN},
      [COUNTS] = {.callers = r->counts,
                  .bytes = (gathers ? n + 1 : n) * sizeof *r->counts,
                  .word = sizeof(uint64_t),
                  .use = TSR_ARRAY_WRITTEN},
      [OPERATIONS] = {.callers = r->operations, .bytes = n, .use = TSR_ARRAY_READ},
      [TIMES] = {.callers = r->times,
                 .bytes = n * 2 * sizeof *r->times,
                 .word = sizeof(uint64_t),
                 .use = TSR_ARRAY_WRITTEN},
      [SCORES] = {.callers = r->use.scores,
                  .bytes = n * sizeof *r->use.scores,
                  .word = sizeof(uint32_t),
                  .use = TSR_ARRAY_READ},
  };
  memcpy(arrays, all, sizeof all);
}

static tsr_request with_arrays(const tsr_request *r, const tsr_array *arrays) {
  tsr_request reached = *r;
  reached.keys = arrays[KEYS].devices;
  reached.values = arrays[VALUES].devices;
  reached.values_out = arrays[VALUES_OUT].devices;
  reached.unplaced_keys = arrays[UNPLACED_KEYS].devices;
  reached.unplaced_values = arrays[UNPLACED_VALUES].devices;
  reached.results = arrays[RESULTS].devices;
  reached.counts = arrays[COUNTS].devices;
  reached.operations = arrays[OPERATIONS].devices;
  reached.times = arrays[TIMES].devices;
  reached.use.scores = arrays[SCORES].devices;
  reached.is_reached = true;
  return reached;
}

tsr_status tsr_operate_staged(tsr_table *t, const tsr_request *r, tsr_operation *operation, tsr_error *error) {
  tsr_array arrays[TSR_REQUEST_ARRAYS];
  if (r->is_reached) return operation(t, r, error);
  tsr_request_arrays(t, r, arrays);
  tsr_status status = tsr_stage_in(t, arrays, TSR_REQUEST_ARRAYS, r->call.stream, error);
  if (status == TSR_OK) {
    const tsr_request reached = with_arrays(r, arrays);
    status = operation(t, &reached, error);
  }
  return tsr_stage_out(t, arrays, TSR_REQUEST_ARRAYS, r->call.stream, status, error);
}

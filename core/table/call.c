/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls (call.h): what a graph cannot record is refused before it would spoil the capture. Read next: filter.c.
 */
#include "core/table/call.h"

#include "core/batch/plan.h"
#include "core/kernels/cache.h"
#include "core/kernels/scan.h"
#include "core/table/order.h"
#include "core/table/stage.h"
#include "core/table/values.h"

/* ---- What cannot be recorded ----------------------------------------------------------------- */

static bool has_devices(const tsr_table *t, const tsr_request *r) {
  (void)r;
  return t->shards != NULL;
}

static bool grows(const tsr_table *t, const tsr_request *r) {
  const bool inserts = r->op == TSR_BULK_insert || r->op == TSR_BULK_find_or_insert || r->op == TSR_BULK_apply;
  return inserts && t->store.composition->settings.upkeep.growth;
}

static bool uses_rows(const tsr_table *t, const tsr_request *r) {
  const bool is_bulk = r->op < TSR_BULKS;
  return t->values->are_apart && (!is_bulk || r->values || r->values_out);
}

static bool writes_behind(const tsr_table *t, const tsr_request *r) {
  return t->listener.write && (r->op == TSR_BULK_insert || r->op == TSR_BULK_find_or_insert);
}

static bool evicts(const tsr_table *t, const tsr_request *r) {
  (void)r;
  return t->store.composition->settings.traits.has[TSR_HAS_EVICTS];
}

static bool counts_numbers(const tsr_table *t, const tsr_request *r) {
  (void)r;
  return t->store.composition->settings.traits.has[TSR_HAS_KEEPS_NUMBERS];
}

static bool makes_all(const tsr_table *t, const tsr_request *r) {
  (void)r;
  return tsr_is_whole(&t->store.composition->shape);
}

static bool combines_unasked(const tsr_table *t, const tsr_request *r) {
  return t->store.composition->facts.combines_later && !r->results;
}

static bool is_on_host(const tsr_table *t, const tsr_request *r) {
  (void)r;
  return t->store.windows != NULL;
}

static bool has_host_arrays(const tsr_table *t, const tsr_request *r) {
  tsr_array arrays[TSR_REQUEST_ARRAYS];
  tsr_request_arrays(t, r, arrays);
  for (uint32_t i = 0; i < TSR_REQUEST_ARRAYS; i++)
    if (!tsr_array_is_reached(t, &arrays[i])) return true;
  return false;
}

/* The same for what its values need in addition. A set of steps is loaded whole. */
static bool lacks_further_code(const tsr_table *t, uint32_t op) {
  bool (*is_prepared)(tsr_device *, tsr_program *, const tsr_step *) = t->backend->is_prepared;
  uint32_t count = 0;
  const uint32_t *further = t->values->further ? t->values->further(op, &count) : NULL;
  bool lacks = false;
  for (uint32_t i = 0; i < count; i++)
    lacks = lacks || !is_prepared(t->device, t->store.code->program, TSR_BULK_STEP(further[i]));
  for (uint32_t i = 0; count && i < TSR_VALUE_SETS_MAX; i++)
    lacks = lacks || (t->values->sets[i] && !is_prepared(t->device, NULL, t->values->sets[i]->step));
  return lacks;
}

static bool lacks_steps(const tsr_table *t, const tsr_step *const *steps, uint32_t count) {
  bool lacks = false;
  for (uint32_t i = 0; i < count; i++)
    lacks = lacks || !t->backend->is_prepared(t->device, t->store.code->program, steps[i]);
  return lacks;
}

/* Whether an operation that the request is made of has not been linked. */
static bool lacks_code(const tsr_table *t, const tsr_request *r) {
  const tsr_step *own[TSR_CACHE_STEPS_MAX];
  const uint32_t count = tsr_cache_steps_of(t->store.composition->facts.score_bits != 0, r->op, own);
  if (count) return lacks_steps(t, own, count);
  const bool combines = r->op == TSR_BULK_insert && t->store.composition->facts.combines_later;
  if (r->op >= TSR_BULKS) return false;
  bool (*is_prepared)(tsr_device *, tsr_program *, const tsr_step *) = t->backend->is_prepared;
  tsr_program *p = t->store.code->program;
  return lacks_further_code(t, r->op) || !is_prepared(t->device, p, TSR_BULK_STEP(r->op)) ||
         (r->op == TSR_BULK_retrieve && !is_prepared(t->device, NULL, &tsr_scan_steps.step[TSR_SCAN_tiles])) ||
         (r->op == TSR_BULK_retrieve && !is_prepared(t->device, p, TSR_BULK_STEP(TSR_BULK_note))) ||
         (combines && !is_prepared(t->device, p, TSR_BULK_STEP(TSR_BULK_combine))) ||
         (tsr_plan_marks(t->store.composition, r->op) && !is_prepared(t->device, p, TSR_BULK_STEP(TSR_BULK_mark)));
}

enum { ANY_CALL = TSR_CALLS };

typedef struct obstacle {
  uint32_t op;                                                /* of which calls */
  bool (*is_there)(const tsr_table *t, const tsr_request *r); /* NULL: always */
  const char *why;                                            /* or NULL, where it is a row of compatible.h: */
  tsr_feature other;
} obstacle;

/* In the order in which a caller can do something about them. */
static const obstacle obstacles[] = {
    {TSR_CALL_PARTS, NULL, "parts of a batch wait for each other: use tsr_insert, ...", TSR_HAS_NOTHING},
    {TSR_CALL_LINK, NULL, "a table was rebuilt with other code since the kernel was linked: launch it once before",
     TSR_HAS_NOTHING},
    {TSR_CALL_FUNCTION, NULL, "the kernel is made for this call, which waits for it: use tsr_kernel_launch",
     TSR_HAS_NOTHING},
    {TSR_CALL_BUILD, NULL, "a build waits, to see whether all pairs have a place: call it before", TSR_HAS_NOTHING},
    {ANY_CALL, has_devices, NULL, TSR_HAS_DEVICES},
    {ANY_CALL, grows, NULL, TSR_HAS_GROWTH},
    {ANY_CALL, uses_rows, NULL, TSR_HAS_VALUE_BYTES},
    {TSR_CALL_NUMBERS, NULL, "it waits, to see which numbers there are: call it before or after", TSR_HAS_NOTHING},
    {TSR_CALL_NUMBER_ROWS, NULL, "the code that copies rows may have to be loaded: call it before or after",
     TSR_HAS_NOTHING},
    {TSR_CALL_PACK, NULL, "the code that makes keys of columns may have to be loaded: call it before", TSR_HAS_NOTHING},
    {ANY_CALL, writes_behind, "it hands over pairs: call tsr_write_behind with NULL before the capture",
     TSR_HAS_NOTHING},
    {TSR_BULK_insert, counts_numbers, NULL, TSR_HAS_KEEPS_NUMBERS},
    {TSR_BULK_find_or_insert, counts_numbers, NULL, TSR_HAS_KEEPS_NUMBERS},
    {TSR_BULK_insert, evicts, NULL, TSR_HAS_EVICTS},
    {TSR_BULK_find_or_insert, evicts, NULL, TSR_HAS_EVICTS},
    {TSR_BULK_insert, makes_all, NULL, TSR_HAS_WHOLE_BATCHES},
    {TSR_BULK_insert, combines_unasked,
     "an insert that combines values where pairs move needs a result for each key: pass call->results",
     TSR_HAS_NOTHING},
    {ANY_CALL, is_on_host, NULL, TSR_HAS_HOST_PAGES},
    {ANY_CALL, has_host_arrays, "an array is in host memory, which a replay does not copy: use arrays of the device's",
     TSR_HAS_NOTHING},
    {ANY_CALL, lacks_code,
     "the call's kernels are not linked yet, which a capture cannot do: call tsr_table_prepare before it",
     TSR_HAS_NOTHING},
};

static tsr_status check_recordable(const tsr_table *t, const tsr_request *r, tsr_error *error) {
  for (size_t i = 0; i < sizeof obstacles / sizeof *obstacles; i++) {
    const obstacle *o = &obstacles[i];
    if ((o->op != ANY_CALL && o->op != r->op) || (o->is_there && !o->is_there(t, r))) continue;
    if (o->why) return tsr_fail(error, TSR_UNSUPPORTED, "the stream is captured into a graph, and %s", o->why);
    return tsr_compatible_refuse(TSR_HAS_CALL_CAPTURED, o->other, "a call that is captured into a CUDA graph", error);
  }
  return TSR_OK;
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

tsr_status tsr_call_is_recorded(const tsr_table *t, void *stream, bool *is, tsr_error *error) {
  *is = false;
  return t->backend->is_capturing ? t->backend->is_capturing(t->device, stream, is, error) : TSR_OK;
}

tsr_status tsr_call_begin(tsr_table *t, tsr_request *r, tsr_error *error) {
  tsr_status status = tsr_call_is_recorded(t, r->call.stream, &r->call.is_recorded, error);
  if (status || !r->call.is_recorded) return status;
  status = check_recordable(t, r, error);
  if (status) return status;
  t->store.in_graph = true;
  t->store.state.has_erased = 1;
  t->store.is_clear = t->known.is_known = false;
  t->known.erases_unseen = true;
  return TSR_OK;
}

tsr_status tsr_call_enter(tsr_table *t, tsr_phase phase, const tsr_call_state *call, tsr_error *error) {
  return call->is_recorded ? TSR_OK : tsr_table_enter(t, phase, call->stream, error);
}

tsr_status tsr_call_leave(tsr_table *t, const tsr_call_state *call, tsr_error *error) {
  return call->is_recorded ? TSR_OK : tsr_table_leave(t, call->stream, error);
}

tsr_status tsr_call_end(const tsr_table *t, const tsr_call_state *call, uint64_t *counter, uint64_t n,
                        tsr_status status) {
  if (call->is_recorded) return status;
  if (status) { /* no later phase knows of a call that failed */
    const tsr_status waited = t->backend->synchronize(t->device, call->stream, NULL);
    (void)waited;
  } else if (counter) {
    __atomic_fetch_add(counter, n, __ATOMIC_RELAXED); /* of finds that overlap; nothing is read because of it */
  }
  return status;
}

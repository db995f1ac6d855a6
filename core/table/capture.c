/* SPDX-License-Identifier: Apache-2.0
 *
 * Capture (capture.h): what a graph cannot record is refused before it would spoil the capture. Read next: filter.c.
 */
#include "core/table/capture.h"

#include "core/batch/plan.h"

static tsr_status refuse(const char *why, tsr_error *error) {
  return tsr_fail(error, TSR_UNSUPPORTED, "the stream is captured into a graph, and %s", why);
}

tsr_status tsr_capture_refuse(const tsr_table *t, void *stream, const char *why, tsr_error *error) {
  bool is = false;
  tsr_status status =
      t->backend->is_capturing ? t->backend->is_capturing(t->device, stream, &is, error) : (tsr_status)TSR_OK;
  return status || !is ? status : refuse(why, error);
}

/* Whether all operations that a request is made of were linked. */
static bool has_code(const tsr_table *t, const tsr_request *r) {
  tsr_program *program = t->store.code->program;
  const bool combines = r->op == TSR_BULK_insert && t->store.composition->facts.combines_later;
  return t->backend->is_prepared(program, r->op) &&
         (r->op != TSR_BULK_retrieve || t->backend->is_prepared(program, TSR_BULK_note)) &&
         (!combines || t->backend->is_prepared(program, TSR_BULK_combine)) &&
         (!tsr_plan_marks(t->store.composition, r->op) || t->backend->is_prepared(program, TSR_BULK_mark));
}

tsr_status tsr_capture_check(const tsr_table *t, const tsr_request *r, const tsr_array *arrays, uint32_t count,
                             tsr_error *error) {
  const tsr_composition *composition = t->store.composition;
  if (r->op == TSR_BULK_insert && composition->shape.has_lists)
    return refuse("lists are made of whole batches, with memory that the host allocates: insert before it", error);
  if (r->op == TSR_BULK_insert && composition->facts.combines_later && !r->results)
    return refuse("an insert that combines values where pairs move needs a result for each key: pass call->results",
                  error);
  if (t->store.windows) return refuse("the table lies in the host's memory, whose pages the host brings", error);
  for (uint32_t i = 0; i < count; i++)
    if (arrays[i].users && arrays[i].bytes && !t->backend->is_device_memory(t->device, arrays[i].users))
      return refuse("an array lies in host memory, which a replay does not copy: use arrays of the device's", error);
  if (!has_code(t, r))
    return refuse("the call's kernels are not linked yet, which a capture cannot do: call tsr_table_prepare before it",
                  error);
  return TSR_OK;
}

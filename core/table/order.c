/* SPDX-License-Identifier: Apache-2.0
 *
 * Order (order.h): a phase begins after all of the former one, and streams join the phase that runs. Read next:
 * call.c.
 */
#include "core/table/order.h"

#include "core/table/hold.h"
#include "core/table/single.h"

/* The phase that an operation is of. Where all may overlap there is one; where inserts and erases take turns a find
 * joins whichever of them runs. */
static tsr_phase phase_of(const tsr_table *t, tsr_phase next) {
  const tsr_composition *composition = t->store.composition;
  const tsr_phase now = t->order.phase;
  if (composition->shape.concurrency != TSR_CONCURRENCY_MIXED || next == TSR_PHASE_ALONE) return next;
  if (!TSR_TAKES_TURNS(&composition->shape)) return TSR_PHASE_MIXED;
  const bool may_join = now == TSR_PHASE_INSERT || now == TSR_PHASE_ERASE || now == TSR_PHASE_MIXED;
  return next == TSR_PHASE_FIND && may_join ? now : next;
}

/* Marks on `stream`, which waits for all streams that used the former phase, where the next one begins. Where there was one, that
 * is the event after its last operation, and recording another would cost the host as much as a launch. */
static tsr_status open_gate(tsr_table *t, void *stream, tsr_error *error) {
  tsr_order *order = &t->order;
  tsr_event *recorded = order->uses[0].event;
  if (order->use_count != 1) return t->backend->events->record(t->device, order->gate, stream, error);
  order->uses[0].event = order->gate;
  order->gate = recorded;
  return TSR_OK;
}

/* A new phase starts after every stream that used the former one; a stream that joins a running phase waits for its start only.
 */
tsr_status tsr_table_enter(tsr_table *t, tsr_phase next, void *stream, tsr_error *error) {
  tsr_status status = TSR_OK;
  if (t->backend->events->are_immediate) return TSR_OK; /* calls that may not overlap hold the table (hold.h) */
  next = phase_of(t, next);
  if (next == t->order.phase && next != TSR_PHASE_ALONE) {
    for (uint32_t i = 0; i < t->order.use_count; i++)
      if (t->order.uses[i].stream == stream) return TSR_OK;
    return t->backend->events->wait(t->device, t->order.gate, stream, error);
  }
  for (uint32_t i = 0; status == TSR_OK && i < t->order.use_count; i++)
    if (t->order.uses[i].stream != stream)
      status = t->backend->events->wait(t->device, t->order.uses[i].event, stream, error);
  if (status == TSR_OK) status = open_gate(t, stream, error);
  if (status) return status;
  t->order.phase = next;
  t->order.use_count = t->order.oldest_use = 0;
  return TSR_OK;
}

tsr_status tsr_table_leave(tsr_table *t, void *stream, tsr_error *error) {
  uint32_t i = 0;
  if (t->backend->events->are_immediate) return TSR_OK;
  while (i < t->order.use_count && t->order.uses[i].stream != stream) i++;
  if (i == TSR_USES_MAX) { /* this stream waits for the oldest one's work and then stands for both */
    i = t->order.oldest_use;
    t->order.oldest_use = (i + 1) % TSR_USES_MAX;
    tsr_status status = t->backend->events->wait(t->device, t->order.uses[i].event, stream, error);
    if (status) return status;
  } else if (i == t->order.use_count) {
    t->order.use_count++;
  }
  t->order.uses[i].stream = stream;
  return t->backend->events->record(t->device, t->order.uses[i].event, stream, error);
}

tsr_status tsr_table_wait(tsr_table *t, tsr_error *error) {
  TSR_WRITES(t);
  if (!t) return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_table_wait: the table is NULL");
  return t->methods->wait(t, error);
}

tsr_status tsr_single_wait(tsr_table *t, tsr_error *error) {
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; status == TSR_OK && i < t->order.use_count; i++)
    status = t->backend->events->finish(t->device, t->order.uses[i].event, error);
  return status;
}

/* ---- Events ---------------------------------------------------------------------------------- */

tsr_status tsr_order_open(tsr_table *t, tsr_error *error) {
  tsr_status status = t->backend->events->create(t->device, false, &t->order.gate, error);
  if (status == TSR_OK) status = t->backend->events->create(t->device, true, &t->timer.from, error);
  if (status == TSR_OK) status = t->backend->events->create(t->device, true, &t->timer.to, error);
  for (uint32_t i = 0; status == TSR_OK && i < TSR_USES_MAX; i++)
    status = t->backend->events->create(t->device, false, &t->order.uses[i].event, error);
  return status;
}

void tsr_order_close(tsr_table *t) {
  tsr_status status = t->order.gate ? tsr_single_wait(t, NULL) : TSR_OK;
  (void)status; /* nobody is left to hear of it */
  tsr_event *events[] = {t->order.gate, t->timer.from, t->timer.to};
  for (uint32_t i = 0; i < 3; i++)
    if (events[i]) t->backend->events->destroy(t->device, events[i]);
  for (uint32_t i = 0; i < TSR_USES_MAX; i++)
    if (t->order.uses[i].event) t->backend->events->destroy(t->device, t->order.uses[i].event);
}

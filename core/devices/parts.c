/* SPDX-License-Identifier: Apache-2.0
 *
 * Batches whose arrays are split among the devices (tessera_devices.h). The arguments of each part are checked by the
 * call for which it stands: meanwhile the table has methods that record the request instead of executing it.
 *
 * Read next: batch.h.
 */
#include <stdlib.h>

#include "core/devices/batch.h"
#include "core/devices/modes.h"
#include "core/devices/whole.h"
#include "core/sized.h"
#include "core/table/call.h"
#include "core/table/hold.h"
#include "core/tessera_devices.h"

typedef struct keeper {
  tsr_methods methods; /* first, so that its address is that of the methods */
  tsr_request request;
} keeper;

static tsr_status keep(tsr_table *t, const tsr_request *request, tsr_error *error) {
  (void)error;
  ((keeper *)(uintptr_t)t->methods)->request = *request;
  return TSR_OK;
}

static tsr_status ask(tsr_table *t, uint32_t call, const tsr_batch_part *p, tsr_error *error) {
  switch (call) {
  case TSR_PREPARE_INSERT:
    return tsr_insert(t, p->n, p->keys, p->values, p->call, error);
  case TSR_PREPARE_FIND:
    return tsr_find(t, p->n, p->keys, p->found, p->call, error);
  case TSR_PREPARE_CONTAINS:
    return tsr_contains(t, p->n, p->keys, p->present, p->call, error);
  case TSR_PREPARE_COUNT_ALL:
    return tsr_count_all(t, p->n, p->keys, p->counts, p->call, error);
  case TSR_PREPARE_FIND_ALL:
    return tsr_find_all(t, p->n, p->keys, p->counts, p->room, p->found, p->call, error);
  case TSR_PREPARE_ERASE:
    return tsr_erase(t, p->n, p->keys, p->call, error);
  case TSR_PREPARE_ERASE_PAIRS:
    return tsr_erase_pairs(t, p->n, p->keys, p->values, p->call, error);
  case TSR_PREPARE_FIND_OR_INSERT:
    return tsr_find_or_insert(t, p->n, p->keys, p->values, p->found, p->call, error);
  case TSR_PREPARE_APPLY:
    return tsr_apply(t, p->n, p->operations, p->keys, p->values, p->found, p->call, error);
  default:
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "tsr_call_parts: call = %u: must be one of TSR_PREPARE_INSERT to TSR_PREPARE_APPLY", call);
  }
}

static tsr_status request_of(tsr_table *t, uint32_t call, const tsr_batch_part *part, tsr_request *request,
                             tsr_error *error) {
  tsr_batch_part known;
  keeper kept = {.methods = {.operate = keep}};
  const tsr_methods *methods = t->methods;
  tsr_status status = tsr_take_over("tsr_call_parts", &known, part, sizeof known, error);
  if (status) return status;
  t->methods = &kept.methods;
  status = ask(t, call, &known, error);
  t->methods = methods;
  *request = kept.request;
  return status;
}

static tsr_status operate_parts(tsr_table *t, const tsr_request *parts, uint32_t count, tsr_error *error) {
  tsr_shards *s = t->shards;
  tsr_status status = TSR_OK;
  const uint32_t op = parts->op;
  const bool reads = op == TSR_BULK_find || op == TSR_BULK_contains || op == TSR_BULK_count;
  if (s && s->split == TSR_SPLIT_HASH) return tsr_batch_run_parts(t, parts, error);
  if (s && s->split == TSR_SPLIT_INDEPENDENT && op == TSR_BULK_insert) return tsr_batch_deal_parts(t, parts, error);
  if (s && s->split == TSR_SPLIT_REPLICATED && reads) {
    status = tsr_replicated_refresh(s, error);
    return status ? status : tsr_batch_deal_parts(t, parts, error);
  }
  for (uint32_t i = 0; status == TSR_OK && i < count; i++)
    status = !s                                  ? t->methods->operate(t, &parts[i], error)
             : s->split == TSR_SPLIT_INDEPENDENT ? tsr_independent_operate(t, &parts[i], error)
                                                 : tsr_replicated_operate(t, &parts[i], error);
  return status;
}

static tsr_status operate(tsr_table *t, const tsr_request *parts, uint32_t count, tsr_error *error) {
  const uint64_t before = t->shards ? tsr_shards_ungrown(t) : 0;
  const tsr_status status = operate_parts(t, parts, count, error);
  return status || !t->shards ? status : tsr_shards_tell_ungrown(t, parts->op, before, error);
}

/* How many parts the table takes. */
static uint32_t parts_of(const tsr_table *t) { return t->shards ? t->shards->transport.here : 1; }

tsr_status tsr_call_parts(tsr_table *t, uint32_t call, uint32_t count, const tsr_batch_part *parts, tsr_error *error) {
  TSR_WRITES(t);
  tsr_request requests[TSR_DEVICES_MAX] = {{.op = 0}};
  bool any = false, all = true;
  if (!t || !parts) return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_call_parts needs a table and parts");
  if (count != parts_of(t))
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "tsr_call_parts: count = %u: the table has %u devices in this process: give a part for each, with "
                    "n = 0 where there is nothing to do",
                    count, parts_of(t));
  if (parts->size < sizeof parts->size)
    return tsr_fail(
        error, TSR_BAD_ARGUMENT,
        "tsr_call_parts: size = %zu: set it to sizeof(tsr_batch_part), since it says where the next part begins",
        parts->size);
  for (uint32_t i = 0; i < count; i++) {
    const tsr_batch_part *part = (const tsr_batch_part *)(uintptr_t)((const char *)parts + i * parts->size);
    tsr_status status = request_of(t, call, part, &requests[i], error);
    tsr_request asked = {.op = TSR_CALL_PARTS, .call = requests[i].call};
    if (status == TSR_OK) status = tsr_call_begin(t, &asked, error);
    if (status) return status;
    any = any || (requests[i].n && requests[i].values);
    all = all && (!requests[i].n || requests[i].values);
  }
  if (any && !all)
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "tsr_call_parts: some parts have values and some have none: give all or none");
  return operate(t, requests, count, error);
}

tsr_status tsr_memory_allocate_on(tsr_table *t, uint32_t part, uint64_t bytes, void **memory, tsr_error *error) {
  TSR_WRITES(t);
  if (!t || !memory)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_memory_allocate_on needs a table and a place for the address");
  if (part >= parts_of(t))
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "tsr_memory_allocate_on: part = %u: the table has %u devices in this process", part, parts_of(t));
  tsr_device *device = t->shards ? t->shards->members[part].shard->device : t->device;
  return device->backend->allocate(device, bytes, memory, error);
}

/* By the model of notebook 0016: finds at 20 billion per second, and 0.15 ms of the host for each further device after a pause. */
uint64_t tsr_batch_least(const tsr_table *t) {
  const uint64_t per_device = UINT64_C(1) << 22;
  const bool is_several = t && t->shards && !t->shards->transport.group && t->shards->transport.here > 1;
  return is_several && t->backend->wires ? per_device * t->shards->transport.here : 0;
}

/* ---- What the legs cost ---------------------------------------------------------------------- */

tsr_status tsr_phases_start(tsr_table *t, tsr_error *error) {
  TSR_WRITES(t);
  if (!t || !t->shards)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_phases_start needs a table of several devices: name [table] devices");
  t->shards->phases = (tsr_phases){.size = sizeof t->shards->phases, .is_direct = t->shards->transport.is_direct};
  t->shards->measures = true;
  return TSR_OK;
}

tsr_status tsr_phases_stop(tsr_table *t, tsr_phases *phases, tsr_error *error) {
  TSR_WRITES(t);
  if (!t || !t->shards || !phases)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_phases_stop needs a table of several devices and a place for times");
  t->shards->measures = false;
  tsr_hand_over(phases, &t->shards->phases, sizeof t->shards->phases);
  return TSR_OK;
}

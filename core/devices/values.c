/* SPDX-License-Identifier: Apache-2.0
 *
 * All values of a chunk's keys (values.h). A count has given their number; the keys travel, and the values come back.
 */
#include "core/devices/values.h"

#include <stddef.h>

#include "core/devices/chunk.h"
#include "core/table/single.h"

/* How many values each member gets from each shard for this chunk, by the caller's offsets, which a count has made. */
static tsr_status size_values(const tsr_task *task, uint32_t flight, tsr_status status, uint64_t *wants,
                              uint64_t *firsts) {
  const uint32_t members = task->x->members;
  uint64_t ends[TSR_DEVICES_MAX + 1];
  for (uint32_t i = 0; status == TSR_OK && i < task->x->here; i++) {
    const tsr_member *m = &task->s->members[i];
    tsr_flight *k = &task->s->members[i].flights[flight];
    const uint64_t bytes = (k->n + 1) * sizeof(uint64_t), *items = task->sizes[flight] + (task->x->first + i) * members;
    status = tsr_task_reserve(task, m, &k->gathered.offsets, bytes);
    if (status == TSR_OK) status = tsr_task_reserve(task, m, &k->gathered.spans, bytes);
    const uint64_t *callers = task->parts[i].counts + k->first;
    if (status == TSR_OK) status = tsr_task_copy(task, m, k->gathered.offsets.memory, callers, bytes, TSR_LEG_SPLIT);
    const tsr_split split = {.runs = tsr_chunk_runs(task, k),
                             .lists.offsets = k->gathered.offsets.memory,
                             .lists.spans = k->gathered.spans.memory};
    if (status == TSR_OK && k->n) status = tsr_task_step(task, m, TSR_SPLIT_spans, &split, TSR_LEG_SPLIT);
    if (status == TSR_OK) status = tsr_task_sum(task, m, split.lists.spans, k->n, TSR_LEG_SPLIT);
    if (status == TSR_OK)
      status = tsr_task_copy(task, m, &firsts[i], k->gathered.offsets.memory, sizeof *firsts, TSR_LEG_SPLIT);
    for (uint64_t from = 0, at = 0; status == TSR_OK && from <= members; at += from < members ? items[from] : 0, from++)
      status = tsr_task_copy(task, m, &ends[from], split.lists.spans + at, sizeof *ends, TSR_LEG_SPLIT);
    if (status == TSR_OK)
      status = tsr_device_of(m)->backend->synchronize(tsr_device_of(m), m->streams[TSR_LEG_SPLIT], task->error);
    for (uint32_t from = 0; status == TSR_OK && from < members; from++)
      wants[(task->x->first + i) * members + from] = ends[from + 1] - ends[from];
  }
  return task->x->gather(task->x, wants, members, status, task->error);
}

static tsr_status retrieve_member(const tsr_task *task, uint32_t member, tsr_flight *k, uint64_t values) {
  tsr_member *m = &task->s->members[member];
  tsr_status status = tsr_task_wait(task, m, k->ended[TSR_LEG_TRAVEL], TSR_LEG_WORK);
  if (status == TSR_OK) status = tsr_task_begin_leg(task, m, k, TSR_LEG_WORK);
  if (status) return status;
  const tsr_request mine = {.op = TSR_BULK_retrieve,
                            .phase = TSR_PHASE_FIND,
                            .n = k->got,
                            .keys = tsr_task_question(task, k, TSR_KEYS),
                            .values_out = values ? k->gathered.values.memory : NULL,
                            .counts = k->answer[TSR_COUNTS].memory,
                            .room = values,
                            .missing = task->parts[member].missing,
                            .call.stream = m->streams[TSR_LEG_WORK],
                            .tally = m->shard->tallies + TSR_TALLY_UNREAD};
  if (mine.n) status = tsr_single_operate(m->shard, &mine, task->error);
  return status ? status : tsr_task_end_leg(task, m, k, TSR_LEG_WORK);
}

/* Copies the values of a member's part to the caller, as far as there is room. first: where they begin. */
static tsr_status spread(const tsr_task *task, uint32_t member, uint32_t flight, const uint64_t *wants, uint64_t first,
                         uint64_t count) {
  tsr_member *m = &task->s->members[member];
  tsr_flight *k = &m->flights[flight];
  const tsr_request *r = &task->parts[member];
  const uint32_t bytes = task->answer_bytes[TSR_FOUND_VALUES];
  const uint64_t room = first < r->room ? r->room - first : 0, fitting = count < room ? count : room;
  tsr_status status = tsr_task_reserve(task, m, &k->gathered.ordered, count * bytes);
  if (status || k->n == 0) return status;
  tsr_split split = {.runs = tsr_chunk_runs(task, k),
                     .answers.ordered = k->gathered.ordered.memory,
                     .answers.column_bytes = bytes,
                     .lists.offsets = k->gathered.offsets.memory,
                     .lists.spans = k->gathered.spans.memory};
  tsr_task_locate(task, member, flight, tsr_way_of_values(task), wants, split.from);
  status = tsr_task_step(task, m, TSR_SPLIT_spread, &split, TSR_LEG_RETURN);
  if (status || !fitting) return status;
  return tsr_task_copy(task, m, (char *)r->values_out + first * bytes, k->gathered.ordered.memory, fitting * bytes,
                       TSR_LEG_RETURN);
}

tsr_status tsr_chunk_retrieve(const tsr_task *task, uint32_t flight, tsr_status status, uint64_t *wants,
                              uint64_t *back) {
  const uint32_t members = task->x->members;
  uint64_t firsts[TSR_DEVICES_MAX], counts[TSR_DEVICES_MAX] = {0};
  const tsr_way way = tsr_way_of_values(task);
  tsr_need values = {.buffer = offsetof(tsr_flight, gathered.values)};
  status = size_values(task, flight, status, wants, firsts);
  for (uint32_t to = 0; to < members; to++)
    for (uint32_t from = 0; from < members; from++) {
      back[from * members + to] = wants[to * members + from];
      values.bytes[from] += wants[to * members + from] * way.bytes;
    }
  if (status == TSR_OK) status = tsr_reach_room(task->s, flight, &values, 1, task->error);
  status = tsr_chunk_travel(task, flight, status);
  for (uint32_t i = 0; status == TSR_OK && i < task->x->here; i++) {
    for (uint32_t from = 0; from < members; from++) counts[i] += wants[(task->x->first + i) * members + from];
    const uint64_t bytes = values.bytes[task->x->first + i];
    status = retrieve_member(task, i, &task->s->members[i].flights[flight], way.bytes ? bytes / way.bytes : 0);
  }
  if (status == TSR_OK) status = tsr_task_meet(task, flight, TSR_LEG_WORK, TSR_LEG_RETURN);
  for (uint32_t i = 0; status == TSR_OK && !task->x->is_direct && i < task->x->here; i++)
    status = tsr_task_reserve(task, &task->s->members[i], &task->s->members[i].flights[flight].gathered.back,
                              counts[i] * task->answer_bytes[TSR_FOUND_VALUES]);
  if (status == TSR_OK) status = tsr_task_begin_return(task, flight, false);
  status = task->x->agree(task->x, status, task->error);
  if (status == TSR_OK) status = tsr_task_exchange(task, flight, &way, 1, back, TSR_LEG_RETURN);
  if (status == TSR_OK) status = tsr_task_begin_return(task, flight, true);
  for (uint32_t i = 0; status == TSR_OK && i < task->x->here; i++) {
    tsr_member *m = &task->s->members[i];
    status = spread(task, i, flight, wants, firsts[i], counts[i]);
    if (status == TSR_OK) status = tsr_task_end_leg(task, m, &m->flights[flight], TSR_LEG_RETURN);
  }
  return status;
}

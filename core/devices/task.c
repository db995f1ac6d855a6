/* SPDX-License-Identifier: Apache-2.0
 *
 * A batch under way (task.h).
 */
#include "core/devices/task.h"

#include <stddef.h>
#include <stdlib.h>

#include "core/batch/sum.h"
#include "core/devices/balance.h"
#include "core/table/launch.h"

/* ---- What is asked --------------------------------------------------------------------------- */

const void *tsr_question_in(const tsr_request *r, tsr_column c) {
  const void *const questions[TSR_QUESTIONS] = {
      [TSR_KEYS] = r->keys, [TSR_VALUES] = r->values, [TSR_OPERATIONS] = r->operations};
  return questions[c];
}

/* Where the caller wants an answer; NULL: only other answers need it. */
void *tsr_answer_in(const tsr_request *r, tsr_answer a) {
  void *const answers[TSR_ANSWERS] = {[TSR_FOUND_VALUES] = r->values_out,
                                      [TSR_UNPLACED_KEYS] = r->unplaced_keys,
                                      [TSR_UNPLACED_VALUES] = r->unplaced_values,
                                      [TSR_CODES] = r->results,
                                      [TSR_COUNTS] = r->counts,
                                      [TSR_TIMES] = r->times};
  return answers[a];
}

uint64_t tsr_task_max_part(const tsr_task *task) {
  uint64_t n = 0;
  for (uint32_t i = 0; i < task->x->here; i++) n = task->parts[i].n > n ? task->parts[i].n : n;
  return n;
}

/* Whether a shard brings what it gets into an order before it works on it. Shards are alike. */
static bool is_ordered(const tsr_task *task) {
  const tsr_table *shard = task->s->members->shard;
  const tsr_call_state call = {.stream = NULL};
  return tsr_launch_plan(shard, &shard->store, task->parts->op, tsr_task_max_part(task), tsr_task_has_answers(task),
                         &call)
             .order != TSR_ORDER_NONE;
}

/* While a chunk is worked on, the next one is split. More chunks than two gain nothing, and each costs the host time, which is
 * all that a small one costs. But an order needs all items at once: pages that are filled for each chunk are read and written
 * for each. Where memory is short one of four chunks is under way at a time. */
static uint64_t share_of(const tsr_task *task, bool is_sparing) {
  enum { CHUNKS = 2, CHUNKS_IF_SPARING = 4, LEAST = 2 << 20, LEAST_IF_SPARING = 1 << 18, MOST = 32 << 20 };
  if (task->s->chunk != TSR_CHUNK_AUTO) return task->s->chunk > task->x->here ? task->s->chunk / task->x->here : 1;
  const uint64_t chunks = is_sparing ? CHUNKS_IF_SPARING : task->is_ordered ? 1 : CHUNKS;
  const uint64_t least = is_sparing ? LEAST_IF_SPARING : LEAST;
  const uint64_t most = task->is_ordered && !is_sparing ? TSR_PIECE_MAX : MOST;
  const uint64_t part = (tsr_task_max_part(task) + chunks - 1) / chunks;
  return part < least ? least : part > most ? most : part;
}

tsr_task tsr_task_of(tsr_table *t, const tsr_request *parts, bool is_sparing, tsr_error *error) {
  const tsr_shape *shape = &t->store.composition->shape;
  const uint32_t key_bytes = shape->key_bits / 8, op = parts->op;
  const uint32_t value_bytes = tsr_composition_value_bytes(t->store.composition);
  tsr_task task = {.t = t, .s = t->shards, .x = &t->shards->transport, .parts = parts, .error = error};
  const uint32_t bytes[TSR_ANSWERS] = {[TSR_FOUND_VALUES] = value_bytes,     [TSR_CODES] = 1,
                                       [TSR_UNPLACED_KEYS] = key_bytes,      [TSR_UNPLACED_VALUES] = value_bytes,
                                       [TSR_COUNTS] = sizeof *parts->counts, [TSR_TIMES] = 2 * sizeof *parts->times};
  bool has_values = false, hands_back = false, wants[TSR_ANSWERS] = {false};
  for (uint32_t i = 0; i < task.x->here; i++) {
    has_values = has_values || parts[i].values;
    hands_back = hands_back || parts[i].unplaced_keys || parts[i].unplaced_values;
    for (uint32_t a = 0; a < TSR_ANSWERS; a++) wants[a] = wants[a] || tsr_answer_in(&parts[i], (tsr_answer)a);
  }
  task.question_bytes[TSR_KEYS] = key_bytes;
  task.question_bytes[TSR_VALUES] = has_values ? value_bytes : 0;
  task.question_bytes[TSR_OPERATIONS] = op == TSR_BULK_apply;
  for (uint32_t a = 0; a < TSR_ANSWERS; a++) {
    task.answer_bytes[a] = bytes[a];
    task.answers[a] = (tsr_answer_column){wants[a] || (a == TSR_CODES && hands_back) ? bytes[a] : 0,
                                          a == TSR_UNPLACED_KEYS || a == TSR_UNPLACED_VALUES ||
                                              (a == TSR_FOUND_VALUES && op == TSR_BULK_apply)};
  }
  task.is_ordered = is_ordered(&task);
  task.flights = is_sparing ? 1 : TSR_FLIGHTS;
  task.share = share_of(&task, is_sparing);
  const uint64_t spared = share_of(&task, true);
  task.spares = !is_sparing && spared < task.share && spared < tsr_task_max_part(&task);
  return task;
}

/* Whether the work itself sends answers, so that its time hides the link's. Not answers that the work reads again, nor
 * rows, which travel in other ways. Not if the launches become small, because each member's items need their own; nor if
 * each would need an order of its own. */
bool tsr_task_sends_answers(const tsr_task *task) {
  const uint32_t op = task->parts->op;
  const uint64_t part = tsr_task_max_part(task), items = part < task->share ? part : task->share;
  return task->x->is_direct && !task->stays && !task->is_ordered &&
         (op == TSR_BULK_find || op == TSR_BULK_contains || op == TSR_BULK_count) &&
         task->answer_bytes[TSR_FOUND_VALUES] <= sizeof(uint64_t) && items / task->x->members >= TSR_RUNS_TILE;
}

void *tsr_task_question(const tsr_task *task, const tsr_flight *k, tsr_column c) {
  const bool is_unpacked = task->folds && c == TSR_VALUES && task->answer_bytes[TSR_FOUND_VALUES]; /* fold.h */
  if (!task->question_bytes[c] && !is_unpacked) return NULL;
  return task->stays ? (void *)(uintptr_t)k->asked[c] : k->arrived[c].memory;
}

bool tsr_task_has_answers(const tsr_task *task) {
  for (uint32_t a = 0; a < TSR_ANSWERS; a++)
    if (task->answers[a].bytes) return true;
  return false;
}

void tsr_task_free(tsr_task *task) {
  for (uint32_t i = 0; i < TSR_FLIGHTS; i++) {
    free(task->sizes[i]);
    free(task->back[i]);
  }
  free(task->rows);
}

tsr_status tsr_task_allocate(tsr_task *task) {
  const size_t members = task->x->members;
  bool has_all = true;
  for (uint32_t i = 0; i < TSR_FLIGHTS; i++) {
    task->sizes[i] = calloc(members * members, sizeof *task->sizes[i]);
    task->back[i] = calloc(members * members, sizeof *task->back[i]);
    has_all = has_all && task->sizes[i] && task->back[i];
  }
  task->rows = calloc(members, sizeof *task->rows);
  if (has_all && task->rows) return TSR_OK;
  return tsr_fail(task->error, TSR_NO_MEMORY, "no memory to split a batch of %llu items",
                  (unsigned long long)tsr_task_max_part(task));
}

/* ---- Work of a member, in the stream of a leg ------------------------------------------------ */

tsr_status tsr_task_wait(const tsr_task *task, const tsr_member *m, tsr_event *event, tsr_leg leg) {
  tsr_device *device = tsr_device_of(m);
  return device->backend->events->wait(device, event, m->streams[leg], task->error);
}

static tsr_status record(const tsr_task *task, const tsr_member *m, tsr_event *event, tsr_leg leg) {
  tsr_device *device = tsr_device_of(m);
  return device->backend->events->record(device, event, m->streams[leg], task->error);
}

bool tsr_task_reaches(const tsr_member *m, const void *items, uint64_t bytes) {
  const uint64_t word = bytes == 16 ? 16 : bytes % 8 == 0 ? 8 : bytes % 4 == 0 ? 4 : 1;
  return tsr_device_of(m)->backend->is_device_memory(tsr_device_of(m), items) && (uint64_t)(uintptr_t)items % word == 0;
}

tsr_status tsr_task_copy(const tsr_task *task, const tsr_member *m, void *to, const void *from, uint64_t bytes,
                         tsr_leg leg) {
  tsr_device *device = tsr_device_of(m);
  return bytes ? device->backend->copy(device, to, from, bytes, m->streams[leg], task->error) : TSR_OK;
}

tsr_status tsr_task_step(const tsr_task *task, const tsr_member *m, uint32_t what, const tsr_split *split,
                         tsr_leg leg) {
  tsr_device *device = tsr_device_of(m);
  const tsr_runs *runs = &split->runs;
  const uint64_t items = what == TSR_SPLIT_sizes  ? runs->bins
                         : what == TSR_SPLIT_fold ? (runs->n - 1) / split->fold.every + 1
                         : what == TSR_SPLIT_weigh || what == TSR_SPLIT_unfold || what == TSR_SPLIT_unpack
                             ? runs->n
                             : runs->tiles;
  const tsr_step *step = &tsr_split_steps.step[tsr_split_for(what, task->question_bytes[TSR_KEYS])];
  return device->backend->step(device, NULL, step, split, items, m->streams[leg], task->error);
}

tsr_status tsr_task_sum(const tsr_task *task, const tsr_member *m, uint64_t *numbers, uint64_t n, tsr_leg leg) {
  tsr_device *device = tsr_device_of(m);
  return tsr_prefix_sum(device, numbers, n, m->streams[leg], task->error);
}

tsr_status tsr_task_reserve(const tsr_task *task, const tsr_member *m, tsr_buffer *buffer, uint64_t bytes) {
  return tsr_buffer_reserve(m, buffer, bytes, task->error);
}

/* ---- Legs ------------------------------------------------------------------------------------ */

tsr_status tsr_task_begin_leg(const tsr_task *task, const tsr_member *m, const tsr_flight *k, tsr_leg leg) {
  return task->s->measures ? record(task, m, k->times.begun[leg], leg) : TSR_OK;
}

tsr_status tsr_task_end_leg(const tsr_task *task, const tsr_member *m, tsr_flight *k, tsr_leg leg) {
  k->times.is_timed[leg] = task->s->measures;
  k->is_under_way = true;
  k->last = leg;
  return record(task, m, k->ended[leg], leg);
}

tsr_status tsr_task_begin_return(const tsr_task *task, uint32_t flight, bool are_back) {
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; status == TSR_OK && task->s->measures && i < task->x->here; i++) {
    const tsr_member *m = &task->s->members[i];
    const tsr_flight *k = &m->flights[flight];
    status = record(task, m, are_back ? k->times.back_at : k->times.begun[TSR_LEG_RETURN], TSR_LEG_RETURN);
  }
  return status;
}

tsr_status tsr_task_meet(const tsr_task *task, uint32_t flight, tsr_leg after, tsr_leg leg) {
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; i < task->x->here; i++)
    for (uint32_t other = 0; status == TSR_OK && other < task->x->here; other++)
      status = tsr_task_wait(task, &task->s->members[i], task->s->members[other].flights[flight].ended[after], leg);
  for (uint32_t i = 0; status == TSR_OK && task->s->far && i < task->x->here; i++) {
    tsr_device *device = tsr_device_of(&task->s->members[i]);
    status = device->backend->events->finish(device, task->s->members[i].flights[flight].ended[after], task->error);
  }
  return status;
}

/* ---- What the legs cost ---------------------------------------------------------------------- */

/* Sets *longest to the time between two events of this flight, if that is longer. */
static tsr_status take_time(const tsr_member *m, tsr_event *from, tsr_event *to, double *longest, tsr_error *error) {
  double ms = 0;
  tsr_status status = tsr_device_of(m)->backend->events->between(tsr_device_of(m), from, to, &ms, error);
  if (ms > *longest) *longest = ms;
  return status;
}

/* Adds what a chunk has cost. pre: its events are finished. */
static tsr_status add_times(const tsr_task *task, uint32_t flight, tsr_error *error) {
  double longest[TSR_LEGS] = {0}, back = 0;
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; i < task->x->here; i++) {
    const tsr_member *m = &task->s->members[i];
    tsr_flight *k = &task->s->members[i].flights[flight];
    for (uint32_t leg = 0; status == TSR_OK && leg < TSR_LEGS; leg++) {
      tsr_event *begun = leg == TSR_LEG_RETURN ? k->times.back_at : k->times.begun[leg];
      if (k->times.is_timed[leg]) status = take_time(m, begun, k->ended[leg], &longest[leg], error);
    }
    if (status == TSR_OK && k->times.is_timed[TSR_LEG_RETURN])
      status = take_time(m, k->times.begun[TSR_LEG_RETURN], k->times.back_at, &back, error);
    for (uint32_t leg = 0; leg < TSR_LEGS; leg++) k->times.is_timed[leg] = false;
  }
  task->s->phases.chunks += longest[TSR_LEG_WORK] > 0;
  task->s->phases.split_ms += longest[TSR_LEG_SPLIT];
  task->s->phases.exchange_ms += longest[TSR_LEG_TRAVEL] + back;
  task->s->phases.work_ms += longest[TSR_LEG_WORK];
  task->s->phases.answer_ms += longest[TSR_LEG_RETURN];
  return status;
}

/* The last leg of a member ends after its other ones. */
tsr_status tsr_task_finish_slot(const tsr_task *task, uint32_t flight, tsr_error *error) {
  tsr_status status = TSR_OK;
  bool was_under_way = false;
  for (uint32_t i = 0; i < task->x->here; i++) {
    const tsr_member *m = &task->s->members[i];
    tsr_flight *k = &task->s->members[i].flights[flight];
    tsr_device *device = tsr_device_of(m);
    if (!k->is_under_way) continue;
    const tsr_status waited = device->backend->events->finish(device, k->ended[k->last], status ? NULL : error);
    if (status == TSR_OK) status = waited;
    k->is_under_way = false;
    was_under_way = true;
  }
  return status || !was_under_way ? status : add_times(task, flight, error);
}

/* ---- Where columns are ----------------------------------------------------------------------- */

/* shards, members: the offsets of these columns in a flight. i: the number of the column. */
static tsr_way way_of(size_t shards, size_t members, uint32_t i, uint32_t bytes) {
  return (tsr_way){shards + i * sizeof(tsr_buffer), members + i * sizeof(tsr_buffer), bytes};
}

tsr_way tsr_way_of_question(const tsr_task *task, tsr_column c) {
  return way_of(offsetof(tsr_flight, arrived), offsetof(tsr_flight, split), c, task->question_bytes[c]);
}

tsr_way tsr_way_of_answer(const tsr_task *task, tsr_answer a) {
  return way_of(offsetof(tsr_flight, answer), offsetof(tsr_flight, back), a, task->answers[a].bytes);
}

tsr_way tsr_way_of_values(const tsr_task *task) {
  return way_of(offsetof(tsr_flight, gathered.values), offsetof(tsr_flight, gathered.back), 0,
                task->answer_bytes[TSR_FOUND_VALUES]);
}

static void *memory_at(const tsr_flight *k, size_t offset) {
  return ((const tsr_buffer *)((const char *)k + offset))->memory;
}

void tsr_task_number_shards(const tsr_task *task, uint32_t member, const uint64_t *sizes, uint64_t *first_at) {
  const uint32_t members = task->x->members;
  const uint64_t *row = sizes + (size_t)member * members;
  first_at[0] = 0;
  for (uint32_t to = 1; to < members; to++) first_at[to] = first_at[to - 1] + row[to - 1];
}

void tsr_task_locate(const tsr_task *task, uint32_t member, uint32_t flight, tsr_way w, const uint64_t *sizes,
                     void **at) {
  const uint32_t members = task->x->members, me = task->x->first + member;
  uint64_t first_at[TSR_DEVICES_MAX];
  tsr_task_number_shards(task, me, sizes, first_at);
  for (uint32_t shard = 0; shard < members; shard++) {
    const bool is_reached = task->x->is_direct || shard == me;
    uint64_t before = 0;
    for (uint32_t from = 0; from < me; from++) before += sizes[from * members + shard];
    const tsr_flight *k =
        is_reached ? tsr_reach_flight(task->s, shard, flight) : &task->s->members[member].flights[flight];
    char *memory = memory_at(k, is_reached ? w.shards : w.members);
    at[shard] = memory ? memory + (is_reached ? before : first_at[shard]) * w.bytes : NULL;
  }
}

/* The bytes of the device that sends most to others. */
static void add_sent(const tsr_task *task, const uint64_t *sizes, uint32_t item_bytes, bool is_hidden) {
  const uint32_t members = task->x->members;
  uint64_t most = 0;
  for (uint32_t from = task->x->first; from < task->x->first + task->x->here; from++) {
    uint64_t items = 0;
    for (uint32_t to = 0; to < members; to++) items += to == from ? 0 : sizes[from * members + to];
    most = items > most ? items : most;
  }
  if (task->s->measures) task->s->phases.sent_bytes += most * item_bytes;
  if (task->s->measures && is_hidden) task->s->phases.hidden_bytes += most * item_bytes;
}

_Static_assert((int)TSR_QUESTIONS <= (int)TSR_PARCELS_MAX && (int)TSR_ANSWERS <= (int)TSR_PARCELS_MAX,
               "all columns travel at once");

/* The two ends of a column, of all members here. */
typedef struct ends {
  const void *from[TSR_DEVICES_MAX];
  void *to[TSR_DEVICES_MAX];
} ends;

tsr_status tsr_task_exchange(const tsr_task *task, uint32_t flight, const tsr_way *ways, uint32_t columns,
                             const uint64_t *sizes, tsr_leg leg) {
  const bool returns = leg == TSR_LEG_RETURN;
  ends of[TSR_PARCELS_MAX];
  tsr_parcels parcels[TSR_PARCELS_MAX];
  void *streams[TSR_DEVICES_MAX];
  if (task->stays) return TSR_OK;
  for (uint32_t c = 0; c < columns; c++) add_sent(task, sizes, ways[c].bytes, task->sends && returns);
  if (task->x->is_direct) return TSR_OK;
  for (uint32_t i = 0; i < task->x->here; i++) {
    const tsr_member *m = &task->s->members[i];
    const tsr_flight *k = &m->flights[flight];
    streams[i] = m->streams[leg];
    for (uint32_t c = 0; c < columns; c++) {
      of[c].from[i] = memory_at(k, returns ? ways[c].shards : ways[c].members);
      of[c].to[i] = memory_at(k, returns ? ways[c].members : ways[c].shards);
    }
  }
  for (uint32_t c = 0; c < columns; c++)
    parcels[c] = (tsr_parcels){of[c].from, of[c].to, sizes, ways[c].bytes, streams};
  return task->x->exchange(task->x, parcels, columns, task->error);
}

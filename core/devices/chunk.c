/* SPDX-License-Identifier: Apache-2.0
 *
 * The legs of a chunk (chunk.h).
 */
#include "core/devices/chunk.h"

#include <stddef.h>
#include <string.h>

#include "core/devices/fold.h"
#include "core/table/single.h"

/* ---- Leg 1: split ---------------------------------------------------------------------------- */

_Static_assert((int)TSR_KEYS == (int)TSR_SPLIT_KEYS && (int)TSR_VALUES == (int)TSR_SPLIT_VALUES &&
                   (int)TSR_OPERATIONS == (int)TSR_SPLIT_OPERATIONS && (int)TSR_MORE == (int)TSR_SPLIT_MORE &&
                   (int)TSR_QUESTIONS == (int)TSR_SPLIT_COLUMNS,
               "a chunk's columns are those of its split");

tsr_runs tsr_chunk_runs(const tsr_task *task, const tsr_flight *k) {
  return (tsr_runs){.n = k->n,
                    .tiles = TSR_RUNS_TILES(k->n),
                    .bins = task->x->members,
                    .counts = k->counts.memory,
                    .places = k->places.memory,
                    .made = task->folds ? k->folded.made.memory : NULL};
}

static tsr_split split_of(const tsr_task *task, const tsr_flight *k) {
  tsr_split split = {.runs = tsr_chunk_runs(task, k), .seed = task->s->seed};
  split.runs.are_apart = 1;
  split.sizes = k->sizes;
  for (uint32_t i = 0; i < split.runs.bins; i++) split.first_bin[i] = task->s->first_bin[i];
  for (uint32_t c = 0; c < TSR_QUESTIONS; c++) {
    split.bytes[c] = task->question_bytes[c];
    split.items[c] = !task->folds ? k->asked[c] : split.bytes[c] ? k->folded.columns[c].memory : NULL;
  }
  return split;
}

tsr_status tsr_chunk_fetch(const tsr_task *task, uint32_t member, tsr_flight *k, tsr_column c) {
  const tsr_member *m = &task->s->members[member];
  const uint64_t bytes = task->question_bytes[c];
  const char *callers = tsr_question_in(&task->parts[member], c);
  k->asked[c] = NULL;
  if (!callers || !bytes || k->n == 0) return TSR_OK;
  k->asked[c] = callers + k->first * bytes;
  if (tsr_task_reaches(m, k->asked[c], bytes)) return TSR_OK;
  tsr_status status = tsr_task_reserve(task, m, &k->in[c], k->n * bytes);
  if (status == TSR_OK) status = tsr_task_copy(task, m, k->in[c].memory, k->asked[c], k->n * bytes, TSR_LEG_SPLIT);
  k->asked[c] = k->in[c].memory;
  return status;
}

/* Where the caller wants an answer, if it is put there by the device itself. */
static bool is_put_at_once(const tsr_task *task, uint32_t member, const tsr_flight *k, tsr_answer a) {
  const uint64_t bytes = task->answers[a].bytes;
  const char *callers = task->folds ? NULL : tsr_answer_in(&task->parts[member], a);
  return callers && tsr_task_reaches(&task->s->members[member], callers + k->first * bytes, bytes);
}

/* Room for the answers of a member's part. Where there is none, nothing has been inserted yet. */
static tsr_status reserve_answers(const tsr_task *task, uint32_t member, tsr_flight *k) {
  const tsr_member *m = &task->s->members[member];
  tsr_status status = TSR_OK;
  if (task->parts->op == TSR_BULK_retrieve) return TSR_OK; /* values.c */
  for (uint32_t a = 0; status == TSR_OK && k->n && a < TSR_ANSWERS; a++) {
    const uint64_t bytes = k->n * task->answers[a].bytes;
    const bool is_asked = tsr_answer_in(&task->parts[member], (tsr_answer)a) || a == TSR_CODES || task->folds;
    if (!bytes) continue;
    if (!task->x->is_direct && !task->stays) status = tsr_task_reserve(task, m, &k->back[a], bytes);
    if (status == TSR_OK && is_asked && !is_put_at_once(task, member, k, (tsr_answer)a))
      status = tsr_task_reserve(task, m, &k->ordered[a], bytes);
  }
  return status == TSR_OK && task->folds ? tsr_fold_reserve(task, member, k) : status;
}

/* A member's part of a chunk, on its device, and how many items each tile has for each shard. */
static tsr_status count_part(const tsr_task *task, uint32_t member, tsr_flight *k) {
  const tsr_member *m = &task->s->members[member];
  tsr_status status = TSR_OK;
  for (uint32_t c = 0; status == TSR_OK && c < TSR_QUESTIONS; c++) {
    status = tsr_chunk_fetch(task, member, k, (tsr_column)c);
    if (status == TSR_OK && !task->stays && !task->x->is_direct)
      status = tsr_task_reserve(task, m, &k->split[c], k->n * task->question_bytes[c]);
  }
  if (status == TSR_OK) status = reserve_answers(task, member, k);
  if (status || task->stays) return status;
  if (task->folds) status = tsr_fold_part(task, m, k);
  const uint64_t counts = TSR_RUNS_TILES(k->n) * task->x->members;
  if (status == TSR_OK && tsr_task_has_answers(task))
    status = tsr_task_reserve(task, m, &k->places, k->n * sizeof(uint16_t));
  if (status == TSR_OK) status = tsr_task_reserve(task, m, &k->counts, (counts + 1) * sizeof(uint64_t));
  if (status || k->n == 0) return status;
  const tsr_split split = split_of(task, k);
  status = tsr_task_step(task, m, TSR_SPLIT_count, &split, TSR_LEG_SPLIT);
  if (status == TSR_OK) status = tsr_task_sum(task, m, split.runs.counts, counts, TSR_LEG_SPLIT);
  return status ? status : tsr_task_step(task, m, TSR_SPLIT_sizes, &split, TSR_LEG_SPLIT);
}

/* Reads the member's row of sizes. */
static tsr_status read_sizes(const tsr_task *task, uint32_t member, const tsr_flight *k, uint64_t *sizes) {
  const tsr_member *m = &task->s->members[member];
  memset(sizes, 0, task->x->members * sizeof *sizes);
  if (task->stays) sizes[task->x->first + member] = k->n;
  if (k->n == 0 || task->stays) return TSR_OK;
  const tsr_status status =
      tsr_device_of(m)->backend->synchronize(tsr_device_of(m), m->streams[TSR_LEG_SPLIT], task->error);
  if (status == TSR_OK) memcpy(sizes, k->sizes, task->x->members * sizeof *sizes);
  return status;
}

/* Tells the others how many items this process has for each shard, and that it has not failed. */
static tsr_status share_sizes(const tsr_task *task, uint32_t flight, tsr_status status) {
  const uint32_t members = task->x->members;
  uint64_t *sizes = task->sizes[flight], *back = task->back[flight];
  status = task->x->gather(task->x, sizes, members, status, task->error);
  for (uint32_t from = 0; from < members; from++)
    for (uint32_t to = 0; to < members; to++) back[to * members + from] = sizes[from * members + to];
  return status;
}

void tsr_chunk_take_round(const tsr_task *task, uint32_t flight, uint64_t round) {
  for (uint32_t i = 0; i < task->x->here; i++) {
    tsr_flight *k = &task->s->members[i].flights[flight];
    const uint64_t n = task->parts[i].n;
    k->first = round * task->share < n ? round * task->share : n;
    k->n = n - k->first < task->share ? n - k->first : task->share;
  }
}

/* Adds a buffer that needs `bytes` bytes for each item of a member. */
static void need(tsr_need *needs, uint32_t *count, size_t buffer, const uint64_t *items, uint64_t bytes,
                 uint32_t members) {
  needs[*count].buffer = buffer;
  for (uint32_t i = 0; i < members; i++) needs[*count].bytes[i] = items[i] * bytes;
  ++*count;
}

/* Bytes of an item in a shard's own buffer for answers; 0: it has none. */
static uint32_t answer_bytes_at_shard(const tsr_task *task, tsr_answer a) {
  if (task->parts->op == TSR_BULK_retrieve) return a == TSR_COUNTS ? task->answer_bytes[a] : 0; /* values.c */
  const bool has = !task->sends && (task->answers[a].bytes || tsr_fold_needs(task, a));
  return has ? task->answer_bytes[a] : 0;
}

/* Room for what comes to the shards, and for answers: where they are made, or where they are sent to. */
static tsr_status make_room(const tsr_task *task, uint32_t flight) {
  const uint32_t members = task->x->members;
  const uint64_t *sizes = task->sizes[flight];
  uint64_t got[TSR_DEVICES_MAX] = {0}, asked[TSR_DEVICES_MAX] = {0}, made[TSR_DEVICES_MAX];
  tsr_need needs[TSR_NEEDS_MAX];
  uint32_t count = 0;
  for (uint32_t from = 0; from < members; from++)
    for (uint32_t to = 0; to < members; to++) {
      got[to] += sizes[from * members + to];
      asked[from] += sizes[from * members + to];
    }
  for (uint32_t i = 0; i < members; i++) made[i] = got[i] + (task->parts->op == TSR_BULK_retrieve);
  for (uint32_t i = 0; i < task->x->here; i++) task->s->members[i].flights[flight].got = got[task->x->first + i];
  for (uint32_t c = 0; c < TSR_QUESTIONS && !task->stays; c++) {
    const bool is_unpacked = task->folds && c == TSR_VALUES; /* fold.h */
    const uint32_t bytes = is_unpacked ? task->answer_bytes[TSR_FOUND_VALUES] : task->question_bytes[c];
    if (bytes) need(needs, &count, offsetof(tsr_flight, arrived) + c * sizeof(tsr_buffer), got, bytes, members);
  }
  for (uint32_t a = 0; a < TSR_ANSWERS; a++) {
    const uint32_t bytes = answer_bytes_at_shard(task, (tsr_answer)a);
    if (bytes) need(needs, &count, offsetof(tsr_flight, answer) + a * sizeof(tsr_buffer), made, bytes, members);
    if (task->sends && task->answers[a].bytes)
      need(needs, &count, offsetof(tsr_flight, back) + a * sizeof(tsr_buffer), asked, task->answers[a].bytes, members);
  }
  return tsr_reach_room(task->s, flight, needs, count, task->error);
}

static tsr_status scatter_part(const tsr_task *task, uint32_t member, uint32_t flight) {
  const tsr_member *m = &task->s->members[member];
  tsr_split split = split_of(task, &m->flights[flight]);
  if (!split.runs.n || task->stays) return TSR_OK;
  if (!tsr_task_has_answers(task)) split.runs.places = NULL;
  for (uint32_t c = 0; c < TSR_QUESTIONS; c++)
    tsr_task_locate(task, member, flight, tsr_way_of_question(task, (tsr_column)c), task->sizes[flight], split.to[c]);
  return tsr_task_step(task, m, TSR_SPLIT_scatter, &split, TSR_LEG_SPLIT);
}

tsr_status tsr_chunk_split(const tsr_task *task, uint32_t flight, uint64_t round) {
  const uint32_t members = task->x->members, here = task->x->here;
  tsr_status status = tsr_task_finish_slot(task, flight, task->error);
  tsr_chunk_take_round(task, flight, round);
  for (uint32_t i = 0; status == TSR_OK && i < here; i++)
    status = tsr_task_begin_leg(task, &task->s->members[i], &task->s->members[i].flights[flight], TSR_LEG_SPLIT);
  for (uint32_t i = 0; status == TSR_OK && i < here; i++)
    status = count_part(task, i, &task->s->members[i].flights[flight]);
  for (uint32_t i = 0; status == TSR_OK && i < here; i++)
    status =
        read_sizes(task, i, &task->s->members[i].flights[flight], task->sizes[flight] + (task->x->first + i) * members);
  status = share_sizes(task, flight, status);
  if (status == TSR_OK) status = make_room(task, flight);
  for (uint32_t i = 0; status == TSR_OK && i < here; i++) {
    tsr_member *m = &task->s->members[i];
    status = scatter_part(task, i, flight);
    if (status == TSR_OK) status = tsr_task_end_leg(task, m, &m->flights[flight], TSR_LEG_SPLIT);
  }
  return status;
}

/* ---- Legs 2 and 3: travel and work ----------------------------------------------------------- */

tsr_status tsr_chunk_travel(const tsr_task *task, uint32_t flight, tsr_status status) {
  tsr_way ways[TSR_QUESTIONS];
  uint32_t columns = 0;
  if (status == TSR_OK) status = tsr_task_meet(task, flight, TSR_LEG_SPLIT, TSR_LEG_TRAVEL);
  for (uint32_t i = 0; status == TSR_OK && i < task->x->here; i++)
    status = tsr_task_begin_leg(task, &task->s->members[i], &task->s->members[i].flights[flight], TSR_LEG_TRAVEL);
  status = task->x->agree(task->x, status, task->error);
  for (uint32_t c = 0; c < TSR_QUESTIONS; c++)
    if (task->question_bytes[c]) ways[columns++] = tsr_way_of_question(task, (tsr_column)c);
  if (status == TSR_OK) status = tsr_task_exchange(task, flight, ways, columns, task->sizes[flight], TSR_LEG_TRAVEL);
  for (uint32_t i = 0; status == TSR_OK && i < task->x->here; i++)
    status = tsr_task_end_leg(task, &task->s->members[i], &task->s->members[i].flights[flight], TSR_LEG_TRAVEL);
  return status;
}

/* Where a shard writes its answers. If answers are sent: to the memory of the member whose items these are, where its
 * own begin in the order of shards. Otherwise: to the shard's own memory, the answers of all items. */
static void *answer_of(const tsr_task *task, uint32_t shard, uint32_t flight, uint32_t from, tsr_answer a) {
  uint64_t first_at[TSR_DEVICES_MAX];
  if (!task->answers[a].bytes && !tsr_fold_needs(task, a)) return NULL;
  if (!task->sends) return task->s->members[shard].flights[flight].answer[a].memory;
  tsr_task_number_shards(task, from, task->sizes[flight], first_at);
  const tsr_flight *asking = tsr_reach_flight(task->s, from, flight);
  return (char *)asking->back[a].memory + first_at[task->x->first + shard] * task->answers[a].bytes;
}

static const void *items_from(const void *column, uint64_t before, uint64_t bytes) {
  return column ? (const char *)column + before * bytes : NULL;
}

/* A shard works on n items of those that came, after the first `before`. */
static tsr_status work_on(const tsr_task *task, uint32_t shard, uint32_t flight, uint32_t from, uint64_t before,
                          uint64_t n) {
  tsr_member *m = &task->s->members[shard];
  const tsr_flight *k = &m->flights[flight];
  const tsr_request *r = &task->parts[shard];
  const void *questions[TSR_QUESTIONS];
  void *answers[TSR_ANSWERS];
  for (uint32_t c = 0; c < TSR_QUESTIONS; c++)
    questions[c] = items_from(tsr_task_question(task, k, (tsr_column)c), before, task->question_bytes[c]);
  for (uint32_t a = 0; a < TSR_ANSWERS; a++) answers[a] = answer_of(task, shard, flight, from, (tsr_answer)a);
  const tsr_request mine = {.op = r->op,
                            .phase = r->phase,
                            .n = n,
                            .operations = questions[TSR_OPERATIONS],
                            .keys = questions[TSR_KEYS],
                            .values = questions[TSR_VALUES],
                            .values_out = answers[TSR_FOUND_VALUES],
                            .unplaced_keys = answers[TSR_UNPLACED_KEYS],
                            .unplaced_values = answers[TSR_UNPLACED_VALUES],
                            .results = answers[TSR_CODES],
                            .counts = answers[TSR_COUNTS],
                            .times = answers[TSR_TIMES],
                            .missing = r->missing,
                            .tells_presence = r->tells_presence,
                            .is_reached = true,
                            .is_folded = task->folds,
                            .call.stream = m->streams[TSR_LEG_WORK],
                            .tally = r->tally ? m->shard->tallies + TSR_TALLY_UNREAD : NULL};
  return n ? tsr_single_operate(m->shard, &mine, task->error) : TSR_OK;
}

/* Before a shard works. */
static tsr_status begin_work(const tsr_task *task, uint32_t member, uint32_t flight) {
  tsr_member *m = &task->s->members[member];
  tsr_flight *k = &m->flights[flight];
  tsr_status status = tsr_task_wait(task, m, k->ended[TSR_LEG_TRAVEL], TSR_LEG_WORK);
  if (status == TSR_OK) status = tsr_task_begin_leg(task, m, k, TSR_LEG_WORK);
  return status;
}

/* A shard works on all that came at once. */
static tsr_status work_at_once(const tsr_task *task, uint32_t member, uint32_t flight) {
  tsr_status status = task->folds ? tsr_fold_unpack(task, member, flight) : TSR_OK;
  if (status == TSR_OK) status = work_on(task, member, flight, member, 0, task->s->members[member].flights[flight].got);
  return status == TSR_OK && task->folds ? tsr_fold_weigh(task, member, flight) : status;
}

/* Each member's items need a launch where answers are sent. All shards get the first one before any gets the second, since the
 * host enqueues one after the other. */
static tsr_status work_by_member(const tsr_task *task, uint32_t flight) {
  const uint32_t members = task->x->members;
  uint64_t before[TSR_DEVICES_MAX] = {0};
  tsr_status status = TSR_OK;
  for (uint32_t from = 0; status == TSR_OK && from < members; from++)
    for (uint32_t i = 0; status == TSR_OK && i < task->x->here; i++) {
      const uint64_t n = task->sizes[flight][from * members + task->x->first + i];
      status = work_on(task, i, flight, from, before[i], n);
      before[i] += n;
    }
  return status;
}

tsr_status tsr_chunk_work(const tsr_task *task, uint32_t flight) {
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; status == TSR_OK && i < task->x->here; i++) {
    status = begin_work(task, i, flight);
    if (status == TSR_OK && !task->sends) status = work_at_once(task, i, flight);
    if (status == TSR_OK && !task->sends)
      status = tsr_task_end_leg(task, &task->s->members[i], &task->s->members[i].flights[flight], TSR_LEG_WORK);
  }
  if (status || !task->sends) return status;
  status = work_by_member(task, flight);
  for (uint32_t i = 0; status == TSR_OK && i < task->x->here; i++)
    status = tsr_task_end_leg(task, &task->s->members[i], &task->s->members[i].flights[flight], TSR_LEG_WORK);
  return status;
}

/* ---- Leg 4: return --------------------------------------------------------------------------- */

/* Puts an answer of a member's part of the chunk where the caller wants it: directly, if its device has that memory. Answers
 * for folded items are only put in the order of these (fold.h). */
static tsr_status put_in_order(const tsr_task *task, uint32_t member, uint32_t flight, tsr_answer a) {
  tsr_member *m = &task->s->members[member];
  tsr_flight *k = &m->flights[flight];
  const tsr_answer_column *wanted = &task->answers[a];
  const uint64_t bytes = k->n * wanted->bytes;
  char *callers = task->folds ? NULL : tsr_answer_in(&task->parts[member], a);
  tsr_status status = TSR_OK;
  k->ordered_at[a] = NULL;
  if (k->n == 0 || (!callers && a != TSR_CODES && !task->folds)) return TSR_OK; /* codes decide about other answers */
  if (callers) callers += k->first * wanted->bytes;
  const bool is_found = a == TSR_FOUND_VALUES, is_in_parts = !task->stays && !task->sends;
  const bool is_at_once = is_put_at_once(task, member, k, a);
  if (!is_at_once) status = tsr_task_reserve(task, m, &k->ordered[a], bytes);
  k->ordered_at[a] = is_at_once ? callers : k->ordered[a].memory;
  if (status == TSR_OK && wanted->is_partial && !is_at_once && callers)
    status = tsr_task_copy(task, m, k->ordered_at[a], callers, bytes, TSR_LEG_RETURN);
  if (status) return status;
  tsr_split split = {.runs = tsr_chunk_runs(task, k),
                     .from = {(task->stays ? k->answer : k->back)[a].memory},
                     .answers.ordered = k->ordered_at[a],
                     .answers.column_bytes = wanted->bytes,
                     .answers.only = !wanted->is_partial ? NULL
                                     : is_found          ? k->asked[TSR_OPERATIONS]
                                                         : k->ordered_at[TSR_CODES],
                     .answers.only_code = is_found ? TSR_OP_FIND : TSR_NOT_PLACED};
  split.runs.are_apart = is_in_parts;
  if (task->stays) split.runs.places = NULL;
  if (is_in_parts) tsr_task_locate(task, member, flight, tsr_way_of_answer(task, a), task->sizes[flight], split.from);
  status = tsr_task_step(task, m, TSR_SPLIT_collect, &split, TSR_LEG_RETURN);
  return status || is_at_once || !callers ? status
                                          : tsr_task_copy(task, m, callers, k->ordered_at[a], bytes, TSR_LEG_RETURN);
}

tsr_status tsr_chunk_bring_back(const tsr_task *task, uint32_t flight) {
  tsr_way ways[TSR_ANSWERS];
  uint32_t columns = 0;
  tsr_status status = tsr_task_meet(task, flight, TSR_LEG_WORK, TSR_LEG_RETURN);
  for (uint32_t a = 0; a < TSR_ANSWERS; a++)
    for (uint32_t i = 0;
         status == TSR_OK && task->answers[a].bytes && !task->x->is_direct && !task->stays && i < task->x->here; i++) {
      tsr_member *m = &task->s->members[i];
      status = tsr_task_reserve(task, m, &m->flights[flight].back[a], m->flights[flight].n * task->answers[a].bytes);
    }
  if (status == TSR_OK) status = tsr_task_begin_return(task, flight, false);
  status = task->x->agree(task->x, status, task->error);
  for (uint32_t a = 0; a < TSR_ANSWERS; a++)
    if (task->answers[a].bytes) ways[columns++] = tsr_way_of_answer(task, (tsr_answer)a);
  if (status == TSR_OK) status = tsr_task_exchange(task, flight, ways, columns, task->back[flight], TSR_LEG_RETURN);
  if (status == TSR_OK) status = tsr_task_begin_return(task, flight, true);
  for (uint32_t i = 0; status == TSR_OK && i < task->x->here; i++) {
    tsr_member *m = &task->s->members[i];
    for (uint32_t a = 0; status == TSR_OK && a < TSR_ANSWERS; a++)
      if (task->answers[a].bytes) status = put_in_order(task, i, flight, (tsr_answer)a);
    if (status == TSR_OK && task->folds) status = tsr_fold_answer(task, i, flight);
    if (status == TSR_OK) status = tsr_task_end_leg(task, m, &m->flights[flight], TSR_LEG_RETURN);
  }
  return status;
}

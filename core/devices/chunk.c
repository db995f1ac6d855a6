/* SPDX-License-Identifier: Apache-2.0
 *
 * The phases of a chunk (chunk.h).
 */
#include "core/devices/chunk.h"

#include "core/table/form.h"

/* ---- Phase 1: split -------------------------------------------------------------------------- */

static tsr_split split_of(const tsr_task *j, const tsr_slot *k) {
  tsr_split split = {.n = k->n,
                     .tiles = (k->n + TSR_SPLIT_TILE - 1) / TSR_SPLIT_TILE,
                     .seed = j->s->seed,
                     .shards = j->x->members,
                     .key_bytes = j->question_bytes[TSR_KEYS],
                     .value_bytes = j->question_bytes[TSR_VALUES],
                     .keys = k->asked[TSR_KEYS],
                     .values = k->asked[TSR_VALUES],
                     .operations = k->asked[TSR_OPERATIONS],
                     .numbers = k->numbers.memory,
                     .counts = k->counts.memory};
  for (uint32_t i = 0; i < split.shards; i++) split.first_bin[i] = j->s->first_bin[i];
  return split;
}

static bool is_here(const tsr_member *m, const void *memory) {
  return tsr_device_of(m)->backend->is_device_memory(tsr_device_of(m), memory);
}

/* Whether items of so many bytes may be read here in the words of tsr_split_put; rows may lie anywhere. */
static bool is_aligned(const void *items, uint64_t bytes) {
  const uint64_t word = bytes % 8 == 0 ? 8 : bytes % 4 == 0 ? 4 : 1;
  return (uint64_t)(uintptr_t)items % word == 0;
}

/* A column of the member's part of a chunk, where its device reads it at the full rate: the caller's own array, or a copy.
 */
tsr_status tsr_chunk_fetch(const tsr_task *j, uint32_t member, tsr_slot *k, tsr_column c) {
  const tsr_member *m = &j->s->members[member];
  const uint64_t bytes = j->question_bytes[c];
  const char *users = tsr_question_in(&j->parts[member], c);
  k->asked[c] = NULL;
  if (!users || !bytes || k->n == 0) return TSR_OK;
  k->asked[c] = users + k->first * bytes;
  if (is_here(m, k->asked[c]) && is_aligned(k->asked[c], bytes)) return TSR_OK;
  tsr_status status = tsr_task_reserve(j, m, &k->in[c], k->n * bytes);
  if (status == TSR_OK) status = tsr_task_copy(j, m, k->in[c].memory, k->asked[c], k->n * bytes, TSR_LANE_SPLIT);
  k->asked[c] = k->in[c].memory;
  return status;
}

/* A member's part of a chunk, on its device, and how many items each tile has for each shard. */
static tsr_status count_part(const tsr_task *j, uint32_t member, tsr_slot *k) {
  const tsr_member *m = &j->s->members[member];
  tsr_status status = TSR_OK;
  for (uint32_t c = 0; status == TSR_OK && c < TSR_QUESTIONS; c++) {
    status = tsr_chunk_fetch(j, member, k, (tsr_column)c);
    if (status == TSR_OK && !j->stays && !j->x->is_direct)
      status = tsr_task_reserve(j, m, &k->split[c], k->n * j->question_bytes[c]);
  }
  if (status || j->stays) return status;
  const uint64_t counts = (k->n + TSR_SPLIT_TILE - 1) / TSR_SPLIT_TILE * j->x->members;
  if (tsr_task_has_answers(j)) status = tsr_task_reserve(j, m, &k->numbers, k->n * sizeof(uint32_t));
  if (status == TSR_OK) status = tsr_task_reserve(j, m, &k->counts, (counts + 1) * sizeof(uint64_t));
  if (status || k->n == 0) return status;
  const tsr_split split = split_of(j, k);
  status = tsr_task_step(j, m, TSR_SPLIT_count, &split, TSR_LANE_SPLIT);
  return status ? status : tsr_task_sum(j, m, split.counts, counts, TSR_LANE_SPLIT);
}

/* The member's row of sizes, from its counts. */
static tsr_status read_counts(const tsr_task *j, uint32_t member, const tsr_slot *k, uint64_t *sizes) {
  const tsr_member *m = &j->s->members[member];
  const uint64_t tiles = (k->n + TSR_SPLIT_TILE - 1) / TSR_SPLIT_TILE, members = j->x->members;
  uint64_t *counts = j->host_counts + member * (j->tiles_max * members + 1);
  for (uint32_t to = 0; to < members; to++) sizes[to] = 0;
  if (j->stays) sizes[j->x->first + member] = k->n;
  if (k->n == 0 || j->stays) return TSR_OK;
  tsr_status status =
      tsr_task_copy(j, m, counts, k->counts.memory, (tiles * members + 1) * sizeof *counts, TSR_LANE_SPLIT);
  if (status == TSR_OK)
    status = tsr_device_of(m)->backend->synchronize(tsr_device_of(m), m->streams[TSR_LANE_SPLIT], j->error);
  for (uint32_t to = 0; status == TSR_OK && to < members; to++)
    sizes[to] = counts[(to + 1) * tiles] - counts[to * tiles];
  return status;
}

/* Tells the others how much this process has for whom, and that all is well here. */
static tsr_status share_sizes(const tsr_task *j, uint32_t slot, tsr_status status) {
  const uint32_t members = j->x->members;
  uint64_t *sizes = j->sizes[slot], *back = j->back[slot];
  status = j->x->agree(j->x, status, j->error);
  if (status == TSR_OK) status = j->x->gather(j->x, sizes, members, j->error);
  for (uint32_t from = 0; from < members; from++)
    for (uint32_t to = 0; to < members; to++) back[to * members + from] = sizes[from * members + to];
  return status;
}

/* Every member's part has its items of a round, as long as it has any. */
void tsr_chunk_take_round(const tsr_task *j, uint32_t slot, uint64_t round) {
  for (uint32_t i = 0; i < j->x->here; i++) {
    tsr_slot *k = &j->s->members[i].slots[slot];
    const uint64_t n = j->parts[i].n;
    k->first = round * j->share < n ? round * j->share : n;
    k->n = n - k->first < j->share ? n - k->first : j->share;
  }
}

/* Room for what comes to the shards here, and for answers that are sent. */
static tsr_status make_room(const tsr_task *j, uint32_t slot) {
  const uint32_t members = j->x->members;
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; status == TSR_OK && i < j->x->here; i++) {
    tsr_member *m = &j->s->members[i];
    tsr_slot *k = &m->slots[slot];
    k->got = 0;
    for (uint32_t from = 0; from < members; from++) k->got += j->sizes[slot][from * members + j->x->first + i];
    for (uint32_t c = 0; status == TSR_OK && c < TSR_QUESTIONS; c++)
      if (j->question_bytes[c] && !j->stays)
        status = tsr_task_reserve(j, m, &k->arrived[c], k->got * j->question_bytes[c]);
    for (uint32_t a = 0; status == TSR_OK && j->sends && a < TSR_ANSWERS; a++)
      if (j->answers[a].bytes) status = tsr_task_reserve(j, m, &k->back[a], k->n * j->answers[a].bytes);
  }
  return status;
}

static tsr_status scatter_part(const tsr_task *j, uint32_t member, uint32_t slot) {
  const tsr_member *m = &j->s->members[member];
  tsr_split split = split_of(j, &m->slots[slot]);
  if (!split.n || j->stays) return TSR_OK;
  if (!tsr_task_has_answers(j)) split.numbers = NULL;
  tsr_task_number_shards(j, member, j->sizes[slot], split.first_at);
  void **const to[TSR_QUESTIONS] = {split.keys_to, split.values_to, split.operations_to};
  for (uint32_t c = 0; c < TSR_QUESTIONS; c++)
    tsr_task_locate(j, member, slot, tsr_way_of_question(j, (tsr_column)c), j->sizes[slot], to[c]);
  return tsr_task_step(j, m, TSR_SPLIT_scatter, &split, TSR_LANE_SPLIT);
}

tsr_status tsr_chunk_split(const tsr_task *j, uint32_t slot, uint64_t round) {
  const uint32_t members = j->x->members, here = j->x->here;
  tsr_status status = tsr_task_finish_slot(j, slot, j->error);
  tsr_chunk_take_round(j, slot, round);
  for (uint32_t i = 0; status == TSR_OK && i < here; i++)
    status = tsr_task_begin_phase(j, &j->s->members[i], &j->s->members[i].slots[slot], TSR_LANE_SPLIT);
  for (uint32_t i = 0; status == TSR_OK && i < here; i++) status = count_part(j, i, &j->s->members[i].slots[slot]);
  for (uint32_t i = 0; status == TSR_OK && i < here; i++)
    status = read_counts(j, i, &j->s->members[i].slots[slot], j->sizes[slot] + (j->x->first + i) * members);
  status = share_sizes(j, slot, status);
  if (status == TSR_OK) status = make_room(j, slot);
  for (uint32_t i = 0; status == TSR_OK && i < here; i++) {
    tsr_member *m = &j->s->members[i];
    status = scatter_part(j, i, slot);
    if (status == TSR_OK) status = tsr_task_end_phase(j, m, &m->slots[slot], TSR_LANE_SPLIT);
  }
  return j->x->agree(j->x, status, j->error);
}

/* ---- Phases 2 and 3: travel and work --------------------------------------------------------- */

tsr_status tsr_chunk_travel(const tsr_task *j, uint32_t slot) {
  tsr_status status = tsr_task_meet(j, slot, TSR_LANE_SPLIT, TSR_LANE_TRAVEL);
  for (uint32_t i = 0; status == TSR_OK && i < j->x->here; i++)
    status = tsr_task_begin_phase(j, &j->s->members[i], &j->s->members[i].slots[slot], TSR_LANE_TRAVEL);
  status = j->x->agree(j->x, status, j->error);
  for (uint32_t c = 0; status == TSR_OK && c < TSR_QUESTIONS; c++)
    if (j->question_bytes[c])
      status = tsr_task_exchange(j, slot, tsr_way_of_question(j, (tsr_column)c), j->sizes[slot], TSR_LANE_TRAVEL);
  for (uint32_t i = 0; status == TSR_OK && i < j->x->here; i++)
    status = tsr_task_end_phase(j, &j->s->members[i], &j->s->members[i].slots[slot], TSR_LANE_TRAVEL);
  return status;
}

/* Where a shard writes its answers: to the memory of the member that these items came from, where its own begin in the order
 * of shards; or, unless answers are sent, to its own memory, those to all items. */
static void *answer_of(const tsr_task *j, uint32_t shard, uint32_t slot, uint32_t from, tsr_answer a) {
  uint64_t first_at[TSR_DEVICES_MAX];
  if (!j->answers[a].bytes) return NULL;
  if (!j->sends) return j->s->members[shard].slots[slot].answer[a].memory;
  tsr_task_number_shards(j, from, j->sizes[slot], first_at);
  return (char *)j->s->members[from].slots[slot].back[a].memory + first_at[shard] * j->answers[a].bytes;
}

static const void *items_from(const void *column, uint64_t before, uint64_t bytes) {
  return column ? (const char *)column + before * bytes : NULL;
}

/* A shard works on n items: what has come but for the first `before`. */
static tsr_status work_on(const tsr_task *j, uint32_t shard, uint32_t slot, uint32_t from, uint64_t before,
                          uint64_t n) {
  tsr_member *m = &j->s->members[shard];
  const tsr_slot *k = &m->slots[slot];
  const tsr_request *r = &j->parts[shard];
  const void *questions[TSR_QUESTIONS];
  void *answers[TSR_ANSWERS];
  for (uint32_t c = 0; c < TSR_QUESTIONS; c++)
    questions[c] = items_from(tsr_task_question(j, k, (tsr_column)c), before, j->question_bytes[c]);
  for (uint32_t a = 0; a < TSR_ANSWERS; a++) answers[a] = answer_of(j, shard, slot, from, (tsr_answer)a);
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
                            .stream = m->streams[TSR_LANE_WORK],
                            .tally = r->tally ? m->shard->tallies + TSR_TALLY_UNREAD : NULL};
  return n ? tsr_single_operate(m->shard, &mine, j->error) : TSR_OK;
}

static tsr_status work_member(const tsr_task *j, uint32_t member, uint32_t slot) {
  const uint32_t members = j->x->members;
  tsr_member *m = &j->s->members[member];
  tsr_slot *k = &m->slots[slot];
  tsr_status status = tsr_task_wait(j, m, k->ended[TSR_LANE_TRAVEL], TSR_LANE_WORK);
  if (status == TSR_OK) status = tsr_task_begin_phase(j, m, k, TSR_LANE_WORK);
  for (uint32_t a = 0; status == TSR_OK && !j->sends && a < TSR_ANSWERS; a++)
    if (j->answers[a].bytes) status = tsr_task_reserve(j, m, &k->answer[a], k->got * j->answers[a].bytes);
  if (status == TSR_OK && !j->sends) status = work_on(j, member, slot, member, 0, k->got);
  for (uint64_t from = 0, before = 0; status == TSR_OK && j->sends && from < members; from++) {
    const uint64_t n = j->sizes[slot][from * members + member];
    status = work_on(j, member, slot, (uint32_t)from, before, n);
    before += n;
  }
  return status ? status : tsr_task_end_phase(j, m, k, TSR_LANE_WORK);
}

tsr_status tsr_chunk_work(const tsr_task *j, uint32_t slot) {
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; status == TSR_OK && i < j->x->here; i++) status = work_member(j, i, slot);
  return status;
}

/* ---- The way back ---------------------------------------------------------------------------- */

/* An answer of a member's part of the chunk, to where the caller wants it: at once, if its device has that memory. */
static tsr_status put_in_order(const tsr_task *j, uint32_t member, uint32_t slot, tsr_answer a) {
  tsr_member *m = &j->s->members[member];
  tsr_slot *k = &m->slots[slot];
  const tsr_answer_column *wanted = &j->answers[a];
  const uint64_t bytes = k->n * wanted->bytes;
  char *users = tsr_answer_in(&j->parts[member], a);
  tsr_status status = TSR_OK;
  k->ordered_at[a] = NULL;
  if (k->n == 0 || (!users && a != TSR_CODES)) return TSR_OK; /* codes decide about other answers */
  if (users) users += k->first * wanted->bytes;
  const bool is_found = a == TSR_FOUND_VALUES, is_in_parts = !j->stays && !j->sends;
  const bool is_at_once = users && is_here(m, users) && is_aligned(users, wanted->bytes);
  if (!is_at_once) status = tsr_task_reserve(j, m, &k->ordered[a], bytes);
  k->ordered_at[a] = is_at_once ? users : k->ordered[a].memory;
  if (status == TSR_OK && wanted->is_partial && !is_at_once)
    status = tsr_task_copy(j, m, k->ordered_at[a], users, bytes, TSR_LANE_RETURN);
  if (status) return status;
  tsr_split split = {.n = k->n,
                     .shards = is_in_parts ? j->x->members : 1,
                     .numbers = j->stays ? NULL : k->numbers.memory,
                     .from = {(j->stays ? k->answer : k->back)[a].memory},
                     .ordered = k->ordered_at[a],
                     .column_bytes = wanted->bytes,
                     .only = !wanted->is_partial ? NULL
                             : is_found          ? k->asked[TSR_OPERATIONS]
                                                 : k->ordered_at[TSR_CODES],
                     .only_code = is_found ? TSR_OP_FIND : TSR_NOT_PLACED};
  if (is_in_parts) tsr_task_number_shards(j, member, j->sizes[slot], split.first_at);
  if (is_in_parts) tsr_task_locate(j, member, slot, tsr_way_of_answer(j, a), j->sizes[slot], split.from);
  status = tsr_task_step(j, m, TSR_SPLIT_collect, &split, TSR_LANE_RETURN);
  return status || is_at_once || !users ? status : tsr_task_copy(j, m, users, k->ordered_at[a], bytes, TSR_LANE_RETURN);
}

tsr_status tsr_chunk_bring_back(const tsr_task *j, uint32_t slot) {
  tsr_status status = tsr_task_meet(j, slot, TSR_LANE_WORK, TSR_LANE_RETURN);
  for (uint32_t a = 0; a < TSR_ANSWERS; a++)
    for (uint32_t i = 0; status == TSR_OK && j->answers[a].bytes && !j->x->is_direct && !j->stays && i < j->x->here;
         i++) {
      tsr_member *m = &j->s->members[i];
      status = tsr_task_reserve(j, m, &m->slots[slot].back[a], m->slots[slot].n * j->answers[a].bytes);
    }
  if (status == TSR_OK) status = tsr_task_begin_return(j, slot, false);
  status = j->x->agree(j->x, status, j->error);
  for (uint32_t a = 0; status == TSR_OK && a < TSR_ANSWERS; a++)
    if (j->answers[a].bytes)
      status = tsr_task_exchange(j, slot, tsr_way_of_answer(j, (tsr_answer)a), j->back[slot], TSR_LANE_RETURN);
  if (status == TSR_OK) status = tsr_task_begin_return(j, slot, true);
  for (uint32_t i = 0; status == TSR_OK && i < j->x->here; i++) {
    tsr_member *m = &j->s->members[i];
    for (uint32_t a = 0; status == TSR_OK && a < TSR_ANSWERS; a++)
      if (j->answers[a].bytes) status = put_in_order(j, i, slot, (tsr_answer)a);
    if (status == TSR_OK) status = tsr_task_end_phase(j, m, &m->slots[slot], TSR_LANE_RETURN);
  }
  return status;
}

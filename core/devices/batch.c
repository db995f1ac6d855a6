/* SPDX-License-Identifier: Apache-2.0
 *
 * Batches (batch.h), in the four phases of multi-GPU HashGraph: each member splits its part of a chunk by the shards of
 * its keys; all tell each other how much they have for whom; the items travel; each shard works on what came. Answers
 * travel back and are put into the caller's order.
 *
 * Each phase has a stream of its own on every device and three chunks have buffers, so that while one is worked on the
 * next travels and the one after it is split; events order what depends on what. The host waits for how many items go
 * where, and between processes for the end of an exchange (group.c), while the devices work on the chunks before.
 */
#include "core/devices/batch.h"

#include <stdlib.h>

#include "core/devices/balance.h"
#include "core/table/form.h"
#include "core/table/stage.h"

enum { WORDS = 4 }; /* that a member says of a batch */
enum { NO_ITEMS, ITEMS, ITEMS_WITH_VALUES };

typedef struct answer {
  uint32_t bytes;
  bool is_partial; /* some items stay as the caller has them */
} answer;

typedef struct job {
  tsr_table *t;
  tsr_shards *s;
  tsr_transport *x;
  const tsr_request *parts; /* one for each member here; what is asked and wanted is the same in all */
  tsr_error *error;
  uint64_t share; /* items of a member's part in one chunk */
  uint32_t question_bytes[TSR_QUESTIONS];
  answer answers[TSR_ANSWERS]; /* bytes = 0: not wanted */
  uint32_t answer_bytes[TSR_ANSWERS];
  uint64_t *sizes[TSR_SLOTS]; /* items from each member to each other */
  uint64_t *back[TSR_SLOTS];  /* and on their way back */
  uint64_t *rows, *host_counts;
  uint64_t tiles_max;
  uint64_t rounds;
  bool stays; /* each member works on its own part */
  bool sends; /* who works on items writes their answers where they came from, in the order of shards */
} job;

/* ---- What is asked --------------------------------------------------------------------------- */

static const void *question_in(const tsr_request *r, tsr_column c) {
  const void *const questions[TSR_QUESTIONS] = {
      [TSR_KEYS] = r->keys, [TSR_VALUES] = r->values, [TSR_OPERATIONS] = r->operations};
  return questions[c];
}

/* Where the caller wants an answer; NULL: only the other answers need it. */
static void *answer_in(const tsr_request *r, tsr_answer a) {
  void *const answers[TSR_ANSWERS] = {[TSR_FOUND_VALUES] = r->values_out,
                                      [TSR_UNPLACED_KEYS] = r->unplaced_keys,
                                      [TSR_UNPLACED_VALUES] = r->unplaced_values,
                                      [TSR_CODES] = r->results,
                                      [TSR_COUNTS] = r->counts,
                                      [TSR_TIMES] = r->times};
  return answers[a];
}

static uint64_t max_part(const job *j) {
  uint64_t n = 0;
  for (uint32_t i = 0; i < j->x->here; i++) n = j->parts[i].n > n ? j->parts[i].n : n;
  return n;
}

/* With few chunks the phases do not overlap; small ones cost the host more time than the devices, and large ones memory. */
static uint64_t share_of(const job *j) {
  enum { CHUNKS = 4, LEAST = 1 << 19, MOST = 32 << 20 };
  if (j->s->chunk != TSR_CHUNK_AUTO) return j->s->chunk > j->x->here ? j->s->chunk / j->x->here : 1;
  const uint64_t part = (max_part(j) + CHUNKS - 1) / CHUNKS;
  return part < LEAST ? LEAST : part > MOST ? MOST : part;
}

static job job_of(tsr_table *t, const tsr_request *parts, tsr_error *error) {
  const tsr_shape *shape = &t->store.composition->shape;
  const uint32_t key_bytes = shape->key_bits / 8, op = parts->op;
  const uint32_t value_bytes = tsr_composition_value_bytes(t->store.composition);
  job j = {.t = t, .s = t->shards, .x = &t->shards->transport, .parts = parts, .error = error};
  j.share = share_of(&j);
  const uint32_t bytes[TSR_ANSWERS] = {[TSR_FOUND_VALUES] = value_bytes,     [TSR_CODES] = 1,
                                       [TSR_UNPLACED_KEYS] = key_bytes,      [TSR_UNPLACED_VALUES] = value_bytes,
                                       [TSR_COUNTS] = sizeof *parts->counts, [TSR_TIMES] = 2 * sizeof *parts->times};
  bool has_values = false, hands_back = false, wants[TSR_ANSWERS] = {false};
  for (uint32_t i = 0; i < j.x->here; i++) {
    has_values = has_values || parts[i].values;
    hands_back = hands_back || parts[i].unplaced_keys || parts[i].unplaced_values;
    for (uint32_t a = 0; a < TSR_ANSWERS; a++) wants[a] = wants[a] || answer_in(&parts[i], (tsr_answer)a);
  }
  j.question_bytes[TSR_KEYS] = key_bytes;
  j.question_bytes[TSR_VALUES] = has_values ? value_bytes : 0;
  j.question_bytes[TSR_OPERATIONS] = op == TSR_BULK_apply;
  for (uint32_t a = 0; a < TSR_ANSWERS; a++) {
    j.answer_bytes[a] = bytes[a];
    j.answers[a] =
        (answer){wants[a] || (a == TSR_CODES && hands_back) ? bytes[a] : 0,
                 a == TSR_UNPLACED_KEYS || a == TSR_UNPLACED_VALUES || (a == TSR_FOUND_VALUES && op == TSR_BULK_apply)};
  }
  return j;
}

/* Whether answers are sent by the work itself, whose time hides the link's. Not those that work reads again, nor rows, which
 * travel in other ways; and not where that means many small launches, since each member's items need one of their own. */
static bool sends_answers(const job *j) {
  const uint32_t op = j->parts->op;
  const uint64_t part = max_part(j), items = part < j->share ? part : j->share;
  return j->x->is_direct && !j->stays && (op == TSR_BULK_find || op == TSR_BULK_contains || op == TSR_BULK_count) &&
         j->answer_bytes[TSR_FOUND_VALUES] <= sizeof(uint64_t) && items / j->x->members >= TSR_SPLIT_TILE;
}

static bool any_answer(const job *j) {
  for (uint32_t a = 0; a < TSR_ANSWERS; a++)
    if (j->answers[a].bytes) return true;
  return false;
}

static void free_job(job *j) {
  for (uint32_t i = 0; i < TSR_SLOTS; i++) {
    free(j->sizes[i]);
    free(j->back[i]);
  }
  free(j->rows);
  free(j->host_counts);
}

static tsr_status allocate_job(job *j) {
  const size_t members = j->x->members;
  bool has_all = true;
  for (uint32_t i = 0; i < TSR_SLOTS; i++) {
    j->sizes[i] = calloc(members * members, sizeof *j->sizes[i]);
    j->back[i] = calloc(members * members, sizeof *j->back[i]);
    has_all = has_all && j->sizes[i] && j->back[i];
  }
  const uint64_t most = max_part(j);
  j->tiles_max = (most < j->share ? most : j->share) / TSR_SPLIT_TILE + 1;
  j->rows = calloc(members * WORDS, sizeof *j->rows);
  j->host_counts = calloc(j->x->here * (j->tiles_max * members + 1), sizeof *j->host_counts);
  if (has_all && j->rows && j->host_counts) return TSR_OK;
  return tsr_fail(j->error, TSR_NO_MEMORY, "no memory to split a batch of %llu items", (unsigned long long)max_part(j));
}

/* What a shard works on. */
static void *question_of(const job *j, const tsr_slot *k, tsr_column c) {
  if (!j->question_bytes[c]) return NULL;
  return j->stays ? (void *)(uintptr_t)k->asked[c] : k->arrived[c].memory;
}

static tsr_device *device_of(const tsr_member *m) { return m->shard->device; }

static tsr_status wait_for(const job *j, const tsr_member *m, tsr_event *event, tsr_lane lane) {
  tsr_device *device = device_of(m);
  return device->backend->event_wait(device, event, m->streams[lane], j->error);
}

static tsr_status record(const job *j, const tsr_member *m, tsr_event *event, tsr_lane lane) {
  tsr_device *device = device_of(m);
  return device->backend->event_record(device, event, m->streams[lane], j->error);
}

static tsr_status copy(const job *j, const tsr_member *m, void *to, const void *from, uint64_t bytes, tsr_lane lane) {
  tsr_device *device = device_of(m);
  return bytes ? device->backend->copy(device, to, from, bytes, m->streams[lane], j->error) : TSR_OK;
}

static tsr_status step(const job *j, const tsr_member *m, uint32_t what, const tsr_split *split, tsr_lane lane) {
  tsr_device *device = device_of(m);
  return device->backend->split(device, what, split, m->streams[lane], j->error);
}

static tsr_status prefix_sum(const job *j, const tsr_member *m, uint64_t *numbers, uint64_t n, tsr_lane lane) {
  tsr_device *device = device_of(m);
  return device->backend->prefix_sum(device, numbers, n, m->streams[lane], j->error);
}

static tsr_status reserve(const job *j, const tsr_member *m, tsr_buffer *buffer, uint64_t bytes) {
  return tsr_buffer_reserve(m, buffer, bytes, j->error);
}

/* ---- What the phases cost -------------------------------------------------------------------- */

static tsr_status begin_phase(const job *j, const tsr_member *m, const tsr_slot *k, tsr_lane lane) {
  return j->s->measures ? record(j, m, k->begun[lane], lane) : TSR_OK;
}

static tsr_status end_phase(const job *j, const tsr_member *m, tsr_slot *k, tsr_lane lane) {
  tsr_event *const ends[TSR_LANES] = {k->was_split, k->arrived_at, k->worked, k->returned};
  k->is_timed[lane] = j->s->measures;
  return record(j, m, ends[lane], lane);
}

/* *longest becomes the time between two events of this slot, if that is longer. */
static tsr_status take_time(const tsr_member *m, tsr_event *from, tsr_event *to, double *longest, tsr_error *error) {
  double ms = 0;
  tsr_status status = device_of(m)->backend->event_between(device_of(m), from, to, &ms, error);
  if (ms > *longest) *longest = ms;
  return status;
}

/* Adds what a chunk has cost. pre: its events are finished. */
static tsr_status add_times(const job *j, uint32_t slot, tsr_error *error) {
  double longest[TSR_LANES] = {0}, back = 0;
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; i < j->x->here; i++) {
    const tsr_member *m = &j->s->members[i];
    tsr_slot *k = &j->s->members[i].slots[slot];
    tsr_event *const ends[TSR_LANES] = {k->was_split, k->arrived_at, k->worked, k->returned};
    for (uint32_t lane = 0; status == TSR_OK && lane < TSR_LANES; lane++) {
      tsr_event *begun = lane == TSR_LANE_RETURN ? k->back_at : k->begun[lane];
      if (k->is_timed[lane]) status = take_time(m, begun, ends[lane], &longest[lane], error);
    }
    if (status == TSR_OK && k->is_timed[TSR_LANE_RETURN])
      status = take_time(m, k->begun[TSR_LANE_RETURN], k->back_at, &back, error);
    for (uint32_t lane = 0; lane < TSR_LANES; lane++) k->is_timed[lane] = false;
  }
  j->s->phases.chunks += longest[TSR_LANE_WORK] > 0;
  j->s->phases.split_ms += longest[TSR_LANE_SPLIT];
  j->s->phases.exchange_ms += longest[TSR_LANE_TRAVEL] + back;
  j->s->phases.work_ms += longest[TSR_LANE_WORK];
  j->s->phases.answer_ms += longest[TSR_LANE_RETURN];
  return status;
}

static void add_sent(const job *j, const uint64_t *sizes, uint32_t item_bytes, bool is_hidden) {
  const uint32_t members = j->x->members;
  uint64_t most = 0;
  for (uint32_t from = j->x->first; from < j->x->first + j->x->here; from++) {
    uint64_t items = 0;
    for (uint32_t to = 0; to < members; to++) items += to == from ? 0 : sizes[from * members + to];
    most = items > most ? items : most;
  }
  if (j->s->measures) j->s->phases.sent_bytes += most * item_bytes;
  if (j->s->measures && is_hidden) j->s->phases.hidden_bytes += most * item_bytes;
}

/* The chunk that had this slot is done, answers and all. */
static tsr_status finish_slot(const job *j, uint32_t slot, tsr_error *error) {
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; i < j->x->here; i++) {
    const tsr_member *m = &j->s->members[i];
    const tsr_slot *k = &m->slots[slot];
    tsr_device *device = device_of(m);
    tsr_event *const events[] = {k->was_split, k->arrived_at, k->worked, k->returned};
    for (uint32_t e = 0; e < 4; e++) {
      tsr_status waited = device->backend->event_finish(device, events[e], status ? NULL : error);
      if (status == TSR_OK) status = waited;
    }
  }
  return status ? status : add_times(j, slot, error);
}

/* ---- Where columns lie ----------------------------------------------------------------------- */

typedef tsr_buffer *buffer_of(tsr_slot *slot, uint32_t number);

static tsr_buffer *split_column(tsr_slot *k, uint32_t c) { return &k->split[c]; }
static tsr_buffer *arrived_column(tsr_slot *k, uint32_t c) { return &k->arrived[c]; }
static tsr_buffer *answer_column(tsr_slot *k, uint32_t c) { return &k->answer[c]; }
static tsr_buffer *back_column(tsr_slot *k, uint32_t c) { return &k->back[c]; }
static tsr_buffer *values_column(tsr_slot *k, uint32_t c) {
  (void)c; /* there is one */
  return &k->values;
}
static tsr_buffer *back_values_column(tsr_slot *k, uint32_t c) {
  (void)c;
  return &k->back_values;
}

/* The two ends of a column's way: with the shards, and with the members whose items it is about. */
typedef struct way {
  buffer_of *shards, *members;
  uint32_t number, bytes;
} way;

/* Where a member's items for each shard begin in the order of shards. */
static void number_shards(const job *j, uint32_t member, const uint64_t *sizes, uint64_t *first_at) {
  const uint32_t members = j->x->members;
  const uint64_t *row = sizes + (j->x->first + member) * members;
  first_at[0] = 0;
  for (uint32_t to = 1; to < members; to++) first_at[to] = first_at[to - 1] + row[to - 1];
}

/* Where, shard by shard, a column of a member's items is to be written or read: with the shard itself, if the member's
 * kernels reach it, else where it begins or ends its way. sizes: from each member to each shard. */
static void locate(const job *j, uint32_t member, uint32_t slot, way w, const uint64_t *sizes, void **at) {
  const uint32_t members = j->x->members, me = j->x->first + member;
  uint64_t first_at[TSR_DEVICES_MAX];
  number_shards(j, member, sizes, first_at);
  for (uint32_t shard = 0; shard < members; shard++) {
    const bool is_reached = j->x->is_direct || shard == me;
    uint64_t before = 0;
    for (uint32_t from = 0; from < me; from++) before += sizes[from * members + shard];
    tsr_slot *k = &j->s->members[is_reached ? shard - j->x->first : member].slots[slot];
    char *memory = (is_reached ? w.shards : w.members)(k, w.number)->memory;
    at[shard] = memory ? memory + (is_reached ? before : first_at[shard]) * w.bytes : NULL;
  }
}

/* ---- Phase 1: split -------------------------------------------------------------------------- */

static tsr_split split_of(const job *j, const tsr_slot *k) {
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
  return device_of(m)->backend->is_device_memory(device_of(m), memory);
}

/* Whether items of so many bytes may be read here in the words of tsr_split_put; rows may lie anywhere. */
static bool is_aligned(const void *items, uint64_t bytes) {
  const uint64_t word = bytes % 8 == 0 ? 8 : bytes % 4 == 0 ? 4 : 1;
  return (uint64_t)(uintptr_t)items % word == 0;
}

/* A column of the member's part of a chunk, where its device reads it at the full rate: the caller's own array, or a copy.
 */
static tsr_status fetch(const job *j, uint32_t member, tsr_slot *k, tsr_column c) {
  const tsr_member *m = &j->s->members[member];
  const uint64_t bytes = j->question_bytes[c];
  const char *users = question_in(&j->parts[member], c);
  k->asked[c] = NULL;
  if (!users || !bytes || k->n == 0) return TSR_OK;
  k->asked[c] = users + k->first * bytes;
  if (is_here(m, k->asked[c]) && is_aligned(k->asked[c], bytes)) return TSR_OK;
  tsr_status status = reserve(j, m, &k->in[c], k->n * bytes);
  if (status == TSR_OK) status = copy(j, m, k->in[c].memory, k->asked[c], k->n * bytes, TSR_LANE_SPLIT);
  k->asked[c] = k->in[c].memory;
  return status;
}

/* A member's part of a chunk, on its device, and how many items each tile has for each shard. */
static tsr_status count_part(const job *j, uint32_t member, tsr_slot *k) {
  const tsr_member *m = &j->s->members[member];
  tsr_status status = TSR_OK;
  for (uint32_t c = 0; status == TSR_OK && c < TSR_QUESTIONS; c++) {
    status = fetch(j, member, k, (tsr_column)c);
    if (status == TSR_OK && !j->stays && !j->x->is_direct)
      status = reserve(j, m, &k->split[c], k->n * j->question_bytes[c]);
  }
  if (status || j->stays) return status;
  const uint64_t counts = (k->n + TSR_SPLIT_TILE - 1) / TSR_SPLIT_TILE * j->x->members;
  if (any_answer(j)) status = reserve(j, m, &k->numbers, k->n * sizeof(uint32_t));
  if (status == TSR_OK) status = reserve(j, m, &k->counts, (counts + 1) * sizeof(uint64_t));
  if (status || k->n == 0) return status;
  const tsr_split split = split_of(j, k);
  status = step(j, m, TSR_SPLIT_count, &split, TSR_LANE_SPLIT);
  return status ? status : prefix_sum(j, m, split.counts, counts, TSR_LANE_SPLIT);
}

/* The member's row of sizes, from its counts. */
static tsr_status read_counts(const job *j, uint32_t member, const tsr_slot *k, uint64_t *sizes) {
  const tsr_member *m = &j->s->members[member];
  const uint64_t tiles = (k->n + TSR_SPLIT_TILE - 1) / TSR_SPLIT_TILE, members = j->x->members;
  uint64_t *counts = j->host_counts + member * (j->tiles_max * members + 1);
  for (uint32_t to = 0; to < members; to++) sizes[to] = 0;
  if (j->stays) sizes[j->x->first + member] = k->n;
  if (k->n == 0 || j->stays) return TSR_OK;
  tsr_status status = copy(j, m, counts, k->counts.memory, (tiles * members + 1) * sizeof *counts, TSR_LANE_SPLIT);
  if (status == TSR_OK) status = device_of(m)->backend->synchronize(device_of(m), m->streams[TSR_LANE_SPLIT], j->error);
  for (uint32_t to = 0; status == TSR_OK && to < members; to++)
    sizes[to] = counts[(to + 1) * tiles] - counts[to * tiles];
  return status;
}

/* Tells the others how much this process has for whom, and that all is well here. */
static tsr_status share_sizes(const job *j, uint32_t slot, tsr_status status) {
  const uint32_t members = j->x->members;
  uint64_t *sizes = j->sizes[slot], *back = j->back[slot];
  status = j->x->agree(j->x, status, j->error);
  if (status == TSR_OK) status = j->x->gather(j->x, sizes, members, j->error);
  for (uint32_t from = 0; from < members; from++)
    for (uint32_t to = 0; to < members; to++) back[to * members + from] = sizes[from * members + to];
  return status;
}

/* Every member's part has its items of a round, as long as it has any. */
static void take_round(const job *j, uint32_t slot, uint64_t round) {
  for (uint32_t i = 0; i < j->x->here; i++) {
    tsr_slot *k = &j->s->members[i].slots[slot];
    const uint64_t n = j->parts[i].n;
    k->first = round * j->share < n ? round * j->share : n;
    k->n = n - k->first < j->share ? n - k->first : j->share;
  }
}

/* Room for what comes to the shards here, and for answers that are sent. */
static tsr_status make_room(const job *j, uint32_t slot) {
  const uint32_t members = j->x->members;
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; status == TSR_OK && i < j->x->here; i++) {
    tsr_member *m = &j->s->members[i];
    tsr_slot *k = &m->slots[slot];
    k->got = 0;
    for (uint32_t from = 0; from < members; from++) k->got += j->sizes[slot][from * members + j->x->first + i];
    for (uint32_t c = 0; status == TSR_OK && c < TSR_QUESTIONS; c++)
      if (j->question_bytes[c] && !j->stays) status = reserve(j, m, &k->arrived[c], k->got * j->question_bytes[c]);
    for (uint32_t a = 0; status == TSR_OK && j->sends && a < TSR_ANSWERS; a++)
      if (j->answers[a].bytes) status = reserve(j, m, &k->back[a], k->n * j->answers[a].bytes);
  }
  return status;
}

static tsr_status scatter_part(const job *j, uint32_t member, uint32_t slot) {
  const tsr_member *m = &j->s->members[member];
  tsr_split split = split_of(j, &m->slots[slot]);
  if (!split.n || j->stays) return TSR_OK;
  if (!any_answer(j)) split.numbers = NULL;
  number_shards(j, member, j->sizes[slot], split.first_at);
  void **const to[TSR_QUESTIONS] = {split.keys_to, split.values_to, split.operations_to};
  for (uint32_t c = 0; c < TSR_QUESTIONS; c++)
    locate(j, member, slot, (way){arrived_column, split_column, c, j->question_bytes[c]}, j->sizes[slot], to[c]);
  return step(j, m, TSR_SPLIT_scatter, &split, TSR_LANE_SPLIT);
}

static tsr_status split_chunk(const job *j, uint32_t slot, uint64_t round) {
  const uint32_t members = j->x->members, here = j->x->here;
  tsr_status status = finish_slot(j, slot, j->error);
  take_round(j, slot, round);
  for (uint32_t i = 0; status == TSR_OK && i < here; i++)
    status = begin_phase(j, &j->s->members[i], &j->s->members[i].slots[slot], TSR_LANE_SPLIT);
  for (uint32_t i = 0; status == TSR_OK && i < here; i++) status = count_part(j, i, &j->s->members[i].slots[slot]);
  for (uint32_t i = 0; status == TSR_OK && i < here; i++)
    status = read_counts(j, i, &j->s->members[i].slots[slot], j->sizes[slot] + (j->x->first + i) * members);
  status = share_sizes(j, slot, status);
  if (status == TSR_OK) status = make_room(j, slot);
  for (uint32_t i = 0; status == TSR_OK && i < here; i++) {
    tsr_member *m = &j->s->members[i];
    status = scatter_part(j, i, slot);
    if (status == TSR_OK) status = end_phase(j, m, &m->slots[slot], TSR_LANE_SPLIT);
  }
  return j->x->agree(j->x, status, j->error);
}

/* ---- Phases 2 and 3: travel and work --------------------------------------------------------- */

/* One column of all members here, as far as their kernels have not written it to the other shards. */
static tsr_status exchange(const job *j, uint32_t slot, uint32_t number, buffer_of *from, buffer_of *to,
                           const uint64_t *sizes, uint32_t item_bytes, tsr_lane lane) {
  const void *sources[TSR_DEVICES_MAX];
  void *targets[TSR_DEVICES_MAX], *streams[TSR_DEVICES_MAX];
  if (j->stays) return TSR_OK;
  add_sent(j, sizes, item_bytes, j->sends && lane == TSR_LANE_RETURN);
  if (j->x->is_direct) return TSR_OK;
  for (uint32_t i = 0; i < j->x->here; i++) {
    tsr_member *m = &j->s->members[i];
    sources[i] = from(&m->slots[slot], number)->memory;
    targets[i] = to(&m->slots[slot], number)->memory;
    streams[i] = m->streams[lane];
  }
  const tsr_parcels parcels = {sources, targets, sizes, item_bytes, streams};
  return j->x->exchange(j->x, &parcels, j->error);
}

/* Each member's stream waits for an event of every member. */
static tsr_status meet(const job *j, uint32_t slot, tsr_event *(*event)(const tsr_slot *), tsr_lane lane) {
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; i < j->x->here; i++)
    for (uint32_t other = 0; status == TSR_OK && other < j->x->here; other++)
      status = wait_for(j, &j->s->members[i], event(&j->s->members[other].slots[slot]), lane);
  return status;
}

static tsr_event *split_event(const tsr_slot *k) { return k->was_split; }
static tsr_event *worked_event(const tsr_slot *k) { return k->worked; }

static tsr_status travel(const job *j, uint32_t slot) {
  tsr_status status = meet(j, slot, split_event, TSR_LANE_TRAVEL);
  for (uint32_t i = 0; status == TSR_OK && i < j->x->here; i++)
    status = begin_phase(j, &j->s->members[i], &j->s->members[i].slots[slot], TSR_LANE_TRAVEL);
  status = j->x->agree(j->x, status, j->error);
  for (uint32_t c = 0; status == TSR_OK && c < TSR_QUESTIONS; c++)
    if (j->question_bytes[c])
      status =
          exchange(j, slot, c, split_column, arrived_column, j->sizes[slot], j->question_bytes[c], TSR_LANE_TRAVEL);
  for (uint32_t i = 0; status == TSR_OK && i < j->x->here; i++)
    status = end_phase(j, &j->s->members[i], &j->s->members[i].slots[slot], TSR_LANE_TRAVEL);
  return status;
}

/* Where a shard writes its answers: to the memory of the member that these items came from, where its own begin in the order
 * of shards; or, unless answers are sent, to its own memory, those to all items. */
static void *answer_of(const job *j, uint32_t shard, uint32_t slot, uint32_t from, tsr_answer a) {
  uint64_t first_at[TSR_DEVICES_MAX];
  if (!j->answers[a].bytes) return NULL;
  if (!j->sends) return j->s->members[shard].slots[slot].answer[a].memory;
  number_shards(j, from, j->sizes[slot], first_at);
  return (char *)j->s->members[from].slots[slot].back[a].memory + first_at[shard] * j->answers[a].bytes;
}

static const void *items_from(const void *column, uint64_t before, uint64_t bytes) {
  return column ? (const char *)column + before * bytes : NULL;
}

/* A shard works on n items: what has come but for the first `before`. */
static tsr_status work_on(const job *j, uint32_t shard, uint32_t slot, uint32_t from, uint64_t before, uint64_t n) {
  tsr_member *m = &j->s->members[shard];
  const tsr_slot *k = &m->slots[slot];
  const tsr_request *r = &j->parts[shard];
  const void *questions[TSR_QUESTIONS];
  void *answers[TSR_ANSWERS];
  for (uint32_t c = 0; c < TSR_QUESTIONS; c++)
    questions[c] = items_from(question_of(j, k, (tsr_column)c), before, j->question_bytes[c]);
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

static tsr_status work_member(const job *j, uint32_t member, uint32_t slot) {
  const uint32_t members = j->x->members;
  tsr_member *m = &j->s->members[member];
  tsr_slot *k = &m->slots[slot];
  tsr_status status = wait_for(j, m, k->arrived_at, TSR_LANE_WORK);
  if (status == TSR_OK) status = begin_phase(j, m, k, TSR_LANE_WORK);
  for (uint32_t a = 0; status == TSR_OK && !j->sends && a < TSR_ANSWERS; a++)
    if (j->answers[a].bytes) status = reserve(j, m, &k->answer[a], k->got * j->answers[a].bytes);
  if (status == TSR_OK && !j->sends) status = work_on(j, member, slot, member, 0, k->got);
  for (uint64_t from = 0, before = 0; status == TSR_OK && j->sends && from < members; from++) {
    const uint64_t n = j->sizes[slot][from * members + member];
    status = work_on(j, member, slot, (uint32_t)from, before, n);
    before += n;
  }
  return status ? status : end_phase(j, m, k, TSR_LANE_WORK);
}

static tsr_status work(const job *j, uint32_t slot) {
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; status == TSR_OK && i < j->x->here; i++) status = work_member(j, i, slot);
  return status;
}

/* ---- The way back ---------------------------------------------------------------------------- */

/* An answer of a member's part of the chunk, to where the caller wants it: at once, if its device has that memory. */
static tsr_status put_in_order(const job *j, uint32_t member, uint32_t slot, tsr_answer a) {
  tsr_member *m = &j->s->members[member];
  tsr_slot *k = &m->slots[slot];
  const answer *wanted = &j->answers[a];
  const uint64_t bytes = k->n * wanted->bytes;
  char *users = answer_in(&j->parts[member], a);
  tsr_status status = TSR_OK;
  k->ordered_at[a] = NULL;
  if (k->n == 0 || (!users && a != TSR_CODES)) return TSR_OK; /* codes decide about other answers */
  if (users) users += k->first * wanted->bytes;
  const bool is_found = a == TSR_FOUND_VALUES, is_in_parts = !j->stays && !j->sends;
  const bool is_at_once = users && is_here(m, users) && is_aligned(users, wanted->bytes);
  if (!is_at_once) status = reserve(j, m, &k->ordered[a], bytes);
  k->ordered_at[a] = is_at_once ? users : k->ordered[a].memory;
  if (status == TSR_OK && wanted->is_partial && !is_at_once)
    status = copy(j, m, k->ordered_at[a], users, bytes, TSR_LANE_RETURN);
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
  if (is_in_parts) number_shards(j, member, j->sizes[slot], split.first_at);
  if (is_in_parts)
    locate(j, member, slot, (way){answer_column, back_column, a, wanted->bytes}, j->sizes[slot], split.from);
  status = step(j, m, TSR_SPLIT_collect, &split, TSR_LANE_RETURN);
  return status || is_at_once || !users ? status : copy(j, m, users, k->ordered_at[a], bytes, TSR_LANE_RETURN);
}

/* Before the answers travel back, and when they have. */
static tsr_status begin_return(const job *j, uint32_t slot, bool are_back) {
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; status == TSR_OK && j->s->measures && i < j->x->here; i++) {
    const tsr_member *m = &j->s->members[i];
    const tsr_slot *k = &m->slots[slot];
    status = record(j, m, are_back ? k->back_at : k->begun[TSR_LANE_RETURN], TSR_LANE_RETURN);
  }
  return status;
}

static tsr_status bring_back(const job *j, uint32_t slot) {
  tsr_status status = meet(j, slot, worked_event, TSR_LANE_RETURN);
  for (uint32_t a = 0; a < TSR_ANSWERS; a++)
    for (uint32_t i = 0; status == TSR_OK && j->answers[a].bytes && !j->x->is_direct && !j->stays && i < j->x->here;
         i++) {
      tsr_member *m = &j->s->members[i];
      status = reserve(j, m, &m->slots[slot].back[a], m->slots[slot].n * j->answers[a].bytes);
    }
  if (status == TSR_OK) status = begin_return(j, slot, false);
  status = j->x->agree(j->x, status, j->error);
  for (uint32_t a = 0; status == TSR_OK && a < TSR_ANSWERS; a++)
    if (j->answers[a].bytes)
      status = exchange(j, slot, a, answer_column, back_column, j->back[slot], j->answers[a].bytes, TSR_LANE_RETURN);
  if (status == TSR_OK) status = begin_return(j, slot, true);
  for (uint32_t i = 0; status == TSR_OK && i < j->x->here; i++) {
    tsr_member *m = &j->s->members[i];
    for (uint32_t a = 0; status == TSR_OK && a < TSR_ANSWERS; a++)
      if (j->answers[a].bytes) status = put_in_order(j, i, slot, (tsr_answer)a);
    if (status == TSR_OK) status = end_phase(j, m, &m->slots[slot], TSR_LANE_RETURN);
  }
  return status;
}

/* ---- A batch --------------------------------------------------------------------------------- */

/* All processes must ask for the same, and go round as often as the one with the longest batch. */
static tsr_status begin(job *j) {
  tsr_status status = allocate_job(j);
  for (uint32_t i = 0; status == TSR_OK && i < j->x->here; i++) { /* what the caller has enqueued before */
    tsr_device *device = device_of(&j->s->members[i]);
    status = device->backend->synchronize(device, j->parts[i].stream, j->error);
  }
  status = j->x->agree(j->x, status, j->error);
  if (status) return status;
  uint64_t wanted = 0, kind = max_part(j) == 0 ? NO_ITEMS : j->question_bytes[TSR_VALUES] ? ITEMS_WITH_VALUES : ITEMS;
  j->rounds = 0;
  for (uint32_t a = 0; a < TSR_ANSWERS; a++) wanted |= (uint64_t)(j->answers[a].bytes != 0) << a;
  for (uint32_t i = 0; i < j->x->here; i++) {
    uint64_t *row = j->rows + (j->x->first + i) * WORDS;
    row[0] = j->parts->op;
    row[1] = (max_part(j) + j->share - 1) / j->share;
    row[2] = wanted;
    row[3] = kind;
  }
  status = j->x->gather(j->x, j->rows, WORDS, j->error);
  for (uint32_t i = 0; status == TSR_OK && i < j->x->members; i++) {
    const uint64_t *row = j->rows + i * WORDS;
    if (kind == NO_ITEMS) kind = row[3];
    if (row[0] != j->parts->op || (row[3] != NO_ITEMS && row[3] != kind))
      return tsr_fail(j->error, TSR_BAD_ARGUMENT,
                      "rank %u does another operation: all processes of a group make the same calls in the same order",
                      i);
    if (j->rounds < row[1]) j->rounds = row[1];
    wanted |= row[2];
  }
  if (kind == ITEMS_WITH_VALUES) j->question_bytes[TSR_VALUES] = j->answer_bytes[TSR_FOUND_VALUES];
  for (uint32_t a = 0; a < TSR_ANSWERS; a++) /* also what only another process wants */
    if (wanted >> a & 1) j->answers[a].bytes = j->answer_bytes[a];
  return status;
}

/* The histogram of a batch that is the first of its table, where each pair of a key needs a slot. */
static tsr_status balance(const job *j) {
  const uint32_t policy = j->t->store.composition->shape.duplicates, key_bytes = j->question_bytes[TSR_KEYS];
  const uint32_t here = j->x->here;
  const uint32_t op = j->parts->op;
  const bool inserts = op == TSR_BULK_insert || op == TSR_BULK_apply;
  const uint64_t most = max_part(j);
  tsr_status status = TSR_OK;
  if (!j->s->is_empty || !inserts) return TSR_OK;
  j->s->is_empty = false;
  if (TSR_POLICY_LOOKS(policy)) return TSR_OK;
  for (uint64_t round = 0; status == TSR_OK && round * j->share < most; round++) {
    take_round(j, 0, round);
    for (uint32_t i = 0; status == TSR_OK && i < here; i++) {
      tsr_slot *k = &j->s->members[i].slots[0];
      status = fetch(j, i, k, TSR_KEYS);
      if (status == TSR_OK) status = tsr_balance_add(j->s, i, k->n, k->asked[TSR_KEYS], key_bytes, j->error);
    }
    for (uint32_t i = 0; status == TSR_OK && i < here; i++) {
      const tsr_member *m = &j->s->members[i];
      status = device_of(m)->backend->synchronize(device_of(m), m->streams[TSR_LANE_SPLIT], j->error);
    }
  }
  status = j->x->agree(j->x, status, j->error);
  return status ? status : tsr_balance_choose(j->s, j->t->capacity, j->error);
}

/* ---- All values of keys ---------------------------------------------------------------------- */

/* How many values each member gets from each shard for this chunk: by the caller's offsets, which a count has made. */
static tsr_status size_values(const job *j, uint32_t slot, uint64_t *wants, uint64_t *firsts) {
  const uint32_t members = j->x->members;
  uint64_t ends[TSR_DEVICES_MAX + 1];
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; status == TSR_OK && i < j->x->here; i++) {
    const tsr_member *m = &j->s->members[i];
    tsr_slot *k = &j->s->members[i].slots[slot];
    const uint64_t bytes = (k->n + 1) * sizeof(uint64_t), *items = j->sizes[slot] + (j->x->first + i) * members;
    status = reserve(j, m, &k->offsets, bytes);
    if (status == TSR_OK) status = reserve(j, m, &k->spans, bytes);
    const uint64_t *users = j->parts[i].counts + k->first;
    if (status == TSR_OK) status = copy(j, m, k->offsets.memory, users, bytes, TSR_LANE_SPLIT);
    const tsr_split split = {
        .n = k->n, .numbers = k->numbers.memory, .offsets = k->offsets.memory, .spans = k->spans.memory};
    if (status == TSR_OK && k->n) status = step(j, m, TSR_SPLIT_spans, &split, TSR_LANE_SPLIT);
    if (status == TSR_OK) status = prefix_sum(j, m, split.spans, k->n, TSR_LANE_SPLIT);
    if (status == TSR_OK) status = copy(j, m, &firsts[i], k->offsets.memory, sizeof *firsts, TSR_LANE_SPLIT);
    for (uint64_t from = 0, at = 0; status == TSR_OK && from <= members; at += from < members ? items[from] : 0, from++)
      status = copy(j, m, &ends[from], split.spans + at, sizeof *ends, TSR_LANE_SPLIT);
    if (status == TSR_OK)
      status = device_of(m)->backend->synchronize(device_of(m), m->streams[TSR_LANE_SPLIT], j->error);
    for (uint32_t from = 0; status == TSR_OK && from < members; from++)
      wants[(j->x->first + i) * members + from] = ends[from + 1] - ends[from];
  }
  status = j->x->agree(j->x, status, j->error);
  return status ? status : j->x->gather(j->x, wants, members, j->error);
}

static tsr_status retrieve_member(const job *j, uint32_t member, tsr_slot *k, uint64_t values) {
  tsr_member *m = &j->s->members[member];
  const uint32_t value_bytes = j->answer_bytes[TSR_FOUND_VALUES];
  tsr_status status = wait_for(j, m, k->arrived_at, TSR_LANE_WORK);
  if (status == TSR_OK) status = begin_phase(j, m, k, TSR_LANE_WORK);
  if (status == TSR_OK) status = reserve(j, m, &k->answer[TSR_COUNTS], (k->got + 1) * sizeof(uint64_t));
  if (status == TSR_OK) status = reserve(j, m, &k->values, values * value_bytes);
  if (status) return status;
  const tsr_request mine = {.op = TSR_BULK_retrieve,
                            .phase = TSR_PHASE_FIND,
                            .n = k->got,
                            .keys = question_of(j, k, TSR_KEYS),
                            .values_out = values ? k->values.memory : NULL,
                            .counts = k->answer[TSR_COUNTS].memory,
                            .room = values,
                            .missing = j->parts[member].missing,
                            .stream = m->streams[TSR_LANE_WORK],
                            .tally = m->shard->tallies + TSR_TALLY_UNREAD};
  if (mine.n) status = tsr_single_operate(m->shard, &mine, j->error);
  return status ? status : end_phase(j, m, k, TSR_LANE_WORK);
}

/* The values of a member's part, to where the caller wants them, as far as there is room. first: where they begin. */
static tsr_status spread(const job *j, uint32_t member, uint32_t slot, const uint64_t *wants, uint64_t first,
                         uint64_t count) {
  tsr_member *m = &j->s->members[member];
  tsr_slot *k = &m->slots[slot];
  const tsr_request *r = &j->parts[member];
  const uint32_t bytes = j->answer_bytes[TSR_FOUND_VALUES];
  const uint64_t room = first < r->room ? r->room - first : 0, fitting = count < room ? count : room;
  tsr_status status = reserve(j, m, &k->ordered_values, count * bytes);
  if (status || k->n == 0) return status;
  tsr_split split = {.n = k->n,
                     .shards = j->x->members,
                     .numbers = k->numbers.memory,
                     .ordered = k->ordered_values.memory,
                     .column_bytes = bytes,
                     .offsets = k->offsets.memory,
                     .spans = k->spans.memory};
  number_shards(j, member, j->sizes[slot], split.first_at);
  locate(j, member, slot, (way){values_column, back_values_column, 0, bytes}, wants, split.from);
  status = step(j, m, TSR_SPLIT_spread, &split, TSR_LANE_RETURN);
  if (status || !fitting) return status;
  return copy(j, m, (char *)r->values_out + first * bytes, k->ordered_values.memory, fitting * bytes, TSR_LANE_RETURN);
}

static tsr_status retrieve_chunk(const job *j, uint32_t slot, uint64_t *wants, uint64_t *back) {
  const uint32_t members = j->x->members;
  uint64_t firsts[TSR_DEVICES_MAX], counts[TSR_DEVICES_MAX] = {0};
  tsr_status status = size_values(j, slot, wants, firsts);
  if (status == TSR_OK) status = travel(j, slot);
  for (uint32_t to = 0; to < members; to++)
    for (uint32_t from = 0; from < members; from++) back[from * members + to] = wants[to * members + from];
  for (uint32_t i = 0; status == TSR_OK && i < j->x->here; i++) {
    uint64_t asked = 0;
    for (uint32_t to = 0; to < members; to++) asked += back[(j->x->first + i) * members + to];
    for (uint32_t from = 0; from < members; from++) counts[i] += wants[(j->x->first + i) * members + from];
    status = retrieve_member(j, i, &j->s->members[i].slots[slot], asked);
  }
  if (status == TSR_OK) status = meet(j, slot, worked_event, TSR_LANE_RETURN);
  for (uint32_t i = 0; status == TSR_OK && !j->x->is_direct && i < j->x->here; i++)
    status = reserve(j, &j->s->members[i], &j->s->members[i].slots[slot].back_values,
                     counts[i] * j->answer_bytes[TSR_FOUND_VALUES]);
  if (status == TSR_OK) status = begin_return(j, slot, false);
  status = j->x->agree(j->x, status, j->error);
  if (status == TSR_OK)
    status = exchange(j, slot, 0, values_column, back_values_column, back, j->answer_bytes[TSR_FOUND_VALUES],
                      TSR_LANE_RETURN);
  if (status == TSR_OK) status = begin_return(j, slot, true);
  for (uint32_t i = 0; status == TSR_OK && i < j->x->here; i++) {
    tsr_member *m = &j->s->members[i];
    status = spread(j, i, slot, wants, firsts[i], counts[i]);
    if (status == TSR_OK) status = end_phase(j, m, &m->slots[slot], TSR_LANE_RETURN);
  }
  return status;
}

static tsr_status end(job *j, tsr_status status) {
  for (uint32_t slot = 0; slot < TSR_SLOTS; slot++) { /* buffers and the caller's arrays are free again */
    tsr_status finished = finish_slot(j, slot, status ? NULL : j->error);
    if (status == TSR_OK) status = finished;
  }
  return j->x->agree(j->x, status, j->error);
}

static tsr_status run(tsr_table *t, const tsr_request *parts, bool stays, tsr_error *error) {
  job j = job_of(t, parts, error);
  j.stays = stays;
  j.sends = sends_answers(&j);
  tsr_status status = begin(&j);
  const bool has_answers = any_answer(&j);
  if (status == TSR_OK && !stays) status = balance(&j);
  /* Answers of a chunk travel when the next one is being worked on, since an exchange between processes waits for its end. */
  for (uint64_t round = 0; status == TSR_OK && round < j.rounds; round++) {
    const uint32_t slot = (uint32_t)(round % TSR_SLOTS);
    status = split_chunk(&j, slot, round);
    if (status == TSR_OK) status = travel(&j, slot);
    if (status == TSR_OK) status = work(&j, slot);
    if (status == TSR_OK && has_answers && round) status = bring_back(&j, (slot + TSR_SLOTS - 1) % TSR_SLOTS);
  }
  if (status == TSR_OK && has_answers && j.rounds) status = bring_back(&j, (uint32_t)((j.rounds - 1) % TSR_SLOTS));
  if (j.rows) status = end(&j, status);
  free_job(&j);
  return status;
}

/* The values, when it is known where each key's begin. */
static tsr_status retrieve(tsr_table *t, const tsr_request *parts, tsr_error *error) {
  tsr_request keys_only[TSR_DEVICES_MAX];
  const uint32_t here = t->shards->transport.here;
  for (uint32_t i = 0; i < here; i++) {
    keys_only[i] = parts[i];
    keys_only[i].results = NULL;
    if (!parts[i].values_out) keys_only[i].n = 0;
  }
  job j = job_of(t, keys_only, error);
  j.answers[TSR_COUNTS].bytes = 0; /* the caller's are read here */
  const size_t members = j.x->members;
  uint64_t *sizes = calloc(2 * members * members, sizeof *sizes);
  tsr_status status = sizes ? begin(&j) : tsr_fail(error, TSR_NO_MEMORY, "no memory for the sizes of an exchange");
  const bool any_wanted = j.answers[TSR_FOUND_VALUES].bytes != 0; /* in some process */
  for (uint64_t round = 0; status == TSR_OK && any_wanted && round < j.rounds; round++) {
    const uint32_t slot = (uint32_t)(round % TSR_SLOTS);
    status = split_chunk(&j, slot, round);
    if (status == TSR_OK) status = retrieve_chunk(&j, slot, sizes, sizes + members * members);
  }
  if (j.rows) status = end(&j, status);
  free_job(&j);
  free(sizes);
  return status;
}

/* counts[i] becomes where the values of item i begin. */
static tsr_status sum_up(const tsr_table *t, const tsr_request *r, tsr_error *error) {
  tsr_array offsets = {r->counts, NULL, (r->n + 1) * sizeof *r->counts, false, TSR_ARRAY_PARTLY_WRITTEN};
  tsr_status status = tsr_stage_in(t, &offsets, NULL, error);
  if (status == TSR_OK) status = t->backend->prefix_sum(t->device, offsets.devices, r->n, NULL, error);
  tsr_status copied = tsr_stage_out(t, &offsets, NULL, status != TSR_OK, status ? NULL : error);
  if (status == TSR_OK) status = copied;
  tsr_status waited = t->backend->synchronize(t->device, NULL, status ? NULL : error);
  return status ? status : waited;
}

static tsr_status count(tsr_table *t, const tsr_request *parts, tsr_error *error) {
  tsr_request counting[TSR_DEVICES_MAX];
  for (uint32_t i = 0; i < t->shards->transport.here; i++) {
    counting[i] = parts[i];
    counting[i].op = TSR_BULK_count;
    counting[i].values_out = NULL;
    counting[i].room = 0;
  }
  return run(t, counting, false, error);
}

tsr_status tsr_batch_run_parts(tsr_table *t, const tsr_request *parts, tsr_error *error) {
  tsr_status status = TSR_OK;
  if (parts->op != TSR_BULK_retrieve) return run(t, parts, false, error);
  status = count(t, parts, error);
  for (uint32_t i = 0; status == TSR_OK && i < t->shards->transport.here; i++) status = sum_up(t, &parts[i], error);
  status = t->shards->transport.agree(&t->shards->transport, status, error);
  return status ? status : retrieve(t, parts, error);
}

tsr_status tsr_batch_deal_parts(tsr_table *t, const tsr_request *parts, tsr_error *error) {
  return run(t, parts, true, error);
}

/* ---- One batch in parts of equal size -------------------------------------------------------- */

static const void *item_of(const void *array, uint64_t i, uint64_t bytes) {
  return array ? (const char *)array + i * bytes : NULL;
}

static void *place_of(void *array, uint64_t i, uint64_t bytes) { return array ? (char *)array + i * bytes : NULL; }

/* Items first .. first + n. Of find_all the offsets say where an item's values lie, so that all parts have them all. */
static tsr_request slice(const tsr_table *t, const tsr_request *r, uint64_t first, uint64_t n) {
  const uint64_t key_bytes = t->store.composition->shape.key_bits / 8;
  const uint64_t value_bytes = tsr_composition_value_bytes(t->store.composition);
  tsr_request part = *r;
  part.n = n;
  part.operations = item_of(r->operations, first, 1);
  part.keys = item_of(r->keys, first, key_bytes);
  part.values = item_of(r->values, first, value_bytes);
  if (r->op != TSR_BULK_retrieve) part.values_out = place_of(r->values_out, first, value_bytes);
  part.unplaced_keys = place_of(r->unplaced_keys, first, key_bytes);
  part.unplaced_values = place_of(r->unplaced_values, first, value_bytes);
  part.results = place_of(r->results, first, 1);
  part.counts = place_of(r->counts, first, sizeof *r->counts);
  part.times = place_of(r->times, first, 2 * sizeof *r->times);
  return part;
}

static void cut(tsr_table *t, const tsr_request *r, tsr_request *parts) {
  tsr_shards *s = t->shards;
  const uint32_t here = s->transport.here;
  for (uint32_t i = 0; i < here; i++) {
    const uint32_t part = (i + s->next) % here; /* so that small batches are not all one member's */
    const uint64_t first = r->n / here * part + r->n % here * part / here;
    const uint64_t end = r->n / here * (part + 1) + r->n % here * (part + 1) / here;
    parts[i] = slice(t, r, first, end - first);
  }
  s->next = (uint32_t)((s->next + r->n) % here);
}

tsr_status tsr_batch_run(tsr_table *t, const tsr_request *r, tsr_error *error) {
  tsr_request parts[TSR_DEVICES_MAX];
  cut(t, r, parts);
  return run(t, parts, false, error);
}

tsr_status tsr_batch_deal(tsr_table *t, const tsr_request *r, tsr_error *error) {
  tsr_request parts[TSR_DEVICES_MAX];
  cut(t, r, parts);
  return run(t, parts, true, error);
}

tsr_status tsr_batch_find_all(tsr_table *t, const tsr_request *r, tsr_error *error) {
  tsr_request parts[TSR_DEVICES_MAX];
  cut(t, r, parts);
  tsr_status status = count(t, parts, error);
  if (status == TSR_OK) status = sum_up(t, r, error);
  status = t->shards->transport.agree(&t->shards->transport, status, error);
  return status ? status : retrieve(t, parts, error);
}

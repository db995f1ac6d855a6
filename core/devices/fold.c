/* SPDX-License-Identifier: Apache-2.0
 *
 * Folded batches (fold.h).
 */
#include "core/devices/fold.h"

#include "core/batch/plan.h"

/* ---- Whether it pays ------------------------------------------------------------------------- */

static uint64_t setting_of(const tsr_task *task) {
  const tsr_composition *c = task->t->store.composition;
  if (task->stays || !tsr_plan_folds(c, task->parts->op)) return TSR_FOLDS_NEVER;
  return c->settings.sharing.combine == TSR_COMBINE_ALWAYS  ? TSR_FOLDS_ALWAYS
         : c->settings.sharing.combine == TSR_COMBINE_NEVER ? TSR_FOLDS_NEVER
                                                            : TSR_FOLDS_AUTO;
}

/* Equal pieces of a member's part, as spans: of the caller's keys, or of a copy where the member does not reach them. */
static tsr_status place_sample(const tsr_task *task, uint32_t member, tsr_split *split) {
  tsr_member *m = &task->s->members[member];
  const uint64_t n = task->parts[member].n, bytes = task->question_bytes[TSR_KEYS], every = n / TSR_FOLD_SAMPLES;
  const uint64_t made_bytes = TSR_FOLD_SAMPLES * sizeof(uint32_t), key_bytes = TSR_FOLD_SAMPLED * bytes;
  const char *keys = task->parts[member].keys;
  tsr_status status = tsr_task_reserve(task, m, &m->sample, made_bytes + TSR_FOLD_SAMPLES * key_bytes);
  char *const copies = (char *)m->sample.memory + made_bytes;
  const bool is_here = tsr_task_reaches(m, keys, bytes);
  *split = (tsr_split){.runs.n = is_here ? every * TSR_FOLD_SAMPLES : TSR_FOLD_SAMPLES * TSR_FOLD_SAMPLED,
                       .bytes[TSR_SPLIT_KEYS] = (uint32_t)bytes,
                       .items[TSR_SPLIT_KEYS] = is_here ? keys : copies,
                       .fold.policy = TSR_DUPLICATES_FIRST,
                       .fold.span = TSR_FOLD_SAMPLED,
                       .fold.every = is_here ? every : TSR_FOLD_SAMPLED,
                       .fold.made = m->sample.memory};
  for (uint64_t i = 0; status == TSR_OK && !is_here && i < TSR_FOLD_SAMPLES; i++)
    status = tsr_task_copy(task, m, copies + i * key_bytes, keys + i * every * bytes, key_bytes, TSR_LEG_SPLIT);
  return status;
}

tsr_status tsr_fold_sample(const tsr_task *task, tsr_task_row *row) {
  static const uint64_t least = 1u << 20;
  uint32_t made[TSR_DEVICES_MAX][TSR_FOLD_SAMPLES];
  tsr_status status = TSR_OK;
  row->folds = setting_of(task);
  row->sampled = row->repeated = 0;
  if (row->folds != TSR_FOLDS_AUTO || tsr_task_max_part(task) < least) return TSR_OK;
  for (uint32_t i = 0; status == TSR_OK && i < task->x->here; i++) {
    const tsr_member *m = &task->s->members[i];
    tsr_split split;
    if (task->parts[i].n < TSR_FOLD_SAMPLES * TSR_FOLD_SAMPLED) continue;
    status = place_sample(task, i, &split);
    if (status == TSR_OK) status = tsr_task_step(task, m, TSR_SPLIT_fold, &split, TSR_LEG_SPLIT);
  }
  for (uint32_t i = 0; status == TSR_OK && i < task->x->here; i++) { /* when all are at it, since a copy waits */
    const tsr_member *m = &task->s->members[i];
    if (task->parts[i].n < TSR_FOLD_SAMPLES * TSR_FOLD_SAMPLED) continue;
    status = tsr_task_copy(task, m, made[i], m->sample.memory, sizeof made[i], TSR_LEG_SPLIT);
    const tsr_status waited =
        tsr_device_of(m)->backend->synchronize(tsr_device_of(m), m->streams[TSR_LEG_SPLIT], task->error);
    if (status == TSR_OK) status = waited;
    for (uint32_t s = 0; s < TSR_FOLD_SAMPLES; s++) row->repeated += TSR_FOLD_SAMPLED - made[i][s];
    row->sampled += TSR_FOLD_SAMPLES * TSR_FOLD_SAMPLED;
  }
  return status;
}

void tsr_fold_decide(tsr_task *task) {
  enum { EIGHTHS = 8 };
  uint64_t sampled = 0, repeated = 0;
  bool never = false, always = false;
  for (uint32_t i = 0; i < task->x->members; i += task->x->here) { /* the row of a process is that of all its members */
    const tsr_task_row *row = &task->rows[i];
    never = never || row->folds == TSR_FOLDS_NEVER;
    always = always || row->folds == TSR_FOLDS_ALWAYS;
    sampled += row->sampled;
    repeated += row->repeated;
  }
  const uint64_t share = tsr_plan_fold_share(task->t->store.composition);
  task->folds = !never && (always || (sampled && repeated * EIGHTHS >= sampled * share));
  if (!task->folds) return;
  task->question_bytes[TSR_MORE] = sizeof(uint16_t);
  if (!tsr_task_has_answers(task)) return;
  const bool hands_back = task->answers[TSR_UNPLACED_KEYS].bytes || task->answers[TSR_UNPLACED_VALUES].bytes;
  task->answers[TSR_CODES].bytes = task->answer_bytes[TSR_CODES];
  task->answers[TSR_UNPLACED_KEYS].bytes = task->answer_bytes[TSR_UNPLACED_KEYS];
  if (hands_back) task->answers[TSR_UNPLACED_VALUES].bytes = task->answer_bytes[TSR_UNPLACED_VALUES];
}

/* ---- A chunk --------------------------------------------------------------------------------- */

/* The part as it came, and where what is made of it goes. */
static tsr_split split_of(const tsr_task *task, const tsr_member *m, const tsr_flight *k) {
  const tsr_shape *shape = &task->t->store.composition->shape;
  const uint32_t policy = shape->duplicates, bits = shape->payload_bits;
  const bool tells = TSR_POLICY_COUNTS(policy) || shape->tells_overflow;
  tsr_tally *inserts = m->shard->tallies + TSR_BULK_insert;
  const uint64_t most = policy == TSR_DUPLICATES_COUNT_8    ? UINT8_MAX
                        : policy == TSR_DUPLICATES_COUNT_16 ? UINT16_MAX
                        : bits == 32                        ? UINT32_MAX
                                                            : UINT64_MAX;
  tsr_split split = {.runs.n = k->n,
                     .runs.tiles = TSR_RUNS_TILES(k->n),
                     .fold = {.policy = policy,
                              .span = TSR_FOLD_SPAN,
                              .every = TSR_FOLD_SPAN,
                              .most = most,
                              .keys = k->folded.columns[TSR_KEYS].memory,
                              .values = task->question_bytes[TSR_VALUES] ? k->folded.columns[TSR_VALUES].memory : NULL,
                              .more = k->folded.columns[TSR_MORE].memory,
                              .made = k->folded.made.memory,
                              .parts = tsr_task_has_answers(task) ? k->folded.parts.memory : NULL,
                              .overflows = tells ? &inserts->overflows : NULL},
                     .not_placed = &inserts->not_placed};
  for (uint32_t c = 0; c < TSR_QUESTIONS; c++) {
    split.bytes[c] = task->question_bytes[c];
    split.items[c] = k->asked[c];
  }
  split.bytes[TSR_SPLIT_VALUES] = bits / 8; /* also where none travel */
  return split;
}

tsr_status tsr_fold_part(const tsr_task *task, const tsr_member *m, tsr_flight *k) {
  const uint64_t spans = (k->n + TSR_FOLD_SPAN - 1) / TSR_FOLD_SPAN;
  tsr_status status = TSR_OK;
  for (uint32_t c = 0; status == TSR_OK && c < TSR_QUESTIONS; c++)
    if (task->question_bytes[c])
      status = tsr_task_reserve(task, m, &k->folded.columns[c], k->n * task->question_bytes[c]);
  if (status == TSR_OK) status = tsr_task_reserve(task, m, &k->folded.made, spans * sizeof(uint32_t));
  if (status == TSR_OK && tsr_task_has_answers(task))
    status = tsr_task_reserve(task, m, &k->folded.parts, k->n * sizeof(uint32_t));
  if (status || k->n == 0) return status;
  const tsr_split split = split_of(task, m, k);
  return tsr_task_step(task, m, TSR_SPLIT_fold, &split, TSR_LEG_SPLIT);
}

bool tsr_fold_needs(const tsr_task *task, tsr_answer a) {
  return task->folds && (a == TSR_CODES || a == TSR_UNPLACED_KEYS);
}

tsr_status tsr_fold_unpack(const tsr_task *task, uint32_t member, uint32_t flight) {
  const tsr_member *m = &task->s->members[member];
  tsr_flight *k = &task->s->members[member].flights[flight];
  const uint32_t bytes = task->answer_bytes[TSR_FOUND_VALUES];
  if (task->question_bytes[TSR_VALUES] || !bytes || k->got == 0) return TSR_OK;
  tsr_split split = split_of(task, m, k);
  split.runs.n = k->got;
  split.items[TSR_SPLIT_MORE] = k->arrived[TSR_MORE].memory;
  split.fold.values = k->arrived[TSR_VALUES].memory;
  return tsr_task_step(task, m, TSR_SPLIT_unpack, &split, TSR_LEG_WORK);
}

tsr_status tsr_fold_weigh(const tsr_task *task, uint32_t member, uint32_t flight) {
  const tsr_member *m = &task->s->members[member];
  const tsr_flight *k = &m->flights[flight];
  const uint64_t *row = task->sizes[flight] + (task->x->first + member) * task->x->members;
  uint64_t made = 0;
  for (uint32_t to = 0; to < task->x->members; to++) made += row[to];
  m->shard->done.insert_keys += k->n - made;
  if (k->got == 0) return TSR_OK;
  tsr_split split = split_of(task, m, k);
  split.runs.n = k->got;
  split.items[TSR_SPLIT_KEYS] = k->arrived[TSR_KEYS].memory;
  split.items[TSR_SPLIT_MORE] = k->arrived[TSR_MORE].memory;
  split.unfold.codes = k->answer[TSR_CODES].memory;
  split.unfold.unplaced_keys = k->answer[TSR_UNPLACED_KEYS].memory;
  return tsr_task_step(task, m, TSR_SPLIT_weigh, &split, TSR_LEG_WORK);
}

/* Where the answer goes: the caller's array if the member reaches it, otherwise a buffer that begins as it; NULL: the caller
 * wants none. */
static tsr_status place_answer(const tsr_task *task, uint32_t member, tsr_flight *k, tsr_answer a, void **at) {
  const tsr_member *m = &task->s->members[member];
  const uint64_t bytes = task->answer_bytes[a];
  char *callers = tsr_answer_in(&task->parts[member], a);
  *at = NULL;
  if (!callers || !bytes) return TSR_OK;
  callers += k->first * bytes;
  *at = callers;
  if (tsr_task_reaches(m, callers, bytes)) return TSR_OK;
  tsr_status status = tsr_task_reserve(task, m, &k->folded.answers[a], k->n * bytes);
  *at = k->folded.answers[a].memory;
  if (status == TSR_OK && task->answers[a].is_partial)
    status = tsr_task_copy(task, m, *at, callers, k->n * bytes, TSR_LEG_RETURN);
  return status;
}

/* Where repeated items have answers of their own. */
static const tsr_answer given[] = {TSR_CODES, TSR_UNPLACED_KEYS, TSR_UNPLACED_VALUES};
enum { GIVEN = sizeof given / sizeof given[0] };

tsr_status tsr_fold_reserve(const tsr_task *task, uint32_t member, tsr_flight *k) {
  const tsr_member *m = &task->s->members[member];
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; status == TSR_OK && i < GIVEN; i++) {
    const char *callers = tsr_answer_in(&task->parts[member], given[i]);
    const uint64_t bytes = task->answer_bytes[given[i]];
    if (callers && bytes && !tsr_task_reaches(m, callers + k->first * bytes, bytes))
      status = tsr_task_reserve(task, m, &k->folded.answers[given[i]], k->n * bytes);
  }
  return status;
}

tsr_status tsr_fold_answer(const tsr_task *task, uint32_t member, uint32_t flight) {
  const tsr_member *m = &task->s->members[member];
  tsr_flight *k = &task->s->members[member].flights[flight];
  void *to[GIVEN];
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; status == TSR_OK && i < GIVEN; i++) status = place_answer(task, member, k, given[i], &to[i]);
  if (status || k->n == 0) return status;
  tsr_split split = split_of(task, m, k);
  split.unfold = (tsr_unfold){.codes = k->ordered_at[TSR_CODES],
                              .unplaced_keys = k->ordered_at[TSR_UNPLACED_KEYS],
                              .unplaced_values = k->ordered_at[TSR_UNPLACED_VALUES],
                              .to_codes = to[0],
                              .to_keys = to[1],
                              .to_values = to[2]};
  status = tsr_task_step(task, m, TSR_SPLIT_unfold, &split, TSR_LEG_RETURN);
  for (uint32_t i = 0; status == TSR_OK && i < GIVEN; i++) {
    const uint64_t bytes = task->answer_bytes[given[i]];
    char *callers = tsr_answer_in(&task->parts[member], given[i]);
    if (to[i] && to[i] != callers + k->first * bytes)
      status = tsr_task_copy(task, m, callers + k->first * bytes, to[i], k->n * bytes, TSR_LEG_RETURN);
  }
  return status;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Batches (batch.h), chunk by chunk; chunk.h has the legs of one.
 *
 * Each leg has a stream of its own on every device, and three chunks have buffers. While one chunk is worked on, the
 * next one travels and the one after it is split; events keep the order. The host waits for the number of items per
 * shard, and between processes for the end of an exchange (group.c), while the devices work on the chunks before.
 */
#include "core/devices/batch.h"

#include <stdlib.h>

#include "core/batch/sum.h"
#include "core/devices/balance.h"
#include "core/devices/chunk.h"
#include "core/devices/fold.h"
#include "core/devices/values.h"
#include "core/table/stage.h"

/* ---- A batch --------------------------------------------------------------------------------- */

/* All processes must ask for the same operation, and take as many rounds as the longest batch. */
static tsr_status begin(tsr_task *task) {
  tsr_status status = tsr_task_allocate(task);
  for (uint32_t i = 0; status == TSR_OK && i < task->x->here; i++) { /* what the caller has enqueued before */
    tsr_device *device = tsr_device_of(&task->s->members[i]);
    status = device->backend->synchronize(device, task->parts[i].call.stream, task->error);
  }
  const uint64_t most = tsr_task_max_part(task);
  tsr_task_row mine = {.op = task->parts->op,
                       .rounds = (most + task->share - 1) / task->share,
                       .kind = most == 0                          ? TSR_TASK_NO_ITEMS
                               : task->question_bytes[TSR_VALUES] ? TSR_TASK_ITEMS_WITH_VALUES
                                                                  : TSR_TASK_ITEMS};
  mine.sends = task->sends;
  mine.spares = task->spares;
  mine.flights = task->flights;
  for (uint32_t a = 0; a < TSR_ANSWERS; a++) mine.wanted |= (uint64_t)(task->answers[a].bytes != 0) << a;
  if (status == TSR_OK) status = tsr_fold_sample(task, &mine);
  for (uint32_t i = 0; task->rows && i < task->x->here; i++) task->rows[task->x->first + i] = mine;
  status = task->x->gather(task->x, (uint64_t *)task->rows, sizeof *task->rows / sizeof(uint64_t), status, task->error);
  uint64_t wanted = mine.wanted, kind = mine.kind;
  bool sends = true, spares = task->spares;
  task->rounds = 0;
  for (uint32_t i = 0; status == TSR_OK && i < task->x->members; i++) {
    const tsr_task_row *row = &task->rows[i];
    if (kind == TSR_TASK_NO_ITEMS) kind = row->kind;
    if (row->op != mine.op || (row->kind != TSR_TASK_NO_ITEMS && row->kind != kind))
      return tsr_fail(task->error, TSR_BAD_ARGUMENT,
                      "rank %u does another operation: all processes of a group make the same calls in the same order",
                      i);
    if (task->rounds < row->rounds) task->rounds = row->rounds;
    if (row->kind != TSR_TASK_NO_ITEMS) sends = sends && row->sends;
    wanted |= row->wanted;
    spares = spares || row->spares;
    if (row->flights < task->flights) task->flights = (uint32_t)row->flights;
  }
  if (kind == TSR_TASK_ITEMS_WITH_VALUES) task->question_bytes[TSR_VALUES] = task->answer_bytes[TSR_FOUND_VALUES];
  for (uint32_t a = 0; a < TSR_ANSWERS; a++) /* also what only another process wants */
    if (wanted >> a & 1) task->answers[a].bytes = task->answer_bytes[a];
  task->sends = sends && kind != TSR_TASK_NO_ITEMS;
  task->spares = spares;
  if (status == TSR_OK) tsr_fold_decide(task);
  return status;
}

/* The histogram of a table's first batch, if each pair of a key takes a slot. Distinct keys come evenly. */
static tsr_status balance(const tsr_task *task) {
  const uint32_t policy = task->t->store.composition->shape.duplicates, key_bytes = task->question_bytes[TSR_KEYS];
  const uint32_t here = task->x->here;
  const uint32_t op = task->parts->op;
  const bool inserts = op == TSR_BULK_insert || op == TSR_BULK_apply;
  const uint64_t most = tsr_task_max_part(task);
  tsr_status status = TSR_OK;
  if (!task->s->is_empty || !inserts) return TSR_OK;
  task->s->is_empty = false;
  if (policy != TSR_DUPLICATES_KEEP) return TSR_OK;
  for (uint64_t round = 0; status == TSR_OK && round * task->share < most; round++) {
    tsr_chunk_take_round(task, 0, round);
    for (uint32_t i = 0; status == TSR_OK && i < here; i++) {
      tsr_flight *k = &task->s->members[i].flights[0];
      status = tsr_chunk_fetch(task, i, k, TSR_KEYS);
      if (status == TSR_OK) status = tsr_balance_add(task->s, i, k->n, k->asked[TSR_KEYS], key_bytes, task->error);
    }
    const bool is_last = most - round * task->share <= task->share; /* then the choice waits */
    for (uint32_t i = 0; status == TSR_OK && !is_last && i < here; i++) {
      const tsr_member *m = &task->s->members[i];
      status = tsr_device_of(m)->backend->synchronize(tsr_device_of(m), m->streams[TSR_LEG_SPLIT], task->error);
    }
  }
  status = task->x->agree(task->x, status, task->error);
  if (status == TSR_NO_MEMORY) tsr_balance_forget(task->s);
  return status ? status : tsr_balance_choose(task->s, task->t->capacity, task->error);
}

static tsr_status end(tsr_task *task, tsr_status status) {
  if (status) tsr_reach_finish(task->s);                      /* also what belongs to no flight yet */
  for (uint32_t flight = 0; flight < TSR_FLIGHTS; flight++) { /* buffers and the caller's arrays are free again */
    tsr_status finished = tsr_task_finish_slot(task, flight, status ? NULL : task->error);
    if (status == TSR_OK) status = finished;
  }
  return task->x->agree(task->x, status, task->error);
}

/* *has_worked: whether some item has gone to the table. */
static tsr_status run_chunks(tsr_table *t, const tsr_request *parts, bool stays, bool is_sparing, bool *has_worked,
                             tsr_error *error) {
  tsr_task task = tsr_task_of(t, parts, is_sparing, error);
  task.stays = stays;
  task.sends = tsr_task_sends_answers(&task);
  tsr_status status = begin(&task);
  const bool has_answers = tsr_task_has_answers(&task);
  *has_worked = false;
  task.x->forgives = task.spares;
  if (status == TSR_OK && !stays) status = balance(&task);
  /* The answers of a chunk travel when the next one is worked on and the one after it is enqueued: an exchange between
   * processes waits for its end, and the devices would wait for the host. */
  const uint32_t flights = task.flights, behind = flights - 1;
  for (uint64_t round = 0; status == TSR_OK && round < task.rounds; round++) {
    const uint32_t flight = (uint32_t)(round % flights);
    status = tsr_chunk_travel(&task, flight, tsr_chunk_split(&task, flight, round));
    *has_worked = *has_worked || status == TSR_OK;
    task.x->forgives = task.spares && !*has_worked;
    if (status == TSR_OK) status = tsr_chunk_work(&task, flight);
    if (status == TSR_OK && has_answers && round >= behind)
      status = tsr_chunk_bring_back(&task, (uint32_t)((round - behind) % flights));
  }
  for (uint64_t round = task.rounds < behind ? 0 : task.rounds - behind; has_answers && round < task.rounds; round++)
    if (status == TSR_OK) status = tsr_chunk_bring_back(&task, (uint32_t)(round % flights));
  if (task.rows) status = end(&task, status);
  task.x->forgives = false;
  tsr_task_free(&task);
  return status;
}

/* Where a member has no memory for its part of a batch at once, all give back their buffers, and the batch goes in small
 * chunks; later ones as large do at once. No item was inserted until then. In a group the others know by the numbers that they
 * exchange in any case. If it was broken, the second try says so. */
static tsr_status run(tsr_table *t, const tsr_request *parts, bool stays, tsr_error *error) {
  tsr_shards *s = t->shards;
  uint64_t most = 1;
  for (uint32_t i = 0; i < s->transport.here; i++) most = parts[i].n > most ? parts[i].n : most;
  const bool is_sparing = s->lacked && most >= s->lacked;
  bool has_worked;
  tsr_status status = run_chunks(t, parts, stays, is_sparing, &has_worked, error);
  if (status != TSR_NO_MEMORY || has_worked) return status;
  s->lacked = most;
  status = tsr_reach_drop(s, error);
  return status ? status : run_chunks(t, parts, stays, true, &has_worked, error);
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
  tsr_task task = tsr_task_of(t, keys_only, false, error);
  task.answers[TSR_COUNTS].bytes = 0; /* the caller's are read here */
  const size_t members = task.x->members;
  uint64_t *sizes = calloc(2 * members * members, sizeof *sizes);
  tsr_status status = sizes ? begin(&task) : tsr_fail(error, TSR_NO_MEMORY, "no memory for the sizes of an exchange");
  const bool any_wanted = task.answers[TSR_FOUND_VALUES].bytes != 0; /* in some process */
  for (uint64_t round = 0; status == TSR_OK && any_wanted && round < task.rounds; round++) {
    const uint32_t flight = (uint32_t)(round % TSR_FLIGHTS);
    status = tsr_chunk_split(&task, flight, round);
    status = tsr_chunk_retrieve(&task, flight, status, sizes, sizes + members * members);
  }
  if (task.rows) status = end(&task, status);
  tsr_task_free(&task);
  free(sizes);
  return status;
}

/* counts[i] becomes where the values of item i begin. */
static tsr_status sum_up(const tsr_table *t, const tsr_request *r, tsr_error *error) {
  tsr_array offsets = {.callers = r->counts,
                       .bytes = (r->n + 1) * sizeof *r->counts,
                       .word = sizeof *r->counts,
                       .use = TSR_ARRAY_PARTLY_WRITTEN};
  tsr_status status = tsr_stage_in(t, &offsets, 1, NULL, error);
  if (status == TSR_OK) status = tsr_prefix_sum(t->device, offsets.devices, r->n, NULL, error);
  status = tsr_stage_out(t, &offsets, 1, NULL, status, error);
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

/* Items first .. first + n. The offsets of find_all point into one array of values, which all parts therefore share. */
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
    const uint32_t part = (i + s->next) % here; /* so that small batches do not all go to one member */
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

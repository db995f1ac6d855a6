/* SPDX-License-Identifier: Apache-2.0
 *
 * Scores of an index, and who goes by them (eviction.h).
 */
#include "core/table/eviction.h"

#include "core/batch/sum.h"
#include "core/table/order.h"
#include "core/table/values.h"

static uint64_t capacity_of(const tsr_table *t) { return t->store.composition->shape.capacity; }
static uint32_t key_bytes_of(const tsr_table *t) { return t->store.composition->shape.key_bits / 8; }

bool tsr_eviction_may_be_due(const tsr_table *t, uint64_t n) {
  return t->numbering.used_at_most > capacity_of(t) || n > capacity_of(t) - t->numbering.used_at_most;
}

/* ---- Memory of a call ------------------------------------------------------------------------ */

tsr_status tsr_eviction_begin(tsr_table *t, uint64_t part, void *stream, tsr_eviction *e, tsr_error *error) {
  const uint64_t room = t->numbering.room, place_bytes = (room + 1) * sizeof *e->places;
  *e = (tsr_eviction){.t = t, .stream = stream, .met_room = 2};
  t->numbering.evicted = 0;
  while (e->met_room <= 2 * part) e->met_room *= 2;
  void *memory;
  tsr_status status =
      t->backend->allocate_in(t->device, place_bytes + e->met_room * sizeof *e->met + room, stream, &memory, error);
  if (status) return status;
  e->places = memory;
  e->met = (uint32_t *)((char *)memory + place_bytes);
  e->marks = (uint8_t *)(e->met + e->met_room);
  return t->backend->fill(t->device, e->marks, TSR_NUMBER_MAY_GO, room, stream, error);
}

tsr_status tsr_eviction_end(tsr_eviction *e, tsr_error *error) {
  return e->places ? e->t->backend->free_in(e->t->device, e->places, e->stream, error) : (tsr_status)TSR_OK;
}

/* Of the call's list. A number is given up at most once in a call. */
static tsr_status make_list(tsr_table *t, tsr_error *error) {
  const uint64_t room = t->numbering.room;
  void *memory = NULL;
  if (t->numbering.evicted_keys && t->numbering.evicted_room >= room) return TSR_OK;
  tsr_status status = t->backend->allocate(t->device, room * (key_bytes_of(t) + sizeof(uint32_t)), &memory, error);
  if (status == TSR_OK && t->numbering.evicted_keys) status = tsr_table_wait(t, error);
  if (status) {
    if (memory) t->backend->free(t->device, memory);
    return status;
  }
  if (t->numbering.evicted_keys) t->backend->free(t->device, t->numbering.evicted_keys);
  t->numbering.evicted_keys = memory;
  t->numbering.evicted_numbers = (uint32_t *)((char *)memory + room * key_bytes_of(t));
  t->numbering.evicted_room = room;
  return TSR_OK;
}

/* ---- Who goes -------------------------------------------------------------------------------- */

/* Runs a step that ranks, and sums the ranks; *sum: of all. */
static tsr_status rank(const tsr_eviction *e, uint32_t which, const tsr_numbering_run *run, uint64_t *sum,
                       tsr_error *error) {
  const tsr_table *t = e->t;
  tsr_status status = tsr_numbering_step(t, which, run, e->stream, error);
  if (status == TSR_OK) status = tsr_prefix_sum(t->device, run->ranks, run->n, e->stream, error);
  if (status == TSR_OK) status = t->backend->copy(t->device, sum, run->ranks + run->n, sizeof *sum, e->stream, error);
  return status ? status : t->backend->synchronize(t->device, e->stream, error);
}

static tsr_numbering_run all_numbers(const tsr_eviction *e) {
  return (tsr_numbering_run){.n = e->t->numbering.room, .ranks = e->places, .marks = e->marks};
}

/* The numbers of the batch's keys stay. *fresh: how many distinct keys have none. */
static tsr_status meet(const tsr_eviction *e, const tsr_numbering_run *items, uint64_t *fresh, tsr_error *error) {
  const tsr_table *t = e->t;
  tsr_numbering_run run = *items;
  run.marks = e->marks;
  run.room = t->numbering.room;
  run.first = e->met;
  run.key_bytes = key_bytes_of(t);
  tsr_status status = t->backend->fill(t->device, e->met, 0xFF, e->met_room * sizeof *e->met, e->stream, error);
  if (status == TSR_OK) status = tsr_numbering_step(t, TSR_NUMBERING_pin, &run, e->stream, error);
  run.room = e->met_room;
  return status ? status : rank(e, TSR_NUMBERING_meet, &run, fresh, error);
}

/* Halves until exactly `count` numbers are chosen: those below a score, and the first ones with it. */
static tsr_status choose(const tsr_eviction *e, uint64_t count, tsr_error *error) {
  tsr_numbering_run run = all_numbers(e);
  uint64_t low = 0, below = 0, high = e->t->numbering.clock, sum = 0;
  tsr_status status = TSR_OK;
  while (status == TSR_OK && high - low > 1) {
    run.limit = low + (high - low) / 2;
    status = rank(e, TSR_NUMBERING_below, &run, &sum, error);
    if (sum < count) {
      low = run.limit;
      below = sum;
    } else {
      high = run.limit;
    }
  }
  run.limit = high;
  run.from = count - below;
  if (status == TSR_OK) status = rank(e, TSR_NUMBERING_level, &run, &sum, error);
  return status ? status : tsr_numbering_step(e->t, TSR_NUMBERING_choose, &run, e->stream, error);
}

/* The keys of the chosen numbers go to the end of the list. */
static tsr_status hand_out(const tsr_eviction *e, uint64_t count, tsr_error *error) {
  tsr_table *t = e->t;
  tsr_held held = {.pairs = 0};
  tsr_numbering_run run = all_numbers(e);
  uint64_t sum = 0;
  run.wanted = TSR_NUMBER_GOES;
  tsr_status status = rank(e, TSR_NUMBERING_marked, &run, &sum, error);
  if (status == TSR_OK && sum != count)
    status = tsr_fail(error, TSR_IO, "%llu keys had to be given up, and %llu were found: the index is damaged",
                      (unsigned long long)count, (unsigned long long)sum);
  if (status == TSR_OK) status = tsr_take_held(t, &held, e->stream, error);
  run.n = held.pairs;
  run.numbers = held.numbers;
  run.keys = held.keys;
  run.key_bytes = key_bytes_of(t);
  run.room = t->numbering.room;
  run.keys_out = (char *)t->numbering.evicted_keys + t->numbering.evicted * key_bytes_of(t);
  run.first = t->numbering.evicted_numbers + t->numbering.evicted;
  if (status == TSR_OK) status = tsr_numbering_step(t, TSR_NUMBERING_hand_out, &run, e->stream, error);
  const tsr_status freed = held.numbers ? t->backend->free_in(t->device, held.numbers, e->stream, status ? NULL : error)
                                        : (tsr_status)TSR_OK;
  return status ? status : freed;
}

/* How many keys of the table must go for `fresh` new ones. */
static tsr_status count_due(const tsr_eviction *e, uint64_t fresh, uint64_t *count, tsr_error *error) {
  tsr_table *t = e->t;
  const uint64_t capacity = capacity_of(t);
  tsr_free_numbers numbers;
  uint64_t pinned = 0;
  tsr_status status = tsr_read_free_numbers(t, &numbers, e->stream, error);
  if (status) return status;
  const uint64_t used = numbers.given - numbers.spares;
  t->numbering.used_at_most = used;
  *count = used + fresh > capacity ? used + fresh - capacity : 0;
  if (!*count) return TSR_OK;
  tsr_numbering_run run = all_numbers(e);
  run.wanted = TSR_NUMBER_STAYS;
  status = rank(e, TSR_NUMBERING_marked, &run, &pinned, error);
  if (status || pinned + fresh <= capacity) return status;
  return tsr_fail(
      error, TSR_UNSUPPORTED,
      "the call has %llu distinct keys, and an index that evicts holds capacity = %llu: pass fewer keys at a "
      "time, or raise capacity",
      (unsigned long long)(pinned + fresh), (unsigned long long)capacity);
}

tsr_status tsr_eviction_choose(const tsr_eviction *e, const tsr_numbering_run *items, uint64_t *count,
                               tsr_error *error) {
  tsr_table *t = e->t;
  uint64_t fresh = 0;
  *count = 0;
  tsr_status status = tsr_table_enter(t, TSR_PHASE_ALONE, e->stream, error);
  if (status) return status;
  status = meet(e, items, &fresh, error);
  if (status == TSR_OK) status = count_due(e, fresh, count, error);
  if (status == TSR_OK && *count) status = make_list(t, error);
  if (status == TSR_OK && *count) status = choose(e, *count, error);
  if (status == TSR_OK && *count) status = hand_out(e, *count, error);
  const tsr_status left = tsr_table_leave(t, e->stream, status ? NULL : error);
  if (status == TSR_OK) status = left;
  if (status) return status;
  t->numbering.evicted += *count;
  t->done.evicted += *count;
  return TSR_OK;
}

/* ---- Uses ------------------------------------------------------------------------------------ */

/* n uses more. Scores of both policies are at most the clock. */
static void advance(tsr_table *t, tsr_numbering_run *run) {
  run->adds_uses = t->store.composition->settings.numbers.scores == TSR_SCORES_USES;
  t->numbering.clock += run->adds_uses ? run->n : 1;
  run->limit = t->numbering.clock;
}

tsr_status tsr_eviction_use(const tsr_eviction *e, const tsr_numbering_run *items, tsr_error *error) {
  tsr_numbering_run run = *items;
  run.marks = e->marks;
  run.room = e->t->numbering.room;
  advance(e->t, &run);
  return tsr_numbering_step(e->t, TSR_NUMBERING_use, &run, e->stream, error);
}

tsr_status tsr_eviction_touch(tsr_table *t, uint64_t n, uint32_t *numbers, void *stream, tsr_error *error) {
  tsr_numbering_run run = {.n = n, .numbers = numbers, .room = t->numbering.room};
  tsr_status status = tsr_table_enter(t, TSR_PHASE_ALONE, stream, error);
  if (status) return status;
  advance(t, &run);
  status = tsr_numbering_step(t, TSR_NUMBERING_touch, &run, stream, error);
  const tsr_status left = tsr_table_leave(t, stream, status ? NULL : error);
  return status ? status : left;
}

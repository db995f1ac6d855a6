/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of value_bytes (wide.h). Read next: operate.c.
 */
#include "core/table/wide.h"

#include "core/kernels/cache.h"
#include "core/table/cache.h"
#include "core/table/launch.h"
#include "core/table/order.h"
#include "core/table/stage.h"

/* ---- Steps ----------------------------------------------------------------------------------- */

static tsr_status step(const tsr_table *t, uint32_t which, const tsr_wide_run *run, void *stream, tsr_error *error) {
  tsr_wide_run whole = *run;
  whole.rows = t->wide.rows;
  whole.row_count = t->wide.count;
  whole.row_bytes = (uint32_t)t->store.composition->settings.value_bytes;
  whole.word_bytes = tsr_wide_word(whole.row_bytes, NULL, run->values);
  return t->backend->step(t->device, NULL, &tsr_wide_steps.step[which], &whole, run->n, stream, error);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static void free_rows(tsr_table *t) {
  if (t->wide.rows) t->backend->free(t->device, t->wide.rows);
  if (t->wide.spare) t->backend->free(t->device, t->wide.spare);
  if (t->wide.bits) t->backend->free(t->device, t->wide.bits);
  if (t->wide.length) t->backend->free(t->device, t->wide.length);
  t->wide = (tsr_wide){.count = 0};
}

/* The former rows and numbers into longer arrays. The new rows are listed when the list is made anew. */
static tsr_status lengthen(const tsr_table *t, const tsr_wide *old, const tsr_wide *new, tsr_error *error) {
  const uint64_t bytes = t->store.composition->settings.value_bytes, more = new->count - old->count;
  tsr_status status = TSR_OK;
  if (old->count) status = t->backend->copy(t->device, new->rows, old->rows, old->count * bytes, NULL, error);
  if (status == TSR_OK && old->spares)
    status = t->backend->copy(t->device, new->spare, old->spare, old->spares * sizeof *new->spare, NULL, error);
  if (status == TSR_OK) /* a file of the table holds all of them */
    status = t->backend->fill(t->device, (char *)new->rows + old->count *bytes, 0, more * bytes, NULL, error);
  return status ? status : t->backend->synchronize(t->device, NULL, error);
}

tsr_status tsr_wide_reserve(tsr_table *t, uint64_t count, tsr_error *error) {
  const uint64_t least = tsr_composition_rows(t->store.composition);
  const uint64_t bytes = t->store.composition->settings.value_bytes;
  tsr_wide made = t->wide;
  void *numbers = NULL;
  made.rows = NULL;
  made.count = count > least ? count : least;
  if (t->wide.count >= made.count) return TSR_OK;
  tsr_error why = {TSR_OK, ""};
  tsr_status status = t->backend->allocate(t->device, made.count * bytes, &made.rows, &why);
  if (status)
    return tsr_fail(error, status, "%llu rows of %llu bytes: %s", (unsigned long long)made.count,
                    (unsigned long long)bytes, why.message);
  status = t->backend->allocate(t->device, made.count * sizeof *made.spare, &numbers, error);
  made.spare = numbers;
  if (status == TSR_OK && !made.length && tsr_is_cache(t))
    status = t->backend->allocate(t->device, sizeof *made.length, (void **)&made.length, error);
  if (status == TSR_OK) status = tsr_table_wait(t, error);
  if (status == TSR_OK) status = lengthen(t, &t->wide, &made, error);
  if (status) {
    t->backend->free(t->device, made.rows);
    if (numbers) t->backend->free(t->device, numbers);
    if (made.length && !t->wide.length) t->backend->free(t->device, made.length);
    return status;
  }
  t->wide.bits = NULL; /* they are handed over, and are of fewer rows than there are */
  t->wide.length = NULL;
  free_rows(t);
  t->wide = made;
  return TSR_OK;
}

/* The list has `listed` rows. */
static tsr_status begin_list(tsr_table *t, uint64_t listed, void *stream, tsr_error *error) {
  t->wide.spares = listed;
  t->wide.used = 0;
  t->wide.has_erased = t->wide.is_in_bits = false;
  if (!t->wide.length) return TSR_OK;
  return step(t, TSR_WIDE_measure, &(tsr_wide_run){.n = 1, .count = t->wide.length, .taken = listed}, stream, error);
}

static tsr_status clear(tsr_table *t, void *stream, tsr_error *error) {
  const tsr_wide_run run = {.n = t->wide.count, .numbers = t->wide.spare};
  const tsr_status status = step(t, TSR_WIDE_list, &run, stream, error);
  return status ? status : begin_list(t, t->wide.count, stream, error);
}

static tsr_status list_spare(tsr_table *t, uint64_t pairs, void *numbers, uint8_t *marks, uint64_t *count, void *stream,
                             tsr_error *error) {
  tsr_status status = t->backend->fill(t->device, marks, 0, t->wide.count, stream, error);
  if (status == TSR_OK) status = t->backend->fill(t->device, count, 0, sizeof *count, stream, error);
  if (status == TSR_OK)
    status = step(t, TSR_WIDE_mark, &(tsr_wide_run){.n = pairs, .numbers = numbers, .marks = marks}, stream, error);
  if (status) return status;
  t->wide.used = t->wide.spares = 0;
  status = step(t, TSR_WIDE_spare,
                &(tsr_wide_run){.n = t->wide.count, .numbers = t->wide.spare, .marks = marks, .count = count}, stream,
                error);
  uint64_t listed = 0;
  if (status == TSR_OK) status = t->backend->copy(t->device, &listed, count, sizeof listed, stream, error);
  if (status == TSR_OK) status = t->backend->synchronize(t->device, stream, error);
  if (status) return status;
  if (listed + pairs != t->wide.count)
    return tsr_fail(error, TSR_IO, "%llu of %llu rows belong to no pair, and the table has %llu pairs: it is damaged",
                    (unsigned long long)listed, (unsigned long long)t->wide.count, (unsigned long long)pairs);
  return begin_list(t, listed, stream, error);
}

tsr_status tsr_wide_collect(tsr_table *t, void *stream, tsr_error *error) {
  tsr_held held = {.pairs = 0};
  void *scratch = NULL;
  tsr_status status = tsr_table_enter(t, TSR_PHASE_ALONE, stream, error);
  if (status) return status;
  status = tsr_take_held(t, &held, stream, error);
  if (status == TSR_OK)
    status = t->backend->allocate_in(t->device, sizeof(uint64_t) + t->wide.count, stream, &scratch, error);
  if (status == TSR_OK)
    status = list_spare(t, held.pairs, held.numbers, (uint8_t *)scratch + sizeof(uint64_t), scratch, stream, error);
  void *both[] = {held.numbers, scratch};
  for (uint32_t i = 0; i < 2; i++) {
    const tsr_status freed =
        both[i] ? t->backend->free_in(t->device, both[i], stream, status ? NULL : error) : (tsr_status)TSR_OK;
    if (status == TSR_OK) status = freed;
  }
  const tsr_status left = tsr_table_leave(t, stream, status ? NULL : error);
  return status ? status : left;
}

/* ---- Bits ------------------------------------------------------------------------------------ */

static uint64_t bit_bytes(const tsr_table *t) { return (t->wide.bit_rows + 31) / 32 * sizeof *t->wide.bits; }

static tsr_status make_bits(tsr_table *t, tsr_error *error) {
  void *bits = NULL;
  if (t->wide.bits && t->wide.bit_rows == t->wide.count) return TSR_OK;
  tsr_status status = tsr_table_wait(t, error);
  if (status) return status;
  if (t->wide.bits) t->backend->free(t->device, t->wide.bits);
  t->wide.bits = NULL;
  t->wide.bit_rows = t->wide.count;
  status = t->backend->allocate(t->device, 2 * bit_bytes(t), &bits, error);
  t->wide.bits = bits;
  return status;
}

/* From the list; all of it is spare. */
static tsr_status fill_bits(tsr_table *t, void *stream, tsr_error *error) {
  const tsr_wide_run run = {.n = t->wide.spares, .numbers = t->wide.spare, .bits = t->wide.bits};
  const uint64_t bytes = bit_bytes(t);
  tsr_status status = tsr_table_enter(t, TSR_PHASE_ALONE, stream, error);
  if (status == TSR_OK) status = t->backend->fill(t->device, t->wide.bits, 0xFF, bytes, stream, error);
  if (status == TSR_OK) status = t->backend->fill(t->device, (char *)t->wide.bits + bytes, 0, bytes, stream, error);
  if (status == TSR_OK) status = step(t, TSR_WIDE_release, &run, stream, error);
  t->wide.spares = 0;
  t->wide.is_in_bits = status == TSR_OK;
  const tsr_status left = tsr_table_leave(t, stream, status ? NULL : error);
  return status ? status : left;
}

/* From now on bits say which rows are spare, until a bulk call lists them again. An erase in a graph may have run without
 * the host's knowing. */
static tsr_status open_bits(tsr_table *t, void *stream, tsr_error *error) {
  tsr_wide *w = &t->wide;
  tsr_status status = tsr_wide_reserve(t, 0, error);
  const bool has_erased = w->has_erased || t->store.in_graph;
  if (status || (w->is_in_bits && !has_erased && w->bit_rows == w->count)) return status;
  if (w->is_in_bits || has_erased || w->used || !w->spares) status = tsr_wide_collect(t, stream, error);
  if (status == TSR_OK) status = make_bits(t, error);
  return status ? status : fill_bits(t, stream, error);
}

/* ---- Requests -------------------------------------------------------------------------------- */

/* A request whose arrays are all in device memory, and what it needs besides, n items each; NULL: not needed. */
typedef struct wide {
  tsr_table *t;
  tsr_request asked;
  tsr_operation *narrow;
  uint8_t *codes;
  uint32_t *numbers; /* found, or those of pairs that came back; of a cache all that are in no pair afterwards */
  uint32_t *offered; /* of a cache */
  uint32_t *met;     /* of a cache: those of the keys, as its find_or_insert says them */
} wide;

#define IS_BACK ((uint64_t)1 << TSR_NOT_PLACED | (uint64_t)1 << TSR_EVICTED)
#define IS_OFFERED (~((uint64_t)1 << TSR_PRESENT | (uint64_t)1 << TSR_FOUND)) /* whose number may be in the table */

/* The find of `count` keys' rows. */
static tsr_status find_numbers(const wide *w, uint64_t from, uint64_t count, uint32_t *numbers, tsr_tally *tally,
                               tsr_error *error) {
  const uint64_t key_bytes = w->t->store.composition->shape.key_bits / 8;
  return w->narrow(w->t,
                   &(tsr_request){.op = TSR_BULK_find,
                                  .phase = TSR_PHASE_FIND,
                                  .n = count,
                                  .keys = (const char *)w->asked.keys + from * key_bytes,
                                  .values_out = numbers,
                                  .missing = TSR_WIDE_NONE,
                                  .is_reached = true,
                                  .call = w->asked.call,
                                  .tally = tally},
                   error);
}

static bool replaces(const tsr_table *t, uint32_t op) {
  return t->store.composition->settings.policy.replaces_rows && op == TSR_BULK_insert;
}

/* Before the insert, so that a pair that the insert hands back has its new value. The items whose keys are present
 * get their rows' numbers. One item of each row keeps it, and writes its value there: so a row is never made of two
 * values. */
static tsr_status replace_rows(const wide *w, uint64_t from, const tsr_wide_run *items, tsr_error *error) {
  tsr_table *t = w->t;
  const tsr_wide_run run = {.n = items->n, .numbers = w->numbers, .values = items->values};
  tsr_status status = find_numbers(w, from, items->n, w->numbers, t->tallies + TSR_TALLY_UNREAD, error);
  if (status == TSR_OK) status = tsr_table_enter(t, TSR_PHASE_COMBINE, w->asked.call.stream, error);
  if (status == TSR_OK) status = step(t, TSR_WIDE_claim, &run, w->asked.call.stream, error);
  if (status == TSR_OK) status = step(t, TSR_WIDE_judge, &run, w->asked.call.stream, error);
  if (status == TSR_OK) status = step(t, TSR_WIDE_put, &run, w->asked.call.stream, error);
  return status ? status : tsr_table_leave(t, w->asked.call.stream, error);
}

/* The rows of the pairs that came back, perhaps others', and those of the keys that a cache has met. */
static tsr_status read_rows(const wide *w, uint64_t from, const tsr_wide_run *items, const tsr_request *part,
                            tsr_error *error) {
  const uint64_t value_bytes = w->t->store.composition->settings.value_bytes;
  tsr_wide_run back = *items, met = {.n = items->n, .numbers = part->values_out, .missing = w->asked.missing};
  tsr_status status = TSR_OK;
  back.numbers = part->unplaced_values;
  back.wanted = IS_BACK;
  if (w->asked.unplaced_values) {
    back.values = (char *)w->asked.unplaced_values + from * value_bytes;
    status = step(w->t, TSR_WIDE_get, &back, part->call.stream, error);
  }
  if (status || !met.numbers) return status;
  met.values = (char *)w->asked.values_out + from * value_bytes;
  return step(w->t, TSR_WIDE_get, &met, part->call.stream, error);
}

/* A part of a request. A cache says the numbers of the keys that it has met. */
static tsr_request part_of(const wide *w, uint64_t from, uint64_t count) {
  const tsr_table *t = w->t;
  const uint64_t key_bytes = t->store.composition->shape.key_bits / 8;
  tsr_request part = w->asked;
  part.n = count;
  part.keys = (const char *)w->asked.keys + from * key_bytes;
  part.values = w->offered ? w->offered : t->wide.spare + t->wide.used;
  part.results = w->codes + from;
  part.values_out = w->met;
  part.missing = TSR_WIDE_NONE;
  if (part.use.scores) part.use.scores += from;
  part.unplaced_keys = w->asked.unplaced_keys ? (char *)w->asked.unplaced_keys + from * key_bytes : NULL;
  part.unplaced_values = w->asked.unplaced_values || w->offered ? w->numbers : NULL;
  return part;
}

/* The items of a cache get the last rows of the list. */
static tsr_status offer(const wide *w, uint64_t count, tsr_error *error) {
  tsr_table *t = w->t;
  void *const stream = w->asked.call.stream;
  const tsr_wide_run run = {
      .n = count, .numbers = w->offered, .listed = t->wide.spare, .count = t->wide.length, .taken = count};
  tsr_wide_run taking = run;
  taking.n = 1;
  tsr_status status = tsr_table_enter(t, TSR_PHASE_ALONE, stream, error);
  if (status == TSR_OK) status = step(t, TSR_WIDE_offer, &run, stream, error);
  if (status == TSR_OK) status = step(t, TSR_WIDE_take, &taking, stream, error);
  return status ? status : tsr_table_leave(t, stream, error);
}

/* How many rows a cache's list has at the least: of those that are in no pair none is lost, unless pairs were erased. */
static uint64_t least_of(const tsr_table *t) {
  const uint64_t slots = tsr_composition_refs(t->store.composition) * t->store.composition->shape.bucket_slots;
  return t->wide.length && !t->wide.has_erased ? t->wide.count - slots : 0;
}

/* The rows of a cache that are in no pair now. Of those that were taken all come back but for pairs that took a vacant slot. So
 * the list is as long as the host knows, less `count`, and no shorter than with all slots taken. */
static tsr_status take_back(const wide *w, uint64_t count, tsr_error *error) {
  tsr_table *t = w->t;
  const uint64_t least = least_of(t), rest = t->wide.spares - count;
  t->wide.spares = rest > least ? rest : least;
  return step(t, TSR_WIDE_back,
              &(tsr_wide_run){.n = count, .numbers = w->numbers, .listed = t->wide.spare, .count = t->wide.length},
              w->asked.call.stream, error);
}

/* A call that failed has not given them back. */
static void lose_rows(tsr_table *t) {
  t->wide.has_erased = true;
  t->wide.spares = t->wide.used = 0;
}

/* Inserts `count` items, for which there are spare rows. A key that was present keeps its row, unless a cache replaces its
 * number. Rows are read once all are written. They are written too where the insert failed, since some of the pairs may be
 * in the table. */
static tsr_status insert_part(const wide *w, uint64_t from, uint64_t count, tsr_error *error) {
  tsr_table *t = w->t;
  const uint64_t value_bytes = t->store.composition->settings.value_bytes;
  const tsr_request part = part_of(w, from, count);
  tsr_wide_run run = {.n = count,
                      .numbers = (uint32_t *)(uintptr_t)part.values,
                      .codes = part.results,
                      .wanted = IS_OFFERED,
                      .values = (char *)(uintptr_t)w->asked.values + from * value_bytes};
  const bool is_replacing = replaces(t, part.op);
  if (!w->offered) t->wide.used += count;
  tsr_status status = w->offered ? offer(w, count, error) : (tsr_status)TSR_OK;
  if (status == TSR_OK && is_replacing) status = replace_rows(w, from, &run, error);
  if (status && w->offered) lose_rows(t);
  if (status) return status;
  const tsr_status inserted = w->narrow(t, &part, error);
  if (inserted) error = NULL;
  status = tsr_table_enter(t, TSR_PHASE_COMBINE, part.call.stream, error);
  if (status == TSR_OK) status = step(t, TSR_WIDE_put, &run, part.call.stream, error);
  if (status == TSR_OK && !inserted) status = read_rows(w, from, &run, &part, error);
  if (status == TSR_OK && is_replacing) status = step(t, TSR_WIDE_tell, &run, part.call.stream, error);
  if (status == TSR_OK && w->offered && !inserted) status = take_back(w, count, error);
  if (status == TSR_OK) status = tsr_table_leave(t, part.call.stream, error);
  if (w->offered && (inserted || status)) lose_rows(t);
  return inserted ? inserted : status;
}

/* Fewer than `count` rows are spare, and a new list may have more. */
static bool is_short(const tsr_table *t, uint64_t count) {
  const uint64_t rest = t->wide.spares - t->wide.used, least = least_of(t);
  return rest < count && (!least || rest < least);
}

/* In parts, where there are fewer spare rows than items; a new list has an eighth of all slots at least. */
static tsr_status insert(const wide *w, tsr_error *error) {
  tsr_table *t = w->t;
  tsr_status status = TSR_OK;
  for (uint64_t from = 0, count; status == TSR_OK && from < w->asked.n; from += count) {
    const uint64_t rest = w->asked.n - from;
    count = 0;
    status = tsr_wide_reserve(t, 0, error);
    if (status == TSR_OK && is_short(t, rest)) status = tsr_wide_collect(t, w->asked.call.stream, error);
    if (status) return status;
    count = t->wide.spares - t->wide.used < rest ? t->wide.spares - t->wide.used : rest;
    status = insert_part(w, from, count, error);
  }
  return status;
}

/* The rows of `count` numbers; end: NULL, or how many of them there are, in device memory. */
static tsr_status get(const wide *w, uint64_t count, const uint64_t *end, tsr_error *error) {
  tsr_table *t = w->t;
  const tsr_wide_run run = {
      .n = count, .numbers = w->numbers, .end = end, .values = w->asked.values_out, .missing = w->asked.missing};
  tsr_status status = tsr_table_enter(t, TSR_PHASE_FIND, w->asked.call.stream, error);
  if (status == TSR_OK) status = step(t, TSR_WIDE_get, &run, w->asked.call.stream, error);
  return status ? status : tsr_table_leave(t, w->asked.call.stream, error);
}

static tsr_status find(const wide *w, tsr_error *error) {
  const bool gathers = w->asked.op == TSR_BULK_retrieve;
  tsr_request request = w->asked;
  request.values_out = w->numbers;
  request.missing = TSR_WIDE_NONE;
  tsr_status status = w->narrow(w->t, &request, error);
  if (status || !w->numbers) return status;
  return get(w, gathers ? request.room : request.n, gathers ? request.counts + request.n : NULL, error);
}

static tsr_status find_or_insert(const wide *w, tsr_error *error) {
  tsr_status status = insert(w, error);
  if (status || !w->asked.values_out || w->met) return status;
  status = find_numbers(w, 0, w->asked.n, w->numbers, w->t->tallies + TSR_TALLY_UNREAD, error);
  return status ? status : get(w, w->asked.n, NULL, error);
}

static tsr_status work(const wide *w, tsr_error *error) {
  switch (w->asked.op) {
  case TSR_BULK_insert:
    return insert(w, error);
  case TSR_BULK_find_or_insert:
    return find_or_insert(w, error);
  default:
    return find(w, error);
  }
}

/* What an operation needs besides its arrays: codes of inserts, and numbers. Both are the stream's. */
static tsr_status work_with_scratch(wide *w, tsr_error *error) {
  const tsr_table *t = w->t;
  const tsr_request *r = &w->asked;
  const bool inserts = r->op == TSR_BULK_insert || r->op == TSR_BULK_find_or_insert;
  const bool needs_numbers = r->values_out || r->unplaced_values || replaces(t, r->op);
  const uint64_t items = r->op == TSR_BULK_retrieve ? r->room : r->n, number_bytes = items * sizeof *w->numbers;
  const bool gives_back = tsr_is_cache(t) && inserts,
             meets = gives_back && r->op == TSR_BULK_find_or_insert && r->values_out;
  void *scratch = NULL;
  const uint64_t numbers = (gives_back ? 2 + meets : needs_numbers) * number_bytes;
  const uint64_t bytes = numbers + (inserts && !r->results ? r->n : 0);
  tsr_status status = TSR_OK;
  if (bytes) status = t->backend->allocate_in(t->device, bytes, r->call.stream, &scratch, error);
  if (status) return status;
  w->numbers = needs_numbers || gives_back ? scratch : NULL;
  w->offered = gives_back ? (uint32_t *)scratch + items : NULL;
  w->met = meets ? w->offered + items : NULL;
  w->codes = r->results ? r->results : (uint8_t *)scratch + numbers;
  status = work(w, error);
  const tsr_status freed =
      scratch ? t->backend->free_in(t->device, scratch, r->call.stream, status ? NULL : error) : (tsr_status)TSR_OK;
  return status ? status : freed;
}

static tsr_status operate(tsr_table *t, const tsr_request *r, tsr_operation *narrow, tsr_error *error) {
  const bool inserts = r->values != NULL;
  if (r->op == TSR_BULK_erase_pair && r->values)
    return tsr_compatible_refuse(TSR_HAS_CALL_ERASE_VALUES, TSR_HAS_VALUE_BYTES, "tsr_erase_pairs", error);
  if (!inserts && !r->values_out) return narrow(t, r, error); /* which asks for no value */
  wide w = {.t = t, .asked = *r, .narrow = narrow};
  const tsr_status status = work_with_scratch(&w, error);
  if (status == TSR_OK) return status;
  const tsr_status waited = t->backend->synchronize(t->device, r->call.stream, NULL);
  (void)waited; /* the first failure is what the caller hears of */
  return status;
}

static tsr_status read(tsr_table *t, uint64_t size, void *numbers, void *values, uint64_t missing, tsr_error *error) {
  const uint64_t row_bytes = t->store.composition->settings.value_bytes;
  tsr_array array = {
      .callers = values, .bytes = size * row_bytes, .word = tsr_value_word(row_bytes), .use = TSR_ARRAY_WRITTEN};
  tsr_status status = tsr_stage_in(t, &array, 1, NULL, error);
  wide w = {.t = t, .numbers = numbers, .asked = {.values_out = array.devices, .missing = missing}};
  if (status == TSR_OK) status = get(&w, size, NULL, error);
  status = tsr_stage_out(t, &array, 1, NULL, status, error);
  const tsr_status waited = t->backend->synchronize(t->device, NULL, status ? NULL : error);
  return status ? status : waited;
}

/* ---- Items of any array ---------------------------------------------------------------------- */

static tsr_status step_apart(const tsr_table *t, uint32_t which, const tsr_wide_run *run, void *stream,
                             tsr_error *error) {
  return t->backend->step(t->device, NULL, &tsr_wide_steps.step[which], run, run->n, stream, error);
}

tsr_status tsr_pick_list(const tsr_table *t, const tsr_picked *items, void *stream, tsr_error *error) {
  static const uint32_t handed_back[] = {TSR_EVICTED, TSR_NOT_PLACED};
  const tsr_wide_run spare = {.n = items->n, .marks = items->marks, .numbers = items->list, .count = items->count};
  tsr_status status = t->backend->fill(t->device, items->count, 0, sizeof *items->count, stream, error);
  for (uint32_t i = 0; status == TSR_OK && i < 2; i++) {
    const tsr_wide_run recode = {.n = items->n, .codes = items->marks, .wanted = handed_back[i]}; /* becomes 0 */
    status = step_apart(t, TSR_WIDE_recode, &recode, stream, error);
  }
  return status ? status : step_apart(t, TSR_WIDE_spare, &spare, stream, error);
}

tsr_status tsr_pick_items(const tsr_table *t, uint64_t count, uint32_t *list, void *array, uint32_t bytes, void *to,
                          void *stream, tsr_error *error) {
  const tsr_wide_run run = {.n = count,
                            .row_count = TSR_WIDE_NONE,
                            .row_bytes = bytes,
                            .word_bytes = tsr_wide_word(bytes, array, to),
                            .rows = array,
                            .numbers = list,
                            .values = to};
  return step_apart(t, TSR_WIDE_get, &run, stream, error);
}

/* ---- As values of a table -------------------------------------------------------------------- */

static void note_erased(tsr_table *t) { t->wide.has_erased = true; }

/* A replica is never inserted into, so that it needs no list of spare rows. */
static tsr_status copy(tsr_table *to, const tsr_table *from, tsr_error *error) {
  const uint64_t bytes = from->wide.count * from->store.composition->settings.value_bytes;
  const tsr_status status = tsr_wide_reserve(to, from->wide.count, error);
  to->wide.spares = to->wide.used = 0;
  return status ? status
                : to->backend->copy_from(to->device, to->wide.rows, from->device, from->wide.rows, bytes, NULL, error);
}

static void view(const tsr_table *t, tsr_user_table *seen) {
  const uint64_t words = (t->wide.bit_rows + 31) / 32;
  uint32_t *bits = t->wide.bits;
  seen->rows = (tsr_user_rows){t->wide.rows, bits, bits ? bits + words : NULL, words};
}

static void describe(const tsr_composition *c, FILE *out) {
  fprintf(out, "  %-18s %llu bytes, %llu of %llu bytes and their numbers\n", "rows",
          (unsigned long long)tsr_composition_row_bytes(c), (unsigned long long)tsr_composition_rows(c),
          (unsigned long long)c->settings.value_bytes);
}

static uint64_t bytes(const tsr_table *t) { return t->wide.count * t->store.composition->settings.value_bytes; }

static uint64_t memory(const tsr_table *t) {
  return bytes(t) + t->wide.count * sizeof *t->wide.spare + t->wide.bit_rows / 4;
}

static uint64_t saved_bytes(const tsr_table *t) {
  const uint64_t least = tsr_composition_rows(t->store.composition);
  return (t->wide.count > least ? t->wide.count : least) * t->store.composition->settings.value_bytes;
}

static bool may_be_saved(const tsr_table *t, uint64_t saved) {
  return saved >= saved_bytes(t) && saved % t->store.composition->settings.value_bytes == 0;
}

static tsr_status make_saved(tsr_table *t, uint64_t saved, tsr_error *error) {
  return tsr_wide_reserve(t, saved / t->store.composition->settings.value_bytes, error);
}

static void *saved_memory(const tsr_table *t) { return t->wide.rows; }

static tsr_status check_saved(tsr_table *t, uint64_t pairs, tsr_error *error) {
  (void)pairs;
  return tsr_wide_collect(t, NULL, error);
}

static const tsr_saved_values saved = {.name = "rows of values",
                                       .bytes = saved_bytes,
                                       .may_be = may_be_saved,
                                       .make = make_saved,
                                       .memory = saved_memory,
                                       .check = check_saved,
                                       .damage = "its pairs name no rows of their own"};

_Static_assert(TSR_HELD_NONE == TSR_WIDE_NONE, "no row has the number that stands for none");
const tsr_values tsr_values_in_rows = {.are_apart = true,
                                       .reserve = tsr_wide_reserve,
                                       .free = free_rows,
                                       .clear = clear,
                                       .note_erased = note_erased,
                                       .operate = operate,
                                       .read = read,
                                       .copy = copy,
                                       .open = open_bits,
                                       .view = view,
                                       .describe = describe,
                                       .bytes = bytes,
                                       .memory = memory,
                                       .saved = &saved};

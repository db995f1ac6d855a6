/* SPDX-License-Identifier: Apache-2.0
 *
 * The keys of an index and their numbers (numbering.h). Read next: operate.c.
 */
#include "core/table/numbering.h"

#include "core/batch/sum.h"
#include "core/kernels/scan.h"
#include "core/table/call.h"
#include "core/table/clean.h"
#include "core/table/eviction.h"
#include "core/table/launch.h"
#include "core/table/order.h"

bool tsr_is_index(const tsr_table *t) { return t->store.composition->settings.kind == TSR_KIND_INDEX; }

static const tsr_number_settings *settings_of(const tsr_table *t) { return &t->store.composition->settings.numbers; }

static bool reuses(const tsr_table *t) { return settings_of(t)->reuse == TSR_REUSE_YES; }

tsr_status tsr_numbering_check(const tsr_table *t, tsr_error *error) {
  if (!t->numbering.is_torn) return TSR_OK;
  return tsr_fail(error, TSR_UNSUPPORTED,
                  "an earlier call on this index failed and left keys without numbers: call tsr_clear first");
}

void tsr_numbering_take_turns(tsr_table *t, uint32_t shard, uint32_t shards) {
  t->numbering.shard = shard;
  t->numbering.shards = shards;
}

static uint64_t shards_of(const tsr_table *t) { return t->numbering.shards ? t->numbering.shards : 1; }

uint64_t tsr_numbering_end(const tsr_table *t, uint64_t given) {
  return given ? (given - 1) * shards_of(t) + t->numbering.shard + 1 : 0;
}

/* ---- Memory of the free numbers -------------------------------------------------------------- */

static uint64_t bytes_for(const tsr_table *t, uint64_t room) {
  return tsr_composition_number_bytes_for(t->store.composition, room);
}

/* Into longer memory. The scores follow the list, with the clock before them, and then the rows. */
static tsr_status copy_numbers(tsr_table *t, tsr_free_numbers *to, uint64_t room, tsr_error *error) {
  tsr_free_numbers *const from = t->numbering.all;
  const uint64_t former = t->numbering.room, row_bytes = settings_of(t)->row_bytes;
  tsr_status status = t->backend->copy(t->device, to, from, sizeof *to + former * sizeof(uint32_t), NULL, error);
  if (status == TSR_OK && tsr_evicts(t))
    status = t->backend->copy(t->device, tsr_scores_in(t, to, room) - 1, tsr_scores_in(t, from, former) - 1,
                              (former + 1) * sizeof(uint64_t), NULL, error);
  if (status || !row_bytes) return status;
  return t->backend->copy(t->device, tsr_rows_in(t, to, room), tsr_rows_in(t, from, former), former * row_bytes, NULL,
                          error);
}

static tsr_status reserve(tsr_table *t, uint64_t count, tsr_error *error) {
  const uint64_t least = tsr_composition_spares(t->store.composition);
  const uint64_t room = count > least ? count : least;
  void *memory = NULL;
  if (t->numbering.all && t->numbering.room >= room) return TSR_OK;
  tsr_status status = t->backend->allocate(t->device, bytes_for(t, room), &memory, error);
  if (status) return status;
  if (t->numbering.all) status = tsr_table_wait(t, error);
  if (status == TSR_OK) status = t->backend->fill(t->device, memory, 0, bytes_for(t, room), NULL, error);
  if (status == TSR_OK && t->numbering.all) status = copy_numbers(t, memory, room, error);
  if (status == TSR_OK) status = t->backend->synchronize(t->device, NULL, error);
  if (status) {
    t->backend->free(t->device, memory);
    return status;
  }
  if (t->numbering.all) t->backend->free(t->device, t->numbering.all);
  t->numbering.all = memory;
  t->numbering.room = room;
  return TSR_OK;
}

static void free_numbers(tsr_table *t) {
  if (t->numbering.all) t->backend->free(t->device, t->numbering.all);
  if (t->numbering.evicted_keys) t->backend->free(t->device, t->numbering.evicted_keys);
  t->numbering = (tsr_numbering){.shard = t->numbering.shard, .shards = t->numbering.shards};
}

static tsr_status clear(tsr_table *t, void *stream, tsr_error *error) {
  t->numbering.given_at_most = t->numbering.used_at_most = t->numbering.clock = t->numbering.evicted = 0;
  t->numbering.is_torn = false;
  const uint64_t scored = tsr_composition_rows_begin(t->store.composition, t->numbering.room); /* rows stay */
  const uint64_t bytes = tsr_evicts(t) ? scored : sizeof *t->numbering.all;
  return t->backend->fill(t->device, t->numbering.all, 0, bytes, stream, error);
}

/* ---- A batch of marks ------------------------------------------------------------------------ */

/* A request whose arrays are in device memory, and memory for a batch of its items; NULL: not needed. */
typedef struct numbering {
  tsr_table *t;
  tsr_request asked;
  tsr_operation *narrow;
  uint64_t *ranks;
  uint32_t *numbers, *first, *lost;
  uint8_t *codes;
  bool by_pages;         /* the batch is inserted page by page */
  tsr_eviction eviction; /* all zero where the table evicts nothing */
} numbering;

/* A page is read and written once per batch, so that batches of a paged table are as large as memory for them may be. */
static uint64_t batch_max(const tsr_table *t) {
  static const uint64_t paged = 1u << 27;
  return t->store.composition->shape.is_paged && !tsr_evicts(t) ? paged : TSR_NUMBERING_ITEMS;
}

/* Whether pages are faster. A find or insert of each key is by random access; an insert page by page needs a find of its
 * own, because it says no values. */
static bool goes_by_pages(const numbering *w, uint64_t n) {
  const tsr_request *r = &w->asked;
  const bool has_answers = r->results || r->unplaced_keys || w->lost;
  return tsr_launch_plan(w->t, &w->t->store, TSR_BULK_insert, n, has_answers, &r->call).order == TSR_ORDER_PAGES;
}

/* Where an insert moves pairs, the last of them may find no place, and its number comes back. */
static bool loses_numbers(const tsr_table *t) { return reuses(t) && t->store.composition->shape.moves_pairs; }

static const void *key_at(const numbering *w, uint64_t i) {
  return (const char *)w->asked.keys + i * (w->t->store.composition->shape.key_bits / 8);
}

static tsr_status find_numbers(const numbering *w, uint64_t from, uint64_t n, tsr_error *error) {
  return w->narrow(w->t,
                   &(tsr_request){.op = TSR_BULK_find,
                                  .phase = TSR_PHASE_FIND,
                                  .n = n,
                                  .keys = key_at(w, from),
                                  .values_out = w->numbers,
                                  .missing = TSR_NUMBER_NONE,
                                  .is_reached = true,
                                  .call = w->asked.call,
                                  .tally = w->t->tallies + TSR_TALLY_UNREAD},
                   error);
}

/* The numbers of these items come back. */
static tsr_status give_back(const numbering *w, const tsr_numbering_run *items, tsr_error *error) {
  void *const stream = w->asked.call.stream;
  tsr_numbering_run run = *items;
  run.ranks = w->ranks;
  run.room = w->t->numbering.room;
  tsr_status status = tsr_numbering_step(w->t, TSR_NUMBERING_leave, &run, stream, error);
  if (status == TSR_OK) status = tsr_prefix_sum(w->t->device, run.ranks, run.n, stream, error);
  if (status == TSR_OK) status = tsr_numbering_step(w->t, TSR_NUMBERING_keep, &run, stream, error);
  run.room = run.n;
  run.n = 1;
  return status ? status : tsr_numbering_step(w->t, TSR_NUMBERING_count, &run, stream, error);
}

/* Chooses an item of each new key, and turns marks into numbers, in memory and in the table. */
static tsr_status settle(const numbering *w, uint64_t from, uint64_t n, tsr_error *error) {
  tsr_table *t = w->t;
  void *const stream = w->asked.call.stream;
  tsr_numbering_run run = {.n = n,
                           .numbers = w->numbers,
                           .ranks = w->ranks,
                           .first = w->by_pages ? NULL : w->first, /* there the least mark is that of the first item */
                           .codes = w->codes,
                           .from = t->numbering.shard,
                           .limit = shards_of(t),
                           .missing = w->eviction.places ? TSR_NUMBER_NONE : w->asked.missing};
  tsr_status status = TSR_OK;
  if (run.first) status = t->backend->fill(t->device, run.first, 0xFF, n * sizeof *run.first, stream, error);
  if (run.first && status == TSR_OK) status = tsr_numbering_step(t, TSR_NUMBERING_first, &run, stream, error);
  if (status == TSR_OK) status = tsr_numbering_step(t, TSR_NUMBERING_lead, &run, stream, error);
  if (status == TSR_OK) status = tsr_prefix_sum(t->device, run.ranks, n, stream, error);
  if (status == TSR_OK) status = tsr_numbering_step(t, TSR_NUMBERING_settle, &run, stream, error);
  const tsr_bulk bulk = {.state = t->store.state,
                         .n = n,
                         .keys = key_at(w, from),
                         .values = w->numbers,
                         .results = w->codes,
                         .tally = t->tallies + TSR_TALLY_UNREAD};
  if (status == TSR_OK) status = tsr_launch(t, &t->store, TSR_BULK_combine, &bulk, &w->asked.call, error);
  run.room = n;
  run.n = 1;
  return status ? status : tsr_numbering_step(t, TSR_NUMBERING_take, &run, stream, error);
}

/* Before the items are inserted: erases as many keys as they are too many. */
static tsr_status make_room(numbering *w, uint64_t from, uint64_t n, tsr_error *error) {
  tsr_table *t = w->t;
  uint64_t count = 0;
  if (!w->eviction.places) return TSR_OK;
  if (!tsr_eviction_may_be_due(t, n)) {
    t->numbering.used_at_most += n;
    return TSR_OK;
  }
  const tsr_numbering_run items = {.n = n, .numbers = w->numbers, .ranks = w->ranks, .keys = key_at(w, from)};
  tsr_status status = find_numbers(w, from, n, error);
  if (status == TSR_OK) status = tsr_eviction_choose(&w->eviction, &items, &count, error);
  if (status) return status;
  t->numbering.used_at_most += n;
  if (!count) return TSR_OK;
  const uint64_t begin = t->numbering.evicted - count;
  const tsr_request erase = {.op = TSR_BULK_erase,
                             .phase = TSR_PHASE_ERASE,
                             .n = count,
                             .keys = (const char *)t->numbering.evicted_keys +
                                     begin * (t->store.composition->shape.key_bits / 8),
                             .is_reached = true,
                             .call = w->asked.call,
                             .tally = t->tallies + TSR_TALLY_UNREAD};
  tsr_clean_note(t, count, 0);
  numbering back = *w;
  back.ranks = w->eviction.places;
  status = w->narrow(t, &erase, error);
  if (status == TSR_OK) status = tsr_call_enter(t, TSR_PHASE_COMBINE, &w->asked.call, error);
  if (status == TSR_OK)
    status = give_back(&back, &(tsr_numbering_run){.n = count, .numbers = t->numbering.evicted_numbers + begin}, error);
  if (status == TSR_OK) status = tsr_call_leave(t, &w->asked.call, error);
  t->numbering.is_torn = t->numbering.is_torn || status;
  return status;
}

/* A mark that was no less than what the key had: the key was found. */
static tsr_status say_found(const numbering *w, uint64_t from, uint64_t n, tsr_error *error) {
  const tsr_numbering_run run = {.n = n, .codes = w->asked.results + from};
  return tsr_numbering_step(w->t, TSR_NUMBERING_say_found, &run, w->asked.call.stream, error);
}

/* What is left to do when the items are inserted. Numbers that came back can be taken at once, so that there are never
 * more of them than the table has slots. */
static tsr_status finish_batch(const numbering *w, uint64_t from, uint64_t n, tsr_error *error) {
  tsr_table *t = w->t;
  tsr_status status = TSR_OK;
  if (t->store.composition->shape.moves_pairs || w->by_pages) status = find_numbers(w, from, n, error);
  if (status == TSR_OK) status = tsr_call_enter(t, TSR_PHASE_COMBINE, &w->asked.call, error);
  if (status == TSR_OK && w->by_pages && w->asked.results) status = say_found(w, from, n, error);
  if (status == TSR_OK && w->lost) status = give_back(w, &(tsr_numbering_run){.n = n, .numbers = w->lost}, error);
  if (status == TSR_OK) status = settle(w, from, n, error);
  if (status == TSR_OK && w->eviction.places)
    status = tsr_eviction_use(&w->eviction,
                              &(tsr_numbering_run){.n = n, .numbers = w->numbers, .missing = w->asked.missing}, error);
  return status ? status : tsr_call_leave(t, &w->asked.call, error);
}

/* Also where the insert fails, since some of the keys may be in the table. */
static tsr_status number_batch(numbering *w, uint64_t from, uint64_t n, uint32_t *own, tsr_error *error) {
  tsr_table *t = w->t;
  const tsr_request *r = &w->asked;
  void *const stream = r->call.stream;
  w->numbers = r->values_out ? (uint32_t *)r->values_out + from : own;
  w->by_pages = goes_by_pages(w, n);
  tsr_request part = *r;
  part.op = w->by_pages ? TSR_BULK_insert : TSR_BULK_find_or_insert;
  part.n = n;
  part.keys = key_at(w, from);
  part.values = w->numbers;
  /* pairs that move may lose the slot of a key that was found */
  part.values_out = t->store.composition->shape.moves_pairs || w->by_pages ? NULL : w->numbers;
  part.missing = TSR_NUMBER_NONE;
  part.results = r->results ? r->results + from : NULL;
  part.unplaced_keys =
      r->unplaced_keys
          ? (void *)(uintptr_t)((const char *)r->unplaced_keys + ((const char *)part.keys - (const char *)r->keys))
          : NULL;
  part.unplaced_values = w->lost;
  tsr_status status = make_room(w, from, n, error);
  if (status) return status;
  status =
      tsr_numbering_step(t, TSR_NUMBERING_offer, &(tsr_numbering_run){.n = n, .numbers = w->numbers}, stream, error);
  if (status == TSR_OK && w->lost)
    status = t->backend->fill(t->device, w->lost, 0xFF, n * sizeof *w->lost, stream, error);
  if (status) return status;
  const tsr_status inserted = w->narrow(t, &part, error);
  if (inserted) error = NULL;
  status = reserve(t, 0, error); /* the table may have grown */
  if (status == TSR_OK) status = finish_batch(w, from, n, error);
  t->numbering.is_torn = t->numbering.is_torn || status || (inserted && tsr_evicts(t)); /* as in erase_keys */
  return inserted ? inserted : status;
}

/* ---- Calls that insert ----------------------------------------------------------------------- */

/* With reuse = no numbers run out, and those of a table of several devices do. The host knows how many there are at the most,
 * and asks when that gets near. */
static tsr_status check_numbers(tsr_table *t, const tsr_request *r, tsr_error *error) {
  const uint64_t most = TSR_NUMBER_MARK / shards_of(t);
  tsr_free_numbers numbers;
  if (reuses(t) && shards_of(t) == 1) return TSR_OK;
  t->numbering.given_at_most += r->n;
  if (t->numbering.given_at_most <= most && !t->numbering.given_is_unknown) return TSR_OK;
  const tsr_status status = tsr_read_free_numbers(t, &numbers, r->call.stream, error);
  if (status) return status;
  t->numbering.given_at_most = numbers.given + r->n;
  if (t->numbering.given_at_most <= most) return TSR_OK;
  t->numbering.given_at_most = numbers.given;
  return tsr_fail(error, TSR_UNSUPPORTED,
                  "%llu numbers were given, and %llu keys may need more than the %llu that there are: pass fewer keys, "
                  "use reuse = yes, or tsr_clear",
                  (unsigned long long)numbers.given, (unsigned long long)r->n, (unsigned long long)most);
}

/* The place of `bytes` bytes in memory at *used, where 64 bits are aligned. */
static void *take(char *memory, uint64_t *used, uint64_t bytes) {
  void *const place = memory ? memory + *used : NULL;
  *used += (bytes + 7) / 8 * 8;
  return place;
}

/* Memory NULL: only sizes are added up. */
static void divide(numbering *w, char *memory, uint64_t n, uint32_t **own, uint64_t *bytes) {
  const bool inserts = w->asked.op == TSR_BULK_insert || w->asked.op == TSR_BULK_find_or_insert;
  *bytes = 0;
  w->ranks = take(memory, bytes, (n + 1) * sizeof *w->ranks);
  if (!inserts || !w->asked.values_out) *own = take(memory, bytes, n * sizeof **own);
  if (inserts && settings_of(w->t)->numbering == TSR_NUMBERING_FIRST_SEEN)
    w->first = take(memory, bytes, n * sizeof *w->first);
  if (inserts && loses_numbers(w->t)) w->lost = take(memory, bytes, n * sizeof *w->lost);
  if (inserts || !w->asked.results) w->codes = take(memory, bytes, n);
}

static tsr_status number_keys(numbering *w, uint32_t *own, tsr_error *error) {
  tsr_status status = check_numbers(w->t, &w->asked, error);
  for (uint64_t from = 0, n; status == TSR_OK && from < w->asked.n; from += n) {
    n = w->asked.n - from < batch_max(w->t) ? w->asked.n - from : batch_max(w->t);
    status = number_batch(w, from, n, own, error);
  }
  return status;
}

/* The numbers of the keys are found before the keys are erased. */
static tsr_status erase_keys(numbering *w, uint32_t *own, tsr_error *error) {
  const tsr_request *r = &w->asked;
  w->numbers = own;
  if (r->results) w->codes = r->results;
  tsr_status status = find_numbers(w, 0, r->n, error);
  if (status) return status;
  tsr_request erase = *r;
  erase.results = w->codes;
  status = w->narrow(w->t, &erase, error);
  const tsr_numbering_run run = {.n = r->n,
                                 .numbers = w->numbers,
                                 .codes = w->codes,
                                 .wanted = r->tells_presence ? 1 : (uint32_t)TSR_RESULT_ERASED};
  if (status == TSR_OK) status = tsr_call_enter(w->t, TSR_PHASE_COMBINE, &r->call, error);
  if (status == TSR_OK) status = give_back(w, &run, error);
  if (status == TSR_OK) status = tsr_call_leave(w->t, &r->call, error);
  /* where numbers are lost, nobody knows any more how many keys there are */
  w->t->numbering.is_torn = w->t->numbering.is_torn || (status && tsr_evicts(w->t));
  return status;
}

static tsr_status operate(tsr_table *t, const tsr_request *r, tsr_operation *narrow, tsr_error *error) {
  const bool inserts = r->op == TSR_BULK_insert || r->op == TSR_BULK_find_or_insert;
  const bool erases = r->op == TSR_BULK_erase || r->op == TSR_BULK_erase_pair;
  numbering w = {.t = t, .asked = *r, .narrow = narrow};
  uint32_t *own = NULL;
  uint64_t bytes;
  void *memory = NULL;
  tsr_status status = tsr_numbering_check(t, error);
  if (status) return status;
  if (!inserts && !(erases && reuses(t))) return narrow(t, r, error);
  const uint64_t n = inserts && r->n > batch_max(t) ? batch_max(t) : r->n;
  divide(&w, NULL, n, &own, &bytes);
  status = t->backend->allocate_in(t->device, bytes, r->call.stream, &memory, error);
  if (status) return status;
  divide(&w, memory, n, &own, &bytes);
  if (inserts && tsr_evicts(t)) status = tsr_eviction_begin(t, n, r->call.stream, &w.eviction, error);
  if (status == TSR_OK) status = inserts ? number_keys(&w, own, error) : erase_keys(&w, own, error);
  const tsr_status ended = tsr_eviction_end(&w.eviction, status ? NULL : error);
  if (status == TSR_OK) status = ended;
  const tsr_status freed = t->backend->free_in(t->device, memory, r->call.stream, status ? NULL : error);
  return tsr_call_end(t, &r->call, NULL, 0, status ? status : freed);
}

/* ---- Code ------------------------------------------------------------------------------------ */

/* The operations that a call is made of in addition to its own. */
static const uint32_t *further_of(uint32_t op, uint32_t *count) {
  static const uint32_t inserts[] = {TSR_BULK_find_or_insert, TSR_BULK_find, TSR_BULK_combine},
                        erases[] = {TSR_BULK_find};
  const bool is_insert = op == TSR_BULK_insert || op == TSR_BULK_find_or_insert;
  *count = is_insert ? 3 : op == TSR_BULK_erase || op == TSR_BULK_erase_pair ? 1 : 0;
  return is_insert ? inserts : erases;
}

/* ---- As values of a table -------------------------------------------------------------------- */

static void ignore(tsr_table *t) { (void)t; }

/* Numbers are in slots, and which of them are free is copied when shards are: an index has none. */
static tsr_status copy(tsr_table *to, const tsr_table *from, tsr_error *error) {
  (void)to, (void)from, (void)error;
  return TSR_OK;
}

/* A kernel may have a key numbered many times an item, and a graph may launch it again. */
static tsr_status open_to_kernels(tsr_table *t, void *stream, tsr_error *error) {
  (void)stream;
  t->numbering.given_is_unknown = true;
  return tsr_numbering_check(t, error);
}

static void view(const tsr_table *t, tsr_user_table *seen) {
  seen->numbers = t->numbering.all;
  seen->rows.rows = tsr_rows_in(t, t->numbering.all, t->numbering.room);
}

static void describe(const tsr_composition *c, FILE *out) {
  const uint64_t room = tsr_composition_spares(c), row_bytes = c->settings.numbers.row_bytes;
  fprintf(out, "  %-18s %llu bytes, room for %llu numbers that come back\n", "free numbers",
          (unsigned long long)(tsr_composition_number_bytes(c) - room * row_bytes), (unsigned long long)room);
  if (row_bytes)
    fprintf(out, "  %-18s %llu bytes, %llu of %llu bytes, at the numbers of keys\n", "rows",
            (unsigned long long)(room * row_bytes), (unsigned long long)room, (unsigned long long)row_bytes);
}

static uint64_t row_bytes(const tsr_table *t) { return t->numbering.room * settings_of(t)->row_bytes; }

static uint64_t memory_bytes(const tsr_table *t) {
  const uint64_t listed = t->numbering.evicted_room * (t->store.composition->shape.key_bits / 8 + sizeof(uint32_t));
  return bytes_for(t, t->numbering.room) + listed;
}

static uint64_t saved_bytes(const tsr_table *t) {
  const uint64_t least = tsr_composition_spares(t->store.composition);
  return bytes_for(t, t->numbering.room > least ? t->numbering.room : least);
}

/* For how many free numbers memory of these bytes is. */
static uint64_t room_of(const tsr_table *t, uint64_t bytes) {
  const uint64_t each = sizeof(uint32_t) + (tsr_evicts(t) ? sizeof(uint64_t) : 0) + settings_of(t)->row_bytes;
  uint64_t room = bytes / each;
  while (room && bytes_for(t, room) > bytes) room--;
  return room;
}

static bool may_be_saved(const tsr_table *t, uint64_t saved) {
  return saved >= saved_bytes(t) && bytes_for(t, room_of(t, saved)) == saved;
}

static tsr_status make_saved(tsr_table *t, uint64_t saved, tsr_error *error) {
  return reserve(t, room_of(t, saved), error);
}

static void *saved_memory(const tsr_table *t) { return t->numbering.all; }

static tsr_status read_clock(tsr_table *t, tsr_error *error) {
  if (!tsr_evicts(t)) return TSR_OK;
  const tsr_status status =
      t->backend->copy(t->device, &t->numbering.clock, tsr_scores_in(t, t->numbering.all, t->numbering.room) - 1,
                       sizeof t->numbering.clock, NULL, error);
  return status ? status : t->backend->synchronize(t->device, NULL, error);
}

static tsr_status check_saved(tsr_table *t, uint64_t pairs, tsr_error *error) {
  tsr_free_numbers numbers;
  const tsr_status status = tsr_read_free_numbers(t, &numbers, NULL, error);
  if (status) return status;
  t->numbering.given_at_most = t->numbering.used_at_most = numbers.given;
  const tsr_status known = read_clock(t, error);
  if (known) return known;
  const bool is_listed =
      !numbers.spares || (numbers.spares <= t->numbering.room && pairs <= t->numbering.room - numbers.spares);
  if (numbers.given <= TSR_NUMBER_MARK && pairs <= numbers.given && numbers.spares <= numbers.given - pairs &&
      is_listed)
    return TSR_OK;
  return tsr_fail(error, TSR_IO, "%llu numbers were given and %llu are free, and the table has %llu keys",
                  (unsigned long long)numbers.given, (unsigned long long)numbers.spares, (unsigned long long)pairs);
}

static const tsr_saved_values saved = {.name = "numbers",
                                       .bytes = saved_bytes,
                                       .may_be = may_be_saved,
                                       .make = make_saved,
                                       .memory = saved_memory,
                                       .check = check_saved,
                                       .damage = "its keys have other numbers than were given"};

_Static_assert(TSR_HELD_NONE == TSR_NUMBER_NONE, "no key has the number that stands for none");
const tsr_values tsr_values_are_numbers = {.reserve = reserve,
                                           .free = free_numbers,
                                           .clear = clear,
                                           .note_erased = ignore,
                                           .operate = operate,
                                           .copy = copy,
                                           .open = open_to_kernels,
                                           .view = view,
                                           .describe = describe,
                                           .bytes = row_bytes,
                                           .memory = memory_bytes,
                                           .saved = &saved,
                                           .further = further_of,
                                           .sets = {&tsr_numbering_steps, &tsr_scan_steps}};

/* SPDX-License-Identifier: Apache-2.0
 *
 * Matches (match.h), in one of three ways. Tables whose keys are in the same pages, or lists, meet page by page in
 * shared memory (HashGraph 3.4, "probe new"). Otherwise, a right table of distinct keys is asked for each left key
 * ("probe standard"). One that keeps every pair is put into an index by key first, so that no list is walked by one
 * thread. Why: ../design/0020-joins.md. Read next: join.c.
 */
#include "core/table/match.h"

#include <string.h>

#include "core/batch/sum.h"
#include "core/table/launch.h"
#include "core/table/order.h"
#include "core/table/single.h"

enum { LEFT, RIGHT, SIDES };

static const tsr_shape *shape_of(const tsr_table *t) { return &t->store.composition->shape; }
/* Whether a key may have several pairs, in slots or in a list of values: written out they are alike. */
static bool keeps_all(const tsr_table *t) {
  return shape_of(t)->kind == TSR_KIND_MULTISET || shape_of(t)->kind == TSR_KIND_MULTIMAP;
}
static bool may_repeat(const tsr_joining *j, uint32_t side) {
  return j->sides[side] || keeps_all(side == LEFT ? j->left : j->right);
}

/* ---- Memory and steps ------------------------------------------------------------------------ */

tsr_status tsr_joining_take(tsr_joining *j, const char *what, uint64_t bytes, int byte, void **memory) {
  const tsr_table *t = j->left;
  *memory = NULL;
  if (!bytes) return TSR_OK;
  tsr_status status = t->backend->allocate_in(t->device, bytes, j->stream, memory, j->error);
  if (status == TSR_NO_MEMORY)
    return tsr_fail(
        j->error, TSR_NO_MEMORY,
        "tsr_join: there is no memory of %llu bytes beside the pairs for %s: join a part of the left pairs at a time",
        (unsigned long long)bytes, what);
  if (status) return status;
  j->memory[j->memories++] = *memory;
  return byte < 0 ? TSR_OK : t->backend->fill(t->device, *memory, (uint8_t)byte, bytes, j->stream, j->error);
}

void tsr_joining_free(tsr_joining *j) {
  const tsr_table *t = j->left;
  while (j->memories) {
    const tsr_status freed = t->backend->free_in(t->device, j->memory[--j->memories], j->stream, NULL);
    (void)freed; /* it fails if the context was lost, and then the memory is gone too */
  }
}

tsr_status tsr_joining_step(const tsr_joining *j, uint32_t step, uint64_t n) {
  tsr_match match = j->match;
  match.n = n;
  return n ? j->left->backend->step(j->left->device, NULL, &tsr_match_steps.step[step], &match, n, j->stream, j->error)
           : TSR_OK;
}

tsr_status tsr_joining_read(const tsr_joining *j, const void *from, void *to, uint64_t bytes) {
  const tsr_table *t = j->left;
  const tsr_status status = t->backend->copy(t->device, to, from, bytes, j->stream, j->error);
  const tsr_status waited = t->backend->synchronize(t->device, j->stream, status ? NULL : j->error);
  return status ? status : waited;
}

tsr_status tsr_joining_sum(const tsr_joining *j, uint64_t *numbers, uint64_t n, uint64_t *sum) {
  const tsr_status status = tsr_prefix_sum(j->left->device, numbers, n, j->stream, j->error);
  return status ? status : tsr_joining_read(j, numbers + n, sum, sizeof *sum);
}

/* ---- Columns --------------------------------------------------------------------------------- */

static tsr_status check_pairs(const tsr_joining *j, uint64_t pairs) {
  if (pairs < TSR_MATCH_NONE) return TSR_OK;
  return tsr_fail(j->error, TSR_UNSUPPORTED,
                  "tsr_join: a table has %llu pairs, and a join numbers at most 2^32 - 2 of each: join tables of parts",
                  (unsigned long long)pairs);
}

/* What was written out: there are no gaps between its numbers. */
static tsr_numbers numbers_at(const void *at, uint32_t bytes) { return (tsr_numbers){at, bytes, bytes}; }

static void set_columns(tsr_joining *j, uint32_t side, uint64_t count, tsr_numbers keys, tsr_numbers values) {
  tsr_match *m = &j->match;
  *(side == LEFT ? &m->lefts : &m->rights) = count;
  *(side == LEFT ? &m->left_keys : &m->right_keys) = keys;
  *(side == LEFT ? &m->left_values : &m->right_values) = values;
}

void tsr_joining_columns(tsr_joining *j, uint32_t side, uint64_t count, const void *keys, const void *values) {
  const tsr_match *m = &j->match;
  set_columns(j, side, count, numbers_at(keys, m->bytes.key),
              numbers_at(values, side == LEFT ? m->bytes.left : m->bytes.right));
}

static bool wants_values(const tsr_joining *j, uint32_t side) {
  return side == LEFT ? j->wants_left_values : j->wants_right_values;
}

/* The slots of a side are read in place, if its layout has columns of what is wanted and they are on the device, or
 * brought there. */
static bool has_columns(const tsr_joining *j, uint32_t side) {
  const tsr_table *t = side == LEFT ? j->left : j->right;
  const tsr_plan *plan = &t->store.composition->part[TSR_ROLE_LAYOUT].plan;
  const bool has_values = plan->payloads.stride_bytes && shape_of(t)->payload_bits == shape_of(t)->value_bits;
  return plan->keys.stride_bytes && (has_values || !wants_values(j, side));
}

static tsr_numbers column_of(const tsr_state *state, const tsr_slot_column *column, uint64_t first, uint32_t bytes) {
  const char *region = state->part[TSR_ROLE_LAYOUT].region[column->region];
  return (tsr_numbers){region + column->offset_bytes + first * column->stride_bytes, bytes, column->stride_bytes};
}

/* If all pairs are in lists, and all slots of lists have pairs, these are the first slots. *are: false: it is not so. */
static tsr_status find_columns(const tsr_joining *j, uint32_t side, uint64_t pairs, tsr_numbers *keys,
                               tsr_numbers *values, bool *are) {
  tsr_table *t = side == LEFT ? j->left : j->right;
  const tsr_plan *plan = &t->store.composition->part[TSR_ROLE_LAYOUT].plan;
  const uint32_t *offsets = t->store.state.part[TSR_ROLE_PROBING].region[0];
  const uint32_t value_bytes = wants_values(j, side) ? shape_of(t)->value_bits / 8 : 0;
  uint32_t end = 0;
  *are = false;
  if (!shape_of(t)->has_lists || t->store.windows || j->match.bytes.key > 8 || !has_columns(j, side)) return TSR_OK;
  tsr_status status = tsr_table_enter(t, TSR_PHASE_ALONE, NULL, j->error);
  if (status) return status;
  status = tsr_joining_read(j, offsets + shape_of(t)->lists, &end, sizeof end);
  *are = status == TSR_OK && end == pairs;
  *keys = column_of(&t->store.state, &plan->keys, 0, j->match.bytes.key);
  *values = column_of(&t->store.state, &plan->payloads, 0, value_bytes);
  const tsr_status left_phase = tsr_table_leave(t, NULL, status ? NULL : j->error);
  return status ? status : left_phase;
}

static tsr_status copy_column(const tsr_joining *j, tsr_numbers from, uint64_t n, void *to) {
  tsr_joining one = *j; /* its memory stays that of j */
  one.match.index.keys = from;
  one.match.index.grouped = to;
  return to ? tsr_joining_step(&one, TSR_MATCH_copy, n) : TSR_OK;
}

/* in_place: columns of lists are read where they are. */
static tsr_status take_pairs(tsr_joining *j, uint32_t side, bool in_place) {
  tsr_table *t = side == LEFT ? j->left : j->right;
  const uint32_t key_bytes = j->match.bytes.key, value_bytes = shape_of(t)->value_bits / 8;
  void *keys = NULL, *values = NULL;
  tsr_numbers from[2];
  uint64_t pairs;
  bool has_lists = false;
  if (j->sides[side]) {
    tsr_joining_columns(j, side, j->sides[side]->n, j->sides[side]->keys, j->sides[side]->values);
    return TSR_OK;
  }
  tsr_status status = tsr_size(t, &pairs, j->error);
  if (status == TSR_OK) status = check_pairs(j, pairs);
  if (status == TSR_OK && pairs) status = find_columns(j, side, pairs, &from[0], &from[1], &has_lists);
  if (status == TSR_OK && has_lists && in_place) {
    set_columns(j, side, pairs, from[0], from[1]);
    return TSR_OK;
  }
  if (status == TSR_OK) status = tsr_joining_take(j, "a copy of keys", pairs * key_bytes, -1, &keys);
  if (status == TSR_OK && wants_values(j, side))
    status = tsr_joining_take(j, "a copy of values", pairs * value_bytes, -1, &values);
  if (status == TSR_OK && has_lists) status = copy_column(j, from[0], pairs, keys);
  if (status == TSR_OK && has_lists) status = copy_column(j, from[1], pairs, values);
  if (status == TSR_OK && pairs && !has_lists) status = tsr_single_write_slots(t, pairs, keys, values, j->error);
  set_columns(j, side, pairs, numbers_at(keys, key_bytes), numbers_at(values, value_bytes));
  return status;
}

tsr_status tsr_joining_write_out(tsr_joining *j, uint32_t side) { return take_pairs(j, side, false); }

tsr_status tsr_joining_take_rows(tsr_joining *j) {
  tsr_match *m = &j->match;
  void *begins = NULL, *firsts = NULL, *total;
  tsr_status status = tsr_joining_take(j, "the number of rows", sizeof *m->matches.total, 0, &total);
  if (status == TSR_OK && j->wants_rows && !j->out.room)
    status = tsr_joining_take(j, "where rows begin", (m->lefts + 1) * sizeof *m->matches.begins, 0, &begins);
  if (status == TSR_OK && j->wants_rows && !j->out.room)
    status = tsr_joining_take(j, "where matches begin", m->lefts * sizeof *m->matches.firsts, -1, &firsts);
  m->matches.total = total;
  m->matches.begins = begins;
  m->matches.firsts = firsts;
  return status;
}

static tsr_status count_rows(tsr_joining *j) {
  if (j->match.matches.begins) return tsr_joining_sum(j, j->match.matches.begins, j->match.lefts, &j->rows);
  const tsr_status status = tsr_joining_read(j, j->match.matches.total, &j->rows, sizeof j->rows);
  j->rows += j->rows_of_large;
  return status;
}

/* ---- By an index ----------------------------------------------------------------------------- */

/* An index of a side's keys. */
static tsr_status put_in_index(tsr_joining *j, tsr_numbers keys, uint64_t n, bool counts, bool ranks) {
  tsr_match *m = &j->match;
  uint64_t entries = 2;
  void *memory[4] = {NULL};
  while (entries < 2 * n) entries *= 2;
  tsr_status status = tsr_joining_take(j, "an index of keys", entries * sizeof *m->index.entries, 0xFF, &memory[0]);
  if (status == TSR_OK) status = tsr_joining_take(j, "an index of keys", n * sizeof *m->index.leaders, -1, &memory[1]);
  if (status == TSR_OK && ranks)
    status = tsr_joining_take(j, "an index of keys", n * sizeof *m->index.ranks, -1, &memory[2]);
  if (status == TSR_OK && counts)
    status = tsr_joining_take(j, "an index of keys", (n + 1) * sizeof *m->index.groups, 0, &memory[3]);
  m->index.keys = keys;
  m->index.mask = entries - 1;
  m->index.entries = memory[0];
  m->index.leaders = memory[1];
  m->index.ranks = memory[2];
  m->index.groups = memory[3];
  if (status == TSR_OK) status = tsr_joining_step(j, TSR_MATCH_group, n);
  return status || !counts ? status : tsr_joining_step(j, TSR_MATCH_rank, n);
}

/* Left keys that come again lead no rows. */
static tsr_status find_leaders(tsr_joining *j) {
  tsr_match *m = &j->match;
  if (!j->keys_once || !may_repeat(j, LEFT)) return TSR_OK;
  const tsr_status status = put_in_index(j, m->left_keys, m->lefts, false, false);
  m->known.leaders = m->index.leaders;
  return status;
}

/* Counts the right pairs of each right key. */
static tsr_status index_right(tsr_joining *j, bool counts) {
  tsr_match *m = &j->match;
  j->way = "by an index of the right keys";
  tsr_status status = find_leaders(j);
  if (status == TSR_OK) status = put_in_index(j, m->right_keys, m->rights, counts, j->wants_right_values);
  if (status == TSR_OK && counts && m->rights)
    status = tsr_prefix_sum(j->left->device, m->index.groups, m->rights, j->stream, j->error);
  return status;
}

/* Counts the right pairs of each left key. */
static tsr_status index_left(tsr_joining *j) {
  tsr_match *m = &j->match;
  void *leaders, *ranks = NULL, *groups = NULL;
  const char *const what = "leaders of right pairs";
  j->way = "by an index of the left keys";
  tsr_status status = put_in_index(j, m->left_keys, m->lefts, false, false);
  if (j->keys_once && may_repeat(j, LEFT)) m->known.leaders = m->index.leaders;
  if (status == TSR_OK) status = tsr_joining_take(j, what, m->rights * sizeof *m->index.leaders, -1, &leaders);
  if (status == TSR_OK && j->wants_right_values)
    status = tsr_joining_take(j, what, m->rights * sizeof *m->index.ranks, -1, &ranks);
  if (status == TSR_OK) status = tsr_joining_take(j, what, (m->lefts + 1) * sizeof *m->index.groups, 0, &groups);
  if (status) return status;
  m->index.leaders = leaders;
  m->index.ranks = ranks;
  m->index.groups = groups;
  status = tsr_joining_step(j, TSR_MATCH_assign, m->rights);
  if (status == TSR_OK) status = tsr_joining_step(j, TSR_MATCH_rank, m->rights);
  if (status == TSR_OK && m->lefts)
    status = tsr_prefix_sum(j->left->device, m->index.groups, m->lefts, j->stream, j->error);
  return status;
}

/* Of the side that has fewer pairs. */
static tsr_status make_index(tsr_joining *j) {
  tsr_match *m = &j->match;
  void *grouped;
  tsr_status status = take_pairs(j, LEFT, true);
  if (status == TSR_OK) status = take_pairs(j, RIGHT, true);
  if (status == TSR_OK) status = tsr_joining_take_rows(j);
  const bool counts = j->wants_right_values || tsr_match_wants_count(m);
  if (status == TSR_OK) status = m->lefts < m->rights ? index_left(j) : index_right(j, counts);
  if (status == TSR_OK && j->wants_right_values) {
    status = tsr_joining_take(j, "right values in the order of keys", m->rights * m->bytes.right, -1, &grouped);
    m->index.grouped = grouped;
    if (status == TSR_OK) status = tsr_joining_step(j, TSR_MATCH_place, m->rights);
    m->right_values = numbers_at(grouped, m->bytes.right);
  }
  return status;
}

static tsr_status match_by_index(tsr_joining *j) {
  const tsr_status status = make_index(j);
  return status ? status : tsr_joining_step(j, TSR_MATCH_look, j->match.lefts);
}

/* Writes rows as they are found. */
static tsr_status meet_by_index(tsr_joining *j, bool *matched) {
  const tsr_status status = make_index(j);
  return status ? status : tsr_joining_probe(j, matched);
}

/* ---- By finds -------------------------------------------------------------------------------- */

/* In the report it is one find a left pair. */
static tsr_status find_all(tsr_joining *j) {
  tsr_table *t = j->right;
  tsr_match *m = &j->match;
  const uint32_t op = j->wants_right_values ? TSR_BULK_find : TSR_BULK_contains;
  void *results, *values = NULL;
  tsr_status status = tsr_joining_take(j, "what is found", m->lefts, -1, &results);
  if (status == TSR_OK && j->wants_right_values)
    status = tsr_joining_take(j, "right values", m->lefts * m->bytes.right, -1, &values);
  if (status == TSR_OK) status = tsr_table_enter(t, TSR_PHASE_FIND, NULL, j->error);
  if (status) return status;
  const tsr_bulk bulk = {.state = t->store.state,
                         .n = m->lefts,
                         .keys = m->left_keys.at,
                         .values_out = values,
                         .results = results,
                         .tally = t->tallies + op};
  m->right_values = numbers_at(values, m->bytes.right);
  m->known.results = results;
  m->known.present = j->wants_right_values ? TSR_RESULT_FOUND : 1;
  status = tsr_launch(t, &t->store, op, &bulk, &(tsr_call_state){.stream = NULL}, j->error);
  const tsr_status left_phase = tsr_table_leave(t, NULL, status ? NULL : j->error);
  if (status == TSR_OK) t->done.find_keys += m->lefts;
  return status ? status : left_phase;
}

static tsr_status match_by_finds(tsr_joining *j) {
  j->way = "by a find of each left key";
  tsr_status status = tsr_joining_write_out(j, LEFT);
  if (status == TSR_OK) status = tsr_joining_take_rows(j);
  if (status == TSR_OK) status = find_leaders(j);
  if (status == TSR_OK) status = find_all(j);
  return status ? status : tsr_joining_step(j, TSR_MATCH_found, j->match.lefts);
}

/* No right table: every left pair, or key. */
static tsr_status match_none(tsr_joining *j) {
  j->way = "of one table alone";
  tsr_status status = tsr_joining_write_out(j, LEFT);
  if (status == TSR_OK) status = tsr_joining_take_rows(j);
  if (status == TSR_OK) status = find_leaders(j);
  return status ? status : tsr_joining_step(j, TSR_MATCH_alone, j->match.lefts);
}

/* ---- Page by page ---------------------------------------------------------------------------- */

static bool have_one_hash(const tsr_table *a, const tsr_table *b) {
  const tsr_part *x = &a->store.composition->part[TSR_ROLE_HASHER], *y = &b->store.composition->part[TSR_ROLE_HASHER];
  return x->plugin == y->plugin && memcmp(x->config, y->config, x->plugin->config_bytes) == 0 &&
         memcmp(a->store.state.part[TSR_ROLE_HASHER].word, b->store.state.part[TSR_ROLE_HASHER].word,
                sizeof a->store.state.part[TSR_ROLE_HASHER].word) == 0;
}

/* Whether a key is in the same page of both tables. A pair that took the slot of an erased one may be in a bucket
 * that its list shares with the next one, and so in another page. */
static bool have_same_pages(const tsr_table *a, const tsr_table *b) {
  const tsr_shape *x = shape_of(a), *y = shape_of(b);
  if (!have_one_hash(a, b)) return false;
  if (x->has_lists)
    return y->has_lists && x->lists == y->lists && !a->store.state.has_erased && !b->store.state.has_erased;
  return x->is_paged && y->is_paged && x->pages == y->pages;
}

static uint64_t slots_of(const tsr_table *t) { return shape_of(t)->buckets * shape_of(t)->bucket_slots; }

/* The pages of the run, where the steps can read them: a side in host memory has a window of its own. */
static tsr_status bring(const tsr_joining *j, uint32_t side, tsr_page_run run, tsr_state *state) {
  tsr_table *t = side == LEFT ? j->left : j->right;
  *state = t->store.state;
  if (!t->store.windows) return TSR_OK;
  const tsr_window *window = &t->store.windows->window[side];
  *state = tsr_window_state(&t->store, window, run);
  const tsr_work work = tsr_work_on(t, &t->store, NULL, j->error);
  return tsr_window_copy(&work, window, run, run, false);
}

/* All slots in their order, written out, those without a pair as keys of all ones. *whole: all pairs are among them. */
static tsr_status write_slots(tsr_joining *j, uint32_t side, bool *whole) {
  tsr_table *t = side == LEFT ? j->left : j->right;
  const tsr_shape *s = shape_of(t);
  const uint64_t slots = slots_of(t);
  const uint32_t key_bytes = j->match.bytes.key, value_bytes = s->value_bits / 8;
  void *keys = NULL, *values = NULL;
  uint64_t size;
  tsr_tally tally;
  tsr_status status = tsr_size(t, &size, j->error);
  if (status == TSR_OK) status = tsr_joining_take(j, "a copy of keys", slots * key_bytes, 0xFF, &keys);
  if (status == TSR_OK && wants_values(j, side))
    status = tsr_joining_take(j, "a copy of values", slots * value_bytes, -1, &values);
  const tsr_bulk bulk = {.n = s->buckets, .keys_out = keys, .values_out = values, .in_place = 1};
  if (status == TSR_OK) status = tsr_launch_alone(t, &t->store, TSR_BULK_export, &bulk, NULL, &tally, j->error);
  const bool may_hide =
      t->store.composition->facts.has_meanings && t->store.state.has_erased; /* reserved keys' pairs */
  *whole = status == TSR_OK && tally.hits == size && !may_hide;
  set_columns(j, side, slots, numbers_at(keys, key_bytes), numbers_at(values, value_bytes));
  return status;
}

/* Whether the lists of reserved keys are empty: their pairs are in no page, and look like slots without a pair. */
static tsr_status check_reserved(const tsr_joining *j, const tsr_table *t, bool *whole) {
  const uint32_t *offsets = t->store.state.part[TSR_ROLE_PROBING].region[0];
  uint32_t bounds[1 + TSR_TAIL_RESERVED] = {0};
  if (!shape_of(t)->has_lists) return TSR_OK;
  const tsr_status status = tsr_joining_read(j, offsets + shape_of(t)->lists, bounds, sizeof bounds);
  *whole = *whole && bounds[0] == bounds[TSR_TAIL_RESERVED];
  return status;
}

static tsr_status read_slots(tsr_joining *j, uint32_t side, bool *whole) {
  tsr_table *t = side == LEFT ? j->left : j->right;
  const tsr_composition *c = t->store.composition;
  const tsr_plan *plan = &c->part[TSR_ROLE_LAYOUT].plan;
  tsr_match *m = &j->match;
  const uint32_t value_bytes = wants_values(j, side) ? c->shape.value_bits / 8 : 0;
  const uint64_t page_slots = slots_of(t) / c->shape.pages;
  const tsr_page_run run = j->run.end ? j->run : (tsr_page_run){0, c->shape.pages};
  const uint64_t first = run.first * page_slots, slots = run.end * page_slots - first;
  tsr_status status = check_pairs(j, slots);
  if (status == TSR_OK) status = tsr_table_enter(t, TSR_PHASE_ALONE, NULL, j->error);
  if (status) return status;
  m->pages.page_slots[side] = page_slots;
  m->pages.offsets[side] = c->shape.has_lists ? t->store.state.part[TSR_ROLE_PROBING].region[0] : NULL;
  *whole = true;
  if (has_columns(j, side) && (j->run.end || !t->store.windows)) {
    tsr_state state;
    m->pages.tail_slots[side] = run.end == c->shape.pages ? c->tail_buckets * c->shape.bucket_slots : 0;
    status = bring(j, side, run, &state);
    set_columns(j, side, slots, column_of(&state, &plan->keys, first, m->bytes.key),
                column_of(&state, &plan->payloads, first, value_bytes));
  } else {
    status = write_slots(j, side, whole);
  }
  if (status == TSR_OK) status = check_reserved(j, t, whole);
  const tsr_status left_phase = tsr_table_leave(t, NULL, status ? NULL : j->error);
  return status ? status : left_phase;
}

/* Lists of a page: so few that it has keys for half of its index, where lists are long. */
static uint64_t page_lists(const tsr_joining *j) {
  const uint64_t left = slots_of(j->left), right = slots_of(j->right), slots = left > right ? left : right;
  const uint64_t keys = TSR_MATCH_INDEX_BYTES / j->match.bytes.key / 2;
  const uint64_t lists = slots ? keys * shape_of(j->left)->lists / slots : TSR_PAGE_LISTS;
  return lists > TSR_PAGE_LISTS ? TSR_PAGE_LISTS : lists ? lists : 1;
}

static uint64_t pages_of(const tsr_joining *j) {
  const tsr_shape *s = shape_of(j->left);
  const uint64_t lists = j->match.pages.page_lists;
  return s->has_lists ? (s->lists + lists - 1) / lists : j->run.end ? j->run.end - j->run.first : s->pages;
}

/* matched: false: some pairs are in no page, or a page has too many. cuts: left pairs of a page are cut into tiles. */
static tsr_status match_slots(tsr_joining *j, bool cuts, bool *matched) {
  tsr_match *m = &j->match;
  void *begins[SIDES] = {NULL};
  bool whole = true;
  tsr_status status = tsr_joining_take_counters(j);
  m->pages.lists = shape_of(j->left)->lists;
  m->pages.page_lists = page_lists(j);
  m->pages.count = pages_of(j);
  j->way = "page by page";
  for (uint32_t side = 0; status == TSR_OK && whole && side < SIDES; side++) {
    status = read_slots(j, side, &whole);
    if (status == TSR_OK)
      status = tsr_joining_take(j, "where pages begin", (m->pages.count + 1) * sizeof(uint64_t), -1, &begins[side]);
    m->pages.begins[side] = begins[side];
  }
  if (status || !whole) return status;
  const uint64_t tail =
      m->pages.tail_slots[LEFT] > m->pages.tail_slots[RIGHT] ? m->pages.tail_slots[LEFT] : m->pages.tail_slots[RIGHT];
  status = tsr_joining_step(j, TSR_MATCH_stray, tail);
  if (status == TSR_OK) status = tsr_joining_step(j, TSR_MATCH_bounds, m->pages.count + 1);
  if (status == TSR_OK && cuts) status = tsr_joining_cut(j);
  return status ? status : tsr_joining_meet_pages(j, matched);
}

static tsr_status match_pages(tsr_joining *j, bool *matched) { return match_slots(j, false, matched); }

/* Lists with too many pairs for a block. They have no gaps, so that pairs of large pages can be brought together. */
static tsr_status match_cut_lists(tsr_joining *j, bool *matched) {
  const bool cuts = shape_of(j->left)->has_lists && j->left->device->info.sm && tsr_joining_may_cut(j);
  return cuts ? match_slots(j, true, matched) : TSR_OK;
}

/* ---- Ways ------------------------------------------------------------------------------------ */

static uint32_t value_bytes_of(const tsr_joining *j, uint32_t side) {
  const tsr_table *t = side == LEFT ? j->left : j->right;
  return j->sides[side] ? j->sides[side]->value_bytes : t ? shape_of(t)->value_bits / 8 : 0;
}

static void begin_match(tsr_joining *j) {
  tsr_joining_free(j);
  j->rows_of_large = 0;
  j->match = (tsr_match){.bytes.key = shape_of(j->left)->key_bits / 8,
                         .bytes.left = value_bytes_of(j, LEFT),
                         .bytes.right = value_bytes_of(j, RIGHT),
                         .want.rows = j->rows_as,
                         .want.keys_once = j->keys_once};
}

/* About how many pairs a table of pages has: hashes spread keys evenly, so its first buckets tell. */
static tsr_status estimate_size(const tsr_joining *j, tsr_table *t, double *pairs) {
  enum { SAMPLE = 1 << 16 };
  const uint64_t buckets = shape_of(t)->buckets;
  const tsr_bulk bulk = {.n = buckets < SAMPLE ? buckets : SAMPLE};
  tsr_tally tally = {.hits = 0};
  tsr_status status = tsr_table_enter(t, TSR_PHASE_ALONE, NULL, j->error);
  if (status) return status;
  status = tsr_launch_alone(t, &t->store, TSR_BULK_size, &bulk, NULL, &tally, j->error);
  const tsr_status left_phase = tsr_table_leave(t, NULL, status ? NULL : j->error);
  *pairs = (double)tally.hits / (double)bulk.n * (double)buckets;
  return status ? status : left_phase;
}

/* Page by page both tables are read whole. A few left keys are found faster, but in lists, which are short to read where
 * they are empty. */
static tsr_status finds_are_better(const tsr_joining *j, bool *better) {
  enum { FEW = 8 };
  double lefts = 0, rights = 0;
  *better = false;
  if (keeps_all(j->right) || shape_of(j->right)->has_lists) return TSR_OK;
  tsr_status status = estimate_size(j, j->left, &lefts);
  if (status == TSR_OK) status = estimate_size(j, j->right, &rights);
  *better = status == TSR_OK && lefts < rights / FEW;
  return status;
}

/* One of the ways page by page. Where there is no memory for it, another way may need less. */
static tsr_status try_pages(tsr_joining *j, tsr_status (*way)(tsr_joining *, bool *), bool *matched) {
  tsr_error why = {TSR_OK, ""}, *callers = j->error;
  begin_match(j);
  j->error = &why; /* the caller gets this error only where nothing else is tried */
  const tsr_status status = way(j, matched);
  j->error = callers;
  if (status) *matched = false;
  if (status == TSR_NO_MEMORY || status == TSR_UNSUPPORTED) return TSR_OK;
  if (status && callers) *callers = why;
  return status;
}

/* Tables without common pages: whether an index of one side's keys, of which slots are an upper limit, stays in the cache. In
 * lists pairs of a key are neighbours, so that a warp looks at few places, and counts right pairs by few additions. */
static bool index_is_better(const tsr_joining *j) {
  enum { FEW = 8, PAIR_BYTES = 4 * sizeof(uint32_t) + sizeof(uint64_t) }; /* entries; how many right pairs */
  if (j->sides[LEFT] || !j->left->device->info.sm || j->match.bytes.key > 8) return false;
  const uint64_t lefts = slots_of(j->left), rights = slots_of(j->right), few = lefts < rights ? lefts : rights;
  const tsr_table *many = lefts < rights ? j->right : j->left;
  const uint64_t bytes = few * (PAIR_BYTES + j->match.bytes.key);
  return shape_of(many)->has_lists && few < slots_of(many) / FEW && bytes < j->left->device->info.l2_bytes / 2;
}

/* Very few left pairs would leave all rows to few blocks. Then rows are found by their numbers. */
static bool may_probe(const tsr_joining *j) {
  enum { BLOCKS = 8 };
  return j->out.room && slots_of(j->left) >= BLOCKS * TSR_MATCH_PROBED;
}

/* Pages that the tables have, or otherwise those that both sides are brought into. */
static tsr_status match_pages_if_better(tsr_joining *j, bool *matched) {
  const bool have_pages = !j->sides[LEFT] && have_same_pages(j->left, j->right);
  bool finds = false;
  tsr_status status = TSR_OK;
  *matched = false;
  if (have_pages) {
    status = finds_are_better(j, &finds);
    if (status == TSR_OK && !finds) status = try_pages(j, match_pages, matched);
    if (status == TSR_OK && !finds && !*matched) status = try_pages(j, match_cut_lists, matched);
  }
  if (status || *matched || finds || !may_repeat(j, RIGHT)) return status;
  if (!have_pages && index_is_better(j)) return may_probe(j) ? try_pages(j, meet_by_index, matched) : TSR_OK;
  if (have_pages && !tsr_joining_may_cut(j)) return TSR_OK; /* other pages would have too many pairs as well */
  return try_pages(j, tsr_joining_match_arrays, matched);
}

tsr_status tsr_joining_match(tsr_joining *j) {
  bool matched = false;
  tsr_status status = TSR_OK;
  begin_match(j);
  if (j->right && !j->has_no_pages) status = match_pages_if_better(j, &matched);
  if (status) return status;
  if (!matched) {
    begin_match(j);
    status = !j->right ? match_none(j) : may_repeat(j, RIGHT) ? match_by_index(j) : match_by_finds(j);
  }
  if (status == TSR_OK) status = count_rows(j);
  if (status == TSR_OK && j->right) j->right->joined = j->way;
  return status;
}

tsr_status tsr_joining_meet(tsr_joining *j, bool *met) {
  begin_match(j);
  tsr_status status = match_pages_if_better(j, met);
  if (status == TSR_OK && *met) status = count_rows(j);
  if (status == TSR_OK && *met) j->right->joined = j->way;
  j->out = (tsr_match_out){.room = 0};
  j->has_no_pages = !*met;
  return status;
}

tsr_status tsr_joining_run_pages(const tsr_joining *j, uint64_t *pages) {
  *pages = 0;
  if (!j->right || j->sides[LEFT] || (!j->left->store.windows && !j->right->store.windows)) return TSR_OK;
  if (!have_same_pages(j->left, j->right) || !has_columns(j, LEFT) || !has_columns(j, RIGHT)) return TSR_OK;
  bool finds;
  const tsr_status status = finds_are_better(j, &finds);
  if (status || finds) return status;
  *pages = shape_of(j->left)->pages;
  for (uint32_t side = 0; side < SIDES; side++) {
    const tsr_store *store = side == LEFT ? &j->left->store : &j->right->store;
    if (store->windows && store->composition->window_pages < *pages) *pages = store->composition->window_pages;
  }
  return TSR_OK;
}

tsr_status tsr_joining_match_run(tsr_joining *j, tsr_page_run run, bool *matched) {
  *matched = false;
  begin_match(j);
  j->run = run;
  tsr_status status = match_pages(j, matched);
  j->run = (tsr_page_run){0, 0};
  if (status == TSR_OK && *matched) status = count_rows(j);
  if (status == TSR_OK) j->right->joined = j->way;
  return status;
}

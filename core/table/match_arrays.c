/* SPDX-License-Identifier: Apache-2.0
 *
 * Matches of two sides that are arrays. The passes of ../batch/groups.h bring the mixed keys of both into the same bins,
 * and a block of threads joins a bin as it joins a page of tables. Left pairs of a bin are cut into tiles, so a frequent
 * left key has many blocks. Bins with too many right pairs for a block are joined by an index, all of them together. Why:
 * ../design/0020-joins.md. Read next: join.c.
 */
#include "core/batch/groups.h"
#include "core/batch/sum.h"
#include "core/table/match.h"
#include "core/table/table_struct.h"

enum { LEFT, RIGHT, SIDES };
enum {
  WORTH = 1 << 18,        /* pairs of both sides */
  EXPECTED_LEFT = 1 << 14 /* left pairs of a bin, at most */
};

/* Half of a page's index, at most, has keys. */
static uint64_t expected_right(const tsr_joining *j) { return TSR_MATCH_INDEX_BYTES / j->match.bytes.key / 2; }

static uint32_t bins_log2(const tsr_joining *j) {
  uint32_t bits = 1;
  while ((j->match.lefts - 1) >> bits >= EXPECTED_LEFT || (j->match.rights - 1) >> bits >= expected_right(j)) bits++;
  return bits;
}

static bool is_worth_it(const tsr_joining *j) {
  const uint64_t left = j->match.lefts, right = j->match.rights;
  return left && right && left <= TSR_GROUPS_MOST && right <= TSR_GROUPS_MOST && left + right >= WORTH;
}

static tsr_status bring(tsr_joining *j, uint32_t side) {
  tsr_match *m = &j->match;
  const bool wants_values = side == LEFT ? j->wants_left_values : j->wants_right_values;
  const uint32_t value_bytes = side == LEFT ? m->bytes.left : m->bytes.right;
  tsr_groups_order order = {.n = side == LEFT ? m->lefts : m->rights,
                            .keys = side == LEFT ? m->left_keys.at : m->right_keys.at,
                            .values = side == LEFT ? m->left_values.at : m->right_values.at,
                            .key_bytes = m->bytes.key,
                            .value_bytes = wants_values ? value_bytes : 0,
                            .seed = m->pages.seed,
                            .bins_log2 = m->pages.mixed_log2};
  void *memory = NULL;
  const tsr_status status = tsr_groups_bring(j->left->device, &order, j->stream, &memory, j->error);
  if (status) return status;
  j->memory[j->memories++] = memory;
  tsr_joining_columns(j, side, order.room, order.mixed, order.brought);
  m->pages.ends[side] = order.ends;
  m->pages.begins[side] = (uint64_t *)order.begins;
  return TSR_OK;
}

bool tsr_joining_may_cut(const tsr_joining *j) {
  const bool tells_pairs = j->wants_rows && !j->out.room; /* where each left pair's rows begin */
  return !tells_pairs && !j->keys_once;
}

tsr_status tsr_joining_cut(tsr_joining *j) {
  tsr_match *m = &j->match;
  const uint64_t most = m->lefts / TSR_MATCH_TILE + m->pages.count;
  void *tiles, *owners, *larges;
  tsr_status status =
      tsr_joining_take(j, "tiles of left pairs", (m->pages.count + 1) * sizeof *m->pages.tiles, -1, &tiles);
  if (status == TSR_OK)
    status = tsr_joining_take(j, "large pages", m->pages.count * sizeof *m->pages.larges, -1, &larges);
  if (status == TSR_OK)
    status = tsr_joining_take(j, "tiles of left pairs", most * sizeof *m->pages.owners, -1, &owners);
  if (status) return status;
  m->pages.tiles = tiles;
  m->pages.owners = owners;
  m->pages.larges = larges;
  status = tsr_joining_step(j, TSR_MATCH_cut, m->pages.count);
  if (status == TSR_OK) status = tsr_prefix_sum(j->left->device, m->pages.tiles, m->pages.count, j->stream, j->error);
  return status ? status : tsr_joining_step(j, TSR_MATCH_spread, m->pages.count);
}

/* Where right values go in the order of keys: where they are in the order of bins, or to memory of each block. Behind that there
 * is room for those of tiles with long rows, if there is memory for it: all right values once, and some again for the further
 * tiles of a page. */
static tsr_status take_grouped(tsr_joining *j) {
  tsr_match *m = &j->match;
  const uint64_t blocks = (uint64_t)TSR_MATCH_BLOCKS * TSR_MATCH_PAGE_ITEMS;
  const char *const what = "right values in the order of keys";
  void *grouped = NULL;
  if (!j->wants_right_values) return TSR_OK;
  m->index.kept_room = m->pages.tiles && j->out.room ? m->rights + m->lefts / 4 : 0;
  tsr_status status = TSR_NO_MEMORY;
  if (m->index.kept_room)
    status = tsr_joining_take(j, what, (blocks + m->index.kept_room) * m->bytes.right, -1, &grouped);
  if (status == TSR_NO_MEMORY) {
    m->index.kept_room = 0;
    status = tsr_joining_take(j, what, (m->pages.tiles ? blocks : m->rights) * m->bytes.right, -1, &grouped);
  }
  m->index.grouped = grouped;
  return status;
}

/* ---- Large pages ----------------------------------------------------------------------------- */

/* Their items of a column, one page after the other. A column of no bytes is not wanted. */
static tsr_status gather(tsr_joining *j, uint64_t n, const tsr_numbers *column, const void **gathered) {
  void *memory;
  if (!column->at || !column->bytes) return TSR_OK;
  const tsr_status status = tsr_joining_take(j, "pairs of frequent keys", n * column->bytes, -1, &memory);
  j->match.index.keys = *column;
  j->match.index.grouped = memory;
  *gathered = memory;
  return status ? status : tsr_joining_step(j, TSR_MATCH_gather, n);
}

/* j: a copy, whose memory is its own. */
static tsr_status gather_side(tsr_joining *j, uint32_t larges, uint32_t side, tsr_joining_side *to) {
  tsr_match *m = &j->match;
  void *firsts;
  const tsr_numbers keys = side == LEFT ? m->left_keys : m->right_keys;
  const tsr_numbers values = side == LEFT ? m->left_values : m->right_values;
  *to = (tsr_joining_side){.value_bytes = side == LEFT ? m->bytes.left : m->bytes.right};
  tsr_status status =
      tsr_joining_take(j, "where pages begin", (larges + 1ull) * sizeof *m->matches.begins, -1, &firsts);
  if (status) return status;
  m->lefts = larges;
  m->matches.begins = firsts;
  m->pages.begins[0] = m->pages.begins[side];
  m->pages.ends[0] = m->pages.ends[side];
  status = tsr_joining_step(j, TSR_MATCH_measure, larges);
  if (status == TSR_OK) status = tsr_joining_sum(j, m->matches.begins, larges, &to->n);
  if (status == TSR_OK) status = gather(j, to->n, &keys, &to->keys);
  return status ? status : gather(j, to->n, &values, &to->values);
}

static void *column_from(void *column, uint64_t row, uint32_t bytes) {
  return column ? (char *)column + row * bytes : NULL;
}

/* Writes the rows of `one` behind those of j, as far as there is room for all of them. */
static tsr_status write_behind(const tsr_joining *j, tsr_joining *one) {
  tsr_match *m = &one->match;
  uint64_t first = 0;
  tsr_status status = tsr_joining_read(j, j->match.matches.total, &first, sizeof first);
  if (status || !one->rows || first + one->rows > j->out.room) return status;
  m->out = j->out;
  m->out.keys = column_from(j->out.keys, first, m->bytes.key);
  m->out.left = column_from(j->out.left, first, m->bytes.left);
  m->out.right = column_from(j->out.right, first, m->bytes.right);
  m->pages.seed = j->match.pages.seed;
  status = tsr_joining_step(one, TSR_MATCH_rows, one->rows);
  if (status || !m->out.keys || !j->match.pages.mixed_log2) return status;
  return tsr_joining_step(one, TSR_MATCH_unmix, one->rows);
}

/* Joins the pages that have too many right pairs for a block, all of them together, by an index of their right keys. */
static tsr_status join_larges(tsr_joining *j, uint32_t larges) {
  tsr_joining_side sides[SIDES] = {{.n = 0}};
  tsr_joining one = *j, gathered = *j;
  tsr_status status = TSR_OK;
  gathered.memories = one.memories = 0;
  one.has_no_pages = true;
  one.out.room = 0;
  for (uint32_t side = 0; status == TSR_OK && side < SIDES; side++) {
    const tsr_match match = gathered.match;
    status = gather_side(&gathered, larges, side, &sides[side]);
    gathered.match = match;
    one.sides[side] = &sides[side];
  }
  if (status == TSR_OK) status = tsr_joining_match(&one);
  if (status == TSR_OK && j->out.room) status = write_behind(j, &one);
  j->rows_of_large = one.rows;
  tsr_joining_free(&one);
  tsr_joining_free(&gathered);
  return status;
}

/* ---- All ------------------------------------------------------------------------------------- */

/* Where blocks note the pieces of long rows. On the CPU, and without memory for it, they write all rows themselves. */
static tsr_status take_pieces(tsr_joining *j) {
  tsr_match *m = &j->match;
  void *pieces = NULL;
  m->matches.pieces = NULL;
  if (!j->out.room || !j->left->device->info.sm) return TSR_OK;
  m->matches.pieces_room = j->out.room / TSR_MATCH_LONG;
  const tsr_status status =
      tsr_joining_take(j, "pieces of rows", m->matches.pieces_room * sizeof *m->matches.pieces, -1, &pieces);
  m->matches.pieces = pieces;
  return status == TSR_NO_MEMORY ? (tsr_status)TSR_OK : status;
}

/* A step that may leave pieces. Waits. *counted: what blocks have counted. */
static tsr_status meet(tsr_joining *j, uint32_t step, uint64_t n, tsr_match_counters *counted) {
  const tsr_match *m = &j->match;
  tsr_status status = take_pieces(j);
  if (status == TSR_OK) status = tsr_joining_step(j, step, n);
  if (status == TSR_OK) status = tsr_joining_read(j, m->pages.counters, counted, sizeof *counted);
  if (status || counted->gave_up) return status;
  const uint64_t pieces = counted->pieces < m->matches.pieces_room ? counted->pieces : m->matches.pieces_room;
  return tsr_joining_step(j, TSR_MATCH_pieces, pieces);
}

tsr_status tsr_joining_take_counters(tsr_joining *j) {
  void *counters;
  const tsr_status status = tsr_joining_take(j, "what is counted", sizeof *j->match.pages.counters, 0, &counters);
  j->match.pages.counters = counters;
  return status;
}

tsr_status tsr_joining_meet_pages(tsr_joining *j, bool *matched) {
  static const uint32_t steps[2][2] = {{TSR_MATCH_pages, TSR_MATCH_wide_pages}, {TSR_MATCH_meet, TSR_MATCH_wide_meet}};
  tsr_match *m = &j->match;
  tsr_match_counters counted = {.gave_up = 1};
  tsr_status status = tsr_joining_take_rows(j);
  if (status == TSR_OK) status = take_grouped(j);
  m->out = j->out;
  if (status == TSR_OK) status = meet(j, steps[j->out.room != 0][m->bytes.key == 8], m->pages.count, &counted);
  if (status == TSR_OK && !counted.gave_up && counted.larges) status = join_larges(j, counted.larges);
  if (m->index.grouped) m->right_values = (tsr_numbers){m->index.grouped, m->bytes.right, m->bytes.right};
  *matched = status == TSR_OK && !counted.gave_up;
  return status;
}

tsr_status tsr_joining_probe(tsr_joining *j, bool *matched) {
  tsr_match_counters counted = {.gave_up = 1};
  tsr_status status = tsr_joining_take_counters(j);
  j->match.out = j->out;
  if (status == TSR_OK)
    status = meet(j, j->match.bytes.key == 8 ? TSR_MATCH_wide_probe : TSR_MATCH_probe, j->match.lefts, &counted);
  *matched = status == TSR_OK && !counted.gave_up;
  return status;
}

/* Sides of which at least one may have enough pairs. */
static bool may_be_worth_it(const tsr_joining *j) {
  uint64_t most = 0;
  for (uint32_t side = 0; side < SIDES; side++) {
    const tsr_shape *shape = &(side == LEFT ? j->left : j->right)->store.composition->shape;
    most += j->sides[side] ? j->sides[side]->n : shape->buckets * shape->bucket_slots;
  }
  return j->left->device->info.sm && j->match.bytes.key <= 8 && most >= WORTH;
}

/* Both sides in bins. */
static tsr_status bring_sides(tsr_joining *j) {
  tsr_match *m = &j->match;
  j->way = "page by page, both sides put in order first";
  m->pages.mixed_log2 = bins_log2(j);
  m->pages.count = 1ull << m->pages.mixed_log2;
  m->pages.seed = j->left->store.composition->settings.seed;
  tsr_status status = bring(j, RIGHT);
  if (status == TSR_OK) status = bring(j, LEFT);
  return status || !tsr_joining_may_cut(j) ? status : tsr_joining_cut(j);
}

tsr_status tsr_joining_match_arrays(tsr_joining *j, bool *matched) {
  *matched = false;
  if (!may_be_worth_it(j)) return TSR_OK;
  tsr_status status = tsr_joining_write_out(j, LEFT);
  if (status == TSR_OK) status = tsr_joining_write_out(j, RIGHT);
  if (status || !is_worth_it(j)) return status;
  status = bring_sides(j);
  if (status == TSR_OK) status = tsr_joining_take_counters(j);
  return status ? status : tsr_joining_meet_pages(j, matched);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Matches of two sides that are arrays. The passes of ../batch/groups.h bring the mixed keys of both into the same bins,
 * and a block of threads joins a bin as it joins a page of tables. Left pairs of a bin are cut into tiles, so a frequent
 * left key has many blocks. Bins with too many right pairs for a block are joined by an index, all of them together. Why:
 * ../design/0020-joins.md. Read next: join.c.
 */
#include <stdlib.h>

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
  while ((j->sides[LEFT]->n - 1) >> bits >= EXPECTED_LEFT || (j->sides[RIGHT]->n - 1) >> bits >= expected_right(j))
    bits++;
  return bits;
}

static bool is_worth_it(const tsr_joining *j) {
  const uint64_t left = j->sides[LEFT]->n, right = j->sides[RIGHT]->n;
  return j->left->device->info.sm && left && right && left <= TSR_GROUPS_MOST && right <= TSR_GROUPS_MOST &&
         left + right >= WORTH;
}

static tsr_status bring(tsr_joining *j, uint32_t side) {
  tsr_match *m = &j->match;
  const tsr_joining_side *from = j->sides[side];
  const bool wants_values = side == LEFT ? j->wants_left_values : j->wants_right_values;
  tsr_groups_order order = {.n = from->n,
                            .keys = from->keys,
                            .values = from->values,
                            .key_bytes = m->bytes.key,
                            .value_bytes = wants_values ? from->value_bytes : 0,
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

/* Cuts the left pairs of the bins into tiles. */
static tsr_status cut(tsr_joining *j) {
  tsr_match *m = &j->match;
  const uint64_t most = j->sides[LEFT]->n / TSR_MATCH_TILE + m->pages.count;
  void *tiles, *owners, *larges;
  tsr_status status =
      tsr_joining_take(j, "tiles of left pairs", (m->pages.count + 1) * sizeof *m->pages.tiles, -1, &tiles);
  if (status == TSR_OK)
    status = tsr_joining_take(j, "large pages", (m->pages.count + 1) * sizeof *m->pages.larges, 0, &larges);
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

/* Where right values go in the order of keys: where they are in the order of bins, or to memory of each block. */
static tsr_status take_grouped(tsr_joining *j) {
  tsr_match *m = &j->match;
  const uint64_t pairs = m->pages.tiles ? (uint64_t)TSR_MATCH_BLOCKS * TSR_MATCH_PAGE_ITEMS : m->rights;
  void *grouped = NULL;
  tsr_status status = TSR_OK;
  if (j->wants_right_values)
    status = tsr_joining_take(j, "right values in the order of keys", pairs * m->bytes.right, -1, &grouped);
  m->index.grouped = grouped;
  return status;
}

/* ---- Large pages ----------------------------------------------------------------------------- */

/* Where the pairs of pages are, on the host. */
typedef struct pages_at {
  uint32_t *larges; /* how many, and which */
  uint64_t *begins[SIDES];
  uint32_t *ends[SIDES];
} pages_at;

static tsr_status read_pages(const tsr_joining *j, pages_at *at) {
  const tsr_match_pages *pages = &j->match.pages;
  const uint64_t n = pages->count;
  tsr_status status = TSR_OK;
  at->larges = malloc((n + 1) * sizeof *at->larges);
  for (uint32_t side = 0; side < SIDES; side++) {
    at->begins[side] = malloc(n * sizeof *at->begins[side]);
    at->ends[side] = malloc(n * sizeof *at->ends[side]);
    if (!at->larges || !at->begins[side] || !at->ends[side])
      return tsr_fail(j->error, TSR_NO_MEMORY, "no memory for where %llu pages are", (unsigned long long)n);
    if (status == TSR_OK) status = tsr_joining_read(j, pages->begins[side], at->begins[side], n * sizeof(uint64_t));
    if (status == TSR_OK) status = tsr_joining_read(j, pages->ends[side], at->ends[side], n * sizeof(uint32_t));
  }
  return status ? status : tsr_joining_read(j, pages->larges, at->larges, (n + 1) * sizeof *at->larges);
}

static void free_pages(pages_at *at) {
  free(at->larges);
  for (uint32_t side = 0; side < SIDES; side++) {
    free(at->begins[side]);
    free(at->ends[side]);
  }
}

/* The items of these pages of a column, one page after the other. at: NULL: not wanted. */
static tsr_status gather(tsr_joining *j, const pages_at *at, uint32_t side, uint64_t n, const tsr_numbers *column,
                         const void **gathered) {
  const tsr_backend *backend = j->left->backend;
  uint64_t done = 0;
  void *memory;
  if (!column->at) return TSR_OK;
  tsr_status status = tsr_joining_take(j, "pairs of frequent keys", n * column->bytes, -1, &memory);
  *gathered = memory;
  for (uint32_t i = 1; status == TSR_OK && i <= at->larges[0]; i++) {
    const uint64_t begin = at->begins[side][at->larges[i]], count = at->ends[side][at->larges[i]] - begin;
    status =
        backend->copy(j->left->device, (char *)memory + done * column->bytes,
                      (const char *)column->at + begin * column->bytes, count * column->bytes, j->stream, j->error);
    done += count;
  }
  return status;
}

static tsr_status gather_side(tsr_joining *j, const pages_at *at, uint32_t side, tsr_joining_side *to) {
  const tsr_match *m = &j->match;
  *to = (tsr_joining_side){.value_bytes = j->sides[side]->value_bytes};
  for (uint32_t i = 1; i <= at->larges[0]; i++)
    to->n += at->ends[side][at->larges[i]] - at->begins[side][at->larges[i]];
  const tsr_status status = gather(j, at, side, to->n, side == LEFT ? &m->left_keys : &m->right_keys, &to->keys);
  return status ? status : gather(j, at, side, to->n, side == LEFT ? &m->left_values : &m->right_values, &to->values);
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
  return status || !m->out.keys ? status : tsr_joining_step(one, TSR_MATCH_unmix, one->rows);
}

/* Joins the pages that have too many right pairs for a block, all of them together, by an index of their right keys. */
static tsr_status join_larges(tsr_joining *j) {
  pages_at at = {.larges = NULL};
  tsr_joining_side sides[SIDES] = {{.n = 0}};
  tsr_joining one = *j;
  one.memories = 0;
  one.has_no_pages = true;
  one.out.room = 0;
  tsr_status status = read_pages(j, &at);
  for (uint32_t side = 0; status == TSR_OK && side < SIDES; side++) {
    status = gather_side(j, &at, side, &sides[side]);
    one.sides[side] = &sides[side];
  }
  free_pages(&at);
  if (status == TSR_OK) status = tsr_joining_match(&one);
  if (status == TSR_OK && j->out.room) status = write_behind(j, &one);
  j->rows_of_large = one.rows;
  tsr_joining_free(&one);
  return status;
}

/* ---- All ------------------------------------------------------------------------------------- */

/* Matches, and the pages that are left. */
static tsr_status match_pages(tsr_joining *j, uint32_t *gave_up) {
  static const uint32_t steps[2][2] = {{TSR_MATCH_pages, TSR_MATCH_wide_pages}, {TSR_MATCH_meet, TSR_MATCH_wide_meet}};
  const tsr_match *m = &j->match;
  uint32_t larges = 0;
  tsr_status status = tsr_joining_step(j, steps[j->out.room != 0][m->bytes.key == 8], m->pages.count);
  if (status == TSR_OK) status = tsr_joining_read(j, m->pages.gave_up, gave_up, sizeof *gave_up);
  if (status == TSR_OK && m->pages.tiles) status = tsr_joining_read(j, m->pages.larges, &larges, sizeof larges);
  return status || *gave_up || !larges ? status : join_larges(j);
}

tsr_status tsr_joining_match_arrays(tsr_joining *j, bool *matched) {
  tsr_match *m = &j->match;
  uint32_t gave_up = 1;
  void *flag = NULL;
  *matched = false;
  if (!is_worth_it(j)) return TSR_OK;
  j->way = "page by page, both sides put in order first";
  m->pages.mixed_log2 = bins_log2(j);
  m->pages.count = 1ull << m->pages.mixed_log2;
  m->pages.seed = j->left->store.composition->settings.seed;
  tsr_status status = bring(j, RIGHT);
  if (status == TSR_OK) status = bring(j, LEFT);
  const bool tells_pairs = j->wants_rows && !j->out.room; /* where each left pair's rows begin */
  if (status == TSR_OK && !tells_pairs && !j->keys_once) status = cut(j);
  if (status == TSR_OK) status = tsr_joining_take_rows(j);
  if (status == TSR_OK) status = take_grouped(j);
  if (status == TSR_OK) status = tsr_joining_take(j, "a flag", sizeof gave_up, 0, &flag);
  m->pages.gave_up = flag;
  m->out = j->out;
  if (status == TSR_OK) status = match_pages(j, &gave_up);
  if (m->index.grouped) m->right_values = (tsr_numbers){m->index.grouped, m->bytes.right, m->bytes.right};
  *matched = status == TSR_OK && !gave_up;
  return status;
}

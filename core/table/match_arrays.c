/* SPDX-License-Identifier: Apache-2.0
 *
 * Matches of two sides that are arrays. The passes of ../batch/groups.h bring the mixed keys of both into the same bins,
 * and a block of threads joins a bin as it joins a page of tables. Left pairs of a bin are cut into tiles, so a frequent
 * left key has many blocks. If a bin has too many right pairs for a block, the whole join goes by an index. Why:
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
  void *tiles, *owners;
  tsr_status status =
      tsr_joining_take(j, "tiles of left pairs", (m->pages.count + 1) * sizeof *m->pages.tiles, -1, &tiles);
  if (status == TSR_OK)
    status = tsr_joining_take(j, "tiles of left pairs", most * sizeof *m->pages.owners, -1, &owners);
  if (status) return status;
  m->pages.tiles = tiles;
  m->pages.owners = owners;
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

tsr_status tsr_joining_match_arrays(tsr_joining *j, bool *matched) {
  static const uint32_t steps[2][2] = {{TSR_MATCH_pages, TSR_MATCH_wide_pages}, {TSR_MATCH_meet, TSR_MATCH_wide_meet}};
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
  if (status == TSR_OK) status = tsr_joining_step(j, steps[j->out.room != 0][m->bytes.key == 8], m->pages.count);
  if (status == TSR_OK) status = tsr_joining_read(j, m->pages.gave_up, &gave_up, sizeof gave_up);
  if (m->index.grouped) m->right_values = (tsr_numbers){m->index.grouped, m->bytes.right, m->bytes.right};
  *matched = status == TSR_OK && !gave_up;
  return status;
}

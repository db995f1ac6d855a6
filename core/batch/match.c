/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps of match.h as data, and what the CPU does other than item by item: a thread works on a page as a block
 * does on a GPU.
 */
#include "core/batch/match.h"

#include <stdbool.h>
#include <string.h>

#include "core/batch/set.cuh"

/* Relaxed, like all here: counts are read after the team has joined. */
static void add_rows(const tsr_match *m, uint64_t rows) {
  if (rows && !m->matches.begins) __atomic_fetch_add(m->matches.total, rows, __ATOMIC_RELAXED);
}

static void rank_item(const tsr_match *m, uint64_t i) {
  if (m->index.leaders[i] == TSR_MATCH_NONE) return;
  const uint64_t rank = __atomic_fetch_add(&m->index.groups[m->index.leaders[i]], 1, __ATOMIC_RELAXED);
  if (m->index.ranks) m->index.ranks[i] = (uint32_t)rank;
}

/* The first row's pair is searched for; the others follow. */
static void rows_range(const tsr_cpu_table *table, const void *argument, uint64_t begin, uint64_t end) {
  const tsr_match *m = argument;
  (void)table;
  uint64_t p = begin < end ? tsr_match_pair_of(m, begin, 0, m->lefts) : 0;
  for (uint64_t r = begin; r < end; r++) {
    while (m->matches.begins[p + 1] <= r) p++;
    tsr_match_row(m, r, p);
  }
}

static void pieces_range(const tsr_cpu_table *table, const void *argument, uint64_t begin, uint64_t end) {
  (void)table;
  for (uint64_t i = begin; i < end; i++) tsr_match_write_piece(argument, i, 0, 1);
}

/* Rows of a range get their places at once. */
static void probe_range(const tsr_cpu_table *table, const void *argument, uint64_t begin, uint64_t end) {
  const tsr_match *m = argument;
  uint64_t rows = 0;
  uint32_t first;
  (void)table;
  for (uint64_t p = begin; p < end; p++)
    rows += tsr_match_rows_of(m, tsr_match_matches_of(m, tsr_match_key_at(&m->left_keys, p), &first));
  uint64_t r = __atomic_fetch_add(m->matches.total, rows, __ATOMIC_RELAXED);
  for (uint64_t p = begin; p < end; p++) {
    const tsr_match_key key = tsr_match_key_at(&m->left_keys, p);
    const uint64_t matches = tsr_match_matches_of(m, key, &first);
    uint64_t match = matches ? first : TSR_MATCH_NONE;
    const uint64_t last = r + tsr_match_rows_of(m, matches);
    for (; r < last; r++, match += match != TSR_MATCH_NONE) tsr_match_meet_row(m, r, p, key.low, match);
  }
}
#define wide_probe_range probe_range

/* ---- Pages ----------------------------------------------------------------------------------- */

/* The groups of a page: the key of each, how many right pairs it has (later where these end), and whether a left pair
 * of it has come. */
enum { GROUPS = TSR_MATCH_INDEX_BYTES / sizeof(uint32_t) };
typedef struct page_groups {
  uint64_t keys[GROUPS];
  uint32_t ends[GROUPS];
  bool seen[GROUPS];
  uint64_t vacant, none; /* the least key of a slot without a pair, and that of a free group */
} page_groups;

/* The group of a key, made if there is none; TSR_MATCH_NONE: it would be too far away. */
static uint32_t group_of(page_groups *g, uint64_t key, bool makes) {
  uint32_t e = set_home(set_hash(key), GROUPS);
  for (uint32_t probes = 0; probes < TSR_MATCH_PROBES; probes++, e = (e + 1) % GROUPS) {
    if (g->keys[e] == key) return e;
    if (g->keys[e] != g->none) continue;
    if (!makes) return TSR_MATCH_NONE;
    g->keys[e] = key;
    return e;
  }
  return TSR_MATCH_NONE;
}

/* Whether all right pairs of the page found a group. */
static bool group_page(const tsr_match *m, uint64_t begin, uint64_t end, page_groups *g) {
  for (uint64_t i = begin; i < end; i++) {
    const uint64_t key = tsr_match_number(&m->right_keys, i);
    if (key >= g->vacant) continue;
    const uint32_t e = group_of(g, key, true);
    if (e == TSR_MATCH_NONE) return false;
    g->ends[e]++;
  }
  return true;
}

static void place_page(const tsr_match *m, uint64_t begin, uint64_t end, page_groups *g) {
  uint32_t next = 0;
  for (uint32_t e = 0; e < GROUPS; e++) {
    const uint32_t count = g->ends[e];
    g->ends[e] = next;
    next += count;
  }
  for (uint64_t i = begin; i < end; i++) {
    const uint64_t key = tsr_match_number(&m->right_keys, i);
    if (key < g->vacant)
      tsr_match_put(m->index.grouped, begin + g->ends[group_of(g, key, false)]++, m->bytes.right,
                    tsr_match_number(&m->right_values, i));
  }
}

/* False: a left key found no group. */
static bool look_page(const tsr_match *m, uint64_t right_begin, uint64_t begin, uint64_t end, page_groups *g) {
  const bool makes = m->want.keys_once && tsr_match_wants_absent(m);
  uint64_t rows = 0;
  for (uint64_t p = begin; p < end; p++) {
    const uint64_t key = tsr_match_number(&m->left_keys, p);
    if (key >= g->vacant) {
      tsr_match_tell(m, p, 0, 0, 0);
      continue;
    }
    const uint32_t e = group_of(g, key, makes);
    const bool is_there = e != TSR_MATCH_NONE;
    const uint32_t first = is_there && e && m->index.grouped ? g->ends[e - 1] : 0;
    bool leads = true;
    if (makes && !is_there) return false;
    if (m->want.keys_once && is_there) {
      leads = !g->seen[e];
      g->seen[e] = true;
    }
    rows += tsr_match_tell(m, p, (uint32_t)(right_begin + first), is_there ? g->ends[e] - first : 0, leads);
  }
  add_rows(m, rows);
  return true;
}

/* The matches of a left pair; *match: where the first one is. */
static uint64_t matches_of(const tsr_match *m, page_groups *g, uint64_t right_begin, uint64_t p, uint64_t *match) {
  const uint64_t key = tsr_match_number(&m->left_keys, p);
  const uint32_t e = group_of(g, key, false), is_there = e != TSR_MATCH_NONE;
  const uint32_t first = is_there && e && m->index.grouped ? g->ends[e - 1] : 0;
  *match = is_there ? right_begin + first : TSR_MATCH_NONE;
  return is_there ? g->ends[e] - first : 0;
}

/* All rows of a page get their places at once. */
static void meet_page(const tsr_match *m, uint64_t right_begin, uint64_t begin, uint64_t end, page_groups *g) {
  uint64_t rows = 0, match;
  for (uint64_t p = begin; p < end; p++)
    if (tsr_match_number(&m->left_keys, p) < g->vacant)
      rows += tsr_match_rows_of(m, matches_of(m, g, right_begin, p, &match));
  uint64_t r = __atomic_fetch_add(m->matches.total, rows, __ATOMIC_RELAXED);
  for (uint64_t p = begin; p < end; p++) {
    const uint64_t key = tsr_match_number(&m->left_keys, p);
    if (key >= g->vacant) continue;
    const uint64_t last = r + tsr_match_rows_of(m, matches_of(m, g, right_begin, p, &match));
    for (; r < last; r++, match += match != TSR_MATCH_NONE) tsr_match_meet_row(m, r, p, key, match);
  }
}

static bool match_page(const tsr_match *m, uint64_t page, page_groups *g) {
  const uint64_t *left = m->pages.begins[0] + page, *right = m->pages.begins[1] + page;
  if (left[1] - left[0] > TSR_MATCH_PAGE_ITEMS || right[1] - right[0] > TSR_MATCH_PAGE_ITEMS) return false;
  memset(g->ends, 0, sizeof g->ends);
  memset(g->seen, 0, sizeof g->seen);
  for (uint32_t e = 0; e < GROUPS; e++) g->keys[e] = g->none;
  if (!group_page(m, right[0], right[1], g)) return false;
  if (m->index.grouped) place_page(m, right[0], right[1], g);
  if (!m->out.room) return look_page(m, right[0], left[0], left[1], g);
  meet_page(m, right[0], left[0], left[1], g);
  return true;
}

static void pages_range(const tsr_cpu_table *table, const void *argument, uint64_t begin, uint64_t end) {
  const tsr_match *m = argument;
  page_groups g;
  (void)table;
  g.vacant = tsr_match_vacant(m);
  g.none = g.vacant + 1;
  for (uint64_t page = begin; page < end; page++)
    if (!match_page(m, page, &g)) __atomic_store_n(&m->pages.counters->gave_up, 1, __ATOMIC_RELAXED);
}
#define wide_pages_range pages_range
#define meet_range pages_range
#define wide_meet_range pages_range

/* ---- As data --------------------------------------------------------------------------------- */

/* A page's index on a GPU: keys, whether each has a left pair, and how many right pairs, if that counts. */
static void fit_index(const tsr_shape *table, const void *argument, tsr_grid *grid) {
  const tsr_match *m = argument;
  const uint32_t groups = TSR_MATCH_INDEX_BYTES / m->bytes.key;
  (void)table;
  grid->shared_bytes =
      TSR_MATCH_INDEX_BYTES + groups / 8 + (tsr_match_counts(m) ? groups * (uint32_t)sizeof(uint16_t) : 0);
  if (m->pages.tiles) grid->blocks = TSR_MATCH_BLOCKS;
}

#define EACH(step) TSR_STEP_RANGE(step##_range, tsr_match, tsr_match_##step##_item)
#define ROWS(step)                                                                                                     \
  static void step##_range(const tsr_cpu_table *table, const void *argument, uint64_t begin, uint64_t end) {           \
    uint64_t rows = 0;                                                                                                 \
    (void)table;                                                                                                       \
    for (uint64_t i = begin; i < end; i++) rows += tsr_match_##step##_item(argument, i);                               \
    add_rows(argument, rows);                                                                                          \
  }
#define NOTHING(step, ...)
TSR_MATCH_STEPS(EACH, ROWS, NOTHING)
TSR_STEP_RANGE(rank_range, tsr_match, rank_item)

#define ROW(name, ...)                                                                                                 \
  {.set = &tsr_match_steps, .kernel = "tsr_match_" #name "_kernel", .range = name##_range, __VA_ARGS__},
static const tsr_step steps[] = {TSR_MATCH_STEPS(ROW, ROW, ROW)};
extern const tsr_image tsr_match_images[];
const tsr_steps tsr_match_steps = {.images = tsr_match_images, .step = steps, .count = TSR_MATCH_STEP_COUNT};

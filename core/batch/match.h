/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps by which the pairs of two tables are matched and rows are written: their list, their argument, and what an item
 * does. They work on columns of keys and values, in the tables or written out of them, so that they know of no part.
 * Why: ../design/0020-joins.md. Read next: ../kernels/steps.h, ../table/join.c.
 *
 * All pairs of one key are a group, which the first of them to come leads. A left pair has matches: neighbours in a column
 * of right values, from its `firsts` on. Rows lie pair by pair, from its `begins` on; so each row is found by halving, and
 * a thread has the same work whatever key it is at.
 */
#ifndef TSR_BATCH_MATCH_H
#define TSR_BATCH_MATCH_H

#include "core/kernels/steps.h"

/* group: puts pairs of a side into the index. rank: counts each group. place: right values go to their groups. look: matches
 * of left pairs by the index; found: those that were looked up in the right table; alone: left pairs without a right side.
 * stray: looks for pairs that lie in no page. bounds: where each page's pairs begin. pages, wide_pages: matches page by page,
 * for keys of 32 and of 64 bits. rows: writes rows. fold: combines right values, row by row. mark: which left pairs have a
 * row; emit: these, with what was combined. sketch: about how many keys of a column differ (sketch.c).
 * Items of ROWS return how many rows they have, which are added up. */
#define TSR_MATCH_STEPS(ITEM, ROWS, OWN)                                                                               \
  ITEM(group)                                                                                                          \
  OWN(rank)                                                                                                            \
  ITEM(place)                                                                                                          \
  ROWS(look)                                                                                                           \
  ROWS(found)                                                                                                          \
  ROWS(alone)                                                                                                          \
  ITEM(stray)                                                                                                          \
  ITEM(bounds)                                                                                                         \
  OWN(pages, .grid = {.threads = TSR_MATCH_THREADS, .block_items = 1}, .fit = fit_index)                               \
  OWN(wide_pages, .grid = {.threads = TSR_MATCH_THREADS, .block_items = 1}, .fit = fit_index)                          \
  OWN(rows, .grid = {.block_items = TSR_MATCH_ROWS})                                                                   \
  ITEM(fold)                                                                                                           \
  ITEM(mark)                                                                                                           \
  ITEM(emit)                                                                                                           \
  ROWS(sketch)
#define TSR_MATCH_ENUM(step, ...) TSR_MATCH_##step,
enum { TSR_MATCH_STEPS(TSR_MATCH_ENUM, TSR_MATCH_ENUM, TSR_MATCH_ENUM) TSR_MATCH_STEP_COUNT };

/* How many rows a left pair has: its matches, or these and one where there are none, or one where it has any, or none, or
 * always. */
enum { TSR_ROWS_EACH, TSR_ROWS_OUTER, TSR_ROWS_PRESENT, TSR_ROWS_ABSENT, TSR_ROWS_ONE };

/* What fold combines; of TSR_FOLD_COUNT nothing needs to be combined. */
enum { TSR_FOLD_SUM, TSR_FOLD_MIN, TSR_FOLD_MAX, TSR_FOLD_COUNT };

#define TSR_MATCH_NONE 0xFFFFFFFFu /* no pair; numbers of pairs are below it */

enum {
  TSR_MATCH_THREADS = 512,            /* of a block that matches a page */
  TSR_MATCH_INDEX_BYTES = 1 << 16,    /* of the keys that a page's index has room for, */
  TSR_MATCH_PROBES = 256,             /* ... of which so many are looked at before the page is given up */
  TSR_MATCH_PAGE_ITEMS = 0xFFFF,      /* pairs of a side that one block may have to work on */
  TSR_MATCH_FOLDED = 16,              /* rows that a thread combines before it tells */
  TSR_MATCH_ROWS = TSR_BLOCK_THREADS, /* of a block */
};

/* Numbers of 4 or 8 bytes, the first of which is at `at`. */
typedef struct tsr_numbers {
  const void *at; /* NULL: there are none */
  uint32_t bytes, stride_bytes;
} tsr_numbers;

typedef struct tsr_match {
  uint64_t n; /* items of this step: pairs, pages, rows, or threads of fold */
  uint32_t key_bytes, left_bytes, right_bytes;
  uint32_t rows_as;   /* TSR_ROWS_ */
  uint32_t keys_once; /* 1: of a left key only the leader's rows */
  uint64_t lefts, rights;
  tsr_numbers left_keys, left_values, right_keys, right_values; /* rows, fold: right values in the order of groups */

  /* group, rank: a side; look: the right one */
  tsr_numbers keys;
  uint32_t *entries; /* mask + 1: numbers of leaders, TSR_MATCH_NONE at first */
  uint64_t mask;
  uint32_t *leaders, *ranks; /* of each pair: its leader, and its number in its group */
  uint64_t *groups; /* n + 1: how many pairs each leader leads; summed up, where they begin; NULL: not counted */
  void *grouped;    /* right values in that order; NULL: not wanted */

  const uint32_t *left_leaders; /* keys_once: NULL: all left keys are distinct */
  const uint8_t *results;       /* found: of each left pair, */
  uint8_t present;              /* ... and what it is where its key is there */

  /* sketch: of `keys`, those that results does not say are present (NULL: all), and of these the ones whose hash ends
   * with the zeros of sampled_mask; total: how many of mask + 1 bits of `entries`, clear at first, were set */
  uint64_t sampled_mask;

  /* stray, bounds, pages: both tables. The two largest keys are those of slots without a pair */
  uint64_t tail_slots[2];     /* behind all pages */
  const uint32_t *offsets[2]; /* of lists; NULL: pages of slots */
  uint64_t lists, page_lists; /* page_lists: of a page */
  uint64_t page_slots[2];
  uint64_t *page_begins[2]; /* pages + 1 */
  uint64_t pages;
  uint32_t *gave_up; /* 1: a pair lies in no page, or a page has too many pairs, or keys: nothing counts */

  /* out of look, found, alone and pages: */
  uint64_t *total;  /* of all rows; added to, where begins is NULL */
  uint64_t *begins; /* lefts + 1: rows; summed up, where they begin; NULL: only the total is wanted */
  uint32_t *firsts; /* lefts: the first match, or TSR_MATCH_NONE */

  void *keys_out, *left_out, *right_out; /* rows, emit: NULL: not wanted */
  uint64_t missing;
  uint32_t fold;        /* TSR_FOLD_ */
  uint32_t saturates;   /* emit: 1: a sum past 2^64 - 1 is that number */
  uint64_t *folds;      /* fold: of each left pair */
  uint32_t *overflows;  /* TSR_FOLD_SUM: a bit for each left pair, clear at first: its sum passed 2^64 - 1 */
  uint64_t *overflowed; /* mark: how many have that bit, 0 at first */
  uint64_t *marks;      /* lefts + 1: mark: 1 where it has a row; summed up: where emit puts it */
  uint64_t *sums_out;
} tsr_match;

/* ---- What backends differ in ----------------------------------------------------------------- */

/* Relaxed, all of them: what leads to a group are keys, which were there before, and who reads counts comes in a later
 * step. An exchange, an addition and setting bits return what was there. */
#ifdef __CUDACC__
#define TSR_MATCH_LOAD(pointer) (*(const volatile uint32_t *)(pointer))
TSR_STEP_FUNCTION uint32_t tsr_match_exchange(uint32_t *at, uint32_t expected, uint32_t desired) {
  return atomicCAS(at, expected, desired);
}
TSR_STEP_FUNCTION uint32_t tsr_match_set_bits(uint32_t *at, uint32_t bits) { return atomicOr(at, bits); }
TSR_STEP_FUNCTION uint64_t tsr_match_add(uint64_t *to, uint64_t value) {
  return atomicAdd((unsigned long long *)to, (unsigned long long)value);
}
TSR_STEP_FUNCTION void tsr_match_choose(uint64_t *to, uint32_t fold, uint64_t value) {
  unsigned long long *at = (unsigned long long *)to;
  if (fold == TSR_FOLD_MIN) atomicMin(at, (unsigned long long)value);
  if (fold == TSR_FOLD_MAX) atomicMax(at, (unsigned long long)value);
}
#else
#define TSR_MATCH_LOAD(pointer) __atomic_load_n(pointer, __ATOMIC_RELAXED)
TSR_STEP_FUNCTION uint32_t tsr_match_exchange(uint32_t *at, uint32_t expected, uint32_t desired) {
  __atomic_compare_exchange_n(at, &expected, desired, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return expected;
}
TSR_STEP_FUNCTION uint32_t tsr_match_set_bits(uint32_t *at, uint32_t bits) {
  return __atomic_fetch_or(at, bits, __ATOMIC_RELAXED);
}
TSR_STEP_FUNCTION uint64_t tsr_match_add(uint64_t *to, uint64_t value) {
  return __atomic_fetch_add(to, value, __ATOMIC_RELAXED);
}
/* The loop ends: an exchange fails only when another thread has come nearer to the end. */
TSR_STEP_FUNCTION void tsr_match_choose(uint64_t *to, uint32_t fold, uint64_t value) {
  uint64_t seen = __atomic_load_n(to, __ATOMIC_RELAXED);
  while (((fold == TSR_FOLD_MIN && value < seen) || (fold == TSR_FOLD_MAX && value > seen)) &&
         !__atomic_compare_exchange_n(to, &seen, value, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}
#endif

/* ---- Columns --------------------------------------------------------------------------------- */

TSR_STEP_FUNCTION uint64_t tsr_match_number(const tsr_numbers *column, uint64_t i) {
  const char *at = (const char *)column->at + i * column->stride_bytes;
  return column->bytes == 8 ? *(const uint64_t *)at : *(const uint32_t *)at;
}
TSR_STEP_FUNCTION void tsr_match_put(void *column, uint64_t i, uint32_t bytes, uint64_t number) {
  if (bytes == 8)
    ((uint64_t *)column)[i] = number;
  else
    ((uint32_t *)column)[i] = (uint32_t)number;
}

/* The finalizer of MurmurHash3, of 64 bits: hashers of tables have brought keys into an order of theirs, so that the index
 * needs another one. */
TSR_STEP_FUNCTION uint64_t tsr_match_hash(uint64_t key) {
  uint64_t h = key + 0x9E3779B97F4A7C15u;
  h = (h ^ h >> 33) * 0xFF51AFD7ED558CCDu;
  h = (h ^ h >> 33) * 0xC4CEB9FE1A85EC53u;
  return h ^ h >> 33;
}

/* ---- Sketch ---------------------------------------------------------------------------------- */

/* 1 for the first key that comes to its bit. */
TSR_STEP_FUNCTION uint64_t tsr_match_sketch_item(const tsr_match *m, uint64_t i) {
  const uint64_t hash = tsr_match_hash(tsr_match_number(&m->keys, i)), place = hash >> 32 & m->mask;
  const uint32_t bit = 1u << place % 32;
  uint32_t *const at = &m->entries[place / 32];
  if (hash & m->sampled_mask || (m->results && m->results[i] == m->present)) return 0;
  return !(TSR_MATCH_LOAD(at) & bit) && !(tsr_match_set_bits(at, bit) & bit);
}

/* ---- Groups ---------------------------------------------------------------------------------- */

/* The leader of pair i, which it becomes where its key has none. The index has twice as many entries as pairs, so a search
 * ends. */
TSR_STEP_FUNCTION uint32_t tsr_match_lead(const tsr_match *m, uint64_t i) {
  const uint64_t key = tsr_match_number(&m->keys, i);
  for (uint64_t e = tsr_match_hash(key) & m->mask;; e = (e + 1) & m->mask) {
    uint32_t leader = TSR_MATCH_LOAD(&m->entries[e]);
    if (leader == TSR_MATCH_NONE) leader = tsr_match_exchange(&m->entries[e], TSR_MATCH_NONE, (uint32_t)i);
    if (leader == TSR_MATCH_NONE) return (uint32_t)i;
    if (tsr_match_number(&m->keys, leader) == key) return leader;
  }
}

TSR_STEP_FUNCTION void tsr_match_group_item(const tsr_match *m, uint64_t i) { m->leaders[i] = tsr_match_lead(m, i); }

/* The leader of a key, or TSR_MATCH_NONE. */
TSR_STEP_FUNCTION uint32_t tsr_match_seek(const tsr_match *m, uint64_t key) {
  for (uint64_t e = tsr_match_hash(key) & m->mask;; e = (e + 1) & m->mask) {
    const uint32_t leader = m->entries[e];
    if (leader == TSR_MATCH_NONE || tsr_match_number(&m->keys, leader) == key) return leader;
  }
}

TSR_STEP_FUNCTION void tsr_match_place_item(const tsr_match *m, uint64_t i) {
  const uint64_t at = m->groups[m->leaders[i]] + m->ranks[i];
  tsr_match_put(m->grouped, at, m->right_bytes, tsr_match_number(&m->right_values, i));
}

/* ---- Matches --------------------------------------------------------------------------------- */

/* Notes the matches of left pair p, and returns its rows. leads: 0 where its key has another pair for these. */
TSR_STEP_FUNCTION uint64_t tsr_match_tell(const tsr_match *m, uint64_t p, uint32_t first, uint64_t matches,
                                          uint32_t leads) {
  uint64_t rows = m->rows_as == TSR_ROWS_EACH      ? matches
                  : m->rows_as == TSR_ROWS_OUTER   ? matches + (matches == 0)
                  : m->rows_as == TSR_ROWS_PRESENT ? matches != 0
                  : m->rows_as == TSR_ROWS_ABSENT  ? matches == 0
                                                   : 1;
  if (!leads) rows = 0;
  if (m->begins) {
    m->begins[p] = rows;
    m->firsts[p] = matches ? first : TSR_MATCH_NONE;
  }
  return rows;
}

/* Whether a left key without a match may have a row. */
TSR_STEP_FUNCTION uint32_t tsr_match_wants_absent(const tsr_match *m) {
  return m->rows_as != TSR_ROWS_EACH && m->rows_as != TSR_ROWS_PRESENT;
}

/* Whether it matters how many matches a left key has, and not only that there is one. */
TSR_STEP_FUNCTION uint32_t tsr_match_wants_count(const tsr_match *m) {
  return m->rows_as == TSR_ROWS_EACH || m->rows_as == TSR_ROWS_OUTER;
}

/* Whether a page's index has to count: also where it gets left keys, which have no match. */
TSR_STEP_FUNCTION uint32_t tsr_match_counts(const tsr_match *m) {
  return m->grouped || tsr_match_wants_count(m) || (m->keys_once && tsr_match_wants_absent(m));
}

TSR_STEP_FUNCTION uint32_t tsr_match_leads(const tsr_match *m, uint64_t p) {
  return !m->keys_once || !m->left_leaders || m->left_leaders[p] == p;
}

TSR_STEP_FUNCTION uint64_t tsr_match_look_item(const tsr_match *m, uint64_t p) {
  const uint32_t leader = tsr_match_seek(m, tsr_match_number(&m->left_keys, p)), is_there = leader != TSR_MATCH_NONE;
  const uint64_t first = is_there && m->groups ? m->groups[leader] : 0;
  const uint64_t matches = is_there && m->groups ? m->groups[leader + 1] - first : is_there;
  return tsr_match_tell(m, p, (uint32_t)first, matches, tsr_match_leads(m, p));
}

TSR_STEP_FUNCTION uint64_t tsr_match_found_item(const tsr_match *m, uint64_t p) {
  return tsr_match_tell(m, p, (uint32_t)p, m->results[p] == m->present, tsr_match_leads(m, p));
}

TSR_STEP_FUNCTION uint64_t tsr_match_alone_item(const tsr_match *m, uint64_t p) {
  return tsr_match_tell(m, p, 0, 0, tsr_match_leads(m, p));
}

/* ---- Pages ----------------------------------------------------------------------------------- */

/* Slots without a pair have this key, or a larger one. */
TSR_STEP_FUNCTION uint64_t tsr_match_vacant(const tsr_match *m) {
  return (~(uint64_t)0 >> (64 - 8 * m->key_bytes)) - 1;
}

/* An erased slot counts, too: behind a full bucket of a reserved key its pairs lie in the last page, as those of key 0. */
TSR_STEP_FUNCTION void tsr_match_stray_item(const tsr_match *m, uint64_t i) {
  const uint64_t vacant = tsr_match_vacant(m);
  if ((i < m->tail_slots[0] && tsr_match_number(&m->left_keys, m->lefts + i) <= vacant) ||
      (i < m->tail_slots[1] && tsr_match_number(&m->right_keys, m->rights + i) <= vacant))
    *m->gave_up = 1;
}

/* Where page `page` of a side begins, the end of the last one for `pages`. */
TSR_STEP_FUNCTION uint64_t tsr_match_bound(const tsr_match *m, uint32_t side, uint64_t page) {
  if (!m->offsets[side]) return page * m->page_slots[side];
  const uint64_t list = page * m->page_lists;
  return m->offsets[side][list < m->lists ? list : m->lists];
}

TSR_STEP_FUNCTION void tsr_match_bounds_item(const tsr_match *m, uint64_t page) {
  for (uint32_t side = 0; side < 2; side++) m->page_begins[side][page] = tsr_match_bound(m, side, page);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* The pair that row r belongs to: the last of `pair` to before `after` that begins at it or before. */
TSR_STEP_FUNCTION uint64_t tsr_match_pair_of(const tsr_match *m, uint64_t r, uint64_t pair, uint64_t after) {
  while (after - pair > 1) {
    const uint64_t middle = pair + (after - pair) / 2;
    const uint32_t is_before = m->begins[middle] <= r;
    pair = is_before ? middle : pair;
    after = is_before ? after : middle;
  }
  return pair;
}

/* The value of the right pair in row r, of left pair p. */
TSR_STEP_FUNCTION uint64_t tsr_match_right(const tsr_match *m, uint64_t r, uint64_t p) {
  const uint32_t first = m->firsts[p];
  if (first == TSR_MATCH_NONE) return m->missing;
  return tsr_match_number(&m->right_values, first + (r - m->begins[p]));
}

TSR_STEP_FUNCTION void tsr_match_row(const tsr_match *m, uint64_t r, uint64_t p) {
  if (m->keys_out) tsr_match_put(m->keys_out, r, m->key_bytes, tsr_match_number(&m->left_keys, p));
  if (m->left_out) tsr_match_put(m->left_out, r, m->left_bytes, tsr_match_number(&m->left_values, p));
  if (m->right_out) tsr_match_put(m->right_out, r, m->right_bytes, tsr_match_right(m, r, p));
}

/* ---- Aggregates ------------------------------------------------------------------------------ */

/* Two right values as one; *overflows becomes 1 where it is a sum that passes 2^64 - 1. */
TSR_STEP_FUNCTION uint64_t tsr_match_fold(uint32_t fold, uint64_t one, uint64_t other, uint32_t *overflows) {
  if (fold != TSR_FOLD_SUM) return (fold == TSR_FOLD_MIN) == (other < one) ? other : one;
  *overflows |= one + other < other;
  return one + other;
}

/* Combines what some rows of left pair p made with what others have told. */
TSR_STEP_FUNCTION void tsr_match_fold_into(const tsr_match *m, uint64_t p, uint64_t own, uint32_t overflows) {
  if (m->fold == TSR_FOLD_SUM)
    tsr_match_fold(m->fold, tsr_match_add(&m->folds[p], own), own, &overflows);
  else
    tsr_match_choose(&m->folds[p], m->fold, own);
  if (overflows) tsr_match_set_bits(&m->overflows[p / 32], 1u << p % 32);
}

TSR_STEP_FUNCTION uint32_t tsr_match_overflows(const tsr_match *m, uint64_t p) {
  return m->overflows && m->overflows[p / 32] >> p % 32 & 1u;
}

/* Combines the right values of TSR_MATCH_FOLDED rows, and tells of each left pair among them once. */
TSR_STEP_FUNCTION void tsr_match_fold_item(const tsr_match *m, uint64_t i) {
  const uint64_t rows = m->begins[m->lefts], first = i * TSR_MATCH_FOLDED;
  const uint64_t end = rows - first < TSR_MATCH_FOLDED ? rows : first + TSR_MATCH_FOLDED;
  uint64_t p = tsr_match_pair_of(m, first, 0, m->lefts), own = tsr_match_right(m, first, p);
  uint32_t overflows = 0;
  for (uint64_t r = first + 1; r < end; r++) {
    if (r >= m->begins[p + 1]) {
      tsr_match_fold_into(m, p, own, overflows);
      p = tsr_match_pair_of(m, r, p + 1, m->lefts);
      own = tsr_match_right(m, r, p);
      overflows = 0;
      continue;
    }
    own = tsr_match_fold(m->fold, own, tsr_match_right(m, r, p), &overflows);
  }
  tsr_match_fold_into(m, p, own, overflows);
}

TSR_STEP_FUNCTION void tsr_match_mark_item(const tsr_match *m, uint64_t p) {
  m->marks[p] = m->begins[p] != m->begins[p + 1];
  if (tsr_match_overflows(m, p)) tsr_match_add(m->overflowed, 1);
}

TSR_STEP_FUNCTION void tsr_match_emit_item(const tsr_match *m, uint64_t p) {
  const uint64_t at = m->marks[p];
  if (at == m->marks[p + 1]) return;
  if (m->keys_out) tsr_match_put(m->keys_out, at, m->key_bytes, tsr_match_number(&m->left_keys, p));
  if (!m->sums_out) return;
  if (m->fold == TSR_FOLD_COUNT)
    m->sums_out[at] = m->begins[p + 1] - m->begins[p];
  else
    m->sums_out[at] = m->saturates && tsr_match_overflows(m, p) ? ~(uint64_t)0 : m->folds[p];
}

TSR_STEPS(tsr_match_steps)

#endif

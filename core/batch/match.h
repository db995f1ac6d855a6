/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps by which the pairs of two tables are matched and rows are written: their list, their arguments, and what
 * an item does. They work on columns of keys and values, in the tables or written out of them, and do not know any
 * part. Why: ../design/0020-joins.md. Read next: ../kernels/steps.h, ../table/join.c.
 *
 * All pairs of one key are a group, which the first of them to come leads. A left pair has matches: neighbours in a
 * column of right values, from its `firsts` on. Rows are stored pair by pair, from its `begins` on. So each row is
 * found by a binary search, and a thread has the same work whatever its key.
 *
 * Where pages meet, a left pair with many rows is left to the next step in pieces, so that all blocks share its rows.
 *
 * Sides that are arrays have no pages of their own. groups.h brings their mixed keys into bins, and these are the pages.
 */
#ifndef TSR_BATCH_MATCH_H
#define TSR_BATCH_MATCH_H

#include "core/batch/mix.h"
#include "core/kernels/steps.h"

/* group    puts pairs of a side into the index
 * rank     counts each group
 * assign   the leader of each right pair, by an index of the left keys
 * place    right values go to their groups
 * look     matches of left pairs by the index
 * found    matches of left pairs that were looked up in the right table
 * alone    left pairs without a right side
 * stray    looks for pairs that are in no page
 * bounds   where each page's pairs begin
 * cut      into how many tiles each page's left pairs are cut
 * spread   which page each tile is of
 * pages, wide_pages   matches page by page, for keys of 32 and of 64 bits
 * meet, wide_meet     rows page by page, written as they are found
 * probe, wide_probe   rows by an index, written as they are found
 * pieces   writes the rows that meet or probe have left
 * measure  how many pairs the listed pages have; gather brings them together
 * copy     a column without its gaps
 * rows     writes rows
 * fold     combines right values, row by row
 * mark     which left pairs have a row; emit writes these, with their combined values
 * enumerate  values of pairs without any: the numbers of the pairs
 * unmix    keys of rows that were mixed become what they were
 * sketch, long_sketch   about how many keys of a column differ (sketch.c); of keys of 128 bits
 * Items of ROWS return how many rows they have; these are summed. */
#define TSR_MATCH_STEPS(ITEM, ROWS, OWN)                                                                               \
  ITEM(group)                                                                                                          \
  OWN(rank)                                                                                                            \
  ITEM(assign)                                                                                                         \
  ITEM(place)                                                                                                          \
  ROWS(look)                                                                                                           \
  ROWS(found)                                                                                                          \
  ROWS(alone)                                                                                                          \
  ITEM(stray)                                                                                                          \
  ITEM(bounds)                                                                                                         \
  ITEM(cut)                                                                                                            \
  ITEM(spread)                                                                                                         \
  OWN(pages, .grid = {.threads = TSR_MATCH_THREADS, .block_items = 1}, .fit = fit_index)                               \
  OWN(wide_pages, .grid = {.threads = TSR_MATCH_THREADS, .block_items = 1}, .fit = fit_index)                          \
  OWN(meet, .grid = {.threads = TSR_MATCH_THREADS, .block_items = 1}, .fit = fit_index)                                \
  OWN(wide_meet, .grid = {.threads = TSR_MATCH_THREADS, .block_items = 1}, .fit = fit_index)                           \
  OWN(probe, .grid = {.threads = TSR_MATCH_THREADS, .block_items = TSR_MATCH_PROBED})                                  \
  OWN(wide_probe, .grid = {.threads = TSR_MATCH_THREADS, .block_items = TSR_MATCH_PROBED})                             \
  OWN(pieces, .grid = {.block_items = TSR_MATCH_PIECES})                                                               \
  ITEM(measure)                                                                                                        \
  ITEM(gather)                                                                                                         \
  ITEM(copy)                                                                                                           \
  OWN(rows, .grid = {.block_items = TSR_MATCH_ROWS})                                                                   \
  ITEM(fold)                                                                                                           \
  ITEM(mark)                                                                                                           \
  ITEM(emit)                                                                                                           \
  ITEM(enumerate)                                                                                                      \
  ITEM(unmix)                                                                                                          \
  ROWS(sketch)                                                                                                         \
  ROWS(long_sketch)
#define TSR_MATCH_ENUM(step, ...) TSR_MATCH_##step,
enum { TSR_MATCH_STEPS(TSR_MATCH_ENUM, TSR_MATCH_ENUM, TSR_MATCH_ENUM) TSR_MATCH_STEP_COUNT };

/* How many rows a left pair has: one per match; the same, and one without a match; one if it has a match; one if it has
 * none; always one. */
enum { TSR_ROWS_EACH, TSR_ROWS_OUTER, TSR_ROWS_PRESENT, TSR_ROWS_ABSENT, TSR_ROWS_ONE };

/* What fold combines; TSR_FOLD_COUNT needs no combining. */
enum { TSR_FOLD_SUM, TSR_FOLD_MIN, TSR_FOLD_MAX, TSR_FOLD_COUNT };

#define TSR_MATCH_NONE 0xFFFFFFFFu /* no pair; numbers of pairs are below it */

enum {
  TSR_MATCH_THREADS = 512, /* of a block that matches a page, or probes */
  TSR_MATCH_BATCH = 4,     /* pairs that each of them works on at a time */
  TSR_MATCH_PROBED = TSR_MATCH_BATCH * TSR_MATCH_THREADS,
  TSR_MATCH_INDEX_BYTES = 1 << 16, /* keys that a page's index has room for, in bytes, */
  TSR_MATCH_PROBES = 256,          /* ... and how many of its places are looked at before the page is given up */
  TSR_MATCH_PAGE_ITEMS = 0xFFFF,   /* pairs of a side that one block may have to work on, */
  TSR_MATCH_TILE = 1 << 15,        /* ... and left pairs, where a page is cut into tiles, */
  TSR_MATCH_BLOCKS = 264,          /* ... which these blocks share */
  TSR_MATCH_MOST = 0x1FFFFFF,      /* matches of a left pair that probe takes: rows of a warp have 32 bits */
  TSR_MATCH_LONG = 64,             /* rows of a left pair that meet and probe leave to another step, */
  TSR_MATCH_PIECE = 1024,          /* ... in pieces of this many rows, one per warp, */
  TSR_MATCH_PIECES = TSR_BLOCK_THREADS / 32, /* ... so of a block */
  TSR_MATCH_FOLDED = 16,                     /* rows that a thread combines before it adds them to others */
  TSR_MATCH_ROWS = TSR_BLOCK_THREADS,        /* of a block */
};

/* Numbers of 4 or 8 bytes, or keys of 16; the first is at `at`. */
typedef struct tsr_numbers {
  const void *at; /* NULL: there are none */
  uint32_t bytes, stride_bytes;
} tsr_numbers;

/* group, rank: a side; look: the right one, or the left one, whose leaders then have right pairs. place: `grouped`. sketch: keys, entries and mask. With tiles `grouped` has
 * TSR_MATCH_PAGE_ITEMS values of each block, and behind these those that are kept. */
typedef struct tsr_match_index {
  tsr_numbers keys;
  uint32_t *entries; /* mask + 1: numbers of leaders, TSR_MATCH_NONE at first; sketch: bits, clear at first */
  uint64_t mask;
  uint32_t *leaders, *ranks; /* of each pair: its leader, and its number in its group */
  uint64_t *groups;   /* n + 1: how many pairs each leader leads; summed up, where they begin; NULL: not counted */
  void *grouped;      /* right values in that order; NULL: not wanted */
  uint64_t kept_room; /* with tiles: right values of tiles with long rows, for the step of pieces */
} tsr_match_index;

/* What is known of each left pair before. */
typedef struct tsr_match_known {
  const uint32_t *leaders; /* keys_once: NULL: all left keys are distinct */
  const uint8_t *results;  /* found, sketch: NULL: nothing is known */
  uint8_t present;         /* what a result is where the key is there; sketch leaves these pairs out */
  uint64_t sampled_mask;   /* sketch: the hashes that count end with these zeros */
} tsr_match_known;

/* What blocks count, or tell. Both sums have 64 bits, because blocks add to them also when there is no more room. */
typedef struct tsr_match_counters {
  uint64_t pieces, kept; /* pieces that meet has left; right values that it keeps for them */
  uint32_t tiles;        /* that were taken, after the first of each block */
  uint32_t larges;       /* with tiles: pages that have too many right pairs for a block */
  uint32_t gave_up; /* 1: a pair is in no page, or too many pairs are in one, or have a key: the results are void */
  uint32_t unused;
} tsr_match_counters;

/* stray, bounds, pages: both sides. The two largest keys are those of slots without a pair. mixed_log2: not 0: keys are mixed,
 * and this many of their first bits are the number of their page. So the first bit is needed no more, and the steps of pages
 * take it for 0. */
typedef struct tsr_match_pages {
  uint64_t tail_slots[2];     /* behind all pages */
  const uint32_t *offsets[2]; /* of lists; NULL: pages of slots */
  uint64_t lists, page_lists; /* page_lists: of a page */
  uint64_t page_slots[2];
  uint64_t *begins[2];     /* count + 1 */
  const uint32_t *ends[2]; /* NULL: a page ends where the next one begins */
  uint64_t count;
  uint64_t *tiles;  /* count + 1: tiles before each page; NULL: a page is one tile */
  uint32_t *owners; /* of each tile, its page */
  uint32_t *larges; /* with tiles: the pages that have too many right pairs for a block */
  uint64_t seed;
  uint32_t mixed_log2;
  tsr_match_counters *counters; /* all 0 at first */
} tsr_match_pages;

/* Some rows of one left pair: neighbours that have neighbouring matches. */
typedef struct tsr_match_piece {
  uint64_t row;         /* the first */
  uint32_t pair, match; /* the left pair; the first match, a place among the grouped values */
  uint32_t rows, unused;
} tsr_match_piece;

/* Out of look, found, alone, pages, meet and probe. sketch: total: how many bits were set. */
typedef struct tsr_match_found {
  uint64_t *total;         /* of all rows; added to, where begins is NULL; meet, probe: where the next rows go */
  uint64_t *begins;        /* lefts + 1: rows; summed up, where they begin; NULL: only the total is wanted */
  uint32_t *firsts;        /* lefts: the first match, or TSR_MATCH_NONE */
  tsr_match_piece *pieces; /* out of meet and probe; NULL: they write all rows themselves */
  uint64_t pieces_room;    /* enough for all rows that there is room for */
} tsr_match_found;

/* Out of meet, probe, rows and emit; NULL: not wanted. */
typedef struct tsr_match_out {
  void *keys, *left, *right;
  uint64_t room;    /* meet, probe: no row is written past it */
  uint64_t missing; /* the right value of a row without a match */
} tsr_match_out;

/* fold, mark, emit. */
typedef struct tsr_match_folds {
  uint32_t how;         /* TSR_FOLD_ */
  uint32_t saturates;   /* emit: 1: a sum past 2^64 - 1 is that number */
  uint64_t *of;         /* fold: of each left pair */
  uint32_t *overflows;  /* TSR_FOLD_SUM: a bit for each left pair, clear at first: its sum passed 2^64 - 1 */
  uint64_t *overflowed; /* mark: how many have that bit, 0 at first */
  uint64_t *marks;      /* lefts + 1: mark: 1 where it has a row; summed up: where emit puts it */
  uint64_t *sums_out;
} tsr_match_folds;

/* n: items of this step: pairs, pages, rows, or threads of fold. */
typedef struct tsr_match {
  uint64_t n;
  struct {
    uint32_t key, left, right; /* of a key, and of a value of each side */
  } bytes;
  struct {
    uint32_t rows;      /* TSR_ROWS_ */
    uint32_t keys_once; /* 1: of a left key only the leader's rows */
  } want;
  uint64_t lefts, rights;
  tsr_numbers left_keys, left_values, right_keys, right_values; /* rows, fold: right values in the order of groups */
  tsr_match_index index;
  tsr_match_known known;
  tsr_match_pages pages;
  tsr_match_found matches;
  tsr_match_out out;
  tsr_match_folds folds;
} tsr_match;

/* ---- What backends differ in ----------------------------------------------------------------- */

/* All are relaxed: what leads to a group are keys, which were there before, and counts are read in a later step. An
 * exchange, an addition and setting bits return the former value. */
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
/* The loop ends: an exchange fails only when another thread is nearer to the end. */
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

/* The finalizer of MurmurHash3, of 64 bits. The tables' hashers have ordered the keys already, so the index needs
 * another hash. */
TSR_STEP_FUNCTION uint64_t tsr_match_hash(uint64_t key) {
  uint64_t h = key + 0x9E3779B97F4A7C15u;
  h = (h ^ h >> 33) * 0xFF51AFD7ED558CCDu;
  h = (h ^ h >> 33) * 0xC4CEB9FE1A85EC53u;
  return h ^ h >> 33;
}

/* A key of any width. */
typedef struct tsr_match_key {
  uint64_t low, high;
} tsr_match_key;

TSR_STEP_FUNCTION tsr_match_key tsr_match_key_at(const tsr_numbers *column, uint64_t i) {
  const uint64_t *const halves = (const uint64_t *)((const char *)column->at + i * column->stride_bytes);
  const tsr_match_key whole = {column->bytes == 16 ? halves[0] : tsr_match_number(column, i),
                               column->bytes == 16 ? halves[1] : 0};
  return whole;
}

TSR_STEP_FUNCTION uint32_t tsr_match_is_same(tsr_match_key a, tsr_match_key b) {
  return a.low == b.low && a.high == b.high;
}

TSR_STEP_FUNCTION uint64_t tsr_match_hash_key(tsr_match_key key) {
  return tsr_match_hash(key.high ? key.low ^ tsr_match_hash(key.high) : key.low);
}

TSR_STEP_FUNCTION void tsr_match_put_key(void *column, uint64_t i, uint32_t bytes, tsr_match_key key) {
  if (bytes == 16) {
    ((uint64_t *)column)[2 * i] = key.low;
    ((uint64_t *)column)[2 * i + 1] = key.high;
  } else {
    tsr_match_put(column, i, bytes, key.low);
  }
}

/* ---- Sketch ---------------------------------------------------------------------------------- */

/* 1 for the first key that comes to its bit. */
TSR_STEP_FUNCTION uint64_t tsr_match_sketch_hash(const tsr_match *m, uint64_t i, uint64_t hash) {
  const uint64_t place = hash >> 32 & m->index.mask;
  const uint32_t bit = 1u << place % 32;
  uint32_t *const at = &m->index.entries[place / 32];
  if (hash & m->known.sampled_mask || (m->known.results && m->known.results[i] == m->known.present)) return 0;
  return !(TSR_MATCH_LOAD(at) & bit) && !(tsr_match_set_bits(at, bit) & bit);
}

TSR_STEP_FUNCTION uint64_t tsr_match_sketch_item(const tsr_match *m, uint64_t i) {
  return tsr_match_sketch_hash(m, i, tsr_match_hash(tsr_match_number(&m->index.keys, i)));
}

TSR_STEP_FUNCTION uint64_t tsr_match_long_sketch_item(const tsr_match *m, uint64_t i) {
  const uint64_t *const key = (const uint64_t *)m->index.keys.at + 2 * i;
  return tsr_match_sketch_hash(m, i, tsr_match_hash(key[0] ^ tsr_match_hash(key[1])));
}

/* ---- Groups ---------------------------------------------------------------------------------- */

/* The leader of pair i: the pair itself, if its key has none. The index has twice as many entries as pairs, so a search
 * ends. */
TSR_STEP_FUNCTION uint32_t tsr_match_lead(const tsr_match *m, uint64_t i) {
  const tsr_match_key key = tsr_match_key_at(&m->index.keys, i);
  for (uint64_t e = tsr_match_hash_key(key) & m->index.mask;; e = (e + 1) & m->index.mask) {
    uint32_t leader = TSR_MATCH_LOAD(&m->index.entries[e]);
    if (leader == TSR_MATCH_NONE) leader = tsr_match_exchange(&m->index.entries[e], TSR_MATCH_NONE, (uint32_t)i);
    if (leader == TSR_MATCH_NONE) return (uint32_t)i;
    if (tsr_match_is_same(tsr_match_key_at(&m->index.keys, leader), key)) return leader;
  }
}

TSR_STEP_FUNCTION void tsr_match_group_item(const tsr_match *m, uint64_t i) {
  m->index.leaders[i] = tsr_match_lead(m, i);
}

/* The leader of a key, or TSR_MATCH_NONE. */
TSR_STEP_FUNCTION uint32_t tsr_match_seek(const tsr_match *m, tsr_match_key key) {
  for (uint64_t e = tsr_match_hash_key(key) & m->index.mask;; e = (e + 1) & m->index.mask) {
    const uint32_t leader = m->index.entries[e];
    if (leader == TSR_MATCH_NONE || tsr_match_is_same(tsr_match_key_at(&m->index.keys, leader), key)) return leader;
  }
}

/* The index is that of the left keys, the leaders are those of right pairs. */
TSR_STEP_FUNCTION void tsr_match_assign_item(const tsr_match *m, uint64_t i) {
  m->index.leaders[i] = tsr_match_seek(m, tsr_match_key_at(&m->right_keys, i));
}

TSR_STEP_FUNCTION void tsr_match_place_item(const tsr_match *m, uint64_t i) {
  const uint32_t leader = m->index.leaders[i];
  if (leader == TSR_MATCH_NONE) return;
  const uint64_t at = m->index.groups[leader] + m->index.ranks[i];
  tsr_match_put(m->index.grouped, at, m->bytes.right, tsr_match_number(&m->right_values, i));
}

/* ---- Matches --------------------------------------------------------------------------------- */

/* How many rows a left pair has. */
TSR_STEP_FUNCTION uint64_t tsr_match_rows_of(const tsr_match *m, uint64_t matches) {
  return m->want.rows == TSR_ROWS_EACH      ? matches
         : m->want.rows == TSR_ROWS_OUTER   ? matches + (matches == 0)
         : m->want.rows == TSR_ROWS_PRESENT ? matches != 0
         : m->want.rows == TSR_ROWS_ABSENT  ? matches == 0
                                            : 1;
}

/* Notes the matches of left pair p, and returns its rows. leads: 0 if its key has another pair for these. */
TSR_STEP_FUNCTION uint64_t tsr_match_tell(const tsr_match *m, uint64_t p, uint32_t first, uint64_t matches,
                                          uint32_t leads) {
  const uint64_t rows = leads ? tsr_match_rows_of(m, matches) : 0;
  if (m->matches.begins) {
    m->matches.begins[p] = rows;
    m->matches.firsts[p] = matches ? first : TSR_MATCH_NONE;
  }
  return rows;
}

/* Whether a left key without a match may have a row. */
TSR_STEP_FUNCTION uint32_t tsr_match_wants_absent(const tsr_match *m) {
  return m->want.rows != TSR_ROWS_EACH && m->want.rows != TSR_ROWS_PRESENT;
}

/* Whether the number of a left key's matches matters, and not only that there is one. */
TSR_STEP_FUNCTION uint32_t tsr_match_wants_count(const tsr_match *m) {
  return m->want.rows == TSR_ROWS_EACH || m->want.rows == TSR_ROWS_OUTER;
}

/* Whether a page's index has to count; also if it gets left keys, which have no match. */
TSR_STEP_FUNCTION uint32_t tsr_match_counts(const tsr_match *m) {
  return m->index.grouped || tsr_match_wants_count(m) || (m->want.keys_once && tsr_match_wants_absent(m));
}

TSR_STEP_FUNCTION uint32_t tsr_match_leads(const tsr_match *m, uint64_t p) {
  return !m->want.keys_once || !m->known.leaders || m->known.leaders[p] == p;
}

/* How many matches a key has by the index; *first: where the first one is. */
TSR_STEP_FUNCTION uint64_t tsr_match_matches_of(const tsr_match *m, tsr_match_key key, uint32_t *first) {
  const uint32_t leader = tsr_match_seek(m, key);
  *first = 0;
  if (leader == TSR_MATCH_NONE || !m->index.groups) return leader != TSR_MATCH_NONE;
  *first = (uint32_t)m->index.groups[leader];
  return m->index.groups[leader + 1] - m->index.groups[leader];
}

TSR_STEP_FUNCTION uint64_t tsr_match_look_item(const tsr_match *m, uint64_t p) {
  uint32_t first;
  const uint64_t matches = tsr_match_matches_of(m, tsr_match_key_at(&m->left_keys, p), &first);
  return tsr_match_tell(m, p, first, matches, tsr_match_leads(m, p));
}

TSR_STEP_FUNCTION uint64_t tsr_match_found_item(const tsr_match *m, uint64_t p) {
  return tsr_match_tell(m, p, (uint32_t)p, m->known.results[p] == m->known.present, tsr_match_leads(m, p));
}

TSR_STEP_FUNCTION uint64_t tsr_match_alone_item(const tsr_match *m, uint64_t p) {
  return tsr_match_tell(m, p, 0, 0, tsr_match_leads(m, p));
}

/* ---- Pages ----------------------------------------------------------------------------------- */

/* Slots without a pair have this key, or a larger one. */
TSR_STEP_FUNCTION uint64_t tsr_match_vacant(const tsr_match *m) {
  return (~(uint64_t)0 >> (64 - 8 * m->bytes.key)) - 1;
}

/* An erased slot counts as well: behind a full bucket of a reserved key, its pairs are in the last page as those of key
 * 0. */
TSR_STEP_FUNCTION void tsr_match_stray_item(const tsr_match *m, uint64_t i) {
  const uint64_t vacant = tsr_match_vacant(m);
  if ((i < m->pages.tail_slots[0] && tsr_match_number(&m->left_keys, m->lefts + i) <= vacant) ||
      (i < m->pages.tail_slots[1] && tsr_match_number(&m->right_keys, m->rights + i) <= vacant))
    m->pages.counters->gave_up = 1;
}

/* Where page `page` of a side begins, the end of the last one for `pages`. */
TSR_STEP_FUNCTION uint64_t tsr_match_bound(const tsr_match *m, uint32_t side, uint64_t page) {
  if (!m->pages.offsets[side]) return page * m->pages.page_slots[side];
  const uint64_t list = page * m->pages.page_lists;
  return m->pages.offsets[side][list < m->pages.lists ? list : m->pages.lists];
}

TSR_STEP_FUNCTION void tsr_match_bounds_item(const tsr_match *m, uint64_t page) {
  for (uint32_t side = 0; side < 2; side++) m->pages.begins[side][page] = tsr_match_bound(m, side, page);
}

/* Where the pairs of a page end. */
TSR_STEP_FUNCTION uint64_t tsr_match_page_end(const tsr_match *m, uint32_t side, uint64_t page) {
  return m->pages.ends[side] ? m->pages.ends[side][page] : m->pages.begins[side][page + 1];
}

TSR_STEP_FUNCTION void tsr_match_cut_item(const tsr_match *m, uint64_t page) {
  const uint64_t pairs = tsr_match_page_end(m, 0, page) - m->pages.begins[0][page];
  m->pages.tiles[page] = (pairs + TSR_MATCH_TILE - 1) / TSR_MATCH_TILE;
}

TSR_STEP_FUNCTION void tsr_match_spread_item(const tsr_match *m, uint64_t page) {
  for (uint64_t tile = m->pages.tiles[page]; tile < m->pages.tiles[page + 1]; tile++)
    m->pages.owners[tile] = (uint32_t)page;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* The pair of row r: the last one from `pair` to before `after` that begins at r or before. */
TSR_STEP_FUNCTION uint64_t tsr_match_pair_of(const tsr_match *m, uint64_t r, uint64_t pair, uint64_t after) {
  while (after - pair > 1) {
    const uint64_t middle = pair + (after - pair) / 2;
    const uint32_t is_before = m->matches.begins[middle] <= r;
    pair = is_before ? middle : pair;
    after = is_before ? after : middle;
  }
  return pair;
}

/* The value of the right pair in row r, of left pair p. */
TSR_STEP_FUNCTION uint64_t tsr_match_right(const tsr_match *m, uint64_t r, uint64_t p) {
  const uint32_t first = m->matches.firsts[p];
  if (first == TSR_MATCH_NONE) return m->out.missing;
  return tsr_match_number(&m->right_values, first + (r - m->matches.begins[p]));
}

TSR_STEP_FUNCTION void tsr_match_put_values(const tsr_match *m, uint64_t r, uint64_t p, uint64_t right) {
  if (m->out.left) tsr_match_put(m->out.left, r, m->bytes.left, tsr_match_number(&m->left_values, p));
  if (m->out.right) tsr_match_put(m->out.right, r, m->bytes.right, right);
}

TSR_STEP_FUNCTION void tsr_match_row(const tsr_match *m, uint64_t r, uint64_t p) {
  if (m->out.keys) tsr_match_put_key(m->out.keys, r, m->bytes.key, tsr_match_key_at(&m->left_keys, p));
  tsr_match_put_values(m, r, p, m->out.right ? tsr_match_right(m, r, p) : 0);
}

/* meet, probe: row r, of left pair p: its match `match`, a place among the grouped values; TSR_MATCH_NONE: it has none. */
TSR_STEP_FUNCTION void tsr_match_meet_row(const tsr_match *m, uint64_t r, uint64_t p, uint64_t key, uint64_t match) {
  const tsr_numbers grouped = {m->index.grouped, m->bytes.right, m->bytes.right};
  if (r >= m->out.room) return;
  if (m->out.keys) tsr_match_put(m->out.keys, r, m->bytes.key, key);
  tsr_match_put_values(m, r, p,
                       !m->out.right             ? 0
                       : match == TSR_MATCH_NONE ? m->out.missing
                                                 : tsr_match_number(&grouped, match));
}

/* Writes the rows of a piece from `first` on, every `step`-th of them. Several values are requested before the first of them is
 * used. */
TSR_STEP_FUNCTION void tsr_match_write_piece(const tsr_match *m, uint64_t i, uint32_t first, uint32_t step) {
  enum { AT_ONCE = 4 };
  const tsr_match_piece piece = m->matches.pieces[i];
  const uint64_t raw = tsr_match_number(&m->left_keys, piece.pair), seed = m->pages.seed;
  const uint64_t key = !m->pages.mixed_log2 ? raw
                       : m->bytes.key == 8  ? tsr_unmix_64(raw, seed)
                                            : tsr_unmix_32((uint32_t)raw, seed);
  const uint64_t left = m->out.left ? tsr_match_number(&m->left_values, piece.pair) : 0;
  const uint64_t rows = m->out.room <= piece.row               ? 0
                        : m->out.room - piece.row < piece.rows ? m->out.room - piece.row
                                                               : piece.rows;
  const tsr_numbers grouped = {m->index.grouped, m->bytes.right, m->bytes.right};
  for (uint64_t r = first; r < rows; r += AT_ONCE * step) {
    uint64_t right[AT_ONCE];
    for (uint32_t k = 0; k < AT_ONCE; k++)
      right[k] = m->out.right && r + k * step < rows ? tsr_match_number(&grouped, piece.match + r + k * step) : 0;
    for (uint32_t k = 0; k < AT_ONCE && r + k * step < rows; k++) {
      const uint64_t at = piece.row + r + k * step;
      if (m->out.keys) tsr_match_put(m->out.keys, at, m->bytes.key, key);
      if (m->out.left) tsr_match_put(m->out.left, at, m->bytes.left, left);
      if (m->out.right) tsr_match_put(m->out.right, at, m->bytes.right, right[k]);
    }
  }
}

/* ---- Listed pages ---------------------------------------------------------------------------- */

/* Side 0 alone is looked at. */
TSR_STEP_FUNCTION void tsr_match_measure_item(const tsr_match *m, uint64_t i) {
  const uint32_t page = m->pages.larges[i];
  m->matches.begins[i] = tsr_match_page_end(m, 0, page) - m->pages.begins[0][page];
}

/* Item i of the listed pages, one page after the other: from the column `keys` of the index to `grouped`. lefts: how many pages
 * these are. */
TSR_STEP_FUNCTION void tsr_match_gather_item(const tsr_match *m, uint64_t i) {
  const uint64_t at = tsr_match_pair_of(m, i, 0, m->lefts);
  const uint64_t from = m->pages.begins[0][m->pages.larges[at]] + (i - m->matches.begins[at]);
  tsr_match_put(m->index.grouped, i, m->index.keys.bytes, tsr_match_number(&m->index.keys, from));
}

/* From the column `keys` of the index to `grouped`. */
TSR_STEP_FUNCTION void tsr_match_copy_item(const tsr_match *m, uint64_t i) {
  tsr_match_put(m->index.grouped, i, m->index.keys.bytes, tsr_match_number(&m->index.keys, i));
}

TSR_STEP_FUNCTION void tsr_match_enumerate_item(const tsr_match *m, uint64_t i) {
  tsr_match_put(m->index.grouped, i, m->bytes.right, i);
}

TSR_STEP_FUNCTION void tsr_match_unmix_item(const tsr_match *m, uint64_t r) {
  if (m->bytes.key == 8)
    ((uint64_t *)m->out.keys)[r] = tsr_unmix_64(((const uint64_t *)m->out.keys)[r], m->pages.seed);
  else
    ((uint32_t *)m->out.keys)[r] = tsr_unmix_32(((const uint32_t *)m->out.keys)[r], m->pages.seed);
}

/* ---- Aggregates ------------------------------------------------------------------------------ */

/* Combines two right values; *overflows becomes 1 if a sum passes 2^64 - 1. */
TSR_STEP_FUNCTION uint64_t tsr_match_fold(uint32_t fold, uint64_t one, uint64_t other, uint32_t *overflows) {
  if (fold != TSR_FOLD_SUM) return (fold == TSR_FOLD_MIN) == (other < one) ? other : one;
  *overflows |= one + other < other;
  return one + other;
}

/* Adds what some rows of left pair p were combined to to what other threads have added. */
TSR_STEP_FUNCTION void tsr_match_fold_into(const tsr_match *m, uint64_t p, uint64_t own, uint32_t overflows) {
  if (m->folds.how == TSR_FOLD_SUM)
    tsr_match_fold(m->folds.how, tsr_match_add(&m->folds.of[p], own), own, &overflows);
  else
    tsr_match_choose(&m->folds.of[p], m->folds.how, own);
  if (overflows) tsr_match_set_bits(&m->folds.overflows[p / 32], 1u << p % 32);
}

TSR_STEP_FUNCTION uint32_t tsr_match_overflows(const tsr_match *m, uint64_t p) {
  return m->folds.overflows && m->folds.overflows[p / 32] >> p % 32 & 1u;
}

/* Combines the right values of TSR_MATCH_FOLDED rows, and adds each left pair's part once. */
TSR_STEP_FUNCTION void tsr_match_fold_item(const tsr_match *m, uint64_t i) {
  const uint64_t rows = m->matches.begins[m->lefts], first = i * TSR_MATCH_FOLDED;
  const uint64_t end = rows - first < TSR_MATCH_FOLDED ? rows : first + TSR_MATCH_FOLDED;
  uint64_t p = tsr_match_pair_of(m, first, 0, m->lefts), own = tsr_match_right(m, first, p);
  uint32_t overflows = 0;
  for (uint64_t r = first + 1; r < end; r++) {
    if (r >= m->matches.begins[p + 1]) {
      tsr_match_fold_into(m, p, own, overflows);
      p = tsr_match_pair_of(m, r, p + 1, m->lefts);
      own = tsr_match_right(m, r, p);
      overflows = 0;
      continue;
    }
    own = tsr_match_fold(m->folds.how, own, tsr_match_right(m, r, p), &overflows);
  }
  tsr_match_fold_into(m, p, own, overflows);
}

TSR_STEP_FUNCTION void tsr_match_mark_item(const tsr_match *m, uint64_t p) {
  m->folds.marks[p] = m->matches.begins[p] != m->matches.begins[p + 1];
  if (tsr_match_overflows(m, p)) tsr_match_add(m->folds.overflowed, 1);
}

TSR_STEP_FUNCTION void tsr_match_emit_item(const tsr_match *m, uint64_t p) {
  const uint64_t at = m->folds.marks[p];
  if (at == m->folds.marks[p + 1]) return;
  if (m->out.keys) tsr_match_put_key(m->out.keys, at, m->bytes.key, tsr_match_key_at(&m->left_keys, p));
  if (!m->folds.sums_out) return;
  if (m->folds.how == TSR_FOLD_COUNT)
    m->folds.sums_out[at] = m->matches.begins[p + 1] - m->matches.begins[p];
  else
    m->folds.sums_out[at] = m->folds.saturates && tsr_match_overflows(m, p) ? ~(uint64_t)0 : m->folds.of[p];
}

TSR_STEPS(tsr_match_steps)

#endif

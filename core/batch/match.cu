/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of match.h. A thread works on an item; only pages are matched by a block each, in shared memory.
 *
 * All atomics here are relaxed. They count items and rows, give out places, or let one of several threads make a
 * group. What they have made is read after a barrier of the block or by the next kernel.
 */
#include "core/batch/match.h"
#include "core/batch/set.cuh"

#include <cub/block/block_scan.cuh>

#define KERNEL(step) TSR_STEP_KERNEL(tsr_match_##step##_kernel, tsr_match, __launch_bounds__(TSR_BLOCK_THREADS))

enum { ALL_LANES = 0xFFFFFFFF };

/* A key may be in every lane of the grid, so lanes of one group take their numbers by one addition. A step of its own,
 * and without a shuffle, because behind a loop or a branch ptxas does not see that lanes meet again (sm_80). */
KERNEL(rank) {
  __shared__ uint32_t begins[TSR_BLOCK_THREADS];
  const uint64_t i = tsr_step_thread();
  const uint32_t lane = threadIdx.x % 32, leader = i < a.n ? a.index.leaders[i] : TSR_MATCH_NONE;
  const uint32_t mates = __match_any_sync(ALL_LANES, leader), first = (uint32_t)__ffs((int)mates) - 1;
  if (leader != TSR_MATCH_NONE && lane == first)
    begins[threadIdx.x] =
        (uint32_t)atomicAdd((unsigned long long *)&a.index.groups[leader], (unsigned long long)__popc(mates));
  __syncthreads();
  if (leader != TSR_MATCH_NONE && a.index.ranks)
    a.index.ranks[i] = begins[threadIdx.x - lane + first] + (uint32_t)__popc(mates & ((1u << lane) - 1));
}

/* ---- Matches --------------------------------------------------------------------------------- */

/* Adds the block's rows to the total by one atomic. Additions in shared memory have 32 bits, so the thread whose sum
 * overflows adds the carry to the upper half. Shuffles would be collectives behind loops (core/design/0008). */
static __device__ __forceinline__ void add_rows(const tsr_match &a, uint64_t rows) {
  __shared__ uint32_t low, high;
  if (threadIdx.x == 0) low = high = 0;
  __syncthreads();
  const uint32_t own = (uint32_t)rows, before = own ? atomicAdd(&low, own) : 0;
  const uint32_t carry = (uint32_t)(rows >> 32) + (before + own < before);
  if (carry) atomicAdd(&high, carry);
  __syncthreads();
  const uint64_t all = (uint64_t)high << 32 | low;
  if (threadIdx.x == 0 && all && !a.matches.begins)
    atomicAdd((unsigned long long *)a.matches.total, (unsigned long long)all);
}

#define EACH(step) TSR_STEP_EACH(tsr_match_##step##_kernel, tsr_match, tsr_match_##step##_item)
#define ROWS(step)                                                                                                     \
  KERNEL(step) {                                                                                                       \
    const uint64_t rows = tsr_step_thread() < a.n ? tsr_match_##step##_item(&a, tsr_step_thread()) : 0;                \
    add_rows(a, rows);                                                                                                 \
  }
TSR_MATCH_STEPS(EACH, ROWS, TSR_STEP_NOTHING)

/* ---- Pages ----------------------------------------------------------------------------------- */

extern __shared__ uint4 match_memory[];

/* The groups of a page: the key of each, whether a left pair of it has come, and in halves of words how many right
 * pairs it has, later where these end (tsr_match_counts). */
template <class K>
struct page_groups {
  enum { COUNT = TSR_MATCH_INDEX_BYTES / sizeof(K), OF_THREAD = COUNT / TSR_MATCH_THREADS, WORDS = OF_THREAD / 8 };
  static_assert(WORDS * 8 * TSR_MATCH_THREADS == COUNT, "each thread sums as many groups up");
  K *keys;
  uint32_t *seen, *ends;
};

/* The group of a key, made if there is none and `makes` allows it; TSR_MATCH_NONE: it would be too far away. */
template <class K>
static __device__ __forceinline__ uint32_t group_of(const page_groups<K> &g, K key, bool makes) {
  enum { COUNT = page_groups<K>::COUNT };
  static_assert(TSR_SET_NONE == TSR_MATCH_NONE, "no group");
  const uint32_t at = set_home(set_hash(key), COUNT);
  bool is_new;
  return makes ? set_add(g.keys, COUNT, at, TSR_MATCH_PROBES, key, &is_new)
               : set_find(g.keys, COUNT, at, TSR_MATCH_PROBES, key);
}

/* Counts one more pair of a group; returns the former value of its half of a word. No half overflows, because a page
 * has fewer pairs. */
static __device__ __forceinline__ uint32_t add_one(uint32_t *halves, uint32_t e) {
  return atomicAdd(&halves[e / 2], 1u << e % 2 * 16) >> e % 2 * 16 & 0xFFFFu;
}
static __device__ __forceinline__ uint32_t half_of(const uint32_t *halves, uint32_t e) {
  return halves[e / 2] >> e % 2 * 16 & 0xFFFFu;
}

/* Turns the groups' counts into where they begin. Returns whether a group has as many pairs as a left pair with long rows. */
template <class K>
static __device__ __forceinline__ bool sum_groups(uint32_t *halves) {
  typedef cub::BlockScan<uint32_t, TSR_MATCH_THREADS, cub::BLOCK_SCAN_WARP_SCANS> scan;
  __shared__ typename scan::TempStorage storage;
  enum { WORDS = page_groups<K>::WORDS };
  uint4 *const own = (uint4 *)halves + threadIdx.x * WORDS;
  uint32_t counts[WORDS * 4], all = 0, before, most = 0;
#pragma unroll
  for (uint32_t j = 0; j < WORDS; j++) {
    const uint4 four = own[j];
    counts[4 * j] = four.x;
    counts[4 * j + 1] = four.y;
    counts[4 * j + 2] = four.z;
    counts[4 * j + 3] = four.w;
  }
#pragma unroll
  for (uint32_t j = 0; j < WORDS * 4; j++) {
    const uint32_t low = counts[j] & 0xFFFFu, high = counts[j] >> 16;
    counts[j] = (all + low) << 16 | all;
    all += low + high;
    most |= low | high; /* LONG is a power of 2 */
  }
  scan(storage).ExclusiveSum(all, before);
  const uint32_t both = before << 16 | before;
#pragma unroll
  for (uint32_t j = 0; j < WORDS; j++)
    own[j] = {counts[4 * j] + both, counts[4 * j + 1] + both, counts[4 * j + 2] + both, counts[4 * j + 3] + both};
  return __syncthreads_or(most >= TSR_MATCH_LONG);
}

/* Mixed keys of a page have the first bit in common. Without it no key is that of a slot without a pair. */
template <class K>
static __device__ __forceinline__ K first_bit() {
  return (K)1 << (sizeof(K) * 8 - 1);
}
static __device__ __forceinline__ uint32_t unmix(uint32_t key, uint64_t seed) { return tsr_unmix_32(key, seed); }
static __device__ __forceinline__ uint64_t unmix(uint64_t key, uint64_t seed) { return tsr_unmix_64(key, seed); }

/* What a key of the page was for the caller. */
template <class K>
static __device__ __forceinline__ K callers_key(const tsr_match_pages &pages, uint32_t page, K key) {
  if (!pages.mixed_log2) return key;
  return unmix(page >> (pages.mixed_log2 - 1) ? (K)(key | first_bit<K>()) : key, pages.seed);
}

/* This thread's next keys of a column, including those of vacant slots and past the end. All are requested before the
 * first is used. */
enum { BATCH = TSR_MATCH_BATCH };
template <class K>
static __device__ __forceinline__ void next_keys(const tsr_match &a, const tsr_numbers &column, uint64_t first,
                                                 uint64_t end, K key[BATCH]) {
  const K kept = a.pages.mixed_log2 ? (K)~first_bit<K>() : (K) ~(K)0;
#pragma unroll
  for (uint32_t r = 0; r < BATCH; r++) {
    const uint64_t i = first + r * TSR_MATCH_THREADS + threadIdx.x;
    key[r] = i < end ? *(const K *)((const char *)column.at + i * column.stride_bytes) & kept : (K) ~(K)0;
  }
}

/* Slots without a pair have the key of a free group, or the one below it. */

/* By 16 bytes, for the instructions. */
template <uint32_t BYTES>
static __device__ __forceinline__ void fill(void *memory, uint32_t with) {
  enum { FOURS = BYTES / sizeof(uint4) };
#pragma unroll
  for (uint32_t first = 0; first < FOURS; first += TSR_MATCH_THREADS)
    if (FOURS % TSR_MATCH_THREADS == 0 || first + threadIdx.x < FOURS)
      ((uint4 *)memory)[first + threadIdx.x] = {with, with, with, with};
}

/* To be followed by a barrier. */
template <class K>
static __device__ __forceinline__ void clear_groups(const page_groups<K> &g, bool counts) {
  enum { COUNT = page_groups<K>::COUNT };
  fill<COUNT * sizeof(K)>(g.keys, (uint32_t)set_free<K>());
  fill<COUNT / 8>(g.seen, 0);
  if (counts) fill<COUNT * sizeof(uint16_t)>(g.ends, 0);
}

/* Makes groups of the right pairs, and counts them if `counts` says so. */
template <class K>
static __device__ __forceinline__ void group_right(const tsr_match &a, const page_groups<K> &g, uint64_t begin,
                                                   uint64_t end, bool counts) {
  for (uint64_t row = begin; row < end; row += BATCH * TSR_MATCH_THREADS) {
    K key[BATCH];
    next_keys(a, a.right_keys, row, end, key);
#pragma unroll
    for (uint32_t r = 0; r < BATCH; r++) {
      if (key[r] >= set_free<K>() - 1) continue;
      const uint32_t e = group_of(g, key[r], true);
      if (e == TSR_MATCH_NONE)
        a.pages.counters->gave_up = 1;
      else if (counts)
        add_one(g.ends, e);
    }
  }
}

/* Puts the values of the right pairs into their groups, which begin at `to`. */
template <class K>
static __device__ __forceinline__ void place_right(const tsr_match &a, const page_groups<K> &g, uint64_t begin,
                                                   uint64_t end, uint64_t to) {
  for (uint64_t row = begin; row < end; row += BATCH * TSR_MATCH_THREADS) {
    K key[BATCH];
    next_keys(a, a.right_keys, row, end, key);
#pragma unroll
    for (uint32_t r = 0; r < BATCH; r++) {
      if (key[r] >= set_free<K>() - 1) continue;
      const uint32_t e = group_of(g, key[r], false);
      if (e != TSR_MATCH_NONE)
        tsr_match_put(a.index.grouped, to + add_one(g.ends, e), a.bytes.right,
                      tsr_match_number(&a.right_values, row + r * TSR_MATCH_THREADS + threadIdx.x));
    }
  }
}

/* Looks up the left pairs from `left` on; `begin` is where the groups of the page begin. Returns the rows that they have. */
template <class K>
static __device__ __forceinline__ uint64_t look_left(const tsr_match &a, const page_groups<K> &g, uint64_t begin,
                                                     uint64_t left, uint64_t left_end, bool counts) {
  const bool makes = a.want.keys_once && tsr_match_wants_absent(&a);
  uint64_t rows = 0;
  for (uint64_t row = left; row < left_end; row += BATCH * TSR_MATCH_THREADS) {
    K key[BATCH];
    next_keys(a, a.left_keys, row, left_end, key);
#pragma unroll
    for (uint32_t r = 0; r < BATCH; r++) {
      const uint64_t p = row + r * TSR_MATCH_THREADS + threadIdx.x;
      if (p >= left_end) continue;
      if (key[r] >= set_free<K>() - 1) {
        tsr_match_tell(&a, p, 0, 0, 0);
        continue;
      }
      const uint32_t e = group_of(g, key[r], makes), is_there = e != TSR_MATCH_NONE;
      const uint32_t first = is_there && e && a.index.grouped ? half_of(g.ends, e - 1) : 0;
      const uint32_t matches = is_there && counts ? half_of(g.ends, e) - first : is_there;
      uint32_t leads = 1;
      if (a.want.keys_once) {
        if (makes && !is_there) a.pages.counters->gave_up = 1;
        leads = is_there && !(atomicOr(&g.seen[e / 32], 1u << e % 32) >> e % 32 & 1u);
      }
      rows += tsr_match_tell(&a, p, (uint32_t)begin + first, matches, leads);
    }
  }
  return rows;
}

/* What each lane has and all lanes before it. */
static __device__ __forceinline__ uint32_t sum_to_lane(uint32_t own) {
  uint32_t end = own;
#pragma unroll
  for (uint32_t d = 1; d < 32; d *= 2) {
    const uint32_t before = __shfl_up_sync(ALL_LANES, end, d);
    if (threadIdx.x % 32 >= d) end += before;
  }
  return end;
}

/* Leaves the long rows of a warp's left pairs to the step of pieces, one pair per lane, 0 rows: none. They are in front of the
 * warp's other rows, and it returns where these begin. */
static __device__ __forceinline__ uint64_t leave_rows(const tsr_match &a, uint64_t begin, uint64_t pair, uint32_t rows,
                                                      uint32_t match) {
  const uint32_t pieces = (rows + TSR_MATCH_PIECE - 1) / TSR_MATCH_PIECE;
  const uint32_t end = sum_to_lane(rows), pieces_end = sum_to_lane(pieces);
  uint64_t at = 0;
  if (threadIdx.x % 32 == 31)
    at = atomicAdd((unsigned long long *)&a.pages.counters->pieces, (unsigned long long)pieces_end);
  at = __shfl_sync(ALL_LANES, at, 31) + (pieces_end - pieces);
  for (uint32_t done = 0; done < rows; done += TSR_MATCH_PIECE, at++)
    if (at < a.matches.pieces_room)
      a.matches.pieces[at] = {begin + (end - rows) + done, (uint32_t)pair, match + done,
                              rows - done < TSR_MATCH_PIECE ? rows - done : (uint32_t)TSR_MATCH_PIECE, 0};
  return begin + __shfl_sync(ALL_LANES, end, 31);
}

/* Leaves the long rows of this warp's pairs of a batch, which begins at pair `row`: then they have no rows. One copy of the code
 * for all rounds, because the kernel is long. */
static __device__ __forceinline__ uint64_t leave_long(const tsr_match &a, uint64_t begin, uint64_t row,
                                                      uint32_t rows[BATCH], const uint32_t match[BATCH]) {
#pragma unroll 1
  for (uint32_t r = 0; r < BATCH; r++) {
    uint32_t own = 0, first = 0;
#pragma unroll
    for (uint32_t k = 0; k < BATCH; k++) {
      if (k != r || rows[k] < TSR_MATCH_LONG) continue;
      own = rows[k];
      first = match[k];
      rows[k] = 0;
    }
    if (__any_sync(ALL_LANES, own)) begin = leave_rows(a, begin, row + r * TSR_MATCH_THREADS + threadIdx.x, own, first);
  }
  return begin;
}

/* The rows of the left pairs of a warp, one pair per lane: where they begin among all rows, and where the next ones do. */
template <class K>
static __device__ __forceinline__ uint64_t write_rows(const tsr_match &a, uint64_t begin, uint32_t pair, K key,
                                                      uint32_t rows, uint32_t match) {
  const uint32_t lane = threadIdx.x % 32;
  if (__all_sync(ALL_LANES, rows <= 1)) {
    const uint32_t all = __ballot_sync(ALL_LANES, rows);
    if (rows) tsr_match_meet_row(&a, begin + __popc(all & ((1u << lane) - 1)), pair, key, match);
    return begin + __popc(all);
  }
  const uint32_t end = sum_to_lane(rows), all = __shfl_sync(ALL_LANES, end, 31);
  for (uint32_t first = 0; first < all; first += 32) {
    const uint32_t r = first + lane;
    uint32_t owner = 0; /* the first lane that ends behind the row */
#pragma unroll
    for (uint32_t d = 16; d; d /= 2)
      if (__shfl_sync(ALL_LANES, end, owner + d - 1) <= r) owner += d;
    const uint32_t own_match = __shfl_sync(ALL_LANES, match, owner), own_pair = __shfl_sync(ALL_LANES, pair, owner);
    const uint32_t own_begin = __shfl_sync(ALL_LANES, end - rows, owner);
    const K own_key = __shfl_sync(ALL_LANES, key, owner);
    if (r < all)
      tsr_match_meet_row(&a, begin + r, own_pair, own_key,
                         own_match == TSR_MATCH_NONE ? own_match : own_match + (r - own_begin));
  }
  return begin + all;
}

/* A warp's rows of a batch of left pairs get their places by one atomic. Returns where they begin. */
static __device__ __forceinline__ uint64_t take_places(const tsr_match &a, uint32_t rows) {
  const uint32_t all = __reduce_add_sync(ALL_LANES, rows);
  uint64_t begin = 0;
  if (all && threadIdx.x % 32 == 0) begin = atomicAdd((unsigned long long *)a.matches.total, (unsigned long long)all);
  return __shfl_sync(ALL_LANES, begin, 0);
}

/* Left pairs of a page, which meet all of its right ones. */
struct match_tile {
  uint32_t page, left, left_end, begin, end;
  uint32_t grouped; /* where its groups begin */
  bool leaves;      /* there are long rows, and they are left to another step */
};

/* Looks up the left pairs of a tile, and writes their rows. ahead: the first keys. Those of each batch are on their way while
 * the batch before is worked on. */
template <class K>
static __device__ __forceinline__ void meet_left(const tsr_match &a, const page_groups<K> &g, const match_tile &t,
                                                 bool counts, K ahead[BATCH]) {
  for (uint64_t row = t.left; row < t.left_end; row += BATCH * TSR_MATCH_THREADS) {
    uint32_t rows[BATCH], match[BATCH], all = 0;
    K key[BATCH];
#pragma unroll
    for (uint32_t r = 0; r < BATCH; r++) key[r] = ahead[r];
#pragma unroll
    for (uint32_t r = 0; r < BATCH; r++) {
      rows[r] = 0;
      match[r] = TSR_MATCH_NONE;
      if (key[r] >= set_free<K>() - 1) continue;
      const uint32_t e = group_of(g, key[r], false), is_there = e != TSR_MATCH_NONE;
      const uint32_t first = is_there && e && a.index.grouped ? half_of(g.ends, e - 1) : 0;
      if (is_there) match[r] = (uint32_t)t.grouped + first;
      rows[r] = (uint32_t)tsr_match_rows_of(&a, is_there && counts ? half_of(g.ends, e) - first : is_there);
      all += rows[r];
    }
    next_keys(a, a.left_keys, row + BATCH * TSR_MATCH_THREADS, t.left_end, ahead);
    uint64_t next = take_places(a, all);
    if (t.leaves) next = leave_long(a, next, row, rows, match);
#pragma unroll
    for (uint32_t r = 0; r < BATCH; r++)
      next = write_rows<K>(a, next, (uint32_t)row + r * TSR_MATCH_THREADS + threadIdx.x,
                           callers_key(a.pages, t.page, key[r]), rows[r], match[r]);
  }
}

/* Other tiles of this block reuse its place for right values. For long rows they are put where they stay; false: no room. */
static __device__ __forceinline__ bool keep_values(const tsr_match &a, match_tile &t) {
  __shared__ uint32_t at;
  if (threadIdx.x == 0) {
    const uint64_t n = t.end - t.begin;
    const uint64_t kept = atomicAdd((unsigned long long *)&a.pages.counters->kept, (unsigned long long)n);
    at = kept + n <= a.index.kept_room ? TSR_MATCH_BLOCKS * TSR_MATCH_PAGE_ITEMS + (uint32_t)kept : TSR_MATCH_NONE;
  }
  __syncthreads();
  if (at != TSR_MATCH_NONE) t.grouped = at;
  return at != TSR_MATCH_NONE;
}

/* The right pairs of a page become groups, and left pairs look their keys up there. The groups are cleared already. No thread
 * leaves early, because all meet again at each step. */
template <class K, bool WRITES>
static __device__ __forceinline__ void match_left(const tsr_match &a, const page_groups<K> &g, match_tile &t,
                                                  bool counts, uint64_t *rows) {
  K ahead[BATCH];
  group_right(a, g, t.begin, t.end, counts);
  __syncthreads();
  if (a.index.grouped) {
    const bool has_long = sum_groups<K>(g.ends);
    if (WRITES && t.leaves) t.leaves = has_long && (!a.pages.tiles || keep_values(a, t));
    place_right(a, g, t.begin, t.end, t.grouped);
  }
  if (WRITES) next_keys(a, a.left_keys, t.left, t.left_end, ahead);
  if (a.index.grouped) __syncthreads();
  if (WRITES)
    meet_left(a, g, t, counts, ahead);
  else
    *rows += look_left(a, g, t.grouped, t.left, t.left_end, counts);
}

static __device__ __forceinline__ match_tile tile_at(const tsr_match &a, uint32_t at) {
  match_tile t;
  t.page = a.pages.tiles ? a.pages.owners[at] : at;
  t.left = (uint32_t)a.pages.begins[0][t.page];
  t.left_end = (uint32_t)tsr_match_page_end(&a, 0, t.page);
  t.begin = t.grouped = (uint32_t)a.pages.begins[1][t.page];
  t.end = (uint32_t)tsr_match_page_end(&a, 1, t.page);
  t.leaves = a.matches.pieces;
  if (!a.pages.tiles) return t;
  t.grouped = blockIdx.x * TSR_MATCH_PAGE_ITEMS;
  t.left += (at - (uint32_t)a.pages.tiles[t.page]) * TSR_MATCH_TILE;
  if (t.left_end - t.left > TSR_MATCH_TILE) t.left_end = t.left + TSR_MATCH_TILE;
  return t;
}

/* A block has a page, or takes tiles until none is left. A page with too many pairs is listed, or the whole call takes
 * another way. That way is taken also if a thread finds no room for a key (gave_up), and then blocks that begin later do
 * nothing. What a block reads first is on its way while it clears its groups. It leaves by a number in shared memory: from a
 * barrier's result ptxas does not see that all threads leave together, and looks in pages with vacant slots took 1.4 times as
 * long. */
template <class K, bool WRITES>
static __device__ __forceinline__ void match_page(const tsr_match &a) {
  const uint32_t tiles = (uint32_t)(a.pages.tiles ? a.pages.tiles[a.pages.count] : a.pages.count);
  const bool counts = tsr_match_counts(&a);
  __shared__ uint32_t next, stops;
  page_groups<K> g;
  g.keys = (K *)match_memory;
  g.seen = (uint32_t *)(g.keys + page_groups<K>::COUNT);
  g.ends = g.seen + page_groups<K>::COUNT / 32;
  uint64_t rows = 0;
  for (uint32_t at = blockIdx.x; at < tiles; at = next) {
    uint32_t own = tiles;
    if (threadIdx.x == 0 && a.pages.tiles) own = gridDim.x + atomicAdd(&a.pages.counters->tiles, 1u);
    match_tile t = tile_at(a, at);
    const uint32_t gave_up = threadIdx.x == 0 ? *(const volatile uint32_t *)&a.pages.counters->gave_up : 0;
    clear_groups(g, counts);
    if (t.end - t.begin > TSR_MATCH_PAGE_ITEMS || t.left_end - t.left > TSR_MATCH_PAGE_ITEMS) {
      if (!a.pages.tiles)
        a.pages.counters->gave_up = 1;
      else if (threadIdx.x == 0 && at == a.pages.tiles[t.page])
        a.pages.larges[atomicAdd(&a.pages.counters->larges, 1u)] = t.page;
      t.end = t.begin;
      t.left_end = t.left;
    }
    if (threadIdx.x == 0) stops = gave_up;
    __syncthreads();
    if (stops) break;
    if (threadIdx.x == 0) next = own;
    match_left<K, WRITES>(a, g, t, counts, &rows);
    __syncthreads();
  }
  if (!WRITES) add_rows(a, rows);
}

/* Blocks per multiprocessor, as shared memory allows: three where an index counts nothing, two where rows are written. ptxas by
 * itself takes fewer registers, and spills. */
#define LOOK_BOUNDS __launch_bounds__(TSR_MATCH_THREADS, 3)
#define MEET_BOUNDS __launch_bounds__(TSR_MATCH_THREADS, 2)
TSR_STEP_KERNEL(tsr_match_pages_kernel, tsr_match, LOOK_BOUNDS) { match_page<uint32_t, false>(a); }
TSR_STEP_KERNEL(tsr_match_wide_pages_kernel, tsr_match, LOOK_BOUNDS) { match_page<uint64_t, false>(a); }
TSR_STEP_KERNEL(tsr_match_meet_kernel, tsr_match, MEET_BOUNDS) { match_page<uint32_t, true>(a); }
TSR_STEP_KERNEL(tsr_match_wide_meet_kernel, tsr_match, MEET_BOUNDS) { match_page<uint64_t, true>(a); }

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Rows of a batch of left pairs, by an index in memory. */
template <class K>
static __device__ __forceinline__ void probe_left(const tsr_match &a) {
  const uint64_t row = blockIdx.x * (uint64_t)TSR_MATCH_PROBED;
  K key[BATCH];
  uint32_t rows[BATCH], match[BATCH], all = 0;
  next_keys(a, a.left_keys, row, a.lefts, key);
#pragma unroll
  for (uint32_t r = 0; r < BATCH; r++) {
    rows[r] = 0;
    match[r] = TSR_MATCH_NONE;
    if (row + r * TSR_MATCH_THREADS + threadIdx.x >= a.lefts) continue;
    uint32_t first;
    uint64_t matches = tsr_match_matches_of(&a, {key[r], 0}, &first);
    if (matches) match[r] = first;
    if (matches > TSR_MATCH_MOST) a.pages.counters->gave_up = 1, matches = 0;
    rows[r] = (uint32_t)tsr_match_rows_of(&a, matches);
    all += rows[r];
  }
  uint64_t next = take_places(a, all);
  if (a.matches.pieces) next = leave_long(a, next, row, rows, match);
#pragma unroll
  for (uint32_t r = 0; r < BATCH; r++)
    next = write_rows<K>(a, next, (uint32_t)row + r * TSR_MATCH_THREADS + threadIdx.x, key[r], rows[r], match[r]);
}
TSR_STEP_KERNEL(tsr_match_probe_kernel, tsr_match, MEET_BOUNDS) { probe_left<uint32_t>(a); }
TSR_STEP_KERNEL(tsr_match_wide_probe_kernel, tsr_match, MEET_BOUNDS) { probe_left<uint64_t>(a); }

KERNEL(pieces) {
  const uint64_t i = blockIdx.x * (uint64_t)TSR_MATCH_PIECES + threadIdx.x / 32;
  if (i < a.n) tsr_match_write_piece(&a, i, threadIdx.x % 32, 32);
}

/* A block's rows belong to neighbouring left pairs, so two of its threads find the first and the last of these for
 * all. */
KERNEL(rows) {
  __shared__ unsigned long long bound[2];
  const uint64_t r = tsr_step_thread(), first = blockIdx.x * (uint64_t)TSR_MATCH_ROWS;
  const uint64_t last = a.n - first > TSR_MATCH_ROWS ? first + TSR_MATCH_ROWS - 1 : a.n - 1;
  if (threadIdx.x < 2) bound[threadIdx.x] = tsr_match_pair_of(&a, threadIdx.x ? last : first, 0, a.lefts);
  __syncthreads();
  if (r < a.n) tsr_match_row(&a, r, tsr_match_pair_of(&a, r, bound[0], bound[1] + 1));
}

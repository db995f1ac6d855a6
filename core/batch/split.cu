/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of split.h. A block has few shards to count, so its lanes would wait for each other at their counters.
 * Hence lanes of a warp whose items are of one shard take their places by one addition. Atomics: see runs.cuh.
 */
#include "core/batch/split.h"

#include "core/batch/fold.cuh"
#include "core/batch/runs.cuh"

#define KERNEL_AS(step, bounds) TSR_STEP_KERNEL(tsr_split_##step, tsr_split, bounds)
#define TILE_KERNEL(step, blocks) KERNEL_AS(step, __launch_bounds__(TSR_RUNS_THREADS, blocks))

#define ITEM_KERNEL(step) KERNEL_AS(step, __launch_bounds__(TSR_BLOCK_THREADS))

extern __shared__ uint4 split_room[]; /* a column of a tile */

/* ---- A key of 128 bits as a word of a column ------------------------------------------------- */

struct __align__(16) b128 {
  unsigned long long lower, upper;
  b128() = default;
  __device__ __forceinline__ b128(unsigned long long low, unsigned long long high) : lower(low), upper(high) {}
  explicit __device__ __forceinline__ b128(int number) : lower((unsigned long long)number), upper(0) {}
  __device__ __forceinline__ b128 operator~() const { return {~lower, ~upper}; }
};
static __device__ __forceinline__ bool operator==(b128 a, b128 b) { return a.lower == b.lower && a.upper == b.upper; }
static __device__ __forceinline__ bool operator!=(b128 a, b128 b) { return !(a == b); }
static __device__ __forceinline__ uint64_t word_of(uint64_t key) { return key; }
static __device__ __forceinline__ uint64_t word_of(b128 key) { return tsr_split_b128_word(key.lower, key.upper); }

/* What the templates of runs.cuh, fold.cuh and set.cuh ask of a word. */
static __device__ __forceinline__ b128 __ldcs(const b128 *at) {
  const ulonglong2 words = __ldcs((const ulonglong2 *)at);
  return {words.x, words.y};
}
static __device__ __forceinline__ void __stcs(b128 *at, b128 key) {
  __stcs((ulonglong2 *)at, make_ulonglong2(key.lower, key.upper));
}
static __device__ __forceinline__ uint32_t __match_any_sync(uint32_t lanes, b128 key) {
  return __match_any_sync(lanes, key.lower) & __match_any_sync(lanes, key.upper);
}
static __device__ __forceinline__ uint32_t set_hash(b128 key) { return set_hash(word_of(key)); }
static __device__ __forceinline__ uint32_t place_of(const b128 *at) { return (uint32_t)__cvta_generic_to_shared(at); }
/* Relaxed, as all of set.cuh. Compute capability 9.0, which tables of such keys need. */
static __device__ __forceinline__ b128 set_swap(b128 *at, b128 key) {
  b128 found = ~(b128)0;
#if __CUDA_ARCH__ >= 900
  asm volatile("{ .reg .b128 e, d, f; mov.b128 e, {%0, %1}; mov.b128 d, {%2, %3};"
               " atom.relaxed.cta.shared.cas.b128 f, [%4], e, d; mov.b128 {%0, %1}, f; }"
               : "+l"(found.lower), "+l"(found.upper)
               : "l"(key.lower), "l"(key.upper), "r"(place_of(at))
               : "memory");
#endif
  return found;
}
/* One instruction, which reads the 16 bytes as a whole: half of a key could be another key. */
static __device__ __forceinline__ b128 set_load(const b128 *at) {
  b128 found;
  asm volatile("ld.volatile.shared.v2.u64 {%0, %1}, [%2];"
               : "=l"(found.lower), "=l"(found.upper)
               : "r"(place_of(at))
               : "memory");
  return found;
}

/* Threads read some keys ahead, because no compiler moves a read over the atomics of the key before. */
template <class word>
static __device__ __forceinline__ void count_bins(const tsr_split &a, uint32_t *counts) {
  enum { AHEAD = 8 };
  const word *const keys = (const word *)a.items[TSR_SPLIT_KEYS];
  const uint64_t step = gridDim.x * (uint64_t)TSR_BLOCK_THREADS;
  for (uint64_t i = tsr_step_thread(); i < a.runs.n; i += AHEAD * step) {
    word key[AHEAD];
#pragma unroll
    for (uint32_t k = 0; k < AHEAD; k++) key[k] = i + k * step < a.runs.n ? __ldcs(keys + i + k * step) : (word)0;
#pragma unroll
    for (uint32_t k = 0; k < AHEAD; k++)
      if (i + k * step < a.runs.n) atomicAdd(&counts[tsr_split_bin(word_of(key[k]), a.seed)], 1u);
  }
}

static __device__ __forceinline__ void begin_bins(uint32_t *counts) {
  for (uint32_t bin = threadIdx.x; bin < TSR_SPLIT_BINS; bin += TSR_BLOCK_THREADS) counts[bin] = 0;
  __syncthreads();
}

static __device__ __forceinline__ void add_bins(const tsr_split &a, const uint32_t *counts) {
  __syncthreads();
  for (uint32_t bin = threadIdx.x; bin < TSR_SPLIT_BINS; bin += TSR_BLOCK_THREADS)
    if (counts[bin]) atomicAdd((unsigned long long *)&a.bins[bin], (unsigned long long)counts[bin]);
}

/* Few blocks take many keys each: with many blocks more bins would be written than items counted. */
ITEM_KERNEL(bins) {
  __shared__ uint32_t counts[TSR_SPLIT_BINS];
  begin_bins(counts);
  if (a.bytes[TSR_SPLIT_KEYS] == 8)
    count_bins<unsigned long long>(a, counts);
  else
    count_bins<uint32_t>(a, counts);
  add_bins(a, counts);
}

ITEM_KERNEL(b128_bins) {
  __shared__ uint32_t counts[TSR_SPLIT_BINS];
  begin_bins(counts);
  count_bins<b128>(a, counts);
  add_bins(a, counts);
}

/* A function for items of 8, 4 or 1 bytes, chosen before any item is read. If a thread asked for the width at each
 * item, it would wait for that item before it reads the next. */
#define OF_WIDTH(bytes, call, ...)                                                                                     \
  do {                                                                                                                 \
    if ((bytes) == 8)                                                                                                  \
      call<unsigned long long>(__VA_ARGS__);                                                                           \
    else if ((bytes) == 4)                                                                                             \
      call<uint32_t>(__VA_ARGS__);                                                                                     \
    else                                                                                                               \
      call<uint8_t>(__VA_ARGS__);                                                                                      \
  } while (0)

template <class word>
static __device__ __forceinline__ void count_keys(const tsr_split &a) {
  runs_count(&a.runs, (const word *)a.items[TSR_SPLIT_KEYS],
             [&](word key) { return tsr_split_shard(&a, word_of(key)); });
}

TILE_KERNEL(count, 3) {
  if (a.bytes[TSR_SPLIT_KEYS] == 8)
    count_keys<unsigned long long>(a);
  else
    count_keys<uint32_t>(a);
}

TILE_KERNEL(b128_count, 3) { count_keys<b128>(a); }

/* The next place of a shard. The lanes whose items are of the same shard ask once. */
static __device__ __forceinline__ uint32_t next_place(uint32_t *next, uint32_t shard) {
  const uint32_t lane = threadIdx.x % RUNS_LANES, mates = __match_any_sync(0xFFFFFFFFu, shard);
  const uint32_t leader = (uint32_t)__ffs((int)mates) - 1;
  uint32_t first = 0;
  if (shard < TSR_RUNS_BINS && lane == leader) first = atomicAdd(&next[shard], (uint32_t)__popc(mates));
  return __shfl_sync(0xFFFFFFFFu, first, (int)leader) + __popc(mates & ((1u << lane) - 1));
}

template <class word>
static __device__ __forceinline__ void send_keys(const tsr_split &a, tile_runs *runs, uint16_t place[RUNS_ROUNDS]) {
  word *room = (word *)split_room;
  runs_order(
      &a.runs, runs, (const word *)a.items[TSR_SPLIT_KEYS], [&](word key) { return tsr_split_shard(&a, key); },
      next_place, [&](uint32_t at, word key, uint32_t) { room[at] = key; }, place);
  runs_write(&a.runs, runs, room, [&](uint32_t shard) { return (word *)a.to[TSR_SPLIT_KEYS][shard]; });
}

template <class word>
static __device__ __forceinline__ void send_column(const tsr_split &a, const tile_runs *runs,
                                                   const uint16_t place[RUNS_ROUNDS], uint32_t column) {
  runs_move(&a.runs, runs, (const word *)a.items[column], place, (word *)split_room,
            [&](uint32_t shard) { return (word *)a.to[column][shard]; });
}

/* Rows of more than a word have no room there: their numbers are put in order, and they are copied from where they
 * are. */
static __device__ __forceinline__ void send_rows(const tsr_split &a, const tile_runs *runs,
                                                 const uint16_t place[RUNS_ROUNDS], uint32_t column) {
  uint32_t *room = (uint32_t *)split_room;
  const uint32_t items = runs_tile_items(&a.runs);
  __syncthreads(); /* the column before has left the room */
#pragma unroll
  for (uint32_t r = 0; r < RUNS_ROUNDS; r++)
    if (runs_item(r) < items) room[place[r]] = runs_item(r);
  __syncthreads();
  for (uint32_t at = threadIdx.x; at < items; at += TSR_RUNS_THREADS) {
    const uint32_t shard = runs_bin_at(&a.runs, runs, at);
    tsr_split_put_row(a.to[column][shard], (uint32_t)(runs->shift[shard] + at), a.items[column],
                      runs_tile_begin() + room[at], a.bytes[column]);
  }
}

static __device__ __forceinline__ void send_others(const tsr_split &a, const tile_runs *runs,
                                                   const uint16_t place[RUNS_ROUNDS]) {
  const uint32_t value_bytes = a.bytes[TSR_SPLIT_VALUES];
  if (a.items[TSR_SPLIT_VALUES] && value_bytes > sizeof(uint64_t))
    send_rows(a, runs, place, TSR_SPLIT_VALUES);
  else if (a.items[TSR_SPLIT_VALUES])
    OF_WIDTH(value_bytes, send_column, a, runs, place, TSR_SPLIT_VALUES);
  if (a.items[TSR_SPLIT_OPERATIONS]) send_column<uint8_t>(a, runs, place, TSR_SPLIT_OPERATIONS);
  if (a.items[TSR_SPLIT_MORE]) send_column<uint16_t>(a, runs, place, TSR_SPLIT_MORE);
}

/* Items for another device have to go in long runs, so a tile is put in order in the block's own memory first. */
TILE_KERNEL(scatter, 2) {
  __shared__ tile_runs runs;
  uint16_t place[RUNS_ROUNDS];
  if (a.bytes[TSR_SPLIT_KEYS] == 8)
    send_keys<unsigned long long>(a, &runs, place);
  else
    send_keys<uint32_t>(a, &runs, place);
  send_others(a, &runs, place);
}

/* One block: on sm_100 the registers of two are too few for it. */
TILE_KERNEL(b128_scatter, 1) {
  __shared__ tile_runs runs;
  uint16_t place[RUNS_ROUNDS];
  runs_order(
      &a.runs, &runs, (const b128 *)a.items[TSR_SPLIT_KEYS],
      [&](b128 key) { return tsr_split_shard(&a, word_of(key)); }, next_place, [](uint32_t, b128, uint32_t) {}, place);
  send_others(a, &runs, place);
  send_rows(a, &runs, place, TSR_SPLIT_KEYS);
}

/* ---- Answers --------------------------------------------------------------------------------- */

static __device__ __forceinline__ bool is_wanted(const tsr_split &a, uint64_t i) {
  return !a.answers.only || a.answers.only[i] == a.answers.only_code;
}

/* The shard that has an item of the tile, and its number in the column there. */
static __device__ __forceinline__ uint32_t number_of(const tsr_split &a, const tile_runs *runs, uint64_t i,
                                                     uint32_t *shard) {
  const uint32_t place = a.runs.places[i];
  *shard = runs_bin_at(&a.runs, runs, place);
  return runs->shift[*shard] + place;
}

static __device__ __forceinline__ void *column_from(const tsr_split &a, uint32_t shard) {
  return a.from[a.runs.are_apart ? shard : 0];
}

template <class word>
static __device__ __forceinline__ void collect_words(const tsr_split &a, const tile_runs *runs) {
  word *const answers = (word *)a.answers.ordered;
  runs_gather(
      &a.runs, runs, (word *)split_room, [&](uint32_t shard) { return (word *)column_from(a, shard); },
      [&](uint64_t i, uint32_t, word answer) {
        if (is_wanted(a, i)) __stcs(answers + i, answer);
      });
}

/* Items that did not move, if `runs` is NULL, or rows. */
static __device__ __forceinline__ void collect_items(const tsr_split &a, const tile_runs *runs) {
  for (uint32_t k = threadIdx.x; k < runs_tile_items(&a.runs); k += TSR_RUNS_THREADS) {
    const uint64_t i = runs_tile_begin() + k;
    uint32_t shard = 0;
    if (!is_wanted(a, i)) continue;
    const uint64_t number = runs ? number_of(a, runs, i, &shard) : i;
    tsr_split_put(a.answers.ordered, i, column_from(a, shard), number, a.answers.column_bytes);
  }
}

TILE_KERNEL(collect, 3) {
  __shared__ tile_runs runs;
  if (a.runs.places) runs_find(&a.runs, &runs);
  if (!a.runs.places)
    collect_items(a, nullptr);
  else if (a.answers.column_bytes > sizeof(uint64_t))
    collect_items(a, &runs);
  else
    OF_WIDTH(a.answers.column_bytes, collect_words, a, &runs);
}

TILE_KERNEL(spans, 3) {
  __shared__ tile_runs runs;
  runs_find(&a.runs, &runs);
  for (uint32_t k = threadIdx.x; k < runs_tile_items(&a.runs); k += TSR_RUNS_THREADS) {
    const uint64_t i = runs_tile_begin() + k;
    uint32_t shard;
    a.lists.spans[number_of(a, &runs, i, &shard)] = a.lists.offsets[i + 1] - a.lists.offsets[i];
  }
}

TILE_KERNEL(spread, 3) {
  __shared__ tile_runs runs;
  runs_find(&a.runs, &runs);
  for (uint32_t k = threadIdx.x; k < runs_tile_items(&a.runs); k += TSR_RUNS_THREADS) {
    const uint64_t i = runs_tile_begin() + k, to = a.lists.offsets[i] - a.lists.offsets[0];
    uint32_t shard;
    const uint64_t *span = &a.lists.spans[number_of(a, &runs, i, &shard)];
    const uint64_t begin = span[0] - a.lists.spans[a.runs.counts[shard * a.runs.tiles]];
    for (uint64_t v = 0; v < span[1] - span[0]; v++)
      tsr_split_put(a.answers.ordered, to + v, a.from[shard], begin + v, a.answers.column_bytes);
  }
}

ITEM_KERNEL(gather) {
  if (tsr_step_thread() < a.runs.n) tsr_split_gather_item(&a, tsr_step_thread());
}

ITEM_KERNEL(sizes) {
  if (tsr_step_thread() < a.runs.bins) tsr_split_sizes_item(&a, tsr_step_thread());
}

/* ---- Items of one key -------------------------------------------------------------------------- */

template <class key_word, class value_word>
static __device__ __forceinline__ void fold_items(const tsr_split &a) {
  fold_span(&a.fold, a.runs.n, (const key_word *)a.items[TSR_SPLIT_KEYS], (const value_word *)a.items[TSR_SPLIT_VALUES],
            split_room);
}

TILE_KERNEL(fold, 2) {
  if (a.bytes[TSR_SPLIT_KEYS] == 8 && a.bytes[TSR_SPLIT_VALUES] == 8)
    fold_items<unsigned long long, unsigned long long>(a);
  else if (a.bytes[TSR_SPLIT_KEYS] == 8)
    fold_items<unsigned long long, uint32_t>(a);
  else if (a.bytes[TSR_SPLIT_VALUES] == 8)
    fold_items<uint32_t, unsigned long long>(a);
  else
    fold_items<uint32_t, uint32_t>(a);
}

TILE_KERNEL(b128_fold, 2) {
  if (a.bytes[TSR_SPLIT_VALUES] == 8)
    fold_items<b128, unsigned long long>(a);
  else
    fold_items<b128, uint32_t>(a);
}

ITEM_KERNEL(unpack) {
  const uint16_t *const more = (const uint16_t *)a.items[TSR_SPLIT_MORE];
  const uint64_t i = tsr_step_thread();
  if (i >= a.runs.n) return;
  const uint64_t value = tsr_split_made(&a, nullptr, more, i);
  tsr_split_set_word(a.fold.values, a.bytes[TSR_SPLIT_VALUES], i, value);
  if (a.fold.overflows && value <= more[i]) atomicAdd((unsigned long long *)a.fold.overflows, 1ull); /* it stopped */
}

static __device__ __forceinline__ void weigh(const tsr_split &a, bool is_b128) {
  const uint64_t weight = tsr_step_thread() < a.runs.n ? tsr_split_weight(&a, tsr_step_thread(), is_b128) : 0;
  if (weight) atomicAdd((unsigned long long *)a.not_placed, (unsigned long long)weight);
}

ITEM_KERNEL(weigh) { weigh(a, false); }
ITEM_KERNEL(b128_weigh) { weigh(a, true); }

ITEM_KERNEL(unfold) {
  if (tsr_step_thread() < a.runs.n) tsr_split_unfold_item(&a, tsr_step_thread(), false);
}

ITEM_KERNEL(b128_unfold) {
  if (tsr_step_thread() < a.runs.n) tsr_split_unfold_item(&a, tsr_step_thread(), true);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of split.h. A block has few shards to count, so its lanes would wait for each other at their counters.
 * Hence lanes of a warp whose items are of one shard take their places by one addition. All atomics here are relaxed:
 * they count or give out places, and a barrier or the next kernel comes before their results are read. Threads read
 * some items ahead, because no compiler moves a read over the atomics and votes of the item before.
 */
#include "core/batch/split.h"

#define KERNEL_AS(step, bounds) TSR_STEP_KERNEL(tsr_split_##step, tsr_split, bounds)
#define KERNEL(step) KERNEL_AS(step, __launch_bounds__(TSR_BLOCK_THREADS))

enum { NO_SHARD = TSR_SPLIT_SHARDS_MAX, TURNS = TSR_SPLIT_TILE / TSR_BLOCK_THREADS };

#define EACH(step) TSR_STEP_EACH(tsr_split_##step, tsr_split, tsr_split_##step##_item)
TSR_SPLIT_STEPS(EACH, TSR_STEP_NOTHING)

/* Few blocks take many tiles each: with many blocks more bins would be written than items counted. */
KERNEL(bins) {
  __shared__ uint32_t counts[TSR_SPLIT_BINS];
  for (uint32_t bin = threadIdx.x; bin < TSR_SPLIT_BINS; bin += TSR_BLOCK_THREADS) counts[bin] = 0;
  __syncthreads();
  for (uint64_t i = tsr_step_thread(); i < a.n; i += gridDim.x * (uint64_t)TSR_BLOCK_THREADS)
    atomicAdd(&counts[tsr_split_bin(tsr_split_key(&a, i), a.seed)], 1u);
  __syncthreads();
  for (uint32_t bin = threadIdx.x; bin < TSR_SPLIT_BINS; bin += TSR_BLOCK_THREADS)
    if (counts[bin]) atomicAdd((unsigned long long *)&a.bins[bin], (unsigned long long)counts[bin]);
}

/* A function for items of 8, 4 or 1 bytes, chosen before any item is read. If a thread asked for the width at each
 * item, it would wait for that item before it reads the next. */
#define OF_WIDTH(bytes, call, ...)                                                                                     \
  do {                                                                                                                 \
    if ((bytes) == 8)                                                                                                  \
      call<uint64_t>(__VA_ARGS__);                                                                                     \
    else if ((bytes) == 4)                                                                                             \
      call<uint32_t>(__VA_ARGS__);                                                                                     \
    else                                                                                                               \
      call<uint8_t>(__VA_ARGS__);                                                                                      \
  } while (0)

static __device__ __forceinline__ uint32_t lane() { return threadIdx.x % 32; }

static __device__ __forceinline__ uint64_t tile_begin() { return (uint64_t)blockIdx.x * TSR_SPLIT_TILE; }

static __device__ __forceinline__ uint32_t tile_items(const tsr_split &a) {
  return a.n - tile_begin() < TSR_SPLIT_TILE ? (uint32_t)(a.n - tile_begin()) : (uint32_t)TSR_SPLIT_TILE;
}

/* How many items of a width a thread reads before it works on the first of them. */
template <typename word>
static constexpr uint32_t ahead = sizeof(word) == 8 ? TURNS / 2 : TURNS;

/* A thread's items of the tile from this turn on. */
template <typename word>
static __device__ __forceinline__ void read_ahead(const void *column, uint32_t items, uint32_t turn, word *words) {
  const word *const at = (const word *)column + tile_begin();
#pragma unroll
  for (uint32_t k = 0; k < ahead<word>; k++) {
    const uint32_t item = (turn + k) * TSR_BLOCK_THREADS + threadIdx.x;
    words[k] = item < items ? at[item] : (word)0;
  }
}

template <typename word>
static __device__ __forceinline__ void count_keys(const tsr_split &a, uint32_t *counts) {
  const uint32_t items = tile_items(a);
  word keys[ahead<word>];
#pragma unroll
  for (uint32_t turn = 0; turn < TURNS; turn++) {
    if (turn % ahead<word> == 0) read_ahead(a.items.keys, items, turn, keys);
    const uint32_t shard = tsr_split_shard(&a, keys[turn % ahead<word>]);
    if (turn * TSR_BLOCK_THREADS + threadIdx.x < items) atomicAdd(&counts[shard], 1u);
  }
}

/* Without a number of blocks ptxas spills for sm_80, to save registers for one more. */
KERNEL_AS(count, __launch_bounds__(TSR_BLOCK_THREADS, 5)) {
  __shared__ uint32_t counts[TSR_SPLIT_SHARDS_MAX];
  if (threadIdx.x < TSR_SPLIT_SHARDS_MAX) counts[threadIdx.x] = 0;
  __syncthreads();
  if (a.bytes.key == 8)
    count_keys<uint64_t>(a, counts);
  else
    count_keys<uint32_t>(a, counts);
  __syncthreads();
  if (threadIdx.x < a.shards) a.counts[threadIdx.x * a.tiles + blockIdx.x] = counts[threadIdx.x];
}

/* A tile in the order of shards. */
typedef struct order {
  uint32_t begins[TSR_SPLIT_SHARDS_MAX + 1], next[TSR_SPLIT_SHARDS_MAX]; /* of each shard's items of the tile */
  uint32_t number[TSR_SPLIT_SHARDS_MAX]; /* the place of an item of the shard if it were the tile's first */
  uint64_t before[TSR_SPLIT_SHARDS_MAX]; /* what other tiles have put there before them */
} order;

static __device__ __forceinline__ void begin_order(const tsr_split &a, uint32_t items, order &o) {
  const uint32_t shard = threadIdx.x;
  const uint64_t cell = shard * a.tiles + blockIdx.x;
  if (shard < a.shards) o.next[shard] = (uint32_t)(a.counts[cell + 1] - a.counts[cell]);
  __syncthreads();
  uint32_t begin = 0;
  for (uint32_t other = 0; shard < a.shards && other < shard; other++) begin += o.next[other];
  __syncthreads();
  if (shard < a.shards) {
    o.begins[shard] = o.next[shard] = begin;
    o.number[shard] = (uint32_t)a.counts[cell] - begin;
    o.before[shard] = a.counts[cell] - a.first_at[shard];
  }
  if (shard == 0) o.begins[a.shards] = items;
  __syncthreads();
}

/* Moves a column of the tile from the block's memory to its shards, in long runs: a warp writes whole lines, except at
 * the ends. */
template <typename word>
static __device__ __forceinline__ void send(const tsr_split &a, const order &o, const word *room, void *const *to) {
  for (uint32_t shard = 0; shard < a.shards; shard++) {
    word *const run = (word *)to[shard] + o.before[shard];
    const uint32_t begin = o.begins[shard], count = o.begins[shard + 1] - begin;
    const uint32_t beyond = (uint32_t)((uintptr_t)run / sizeof(word)) % 32; /* items of its first line before it */
#pragma unroll 4
    for (uint32_t k = threadIdx.x; k < beyond + count; k += TSR_BLOCK_THREADS)
      if (k >= beyond) run[k - beyond] = room[begin + k - beyond];
  }
}

template <typename word>
static __device__ __forceinline__ void send_column(const tsr_split &a, const order &o, uint64_t *room, uint32_t items,
                                                   const uint16_t *places, const void *column, void *const *to) {
  word words[ahead<word>];
  __syncthreads(); /* the column before has left the room */
#pragma unroll
  for (uint32_t turn = 0; turn < TURNS; turn++) {
    if (turn % ahead<word> == 0) read_ahead(column, items, turn, words);
    if (turn * TSR_BLOCK_THREADS + threadIdx.x < items) ((word *)room)[places[turn]] = words[turn % ahead<word>];
  }
  __syncthreads();
  send(a, o, (const word *)room, to);
}

/* Rows of more than a word have no room there: their numbers are put in order, and they are copied from where they
 * are. */
static __device__ __forceinline__ void send_rows(const tsr_split &a, const order &o, uint32_t *room, uint32_t items,
                                                 const uint16_t *places) {
  __syncthreads(); /* the column before has left the room */
#pragma unroll
  for (uint32_t turn = 0; turn < TURNS; turn++) {
    const uint32_t k = turn * TSR_BLOCK_THREADS + threadIdx.x;
    if (k < items) room[places[turn]] = k;
  }
  __syncthreads();
  for (uint32_t at = threadIdx.x; at < items; at += TSR_BLOCK_THREADS) {
    const uint32_t shard = tsr_split_last32(o.begins, a.shards, at);
    tsr_split_put_row(a.to.values[shard], o.before[shard] + at - o.begins[shard], a.items.values,
                      tile_begin() + room[at], a.bytes.value);
  }
}

/* The lanes whose items are of the same shard. */
static __device__ __forceinline__ uint32_t mates_of(const tsr_split &a, uint32_t shard) {
  return __match_any_sync(0xFFFFFFFFu, shard);
}

template <typename word>
static __device__ __forceinline__ void order_keys(const tsr_split &a, order &o, uint64_t *room, uint32_t items,
                                                  uint16_t *places) {
  word keys[ahead<word>];
#pragma unroll
  for (uint32_t turn = 0; turn < TURNS; turn++) {
    const uint32_t item = turn * TSR_BLOCK_THREADS + threadIdx.x;
    if (turn % ahead<word> == 0) read_ahead(a.items.keys, items, turn, keys);
    const word key = keys[turn % ahead<word>];
    const uint32_t shard = item < items ? tsr_split_shard(&a, key) : (uint32_t)NO_SHARD, mates = mates_of(a, shard);
    const uint32_t leader = (uint32_t)__ffs((int)mates) - 1;
    uint32_t place = 0;
    if (shard != NO_SHARD && lane() == leader) place = atomicAdd(&o.next[shard], (uint32_t)__popc(mates));
    place = __shfl_sync(0xFFFFFFFFu, place, (int)leader) + __popc(mates & ((1u << lane()) - 1));
    places[turn] = (uint16_t)place;
    if (shard == NO_SHARD) continue;
    ((word *)room)[place] = key;
    if (a.numbers) a.numbers[tile_begin() + item] = o.number[shard] + place;
  }
  __syncthreads();
  send(a, o, (const word *)room, a.to.keys);
}

/* Items for another device have to go in long runs, so a tile is put in order in the block's own memory first. That
 * memory has room for few blocks per multiprocessor; without a number of blocks ptxas would save registers for more. */
KERNEL_AS(scatter, __launch_bounds__(TSR_BLOCK_THREADS, 4)) {
  __shared__ uint64_t room[TSR_SPLIT_TILE];
  __shared__ order o;
  const uint32_t items = tile_items(a);
  uint16_t places[TURNS];
  begin_order(a, items, o);
  if (a.bytes.key == 8)
    order_keys<uint64_t>(a, o, room, items, places);
  else
    order_keys<uint32_t>(a, o, room, items, places);
  if (a.items.values && a.bytes.value > sizeof *room)
    send_rows(a, o, (uint32_t *)room, items, places);
  else if (a.items.values)
    OF_WIDTH(a.bytes.value, send_column, a, o, room, items, places, a.items.values, a.to.values);
  if (a.items.operations) send_column<uint8_t>(a, o, room, items, places, a.items.operations, a.to.operations);
}

/* Reads may come from another device, which takes long, so some items are read ahead. */
template <typename word>
static __device__ __forceinline__ void collect_words(const tsr_split &a, uint64_t first) {
  uint64_t numbers[TSR_SPLIT_AHEAD];
  word words[TSR_SPLIT_AHEAD];
#pragma unroll
  for (uint32_t k = 0; k < TSR_SPLIT_AHEAD; k++)
    numbers[k] = first + k * TSR_BLOCK_THREADS < a.n ? a.numbers[first + k * TSR_BLOCK_THREADS] : 0;
#pragma unroll
  for (uint32_t k = 0; k < TSR_SPLIT_AHEAD; k++) {
    const uint32_t shard = tsr_split_holder(&a, numbers[k]);
    words[k] = ((const word *)a.from[shard])[numbers[k] - a.first_at[shard]];
  }
#pragma unroll
  for (uint32_t k = 0; k < TSR_SPLIT_AHEAD; k++)
    if (first + k * TSR_BLOCK_THREADS < a.n) ((word *)a.answers.ordered)[first + k * TSR_BLOCK_THREADS] = words[k];
}

KERNEL(collect) {
  const uint64_t first = (uint64_t)blockIdx.x * (TSR_SPLIT_AHEAD * TSR_BLOCK_THREADS) + threadIdx.x;
  if (a.answers.only || !a.numbers || a.answers.column_bytes > sizeof(uint64_t)) { /* not all are written; or rows */
    for (uint32_t k = 0; k < TSR_SPLIT_AHEAD; k++)
      if (first + k * TSR_BLOCK_THREADS < a.n) tsr_split_collect_item(&a, first + k * TSR_BLOCK_THREADS);
  } else {
    OF_WIDTH(a.answers.column_bytes, collect_words, a, first);
  }
}

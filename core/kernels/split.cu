/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of split.h. A block has few shards to count, so that its lanes would wait for each other at their counters:
 * hence lanes of a warp whose items are of one shard take their places by one addition. All atomics here are relaxed,
 * because they count or give out places, and a barrier or the next kernel comes before their results are read. Threads read
 * some items ahead, because no compiler moves a read over the atomics and votes of the item before.
 */
#include "core/kernels/split.h"

#define KERNEL_AS(step, bounds) extern "C" __global__ void bounds tsr_split_##step(const __grid_constant__ tsr_split a)
#define KERNEL(step) KERNEL_AS(step, __launch_bounds__(TSR_BLOCK_THREADS))

enum { NO_SHARD = TSR_SPLIT_SHARDS_MAX, TURNS = TSR_SPLIT_TILE / TSR_BLOCK_THREADS };

static __device__ __forceinline__ uint64_t thread_number() {
  return blockIdx.x * (uint64_t)TSR_BLOCK_THREADS + threadIdx.x;
}

/* Few blocks take many tiles each, because many blocks would write more bins than they have counted items. */
KERNEL(bins) {
  __shared__ uint32_t counts[TSR_SPLIT_BINS];
  for (uint32_t bin = threadIdx.x; bin < TSR_SPLIT_BINS; bin += TSR_BLOCK_THREADS) counts[bin] = 0;
  __syncthreads();
  for (uint64_t i = thread_number(); i < a.n; i += gridDim.x * (uint64_t)TSR_BLOCK_THREADS)
    atomicAdd(&counts[tsr_split_bin(tsr_split_key(&a, i), a.seed)], 1u);
  __syncthreads();
  for (uint32_t bin = threadIdx.x; bin < TSR_SPLIT_BINS; bin += TSR_BLOCK_THREADS)
    if (counts[bin]) atomicAdd((unsigned long long *)&a.bins[bin], (unsigned long long)counts[bin]);
}

/* The shard of item i; NO_SHARD beyond the last one, because lanes without an item still vote. */
static __device__ __forceinline__ uint32_t shard_of(const tsr_split &a, uint64_t i, uint64_t key) {
  return i < a.n ? tsr_split_shard(&a, key) : (uint32_t)NO_SHARD;
}

static __device__ __forceinline__ uint64_t word_at(const void *column, uint64_t i, uint32_t bytes) {
  if (bytes == 8) return ((const uint64_t *)column)[i];
  return bytes == 4 ? ((const uint32_t *)column)[i] : ((const uint8_t *)column)[i];
}

static __device__ __forceinline__ void put_word(void *column, uint64_t i, uint64_t word, uint32_t bytes) {
  if (bytes == 8)
    ((uint64_t *)column)[i] = word;
  else if (bytes == 4)
    ((uint32_t *)column)[i] = (uint32_t)word;
  else
    ((uint8_t *)column)[i] = (uint8_t)word;
}

/* Item `first` and those a block's width further on. */
static __device__ __forceinline__ void read_ahead(const tsr_split &a, const void *column, uint64_t first,
                                                  uint32_t bytes, uint64_t *words) {
#pragma unroll
  for (uint32_t k = 0; k < TSR_SPLIT_AHEAD; k++) {
    const uint64_t i = first + k * TSR_BLOCK_THREADS;
    words[k] = i < a.n ? word_at(column, i, bytes) : 0;
  }
}

static __device__ __forceinline__ uint32_t lane() { return threadIdx.x % 32; }

KERNEL(count) {
  __shared__ uint32_t counts[TSR_SPLIT_SHARDS_MAX];
  if (threadIdx.x < TSR_SPLIT_SHARDS_MAX) counts[threadIdx.x] = 0;
  __syncthreads();
  uint64_t keys[TSR_SPLIT_AHEAD];
#pragma unroll
  for (uint32_t turn = 0; turn < TURNS; turn++) {
    const uint64_t i = (uint64_t)blockIdx.x * TSR_SPLIT_TILE + turn * TSR_BLOCK_THREADS + threadIdx.x;
    if (turn % TSR_SPLIT_AHEAD == 0) read_ahead(a, a.keys, i, a.key_bytes, keys);
    const uint32_t shard = shard_of(a, i, keys[turn % TSR_SPLIT_AHEAD]), mates = __match_any_sync(0xFFFFFFFFu, shard);
    if (shard != NO_SHARD && lane() == (uint32_t)__ffs((int)mates) - 1) atomicAdd(&counts[shard], __popc(mates));
  }
  __syncthreads();
  if (threadIdx.x < a.shards) a.counts[threadIdx.x * a.tiles + blockIdx.x] = counts[threadIdx.x];
}

/* A tile in the order of shards. */
typedef struct order {
  uint32_t begins[TSR_SPLIT_SHARDS_MAX], next[TSR_SPLIT_SHARDS_MAX]; /* of each shard's items of the tile */
  uint64_t before[TSR_SPLIT_SHARDS_MAX];                             /* what other tiles have put there before them */
} order;

static __device__ __forceinline__ void begin_order(const tsr_split &a, order &o) {
  const uint32_t shard = threadIdx.x;
  const uint64_t cell = shard * a.tiles + blockIdx.x;
  if (shard < a.shards) o.next[shard] = (uint32_t)(a.counts[cell + 1] - a.counts[cell]);
  __syncthreads();
  uint32_t begin = 0;
  for (uint32_t other = 0; shard < a.shards && other < shard; other++) begin += o.next[other];
  __syncthreads();
  if (shard < a.shards) {
    o.begins[shard] = o.next[shard] = begin;
    o.before[shard] = a.counts[cell] - a.first_at[shard];
  }
  __syncthreads();
}

/* A column of the tile, from the block's memory to its shards: neighbours write side by side, in long runs. */
static __device__ __forceinline__ void send(const tsr_split &a, const order &o, const uint64_t *room, uint32_t items,
                                            void *const *to, uint32_t bytes) {
  for (uint32_t at = threadIdx.x; at < items; at += TSR_BLOCK_THREADS) {
    const uint32_t shard = tsr_split_last32(o.begins, a.shards, at);
    put_word(to[shard], o.before[shard] + at - o.begins[shard], word_at(room, at, bytes), bytes);
  }
}

static __device__ __forceinline__ void send_column(const tsr_split &a, const order &o, uint64_t *room, uint32_t items,
                                                   const uint16_t *places, const void *column, void *const *to,
                                                   uint32_t bytes) {
  const uint64_t first = (uint64_t)blockIdx.x * TSR_SPLIT_TILE;
  uint64_t words[TSR_SPLIT_AHEAD];
  __syncthreads(); /* the column before has left the room */
#pragma unroll
  for (uint32_t turn = 0; turn < TURNS; turn++) {
    const uint32_t k = turn * TSR_BLOCK_THREADS + threadIdx.x;
    if (turn % TSR_SPLIT_AHEAD == 0) read_ahead(a, column, first + k, bytes, words);
    if (k < items) put_word(room, places[turn], words[turn % TSR_SPLIT_AHEAD], bytes);
  }
  __syncthreads();
  send(a, o, room, items, to, bytes);
}

/* Rows of more than a word have no room there: their numbers are put in order, and they go from where they are. */
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
    tsr_split_put_row(a.values_to[shard], o.before[shard] + at - o.begins[shard], a.values,
                      (uint64_t)blockIdx.x * TSR_SPLIT_TILE + room[at], a.value_bytes);
  }
}

/* What goes to another device has to go in long runs: hence a tile is put in order in the block's own memory first.
 * That memory has room for few blocks a multiprocessor, and without a number of blocks ptxas would save registers for more. */
KERNEL_AS(scatter, __launch_bounds__(TSR_BLOCK_THREADS, 4)) {
  __shared__ uint64_t room[TSR_SPLIT_TILE];
  __shared__ order o;
  const uint64_t first = (uint64_t)blockIdx.x * TSR_SPLIT_TILE;
  const uint32_t items = a.n - first < TSR_SPLIT_TILE ? (uint32_t)(a.n - first) : (uint32_t)TSR_SPLIT_TILE;
  uint16_t places[TURNS];
  uint64_t keys[TSR_SPLIT_AHEAD];
  begin_order(a, o);
#pragma unroll
  for (uint32_t turn = 0; turn < TURNS; turn++) {
    const uint64_t i = first + turn * TSR_BLOCK_THREADS + threadIdx.x;
    if (turn % TSR_SPLIT_AHEAD == 0) read_ahead(a, a.keys, i, a.key_bytes, keys);
    const uint32_t shard = shard_of(a, i, keys[turn % TSR_SPLIT_AHEAD]), mates = __match_any_sync(0xFFFFFFFFu, shard);
    const uint32_t leader = (uint32_t)__ffs((int)mates) - 1;
    uint32_t place = 0;
    if (shard != NO_SHARD && lane() == leader) place = atomicAdd(&o.next[shard], (uint32_t)__popc(mates));
    place = __shfl_sync(0xFFFFFFFFu, place, (int)leader) + __popc(mates & ((1u << lane()) - 1));
    places[turn] = (uint16_t)place;
    if (shard == NO_SHARD) continue;
    put_word(room, place, keys[turn % TSR_SPLIT_AHEAD], a.key_bytes);
    if (a.numbers) a.numbers[i] = (uint32_t)(a.first_at[shard] + o.before[shard] + place - o.begins[shard]);
  }
  __syncthreads();
  send(a, o, room, items, a.keys_to, a.key_bytes);
  if (a.values && a.value_bytes > sizeof *room)
    send_rows(a, o, (uint32_t *)room, items, places);
  else if (a.values)
    send_column(a, o, room, items, places, a.values, a.values_to, a.value_bytes);
  if (a.operations) send_column(a, o, room, items, places, a.operations, a.operations_to, 1);
}

/* What is read may come from another device, which takes long. */
KERNEL(collect) {
  const uint64_t first = (uint64_t)blockIdx.x * (TSR_SPLIT_AHEAD * TSR_BLOCK_THREADS) + threadIdx.x;
  uint64_t numbers[TSR_SPLIT_AHEAD], words[TSR_SPLIT_AHEAD];
  if (a.only || !a.numbers || a.column_bytes > sizeof *words) { /* not all are written; or rows */
    for (uint32_t k = 0; k < TSR_SPLIT_AHEAD; k++)
      if (first + k * TSR_BLOCK_THREADS < a.n) tsr_split_collect_item(&a, first + k * TSR_BLOCK_THREADS);
    return;
  }
  read_ahead(a, a.numbers, first, sizeof *a.numbers, numbers);
#pragma unroll
  for (uint32_t k = 0; k < TSR_SPLIT_AHEAD; k++) {
    const uint32_t shard = tsr_split_holder(&a, numbers[k]);
    if (first + k * TSR_BLOCK_THREADS < a.n)
      words[k] = word_at(a.from[shard], numbers[k] - a.first_at[shard], a.column_bytes);
  }
#pragma unroll
  for (uint32_t k = 0; k < TSR_SPLIT_AHEAD; k++)
    if (first + k * TSR_BLOCK_THREADS < a.n)
      put_word(a.ordered, first + k * TSR_BLOCK_THREADS, words[k], a.column_bytes);
}

KERNEL(gather) {
  if (thread_number() < a.n) tsr_split_gather_item(&a, thread_number());
}

KERNEL(spans) {
  if (thread_number() < a.n) tsr_split_span_item(&a, thread_number());
}

KERNEL(spread) {
  if (thread_number() < a.n) tsr_split_spread_item(&a, thread_number());
}

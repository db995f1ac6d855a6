/* SPDX-License-Identifier: Apache-2.0
 *
 * What a block of threads does with a tile of runs.h: a set of steps includes this file and says which bin a key has
 * (zones.cu, split.cu). All atomics are relaxed: they count or give out places, and a barrier or the end of the kernel
 * comes before anybody reads the result. Threads read some items ahead, because no compiler moves a read over the
 * atomics and votes of the item before.
 */
#ifndef TSR_BATCH_RUNS_CUH
#define TSR_BATCH_RUNS_CUH

#include <cub/block/block_scan.cuh>
#include <cuda_pipeline_primitives.h>

#include "core/batch/runs.h"

enum {
  RUNS_ROUNDS = TSR_RUNS_TILE / TSR_RUNS_THREADS, /* items of a thread */
  RUNS_AHEAD = RUNS_ROUNDS / 2,                   /* ... that it reads before it works on the first of them */
  RUNS_LANES_LOG2 = 5,
  RUNS_LANES = 1 << RUNS_LANES_LOG2,
  RUNS_THREADS_LOG2 = 9
};
static_assert(TSR_RUNS_TILE <= 1 << 16, "a place has 16 bits");
static_assert(TSR_RUNS_BINS < TSR_RUNS_THREADS, "a thread has at most one bin, and one has none");
static_assert(TSR_RUNS_THREADS == 1 << RUNS_THREADS_LOG2, "a block is a power of two");

/* ... of a column of these words: as many bytes of wide ones. */
template <class word>
struct runs_ahead {
  enum { ITEMS = sizeof(word) > 8 ? RUNS_AHEAD / 2 : RUNS_AHEAD };
};

/* ---- Tiles ----------------------------------------------------------------------------------- */

static __device__ __forceinline__ uint64_t runs_tile_begin() { return (uint64_t)blockIdx.x * TSR_RUNS_TILE; }

static __device__ __forceinline__ uint32_t runs_tile_items(const tsr_runs *r) { return tsr_runs_items(r, blockIdx.x); }

/* This thread's item of a round, as a number in the tile. */
static __device__ __forceinline__ uint32_t runs_item(uint32_t round) { return round * TSR_RUNS_THREADS + threadIdx.x; }

/* This thread's items of a column, of the rounds from `round` on. */
template <class word>
static __device__ __forceinline__ void runs_read_ahead(const word *column, uint32_t items, uint32_t round,
                                                       word *ahead) {
#pragma unroll
  for (uint32_t r = 0; r < runs_ahead<word>::ITEMS; r++)
    ahead[r] = runs_item(round + r) < items ? __ldcs(column + runs_tile_begin() + runs_item(round + r)) : (word)0;
}

/* The runs of a tile: where each begins in the tile's own order, and how much later it is in its column. */
struct tile_runs {
  uint32_t begin[TSR_RUNS_BINS + 1], shift[TSR_RUNS_BINS];
};

/* Numbers of items have 32 bits: the host sees to it. */
static __device__ __forceinline__ void runs_find(const tsr_runs *r, tile_runs *runs) {
  typedef cub::BlockScan<uint32_t, TSR_RUNS_THREADS, cub::BLOCK_SCAN_WARP_SCANS> scan;
  __shared__ typename scan::TempStorage storage;
  const uint32_t bin = threadIdx.x;
  uint32_t first = 0, size = 0, begin;
  if (bin < r->bins) {
    const uint64_t *own = r->counts + bin * r->tiles, *cell = own + blockIdx.x;
    first = (uint32_t)cell[0];
    size = (uint32_t)cell[1] - first;
    if (r->are_apart) first -= (uint32_t)own[0];
  }
  scan(storage).ExclusiveSum(size, begin);
  if (bin < r->bins) {
    runs->begin[bin] = begin;
    runs->shift[bin] = first - begin;
  }
  if (bin == r->bins) runs->begin[bin] = runs_tile_items(r);
  __syncthreads();
}

/* The bin of the item at this place of the tile, by a binary search. */
static __device__ __forceinline__ uint32_t runs_bin_at(const tsr_runs *r, const tile_runs *runs, uint32_t place) {
  uint32_t bin = 0;
  for (uint32_t after = r->bins; after - bin > 1;) {
    const uint32_t middle = (bin + after) / 2;
    if (runs->begin[middle] <= place)
      bin = middle;
    else
      after = middle;
  }
  return bin;
}

/* ---- To the order of bins -------------------------------------------------------------------- */

/* Sets the tile's cells. bin_of(key): a key's bin. */
template <class word, class Bin>
static __device__ __forceinline__ void runs_count(const tsr_runs *r, const word *keys, Bin bin_of) {
  enum { AHEAD = runs_ahead<word>::ITEMS };
  __shared__ uint32_t counts[TSR_RUNS_BINS];
  const uint32_t items = runs_tile_items(r);
  if (threadIdx.x < TSR_RUNS_BINS) counts[threadIdx.x] = 0;
  __syncthreads();
#pragma unroll
  for (uint32_t round = 0; round < RUNS_ROUNDS; round += AHEAD) {
    word key[AHEAD];
    runs_read_ahead(keys, items, round, key);
#pragma unroll
    for (uint32_t k = 0; k < AHEAD; k++)
      if (runs_item(round + k) < items) atomicAdd(&counts[bin_of(key[k])], 1u);
  }
  __syncthreads();
  if (threadIdx.x < r->bins) r->counts[threadIdx.x * r->tiles + blockIdx.x] = counts[threadIdx.x];
}

/* Finds the tile's runs, and the place of each of this thread's items in the order of bins. take(next, bin) gives out the
 * next place of a bin. All lanes of a warp call it, with TSR_RUNS_BINS for no item. keep(place, key, item) puts what is
 * wanted of an item there, into the block's memory. */
template <class word, class Bin, class Take, class Keep>
static __device__ __forceinline__ void runs_order(const tsr_runs *r, tile_runs *runs, const word *keys, Bin bin_of,
                                                  Take take, Keep keep, uint16_t place[RUNS_ROUNDS]) {
  enum { AHEAD = runs_ahead<word>::ITEMS };
  __shared__ uint32_t next[TSR_RUNS_BINS]; /* the place of a bin's next item */
  const uint32_t items = runs_tile_items(r);
  word key[AHEAD];
  runs_read_ahead(keys, items, 0, key);
  runs_find(r, runs);
  if (threadIdx.x < r->bins) next[threadIdx.x] = runs->begin[threadIdx.x];
  __syncthreads();
#pragma unroll
  for (uint32_t round = 0; round < RUNS_ROUNDS; round += AHEAD) {
    if (round) runs_read_ahead(keys, items, round, key);
#pragma unroll
    for (uint32_t k = 0; k < AHEAD; k++) {
      const uint32_t item = runs_item(round + k), is_item = item < items;
      const uint32_t at = take(next, is_item ? bin_of(key[k]) : (uint32_t)TSR_RUNS_BINS);
      place[round + k] = (uint16_t)at;
      if (!is_item) continue;
      keep(at, key[k], item);
      if (r->places) __stcs(r->places + runs_tile_begin() + item, (uint16_t)at);
    }
  }
  __syncthreads();
}

/* Those that work on a run together are a warp, or the block where runs are few and long. Each reads or writes whole
 * lines of memory, except at the ends of a run. call(room, in_column): this thread's word of the block's memory and of
 * the column. column_of(bin): a column that the bin's items are in. */
template <class word, class Column, class Call>
static __device__ __forceinline__ void runs_each_word(const tsr_runs *r, const tile_runs *runs, word *room,
                                                      Column column_of, Call call) {
  const uint32_t is_few = r->bins << RUNS_LANES_LOG2 < TSR_RUNS_THREADS;
  const uint32_t crew_log2 = is_few ? RUNS_THREADS_LOG2 : RUNS_LANES_LOG2, crew = 1u << crew_log2;
  for (uint32_t bin = threadIdx.x >> crew_log2; bin < r->bins; bin += TSR_RUNS_THREADS >> crew_log2) {
    const uint32_t begin = runs->begin[bin], count = runs->begin[bin + 1] - begin;
    word *const run = column_of(bin) + (uint32_t)(runs->shift[bin] + begin);
    const uint32_t beyond = (uint32_t)((uintptr_t)run / sizeof(word)) % RUNS_LANES; /* items of its first line */
#pragma unroll 4
    for (uint32_t k = threadIdx.x & (crew - 1); k < beyond + count; k += crew)
      if (k >= beyond) call(room + begin + (k - beyond), run + (k - beyond));
  }
}

/* Moves what is in the block's memory to its runs. */
template <class word, class Column>
static __device__ __forceinline__ void runs_write(const tsr_runs *r, const tile_runs *runs, word *room,
                                                  Column column_of) {
  runs_each_word(r, runs, room, column_of, [](const word *from, word *to) { *to = *from; });
}

/* Moves another column of the tile to its runs. */
template <class word, class Column>
static __device__ __forceinline__ void runs_move(const tsr_runs *r, const tile_runs *runs, const word *column,
                                                 const uint16_t place[RUNS_ROUNDS], word *room, Column column_of) {
  const uint32_t items = runs_tile_items(r);
  __syncthreads(); /* the column before has left the room */
#pragma unroll
  for (uint32_t round = 0; round < RUNS_ROUNDS; round += RUNS_AHEAD) {
    word ahead[RUNS_AHEAD];
    runs_read_ahead(column, items, round, ahead);
#pragma unroll
    for (uint32_t k = 0; k < RUNS_AHEAD; k++)
      if (runs_item(round + k) < items) room[place[round + k]] = ahead[k];
  }
  __syncthreads();
  runs_write(r, runs, room, column_of);
}

/* ---- Answers --------------------------------------------------------------------------------- */

/* Asks for a word, or copies it where the device has no such copies. */
template <class word>
static __device__ __forceinline__ void runs_fetch(word *to, const word *from) {
  if (sizeof(word) >= 4)
    __pipeline_memcpy_async(to, from, sizeof(word) >= 4 ? sizeof(word) : 4);
  else
    *to = __ldcs(from);
}

/* Brings a column of answers back: give(i, place, word) for each item i of the batch, its place in the tile and its
 * answer. All runs are asked for before any is there. */
template <class word, class Column, class Give>
static __device__ __forceinline__ void runs_gather(const tsr_runs *r, const tile_runs *runs, word *room,
                                                   Column column_of, Give give) {
  const uint32_t items = runs_tile_items(r);
  uint16_t place[RUNS_ROUNDS];
  runs_each_word(r, runs, room, column_of, [](word *to, const word *from) { runs_fetch(to, from); });
  __pipeline_commit();
#pragma unroll
  for (uint32_t k = 0; k < RUNS_ROUNDS; k++)
    place[k] = runs_item(k) < items ? __ldcs(r->places + runs_tile_begin() + runs_item(k)) : 0;
  __pipeline_wait_prior(0);
  __syncthreads();
#pragma unroll
  for (uint32_t k = 0; k < RUNS_ROUNDS; k++)
    if (runs_item(k) < items) give(runs_tile_begin() + runs_item(k), place[k], room[place[k]]);
}

#endif

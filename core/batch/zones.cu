/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of zones.h. All atomics are relaxed: they count or give out places, and a barrier or the end of the kernel
 * comes before anybody reads the result.
 */
#define TSR_ONE_TABLE
#include <cub/block/block_scan.cuh>
#include <cuda_pipeline_primitives.h>

#include "core/batch/zones.h"
#include "core/kernels/bins.cuh"
#include "core/kernels/context.cuh"
#include "core/kernels/io.cuh"

#define KERNEL(step, ...)                                                                                              \
  extern "C" __global__ void __launch_bounds__(__VA_ARGS__)                                                            \
      tsr_zone_##step##_kernel(const __grid_constant__ tsr_zone_step a)

enum {
  ROUNDS = TSR_ZONE_TILE / TSR_ZONE_THREADS,
  AHEAD = ROUNDS / 2, /* keys that a thread reads before it works on the first of them */
  LANES = 32,
  WARPS = TSR_ZONE_THREADS / LANES
};
static_assert(TSR_ZONE_TILE <= 1 << 16, "a place has 16 bits");
static_assert(TSR_ZONE_ROOM <= 1 << 8, "a zone has 8 bits");
static_assert(TSR_ZONE_ROOM < TSR_ZONE_THREADS, "a thread has at most one zone, and one has none");

/* ---- Tiles ----------------------------------------------------------------------------------- */

static __device__ __forceinline__ uint64_t tile_begin() { return (uint64_t)blockIdx.x * TSR_ZONE_TILE; }

static __device__ __forceinline__ uint32_t tile_items(const tsr_zone_step *a) {
  return a->bulk.n - tile_begin() < TSR_ZONE_TILE ? (uint32_t)(a->bulk.n - tile_begin()) : (uint32_t)TSR_ZONE_TILE;
}

/* This thread's item of a round, as a number in the tile. */
static __device__ __forceinline__ uint32_t item_of_round(uint32_t round) {
  return round * TSR_ZONE_THREADS + threadIdx.x;
}

/* This thread's keys of the rounds from `round` on. */
static __device__ __forceinline__ void read_keys(const tsr_zone_step *a, uint32_t items, uint32_t round,
                                                 io_key key[AHEAD]) {
  const io_key *keys = (const io_key *)a->bulk.keys + tile_begin();
#pragma unroll
  for (uint32_t r = 0; r < AHEAD; r++)
    key[r] = item_of_round(round + r) < items ? __ldcs(keys + item_of_round(round + r)) : 0;
}

static __device__ __forceinline__ uint32_t zone_of(const tsr_ctx *c, const tsr_zone_step *a, tsr_key key) {
  return page_of_item(c, a->pages, key) >> a->shift;
}

/* The runs of a tile: where each begins in the tile's own order, and how much later it is in the batch. */
struct tile_runs {
  uint32_t begin[TSR_ZONE_ROOM + 1], shift[TSR_ZONE_ROOM];
};

static __device__ __forceinline__ void find_runs(const tsr_zone_step *a, uint32_t items, tile_runs *runs) {
  typedef cub::BlockScan<uint32_t, TSR_ZONE_THREADS, cub::BLOCK_SCAN_WARP_SCANS> scan;
  __shared__ typename scan::TempStorage storage;
  const uint32_t zone = threadIdx.x;
  uint32_t first = 0, size = 0, begin; /* a batch has at most 2^31 items: the host sees to it */
  if (zone < a->zones) {
    const uint64_t *cell = a->counts + zone * a->tiles + blockIdx.x;
    first = (uint32_t)cell[0];
    size = (uint32_t)cell[1] - first;
  }
  scan(storage).ExclusiveSum(size, begin);
  if (zone < a->zones) {
    runs->begin[zone] = begin;
    runs->shift[zone] = first - begin;
  }
  if (zone == a->zones) runs->begin[zone] = items;
  __syncthreads();
}

/* ---- To the order of zones ------------------------------------------------------------------- */

KERNEL(count, TSR_ZONE_THREADS, 3) {
  __shared__ uint32_t counts[TSR_ZONE_ROOM];
  tsr_scratch scratch;
  const tsr_ctx c = kernel_context(&a.bulk.state, &scratch);
  const uint32_t items = tile_items(&a);
  if (threadIdx.x < TSR_ZONE_ROOM) counts[threadIdx.x] = 0;
  __syncthreads();
#pragma unroll
  for (uint32_t round = 0; round < ROUNDS; round += AHEAD) {
    io_key key[AHEAD];
    read_keys(&a, items, round, key);
#pragma unroll
    for (uint32_t r = 0; r < AHEAD; r++)
      if (item_of_round(round + r) < items) atomicAdd(&counts[zone_of(&c, &a, key[r])], 1u);
  }
  __syncthreads();
  if (threadIdx.x < a.zones) a.counts[threadIdx.x * a.tiles + blockIdx.x] = counts[threadIdx.x];
}

/* A tile is put in order in the block's memory first, so that a warp writes runs. */
KERNEL(scatter, TSR_ZONE_THREADS, 3) {
  __shared__ tile_runs runs;
  __shared__ uint32_t next[TSR_ZONE_ROOM]; /* the place of a zone's next item */
  io_key *keys = (io_key *)tsr_page_memory;
  uint8_t *zones = (uint8_t *)(keys + TSR_ZONE_TILE); /* of each place */
  tsr_scratch scratch;
  const tsr_ctx c = kernel_context(&a.bulk.state, &scratch);
  const uint32_t items = tile_items(&a);
  io_key key[AHEAD];
  read_keys(&a, items, 0, key);
  find_runs(&a, items, &runs);
  if (threadIdx.x < a.zones) next[threadIdx.x] = runs.begin[threadIdx.x];
  __syncthreads();
#pragma unroll
  for (uint32_t round = 0; round < ROUNDS; round += AHEAD) {
    if (round) read_keys(&a, items, round, key);
#pragma unroll
    for (uint32_t r = 0; r < AHEAD; r++) {
      const uint32_t i = item_of_round(round + r);
      if (i >= items) continue;
      const uint32_t zone = zone_of(&c, &a, key[r]), place = atomicAdd(&next[zone], 1u);
      keys[place] = key[r];
      zones[place] = (uint8_t)zone;
      if (a.places) __stcs(a.places + tile_begin() + i, (uint16_t)place);
    }
  }
  __syncthreads();
#pragma unroll
  for (uint32_t round = 0; round < ROUNDS; round++) {
    const uint32_t place = item_of_round(round);
    if (place < items) ((io_key *)a.keys)[runs.shift[zones[place]] + place] = keys[place];
  }
}

/* ---- Answers --------------------------------------------------------------------------------- */

/* Asks for an answer, or copies it where the device has no such copies of a byte. */
template <class word>
static __device__ __forceinline__ void fetch(word *to, const word *from) {
  if (sizeof(word) >= 4)
    __pipeline_memcpy_async(to, from, sizeof(word) >= 4 ? sizeof(word) : 4);
  else
    *to = __ldcs(from);
}

/* All runs are asked for before any is there. */
template <class word>
static __device__ __forceinline__ void gather_tile(const tsr_zone_step *a, const tile_runs *runs, uint32_t items) {
  word *room = (word *)tsr_page_memory;
  const word *column = (const word *)a->column;
  word *answers = (word *)a->answers + tile_begin();
  uint16_t place[ROUNDS];
  for (uint32_t zone = threadIdx.x / LANES; zone < a->zones; zone += WARPS)
    for (uint32_t i = runs->begin[zone] + threadIdx.x % LANES; i < runs->begin[zone + 1]; i += LANES)
      fetch(room + i, column + (uint32_t)(runs->shift[zone] + i));
  __pipeline_commit();
#pragma unroll
  for (uint32_t r = 0; r < ROUNDS; r++)
    place[r] = item_of_round(r) < items ? __ldcs(a->places + tile_begin() + item_of_round(r)) : 0;
  __pipeline_wait_prior(0);
  __syncthreads();
#pragma unroll
  for (uint32_t r = 0; r < ROUNDS; r++)
    if (item_of_round(r) < items) __stcs(answers + item_of_round(r), room[place[r]]);
}

KERNEL(gather, TSR_ZONE_THREADS, 3) {
  __shared__ tile_runs runs;
  const uint32_t items = tile_items(&a);
  find_runs(&a, items, &runs);
  if (a.column_bytes == 8)
    gather_tile<unsigned long long>(&a, &runs, items);
  else if (a.column_bytes == 4)
    gather_tile<uint32_t>(&a, &runs, items);
  else
    gather_tile<uint8_t>(&a, &runs, items);
}

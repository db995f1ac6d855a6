/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of zones.h.
 */
#define TSR_ONE_TABLE
#include "core/batch/idle.cuh"
#include "core/batch/runs.cuh"
#include "core/batch/zones.h"
#include "core/kernels/bins.cuh"
#include "core/kernels/context.cuh"
#include "core/kernels/io.cuh"

#define KERNEL(step, blocks)                                                                                           \
  extern "C" __global__ void __launch_bounds__(TSR_RUNS_THREADS, blocks)                                               \
      tsr_zone_##step##_kernel(const __grid_constant__ tsr_zone_step a)

static __device__ __forceinline__ uint32_t zone_of(const tsr_ctx *c, const tsr_zone_step *a, tsr_key key) {
  return page_of_item(c, a->pages, key) >> a->shift;
}

KERNEL(count, 3) {
  if (is_idle(a.idle)) return;
  tsr_scratch scratch;
  const tsr_ctx c = kernel_context(&a.bulk.state, &scratch);
  runs_count(&a.runs, (const io_key *)a.bulk.keys, [&](io_key key) { return zone_of(&c, &a, key); });
}

/* The first tile says where the zones begin. */
KERNEL(scatter, 3) {
  if (is_idle(a.idle)) {
    if (a.begins && blockIdx.x == 0 && threadIdx.x <= a.runs.bins) a.begins[threadIdx.x] = 0;
    return;
  }
  __shared__ tile_runs runs;
  io_key *room = (io_key *)tsr_page_memory;
  uint16_t place[RUNS_ROUNDS];
  tsr_scratch scratch;
  const tsr_ctx c = kernel_context(&a.bulk.state, &scratch);
  runs_order(
      &a.runs, &runs, (const io_key *)a.bulk.keys, [&](io_key key) { return zone_of(&c, &a, key); },
      [](uint32_t *next, uint32_t zone) { return zone < TSR_RUNS_BINS ? atomicAdd(&next[zone], 1u) : 0; },
      [&](uint32_t at, io_key key, uint32_t) { room[at] = key; }, place);
  runs_write(&a.runs, &runs, room, [&](uint32_t) { return (io_key *)a.keys; });
  if (a.begins && blockIdx.x == 0 && threadIdx.x <= a.runs.bins)
    a.begins[threadIdx.x] = a.runs.counts[threadIdx.x * a.runs.tiles];
}

template <class word>
static __device__ __forceinline__ void move_column(const tsr_zone_step *a, const tile_runs *runs) {
  word *room = (word *)tsr_page_memory;
  const uint32_t items = runs_tile_items(&a->runs);
#pragma unroll
  for (uint32_t round = 0; round < RUNS_ROUNDS; round += RUNS_AHEAD) {
    word item[RUNS_AHEAD];
    uint16_t place[RUNS_AHEAD];
    runs_read_ahead((const word *)a->column, items, round, item);
    runs_read_ahead((const uint16_t *)a->runs.places, items, round, place);
#pragma unroll
    for (uint32_t k = 0; k < RUNS_AHEAD; k++)
      if (runs_item(round + k) < items) room[place[k]] = item[k];
  }
  __syncthreads();
  runs_write(&a->runs, runs, room, [&](uint32_t) { return (word *)a->answers; });
}

KERNEL(move, 3) {
  if (is_idle(a.idle)) return;
  __shared__ tile_runs runs;
  runs_find(&a.runs, &runs);
  if (a.column_bytes == 8)
    move_column<unsigned long long>(&a, &runs);
  else if (a.column_bytes == 4)
    move_column<uint32_t>(&a, &runs);
  else
    move_column<uint8_t>(&a, &runs);
}

template <class word>
static __device__ __forceinline__ void gather_column(const tsr_zone_step *a, const tile_runs *runs) {
  runs_gather(
      &a->runs, runs, (word *)tsr_page_memory, [&](uint32_t) { return (word *)a->column; },
      [&](uint64_t i, uint32_t, word answer) { __stcs((word *)a->answers + i, answer); });
}

KERNEL(gather, 3) {
  __shared__ tile_runs runs;
  runs_find(&a.runs, &runs);
  if (a.column_bytes == 8)
    gather_column<unsigned long long>(&a, &runs);
  else if (a.column_bytes == 4)
    gather_column<uint32_t>(&a, &runs);
  else
    gather_column<uint8_t>(&a, &runs);
}

KERNEL(tell, 3) {
  if (is_idle(a.idle)) return;
  __shared__ tile_runs runs;
  runs_find(&a.runs, &runs);
  runs_gather(
      &a.runs, &runs, (uint8_t *)tsr_page_memory, [&](uint32_t) { return (uint8_t *)a.column; },
      [&](uint64_t i, uint32_t place, uint8_t result) {
        if (a.bulk.results) a.bulk.results[i] = result;
        if (result != TSR_RESULT_NOT_PLACED) return;
        const uint32_t number = runs.shift[runs_bin_at(&a.runs, &runs, place)] + place;
        if (a.bulk.unplaced_keys) ((io_key *)a.bulk.unplaced_keys)[i] = ((const io_key *)a.keys)[number];
        io_put_payload(a.bulk.unplaced_values, i, io_payload_at(a.values, number, a.bulk.unplaced_values != NULL));
      });
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of zones.h.
 */
#define TSR_ONE_TABLE
#include "core/batch/runs.cuh"
#include "core/batch/zones.h"
#include "core/kernels/bins.cuh"
#include "core/kernels/context.cuh"
#include "core/kernels/io.cuh"

#define KERNEL(step)                                                                                                   \
  extern "C" __global__ void __launch_bounds__(TSR_RUNS_THREADS, 3)                                                    \
      tsr_zone_##step##_kernel(const __grid_constant__ tsr_zone_step a)

static __device__ __forceinline__ uint32_t zone_of(const tsr_ctx *c, const tsr_zone_step *a, tsr_key key) {
  return page_of_item(c, a->pages, key) >> a->shift;
}

KERNEL(count) {
  tsr_scratch scratch;
  const tsr_ctx c = kernel_context(&a.bulk.state, &scratch);
  runs_count(&a.runs, (const io_key *)a.bulk.keys, [&](io_key key) { return zone_of(&c, &a, key); });
}

KERNEL(scatter) {
  __shared__ tile_runs runs;
  io_key *room = (io_key *)tsr_page_memory;
  uint16_t place[RUNS_ROUNDS];
  tsr_scratch scratch;
  const tsr_ctx c = kernel_context(&a.bulk.state, &scratch);
  runs_order(
      &a.runs, &runs, (const io_key *)a.bulk.keys, [&](io_key key) { return zone_of(&c, &a, key); },
      [](uint32_t *next, uint32_t zone) { return zone < TSR_RUNS_BINS ? atomicAdd(&next[zone], 1u) : 0; }, room, place);
  runs_write(&a.runs, &runs, room, [&](uint32_t) { return (io_key *)a.keys; });
}

template <class word>
static __device__ __forceinline__ void gather_column(const tsr_zone_step *a, const tile_runs *runs) {
  runs_gather(
      &a->runs, runs, (word *)tsr_page_memory, [&](uint32_t) { return (word *)a->column; }, (word *)a->answers,
      [](uint64_t) { return true; });
}

KERNEL(gather) {
  __shared__ tile_runs runs;
  runs_find(&a.runs, &runs);
  if (a.column_bytes == 8)
    gather_column<unsigned long long>(&a, &runs);
  else if (a.column_bytes == 4)
    gather_column<uint32_t>(&a, &runs);
  else
    gather_column<uint8_t>(&a, &runs);
}

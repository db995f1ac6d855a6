/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of split.h. A block has few shards to count, so that its lanes would wait for each other at their counters:
 * hence lanes of a warp whose items are of one shard take their places by one addition. All atomics here are relaxed,
 * because they count or give out places, and a barrier or the next kernel comes before their results are read.
 */
#include "core/kernels/split.h"

#define KERNEL(step)                                                                                                   \
  extern "C" __global__ void __launch_bounds__(TSR_BLOCK_THREADS) tsr_split_##step(const __grid_constant__ tsr_split a)

enum { NO_SHARD = TSR_SPLIT_SHARDS_MAX };

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
static __device__ __forceinline__ uint32_t shard_of(const tsr_split &a, uint64_t i) {
  return i < a.n ? tsr_split_shard(&a, tsr_split_key(&a, i)) : (uint32_t)NO_SHARD;
}

static __device__ __forceinline__ uint32_t lane() { return threadIdx.x % 32; }

KERNEL(count) {
  __shared__ uint32_t counts[TSR_SPLIT_SHARDS_MAX];
  if (threadIdx.x < TSR_SPLIT_SHARDS_MAX) counts[threadIdx.x] = 0;
  __syncthreads();
  for (uint32_t turn = 0; turn < TSR_SPLIT_TILE / TSR_BLOCK_THREADS; turn++) {
    const uint64_t i = (uint64_t)blockIdx.x * TSR_SPLIT_TILE + turn * TSR_BLOCK_THREADS + threadIdx.x;
    const uint32_t shard = shard_of(a, i), mates = __match_any_sync(0xFFFFFFFFu, shard);
    if (shard != NO_SHARD && lane() == (uint32_t)__ffs((int)mates) - 1) atomicAdd(&counts[shard], __popc(mates));
  }
  __syncthreads();
  if (threadIdx.x < a.shards) a.counts[threadIdx.x * a.tiles + blockIdx.x] = counts[threadIdx.x];
}

KERNEL(scatter) {
  __shared__ unsigned long long next[TSR_SPLIT_SHARDS_MAX];
  if (threadIdx.x < a.shards) next[threadIdx.x] = a.counts[threadIdx.x * a.tiles + blockIdx.x];
  __syncthreads();
  for (uint32_t turn = 0; turn < TSR_SPLIT_TILE / TSR_BLOCK_THREADS; turn++) {
    const uint64_t i = (uint64_t)blockIdx.x * TSR_SPLIT_TILE + turn * TSR_BLOCK_THREADS + threadIdx.x;
    const uint32_t shard = shard_of(a, i), mates = __match_any_sync(0xFFFFFFFFu, shard);
    const uint32_t first = (uint32_t)__ffs((int)mates) - 1;
    unsigned long long begin = 0;
    if (shard != NO_SHARD && lane() == first) begin = atomicAdd(&next[shard], (unsigned long long)__popc(mates));
    begin = __shfl_sync(0xFFFFFFFFu, begin, (int)first);
    if (shard != NO_SHARD) tsr_split_place(&a, i, begin + __popc(mates & ((1u << lane()) - 1)));
  }
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

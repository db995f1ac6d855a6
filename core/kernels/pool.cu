/* SPDX-License-Identifier: Apache-2.0
 *
 * The operations on a pool as kernels: one thread per item, one launch per call. pool.cuh says what they do.
 */
#define TSR_ONE_TABLE
#include "core/kernels/context.cuh"
#include "core/kernels/pool.cuh"

/* Adds up over the block first: one atomic per block and count in global memory, so that counting is no part of what is
 * measured. No shuffles: behind an allocator's loops ptxas would make them a routine of its own below sm_90. */
static __device__ __forceinline__ void pool_add(uint64_t *total, uint32_t own, uint32_t *block) {
  if (threadIdx.x == 0) *block = 0;
  __syncthreads();
  if (own) atomicAdd(block, own); /* relaxed, like the next: counts order nothing */
  __syncthreads();
  if (threadIdx.x == 0 && *block) atomicAdd((unsigned long long *)total, (unsigned long long)*block);
}

/* In two of the variants of the bulk kernels (launch.cu). */
#define POOL_KERNEL_AS(op, name, bounds)                                                                               \
  extern "C" __global__ void bounds name(const __grid_constant__ tsr_pool_run a) {                                     \
    __shared__ uint32_t block[5];                                                                                      \
    tsr_scratch scratch;                                                                                               \
    tsr_ctx c = kernel_context(&a.state, &scratch);                                                                    \
    pool_counts counts;                                                                                                \
    uint64_t i = blockIdx.x * (uint64_t)TSR_BLOCK_THREADS + threadIdx.x;                                               \
    pool_##op(&c, &a, i, i < a.n, &counts);                                                                            \
    pool_add(&a.tally->hits, counts.hits, &block[0]);                                                                  \
    pool_add(&a.tally->exhausted, counts.exhausted, &block[1]);                                                        \
    pool_add(&a.tally->wrong, counts.wrong, &block[2]);                                                                \
    if (!TSR_FACT(&c, statistics)) return;                                                                             \
    pool_add(&a.tally->changes, c.lane == 0 ? scratch.key.changes : 0, &block[3]);                                     \
    pool_add(&a.tally->lost_claims, c.lane == 0 ? scratch.key.lost_claims : 0, &block[4]);                             \
  }
#define POOL_KERNEL(op)                                                                                                \
  POOL_KERNEL_AS(op, tsr_pool_##op, __launch_bounds__(TSR_BLOCK_THREADS))                                              \
  POOL_KERNEL_AS(op, tsr_roomy_pool_##op, __launch_bounds__(TSR_BLOCK_THREADS, 1))
TSR_POOL_OPS(POOL_KERNEL)

/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps of a cache as kernels: one thread per item. cache.cuh says what they do.
 */
#define TSR_KEYS_128 0, 32, 64
#define TSR_ONE_TABLE
#include "core/kernels/cache.cuh"
#include "core/kernels/context.cuh"
#include "core/kernels/tally.cuh"

/* Relaxed: a count orders nothing. */
static __device__ __forceinline__ void cache_count_evicted(const tsr_ctx *c, uint32_t evicted) {
  __shared__ uint32_t sum;
  const uint32_t all = bulk_block_sum(&sum, evicted);
  if (threadIdx.x == 0 && all) IO_ADD(&cache_head(c)->evicted, all);
}

/* In the variants of the bulk kernels (launch.cu). */
#define CACHE_KERNEL_AS(step, name, bounds)                                                                            \
  extern "C" __global__ void bounds name(const __grid_constant__ tsr_cache_run a) {                                    \
    tsr_scratch scratch;                                                                                               \
    tsr_ctx c = kernel_context(&a.bulk.state, &scratch);                                                               \
    __shared__ bulk_statistics statistics;                                                                             \
    bulk_begin_statistics(&c, &statistics);                                                                            \
    const uint64_t i = blockIdx.x * (uint64_t)TSR_BLOCK_THREADS + threadIdx.x;                                         \
    const cache_done done = cache_##step(&c, &a, i, i < a.n);                                                          \
    bulk_add(a.bulk.tally, done.hits);                                                                                 \
    if (TSR_CACHE_##step == TSR_CACHE_put) cache_count_evicted(&c, done.evicted);                                      \
    bulk_end_statistics(&c, &statistics, a.bulk.tally);                                                                \
  }
#define CACHE_KERNEL(step)                                                                                             \
  CACHE_KERNEL_AS(step, tsr_cache_##step##_kernel, __launch_bounds__(TSR_BLOCK_THREADS))                               \
  CACHE_KERNEL_AS(step, tsr_medium_cache_##step##_kernel, __launch_bounds__(TSR_BLOCK_THREADS, 5))                     \
  CACHE_KERNEL_AS(step, tsr_roomy_cache_##step##_kernel, __launch_bounds__(TSR_BLOCK_THREADS, 1))
TSR_CACHE_STEPS(CACHE_KERNEL)

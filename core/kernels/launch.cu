/* SPDX-License-Identifier: Apache-2.0
 *
 * The bulk operations as kernels: one thread an item, one launch a call. What they do: ops.cuh.
 */
#define TSR_ONE_TABLE
#include "core/kernels/context.cuh"
#include "core/kernels/ops.cuh"

static __device__ __forceinline__ bool bulk_has_statistics(const tsr_ctx *c) {
#ifndef TSR_WITHOUT_STATISTICS
  return TSR_FACT(c, statistics) != 0;
#else
  return false;
#endif
}

/* What the statistics of a block need; a table without them has none. */
struct bulk_statistics {
  unsigned long long probes, moves, lost_claims, stashed;
  uint32_t probes_max, moves_max, histogram[TSR_HISTOGRAM_BINS];
};
static_assert(sizeof(bulk_statistics) <= 4 * TSR_BLOCK_THREADS, "a thread clears a word");

static __device__ __forceinline__ void bulk_begin_statistics(const tsr_ctx *c, bulk_statistics *block) {
  if (!bulk_has_statistics(c)) return;
  if (threadIdx.x < sizeof *block / 4) ((uint32_t *)block)[threadIdx.x] = 0;
  c->scratch->histogram = block->histogram;
  __syncthreads();
}

static __device__ __forceinline__ void bulk_end_statistics(const tsr_ctx *c, bulk_statistics *block, tsr_tally *tally) {
  if (!bulk_has_statistics(c)) return;
  const tsr_scratch *s = c->scratch;
  atomicAdd(&block->probes, s->sum.probes); /* relaxed, as all here: counts order nothing */
  atomicAdd(&block->moves, s->sum.moves);
  atomicAdd(&block->lost_claims, s->sum.lost_claims);
  atomicAdd(&block->stashed, s->sum.stashed);
  atomicMax(&block->probes_max, s->probes_max);
  atomicMax(&block->moves_max, s->moves_max);
  __syncthreads();
  if (threadIdx.x < TSR_HISTOGRAM_BINS && block->histogram[threadIdx.x])
    IO_ADD(&tally->histogram[threadIdx.x], block->histogram[threadIdx.x]);
  if (threadIdx.x != 0) return;
  IO_ADD(&tally->probes, block->probes);
  if (block->moves) IO_ADD(&tally->moves, block->moves);
  if (block->lost_claims) IO_ADD(&tally->lost_claims, block->lost_claims);
  if (block->stashed) IO_ADD(&tally->stashed, block->stashed);
  atomicMax((unsigned long long *)&tally->probes_max, (unsigned long long)block->probes_max);
  atomicMax((unsigned long long *)&tally->moves_max, (unsigned long long)block->moves_max);
}

/* The sum over the block, for its first threads. `sum` is shared. Atomics there cost no instruction that counts, and
 * shuffles would be collectives behind loops (core/design/0008). */
static __device__ __forceinline__ uint32_t bulk_block_sum(uint32_t *sum, uint32_t value) {
  if (threadIdx.x == 0) *sum = 0;
  __syncthreads();
  if (value) atomicAdd(sum, value);
  __syncthreads();
  return *sum;
}

/* Adds what the block did to the operation's tally: an atomic a block, after all its loads are done. */
static __device__ __forceinline__ void bulk_add(tsr_tally *tally, uint32_t hits) {
  __shared__ uint32_t sum;
  uint32_t block_hits = bulk_block_sum(&sum, hits);
  if (threadIdx.x == 0 && block_hits) IO_ADD(&tally->hits, block_hits);
}

static_assert(TSR_BLOCK_THREADS <= BULK_CLASS_MASK, "a block's answers fit their bits");
static __device__ __forceinline__ void bulk_add(tsr_tally *tally, bulk_answer answer) {
  __shared__ uint32_t asked_sum, answered_sum;
  uint32_t asked = bulk_block_sum(&asked_sum, answer.asked), answered = bulk_block_sum(&answered_sum, answer.answered);
  if (threadIdx.x >= TSR_CLASSES) return;
  uint32_t shift = threadIdx.x * BULK_CLASS_BITS;
  IO_ADD(&tally->asked[threadIdx.x], asked >> shift & BULK_CLASS_MASK);
  IO_ADD(&tally->answered[threadIdx.x], answered >> shift & BULK_CLASS_MASK);
}

/* `bounds`: with the block size alone ptxas aims at the next step of occupancy, which makes insert up to 20 % faster,
 * but may spill a register or two for it. Mostly that happens at 40 registers, and five blocks a multiprocessor leave a
 * thread 48; "at least one block" demands nothing and makes ptxas stop aiming. The linker takes the first of these three
 * forms that has no stack, and the second where the first takes 49 to 56 registers. */
#define BULK_KERNEL_AS(op, name, bounds)                                                                               \
  extern "C" __global__ void bounds name(const __grid_constant__ tsr_bulk a) {                                         \
    tsr_scratch scratch;                                                                                               \
    tsr_ctx c = kernel_context(&a.state, &scratch);                                                                    \
    __shared__ bulk_statistics statistics;                                                                             \
    bulk_begin_statistics(&c, &statistics);                                                                            \
    uint64_t i = io_item(0);                                                                                           \
    bulk_add(a.tally, bulk_##op(&c, &a, i, i < a.n));                                                                  \
    bulk_end_statistics(&c, &statistics, a.tally);                                                                     \
  }
#define BULK_KERNEL(op)                                                                                                \
  BULK_KERNEL_AS(op, tsr_##op##_kernel, __launch_bounds__(TSR_BLOCK_THREADS))                                          \
  BULK_KERNEL_AS(op, tsr_medium_##op##_kernel, __launch_bounds__(TSR_BLOCK_THREADS, 5))                                \
  BULK_KERNEL_AS(op, tsr_roomy_##op##_kernel, __launch_bounds__(TSR_BLOCK_THREADS, 1))
TSR_BULK_OPS(BULK_KERNEL)

/* SPDX-License-Identifier: Apache-2.0
 *
 * How the threads of a block add up what they did, and add it to the tally by one atomic per block and count. All of
 * these are relaxed, because counts order nothing, and the host reads them when the kernel has ended. Shared by
 * launch.cu and ../batch/batch.cu.
 */
#ifndef TSR_TALLY_CUH
#define TSR_TALLY_CUH

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
  atomicAdd(&block->probes, s->sum.probes);
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

/* The sum over the block, for all its threads. `sum` is shared. Atomics there cost nothing measurable, and shuffles would
 * be collectives behind loops (core/design/0008). */
static __device__ __forceinline__ uint32_t bulk_block_sum(uint32_t *sum, uint32_t value) {
  if (threadIdx.x == 0) *sum = 0;
  __syncthreads();
  if (value) atomicAdd(sum, value);
  __syncthreads();
  return *sum;
}

/* Adds the number of sums of a block that passed the largest value to the tally, unless its work is thrown away; or its
 * long walks. */
static __device__ __forceinline__ void bulk_tell_overflows(const tsr_ctx *c, tsr_tally *tally, uint32_t keeps) {
  __shared__ uint32_t sum;
  if (!TSR_FACT(c, tells_overflow) && !TELLS_LONG_WALKS(c)) return;
  const uint32_t all = bulk_block_sum(&sum, c->scratch->overflows);
  if (threadIdx.x == 0 && keeps && all) IO_ADD(&tally->overflows, all);
}

/* Adds the block's hits to the operation's tally. */
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

#endif

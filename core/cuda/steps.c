/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels and threads of the steps (steps.h).
 */
#include "core/cuda/steps.h"

/* Built by core/BUILD from ../batch/split.cu, match.cu and ../kernels/wide.cu; only their ends without nvcc. */
extern const tsr_image tsr_split_images[], tsr_wide_images[], tsr_match_images[];

#define SPLIT_NAME(step) "tsr_split_" #step,
#define WIDE_NAME(step) "tsr_wide_" #step,
#define MATCH_NAME(step) "tsr_match_" #step "_kernel",
static const char *const split_names[] = {TSR_SPLIT_STEPS(SPLIT_NAME)};
static const char *const wide_names[] = {TSR_WIDE_STEPS(WIDE_NAME)};
static const char *const match_names[] = {TSR_MATCH_STEPS(MATCH_NAME)};
static const tsr_cuda_kernels split_kernels = {tsr_split_images, split_names, TSR_SPLIT_STEP_COUNT};
static const tsr_cuda_kernels wide_kernels = {tsr_wide_images, wide_names, TSR_WIDE_STEP_COUNT};
static const tsr_cuda_kernels match_kernels = {tsr_match_images, match_names, TSR_MATCH_STEP_COUNT};
_Static_assert(TSR_SPLIT_STEP_COUNT <= TSR_CUDA_MODULE_KERNELS_MAX, "a module holds all steps");
_Static_assert(TSR_WIDE_STEP_COUNT <= TSR_CUDA_MODULE_KERNELS_MAX, "a module holds all steps");
_Static_assert(TSR_MATCH_STEP_COUNT <= TSR_CUDA_MODULE_KERNELS_MAX, "a module holds all steps");

static uint64_t blocks_for(uint64_t threads) { return (threads + TSR_BLOCK_THREADS - 1) / TSR_BLOCK_THREADS; }

tsr_cuda_step tsr_cuda_split_step(uint32_t step, const tsr_split *split) {
  enum { BINS_BLOCKS = 1024 };
  uint64_t blocks = blocks_for(split->n);
  if (step == TSR_SPLIT_bins && blocks > BINS_BLOCKS) blocks = BINS_BLOCKS;
  if (step == TSR_SPLIT_count || step == TSR_SPLIT_scatter) blocks = split->tiles;
  if (step == TSR_SPLIT_collect) blocks = (blocks + TSR_SPLIT_AHEAD - 1) / TSR_SPLIT_AHEAD;
  return (tsr_cuda_step){&split_kernels, step, blocks, TSR_BLOCK_THREADS, 0, split};
}

/* An item has one thread, or as many as a row has words, made a power of two. */
tsr_cuda_step tsr_cuda_wide_step(uint32_t step, const tsr_wide_run *run) {
  uint64_t threads = 1;
  if (step == TSR_WIDE_put || step == TSR_WIDE_get)
    while (threads < run->row_bytes / run->word_bytes) threads *= 2;
  return (tsr_cuda_step){&wide_kernels, step, blocks_for(run->n * threads), TSR_BLOCK_THREADS, 0, run};
}

/* A page's index: keys, whether a left pair of each has come, and how many right pairs, if that counts. */
static unsigned page_bytes(const tsr_match *match) {
  const unsigned groups = TSR_MATCH_INDEX_BYTES / match->key_bytes;
  return TSR_MATCH_INDEX_BYTES + groups / 8 + (tsr_match_counts(match) ? groups * (unsigned)sizeof(uint16_t) : 0);
}

/* A page has a block of its own. */
tsr_cuda_step tsr_cuda_match_step(uint32_t step, const tsr_match *match) {
  if (step == TSR_MATCH_pages || step == TSR_MATCH_wide_pages)
    return (tsr_cuda_step){&match_kernels, step, match->n, TSR_MATCH_THREADS, page_bytes(match), match};
  return (tsr_cuda_step){&match_kernels, step, blocks_for(match->n), TSR_BLOCK_THREADS, 0, match};
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Splitting on a GPU (split.h).
 */
#include "core/cuda/split.h"

#include "core/cuda/link.h"

extern const tsr_image tsr_split_images[]; /* built by core/BUILD from kernels/split.cu; only its end without nvcc */

#define NAME(step) "tsr_split_" #step,
static const char *const names[] = {TSR_SPLIT_STEPS(NAME)};
_Static_assert(TSR_SPLIT_STEP_COUNT <= TSR_CUDA_MODULE_KERNELS_MAX, "a module holds all steps");

tsr_status tsr_cuda_split_run(tsr_cuda_module *loaded, const cu_driver *driver, uint32_t sm, uint32_t step,
                              const tsr_split *split, void *stream, tsr_error *error) {
  enum { BINS_BLOCKS = 1024 };
  uint64_t blocks = (split->n + TSR_BLOCK_THREADS - 1) / TSR_BLOCK_THREADS;
  void *parameters[] = {(void *)(uintptr_t)split};
  if (step == TSR_SPLIT_bins && blocks > BINS_BLOCKS) blocks = BINS_BLOCKS;
  if (step == TSR_SPLIT_count || step == TSR_SPLIT_scatter) blocks = split->tiles;
  if (step == TSR_SPLIT_collect) blocks = (blocks + TSR_SPLIT_AHEAD - 1) / TSR_SPLIT_AHEAD;
  if (blocks == 0) return TSR_OK;
  const tsr_status status =
      tsr_cuda_module_load(loaded, driver, tsr_split_images, names, TSR_SPLIT_STEP_COUNT, sm, error);
  if (status) return status;
  return tsr_cuda_check(driver->launch(loaded->kernel[step], (unsigned)blocks, 1, 1, TSR_BLOCK_THREADS, 1, 1, 0, stream,
                                       parameters, NULL),
                        "cuLaunchKernel", error);
}

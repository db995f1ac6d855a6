/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of values on a GPU (wide.h).
 */
#include "core/cuda/wide.h"

#include "core/cuda/link.h"

extern const tsr_image tsr_wide_images[]; /* built by core/BUILD from kernels/wide.cu; only its end without nvcc */

#define NAME(step) "tsr_wide_" #step,
static const char *const names[] = {TSR_WIDE_STEPS(NAME)};
_Static_assert(TSR_WIDE_STEP_COUNT <= TSR_CUDA_MODULE_KERNELS_MAX, "a module holds all steps");

/* The threads of an item: one, or as many as a row has words, made a power of two. */
static uint64_t threads_of(uint32_t step, const tsr_wide_run *run) {
  uint64_t threads = 1;
  if (step == TSR_WIDE_put || step == TSR_WIDE_get)
    while (threads < run->row_bytes / run->word_bytes) threads *= 2;
  return threads;
}

tsr_status tsr_cuda_wide_run(tsr_cuda_module *loaded, const cu_driver *driver, uint32_t sm, uint32_t step,
                             const tsr_wide_run *run, void *stream, tsr_error *error) {
  const uint64_t blocks = (run->n * threads_of(step, run) + TSR_BLOCK_THREADS - 1) / TSR_BLOCK_THREADS;
  void *parameters[] = {(void *)(uintptr_t)run};
  if (blocks == 0) return TSR_OK;
  const tsr_status status =
      tsr_cuda_module_load(loaded, driver, tsr_wide_images, names, TSR_WIDE_STEP_COUNT, sm, error);
  if (status) return status;
  return tsr_cuda_check(driver->launch(loaded->kernel[step], (unsigned)blocks, 1, 1, TSR_BLOCK_THREADS, 1, 1, 0, stream,
                                       parameters, NULL),
                        "cuLaunchKernel", error);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Matching on a GPU (match.h).
 */
#include "core/cuda/match.h"

#include "core/cuda/link.h"

extern const tsr_image tsr_match_images[]; /* built by core/BUILD from kernels/match.cu; only its end without nvcc */

#define NAME(step) "tsr_match_" #step "_kernel",
static const char *const names[] = {TSR_MATCH_STEPS(NAME)};
_Static_assert(TSR_MATCH_STEP_COUNT <= TSR_CUDA_MODULE_KERNELS_MAX, "a module holds all steps");

/* A page's index: keys, whether a left pair of each has come, and how many right pairs, if that counts. */
static unsigned page_bytes(const tsr_match *match) {
  const unsigned groups = TSR_MATCH_INDEX_BYTES / match->key_bytes;
  return TSR_MATCH_INDEX_BYTES + groups / 8 + (tsr_match_counts(match) ? groups * (unsigned)sizeof(uint16_t) : 0);
}

tsr_status tsr_cuda_match_run(tsr_cuda_module *loaded, const cu_driver *driver, uint32_t sm, uint32_t step,
                              const tsr_match *match, void *stream, tsr_error *error) {
  const bool is_pages = step == TSR_MATCH_pages || step == TSR_MATCH_wide_pages;
  const uint64_t blocks = is_pages ? match->n : (match->n + TSR_BLOCK_THREADS - 1) / TSR_BLOCK_THREADS;
  const unsigned shared_bytes = is_pages ? page_bytes(match) : 0;
  void *parameters[] = {(void *)(uintptr_t)match};
  if (blocks == 0) return TSR_OK;
  const tsr_status status =
      tsr_cuda_module_load(loaded, driver, tsr_match_images, names, TSR_MATCH_STEP_COUNT, sm, error);
  if (status) return status;
  cu_result result = 0;
  if (shared_bytes) result = driver->function_set(loaded->kernel[step], CU_FUNCTION_SHARED_BYTES, (int)shared_bytes);
  if (!result)
    result =
        driver->launch(loaded->kernel[step], (unsigned)blocks, 1, 1, is_pages ? TSR_MATCH_THREADS : TSR_BLOCK_THREADS,
                       1, 1, shared_bytes, stream, parameters, NULL);
  return tsr_cuda_check(result, "cuLaunchKernel", error);
}

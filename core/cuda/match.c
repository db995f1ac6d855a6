/* SPDX-License-Identifier: Apache-2.0
 *
 * Matching on a GPU (match.h).
 */
#include "core/cuda/match.h"

#include "core/cuda/link.h"

extern const tsr_image tsr_match_images[]; /* built by core/BUILD from kernels/match.cu; only its end without nvcc */

#define NAME(step) "tsr_match_" #step "_kernel",
static const char *const names[] = {TSR_MATCH_STEPS(NAME)};

static tsr_status load(tsr_cuda_match *loaded, const cu_driver *driver, uint32_t sm, tsr_error *error) {
  const tsr_image *image = tsr_match_images;
  tsr_cuda_match made = {.module = NULL};
  tsr_link link = {0};
  if (!image->device) return tsr_cuda_no_code(error);
  tsr_kernels kernels = {names, TSR_MATCH_STEP_COUNT, image->device, image->device_bytes, {NULL}, false};
  tsr_status status = tsr_cuda_link(NULL, 0, &kernels, sm, true, &link, error);
  if (status) return status;
  status = tsr_cuda_check(driver->module_load(&made.module, link.cubin), "cuModuleLoadData", error);
  tsr_link_free(&link);
  if (status) return status;
  cu_result result = 0;
  for (uint32_t i = 0; !result && i < TSR_MATCH_STEP_COUNT; i++)
    result = driver->module_function(&made.steps[i], made.module, names[i]);
  status = tsr_cuda_check(result, "cuModuleGetFunction", error);
  if (status)
    tsr_cuda_match_unload(&made, driver);
  else
    *loaded = made;
  return status;
}

void tsr_cuda_match_unload(tsr_cuda_match *loaded, const cu_driver *driver) {
  if (loaded->module) driver->module_unload(loaded->module);
  *loaded = (tsr_cuda_match){.module = NULL};
}

tsr_status tsr_cuda_match_run(tsr_cuda_match *loaded, const cu_driver *driver, uint32_t sm, uint32_t step,
                              const tsr_match *match, void *stream, tsr_error *error) {
  const bool is_pages = step == TSR_MATCH_narrow || step == TSR_MATCH_wide;
  const uint64_t blocks = is_pages ? match->n : (match->n + TSR_BLOCK_THREADS - 1) / TSR_BLOCK_THREADS;
  const unsigned shared_bytes =
      is_pages ? TSR_MATCH_GROUPS * (match->key_bytes + (unsigned)sizeof(uint32_t)) + TSR_MATCH_GROUPS / 8 : 0;
  void *parameters[] = {(void *)(uintptr_t)match};
  if (blocks == 0) return TSR_OK;
  const tsr_status status = loaded->module ? TSR_OK : load(loaded, driver, sm, error);
  if (status) return status;
  cu_result result = 0;
  if (shared_bytes) result = driver->function_set(loaded->steps[step], CU_FUNCTION_SHARED_BYTES, (int)shared_bytes);
  if (!result)
    result =
        driver->launch(loaded->steps[step], (unsigned)blocks, 1, 1, is_pages ? TSR_MATCH_THREADS : TSR_BLOCK_THREADS, 1,
                       1, shared_bytes, stream, parameters, NULL);
  return tsr_cuda_check(result, "cuLaunchKernel", error);
}

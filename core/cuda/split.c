/* SPDX-License-Identifier: Apache-2.0
 *
 * Splitting on a GPU (split.h).
 */
#include "core/cuda/split.h"

#include "core/cuda/link.h"

extern const tsr_image tsr_split_images[]; /* built by core/BUILD from kernels/split.cu; only its end without nvcc */

#define NAME(step) "tsr_split_" #step,
static const char *const names[] = {TSR_SPLIT_STEPS(NAME)};

static tsr_status load(tsr_cuda_split *loaded, const cu_driver *driver, uint32_t sm, tsr_error *error) {
  const tsr_image *image = tsr_split_images;
  tsr_cuda_split made = {.module = NULL};
  tsr_link link = {0};
  if (!image->device) return tsr_cuda_no_code(error);
  tsr_kernels kernels = {names, TSR_SPLIT_STEP_COUNT, image->device, image->device_bytes, {NULL}, false};
  tsr_status status = tsr_cuda_link(NULL, 0, &kernels, sm, true, &link, error);
  if (status) return status;
  status = tsr_cuda_check(driver->module_load(&made.module, link.cubin), "cuModuleLoadData", error);
  tsr_link_free(&link);
  if (status) return status;
  cu_result result = 0;
  for (uint32_t i = 0; !result && i < TSR_SPLIT_STEP_COUNT; i++)
    result = driver->module_function(&made.steps[i], made.module, names[i]);
  status = tsr_cuda_check(result, "cuModuleGetFunction", error);
  if (status)
    tsr_cuda_split_unload(&made, driver);
  else
    *loaded = made;
  return status;
}

void tsr_cuda_split_unload(tsr_cuda_split *loaded, const cu_driver *driver) {
  if (loaded->module) driver->module_unload(loaded->module);
  *loaded = (tsr_cuda_split){.module = NULL};
}

tsr_status tsr_cuda_split_run(tsr_cuda_split *loaded, const cu_driver *driver, uint32_t sm, uint32_t step,
                              const tsr_split *split, void *stream, tsr_error *error) {
  enum { BINS_BLOCKS = 1024 };
  uint64_t blocks = (split->n + TSR_BLOCK_THREADS - 1) / TSR_BLOCK_THREADS;
  void *parameters[] = {(void *)(uintptr_t)split};
  if (step == TSR_SPLIT_bins && blocks > BINS_BLOCKS) blocks = BINS_BLOCKS;
  if (step == TSR_SPLIT_count || step == TSR_SPLIT_scatter) blocks = split->tiles;
  if (blocks == 0) return TSR_OK;
  tsr_status status = loaded->module ? TSR_OK : load(loaded, driver, sm, error);
  if (status) return status;
  return tsr_cuda_check(
      driver->launch(loaded->steps[step], (unsigned)blocks, 1, 1, TSR_BLOCK_THREADS, 1, 1, 0, stream, parameters, NULL),
      "cuLaunchKernel", error);
}

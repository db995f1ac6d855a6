/* SPDX-License-Identifier: Apache-2.0
 *
 * Loading a module of kernels (module.h).
 */
#include "core/cuda/module.h"

#include "core/cuda/link.h"

tsr_status tsr_cuda_module_load(tsr_cuda_module *loaded, const cu_driver *driver, const tsr_cuda_kernels *kernels,
                                uint32_t sm, tsr_error *error) {
  const tsr_image *image = kernels->image;
  const tsr_kernels all = {
      .names = kernels->names, .count = kernels->count, .image = image->device, .image_bytes = image->device_bytes};
  tsr_cuda_module made = {.module = NULL};
  tsr_link link = {0};
  if (loaded->module) return TSR_OK;
  if (!image->device) return tsr_cuda_no_code(error);
  tsr_status status = tsr_cuda_link(NULL, 0, &all, sm, true, &link, error);
  if (status) return status;
  status = tsr_cuda_check(driver->module_load(&made.module, link.cubin), "cuModuleLoadData", error);
  tsr_link_free(&link);
  if (status) return status;
  cu_result result = 0;
  for (uint32_t i = 0; !result && i < kernels->count; i++)
    result = driver->module_function(&made.kernel[i], made.module, kernels->names[i]);
  status = tsr_cuda_check(result, "cuModuleGetFunction", error);
  if (status)
    tsr_cuda_module_unload(&made, driver);
  else
    *loaded = made;
  return status;
}

tsr_status tsr_cuda_module_run(tsr_cuda_module *loaded, const cu_driver *driver, uint32_t sm, const tsr_cuda_step *step,
                               void *stream, tsr_error *error) {
  void *parameters[] = {(void *)(uintptr_t)step->argument};
  if (step->blocks == 0) return TSR_OK;
  const tsr_status status = tsr_cuda_module_load(loaded, driver, step->kernels, sm, error);
  if (status) return status;
  const cu_function kernel = loaded->kernel[step->number];
  cu_result result = 0;
  if (step->shared_bytes) result = driver->function_set(kernel, CU_FUNCTION_SHARED_BYTES, (int)step->shared_bytes);
  if (!result)
    result = driver->launch(kernel, (unsigned)step->blocks, 1, 1, step->threads, 1, 1, step->shared_bytes, stream,
                            parameters, NULL);
  return tsr_cuda_check(result, "cuLaunchKernel", error);
}

void tsr_cuda_module_unload(tsr_cuda_module *loaded, const cu_driver *driver) {
  if (loaded->module) driver->module_unload(loaded->module);
  *loaded = (tsr_cuda_module){.module = NULL};
}

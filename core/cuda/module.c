/* SPDX-License-Identifier: Apache-2.0
 *
 * Loading a module of kernels (module.h).
 */
#include "core/cuda/module.h"

#include "core/cuda/link.h"

tsr_status tsr_cuda_module_load(tsr_cuda_module *loaded, const cu_driver *driver, const tsr_image *image,
                                const char *const *names, uint32_t count, uint32_t sm, tsr_error *error) {
  const tsr_kernels kernels = {
      .names = names, .count = count, .image = image->device, .image_bytes = image->device_bytes};
  tsr_cuda_module made = {.module = NULL};
  tsr_link link = {0};
  if (loaded->module) return TSR_OK;
  if (!image->device) return tsr_cuda_no_code(error);
  tsr_status status = tsr_cuda_link(NULL, 0, &kernels, sm, true, &link, error);
  if (status) return status;
  status = tsr_cuda_check(driver->module_load(&made.module, link.cubin), "cuModuleLoadData", error);
  tsr_link_free(&link);
  if (status) return status;
  cu_result result = 0;
  for (uint32_t i = 0; !result && i < count; i++)
    result = driver->module_function(&made.kernel[i], made.module, names[i]);
  status = tsr_cuda_check(result, "cuModuleGetFunction", error);
  if (status)
    tsr_cuda_module_unload(&made, driver);
  else
    *loaded = made;
  return status;
}

void tsr_cuda_module_unload(tsr_cuda_module *loaded, const cu_driver *driver) {
  if (loaded->module) driver->module_unload(loaded->module);
  *loaded = (tsr_cuda_module){.module = NULL};
}

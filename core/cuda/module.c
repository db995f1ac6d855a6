/* SPDX-License-Identifier: Apache-2.0
 *
 * Loading a set of kernels, and launching one (module.h).
 */
#include "core/cuda/module.h"

#include "core/cuda/link.h"

tsr_status tsr_cuda_module_load(tsr_cuda_module *loaded, const cu_driver *driver, const tsr_steps *set, uint32_t sm,
                                tsr_code_counts *counts, tsr_error *error) {
  tsr_cuda_module made = {.set = set};
  tsr_link link = {0};
  if (loaded->module) return TSR_OK;
  if (set->count > TSR_CUDA_MODULE_KERNELS_MAX)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "a set of %u steps: at most %u", set->count, TSR_CUDA_MODULE_KERNELS_MAX);
  tsr_status status = tsr_cuda_link_set(set, sm, true, &link, error);
  if (status) return status;
  status = tsr_cuda_check(driver->module_load(&made.module, link.cubin), "cuModuleLoadData", error);
  if (status == TSR_OK) tsr_link_count(&link, counts);
  tsr_link_free(&link);
  if (status) return status;
  cu_result result = 0;
  for (uint32_t i = 0; !result && i < set->count; i++)
    result = driver->module_function(&made.kernel[i], made.module, set->step[i].kernel);
  status = tsr_cuda_check(result, "cuModuleGetFunction", error);
  if (status)
    tsr_cuda_module_unload(&made, driver);
  else
    *loaded = made;
  return status;
}

tsr_status tsr_cuda_work_launch(const tsr_cuda_work *work, const cu_driver *driver, cu_function kernel,
                                tsr_error *error) {
  enum { SHARED_UNASKED = 16 << 10 }; /* 48 KiB, with what kernels have of their own */
  void *parameters[] = {(void *)(uintptr_t)work->argument};
  tsr_grid grid = work->step->grid;
  if (work->n == 0) return TSR_OK;
  if (work->step->fit) work->step->fit(work->table, work->argument, &grid);
  const uint32_t threads = grid.threads ? grid.threads : TSR_BLOCK_THREADS;
  const uint32_t block_items = grid.block_items ? grid.block_items : threads;
  uint64_t blocks = grid.blocks ? grid.blocks : (work->n + block_items - 1) / block_items;
  if (grid.blocks_max && blocks > grid.blocks_max) blocks = grid.blocks_max;
  cu_result result = 0;
  if (grid.shared_bytes > SHARED_UNASKED)
    result = driver->function_set(kernel, CU_FUNCTION_SHARED_BYTES, (int)grid.shared_bytes);
  if (!result)
    result = driver->launch(kernel, (unsigned)blocks, 1, 1, threads, 1, 1, grid.shared_bytes, work->stream, parameters,
                            NULL);
  return tsr_cuda_check(result, "cuLaunchKernel", error);
}

void tsr_cuda_module_unload(tsr_cuda_module *loaded, const cu_driver *driver) {
  if (loaded->module) driver->module_unload(loaded->module);
  *loaded = (tsr_cuda_module){.set = NULL};
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Users' kernels of the cuda backend.
 */
#include <stdlib.h>

#include "core/cuda/device.h"
#include "core/cuda/link.h"

struct tsr_user_program {
  tsr_cuda_device *device;
  size_t parameters;
  cu_module module;
  cu_function function;
};

/* pre: the context is pushed. */
static tsr_status load_user(tsr_user_program *program, const tsr_link *link, tsr_error *error) {
  const cu_driver *driver = program->device->driver;
  tsr_status status = tsr_cuda_check(driver->module_load(&program->module, link->cubin), "cuModuleLoadData", error);
  if (status) return status;
  return tsr_cuda_check(driver->module_function(&program->function, program->module, link->kernels[0].name),
                        "cuModuleGetFunction", error);
}

static void cuda_user_destroy(tsr_user_program *program) {
  const tsr_cuda_device *d = program->device;
  if (program->module && tsr_cuda_push(d, NULL) == TSR_OK) {
    d->driver->module_unload(program->module);
    tsr_status status = tsr_cuda_pop(d, 0, "", NULL);
    (void)status; /* as in cuda_program_destroy */
  }
  free(program);
}

static tsr_status cuda_user_create(tsr_device *device, const tsr_user_code *code, tsr_user_program **program,
                                   tsr_error *error) {
  tsr_link link = {0};
  tsr_user_program *made = calloc(1, sizeof *made);
  if (!made) return tsr_fail(error, TSR_NO_MEMORY, "no memory for a kernel of the cuda backend");
  made->device = tsr_cuda_of(device);
  made->parameters = code->facts.parameters;
  tsr_status status = tsr_cuda_link_user(code, device->info.sm, true, &link, error);
  if (status == TSR_OK) status = tsr_cuda_push(made->device, error);
  if (status == TSR_OK) {
    status = load_user(made, &link, error);
    tsr_status popped = tsr_cuda_pop(made->device, 0, "", status ? NULL : error);
    if (status == TSR_OK) status = popped;
  }
  tsr_link_free(&link);
  if (status)
    cuda_user_destroy(made);
  else
    *program = made;
  return status;
}

static tsr_status cuda_user_launch(tsr_user_program *program, uint64_t n, const void *const *arguments, void *stream,
                                   tsr_error *error) {
  const tsr_cuda_device *d = program->device;
  const uint64_t blocks = (n + TSR_BLOCK_THREADS - 1) / TSR_BLOCK_THREADS;
  const uint64_t run[2] = {n, 0}; /* a tsr_kernel_run */
  void *parameters[TSR_KERNEL_PARAMETERS_MAX + 1] = {(void *)(uintptr_t)run};
  for (size_t i = 0; i < program->parameters; i++) parameters[i + 1] = (void *)(uintptr_t)arguments[i];
  tsr_status status = tsr_cuda_push(d, error);
  if (status) return status;
  cu_result result = d->driver->launch(program->function, (unsigned)blocks, 1, 1, TSR_BLOCK_THREADS, 1, 1, 0, stream,
                                       parameters, NULL);
  return tsr_cuda_pop(d, result, "cuLaunchKernel", error);
}

const tsr_user_kernels tsr_cuda_user_kernels = {cuda_user_create, cuda_user_destroy, cuda_user_launch};

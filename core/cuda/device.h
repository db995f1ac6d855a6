/* SPDX-License-Identifier: Apache-2.0
 *
 * A device of the cuda backend, for the files that work on it: backend.c, program.c and user.c.
 */
#ifndef TSR_CUDA_DEVICE_H
#define TSR_CUDA_DEVICE_H

#include "core/compose/backend.h"
#include "core/cuda/driver.h"
#include "core/cuda/module.h"

enum { TSR_CUDA_MODULES_MAX = 12 };

typedef struct tsr_cuda_device {
  tsr_device base;
  const cu_driver *driver;
  cu_device number;
  cu_context context;
  cu_pool pool;                                  /* of buffers that live for one operation */
  tsr_cuda_module modules[TSR_CUDA_MODULES_MAX]; /* of the sets of steps that were used, the first ones */
  tsr_code_counts counts;                        /* of all that was loaded */
  tsr_notice notice;                             /* the last one */
  uint64_t asked, reached; /* a bit for each device that was asked for access to its memory, and that gave it */
} tsr_cuda_device;

static inline tsr_cuda_device *tsr_cuda_of(tsr_device *device) { return (tsr_cuda_device *)device; }

static inline tsr_status tsr_cuda_push(const tsr_cuda_device *d, tsr_error *error) {
  return tsr_cuda_check(d->driver->context_push(d->context), "cuCtxPushCurrent", error);
}

/* Makes the caller's context current again after push. result: of the call in between, which `what` names in an error. */
static inline tsr_status tsr_cuda_pop(const tsr_cuda_device *d, cu_result result, const char *what, tsr_error *error) {
  cu_context popped;
  tsr_status status = tsr_cuda_check(result, what, error);
  tsr_status after = tsr_cuda_check(d->driver->context_pop(&popped), "cuCtxPopCurrent", status ? NULL : error);
  return status ? status : after;
}

/* Programs and steps, as tsr_backend says (program.c). */
tsr_status tsr_cuda_program_create(tsr_device *device, const tsr_composition *composition, tsr_program **program,
                                   tsr_error *error);
void tsr_cuda_program_destroy(tsr_program *program);
const char *tsr_cuda_program_describe(tsr_program *program);
tsr_status tsr_cuda_prepare(tsr_device *device, tsr_program *program, const tsr_step *const *steps, uint32_t count,
                            tsr_error *error);
bool tsr_cuda_is_prepared(tsr_device *device, tsr_program *program, const tsr_step *step);
tsr_status tsr_cuda_step(tsr_device *device, tsr_program *program, const tsr_step *step, const void *argument,
                         uint64_t n, void *stream, tsr_error *error);

extern const tsr_user_kernels tsr_cuda_user_kernels; /* user.c */

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of a set of steps that belong to no table (../kernels/steps.h): linked and loaded when first used.
 */
#ifndef TSR_CUDA_MODULE_H
#define TSR_CUDA_MODULE_H

#include "core/cuda/driver.h"
#include "core/kernels/steps.h"

#define TSR_CUDA_MODULE_KERNELS_MAX 32u

typedef struct tsr_cuda_module { /* all zero: not loaded yet */
  const tsr_steps *set;
  cu_module module;
  cu_function kernel[TSR_CUDA_MODULE_KERNELS_MAX]; /* in the order of the steps */
} tsr_cuda_module;

/* A launch of a step. */
typedef struct tsr_cuda_work {
  const tsr_step *step;
  const tsr_shape *table; /* NULL: a step of no table */
  const void *argument;   /* the struct that the kernel takes by value; read during the call */
  uint64_t n;             /* items; 0: nothing is launched */
  void *stream;
} tsr_cuda_work;

/* For all of these the device's context is current. */

/* Loads the kernels for compute capability sm, unless they are loaded already. set: at most TSR_CUDA_MODULE_KERNELS_MAX
 * steps. counts: where the code came from is added. TSR_NO_DEVICE: the library was built without nvcc, so that the image
 * holds nothing. */
tsr_status tsr_cuda_module_load(tsr_cuda_module *loaded, const cu_driver *driver, const tsr_steps *set, uint32_t sm,
                                tsr_code_counts *counts, tsr_error *error) TSR_MUST_CHECK;

/* Enqueues a step's kernel. */
tsr_status tsr_cuda_work_launch(const tsr_cuda_work *work, const cu_driver *driver, cu_function kernel,
                                tsr_error *error) TSR_MUST_CHECK;

/* Nothing where nothing was loaded. */
void tsr_cuda_module_unload(tsr_cuda_module *loaded, const cu_driver *driver);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * A module of kernels that belong to no table: matching, splitting, prefix sums, what measures the device. Linked and
 * loaded when first used.
 */
#ifndef TSR_CUDA_MODULE_H
#define TSR_CUDA_MODULE_H

#include "core/cuda/driver.h"
#include "plugins/plugin.h"

#define TSR_CUDA_MODULE_KERNELS_MAX 16u

typedef struct tsr_cuda_module { /* all zero: not loaded yet */
  cu_module module;
  cu_function kernel[TSR_CUDA_MODULE_KERNELS_MAX]; /* in the order of their names */
} tsr_cuda_module;

/* What a module is made of: some kernels of an image. */
typedef struct tsr_cuda_kernels {
  const tsr_image *image;
  const char *const *names;
  uint32_t count; /* at most TSR_CUDA_MODULE_KERNELS_MAX */
} tsr_cuda_kernels;

/* For all three the device's context is current. */

/* Loads the kernels for compute capability sm, unless they are loaded already. TSR_NO_DEVICE: the library was built
 * without nvcc, so that the image holds nothing. */
tsr_status tsr_cuda_module_load(tsr_cuda_module *loaded, const cu_driver *driver, const tsr_cuda_kernels *kernels,
                                uint32_t sm, tsr_error *error) TSR_MUST_CHECK;

/* A launch of one of them. */
typedef struct tsr_cuda_step {
  const tsr_cuda_kernels *kernels;
  uint32_t number;       /* of the kernel */
  uint64_t blocks;       /* 0: there is nothing to do */
  unsigned threads;      /* of a block */
  unsigned shared_bytes; /* of a block, besides what the kernel declares */
  const void *argument;  /* the struct that it takes by value; read during the call */
} tsr_cuda_step;
/* Loads the step's module, unless it is loaded, and enqueues the launch. */
tsr_status tsr_cuda_module_run(tsr_cuda_module *loaded, const cu_driver *driver, uint32_t sm, const tsr_cuda_step *step,
                               void *stream, tsr_error *error) TSR_MUST_CHECK;
/* Nothing where nothing was loaded. */
void tsr_cuda_module_unload(tsr_cuda_module *loaded, const cu_driver *driver);

#endif

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

/* Loads kernels `names` of an image for compute capability sm, unless they are loaded already. pre: the device's context
 * is current. TSR_NO_DEVICE: the library was built without nvcc, so that the image holds nothing. */
tsr_status tsr_cuda_module_load(tsr_cuda_module *loaded, const cu_driver *driver, const tsr_image *image,
                                const char *const *names, uint32_t count, uint32_t sm, tsr_error *error) TSR_MUST_CHECK;
/* pre: the device's context is current. Nothing where nothing was loaded. */
void tsr_cuda_module_unload(tsr_cuda_module *loaded, const cu_driver *driver);

#endif

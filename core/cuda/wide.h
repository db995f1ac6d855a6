/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of values on a GPU: the kernels of ../kernels/wide.h, linked when first used.
 */
#ifndef TSR_CUDA_WIDE_H
#define TSR_CUDA_WIDE_H

#include "core/cuda/module.h"
#include "core/kernels/wide.h"

/* Enqueues what tsr_backend.wide says. pre: the device's context is current. */
tsr_status tsr_cuda_wide_run(tsr_cuda_module *loaded, const cu_driver *driver, uint32_t sm, uint32_t step,
                             const tsr_wide_run *run, void *stream, tsr_error *error) TSR_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Splitting a batch on a GPU: the kernels of ../kernels/split.h, linked when first used.
 */
#ifndef TSR_CUDA_SPLIT_H
#define TSR_CUDA_SPLIT_H

#include "core/cuda/module.h"

/* Enqueues what tsr_backend.split says. pre: the device's context is current. */
tsr_status tsr_cuda_split_run(tsr_cuda_module *loaded, const cu_driver *driver, uint32_t sm, uint32_t step,
                              const tsr_split *split, void *stream, tsr_error *error) TSR_MUST_CHECK;

#endif

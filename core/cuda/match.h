/* SPDX-License-Identifier: Apache-2.0
 *
 * Matching on a GPU: the kernels of ../kernels/match.h, linked when first used.
 */
#ifndef TSR_CUDA_MATCH_H
#define TSR_CUDA_MATCH_H

#include "core/cuda/module.h"
#include "core/kernels/match.h"

/* Enqueues what tsr_backend.match says. pre: the device's context is current. */
tsr_status tsr_cuda_match_run(tsr_cuda_module *loaded, const cu_driver *driver, uint32_t sm, uint32_t step,
                              const tsr_match *match, void *stream, tsr_error *error) TSR_MUST_CHECK;

#endif

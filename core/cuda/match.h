/* SPDX-License-Identifier: Apache-2.0
 *
 * Matching on a GPU: the kernels of ../kernels/match.h, linked when first used.
 */
#ifndef TSR_CUDA_MATCH_H
#define TSR_CUDA_MATCH_H

#include "core/cuda/driver.h"
#include "core/kernels/match.h"

typedef struct tsr_cuda_match { /* all zero: not loaded yet */
  cu_module module;
  cu_function steps[TSR_MATCH_STEP_COUNT];
} tsr_cuda_match;

/* Enqueues what tsr_backend.match says. pre: the device's context is current. */
tsr_status tsr_cuda_match_run(tsr_cuda_match *loaded, const cu_driver *driver, uint32_t sm, uint32_t step,
                              const tsr_match *match, void *stream, tsr_error *error) TSR_MUST_CHECK;
void tsr_cuda_match_unload(tsr_cuda_match *loaded, const cu_driver *driver);

#endif

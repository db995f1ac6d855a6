/* SPDX-License-Identifier: Apache-2.0
 *
 * Steps that belong to no table, on a GPU: splitting a batch, rows of values, matching. Each names the kernel of a step
 * (../kernels/split.h, wide.h, match.h) and how many threads work on it; tsr_cuda_module_run launches it.
 */
#ifndef TSR_CUDA_STEPS_H
#define TSR_CUDA_STEPS_H

#include "core/cuda/module.h"
#include "core/kernels/match.h"
#include "core/kernels/split.h"
#include "core/kernels/wide.h"

/* What tsr_backend.split, .wide and .match say of this step. The struct is the step's argument. */
tsr_cuda_step tsr_cuda_split_step(uint32_t step, const tsr_split *split);
tsr_cuda_step tsr_cuda_wide_step(uint32_t step, const tsr_wide_run *run);
tsr_cuda_step tsr_cuda_match_step(uint32_t step, const tsr_match *match);

#endif

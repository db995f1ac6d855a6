/* SPDX-License-Identifier: Apache-2.0
 *
 * Steps that belong to no table, on a GPU: splitting a batch, rows of values, matching. Each names the kernel of a step
 * (../batch/split.h, match.h, ../kernels/wide.h) and how many threads work on it; tsr_cuda_module_run launches it.
 */
#ifndef TSR_CUDA_STEPS_H
#define TSR_CUDA_STEPS_H

#include "core/batch/match.h"
#include "core/batch/split.h"
#include "core/cuda/module.h"
#include "core/kernels/wide.h"

/* What tsr_backend.split, .wide and .match say of this step. The struct is the step's argument. */
tsr_cuda_step tsr_cuda_split_step(uint32_t step, const tsr_split *split);
tsr_cuda_step tsr_cuda_wide_step(uint32_t step, const tsr_wide_run *run);
tsr_cuda_step tsr_cuda_match_step(uint32_t step, const tsr_match *match);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps of a split (../kernels/split.h) by the threads of the CPU.
 */
#ifndef TSR_CPU_SPLIT_H
#define TSR_CPU_SPLIT_H

#include "core/kernels/split.h"

void tsr_cpu_split(uint32_t step, const tsr_split *split);

#endif

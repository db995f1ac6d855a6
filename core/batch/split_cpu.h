/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps of a split (split.h) by the threads of the CPU.
 */
#ifndef TSR_BATCH_SPLIT_CPU_H
#define TSR_BATCH_SPLIT_CPU_H

#include "core/batch/split.h"

void tsr_cpu_split(uint32_t step, const tsr_split *split);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps on rows of values (../kernels/wide.h) by the threads of the CPU.
 */
#ifndef TSR_CPU_WIDE_H
#define TSR_CPU_WIDE_H

#include "core/kernels/wide.h"

void tsr_cpu_wide(uint32_t step, const tsr_wide_run *run);

#endif

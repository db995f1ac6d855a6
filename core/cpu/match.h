/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps of a join (../kernels/match.h) by the threads of the CPU.
 */
#ifndef TSR_CPU_MATCH_H
#define TSR_CPU_MATCH_H

#include "core/kernels/match.h"

void tsr_cpu_match(uint32_t step, const tsr_match *match);

#endif

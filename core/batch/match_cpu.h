/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps of a join (match.h) by the threads of the CPU.
 */
#ifndef TSR_BATCH_MATCH_CPU_H
#define TSR_BATCH_MATCH_CPU_H

#include "core/batch/match.h"

void tsr_cpu_match(uint32_t step, const tsr_match *match);

#endif

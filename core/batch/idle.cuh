/* SPDX-License-Identifier: Apache-2.0
 *
 * Steps of a batch that a kernel before them has left to another way (judge.cuh). The host has launched them all the same.
 */
#ifndef TSR_BATCH_IDLE_CUH
#define TSR_BATCH_IDLE_CUH

#include <stdint.h>

/* Whether a step has no items. A block asks first, so that it ends before it reads anything else. After the first block of a
 * multiprocessor the answer is in the L1 cache. */
static __device__ __forceinline__ bool is_idle(const uint32_t *idle) { return idle && __ldg(idle); }

#endif

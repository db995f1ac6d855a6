/* SPDX-License-Identifier: Apache-2.0
 *
 * The operations on a pool on the CPU: function tables of one source (pool.c), over an allocator and over malloc.
 */
#ifndef TSR_CPU_POOL_H
#define TSR_CPU_POOL_H

#include "core/kernels/pool.h"
#include "plugins/device.cuh"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_cpu_pool {
  /* One lane's item, as a kernel's thread does it; adds to *tally, the lane's own. All lanes of a tile call. */
  void (*lane[TSR_POOL_OPERATIONS])(const tsr_ctx *c, const tsr_pool_run *run, uint64_t item, uint32_t mine,
                                    tsr_pool_tally *tally);
} tsr_cpu_pool;

extern const tsr_cpu_pool tsr_cpu_pool_parts, tsr_cpu_pool_system;

#ifdef __cplusplus
}
#endif
#endif

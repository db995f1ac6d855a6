/* SPDX-License-Identifier: Apache-2.0
 *
 * The operations on a pool for the CPU, compiled twice (core/BUILD gives TSR_POOL_SYSTEM). What they do:
 * ../kernels/pool.cuh.
 */
#include "core/cpu/pool.h"

#include "core/kernels/pool.cuh"

#define CPU_LANE(op)                                                                                                   \
  static void lane_##op(const tsr_ctx *c, const tsr_pool_run *run, uint64_t item, uint32_t mine,                       \
                        tsr_pool_tally *tally) {                                                                       \
    pool_counts counts;                                                                                                \
    tsr_counts none = {0, 0, 0, 0, 0};                                                                                 \
    c->scratch->key = none;                                                                                            \
    pool_##op(c, run, item, mine, &counts);                                                                            \
    tally->hits += counts.hits;                                                                                        \
    tally->exhausted += counts.exhausted;                                                                              \
    tally->wrong += counts.wrong;                                                                                      \
    if (c->lane != 0) return;                                                                                          \
    tally->changes += c->scratch->key.changes;                                                                         \
    tally->lost_claims += c->scratch->key.lost_claims;                                                                 \
  }
TSR_POOL_OPS(CPU_LANE)

#define CPU_LANE_ROW(op) lane_##op,
#ifdef TSR_POOL_SYSTEM
const tsr_cpu_pool tsr_cpu_pool_system = {{TSR_POOL_OPS(CPU_LANE_ROW)}};
#else
const tsr_cpu_pool tsr_cpu_pool_parts = {{TSR_POOL_OPS(CPU_LANE_ROW)}};
#endif

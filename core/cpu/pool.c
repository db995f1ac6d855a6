/* SPDX-License-Identifier: Apache-2.0
 *
 * The operations on a pool as steps, compiled twice (core/BUILD gives TSR_POOL_SYSTEM). What they do: ../kernels/pool.cuh.
 */
#include "core/cpu/pool.h"

#include "core/cpu/bulk.h"
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

/* Relaxed, because nothing is read because of these counts before the team has joined, which orders them. */
static void add_up(tsr_pool_tally *all, const tsr_pool_tally *own) {
  __atomic_fetch_add(&all->hits, own->hits, __ATOMIC_RELAXED);
  __atomic_fetch_add(&all->exhausted, own->exhausted, __ATOMIC_RELAXED);
  __atomic_fetch_add(&all->wrong, own->wrong, __ATOMIC_RELAXED);
  __atomic_fetch_add(&all->changes, own->changes, __ATOMIC_RELAXED);
  __atomic_fetch_add(&all->lost_claims, own->lost_claims, __ATOMIC_RELAXED);
}

#define CPU_RANGE(op)                                                                                                  \
  static void range_##op(const tsr_cpu_table *table, const void *argument, uint64_t begin, uint64_t end) {             \
    const tsr_pool_run *run = argument;                                                                                \
    tsr_pool_tally own = {.hits = 0};                                                                                  \
    tsr_scratch scratch = {.histogram = NULL};                                                                         \
    tsr_ctx c = {.t = &run->state, .active = 1, .scratch = &scratch, .cpu = table->cpu};                               \
    for (uint64_t i = begin; i < end; i++) lane_##op(&c, run, i, 1, &own);                                             \
    add_up(run->tally, &own);                                                                                          \
  }
TSR_POOL_OPS(CPU_RANGE)

#ifdef TSR_POOL_SYSTEM
#define SET tsr_pool_system_steps
#define IMAGES tsr_pool_system_images
#define LANES tsr_cpu_pool_system
#else
#define SET tsr_pool_steps
#define IMAGES tsr_pool_images
#define LANES tsr_cpu_pool_parts
#endif

#define LANE_ROW(op) lane_##op,
const tsr_cpu_pool LANES = {{TSR_POOL_OPS(LANE_ROW)}};

#define ROW(op) {.set = &SET, .kernel = "tsr_pool_" #op, .roomier = {"tsr_roomy_pool_" #op}, .range = range_##op},
static const tsr_step steps[] = {TSR_POOL_OPS(ROW)};
extern const tsr_image IMAGES[]; /* built by core/BUILD from ../kernels/pool.cu */
const tsr_steps SET = {.images = IMAGES, .step = steps, .count = TSR_POOL_OPERATIONS};

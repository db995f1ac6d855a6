/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps of a cache (../kernels/cache.h) for the host. What they do on the CPU is compiled for each pair of widths
 * (bulk.c).
 */
#include "core/kernels/cache.h"

#include "core/cpu/bulk.h"

#define CPU_RANGE(step)                                                                                                \
  static void range_##step(const tsr_cpu_table *table, const void *argument, uint64_t begin, uint64_t end) {           \
    table->bulk->cache[TSR_CACHE_##step](table->cpu, argument, begin, end);                                            \
  }
TSR_CACHE_STEPS(CPU_RANGE)

#define ROW(step)                                                                                                      \
  {.set = &tsr_cache_steps,                                                                                            \
   .kernel = "tsr_cache_" #step "_kernel",                                                                             \
   .roomier = {"tsr_medium_cache_" #step "_kernel", "tsr_roomy_cache_" #step "_kernel"},                               \
   .range = range_##step},
static const tsr_step steps[] = {TSR_CACHE_STEPS(ROW)};
extern const tsr_image tsr_cache_images[]; /* built by core/BUILD from cache.cu */
const tsr_steps tsr_cache_steps = {.images = tsr_cache_images, .step = steps, .count = TSR_CACHE_STEP_COUNT};

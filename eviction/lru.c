/* SPDX-License-Identifier: Apache-2.0
 *
 * eviction lru: descriptor and plan. What it does: lru.cuh.
 */
#include "lru.cuh"

static tsr_status lru_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  const tsr_config *own = config;
  (void)shape;
  plan->eviction.index_scores = TSR_SCORES_CLOCK;
  return tsr_plan_scores(plan, own->score_bits, error);
}

TSR_PLUGIN(lru_plan, "Gives up the pair that was used longest ago. The usual choice.",
           "HierarchicalKV, kLru and kEpochLru");

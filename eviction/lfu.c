/* SPDX-License-Identifier: Apache-2.0
 *
 * eviction lfu: descriptor and plan. What it does: lfu.cuh.
 */
#include "lfu.cuh"

static tsr_status lfu_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  const tsr_config *own = config;
  (void)shape;
  plan->eviction.index_scores = TSR_SCORES_USES;
  return tsr_plan_scores(plan, own->score_bits, error);
}

TSR_PLUGIN(lfu_plan,
           "Gives up the pair that was used least often since it was inserted, and of equal ones the one used longest "
           "ago. For keys "
           "whose popularity lasts.",
           "HierarchicalKV, kLfu");

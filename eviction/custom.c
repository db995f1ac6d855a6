/* SPDX-License-Identifier: Apache-2.0
 *
 * eviction custom: descriptor and plan. What it does: custom.cuh.
 */
#include "custom.cuh"

static tsr_status custom_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  const tsr_config *own = config;
  (void)shape;
  plan->eviction.weighs_new = 1;
  return tsr_plan_scores(plan, own->score_bits, error);
}

TSR_PLUGIN(custom_plan,
           "Gives up the pair with the lowest score, which the caller gives. A new pair with a lower score than all "
           "candidates "
           "is handed back itself.",
           "HierarchicalKV, kCustomized");

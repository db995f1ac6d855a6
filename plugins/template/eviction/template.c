/* SPDX-License-Identifier: Apache-2.0
 *
 * eviction template: descriptor and plan. What it does: template.cuh.
 */
#include "template.cuh"

static tsr_status template_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  const tsr_config *own = config;
  (void)shape;
  plan->eviction.index_scores = TSR_SCORES_CLOCK;
  return tsr_plan_scores(plan, own->score_bits, error);
}

TSR_PLUGIN(template_plan, "Gives up the pair that was used longest ago.", "own");

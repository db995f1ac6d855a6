/* SPDX-License-Identifier: Apache-2.0
 *
 * probing template: descriptor and plan. What it does: template.cuh.
 */
#include "template.cuh"

static tsr_status template_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  const tsr_config *own = config;
  (void)shape; /* works with every layout */
  plan->probing.ends_at_empty = 1;
  plan->probing.holds_many = 1;
  return tsr_plan_walk(plan, "template", own->max_probes, &plan->state[TEMPLATE_LIMIT], error);
}

TSR_PLUGIN(template_plan, "Linear probing over buckets.", "own");

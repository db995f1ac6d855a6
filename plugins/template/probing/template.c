/* SPDX-License-Identifier: Apache-2.0
 *
 * probing template: descriptor and plan. What it does: template.cuh.
 */
#include "template.cuh"

static tsr_status template_plan(const void *config, tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  const tsr_config *own = config;
  shape->ends_at_empty = 1;
  shape->holds_many = 1;
  return tsr_plan_walk(shape, "template", own->max_probes, &plan->state[TEMPLATE_LIMIT], error);
}

TSR_PLUGIN(template_plan, "Linear probing over buckets.", "own");

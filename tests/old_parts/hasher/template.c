/* SPDX-License-Identifier: Apache-2.0
 *
 * hasher template: descriptor and plan. What it does: template.cuh.
 */
#include "template.cuh"

static tsr_status template_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  (void)config;
  (void)error;
  plan->state[TEMPLATE_SEED] = shape->seed * 0x9E3779B97F4A7C15u; /* small seeds set all bits as well */
  return TSR_OK;
}

TSR_PLUGIN(template_plan, "Two rounds of xor-shift and multiply.", "own");

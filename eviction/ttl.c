/* SPDX-License-Identifier: Apache-2.0
 *
 * eviction ttl: descriptor and plan. What it does: ttl.cuh.
 */
#include "ttl.cuh"

static tsr_status ttl_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  const tsr_config *own = config;
  (void)shape;
  (void)own;
  plan->eviction.expires = 1;
  return tsr_plan_scores(plan, 32, error);
}

TSR_PLUGIN(ttl_plan,
           "Gives up the pair that expires first; expired pairs are absent. For sessions and leases: pass a clock.",
           "own");

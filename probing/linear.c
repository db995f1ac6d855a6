/* SPDX-License-Identifier: Apache-2.0
 *
 * probing linear: descriptor and plan. What it does: linear.cuh.
 */
#include "linear.cuh"

static tsr_status linear_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  const tsr_config *own = config;
  (void)shape; /* works with every layout */
  plan->probing.ends_at_empty = 1;
  plan->probing.holds_many = 1;
  plan->probing.clusters = 1;
  return tsr_plan_walk(plan, "linear", own->max_probes, &plan->state[LINEAR_LIMIT], error);
}

TSR_PLUGIN(linear_plan,
           "Linear probing: one bucket after another, in the order of memory. Full buckets cluster, so walks get long "
           "at high loads; choose it for low loads. Pairs never move.",
           "WarpCore II; Knuth 6.4, algorithm L");

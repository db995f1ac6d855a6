/* SPDX-License-Identifier: Apache-2.0
 *
 * probing double_hashing: descriptor and plan. What it does: double_hashing.cuh.
 */
#include "double_hashing.cuh"

static tsr_status double_hashing_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  const tsr_config *own = config;
  uint64_t windows = tsr_next_prime((shape->buckets_min + own->window_buckets - 1) / own->window_buckets);
  plan->probing.buckets = windows * own->window_buckets;
  plan->probing.ends_at_empty = 1;
  plan->probing.holds_many = 1;
  plan->state[DOUBLE_HASHING_WINDOWS] = windows;
  return tsr_plan_walk(plan, "double_hashing", own->max_probes, &plan->state[DOUBLE_HASHING_LIMIT], error);
}

TSR_PLUGIN(double_hashing_plan, "Double hashing over windows of consecutive buckets, linear inside.", "WarpCore IV-B2");

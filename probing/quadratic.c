/* SPDX-License-Identifier: Apache-2.0
 *
 * probing quadratic: descriptor and plan. What it does: quadratic.cuh.
 */
#include "quadratic.cuh"

static tsr_status quadratic_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  const tsr_config *own = config;
  uint64_t buckets = tsr_next_prime(shape->buckets_min);
  while (buckets % 4 != 3) buckets = tsr_next_prime(buckets + 1);
  plan->probing.buckets = buckets;
  plan->probing.ends_at_empty = 1;
  plan->probing.holds_many = 1;
  return tsr_plan_walk(plan, "quadratic", own->max_probes, &plan->state[QUADRATIC_LIMIT], error);
}

TSR_PLUGIN(quadratic_plan,
           "Quadratic probing: buckets at square distances on both sides of the first one. It needs one hash function "
           "and about as many probes as double hashing. Pairs never move.",
           "WarpCore II; Radke 1970");

/* SPDX-License-Identifier: Apache-2.0
 *
 * probing triangular: descriptor and plan. What it does: triangular.cuh.
 */
#include "triangular.cuh"

static tsr_status triangular_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  const tsr_config *own = config;
  uint64_t buckets = 1;
  while (buckets < shape->buckets_min) buckets *= 2; /* its mask is the modulus */
  plan->probing.buckets = buckets;
  plan->probing.ends_at_empty = 1;
  plan->probing.holds_many = 1;
  return tsr_plan_walk(plan, "triangular", own->max_probes, &plan->state[TRIANGULAR_LIMIT], error);
}

TSR_PLUGIN(triangular_plan, "Quadratic probing by triangular steps over a power of two of buckets.",
           "Knuth 6.4, exercise 20");

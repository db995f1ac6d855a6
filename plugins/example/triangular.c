/* SPDX-License-Identifier: Apache-2.0
 *
 * probing triangular: descriptor and plan. What it does: triangular.cuh.
 */
#include "triangular.cuh"

static tsr_status triangular_plan(const void *config, tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  const tsr_config *own = config;
  uint64_t buckets = 1;
  while (buckets < shape->buckets_min) buckets *= 2; /* its mask is the modulus */
  if (buckets > 1u << 31)
    return tsr_fail(error, TSR_INCOMPATIBLE,
                    "probing = triangular counts at most 2^31 buckets, and this capacity needs %llu: raise [layout] "
                    "bucket_slots",
                    (unsigned long long)buckets);
  shape->buckets = buckets;
  shape->ends_at_empty = 1;
  shape->holds_many = 1;
  plan->state[TRIANGULAR_LIMIT] = own->max_probes && own->max_probes < buckets ? own->max_probes : buckets;
  return TSR_OK;
}

TSR_PLUGIN(triangular_plan, "Quadratic probing by triangular steps over a power of two of buckets.",
           "Knuth 6.4, exercise 20");

/* SPDX-License-Identifier: Apache-2.0
 *
 * probing quadratic: descriptor and plan. What it does: quadratic.cuh.
 */
#include "quadratic.cuh"

static tsr_status quadratic_plan(const void *config, tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  const tsr_config *own = config;
  uint64_t buckets = tsr_next_prime(shape->buckets_min);
  while (buckets % 4 != 3) buckets = tsr_next_prime(buckets + 1);
  if (buckets > 0xFFFFFFFFu)
    return tsr_fail(error, TSR_INCOMPATIBLE,
                    "probing = quadratic counts at most 2^32 - 1 buckets, and this capacity needs %llu: raise "
                    "[layout] bucket_slots",
                    (unsigned long long)buckets);
  shape->buckets = buckets;
  shape->ends_at_empty = 1;
  shape->holds_many = 1;
  plan->state[QUADRATIC_LIMIT] = own->max_probes && own->max_probes < buckets ? own->max_probes : buckets;
  return TSR_OK;
}

TSR_PLUGIN(quadratic_plan, "Quadratic probing: squares to both sides, over a prime number of buckets.",
           "WarpCore II; Radke 1970");

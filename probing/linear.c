/* SPDX-License-Identifier: Apache-2.0
 *
 * probing linear: descriptor and plan. What it does: linear.cuh.
 */
#include "linear.cuh"

static tsr_status linear_plan(const void *config, tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  const tsr_config *own = config;
  if (shape->buckets > 0xFFFFFFFFu)
    return tsr_fail(error, TSR_INCOMPATIBLE,
                    "probing = linear counts at most 2^32 - 1 buckets, and this capacity needs %llu: raise "
                    "[layout] bucket_slots",
                    (unsigned long long)shape->buckets);
  shape->ends_at_empty = 1;
  shape->holds_many = 1;
  plan->state[LINEAR_LIMIT] = own->max_probes && own->max_probes < shape->buckets ? own->max_probes : shape->buckets;
  return TSR_OK;
}

TSR_PLUGIN(linear_plan, "Linear probing: one bucket after the other.", "WarpCore II; Knuth 6.4, algorithm L");

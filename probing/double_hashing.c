/* SPDX-License-Identifier: Apache-2.0
 *
 * probing double_hashing: descriptor and plan. What it does: double_hashing.cuh.
 */
#include "double_hashing.cuh"

static tsr_status double_hashing_plan(const void *config, tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  const tsr_config *own = config;
  uint64_t windows = tsr_next_prime((shape->buckets_min + own->window_buckets - 1) / own->window_buckets);
  shape->buckets = windows * own->window_buckets;
  if (shape->buckets > 0xFFFFFFFFu)
    return tsr_fail(error, TSR_INCOMPATIBLE,
                    "probing = double_hashing counts at most 2^32 - 1 buckets, and this capacity needs %llu: raise "
                    "[layout] bucket_slots",
                    (unsigned long long)shape->buckets);
  shape->ends_at_empty = 1;
  shape->holds_many = 1;
  plan->state[DOUBLE_HASHING_WINDOWS] = windows;
  plan->state[DOUBLE_HASHING_LIMIT] =
      own->max_probes && own->max_probes < shape->buckets ? own->max_probes : shape->buckets;
  return TSR_OK;
}

TSR_PLUGIN(double_hashing_plan, "Double hashing over windows of consecutive buckets, linear inside.", "WarpCore IV-B2");

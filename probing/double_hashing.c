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

TSR_PLUGIN(double_hashing_plan,
           "Double hashing by windows: linear probing through a window of consecutive buckets, then a jump by a second "
           "hash. A walk can visit every bucket, so one key may have many pairs. Pairs never move.",
           "WarpCore IV-B2");

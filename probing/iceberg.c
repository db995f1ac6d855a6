/* SPDX-License-Identifier: Apache-2.0
 *
 * probing iceberg: descriptor and plan. What it does: iceberg.cuh.
 */
#include "iceberg.cuh"

static tsr_status iceberg_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  const tsr_config *own = config;
  uint32_t first = shape->bucket_slots * own->threshold / 100;
  plan->probing.first_slots = first ? first : 1;
  plan->probing.walk_max = 3;
  plan->probing.choices = 2;
  return tsr_plan_two_buckets(shape, "iceberg", error);
}

TSR_PLUGIN(iceberg_plan,
           "Iceberg hashing: a pair goes to its first bucket up to a threshold, then to the less loaded of two others. "
           "Pairs never move. Most finds read one bucket.",
           "BGHT 3.2, 5.3");

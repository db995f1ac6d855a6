/* SPDX-License-Identifier: Apache-2.0
 *
 * hasher universal: descriptor and plan. What it does: universal.cuh.
 */
#include "universal.cuh"

static tsr_status universal_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  (void)config;
  (void)error;
  uint64_t seed = shape->seed;
  plan->state[UNIVERSAL_A] = tsr_draw(&seed);
  plan->state[UNIVERSAL_A_HIGH] = tsr_draw(&seed);
  plan->state[UNIVERSAL_B] = tsr_draw(&seed);
  return TSR_OK;
}

TSR_PLUGIN(universal_plan,
           "The line (a k + b) mod p; it does not mix. Two-universal: any two keys share one of m buckets with "
           "probability near 1 / m. The most expensive hasher.",
           "Carter and Wegman; BGHT 7; SlabHash III-C");

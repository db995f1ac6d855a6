/* SPDX-License-Identifier: Apache-2.0
 *
 * hasher multiply_shift: descriptor and plan. What it does: multiply_shift.cuh.
 */
#include "multiply_shift.cuh"

static tsr_status multiply_shift_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  (void)config;
  (void)error;
  uint64_t seed = shape->seed;
  plan->state[MULTIPLY_SHIFT_A] = tsr_draw(&seed);
  plan->state[MULTIPLY_SHIFT_B] = tsr_draw(&seed);
  return TSR_OK;
}

TSR_PLUGIN(multiply_shift_plan,
           "The product a k + b modulo 2^32 or 2^64, a odd; it does not mix. The cheapest function with a bound on "
           "collisions (universal), for keys without a pattern.",
           "Dietzfelbinger, Hagerup, Katajainen and Penttonen 1997");

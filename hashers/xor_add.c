/* SPDX-License-Identifier: Apache-2.0
 *
 * hasher xor_add: descriptor and plan. What it does: xor_add.cuh.
 */
#include "xor_add.cuh"

static tsr_status xor_add_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  (void)config;
  (void)error;
  uint64_t seed = shape->seed;
  plan->state[XOR_ADD_A] = tsr_draw(&seed);
  plan->state[XOR_ADD_B] = tsr_draw(&seed);
  return TSR_OK;
}

TSR_PLUGIN(xor_add_plan, "The line ((k xor a) + b) mod p; it does not mix. For keys that are random already.",
           "the code of BGHT and SlabHash, where it is called universal");

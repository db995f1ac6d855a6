/* SPDX-License-Identifier: Apache-2.0
 *
 * hasher xxhash: descriptor and plan. What it does: xxhash.cuh.
 */
#include "xxhash.cuh"

static tsr_status xxhash_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  (void)config;
  (void)error;
  uint64_t seed = shape->seed;
  plan->state[0] = tsr_draw(&seed); /* 32-bit keys use half of it: a plain seed's upper half would be lost */
  return TSR_OK;
}

TSR_PLUGIN(
    xxhash_plan,
    "XXH32 of a 32-bit key's bytes, XXH64 of a 64- or 128-bit key's. For hashes that other programs compute too.",
    "Y. Collet, xxHash; the default of cuCollections");

/* SPDX-License-Identifier: Apache-2.0
 *
 * hasher murmur3_full: descriptor and plan. What it does: murmur3_full.cuh.
 */
#include "murmur3_full.cuh"

static tsr_status murmur3_full_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  (void)config;
  (void)error;
  uint64_t seed = shape->seed;
  plan->state[0] = tsr_draw(&seed); /* 32-bit keys use half of it: a plain seed's upper half would be lost */
  return TSR_OK;
}

TSR_PLUGIN(
    murmur3_full_plan,
    "MurmurHash3 of the key's bytes: x86_32, for keys of 64 and 128 bits the first half of x64_128. For hashes that "
    "other programs compute too.",
    "A. Appleby, MurmurHash3; HashGraph 5; multi-GPU HashGraph 4.2");

/* SPDX-License-Identifier: Apache-2.0
 *
 * hasher murmur3: descriptor and plan. What it does: murmur3.cuh.
 */
#include "murmur3.cuh"

static tsr_status murmur3_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  (void)config;
  (void)error;
  uint64_t seed = shape->seed;
  plan->state[0] = tsr_draw(&seed); /* 32-bit keys use half of it: a plain seed's upper half would be lost */
  return TSR_OK;
}

TSR_PLUGIN(
    murmur3_plan,
    "MurmurHash3's finalizer, of keys of 32, 64 or 128 bits. The usual choice: it mixes, so keys of any pattern fill "
    "buckets evenly, and no other one that mixes is cheaper on a GPU. Invertible up to 64 bits.",
    "A. Appleby, MurmurHash3; the default of WarpCore's and BGHT's code");

/* SPDX-License-Identifier: Apache-2.0
 *
 * hasher mueller: descriptor and plan. What it does: mueller.cuh.
 */
#include "mueller.cuh"

static tsr_status mueller_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  (void)config;
  (void)error;
  uint64_t seed = shape->seed;
  plan->state[0] = tsr_draw(&seed); /* 32-bit keys use half of it: a plain seed's upper half would be lost */
  return TSR_OK;
}

TSR_PLUGIN(mueller_plan, "Mueller's integer mix, and for 64-bit keys the finalizer of SplitMix64. Invertible.",
           "T. Mueller; Steele, Lea and Flood; an option of WarpCore");

/* SPDX-License-Identifier: Apache-2.0
 *
 * hasher wang: descriptor and plan. What it does: wang.cuh.
 */
#include "wang.cuh"

static tsr_status wang_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  (void)config;
  (void)error;
  uint64_t seed = shape->seed;
  plan->state[0] = tsr_draw(&seed); /* 32-bit keys use half of it: a plain seed's upper half would be lost */
  return TSR_OK;
}

TSR_PLUGIN(wang_plan,
           "Shifts and sums, without a product; it does not mix the top bits of a key well. For GPUs with slow "
           "multiplication.",
           "T. Wang, Integer Hash Function, with R. Jenkins's 32-bit mix; an option of WarpCore");

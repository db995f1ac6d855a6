/* SPDX-License-Identifier: Apache-2.0
 *
 * hasher identity: descriptor and plan. What it does: identity.cuh.
 */
#include "identity.cuh"

static tsr_status identity_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  (void)config;
  (void)error;
  uint64_t seed = shape->seed;
  plan->state[0] = seed == 1 ? 0 : tsr_draw(&seed); /* the default leaves keys as they are */
  return TSR_OK;
}

TSR_PLUGIN(identity_plan, "The key itself: it costs nothing and does not mix. For keys that are random already.",
           "an option of WarpCore, SlabHash and cuCollections");

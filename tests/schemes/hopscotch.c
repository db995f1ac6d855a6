/* SPDX-License-Identifier: Apache-2.0
 *
 * probing hopscotch: descriptor and plan. What it does: hopscotch.cuh.
 */
#include "hopscotch.cuh"

static tsr_status hopscotch_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  const tsr_config *own = config;
  if (!shape->can_exchange)
    return tsr_fail(error, TSR_INCOMPATIBLE,
                    "probing = hopscotch moves pairs, and this layout cannot swap a key together with its value: use "
                    "layout = packed, or a scheme that moves nothing");
  plan->probing.moves_pairs = 1;
  plan->probing.ends_at_empty = 1;
  plan->probing.first_slots = shape->bucket_slots;
  plan->state[HOPSCOTCH_REACH] = own->neighbours < plan->probing.buckets ? own->neighbours : plan->probing.buckets;
  return TSR_OK;
}

TSR_PLUGIN(hopscotch_plan, "A key lives near its home bucket; pairs move on to make room there.",
           "Herlihy et al. 2008");

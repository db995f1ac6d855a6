/* SPDX-License-Identifier: Apache-2.0
 *
 * probing robin_hood: descriptor and plan. What it does: robin_hood.cuh.
 */
#include "robin_hood.cuh"

static tsr_status robin_hood_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  const tsr_config *own = config;
  if (!shape->can_exchange)
    return tsr_fail(error, TSR_INCOMPATIBLE,
                    "probing = robin_hood moves pairs, and this layout cannot swap a key together with its value: use "
                    "layout = packed, or a scheme that moves nothing");
  plan->probing.ends_at_empty = 1;
  plan->probing.moves_pairs = 1;
  plan->probing.first_slots = shape->bucket_slots;
  plan->probing.has_notes = 1;
  plan->regions[ROBIN_HOOD_NOTES] = (tsr_region){.name = "ages", .bytes = 4, .bytes_per_bucket = 1};
  plan->state[ROBIN_HOOD_REACH] = own->max_age < plan->probing.buckets ? own->max_age + 1 : plan->probing.buckets;
  return TSR_OK;
}

TSR_PLUGIN(robin_hood_plan,
           "Linear probing in which a pair that is far from its first bucket takes the slot of a pair that is nearer "
           "to its own. Finds of absent keys stay short at high loads. Needs a layout that can exchange pairs.",
           "Celis 1986; Garcia et al. 2011");

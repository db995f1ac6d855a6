/* SPDX-License-Identifier: Apache-2.0
 *
 * probing flagged_cuckoo: descriptor and plan. What it does: flagged_cuckoo.cuh.
 */
#include "flagged_cuckoo.cuh"

static tsr_status flagged_cuckoo_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  (void)config;
  if (!shape->can_exchange)
    return tsr_fail(error, TSR_INCOMPATIBLE,
                    "probing = flagged_cuckoo moves pairs, and this layout cannot swap a key together with its value: "
                    "use layout = packed, or a scheme that moves nothing");
  plan->probing.moves_pairs = 1;
  /* not ends_at_empty: a flag that is raised later lets walks pass buckets with room, and a pair may be in the stash, behind
   * them, from a time when its walk ended before they came */
  plan->probing.first_slots = shape->bucket_slots;
  plan->probing.has_notes = 1;
  plan->regions[FLAGGED_CUCKOO_FLAGS] = (tsr_region){.name = "flags", .bytes = 4, .bytes_per_bucket = 1};
  return TSR_OK;
}

TSR_PLUGIN(flagged_cuckoo_plan, "Cuckoo hashing in which a full bucket tells whether a key of it is elsewhere.", "own");

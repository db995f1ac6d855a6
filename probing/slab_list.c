/* SPDX-License-Identifier: Apache-2.0
 *
 * probing slab_list: descriptor and plan. What it does: slab_list.cuh.
 */
#include "slab_list.cuh"

static tsr_status slab_list_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  (void)config;
  if (!shape->has_link)
    return tsr_fail(error, TSR_INCOMPATIBLE,
                    "probing = slab_list needs a layout whose buckets link, and this one's do not: use layout = slab, "
                    "or another probing scheme");
  plan->probing.ends_at_empty = 1;
  plan->probing.holds_many = 1;
  plan->probing.one_bucket = 1;
  return TSR_OK;
}

TSR_PLUGIN(slab_list_plan,
           "One bucket per key, which continues as a linked list when it is full (chaining). It takes load factors "
           "above 1 and any number of pairs per key. Needs a layout whose buckets link, and an allocator.",
           "SlabHash III");

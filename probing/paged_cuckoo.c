/* SPDX-License-Identifier: Apache-2.0
 *
 * probing paged_cuckoo: descriptor and plan. What it does: paged_cuckoo.cuh.
 */
#include "paged_cuckoo.cuh"

static tsr_status paged_cuckoo_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  const tsr_config *own = config;
  if (!shape->can_exchange)
    return tsr_fail(error, TSR_INCOMPATIBLE,
                    "probing = paged_cuckoo moves pairs, and this layout cannot swap a key together with its value: "
                    "use layout = packed, or a scheme that moves nothing");
  /* pages of one size: so many that none has more than page_buckets, and then as small as that allows */
  const uint64_t pages = (shape->buckets_min + own->page_buckets - 1) / own->page_buckets;
  const uint64_t page = (shape->buckets_min + pages - 1) / pages;
  plan->probing.buckets = pages * page;
  plan->probing.moves_pairs = 1;
  plan->probing.asks_for_room = 1;
  plan->probing.ends_at_empty = 1;
  plan->probing.first_slots = shape->bucket_slots;
  plan->state[PAGED_CUCKOO_PAGES] = pages;
  plan->state[PAGED_CUCKOO_PAGE] = page;
  return TSR_OK;
}

TSR_PLUGIN(paged_cuckoo_plan, "Cuckoo hashing whose buckets of a key lie in one page of neighbours.",
           "Dietzfelbinger et al. 2011; BGHT 3.1");

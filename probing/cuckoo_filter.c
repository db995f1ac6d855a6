/* SPDX-License-Identifier: Apache-2.0
 *
 * probing cuckoo_filter: descriptor and plan. What it does: cuckoo_filter.cuh.
 */
#include "cuckoo_filter.cuh"

static tsr_status cuckoo_filter_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  (void)config;
  if (!shape->fingerprint_bits)
    return tsr_fail(
        error, TSR_INCOMPATIBLE,
        "probing = cuckoo_filter moves fingerprints, and this layout stores keys: use layout = fingerprint, "
        "or probing = cuckoo");
  plan->probing.by_fingerprint = 1;
  plan->probing.moves_pairs = 1;
  plan->probing.asks_for_room = 1;
  plan->probing.ends_at_empty = 1;
  plan->probing.walk_max = 2;
  plan->probing.first_slots = shape->bucket_slots;
  return TSR_OK;
}

TSR_PLUGIN(cuckoo_filter_plan,
           "Cuckoo hashing of fingerprints: a key has two buckets, and either one and the fingerprint give the other. "
           "For filters from which keys can be erased. Needs layout = fingerprint.",
           "Fan et al. 2014, section 3");

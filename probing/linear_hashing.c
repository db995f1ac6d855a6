/* SPDX-License-Identifier: Apache-2.0
 *
 * probing linear_hashing: descriptor and plan. What it does: linear_hashing.cuh.
 */
#include "linear_hashing.cuh"

static tsr_status linear_hashing_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  const tsr_config *own = config;
  if (!shape->can_exchange)
    return tsr_fail(
        error, TSR_INCOMPATIBLE,
        "probing = linear_hashing moves pairs, and this layout cannot swap a key together with its value: use "
        "layout = packed, or growth = double with a scheme that moves nothing");
  plan->probing.moves_pairs = 1;
  plan->probing.asks_for_room = 1;
  plan->probing.choices = own->hash_functions;
  plan->probing.walk_max = own->hash_functions;
  plan->probing.splits = 1;
  uint64_t chain = 0; /* 7 log2(slots) */
  for (uint64_t slots = plan->probing.buckets * shape->bucket_slots; slots > 1; slots >>= 1) chain += 7;
  plan->state[LINEAR_HASHING_MAX_CHAIN] = own->max_chain ? own->max_chain : chain < 64 ? 64 : chain;
  plan->state[LINEAR_HASHING_MASK] = 2 * tsr_highest_bit(plan->probing.buckets) - 1;
  return tsr_plan_two_buckets(shape, "linear_hashing", error);
}

TSR_PLUGIN(
    linear_hashing_plan,
    "Linear hashing with 2 to 4 buckets per key, and evictions as in cuckoo hashing. Buckets split one by one, so "
    "a table with growth = split grows in place, without a rebuild. A find reads all buckets of its key. Needs a "
    "layout that can exchange pairs.",
    "Litwin 1980; Polak et al. 2025 (Hive); BGHT 4.3, 5.2");

/* SPDX-License-Identifier: Apache-2.0
 *
 * probing hashgraph: descriptor and plan. What it does: hashgraph.cuh.
 */
#include "hashgraph.cuh"

static tsr_status hashgraph_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  const tsr_config *own = config;
  const uint64_t slots = plan->probing.buckets * shape->bucket_slots;
  if (slots > 1ull << 31)
    return tsr_fail(error, TSR_INCOMPATIBLE,
                    "probing = hashgraph makes lists in at most 2^31 slots, and this table has %llu: lower capacity",
                    (unsigned long long)slots);
  plan->probing.lists = shape->capacity / 100 * own->lists_percent + shape->capacity % 100 * own->lists_percent / 100;
  if (plan->probing.lists == 0) plan->probing.lists = 1;
  plan->probing.sorts_lists = own->version == 2;
  plan->probing.holds_many = 1;
  plan->regions[HASHGRAPH_OFFSETS] = (tsr_region){
      .name = "offsets", .bytes = (plan->probing.lists + 1 + TSR_TAIL_RESERVED) * sizeof(uint32_t), .fill = 0};
  return TSR_OK;
}

TSR_PLUGIN(hashgraph_plan,
           "No probing: the pairs of one hash are stored next to each other, as a list between two offsets. Lists are "
           "made of whole batches, so it suits multisets, multimaps and distinct keys that are inserted at once.",
           "HashGraph 3.1 to 3.3");

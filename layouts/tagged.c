/* SPDX-License-Identifier: Apache-2.0
 *
 * layout tagged: descriptor and plan. What it does: tagged.cuh.
 */
#include "tagged.cuh"

static tsr_status tagged_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  const tsr_config *own = config;
  const uint32_t slot_bytes = tsr_pair_bytes(shape->key_bits, shape->payload_bits);
  const uint32_t places = own->bucket_bytes / slot_bytes;
  uint32_t slots = places;
  while (slots > (places - slots) * slot_bytes) slots--; /* a byte in the other places for each slot */
  if (own->bucket_bytes & (own->bucket_bytes - 1))
    return tsr_fail(error, TSR_INCOMPATIBLE, "[layout] bucket_bytes = %u: must be 64 or 128", own->bucket_bytes);
  tsr_status status = tsr_plan_pairs(shape, slot_bytes, "tagged", error);
  if (status == TSR_OK) status = tsr_plan_buckets(shape, places, 1, slot_bytes, plan, error);
  if (status) return status;
  plan->layout.bucket_slots = slots;
  plan->layout.whole_pairs = 1;
  plan->layout.has_flag = 1;
  plan->regions[0] = (tsr_region){.name = "flagged buckets", .bytes_per_bucket = own->bucket_bytes, .fill = 0xFF};
  return TSR_OK;
}

TSR_PLUGIN(
    tagged_plan,
    "Packed pairs with a one-byte tag per slot, 8 bits of the key. A find reads the tags and then only pairs whose tag "
    "matches, so an absent key costs one 32-byte read per bucket. Inserts and erases are slower. Pairs cannot move.",
    "own");

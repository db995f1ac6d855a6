/* SPDX-License-Identifier: Apache-2.0
 *
 * layout quotient: descriptor and plan. What it does: quotient.cuh.
 */
#include "quotient.cuh"

static tsr_status quotient_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  const tsr_config *own = config;
  uint32_t slot_bytes = tsr_pair_bytes(shape->key_bits, shape->payload_bits);
  tsr_status status = tsr_plan_pairs(shape, slot_bytes, "quotient", error);
  if (status == TSR_OK) status = tsr_plan_buckets(shape, own->bucket_slots, own->tile_lanes, slot_bytes, plan, error);
  if (status) return status;
  plan->layout.can_exchange = 1;
  plan->layout.whole_pairs = 1;
  plan->layout.has_flag = 1;
  plan->layout.short_keys = 1;
  plan->regions[0] =
      (tsr_region){.name = "flagged slots", .bytes_per_bucket = (uint64_t)own->bucket_slots * slot_bytes, .fill = 0xFF};
  return TSR_OK;
}

TSR_PLUGIN(quotient_plan,
           "Packed pairs that store a shorter key: the part of its hash that the number of its page does not imply. "
           "The bit that this saves marks buckets that have overflowed, so finds of absent keys end early. Needs an "
           "invertible hasher.",
           "Cleary 1984; own");

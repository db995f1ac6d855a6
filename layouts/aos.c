/* SPDX-License-Identifier: Apache-2.0
 *
 * layout aos: descriptor and plan. What it does: aos.cuh.
 */
#include "aos.cuh"

static tsr_status aos_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  const tsr_config *own = config;
  uint32_t pair_bytes = (shape->key_bits + shape->payload_bits) / 8;
  uint32_t slot_bytes = shape->payload_bits && pair_bytes > 8 ? 16 : pair_bytes;
  tsr_status status = tsr_plan_buckets(shape, own->bucket_slots, own->tile_lanes, slot_bytes, plan, error);
  if (status) return status;
  plan->layout.can_exchange = shape->payload_bits == 0;
  plan->layout.whole_pairs = shape->payload_bits == 0;
  plan->regions[0] =
      (tsr_region){.name = "slots", .bytes_per_bucket = (uint64_t)own->bucket_slots * slot_bytes, .fill = 0xFF};
  plan->keys = (tsr_slot_column){.stride_bytes = slot_bytes};
  if (!aos_turns(shape->duplicates))
    plan->payloads = (tsr_slot_column){.offset_bytes = slot_bytes / 2, .stride_bytes = slot_bytes};
  return TSR_OK;
}

TSR_PLUGIN(aos_plan,
           "Key and value next to each other (array of structs), read by one load. For any widths, 128-bit keys in "
           "sets only. An insert writes "
           "the value after the key, so finds must not overlap inserts, and schemes that move pairs take sets only.",
           "WarpCore IV-B1");

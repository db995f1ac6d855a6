/* SPDX-License-Identifier: Apache-2.0
 *
 * layout packed: descriptor and plan. What it does: packed.cuh.
 */
#include "packed.cuh"

static tsr_status packed_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  const tsr_config *own = config;
  uint32_t slot_bytes = tsr_pair_bytes(shape->key_bits, shape->payload_bits);
  tsr_status status = tsr_plan_pairs(shape, slot_bytes, "packed", error);
  if (status == TSR_OK) status = tsr_plan_buckets(shape, own->bucket_slots, own->tile_lanes, slot_bytes, plan, error);
  if (status) return status;
  plan->layout.can_exchange = 1;
  plan->layout.whole_pairs = 1;
  plan->regions[0] =
      (tsr_region){.name = "slots", .bytes_per_bucket = (uint64_t)own->bucket_slots * slot_bytes, .fill = 0xFF};
  plan->keys = (tsr_slot_column){.stride_bytes = slot_bytes};
  plan->payloads = (tsr_slot_column){.offset_bytes = slot_bytes / 2, .stride_bytes = slot_bytes};
  return TSR_OK;
}

TSR_PLUGIN(
    packed_plan,
    "Key and value in one word of 32, 64 or 128 bits, written by one atomic operation. Works with every probing "
    "scheme but slab_list, and finds may overlap inserts. Pairs over 64 bits need compute capability 9.0. Keys of "
    "128 bits fill the word: sets only.",
    "WarpCore IV-B1");

/* SPDX-License-Identifier: Apache-2.0
 *
 * layout packed: descriptor and plan. What it does: packed.cuh.
 */
#include "packed.cuh"

static tsr_status packed_plan(const void *config, tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  const tsr_config *own = config;
  uint32_t pair_bits = shape->key_bits + shape->cell_bits;
  uint32_t slot_bytes = pair_bits <= 32 ? 4 : pair_bits <= 64 ? 8 : 16;
  if (slot_bytes == 16 && shape->sm && shape->sm < 90)
    return tsr_fail(
        error, TSR_INCOMPATIBLE,
        "layout = packed: key_bits = %u and value_bits = %u need atomic words of 128 bits, which compute "
        "capability 9.0 brought and this device (%u.%u) lacks: use layout = soa, or narrower keys or values",
        shape->key_bits, shape->value_bits, shape->sm / 10, shape->sm % 10);
  tsr_status status = tsr_plan_buckets(shape, own->bucket_slots, own->tile_lanes, slot_bytes, error);
  if (status) return status;
  shape->can_exchange = 1;
  shape->whole_pairs = 1;
  plan->regions[0] =
      (tsr_region){.name = "slots", .bytes_per_bucket = (uint64_t)own->bucket_slots * slot_bytes, .fill = 0xFF};
  return TSR_OK;
}

TSR_PLUGIN(packed_plan, "Key and value packed in one atomic word of 32, 64 or 128 bits.", "WarpCore IV-B1");

/* SPDX-License-Identifier: Apache-2.0
 *
 * layout slab: descriptor and plan. What it does: slab.cuh.
 */
#include "slab.cuh"

static tsr_status slab_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  const tsr_config *own = config;
  uint32_t slot_bytes = tsr_pair_bytes(shape->key_bits, shape->payload_bits);
  uint32_t places = own->slab_bytes / slot_bytes;
  if (own->slab_bytes & (own->slab_bytes - 1))
    return tsr_fail(error, TSR_INCOMPATIBLE, "[layout] slab_bytes = %u: must be 16, 32, 64, 128 or 256",
                    own->slab_bytes);
  if (places < 2)
    return tsr_fail(error, TSR_INCOMPATIBLE,
                    "[layout] slab_bytes = %u: holds one word of %u bytes, and a slab needs two, for a pair and for "
                    "its link: raise slab_bytes",
                    own->slab_bytes, slot_bytes);
  if (places > 32)
    return tsr_fail(error, TSR_INCOMPATIBLE,
                    "[layout] slab_bytes = %u: %u slots of %u bytes, and a bucket has at most 32: lower slab_bytes",
                    own->slab_bytes, places, slot_bytes);
  if (own->tile_lanes > places)
    return tsr_fail(error, TSR_INCOMPATIBLE,
                    "[layout] tile_lanes = %u: a slab of %u bytes has %u words of %u bytes, and a lane without one has "
                    "no work: lower tile_lanes or raise slab_bytes",
                    own->tile_lanes, own->slab_bytes, places, slot_bytes);
  tsr_status status = tsr_plan_pairs(shape, slot_bytes, "slab", error);
  if (status == TSR_OK) status = tsr_plan_buckets(shape, places, own->tile_lanes, slot_bytes, plan, error);
  if (status) return status;
  plan->layout.bucket_slots = places - 1;
  plan->layout.has_link = 1;
  plan->layout.can_exchange = 1;
  plan->layout.whole_pairs = 1;
  plan->regions[0] = (tsr_region){.name = "slabs", .bytes_per_bucket = own->slab_bytes, .fill = 0xFF};
  return TSR_OK;
}

TSR_PLUGIN(slab_plan,
           "Packed pairs in buckets (slabs) that link to further slabs when they are full, so a bucket never "
           "overflows. Needs an allocator and a probing scheme of one bucket per key.",
           "SlabHash IV-B");

/* SPDX-License-Identifier: Apache-2.0
 *
 * layout soa: descriptor and plan. What it does: soa.cuh.
 */
#include "soa.cuh"

static tsr_status soa_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  const tsr_config *own = config;
  tsr_status status = tsr_plan_buckets(shape, own->bucket_slots, own->tile_lanes, shape->key_bits / 8, plan, error);
  if (status) return status;
  plan->layout.can_exchange = shape->payload_bits == 0;
  plan->layout.whole_pairs = shape->payload_bits == 0;
  plan->regions[SOA_KEYS] =
      (tsr_region){.name = "keys", .bytes_per_bucket = (uint64_t)own->bucket_slots * shape->key_bits / 8, .fill = 0xFF};
  if (shape->payload_bits)
    plan->regions[SOA_PAYLOADS] =
        (tsr_region){.name = "values",
                     .bytes_per_bucket = (uint64_t)own->bucket_slots * shape->payload_bits / 8,
                     .fill = shape->duplicates == TSR_DUPLICATES_MIN ? 0xFF : 0x00};
  plan->keys = (tsr_slot_column){.region = SOA_KEYS, .stride_bytes = shape->key_bits / 8};
  plan->payloads = (tsr_slot_column){.region = SOA_PAYLOADS, .stride_bytes = shape->payload_bits / 8};
  return TSR_OK;
}

TSR_PLUGIN(soa_plan,
           "Keys in one array, values in another (struct of arrays). A probe reads keys only, and a hit reads its "
           "value apart. For any widths, 128-bit keys included. Finds must not overlap inserts, and schemes that move "
           "pairs take sets only.",
           "WarpCore IV-B1");

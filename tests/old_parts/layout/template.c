/* SPDX-License-Identifier: Apache-2.0
 *
 * layout template: descriptor and plan. What it does: template.cuh.
 */
#include "template.cuh"

static tsr_status template_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  const tsr_config *own = config;
  tsr_status status = tsr_plan_buckets(shape, own->bucket_slots, own->tile_lanes, shape->key_bits / 8, plan, error);
  if (status) return status;
  plan->regions[TEMPLATE_KEYS] =
      (tsr_region){.name = "keys", .bytes_per_bucket = (uint64_t)own->bucket_slots * shape->key_bits / 8, .fill = 0xFF};
  if (shape->payload_bits)
    plan->regions[TEMPLATE_PAYLOADS] =
        (tsr_region){.name = "payloads",
                     .bytes_per_bucket = (uint64_t)own->bucket_slots * shape->payload_bits / 8,
                     .fill = shape->duplicates == TSR_DUPLICATES_MIN ? 0xFF : 0x00};
  return TSR_OK;
}

TSR_PLUGIN(template_plan, "A column of keys and a column of payloads; pairs never move.", "own");

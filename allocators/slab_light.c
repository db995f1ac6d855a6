/* SPDX-License-Identifier: Apache-2.0
 *
 * allocator slab_light: descriptor and plan. What it does: slab_light.cuh.
 */
#include "slab_light.cuh"

static tsr_status slab_light_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  const tsr_config *own = config;
  uint64_t blocks = (shape->units_min + TSR_BLOCK_UNITS - 1) / TSR_BLOCK_UNITS;
  const uint32_t unit_bytes = tsr_plan_unit_bytes(shape, own->unit_bytes);
  if (unit_bytes < 32 || unit_bytes & (unit_bytes - 1))
    return tsr_fail(error, TSR_INCOMPATIBLE, "[allocator] unit_bytes = %u: must be 0, 32, 64, 128 or 256",
                    own->unit_bytes);
  if (blocks > (1ull << 32) / (TSR_BLOCK_UNITS * unit_bytes))
    return tsr_fail(error, TSR_INCOMPATIBLE,
                    "allocator = slab_light holds 4 GB, and %llu units of unit_bytes = %u are more: lower unit_bytes, "
                    "or use allocator = slab",
                    (unsigned long long)shape->units_min, unit_bytes);
  if (blocks == 0) blocks = 1;
  plan->allocator.unit_bytes = unit_bytes;
  plan->allocator.units = blocks * TSR_BLOCK_UNITS;
  plan->allocator.units_at_once = TSR_BLOCK_RUN_MAX;
  plan->allocator.reuses_units = 1;
  plan->regions[SLAB_LIGHT_BITMAPS] =
      (tsr_region){.name = "unit bitmaps", .bytes = blocks * TSR_BLOCK_WORDS * 4, .fill = 0};
  plan->regions[SLAB_LIGHT_UNITS] =
      (tsr_region){.name = "units", .bytes = plan->allocator.units * unit_bytes, .fill = 0xFF};
  plan->state[SLAB_LIGHT_BLOCKS] = blocks;
  return TSR_OK;
}

TSR_PLUGIN(slab_light_plan,
           "SlabAlloc-light: a bitmap of the units of each memory block, over one array. Up to 4 GB, with less "
           "arithmetic than `slab`. Reuses released units.",
           "SlabHash V (SlabAlloc-light)");

/* SPDX-License-Identifier: Apache-2.0
 *
 * allocator bump: descriptor and plan. What it does: bump.cuh.
 */
#include "bump.cuh"

static tsr_status bump_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  const tsr_config *own = config;
  uint64_t units = shape->units_min ? shape->units_min : 1;
  const uint32_t unit_bytes = tsr_plan_unit_bytes(shape, own->unit_bytes);
  if (unit_bytes % 16 != 0)
    return tsr_fail(error, TSR_INCOMPATIBLE, "[allocator] unit_bytes = %u: must be a multiple of 16", own->unit_bytes);
  if (units >= 1ull << 32)
    return tsr_fail(error, TSR_INCOMPATIBLE,
                    "allocator = bump numbers its units in 32 bits, and %llu are needed: use larger and fewer units",
                    (unsigned long long)shape->units_min);
  plan->allocator.unit_bytes = unit_bytes;
  plan->allocator.units = units;
  plan->allocator.units_at_once = 0xFFFFFFFFu;
  plan->regions[BUMP_NEXT] = (tsr_region){.name = "units handed out", .bytes = 8, .fill = 0};
  plan->regions[BUMP_UNITS] = (tsr_region){.name = "units", .bytes = units * unit_bytes, .fill = 0xFF};
  plan->state[BUMP_LIMIT] = units;
  return TSR_OK;
}

TSR_PLUGIN(bump_plan,
           "A counter that hands out one unit after another. The fastest; a unit is free again only when the table is "
           "cleared.",
           "WarpCore IV-C (the bucket pool)");

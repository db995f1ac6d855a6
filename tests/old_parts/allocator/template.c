/* SPDX-License-Identifier: Apache-2.0
 *
 * allocator template: descriptor and plan. What it does: template.cuh.
 */
#include "template.cuh"

static tsr_status template_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  const tsr_config *own = config;
  const uint64_t blocks = shape->units_min / TSR_BLOCK_UNITS + 1;
  const uint32_t unit_bytes = tsr_plan_unit_bytes(shape, own->unit_bytes);
  if (unit_bytes % 16 != 0)
    return tsr_fail(error, TSR_INCOMPATIBLE, "[allocator] unit_bytes = %u: must be a multiple of 16", own->unit_bytes);
  if (blocks >= 1ull << 22) /* the last handle would be TSR_NO_HANDLE */
    return tsr_fail(
        error, TSR_INCOMPATIBLE,
        "allocator = template numbers its units in 32 bits, and %llu are needed: use larger and fewer units",
        (unsigned long long)shape->units_min);
  plan->allocator.unit_bytes = unit_bytes;
  plan->allocator.units = blocks * TSR_BLOCK_UNITS;
  plan->allocator.units_at_once = TSR_BLOCK_RUN_MAX;
  plan->allocator.reuses_units = 1;
  plan->regions[TEMPLATE_BITMAPS] = (tsr_region){.name = "unit bitmaps", .bytes = blocks * TSR_BLOCK_WORDS * 4};
  plan->regions[TEMPLATE_UNITS] =
      (tsr_region){.name = "units", .bytes = plan->allocator.units * unit_bytes, .fill = 0xFF};
  plan->state[TEMPLATE_BLOCKS] = blocks;
  return TSR_OK;
}

TSR_PLUGIN(template_plan, "Bitmaps over one array of units, looked at in order; frees.", "own");

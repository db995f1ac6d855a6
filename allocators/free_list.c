/* SPDX-License-Identifier: Apache-2.0
 *
 * allocator free_list: descriptor and plan. What it does: free_list.cuh.
 */
#include "free_list.cuh"

static tsr_status free_list_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  const tsr_config *own = config;
  const uint64_t units = shape->units_min ? shape->units_min : 1;
  const uint32_t unit_bytes = tsr_plan_unit_bytes(shape, own->unit_bytes);
  if (unit_bytes % 16 != 0)
    return tsr_fail(error, TSR_INCOMPATIBLE, "[allocator] unit_bytes = %u: must be a multiple of 16", own->unit_bytes);
  if (units >= FREE_LIST_LAST)
    return tsr_fail(error, TSR_INCOMPATIBLE,
                    "allocator = free_list numbers its units in 32 bits, and %llu are needed: use larger and fewer "
                    "units",
                    (unsigned long long)shape->units_min);
  plan->allocator.unit_bytes = unit_bytes;
  plan->allocator.units = units;
  plan->allocator.units_at_once = 1;
  plan->allocator.reuses_units = 1;
  /* all ones: every stack is empty, and no unit has a successor */
  plan->regions[FREE_LIST_TOPS] = (tsr_region){.name = "stacks", .bytes = own->stacks * 8ull, .fill = 0xFF};
  plan->regions[FREE_LIST_AFTER] = (tsr_region){.name = "successors", .bytes = units * 4, .fill = 0xFF};
  plan->regions[FREE_LIST_NEXT] = (tsr_region){.name = "units handed out", .bytes = 8, .fill = 0};
  plan->regions[FREE_LIST_UNITS] = (tsr_region){.name = "units", .bytes = units * unit_bytes, .fill = 0xFF};
  plan->state[FREE_LIST_LIMIT] = units;
  return TSR_OK;
}

TSR_PLUGIN(free_list_plan,
           "Stacks of released units, and a counter for new ones. Nothing is searched, so it suits pools that are "
           "nearly full and units of any size. Reuses released units one at a time.",
           "Treiber 1986");

/* SPDX-License-Identifier: Apache-2.0
 *
 * allocator slab: descriptor and plan. What it does: slab.cuh.
 */
#include "slab.cuh"

static tsr_status slab_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  const tsr_config *own = config;
  uint64_t blocks = (shape->units_min + TSR_BLOCK_UNITS - 1) / TSR_BLOCK_UNITS;
  uint64_t most = 256ull * own->super_block_blocks;
  if (most == 1ull << 22) most--; /* the last unit of all would be TSR_NO_HANDLE */
  const uint32_t unit_bytes = tsr_plan_unit_bytes(shape, own->unit_bytes);
  if (unit_bytes < 32 || unit_bytes & (unit_bytes - 1))
    return tsr_fail(error, TSR_INCOMPATIBLE, "[allocator] unit_bytes = %u: must be 0, 32, 64, 128 or 256",
                    own->unit_bytes);
  if (own->super_block_blocks & (own->super_block_blocks - 1))
    return tsr_fail(error, TSR_INCOMPATIBLE,
                    "[allocator] super_block_blocks = %u: must be a power of two from 1 to 16384",
                    own->super_block_blocks);
  if (blocks > most)
    return tsr_fail(error, TSR_INCOMPATIBLE,
                    "allocator = slab: 256 super blocks of super_block_blocks = %u hold %llu units, and %llu are "
                    "needed: raise super_block_blocks (to 16384: 2^32 units), or ask for fewer units",
                    own->super_block_blocks, (unsigned long long)(most * TSR_BLOCK_UNITS),
                    (unsigned long long)shape->units_min);
  if (blocks == 0) blocks = 1;
  plan->allocator.unit_bytes = unit_bytes;
  plan->allocator.units = blocks * TSR_BLOCK_UNITS;
  plan->allocator.units_at_once = TSR_BLOCK_RUN_MAX;
  plan->allocator.reuses_units = 1;
  plan->regions[SLAB_BITMAPS] = (tsr_region){.name = "unit bitmaps", .bytes = blocks * TSR_BLOCK_WORDS * 4, .fill = 0};
  plan->regions[SLAB_UNITS] = (tsr_region){.name = "units", .bytes = plan->allocator.units * unit_bytes, .fill = 0xFF};
  plan->regions[SLAB_ADDED] = (tsr_region){.name = "super blocks", .bytes = 4, .fill = 0};
  plan->state[SLAB_BLOCKS] = blocks;
  return TSR_OK;
}

TSR_PLUGIN(slab_plan,
           "SlabAlloc: a bitmap of the units of each memory block, in super blocks that come into use one by one. Up "
           "to 2^32 units (1 TB). Reuses released units.",
           "SlabHash V (SlabAlloc)");

/* SPDX-License-Identifier: Apache-2.0
 *
 * allocator template: a bit for each unit, set while the unit is handed out. A caller looks at a word of the bits that its
 * spread chooses, and then at the words behind it until one has room. Law kept: a unit's bit is set by one caller's swap,
 * which acquires, and cleared by its release, so what an owner wrote comes before what the next one writes.
 */
#define TSR_PARAMETERS(P)                                                                                              \
  P(uint32_t, unit_bytes, 0, 0, 4096,                                                                                  \
    "Bytes per unit, a multiple of 16. 0: as many as a bucket of a layout that links, otherwise 128.")

#include "plugins/allocator.cuh"

enum { TEMPLATE_BITMAPS, TEMPLATE_UNITS }; /* regions */
enum { TEMPLATE_BLOCKS };                  /* state word: memory blocks, of 1024 units */

TSR_DEVICE uint32_t TSR_PART(allocate)(const tsr_ctx *c, uint32_t spread, uint32_t units) {
  const uint32_t blocks = (uint32_t)TSR_WORD(c, TEMPLATE_BLOCKS), steps = tsr_block_steps(c, blocks);
  uint32_t unit = TSR_NO_HANDLE, step = 0, looks = c->active && units > 0 && units <= TSR_BLOCK_RUN_MAX;
  TSR_NO_UNROLL
  while (tsr_warp_any(c, looks)) { /* bounded: each word is looked at once */
    tsr_ctx work = tsr_masked(c, looks);
    uint32_t taken = tsr_block_take(&work, (uint32_t *)TSR_REGION(c, TEMPLATE_BITMAPS),
                                    tsr_block_follow(c, spread, step, blocks), units);
    unit = looks ? taken : unit;
    step++;
    looks = looks && unit == TSR_NO_HANDLE && step < steps;
  }
  return unit;
}

TSR_DEVICE void TSR_PART(release)(const tsr_ctx *c, uint32_t handle, uint32_t units) {
  tsr_block_give(c, (uint32_t *)TSR_REGION(c, TEMPLATE_BITMAPS), handle, units);
}

TSR_DEVICE void *TSR_PART(address)(const tsr_ctx *c, uint32_t handle) {
  return (char *)TSR_REGION(c, TEMPLATE_UNITS) + (uint64_t)handle * TSR_FACT(c, unit_bytes);
}

TSR_DEVICE uint32_t TSR_PART(used)(const tsr_ctx *c, uint64_t unit) {
  return tsr_block_has((const uint32_t *)TSR_REGION(c, TEMPLATE_BITMAPS), (uint32_t)unit) ? (uint32_t)unit
                                                                                          : TSR_NO_HANDLE;
}

TSR_PART_FUNCTIONS(.allocate = TSR_PART(allocate), .release = TSR_PART(release), .address = TSR_PART(address),
                   .used = TSR_PART(used));

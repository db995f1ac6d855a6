/* SPDX-License-Identifier: Apache-2.0
 *
 * allocator slab_light: SlabAlloc-light (SlabHash V). Memory blocks as in slab, but no super blocks: all units are in
 * one array of at most 4 GB, a handle is a unit's number, and an address is one 32-bit multiplication away. All blocks
 * are in use from the start.
 */
#define TSR_PARAMETERS(P)                                                                                              \
  P(uint32_t, unit_bytes, 0, 0, 256,                                                                                   \
    "Bytes per unit, a power of two. 0: as many as a bucket of a layout that links, otherwise 128.")                   \
  P(uint32_t, resident_changes, 4, 1, 64,                                                                              \
    "How often an allocation moves to another memory block before it looks at all of them in order.")                  \
  P(uint32_t, max_blocks, 0, 0, 65536, "Memory blocks that an allocation looks at in order before it fails. 0: all.")

#include "plugins/allocator.cuh"

enum { SLAB_LIGHT_BITMAPS, SLAB_LIGHT_UNITS }; /* regions */
enum { SLAB_LIGHT_BLOCKS };                    /* state word: memory blocks */

TSR_INLINE uint32_t *slab_light_bitmaps(const tsr_ctx *c) { return (uint32_t *)TSR_REGION(c, SLAB_LIGHT_BITMAPS); }

TSR_DEVICE uint32_t TSR_PART(allocate)(const tsr_ctx *c, uint32_t spread, uint32_t units) {
  uint32_t blocks = (uint32_t)TSR_WORD(c, SLAB_LIGHT_BLOCKS), most = TSR_PARAMETER(c, max_blocks);
  uint32_t changes = TSR_PARAMETER(c, resident_changes),
           steps = tsr_block_steps(c, most && most < blocks ? most : blocks);
  uint32_t unit = TSR_NO_HANDLE, attempt = 0, looks = c->active && units > 0 && units <= TSR_BLOCK_RUN_MAX;
  TSR_NO_UNROLL
  while (tsr_warp_any(c, looks)) {
    bool in_order = attempt > changes;
    uint32_t word =
        in_order ? tsr_block_follow(c, spread, attempt - changes, blocks) : tsr_block_choose(spread, attempt, blocks);
    tsr_ctx work = tsr_masked(c, looks);
    uint32_t taken = tsr_block_take(&work, slab_light_bitmaps(c), word, units);
    unit = looks ? taken : unit;
    TSR_COUNT_WHERE(c, changes, looks && unit == TSR_NO_HANDLE);
    looks = looks && unit == TSR_NO_HANDLE && attempt < changes + steps;
    attempt++;
  }
  return unit;
}

TSR_DEVICE void TSR_PART(release)(const tsr_ctx *c, uint32_t handle, uint32_t units) {
  tsr_block_give(c, slab_light_bitmaps(c), handle, units);
}

TSR_DEVICE void *TSR_PART(address)(const tsr_ctx *c, uint32_t handle) {
  return (char *)TSR_REGION(c, SLAB_LIGHT_UNITS) + handle * TSR_FACT(c, unit_bytes); /* below 2^32: plan() */
}

TSR_DEVICE uint32_t TSR_PART(used)(const tsr_ctx *c, uint64_t unit) {
  return tsr_block_has(slab_light_bitmaps(c), (uint32_t)unit) ? (uint32_t)unit : TSR_NO_HANDLE;
}

TSR_PART_FUNCTIONS(.allocate = TSR_PART(allocate), .release = TSR_PART(release), .address = TSR_PART(address),
                   .used = TSR_PART(used));

/* SPDX-License-Identifier: Apache-2.0
 *
 * allocator slab: SlabAlloc (SlabHash V). Units lie in memory blocks of 1024 with a bitmap each, blocks in super
 * blocks. Callers get a resident block by hash and change it by hash when it is full; who has changed it
 * resident_changes times takes one more super block into use. Read next: slab.c, plan(); README.md, what the paper does
 * otherwise.
 */
#define TSR_PARAMETERS(P)                                                                                              \
  P(uint32_t, unit_bytes, 0, 0, 256, "Bytes of a unit, a power of two; 0 = those of a linked bucket, or 128.")         \
  P(uint32_t, super_block_blocks, 256, 1, 16384, "Memory blocks, of 1024 units, in a super block; a power of two.")    \
  P(uint32_t, first_super_blocks, 32, 1, 256, "Super blocks in use from the start.")                                   \
  P(uint32_t, resident_changes, 4, 1, 64, "Full blocks met by one allocation before it takes a super block into use.") \
  P(uint32_t, max_blocks, 0, 0, 4194304, "Memory blocks looked at in order before an allocation gives up; 0 = all.")

#include "plugins/allocator.cuh"

enum { SLAB_BITMAPS, SLAB_UNITS, SLAB_ADDED };        /* regions; the last counts the super blocks taken into use */
enum { SLAB_BLOCKS };                                 /* state word: memory blocks in all */
enum { SLAB_UNIT_SHIFT = 10, SLAB_SUPER_SHIFT = 24 }; /* a handle is 8 bits super block, 14 memory block, 10 unit */

/* Number of a memory block among all. super_block_blocks is a constant power of two, so this is shifts and masks. */
TSR_INLINE uint32_t slab_block(const tsr_ctx *c, uint32_t handle) {
  return (handle >> SLAB_SUPER_SHIFT) * TSR_PARAMETER(c, super_block_blocks) + ((handle >> SLAB_UNIT_SHIFT) & 0x3FFFu);
}

TSR_INLINE uint32_t slab_handle(const tsr_ctx *c, uint32_t block, uint32_t unit) {
  uint32_t blocks = TSR_PARAMETER(c, super_block_blocks);
  return (block / blocks) << SLAB_SUPER_SHIFT | (block & (blocks - 1u)) << SLAB_UNIT_SHIFT | unit;
}

TSR_INLINE uint32_t *slab_bitmap(const tsr_ctx *c, uint32_t block) {
  return (uint32_t *)TSR_REGION(c, SLAB_BITMAPS) + (uint64_t)block * TSR_BLOCK_WORDS;
}

/* Blocks in use when `added` super blocks have come to the first ones; the last super block may be a short one. */
TSR_INLINE uint32_t slab_blocks_in_use(const tsr_ctx *c, uint32_t added) {
  uint32_t supers = TSR_PARAMETER(c, first_super_blocks) + added, all = (uint32_t)TSR_WORD(c, SLAB_BLOCKS);
  uint32_t blocks = supers * TSR_PARAMETER(c, super_block_blocks);
  return blocks < all ? blocks : all;
}

/* Collective. The number of super blocks added, one more than `added` unless somebody was faster. Relaxed: it says
 * which blocks to try; their memory was there before the kernel began. */
TSR_INLINE uint32_t slab_add_super_block(const tsr_ctx *c, uint32_t added) {
  uint32_t found = added;
  if (c->lane == 0) found = tsr_cas32((uint32_t *)TSR_REGION(c, SLAB_ADDED), added, added + 1);
  found = tsr_shuffle32(c, found, 0);
  return found == added ? added + 1 : found;
}

TSR_DEVICE uint32_t TSR_PART(allocate)(const tsr_ctx *c, uint64_t spread, uint32_t units) {
  if (units == 0 || units > TSR_BLOCK_RUN_MAX) return TSR_NO_HANDLE;
  /* an old count only means fewer blocks to choose from, so this load, which all callers make, may be L1's; the first
   * lane's counts, for all must choose alike */
  uint32_t added = tsr_shuffle32(c, tsr_load32((const uint32_t *)TSR_REGION(c, SLAB_ADDED), 0), 0);
  uint32_t from = 0, to = slab_blocks_in_use(c, added), block = 0, attempt = 0;
  /* Rounds of hashed choices: among all blocks in use, then in the super block added last, then in new ones. Bounded:
   * every round has a higher `from` than the one before, and there are at most 256 super blocks. */
  TSR_NO_UNROLL
  for (;;) {
    TSR_NO_UNROLL
    for (uint32_t turn = 0; turn <= TSR_PARAMETER(c, resident_changes); turn++, attempt++) {
      block = from + tsr_block_choose(spread, attempt, to - from);
      uint32_t unit = tsr_block_take(c, slab_bitmap(c, block), (uint32_t)spread, units);
      if (unit != TSR_NO_HANDLE) return slab_handle(c, block, unit);
      TSR_COUNT(c, changes);
    }
    uint32_t size = TSR_PARAMETER(c, super_block_blocks), last = to > size ? to - size : 0;
    if (from < last) {
      from = last;
      continue;
    }
    if (to == (uint32_t)TSR_WORD(c, SLAB_BLOCKS)) break;
    added = slab_add_super_block(c, added);
    from = to;
    to = slab_blocks_in_use(c, added);
  }
  /* All blocks are in use and the hashes found none with room: look at them in order. */
  uint32_t all = (uint32_t)TSR_WORD(c, SLAB_BLOCKS), most = TSR_PARAMETER(c, max_blocks);
  if (most == 0 || most > all) most = all;
  TSR_NO_UNROLL
  for (uint32_t i = 0; i < most; i++) {
    block = block + 1 < all ? block + 1 : 0;
    uint32_t unit = tsr_block_take(c, slab_bitmap(c, block), (uint32_t)spread, units);
    if (unit != TSR_NO_HANDLE) return slab_handle(c, block, unit);
    TSR_COUNT(c, changes);
  }
  return TSR_NO_HANDLE;
}

TSR_DEVICE void TSR_PART(release)(const tsr_ctx *c, uint32_t handle, uint32_t units) {
  tsr_block_give(c, slab_bitmap(c, slab_block(c, handle)), handle & (TSR_BLOCK_UNITS - 1u), units);
}

/* One base for all super blocks: a region may have 2^40 bytes, so no table of their addresses is looked up. */
TSR_DEVICE void *TSR_PART(address)(const tsr_ctx *c, uint32_t handle) {
  uint64_t unit = (uint64_t)slab_block(c, handle) * TSR_BLOCK_UNITS + (handle & (TSR_BLOCK_UNITS - 1u));
  return (char *)TSR_REGION(c, SLAB_UNITS) + unit * tsr_unit_bytes(c);
}

TSR_DEVICE uint32_t TSR_PART(used)(const tsr_ctx *c, uint64_t unit) {
  uint32_t block = (uint32_t)(unit / TSR_BLOCK_UNITS), in_block = (uint32_t)unit & (TSR_BLOCK_UNITS - 1u);
  return tsr_block_has(slab_bitmap(c, block), in_block) ? slab_handle(c, block, in_block) : TSR_NO_HANDLE;
}

TSR_PART_FUNCTIONS(.allocate = TSR_PART(allocate), .release = TSR_PART(release), .address = TSR_PART(address),
                   .used = TSR_PART(used));

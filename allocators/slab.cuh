/* SPDX-License-Identifier: Apache-2.0
 *
 * allocator slab: SlabAlloc (SlabHash V). Units are in memory blocks of 1024 with a bitmap each, blocks in super
 * blocks. Callers get a resident block by hash and change it by hash when they see no room; who has changed it
 * resident_changes times takes one more super block into use. Read next: slab.c, plan(); README.md, what the paper does
 * otherwise.
 */
#define TSR_PARAMETERS(P)                                                                                              \
  P(uint32_t, unit_bytes, 0, 0, 256,                                                                                   \
    "Bytes per unit, a power of two. 0: as many as a bucket of a layout that links, otherwise 128.")                   \
  P(uint32_t, super_block_blocks, 256, 1, 16384, "Memory blocks (of 1024 units) per super block, a power of two.")     \
  P(uint32_t, first_super_blocks, 32, 1, 256, "Super blocks in use from the start.")                                   \
  P(uint32_t, resident_changes, 4, 1, 64,                                                                              \
    "How often an allocation moves to another memory block before it takes a super block into use.")                   \
  P(uint32_t, max_blocks, 0, 0, 4194304, "Memory blocks that an allocation looks at in order before it fails. 0: all.")

#include "plugins/allocator.cuh"

enum { SLAB_BITMAPS, SLAB_UNITS, SLAB_ADDED }; /* regions; the last counts the super blocks taken into use */
enum { SLAB_BLOCKS };                          /* state word: memory blocks in all */
enum { SLAB_SUPER_SHIFT = 24 };                /* a handle is 8 bits super block, 14 memory block, 10 unit */

/* Units of a super block, a constant power of two: what follows is shifts and masks. */
TSR_INLINE uint32_t slab_super_units(const tsr_ctx *c) {
  return TSR_PARAMETER(c, super_block_blocks) * TSR_BLOCK_UNITS;
}

/* A unit's handle and its number among all. */
TSR_INLINE uint32_t slab_handle(const tsr_ctx *c, uint32_t unit) {
  return (unit / slab_super_units(c)) << SLAB_SUPER_SHIFT | (unit & (slab_super_units(c) - 1u));
}
TSR_INLINE uint32_t slab_unit(const tsr_ctx *c, uint32_t handle) {
  return (handle >> SLAB_SUPER_SHIFT) * slab_super_units(c) + (handle & ((1u << SLAB_SUPER_SHIFT) - 1u));
}

TSR_INLINE uint32_t *slab_bitmaps(const tsr_ctx *c) { return (uint32_t *)TSR_REGION(c, SLAB_BITMAPS); }

/* Blocks in use when `added` super blocks have come to the first ones; the last super block may be a short one. */
TSR_INLINE uint32_t slab_blocks_in_use(const tsr_ctx *c, uint32_t added) {
  uint32_t supers = TSR_PARAMETER(c, first_super_blocks) + added, all = (uint32_t)TSR_WORD(c, SLAB_BLOCKS);
  uint32_t blocks = supers * TSR_PARAMETER(c, super_block_blocks);
  return blocks < all ? blocks : all;
}

/* Collective. Takes one more super block into use unless somebody was faster; returns the number of those added. Relaxed:
 * it says which blocks to try; their memory was there before the kernel began. */
TSR_INLINE uint32_t slab_add_super_block(const tsr_ctx *c, uint32_t added) {
  uint32_t found = added;
  if (c->lane == 0 && c->active) found = tsr_cas32((uint32_t *)TSR_REGION(c, SLAB_ADDED), added, added + 1);
  found = tsr_shuffle32(c, found, 0);
  return found == added ? added + 1 : found;
}

TSR_DEVICE uint32_t TSR_PART(allocate)(const tsr_ctx *c, uint32_t spread, uint32_t units) {
  uint32_t all = (uint32_t)TSR_WORD(c, SLAB_BLOCKS), size = TSR_PARAMETER(c, super_block_blocks);
  uint32_t round = TSR_PARAMETER(c, resident_changes) + 1, most = TSR_PARAMETER(c, max_blocks);
  /* an old count only means fewer blocks to choose from, so this load, which all callers make, may be L1's; the first
   * lane's counts, for all must choose alike */
  uint32_t added = tsr_shuffle32(c, tsr_load32((const uint32_t *)TSR_REGION(c, SLAB_ADDED), 0), 0);
  uint32_t from = 0, to = slab_blocks_in_use(c, added), left = round;
  /* Rounds of hashed choices between the blocks `from` and `to`: among all in use, then in the super block added last,
   * then in new ones. Bounded: every round has a higher `from` than the one before, and there are at most 256 super
   * blocks. When all are in use and the hashes found no room, from = to = 0 and all blocks are looked at in order. So
   * much is decided anew in each turn because what is kept for the next one costs callers registers. */
  uint32_t unit = TSR_NO_HANDLE, looks = c->active && units > 0 && units <= TSR_BLOCK_RUN_MAX;
  const uint32_t steps = tsr_block_steps(c, most == 0 || most > all ? all : most);
  TSR_NO_UNROLL
  while (tsr_warp_any(c, looks)) {
    bool in_order = to == 0;
    uint32_t word = in_order ? tsr_block_follow(c, spread, left, all)
                             : from * TSR_BLOCK_WORDS + tsr_block_choose(spread, left, to - from);
    tsr_ctx work = tsr_masked(c, looks);
    uint32_t taken = tsr_block_take(&work, slab_bitmaps(c), word, units);
    unit = looks ? taken : unit;
    looks = looks && unit == TSR_NO_HANDLE;
    TSR_COUNT_WHERE(c, changes, looks);
    left -= looks;
    uint32_t ends = looks && left == 0, narrows = ends && !in_order && from + size < to;
    uint32_t adds = ends && !in_order && !narrows && to < all, gives_up = ends && !in_order && !narrows && !adds;
    looks = looks && !(ends && in_order);
    left = !ends ? left : gives_up ? steps : round;
    from = gives_up ? 0 : narrows ? to - size : adds ? to : from;
    to = gives_up ? 0 : to;
    if (tsr_warp_any(c, adds)) {
      work = tsr_masked(c, adds);
      added = slab_add_super_block(&work, to / size - TSR_PARAMETER(c, first_super_blocks));
      uint32_t in_use = slab_blocks_in_use(c, added);
      to = adds ? in_use : to;
    }
  }
  return unit == TSR_NO_HANDLE ? unit : slab_handle(c, unit);
}

TSR_DEVICE void TSR_PART(release)(const tsr_ctx *c, uint32_t handle, uint32_t units) {
  tsr_block_give(c, slab_bitmaps(c), slab_unit(c, handle), units);
}

/* One base for all super blocks: a region may have 2^40 bytes, so no table of their addresses is looked up. */
TSR_DEVICE void *TSR_PART(address)(const tsr_ctx *c, uint32_t handle) {
  return (char *)TSR_REGION(c, SLAB_UNITS) + (uint64_t)slab_unit(c, handle) * TSR_FACT(c, unit_bytes);
}

TSR_DEVICE uint32_t TSR_PART(used)(const tsr_ctx *c, uint64_t unit) {
  return tsr_block_has(slab_bitmaps(c), (uint32_t)unit) ? slab_handle(c, (uint32_t)unit) : TSR_NO_HANDLE;
}

TSR_PART_FUNCTIONS(.allocate = TSR_PART(allocate), .release = TSR_PART(release), .address = TSR_PART(address),
                   .used = TSR_PART(used));

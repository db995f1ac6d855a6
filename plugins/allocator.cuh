/* SPDX-License-Identifier: Apache-2.0
 *
 * The allocator role: units of memory handed out inside a kernel, named by 32-bit handles. Widths: none.
 *
 *   allocate(c, spread, units)   Collective over the tile. Returns the handle of `units` consecutive units, or
 *                                TSR_NO_HANDLE if the pool is exhausted or cannot give that many at once. It must return:
 *                                it never waits for a release. spread keeps callers apart: items of a batch pass their
 *                                number, others a hash. An allocator knows nothing else of its caller, so nothing has to
 *                                be kept between calls.
 *   release(c, handle, units)    Collective. Releases what allocate returned; no lane may use it any more.
 *   address(c, handle)           Returns the unit's first byte, a function of handle and state. Units of one handle
 *                                follow each other.
 *   used(c, unit)                Returns the handle of unit number `unit`, below the shape's `units`, if it is handed out,
 *                                otherwise TSR_NO_HANDLE. Called by one thread, while nothing allocates.
 *
 * plan() gets units_min and writes unit_bytes, units, units_at_once and reuses_units. A plan for more units may differ only
 * in `units`, in state, and in longer regions whose old prefix keeps its meaning. So the core can enlarge a pool between
 * batches, and handles stay valid. Read next: ../allocators/README.md.
 */
#ifndef TSR_ALLOCATOR_CUH
#define TSR_ALLOCATOR_CUH

#include "plugins/device.cuh"

#define TSR_ALLOCATOR_FUNCTIONS(F, O)                                                                                  \
  F(allocator, uint32_t, allocate, (const tsr_ctx *c, uint32_t spread, uint32_t units), (c, spread, units))            \
  F(allocator, void, release, (const tsr_ctx *c, uint32_t handle, uint32_t units), (c, handle, units))                 \
  F(allocator, void *, address, (const tsr_ctx *c, uint32_t handle), (c, handle))                                      \
  F(allocator, uint32_t, used, (const tsr_ctx *c, uint64_t unit), (c, unit))

#ifndef __CUDACC__
typedef struct tsr_allocator_functions {
  TSR_ALLOCATOR_FUNCTIONS(TSR_SLOT_F, TSR_SLOT_O)
} tsr_allocator_functions;
#endif
TSR_ALLOCATOR_FUNCTIONS(TSR_ENTRY_F, TSR_ENTRY_O)

/* ---- Memory blocks: a service for allocators that keep a bitmap ------------------------------ */

/* A memory block is 1024 units and 32 words of 32 bits; bit b of word w is set while unit 32 w + b is handed out
 * (SlabHash V). Runs of several units are in one word. */
enum { TSR_BLOCK_UNITS = 1024, TSR_BLOCK_WORDS = 32, TSR_BLOCK_RUN_MAX = 32 };

/* The bits of a word at which a run of `units` (1 to 32) set bits begins. */
TSR_INLINE uint32_t tsr_run_starts(uint32_t bits, uint32_t units) {
  for (uint32_t have = 1; have < units;) { /* at most 5 turns: what is known doubles */
    uint32_t step = units - have < have ? units - have : have;
    bits &= bits >> step;
    have += step;
  }
  return bits;
}

TSR_INLINE uint32_t tsr_run_mask(uint32_t units, uint32_t bit) { return (0xFFFFFFFFu >> (32u - units)) << bit; }

/* Collective. Takes a run of units; returns the number of its first unit among all, or TSR_NO_HANDLE if there is none here.
 * bitmaps: of all blocks, one after the other. Each lane looks at one word of a group of as many words as lanes, which
 * contains `word`; the run is in `word` if that has room. Only these words are read, because reading a whole bitmap is
 * expensive for a narrow tile: a caller that gets no run looks elsewhere. */
TSR_INLINE uint32_t tsr_block_take(const tsr_ctx *c, uint32_t *bitmaps, uint32_t word, uint32_t units) {
  uint32_t lanes = TSR_FACT(c, tile_lanes), first = word & (lanes - 1u), mine = word - first + c->lane;
  uint32_t looks = c->active, seen = looks ? tsr_load32(bitmaps + mine, 1) : 0, taken = TSR_NO_HANDLE;
  TSR_NO_UNROLL
  while (tsr_warp_any(c, looks)) { /* bounded: each turn but the last is another thread's success */
    uint32_t starts = tsr_run_starts(~seen, units), able = tsr_ballot(c, starts != 0);
    uint32_t later = able >> first << first, taker = able ? tsr_lowest(later ? later : able) : 0, run = TSR_NO_HANDLE;
    if (looks && able && c->lane == taker) {
      uint32_t bit = tsr_lowest(starts), mask = tsr_run_mask(units, bit);
      /* acquire: what the unit's last owner wrote comes before what its next one writes */
      uint32_t found = tsr_cas32_acquire(bitmaps + mine, seen, seen | mask);
      if (found == seen) run = mine * 32u + bit;
      seen = found;
    }
    run = tsr_shuffle32(c, run, taker);
    TSR_COUNT_WHERE(c, lost_claims, looks && able && run == TSR_NO_HANDLE);
    taken = looks ? run : taken;
    looks = looks && able && run == TSR_NO_HANDLE;
  }
  tsr_join_lanes(c); /* so that the other lanes' writes come after the taker's swap */
  return taken;
}

/* Collective. Releases a run, by the number of its first unit among all. */
TSR_INLINE void tsr_block_give(const tsr_ctx *c, uint32_t *bitmaps, uint32_t unit, uint32_t units) {
  tsr_join_lanes(c); /* all lanes have written what they had to */
  /* release: see the acquire above */
  if (c->lane == 0 && c->active) tsr_and32_release(bitmaps + (unit >> 5), ~tsr_run_mask(units, unit & 31u));
}

TSR_INLINE uint32_t tsr_block_has(const uint32_t *bitmaps, uint32_t unit) {
  return tsr_load32(bitmaps + (unit >> 5), 1) >> (unit & 31u) & 1u;
}

/* A word of the bitmaps of `blocks` (at most 2^22) blocks to look at first. 32 consecutive numbers get the words of one
 * block, so that they share a line of memory and no word; another attempt chooses anew. */
TSR_INLINE uint32_t tsr_block_choose(uint32_t spread, uint32_t attempt, uint32_t blocks) {
  uint32_t x = (spread >> 5) + (attempt + 1u) * 0x9E3779B9u;
  x = (x ^ x >> 16) * 0x7FEB352Du;
  x = (x ^ x >> 15) * 0x846CA68Bu;
  uint32_t block = (uint32_t)((uint64_t)x * blocks >> 32), word = (spread ^ x) & (TSR_BLOCK_WORDS - 1u);
  return block * TSR_BLOCK_WORDS + word;
}

/* A word to look at in an orderly search: of the group that comes `step` groups after one that spread names. As many steps
 * as `blocks` have groups (tsr_block_steps) look at all. */
TSR_INLINE uint32_t tsr_block_follow(const tsr_ctx *c, uint32_t spread, uint32_t step, uint32_t blocks) {
  uint32_t word = tsr_block_choose(spread, 0, blocks) + step * TSR_FACT(c, tile_lanes);
  return word < blocks * TSR_BLOCK_WORDS ? word : word - blocks * TSR_BLOCK_WORDS;
}
TSR_INLINE uint32_t tsr_block_steps(const tsr_ctx *c, uint32_t blocks) {
  return blocks * (TSR_BLOCK_WORDS / TSR_FACT(c, tile_lanes));
}

/* ---- A counter: a service for allocators that hand out units in order ------------------------ */

/* For each lane with `takes`: the number of the first of `units` units that were never handed out, or TSR_NO_HANDLE if fewer
 * are left. next: how many were handed out, 0 at first. Collective like tsr_warp_any. The atomics are relaxed, because a
 * unit has one owner, and callers learn nothing from each other but the counter's value. */
TSR_INLINE uint32_t tsr_count_take(const tsr_ctx *c, uint64_t *next, uint64_t limit, uint32_t units, uint32_t takes) {
  uint64_t first = limit;
  if (takes) first = tsr_load64(next, 1); /* a full pool costs a load, and the counter stays */
  takes = takes && first + units <= limit;
  if (takes) first = tsr_add64(next, units);
  uint64_t seen = first + units;
  uint32_t is_high = takes && seen > limit, taken = takes && !is_high ? (uint32_t)first : TSR_NO_HANDLE;
  /* Others were faster, and the counter is too high. It goes back to the limit, and not by what was added, which would hand
   * out units twice. Bounded: each failure is another thread's addition or its way back. */
  TSR_NO_UNROLL
  while (tsr_warp_any(c, is_high)) {
    uint64_t found = seen;
    if (is_high) found = tsr_cas64(next, seen, limit);
    is_high = (found != seen) & (found > limit);
    seen = found;
  }
  return taken;
}

#endif

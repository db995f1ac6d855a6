/* SPDX-License-Identifier: Apache-2.0
 *
 * probing funnel: funnel hashing (M. Farach-Colton, A. Krapivin, W. Kuszmaul, "Optimal Bounds for Open Addressing Without
 * Reordering", 2025, section 3). The table is a row of levels, each three quarters of the one before, and a small special
 * array behind them. A key has one block of slots in each level, and goes to the first block with room: most of the first
 * level, few of the last. Who finds none goes to the special array: to a few random buckets of its first half, then to the
 * less loaded of two blocks of its second half.
 * The sizes of all that follow from delta, the share of slots that stays free (funnel.c). A slot of the paper is a slot
 * here, a probe is a bucket.
 * Law kept: a pair goes on only from full buckets, up to the two blocks at the end (ordered).
 */
#define TSR_PARAMETERS(P)                                                                                              \
  P(uint32_t, levels, 0, 0, 255, "Levels. 0: the paper's number, 4 log2(1/delta) + 10, or fewer in a small table.")    \
  P(uint32_t, block_slots, 0, 0, 1024, "Slots of a block. 0: the paper's number, 2 log2(1/delta).")

#include "plugins/probing.cuh"

/* State words. Blocks of the first level; levels; buckets of a block; where the two halves of the special array begin;
 * buckets that are tried in its first half; buckets of a block of its second half; blocks there. */
enum {
  FUNNEL_FIRST,
  FUNNEL_LEVELS,
  FUNNEL_BLOCK,
  FUNNEL_SPARSE,
  FUNNEL_PAIRED,
  FUNNEL_TRIES,
  FUNNEL_PAIRED_BLOCK,
  FUNNEL_PAIRED_BLOCKS
};
enum { FUNNEL_LEVEL, FUNNEL_SIZE }; /* probe words: first bucket of this level; blocks in it */

/* Blocks of the level after one of that many. */
TSR_INLINE uint64_t funnel_next_size(uint64_t blocks) { return blocks > 1 ? blocks * 3 / 4 : 1; }

/* Member 0 names a page, so that the levels begin with member 1. */
TSR_INLINE uint64_t funnel_pick(const tsr_ctx *c, tsr_key key, uint32_t i, uint64_t count) {
  return tsr_reduce(hasher_hash(c, key, 1 + i), (tsr_hash)count);
}

/* The i-th bucket of the special array. */
TSR_INLINE bool funnel_next_special(const tsr_ctx *c, tsr_key key, uint32_t i, tsr_probe *probe) {
  const uint32_t tries = (uint32_t)TSR_WORD(c, FUNNEL_TRIES), block = (uint32_t)TSR_WORD(c, FUNNEL_PAIRED_BLOCK);
  const uint32_t levels = (uint32_t)TSR_WORD(c, FUNNEL_LEVELS);
  const uint64_t sparse = TSR_WORD(c, FUNNEL_SPARSE), paired = TSR_WORD(c, FUNNEL_PAIRED);
  if (i >= tries + 2 * block) return false;
  const uint32_t second = i >= tries + block; /* of the two blocks */
  const uint64_t picked = funnel_pick(c, key, levels + tries + second, TSR_WORD(c, FUNNEL_PAIRED_BLOCKS));
  probe->ref = i < tries ? sparse + funnel_pick(c, key, levels + i, paired - sparse)
                         : paired + picked * block + (i - tries - second * block);
  return true;
}

TSR_DEVICE bool TSR_PART(next)(const tsr_ctx *c, tsr_key key, tsr_probe *probe) {
  const uint32_t block = (uint32_t)TSR_WORD(c, FUNNEL_BLOCK), level = probe->visited / block;
  const uint32_t levels = (uint32_t)TSR_WORD(c, FUNNEL_LEVELS);
  if (level >= levels) return funnel_next_special(c, key, probe->visited - levels * block, probe);
  if (probe->visited % block != 0) {
    probe->ref++;
    return true;
  }
  probe->word[FUNNEL_LEVEL] += level ? probe->word[FUNNEL_SIZE] * block : 0;
  probe->word[FUNNEL_SIZE] = level ? funnel_next_size(probe->word[FUNNEL_SIZE]) : TSR_WORD(c, FUNNEL_FIRST);
  probe->ref = probe->word[FUNNEL_LEVEL] + funnel_pick(c, key, level, probe->word[FUNNEL_SIZE]) * block;
  return true;
}

TSR_PART_FUNCTIONS(.next = TSR_PART(next));

/* SPDX-License-Identifier: Apache-2.0
 *
 * What a filter does: a blocked Bloom filter (WarpCore IV-D; Putze, Sanders and Singler 2007). A key sets bits of one
 * block, and seems present if all of them are set. A block of 32 bytes is a sector, so a key costs one memory access.
 * A filter has no layout and no walk; its hasher alone says where a key's bits are (core/design/0019-kinds.md). A
 * filter is the table itself (kind = filter), or it stands before one, whose finds and erases ask it first. In the
 * kernels of other tables the fact filter_words is 0, and these functions are dropped.
 *
 * A block has filter_words words of 32 bits. A key has as many bits as there are functions, each in another word.
 * These words follow each other in a ring from the word `first` on. So no two bits of a key coincide, and a lane finds
 * them by rotating the block.
 */
#ifndef TSR_FILTER_CUH
#define TSR_FILTER_CUH

#include "core/kernels/io.cuh"
#include "core/kernels/walk.cuh"

/* Where a key's bits are. */
typedef struct filter_place {
  uint64_t block;
  uint64_t bits; /* filter_bit(bits, j) is the bit of the key's word number j */
  uint32_t first;
} filter_place;

enum { FILTER_FIRST_SHIFT = 60, FILTER_BIT_SHIFT = 55, FILTER_BIT_STEP = 5 };

TSR_INLINE uint32_t filter_bit(uint64_t bits, uint32_t j) {
  return 1u << ((uint32_t)(bits >> (FILTER_BIT_SHIFT - FILTER_BIT_STEP * j)) & 31u);
}

TSR_INLINE bool filter_is_before(const tsr_ctx *c) { return TSR_FACT(c, filter_bits) != 0; }

/* A filter before a table has no size of its own: it has filter_bits for each bucket that a hash can name. */
TSR_INLINE uint64_t filter_blocks(const tsr_ctx *c) {
  const uint32_t block_bits = 32 * TSR_FACT(c, filter_words);
  if (!filter_is_before(c)) return c->t->buckets;
  return (walk_tail(c) * TSR_FACT(c, filter_bits) + block_bits - 1) / block_bits;
}

/* The first hash names the block. It also names the page in whose order a large batch sets its bits (page_of_item), so
 * the blocks of a page's keys are neighbours. */
TSR_INLINE uint64_t filter_block_of(const tsr_ctx *c, tsr_key key) {
  return tsr_reduce(hasher_hash(c, key, 0), filter_blocks(c));
}

/* One hash function gives the block, another one the bits: the upper ones of a product, which are mixed best. */
TSR_INLINE filter_place filter_place_of(const tsr_ctx *c, tsr_key key) {
  const uint64_t bits = (uint64_t)hasher_hash(c, key, 1) * 0x9E3779B97F4A7C15u;
  filter_place place;
  place.block = filter_block_of(c, key);
  place.bits = bits;
  place.first = (uint32_t)(bits >> FILTER_FIRST_SHIFT) & (TSR_FACT(c, filter_words) - 1u);
  return place;
}

TSR_INLINE uint32_t *filter_block(const tsr_ctx *c, uint64_t block) {
  return (uint32_t *)c->t->part[TSR_ROLE_LAYOUT].region[TSR_FACT(c, filter_region)] + block * TSR_FACT(c, filter_words);
}

/* Loads a block for this lane alone. In a table whose tiles have several lanes it is read as pieces of one lane
 * each. */
TSR_INLINE void filter_load(const tsr_ctx *c, uint64_t block, uint32_t mine, uint32_t mode, uint32_t *word) {
  enum { PIECE_WORDS = 4 };
  tsr_ctx alone = *c;
  if (TSR_FACT(c, tile_lanes) == 1) {
    tsr_load(c, filter_block(c, block), 4, 4 * TSR_FACT(c, filter_words), mine, mode, word);
    return;
  }
  alone.lane = 0;
  TSR_UNROLL
  for (uint32_t w = 0; w < TSR_FILTER_WORDS_MAX; w += PIECE_WORDS)
    if (w < TSR_FACT(c, filter_words))
      tsr_load(&alone, filter_block(c, block) + w, 4, 4 * PIECE_WORDS, mine, mode, word + w);
}

/* Whether all bits of the key are set. mine = 0: looks at nothing. */
TSR_INLINE uint32_t filter_has(const tsr_ctx *c, const filter_place *place, uint32_t mine, uint32_t mode) {
  uint32_t word[TSR_BUCKET_WORDS], has = 1;
  filter_load(c, place->block, mine, mode, word);
  if (!mine) return 0;
#ifdef __CUDACC__
  TSR_UNROLL
  for (uint32_t turn = 1; turn < TSR_FILTER_WORDS_MAX; turn *= 2) { /* registers cannot be indexed */
    uint32_t turned[TSR_FILTER_WORDS_MAX];
    TSR_UNROLL
    for (uint32_t w = 0; w < TSR_FILTER_WORDS_MAX; w++)
      if (w < TSR_FACT(c, filter_words) && turn < TSR_FACT(c, filter_words))
        turned[w] = !(place->first & turn)           ? word[w]
                    : TSR_FACT(c, filter_words) == 8 ? word[(w + turn) % 8]
                                                     : word[(w + turn) % TSR_FILTER_WORDS_MAX];
    TSR_UNROLL
    for (uint32_t w = 0; w < TSR_FILTER_WORDS_MAX; w++)
      if (w < TSR_FACT(c, filter_words) && turn < TSR_FACT(c, filter_words)) word[w] = turned[w];
  }
  TSR_UNROLL
  for (uint32_t j = 0; j < TSR_FILTER_FUNCTIONS_MAX; j++)
    if (j < TSR_FACT(c, filter_functions)) has &= (word[j] & filter_bit(place->bits, j)) != 0;
#else
  for (uint32_t j = 0; j < TSR_FACT(c, filter_functions); j++)
    has &= (word[(place->first + j) & (TSR_FACT(c, filter_words) - 1u)] & filter_bit(place->bits, j)) != 0;
#endif
  return has;
}

/* Sets the bits of the lanes' keys with `sets`. On a GPU the whole warp works on one lane's key after another, with as
 * many lanes as a block has pairs of words. So what they write to a sector is one request, not one per word. The
 * atomics are relaxed: bits are only ever set, and a find that asks for keys comes in a later phase; otherwise see
 * filter_mark. */
TSR_INLINE void filter_set(const tsr_ctx *c, const filter_place *place, uint32_t sets) {
#ifdef __CUDACC__
  enum { WARP = 32 };
  const uint32_t lanes = TSR_FACT(c, filter_words) / 2, keys = WARP / lanes, lane = threadIdx.x % WARP;
  const uint32_t todo = __ballot_sync(0xFFFFFFFFu, sets != 0), own = lane % lanes;
#pragma unroll 1
  for (uint32_t from = 0; from < WARP; from += keys) {
    if (!(todo >> from & (keys < WARP ? (1u << keys) - 1u : 0xFFFFFFFFu))) continue;
    const uint32_t owner = from + lane / lanes;
    const uint64_t block = __shfl_sync(0xFFFFFFFFu, (unsigned long long)place->block, (int)owner);
    const uint64_t bits = __shfl_sync(0xFFFFFFFFu, (unsigned long long)place->bits, (int)owner);
    const uint32_t first = __shfl_sync(0xFFFFFFFFu, place->first, (int)owner);
    const uint32_t low = (2 * own - first) & (TSR_FACT(c, filter_words) - 1u);
    const uint32_t high = (low + 1) & (TSR_FACT(c, filter_words) - 1u);
    const uint32_t in_low = low < TSR_FACT(c, filter_functions) ? filter_bit(bits, low) : 0;
    const uint32_t in_high = high < TSR_FACT(c, filter_functions) ? filter_bit(bits, high) : 0;
    const unsigned long long pair = (unsigned long long)in_high << 32 | in_low;
    if (pair && todo >> owner & 1u) atomicOr((unsigned long long *)filter_block(c, block) + own, pair);
  }
#else
  if (!sets) return;
  for (uint32_t j = 0; j < TSR_FACT(c, filter_functions); j++)
    __atomic_fetch_or(filter_block(c, place->block) + ((place->first + j) & (TSR_FACT(c, filter_words) - 1u)),
                      filter_bit(place->bits, j), __ATOMIC_RELAXED);
#endif
}

/* Inserts the lanes' keys. TSR_RESULT_PRESENT: the key seemed to be there. Collective over the warp. */
TSR_INLINE uint32_t filter_insert(const tsr_ctx *c, tsr_key key, uint32_t mine) {
  const filter_place place = filter_place_of(c, key);
  const uint32_t has = filter_has(c, &place, mine, 0);
  filter_set(c, &place, mine && !has);
  return !mine ? (uint32_t)TSR_RESULT_NONE : has ? (uint32_t)TSR_RESULT_PRESENT : (uint32_t)TSR_RESULT_INSERTED;
}

TSR_INLINE uint32_t filter_contains(const tsr_ctx *c, tsr_key key, uint32_t mine) {
  const filter_place place = filter_place_of(c, key);
  return filter_has(c, &place, mine, TSR_FACT(c, is_mixed) ? TSR_LOAD_COHERENT : TSR_LOAD_SETTLED);
}

/* Sets the bits of keys that are about to be inserted behind the filter. A find that begins after an insert has ended
 * must not be stopped. Bulk calls mark their keys in a launch before that of the insert. In a user's kernel where finds
 * overlap inserts, the bits, which other lanes may have set, are visible to all before the pair is. Collective over the
 * warp. */
TSR_INLINE void filter_mark(const tsr_ctx *c, tsr_key key, uint32_t mine) {
  if (!filter_is_before(c)) return;
  const filter_place place = filter_place_of(c, key);
  filter_set(c, &place, mine && !filter_has(c, &place, mine, TSR_FACT(c, is_mixed) ? TSR_LOAD_COHERENT : 0));
#ifdef __CUDACC__
  if (TSR_FACT(c, is_mixed)) {
    tsr_fence();
    __syncwarp();
  }
#endif
}

#endif

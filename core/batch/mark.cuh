/* SPDX-License-Identifier: Apache-2.0
 *
 * The bits of a filter, set in the order of its blocks.
 */
#ifndef TSR_BATCH_MARK_CUH
#define TSR_BATCH_MARK_CUH

#include "core/batch/order.cuh"

/* Sets the bits of a key in a block, wherever the block is; returns whether any was not set. The atomics are relaxed,
 * as in filter_set. */
static __device__ __forceinline__ uint32_t mark_block(const tsr_ctx *c, uint32_t *block, const filter_place *place) {
  uint32_t misses = 0;
#pragma unroll
  for (uint32_t j = 0; j < TSR_FILTER_FUNCTIONS_MAX; j++) {
    if (j >= TSR_FACT(c, filter_functions)) continue;
    uint32_t *word = block + ((place->first + j) & (TSR_FACT(c, filter_words) - 1u));
    const uint32_t bit = filter_bit(place->bits, j);
    if (*(volatile uint32_t *)word & bit) continue;
    atomicOr(word, bit);
    misses = 1;
  }
  return misses;
}

/* The keys of a tile name neighbouring blocks, which are copied to shared memory. The result is written back by
 * atomics, because other tiles have the same page, and a neighbouring page may share its first or last block. Any other
 * block is marked in memory: that of a reserved key, which goes with the last page of a table, or one left out by
 * rounding. */
extern "C" __global__ void __launch_bounds__(TSR_TILE_THREADS, 2)
    tsr_pages_mark_kernel(const __grid_constant__ tsr_mark_step a) {
  typedef unsigned long long pair; /* of words */
  if (is_idle(a.segments.idle)) return;
  tsr_scratch scratch;
  const tsr_ctx c = batch_context(&a.bulk, &scratch);
  uint64_t page;
  const tile t = tile_in(&a.segments, a.bulk.n, &page);
  const uint64_t first = (uint64_t)((double)page * a.page_blocks);
  const uint64_t last = filter_blocks(&c), most = a.block_bytes / (4 * TSR_FACT(&c, filter_words));
  const uint32_t blocks = t.items == 0 ? 0 : (uint32_t)(last - first < most ? last - first : most);
  const uint32_t pairs = blocks * TSR_FACT(&c, filter_words) / 2;
  pair *table = (pair *)filter_block(&c, first), *here = (pair *)tsr_page_memory;
  uint32_t hits = 0;
  for (uint32_t at = threadIdx.x; at < pairs; at += TSR_TILE_THREADS) here[at] = table[at];
  io_key key[TILE_ROUNDS];
  tile_column((const io_key *)a.bulk.keys, &t, key);
  __syncthreads();
#pragma unroll
  for (uint32_t r = 0; r < TILE_ROUNDS; r++) {
    if (r * TSR_TILE_THREADS + threadIdx.x >= t.items) continue;
    const filter_place place = filter_place_of(&c, key[r]);
    const uint64_t block = place.block - first; /* huge for one before */
    hits += block < blocks ? mark_block(&c, (uint32_t *)here + block * TSR_FACT(&c, filter_words), &place)
                           : mark_block(&c, filter_block(&c, place.block), &place);
  }
  __syncthreads();
  for (uint32_t at = threadIdx.x; at < pairs; at += TSR_TILE_THREADS)
    if (here[at] & ~table[at]) atomicOr(&table[at], here[at]);
  if (TSR_FACT(&c, is_filter)) bulk_add(a.bulk.tally, hits);
}

#endif

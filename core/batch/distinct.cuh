/* SPDX-License-Identifier: Apache-2.0
 *
 * Before pages are made: the items of a page with one key become one item, in a set of the page's keys in shared
 * memory. So a page that gets many items is made as one of distinct keys. Why: ../design/0014-pages.md.
 */
#ifndef TSR_BATCH_DISTINCT_CUH
#define TSR_BATCH_DISTINCT_CUH

#include "core/batch/offers.cuh"
#include "core/batch/order.cuh"

/* A page has any number of items, so blocks share it in pieces. `distinct` makes one pair per key of each piece,
 * and `merge` one pair per key of all pieces of a page. These pairs begin at the first item of the piece, or of the
 * page. */

static __device__ __forceinline__ offers_set set_in(const tsr_group_step *a) {
  return offers_in(tsr_page_memory, a->set_room);
}

/* Adds items to the set, and sets their `results`; *fails: a key is reserved, or has no place in it. */
static __device__ __forceinline__ void set_take(const tsr_ctx *c, offers_set set, const tsr_bulk *bulk, uint64_t begin,
                                                uint64_t end, uint8_t *results, uint32_t *fails) {
  enum { ROWS = TSR_SET_ROWS };
#pragma unroll 1
  for (uint64_t row = begin; row < end; row += ROWS * TSR_SET_THREADS) {
    tsr_key key[ROWS];
    tsr_payload payload[ROWS];
    uint32_t at[ROWS], rows = 0;
#pragma unroll
    for (uint32_t r = 0; r < ROWS; r++) {
      at[r] = r * TSR_SET_THREADS;
      rows |= (uint32_t)(row + threadIdx.x + at[r] < end) << r;
    }
    read_offers<ROWS>(c, bulk, row + threadIdx.x, at, rows, key, payload);
#pragma unroll
    for (uint32_t r = 0; r < ROWS; r++)
      if ((rows >> r & 1u) && walk_is_reserved(key[r])) {
        *fails = 1;
        rows &= ~(1u << r);
      }
    rows = offers_add<offers_far, ROWS>(c, set, key, payload, rows, [&](uint32_t r, uint32_t, uint32_t is_new) {
      if (results)
        results[row + threadIdx.x + r * TSR_SET_THREADS] =
            (uint8_t)(is_new ? TSR_RESULT_INSERTED : result_for_present(TSR_FACT(c, duplicates)));
    });
    if (rows) *fails = 1;
  }
}

/* Writes the pairs of the set from item `begin` on. *count: 0 at first; after a barrier, their number. */
static __device__ __forceinline__ void set_write(const tsr_group_step *a, offers_set set, uint64_t begin,
                                                 uint32_t *count) {
  for (uint32_t at = threadIdx.x; at < set.room; at += TSR_SET_THREADS) {
    const io_key key = set.keys[at];
    if (key == (io_key)TSR_EMPTY_KEY) continue;
    const uint64_t to = begin + atomicAdd(count, 1u);
    if (HAS_PAIRS && a->to.are_pairs) {
      ((io_pair *)a->to.keys)[to] = pair_of(key, set.sums[at]);
    } else {
      ((io_key *)a->to.keys)[to] = key;
      if (TSR_PAYLOAD_BITS > 0) ((io_payload *)a->to.values)[to] = set.sums[at];
    }
  }
}

/* What both steps use: a set, and words that the block shares. */
struct set_block {
  uint32_t count, fails;
};

static __device__ __forceinline__ void set_end(const tsr_ctx *c, const tsr_group_step *a, set_block *block,
                                               uint32_t at) {
  __syncthreads();
  bulk_tell_overflows(c, a->bulk.tally, !block->fails);
  if (threadIdx.x == 0) a->made[at] = block->fails ? TSR_NO_SET : block->count;
}

extern "C" __global__ void __launch_bounds__(TSR_SET_THREADS, TSR_SET_BLOCKS)
    tsr_pages_distinct_kernel(const __grid_constant__ tsr_group_step a) {
  __shared__ set_block block;
  tsr_scratch scratch;
  const tsr_ctx c = batch_context(&a.bulk, &scratch);
  const offers_set set = set_in(&a);
  const uint64_t piece = blockIdx.x, found = segment_of(a.pages.tiles, a.pages.count, piece),
                 page = found < a.pages.count ? found : 0;
  const uint64_t begin = a.pages.begins[page] + (piece - a.pages.tiles[page]) * a.piece_items;
  uint64_t end = found < a.pages.count ? a.pages.begins[page + 1] : begin;
  if (end - begin > a.piece_items) end = begin + a.piece_items;
  if (threadIdx.x == 0) block.count = block.fails = 0;
  offers_clear(&c, set);
  __syncthreads();
  set_take(&c, set, &a.bulk, begin, end, a.bulk.results, &block.fails);
  __syncthreads();
  set_write(&a, set, begin, &block.count);
  set_end(&c, &a, &block, blockIdx.x);
}

/* A page of one piece is finished already. */
extern "C" __global__ void __launch_bounds__(TSR_SET_THREADS, TSR_SET_BLOCKS)
    tsr_pages_merge_kernel(const __grid_constant__ tsr_group_step a) {
  __shared__ set_block block;
  tsr_scratch scratch;
  const tsr_ctx c = batch_context(&a.bulk, &scratch);
  const offers_set set = set_in(&a);
  const uint64_t page = blockIdx.x, first = a.pages.tiles[page];
  tsr_bulk made = a.bulk;
  made.keys = a.to.keys;
  made.values = a.to.values;
  made.are_pairs = a.to.are_pairs;
  uint64_t pieces = a.pages.tiles[page + 1] - first;
  if (pieces < 2) return;
  if (threadIdx.x == 0) block.count = block.fails = 0;
  offers_clear(&c, set);
  __syncthreads();
  for (uint64_t piece = 0; piece < pieces; piece++) {
    const uint64_t begin = a.pages.begins[page] + piece * a.piece_items;
    const uint32_t count = a.made[first + piece];
    if (count == TSR_NO_SET)
      block.fails = 1;
    else
      set_take(&c, set, &made, begin, begin + count, NULL, &block.fails);
  }
  __syncthreads();
  set_write(&a, set, a.pages.begins[page], &block.count);
  set_end(&c, &a, &block, (uint32_t)first);
}

#endif

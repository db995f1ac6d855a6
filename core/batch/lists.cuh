/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists that are made in bulk (HashGraph 3.2, 3.3), as kernels. They count the items of each list, sum the counts of
 * the lists before it, and move each item to the next place of its list. Included by batch.cu, whose partition has
 * brought the items into the order of pages of lists. So a block counts and sums those of one page in shared memory.
 * If a page has very many items, other blocks would wait for it; so all blocks work on such a page, and count into
 * memory. Why: ../design/0015-lists-in-bulk.md.
 *
 * All atomics here are relaxed, because they only count: counts are read after a barrier of the block, or by the next
 * kernel, and no two threads get the same place.
 */
#ifndef TSR_BATCH_LISTS_CUH
#define TSR_BATCH_LISTS_CUH

#include "core/batch/order.cuh"

/* Counts of a page's lists; later the place of the next item of each, from the page's first on. */
struct page_lists {
  uint32_t at[TSR_PAGE_LISTS];
};
enum { LISTS_OF_THREAD = TSR_PAGE_LISTS / TSR_LISTS_THREADS };
static_assert(LISTS_OF_THREAD * TSR_LISTS_THREADS == TSR_PAGE_LISTS, "each thread sums as many lists up");
typedef cub::BlockScan<uint32_t, TSR_LISTS_THREADS, cub::BLOCK_SCAN_WARP_SCANS> lists_scan;

static __device__ __forceinline__ uint32_t list_in_page(const tsr_ctx *c, tsr_key key) {
  return (uint32_t)tsr_list_of(c, key) & (TSR_PAGE_LISTS - 1u);
}

/* Puts a pair into slot `at` of the table. */
static __device__ __forceinline__ void put_pair(const tsr_ctx *c, uint64_t at, tsr_key key, tsr_payload payload) {
  const uint32_t slots = TSR_FACT(c, bucket_slots);
  layout_put(c, at / slots, (uint32_t)(at % slots), walk_stored_key(key), payload);
}

static __device__ __forceinline__ void lists_clear(page_lists *lists) {
  for (uint32_t j = threadIdx.x; j < TSR_PAGE_LISTS; j += TSR_LISTS_THREADS) lists->at[j] = 0;
  __syncthreads();
}

/* Counts the items of each list of the page. */
static __device__ __forceinline__ void lists_count(const tsr_ctx *c, const tsr_lists_step *a, uint64_t begin,
                                                   uint64_t end, page_lists *lists) {
  for (uint64_t row = begin; row < end;
       row += TSR_LISTS_THREADS) { /* rows, so that ptxas sees all threads leave at once */
    const uint64_t i = row + threadIdx.x;
    if (i < end) atomicAdd(&lists->at[list_in_page(c, ((const io_key *)a->bulk.keys)[i])], 1u);
  }
  __syncthreads();
}

/* Turns the counts into places, and these into the page's offsets; `begin` is its first slot. Returns the number of its
 * items, to all threads. mine: 0 for a block without a page. */
static __device__ __forceinline__ uint32_t lists_sum(const tsr_lists_step *a, uint64_t page, uint64_t begin,
                                                     uint32_t mine, uint32_t *at, lists_scan::TempStorage *storage) {
  uint32_t own[LISTS_OF_THREAD], all;
  const uint64_t all_lists = a->bulk.state.lists + TSR_TAIL_RESERVED;
  const uint64_t first = (page << TSR_PAGE_LISTS_LOG2) + threadIdx.x * LISTS_OF_THREAD;
#pragma unroll
  for (uint32_t j = 0; j < LISTS_OF_THREAD; j++) own[j] = mine ? at[threadIdx.x * LISTS_OF_THREAD + j] : 0;
  lists_scan(*storage).ExclusiveSum(own, own, all);
#pragma unroll
  for (uint32_t j = 0; mine && j < LISTS_OF_THREAD; j++) {
    at[threadIdx.x * LISTS_OF_THREAD + j] = own[j];
    if (first + j <= all_lists) a->offsets[first + j] = (uint32_t)(begin + own[j]);
  }
  /* the end of the last list, if no list of this page comes after it */
  if (mine && threadIdx.x == 0 && (page + 1) << TSR_PAGE_LISTS_LOG2 == all_lists)
    a->offsets[all_lists] = (uint32_t)(begin + all);
  __syncthreads();
  return all;
}

static __device__ __forceinline__ void list_answer(const tsr_lists_step *a, uint64_t i) {
  put_result(&a->bulk, i, 1, TSR_RESULT_INSERTED);
}

/* Writes each item directly to its slot. */
static __device__ __forceinline__ void lists_place(const tsr_ctx *c, const tsr_lists_step *a, uint64_t begin,
                                                   uint64_t end, page_lists *lists) {
  for (uint64_t i = begin + threadIdx.x; i < end; i += TSR_LISTS_THREADS) {
    const tsr_key key = ((const io_key *)a->bulk.keys)[i];
    put_pair(c, begin + atomicAdd(&lists->at[list_in_page(c, key)], 1u), key, io_payload_at(a->bulk.values, i, 1));
    list_answer(a, i);
  }
}

/* A page, or a tile of a large one, of at most TSR_LISTS_STAGED items. Each thread holds its own items from the first
 * look until they are placed. So a key is read and hashed once, and the atomic that counts an item also gives its
 * number in its list. Wide keys are read again, because registers do not hold them all. */
enum { LISTS_ROWS = TSR_LISTS_STAGED / TSR_LISTS_THREADS, LISTS_KEEP_KEYS = TSR_KEY_BITS == 32, LIST_SHIFT = 16 };
static_assert(LISTS_ROWS * TSR_LISTS_THREADS == TSR_LISTS_STAGED, "each thread holds as many items");
static_assert(TSR_LISTS_STAGED <= 1 << LIST_SHIFT && TSR_PAGE_LISTS < 1 << LIST_SHIFT, "a place has two halves");

struct held_items {
  io_key key[LISTS_ROWS];
  uint32_t place[LISTS_ROWS]; /* the list in its page, and which of its items this is; NO_PLACE: in no list */
};

/* A number for each of a warp's items in a list, in ascending order. SHARED: many of them are in one list, whose
 * counter would be asked once for each, one after the other. So those of the first lane's list ask together. */
template <bool SHARED>
static __device__ __forceinline__ uint32_t list_take(page_lists *lists, uint32_t list, uint32_t mine) {
  if (SHARED && LANES_MEET) {
    const uint32_t lane = threadIdx.x % WARP_LANES, shared = __shfl_sync(0xFFFFFFFFu, list, 0); /* by all lanes */
    const uint32_t is_common = mine && list == shared, common = __ballot_sync(0xFFFFFFFFu, is_common);
    uint32_t first = 0;
    if (common && lane == tsr_lowest(common)) first = atomicAdd(&lists->at[list], (uint32_t)__popc(common));
    first = __shfl_sync(0xFFFFFFFFu, first, common ? tsr_lowest(common) : 0);
    if (is_common) return first + (uint32_t)__popc(common & ((1u << lane) - 1));
  }
  return mine ? atomicAdd(&lists->at[list], 1u) : 0;
}

static __device__ __forceinline__ void lists_read(const tsr_lists_step *a, uint64_t begin, uint64_t end,
                                                  io_key key[LISTS_ROWS]) {
#pragma unroll
  for (uint32_t r = 0; r < LISTS_ROWS; r++) {
    const uint64_t i = begin + r * TSR_LISTS_THREADS + threadIdx.x;
    key[r] = i < end ? ((const io_key *)a->bulk.keys)[i] : TSR_EMPTY_KEY;
  }
}

template <bool SHARED>
static __device__ __forceinline__ void lists_hold(const tsr_ctx *c, const tsr_lists_step *a, uint64_t begin,
                                                  uint64_t end, page_lists *lists, held_items *held) {
  lists_read(a, begin, end, held->key);
#pragma unroll
  for (uint32_t r = 0; r < LISTS_ROWS; r++) {
    const uint32_t mine = begin + r * TSR_LISTS_THREADS + threadIdx.x < end, list = list_in_page(c, held->key[r]);
    const uint32_t place = list_take<SHARED>(lists, list, mine);
    held->place[r] = mine ? list << LIST_SHIFT | place : NO_PLACE;
  }
  __syncthreads();
}

/* Puts items in order in shared memory first, so that a warp writes neighbours. */
static __device__ __forceinline__ void lists_place_held(const tsr_ctx *c, const tsr_lists_step *a, uint64_t begin,
                                                        uint32_t items, const page_lists *lists,
                                                        const held_items *held) {
  io_key *keys = (io_key *)tsr_page_memory;
  io_payload *payloads = (io_payload *)(keys + TSR_LISTS_STAGED);
#pragma unroll
  for (uint32_t r = 0; r < LISTS_ROWS; r++) {
    const uint64_t i = begin + r * TSR_LISTS_THREADS + threadIdx.x;
    if (held->place[r] == NO_PLACE) continue;
    const uint32_t at = lists->at[held->place[r] >> LIST_SHIFT] + (held->place[r] & ((1u << LIST_SHIFT) - 1));
    keys[at] = LISTS_KEEP_KEYS ? held->key[r] : ((const io_key *)a->bulk.keys)[i];
#if TSR_PAYLOAD_BITS > 0
    payloads[at] = io_payload_at(a->bulk.values, i, 1);
#endif
    list_answer(a, i);
  }
  __syncthreads();
  for (uint32_t at = threadIdx.x; at < items; at += TSR_LISTS_THREADS)
    put_pair(c, begin + at, keys[at], TSR_PAYLOAD_BITS > 0 ? payloads[at] : 0);
}

/* Writes items directly to their slots. Those of a tile's lists are far from each other; but if one list has most of
 * the items, a warp's are neighbours. Some are read before the first of them is written, because otherwise a thread
 * waits for each. */
static __device__ __forceinline__ void lists_place_tile(const tsr_ctx *c, const tsr_lists_step *a, uint64_t begin,
                                                        uint64_t first_slot, const page_lists *lists,
                                                        const held_items *held) {
  enum { SOME = 6 };
  static_assert(LISTS_ROWS % SOME == 0, "each row once");
#pragma unroll
  for (uint32_t first = 0; first < LISTS_ROWS; first += SOME) {
    io_key key[SOME];
    io_payload payload[SOME];
#pragma unroll
    for (uint32_t r = 0; r < SOME; r++) {
      const uint64_t i = begin + (first + r) * TSR_LISTS_THREADS + threadIdx.x;
      const uint32_t mine = held->place[first + r] != NO_PLACE;
      key[r] = LISTS_KEEP_KEYS ? held->key[first + r] : io_key_at(a->bulk.keys, i, mine);
      payload[r] = io_payload_at(a->bulk.values, i, mine);
    }
#pragma unroll
    for (uint32_t r = 0; r < SOME; r++) {
      const uint32_t place = held->place[first + r], list = place >> LIST_SHIFT;
      if (place == NO_PLACE) continue;
      put_pair(c, first_slot + lists->at[list] + (place & ((1u << LIST_SHIFT) - 1)), key[r], payload[r]);
      list_answer(a, begin + (first + r) * TSR_LISTS_THREADS + threadIdx.x);
    }
  }
}

extern "C" __global__ void __launch_bounds__(TSR_LISTS_THREADS, 2)
    tsr_pages_lists_kernel(const __grid_constant__ tsr_lists_step a) {
  __shared__ page_lists lists;
  __shared__ typename lists_scan::TempStorage storage;
  __shared__ uint32_t large;
  tsr_scratch scratch;
  const tsr_ctx c = batch_context(&a.bulk, &scratch);
  const uint64_t page = blockIdx.x, begin = a.pages.begins[page];
  uint64_t end = a.pages.begins[page + 1];
  const uint32_t is_large = end - begin > TSR_LARGE_PAGE, holds = end - begin <= TSR_LISTS_STAGED;
  held_items held;
  if (threadIdx.x == 0) {
    large = is_large ? atomicAdd(a.large, 1u) : 0;
    if (is_large) a.large[1 + large] = (uint32_t)page;
  }
  lists_clear(&lists);
  if (is_large) /* all blocks count into these */
    for (uint32_t j = threadIdx.x; j < TSR_PAGE_LISTS; j += TSR_LISTS_THREADS)
      a.list_counts[(uint64_t)large * TSR_PAGE_LISTS + j] = 0;
  end = is_large ? begin : end; /* no thread ends early: ptxas would not see that all of them meet again (sm_80) */
  if (holds)
    lists_hold<false>(&c, &a, begin, end, &lists, &held);
  else
    lists_count(&c, &a, begin, end, &lists);
  const uint32_t items = lists_sum(&a, page, begin, 1, lists.at, &storage);
  if (holds)
    lists_place_held(&c, &a, begin, items, &lists, &held);
  else
    lists_place(&c, &a, begin, end, &lists);
  if (threadIdx.x == 0 && items) IO_ADD(&a.bulk.tally->hits, items);
}

/* ---- Large pages ----------------------------------------------------------------------------- */

/* A tile of a large page; blocks take all of these in turn. */
struct large_tile {
  uint32_t large; /* which of the large pages */
  uint64_t page, begin, end;
};

/* The at-th tile of all; false if there are fewer. *taken: the tiles of the large pages before t->large. */
static __device__ __forceinline__ bool next_large_tile(const tsr_lists_step *a, uint64_t at, uint64_t *taken,
                                                       large_tile *t) {
  for (; t->large < a->large[0]; t->large++) {
    t->page = a->large[1 + t->large];
    const uint64_t begin = a->pages.begins[t->page], end = a->pages.begins[t->page + 1];
    const uint64_t tiles = (end - begin + TSR_LISTS_STAGED - 1) / TSR_LISTS_STAGED;
    if (at < *taken + tiles) {
      t->begin = begin + (at - *taken) * TSR_LISTS_STAGED;
      t->end = end - t->begin > TSR_LISTS_STAGED ? t->begin + TSR_LISTS_STAGED : end;
      return true;
    }
    *taken += tiles;
  }
  return false;
}

extern "C" __global__ void __launch_bounds__(TSR_LISTS_THREADS, 2)
    tsr_pages_large_count_kernel(const __grid_constant__ tsr_lists_step a) {
  __shared__ page_lists lists;
  tsr_scratch scratch;
  const tsr_ctx c = batch_context(&a.bulk, &scratch);
  large_tile t = {0, 0, 0, 0};
  uint64_t taken = 0;
  for (uint64_t at = blockIdx.x; next_large_tile(&a, at, &taken, &t); at += gridDim.x) {
    uint32_t *all = a.list_counts + (uint64_t)t.large * TSR_PAGE_LISTS;
    io_key key[LISTS_ROWS];
    lists_read(&a, t.begin, t.end, key);
    lists_clear(&lists);
#pragma unroll
    for (uint32_t r = 0; r < LISTS_ROWS; r++)
      if (t.begin + r * TSR_LISTS_THREADS + threadIdx.x < t.end) atomicAdd(&lists.at[list_in_page(&c, key[r])], 1u);
    __syncthreads();
    for (uint32_t j = threadIdx.x; j < TSR_PAGE_LISTS; j += TSR_LISTS_THREADS)
      if (lists.at[j]) atomicAdd(&all[j], lists.at[j]);
    __syncthreads();
  }
}

/* A block has the large page of its number, or none. No thread ends early, as above. */
extern "C" __global__ void __launch_bounds__(TSR_LISTS_THREADS, 2)
    tsr_pages_large_sum_kernel(const __grid_constant__ tsr_lists_step a) {
  __shared__ typename lists_scan::TempStorage storage;
  const uint32_t mine = blockIdx.x < a.large[0];
  const uint64_t page = mine ? a.large[1 + blockIdx.x] : 0, begin = a.pages.begins[page];
  uint32_t *at = a.list_counts + (uint64_t)blockIdx.x * TSR_PAGE_LISTS;
  const uint32_t items = lists_sum(&a, page, begin, mine, at, &storage);
  if (threadIdx.x == 0 && items) IO_ADD(&a.bulk.tally->hits, items);
}

/* A tile takes as many places of each list as it has items for it. */
static __device__ __forceinline__ void lists_place_large(const tsr_lists_step *a) {
  __shared__ page_lists lists;
  tsr_scratch scratch;
  const tsr_ctx c = batch_context(&a->bulk, &scratch);
  large_tile t = {0, 0, 0, 0};
  uint64_t taken = 0;
  for (uint64_t at = blockIdx.x; next_large_tile(a, at, &taken, &t); at += gridDim.x) {
    uint32_t *all = a->list_counts + (uint64_t)t.large * TSR_PAGE_LISTS;
    held_items held;
    lists_clear(&lists);
    lists_hold<true>(&c, a, t.begin, t.end, &lists, &held);
    for (uint32_t j = threadIdx.x; j < TSR_PAGE_LISTS; j += TSR_LISTS_THREADS)
      if (lists.at[j]) lists.at[j] = atomicAdd(&all[j], lists.at[j]);
    __syncthreads();
    lists_place_tile(&c, a, t.begin, a->pages.begins[t.page], &lists, &held);
    __syncthreads();
  }
}

/* The linker takes the roomy form, with more registers, if the first one spills: what two blocks leave a thread is all
 * that a tile's items and places need, and some hashers take two registers more. */
extern "C" __global__ void __launch_bounds__(TSR_LISTS_THREADS, 2)
    tsr_pages_large_place_kernel(const __grid_constant__ tsr_lists_step a) {
  lists_place_large(&a);
}
extern "C" __global__ void __launch_bounds__(TSR_LISTS_THREADS, 1)
    tsr_roomy_pages_large_place_kernel(const __grid_constant__ tsr_lists_step a) {
  lists_place_large(&a);
}

/* ---- By random access ------------------------------------------------------------------------ */

/* Counts the items with `mine` in their keys' lists, and returns how many come before each. Atomics on one address take
 * turns, so lanes of one list ask together. Collective over the warp. */
static __device__ __forceinline__ uint64_t any_take(const tsr_ctx *c, uint64_t *counts, tsr_key key, uint32_t mine) {
  const uint32_t lane = threadIdx.x % 32, all = 0xFFFFFFFFu;
  const unsigned long long list = mine ? tsr_list_of(c, key) : 0;
  const uint32_t same = __match_any_sync(all, list) & __ballot_sync(all, mine);
  const uint32_t leader = mine ? tsr_lowest(same) : lane;
  unsigned long long first = 0;
  if (mine && lane == leader) first = IO_ADD(&counts[list], tsr_count_bits(same));
  first = __shfl_sync(all, first, (int)leader);
  return first + tsr_count_bits(same & ((1u << lane) - 1u));
}

extern "C" __global__ void tsr_pages_any_count_kernel(const __grid_constant__ tsr_lists_step a) {
  tsr_scratch scratch;
  const tsr_ctx c = batch_context(&a.bulk, &scratch);
  const uint64_t i = io_item(0);
  const uint32_t mine = i < a.bulk.n;
  any_take(&c, a.counts, io_key_at(a.bulk.keys, i, mine), mine);
}

extern "C" __global__ void tsr_pages_any_begin_kernel(const __grid_constant__ tsr_lists_step a) {
  const uint64_t i = io_item(0);
  if (i <= a.bulk.state.lists + TSR_TAIL_RESERVED) a.offsets[i] = (uint32_t)a.counts[i];
}

extern "C" __global__ void __launch_bounds__(TSR_BLOCK_THREADS)
    tsr_pages_any_place_kernel(const __grid_constant__ tsr_lists_step a) {
  tsr_scratch scratch;
  const tsr_ctx c = batch_context(&a.bulk, &scratch);
  const uint64_t i = io_item(0);
  const uint32_t mine = i < a.bulk.n;
  const tsr_key key = io_key_at(a.bulk.keys, i, mine);
  const uint64_t place = any_take(&c, a.counts, key, mine);
  if (mine) {
    put_pair(&c, place, key, io_payload_at(a.bulk.values, i, 1));
    list_answer(&a, i);
  }
  bulk_add(a.bulk.tally, mine);
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * A page of a table in the memory of a block of threads: loaded, given its items, stored; and the items of pages that
 * give up. What happens to a key in a page is the walk itself (../kernels/ops.cuh): in the link of `insert` the table
 * is one page in shared memory (fact in_page). Why, and what it costs: ../design/0014-pages.md.
 *
 * Read next: counted.cuh.
 */
#ifndef TSR_BATCH_PLACE_CUH
#define TSR_BATCH_PLACE_CUH

#include "core/batch/counted.cuh"
#include "core/batch/order.cuh"

/* Items are the stash's buckets. Plain stores suffice: all threads write the same to a word, and a later kernel reads
 * it. */
extern "C" __global__ void __launch_bounds__(TSR_BLOCK_THREADS)
    tsr_pages_bar_kernel(const __grid_constant__ tsr_place_step a) {
  tsr_scratch scratch;
  const tsr_ctx c = batch_context(&a.bulk, &scratch);
  const uint64_t i = io_item(0), first = walk_tail(&c) + TSR_TAIL_RESERVED;
  const uint32_t todo = tsr_ballot(&c, i < a.bulk.state.stash_buckets);
  TSR_NO_UNROLL
  for (uint32_t turn = 0; turn < TSR_FACT(&c, tile_lanes); turn++) {
    tsr_bucket b;
    const uint64_t ref = tsr_shuffle64(&c, i < a.bulk.state.stash_buckets ? first + i : 0, turn);
    uint32_t erased, pairs = bulk_occupied(&c, ref, todo >> turn & 1u, &b, &erased);
    for (; tsr_warp_any(&c, pairs); pairs &= pairs - 1) {
      const tsr_key key = layout_key(&c, &b, pairs ? tsr_lowest(pairs) : 0);
      if (pairs && c.lane == 0) a.barred[tsr_page_of(&c, key)] = 1;
    }
  }
}

/* The block's copy of a page. Each region's part is a multiple of 16 bytes, and so is its offset. */
static __device__ __forceinline__ void page_load(const tsr_place_step *a, uint64_t page) {
  for (uint32_t i = 0; i < a->room.regions; i++) {
    const tsr_page_region *region = &a->room.region[i];
    const uint4 *from = (const uint4 *)(region->table + page * region->page_bytes);
    uint4 *to = (uint4 *)(tsr_page_memory + region->offset_bytes);
    const uint4 fill = {region->fill, region->fill, region->fill, region->fill};
    for (uint32_t at = threadIdx.x; at < region->page_bytes / 16; at += blockDim.x)
      to[at] = a->room.is_clear ? fill : __ldcs(from + at);
  }
  if (a->bulk.state.lock_shift) {
    uint32_t *locks = (uint32_t *)(tsr_page_memory + (uint32_t)(unsigned long long)a->bulk.state.locks);
    for (uint32_t at = threadIdx.x; at < TSR_PAGES_LOCK_BYTES / 4; at += blockDim.x) locks[at] = 0;
  }
}

static __device__ __forceinline__ void page_store(const tsr_place_step *a, uint64_t page) {
  for (uint32_t i = 0; i < a->room.regions; i++) {
    const tsr_page_region *region = &a->room.region[i];
    uint4 *to = (uint4 *)(region->table + page * region->page_bytes);
    const uint4 *from = (const uint4 *)(tsr_page_memory + region->offset_bytes);
    for (uint32_t at = threadIdx.x; at < region->page_bytes / 16; at += blockDim.x) __stcs(to + at, from[at]);
  }
}

/* Prefetches a column of the page's items, a line per thread, while the page is made. */
static __device__ __forceinline__ void page_prefetch(const char *column, uint64_t begin, uint64_t end) {
  enum { LINE_BYTES = 128 };
  for (uint64_t at = begin + threadIdx.x * LINE_BYTES; at < end; at += TSR_PAGES_THREADS * LINE_BYTES)
    asm volatile("prefetch.global.L2 [%0];" : : "l"(column + at));
}

static __device__ __forceinline__ void page_prefetch_items(const tsr_place_step *a, uint64_t begin, uint64_t end) {
  page_prefetch((const char *)a->bulk.keys, item_place(&a->bulk, begin) * sizeof(io_key),
                item_place(&a->bulk, end) * sizeof(io_key));
  if (TSR_PAYLOAD_BITS && a->bulk.values && !a->bulk.are_pairs)
    page_prefetch((const char *)a->bulk.values, begin * sizeof(io_payload), end * sizeof(io_payload));
}

/* How many items a page has after those of one key became one; TSR_NO_SET: they did not. */
static __device__ __forceinline__ uint32_t distinct_items(const tsr_place_step *a, uint64_t page) {
  return a->pages.begins[page] < a->pages.begins[page + 1] ? a->made[a->pages.tiles[page]] : 0;
}

/* ---- Keys that are present ------------------------------------------------------------------- */

/* If keys repeat, most items find theirs where its walk begins, and only have to combine. While all items of a chunk
 * look there, nothing moves and no slot is claimed. Items that do not see their key are listed, and inserted by the
 * walk before the next chunk. Warp-synchronous lanes make no such list. */
static __device__ __forceinline__ bool looks_first(const tsr_ctx *c) {
  return TSR_POLICY_LOOKS(TSR_FACT(c, duplicates)) && !TSR_FACT(c, warp_sync);
}

static __device__ __forceinline__ bool combine_first(const tsr_ctx *c, const tsr_place_step *a, uint64_t i, tsr_key key,
                                                     tsr_payload payload) {
  const uint32_t policy = TSR_FACT(c, duplicates);
  tsr_probe probe;
  tsr_bucket b;
  if (walk_is_reserved(key) || !walk_begin(c, key, &probe)) return false;
  layout_load(c, probe.ref, 1, tsr_load_mode(c, TSR_LOAD_COHERENT), &b);
  const uint32_t matches = layout_match(c, &b, key);
  tsr_ctx still = *c;
  still.still = 1;
  if (!matches || !combine(&still, &b, tsr_lowest(matches), policy, &payload)) return false;
  put_result(&a->bulk, i, 1, result_for_present(policy));
  TSR_COUNT(c, probes);
  tsr_leave_key(c, 0, 1, 1);
  return true;
}

/* Works on all items of a page; returns how many of this thread got a slot. */
static __device__ __forceinline__ uint32_t page_look_in(const tsr_ctx *c, const tsr_place_step *a, uint64_t begin,
                                                        uint32_t items, page_left *left, uint32_t *gives_up) {
  enum { ROWS = 4, CHUNK = ROWS * TSR_PAGES_THREADS };
  static_assert(CHUNK <= TSR_PAGES_FIRSTS, "all of a chunk may gather");
  uint32_t hits = 0, fails = 0;
  for (uint32_t chunk = 0; chunk < items; chunk += CHUNK) {
    const uint32_t stops = *(volatile uint32_t *)gives_up;
    tsr_key key[ROWS];
    tsr_payload payload[ROWS];
    uint32_t at[ROWS], rows = 0;
    if (threadIdx.x == 0) left->firsts = 0;
#pragma unroll
    for (uint32_t r = 0; r < ROWS; r++) {
      at[r] = r * TSR_PAGES_THREADS;
      rows |= (uint32_t)(chunk + at[r] + threadIdx.x < items) << r;
    }
    read_offers<ROWS>(c, &a->bulk, begin + chunk + threadIdx.x, at, rows, key, payload);
    __syncthreads();
#pragma unroll
    for (uint32_t r = 0; r < ROWS; r++) {
      const uint32_t item = chunk + r * TSR_PAGES_THREADS + threadIdx.x;
      if (item < items && !stops && !combine_first(c, a, begin + item, key[r], payload[r]))
        left->first[atomicAdd(&left->firsts, 1u)] = (uint16_t)(item - chunk);
    }
    __syncthreads();
    const uint32_t firsts = left->firsts;
    for (uint32_t row = 0; row < firsts; row += TSR_PAGES_THREADS) {
      const uint32_t at = row + threadIdx.x, mine = at < firsts;
      hits += page_insert(c, &a->bulk, begin + chunk + (mine ? left->first[at] : 0), mine, &fails);
    }
    if (fails) *gives_up = 1;
    __syncthreads();
  }
  return hits;
}

/* ---- A page ---------------------------------------------------------------------------------- */

/* Whether items with the key of an earlier item are taken out before the page is made. */
static __device__ __forceinline__ uint32_t seeks_repeats(const tsr_ctx *c, const tsr_place_step *a) {
  return counts_distinct(c) && !a->made;
}

/* Whether the slots of a page are given out by counting. */
static __device__ __forceinline__ uint32_t page_counts(const tsr_ctx *c, const tsr_place_step *a, uint64_t items) {
  return TSR_FACT(c, counts_slots) && a->room.counts_offset_bytes && items <= TSR_PAGES_COUNTED_ITEMS &&
         (!seeks_repeats(c, a) || (takes_any(c) && items * 3 / 2 <= repeats_room(a)));
}

/* Makes a page. The block decides whether it gives up, by one word of shared memory. Plain stores suffice: all threads
 * write 1, one that reads it too early only stops later, and a barrier comes before it counts. A page without items is
 * left alone, but no thread ends early: ptxas would not see that all of them meet again (sm_80). ROWS: items of a
 * thread that are under way. */
template <uint32_t ROWS>
static __device__ __forceinline__ void page_insert_all(const tsr_place_step *a) {
  __shared__ bulk_statistics statistics;
  __shared__ uint32_t gives_up;
  __shared__ page_left left;
  const uint64_t page = blockIdx.x, begin = a->pages.begins[page];
  const uint32_t made = a->made ? distinct_items(a, page) : 0, has_set = made != TSR_NO_SET;
  const uint64_t end = !a->made ? end_of(a->pages.begins, a->pages.ends, page) : begin + (has_set ? made : 0);
  tsr_scratch scratch;
  tsr_ctx c = batch_context(&a->bulk, &scratch);
  const uint32_t counts = page_counts(&c, a, end - begin), looks = looks_first(&c) && !counts;
  uint32_t hits = 0, fails = 0, stops = 0;
  bulk_begin_statistics(&c, &statistics);
  if (threadIdx.x == 0) gives_up = !has_set || (a->barred && a->barred[page]);
  page_prefetch_items(a, begin, end);
  if (counts && seeks_repeats(&c, a)) page_find_repeats(&c, a, begin, (uint32_t)(end - begin), &left, &gives_up);
  if (begin < end) page_load(a, page);
  if (counts) counts_clear(a, c.t->buckets, &left);
  __syncthreads();
  if (counts) hits = page_count_in<ROWS>(&c, a, begin, (uint32_t)(end - begin), &left, &gives_up);
  if (looks) hits = page_look_in(&c, a, begin, (uint32_t)(end - begin), &left, &gives_up);
  __syncthreads();
  const uint32_t evicts = counts && evicts_counted(&c);
  if (evicts) hits += page_evict_for(&c, a, begin, &left, &gives_up);
  const uint32_t items = looks || evicts ? 0 : counts ? left.items : (uint32_t)(end - begin);
  for (uint32_t row = 0; row < items; row += TSR_PAGES_THREADS) {
    const uint32_t at = row + threadIdx.x;
    stops |= tsr_warp_any(&c, *(volatile uint32_t *)&gives_up);
    const uint32_t mine = at < items && !stops;
    hits += page_insert(&c, &a->bulk, begin + (counts && mine ? left.item[at] : at), mine, &fails);
    if (fails) gives_up = 1;
  }
  __syncthreads();
  const uint32_t keeps = !gives_up, rests = !keeps || (evicts && page_hand_over(a, page, begin, &left));
  if (TSR_FACT(&c, combines_later))
    for (uint64_t row = begin; row < end; row += TSR_PAGES_THREADS) {
      const uint64_t i = row + threadIdx.x;
      bulk_combine(&c, &a->bulk, i, keeps && i < end);
    }
  __syncthreads();
  if (keeps && begin < end) page_store(a, page);
  if (rests && threadIdx.x == 0) a->rest[1 + atomicAdd(a->rest, 1u)] = (uint32_t)page;
  bulk_tell_overflows(&c, a->bulk.tally, keeps);
  bulk_add(a->bulk.tally, keeps ? hits : 0);
  if (keeps && begin < end) bulk_end_statistics(&c, &statistics, a->bulk.tally);
}

/* If a form spills, the linker takes the next one: with fewer items of a thread under way, then with more registers. */
extern "C" __global__ void __launch_bounds__(TSR_PAGES_THREADS, 3)
    tsr_pages_insert_kernel(const __grid_constant__ tsr_place_step a) {
  if (!is_idle(a.pages.idle)) page_insert_all<4>(&a);
}
extern "C" __global__ void __launch_bounds__(TSR_PAGES_THREADS, 3)
    tsr_medium_pages_insert_kernel(const __grid_constant__ tsr_place_step a) {
  if (!is_idle(a.pages.idle)) page_insert_all<2>(&a);
}
extern "C" __global__ void __launch_bounds__(TSR_PAGES_THREADS, 1)
    tsr_roomy_pages_insert_kernel(const __grid_constant__ tsr_place_step a) {
  if (!is_idle(a.pages.idle)) page_insert_all<2>(&a);
}

/* The items of pages that gave up, by random access. Blocks take pages in turn, and rows of items, so that ptxas sees
 * all threads leave a loop at once. COMBINES: what an insert has left of them. */
template <bool COMBINES>
static __device__ __forceinline__ void work_on_rest(const tsr_place_step *a) {
  __shared__ bulk_statistics statistics;
  tsr_scratch scratch;
  tsr_ctx c = batch_context(&a->bulk, &scratch);
  uint32_t hits = 0;
  bulk_begin_statistics(&c, &statistics);
  for (uint32_t at = blockIdx.x; at < a->rest[0]; at += gridDim.x) {
    const uint64_t page = a->rest[1 + at], begin = a->pages.begins[page],
                   end = end_of(a->pages.begins, a->pages.ends, page);
    for (uint64_t row = begin; row < end; row += TSR_BLOCK_THREADS) {
      const uint64_t i = row + threadIdx.x;
      const uint32_t mine = is_rest(&a->bulk, a->is_hot, i, i < end);
      hits += COMBINES ? bulk_combine(&c, &a->bulk, i, mine) : bulk_insert(&c, &a->bulk, i, mine);
    }
  }
  bulk_add(a->bulk.tally, hits);
  bulk_end_statistics(&c, &statistics, a->bulk.tally);
}

extern "C" __global__ void __launch_bounds__(TSR_BLOCK_THREADS, 1)
    tsr_pages_rest_kernel(const __grid_constant__ tsr_place_step a) {
  work_on_rest<false>(&a);
}
extern "C" __global__ void __launch_bounds__(TSR_BLOCK_THREADS, 1)
    tsr_pages_rest_combine_kernel(const __grid_constant__ tsr_place_step a) {
  work_on_rest<true>(&a);
}

/* Items are those of the batch, as it came. */
extern "C" __global__ void __launch_bounds__(TSR_BLOCK_THREADS, 1)
    tsr_pages_spilled_kernel(const __grid_constant__ tsr_order_step a) {
  __shared__ bulk_statistics statistics;
  tsr_scratch scratch;
  const tsr_ctx c = batch_context(&a.bulk, &scratch);
  const uint64_t items = *a.spills ? a.bulk.n : 0;
  uint32_t hits = 0;
  bulk_begin_statistics(&c, &statistics);
  __syncthreads();
  for (uint64_t row = blockIdx.x * (uint64_t)TSR_BLOCK_THREADS; row < items;
       row += gridDim.x * (uint64_t)TSR_BLOCK_THREADS) {
    const uint64_t i = row + threadIdx.x, page = page_of_item(&c, a.pages, io_key_at(a.bulk.keys, i, i < items));
    const uint64_t bin = page >> a.shift;
    const uint32_t is_left = a.segments.ends[page] > (page + 1) * a.room || a.cursors[bin] > room_begin(&a, bin + 1);
    hits += bulk_insert(&c, &a.bulk, i, is_left && i < items);
  }
  bulk_add(a.bulk.tally, hits);
  bulk_end_statistics(&c, &statistics, a.bulk.tally);
}

#endif

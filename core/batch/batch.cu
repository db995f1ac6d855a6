/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps of a batch that is inserted page by page (steps.h says which), as kernels. What is done to a key in a page
 * is the walk itself, by ops.cuh: in the link of `insert` the table is one page in shared memory (fact in_page). Why it
 * is done so, and what it costs: ../design/0014-pages.md.
 */
#define TSR_ONE_TABLE
#define TSR_MAY_BE_PAIRS
#include "core/batch/bins.cuh"
#include "core/batch/steps.h"
#include "core/kernels/context.cuh"
#include "core/kernels/tally.cuh"

#include <cub/block/block_scan.cuh>

/* Whether an item of a page that is worked on by random access is to be inserted there. Of lists, whose other items are in
 * their places by then, it is a reserved key; of the slots of hot keys, one that is not empty. */
static __device__ __forceinline__ uint32_t is_rest(const tsr_ctx *c, const tsr_pages *a, uint64_t i, uint32_t mine) {
  if (a->is_hot) return mine && !walk_is_reserved(io_key_at(a->bulk.keys, i, 1));
  if (!TSR_FACT(c, has_lists)) return mine;
  return mine && walk_is_reserved(io_key_at(a->bulk.keys, i, 1));
}

/* Keys and values of one width may lie as pairs: then runs are twice as long. */
enum { HAS_PAIRS = TSR_KEY_BITS == TSR_PAYLOAD_BITS };
#if TSR_KEY_BITS == 64
typedef ulonglong2 io_pair;
#else
typedef uint2 io_pair;
#endif
static __device__ __forceinline__ io_pair pair_of(tsr_key key, tsr_payload payload) {
  io_pair pair;
  pair.x = (io_key)key;
  pair.y = (io_key)payload;
  return pair;
}

/* Items of a thread, `at` after item `first`; those whose bit is not set are 0, and values that there are none. */
template <uint32_t ROWS>
static __device__ __forceinline__ void read_rows(const tsr_bulk *bulk, uint64_t first, const uint32_t at[ROWS],
                                                 uint32_t rows, tsr_key key[ROWS], tsr_payload payload[ROWS]) {
  if (HAS_PAIRS && bulk->are_pairs) {
#pragma unroll
    for (uint32_t r = 0; r < ROWS; r++) {
      io_pair pair = pair_of(0, 0);
      if (rows >> r & 1u) pair = __ldcs((const io_pair *)bulk->keys + first + at[r]);
      key[r] = pair.x;
      payload[r] = pair.y;
    }
    return;
  }
#pragma unroll
  for (uint32_t r = 0; r < ROWS; r++) {
    key[r] = io_key_at((const io_key *)bulk->keys + first, at[r], rows >> r & 1u);
    payload[r] = io_payload_at((const io_payload *)bulk->values + first, at[r], bulk->values && (rows >> r & 1u));
  }
}

static __device__ __forceinline__ tsr_ctx pages_context(const tsr_pages *a, tsr_scratch *scratch) {
  return kernel_context(&a->bulk.state, scratch, &a->bulk.tally->overflows);
}

/* What such items offer. */
template <uint32_t ROWS>
static __device__ __forceinline__ void read_offers(const tsr_ctx *c, const tsr_bulk *bulk, uint64_t first,
                                                   const uint32_t at[ROWS], uint32_t rows, tsr_key key[ROWS],
                                                   tsr_payload payload[ROWS]) {
  read_rows<ROWS>(bulk, first, at, rows, key, payload);
#pragma unroll
  for (uint32_t r = 0; r < ROWS; r++) payload[r] = bulk->values ? offered(c, payload[r]) : offered_at(c, NULL, 0, 0);
}

/* ---- The partition --------------------------------------------------------------------------- */

/* Atomics of the partition are relaxed, because they count items or give out places, and order nothing: a barrier of the
 * block, or the end of the kernel, comes before anybody reads what they have made. */

enum {
  TILE_ITEM_BYTES = sizeof(io_key) + (TSR_PAYLOAD_BITS ? sizeof(io_payload) : 0),
  TILE_ITEMS = TSR_TILE_ITEMS(TILE_ITEM_BYTES)
};

/* A block's tile: items from `begin` on, all of one segment, whose bins begin at first_bin. */
struct tile {
  uint64_t begin;
  uint32_t items, first_bin, bins; /* 0: there is no such tile */
};

/* Where segment, or page, i ends. What had no room for all of its items has none. */
static __device__ __forceinline__ uint64_t end_of(const uint64_t *begins, const uint64_t *stops, uint64_t i) {
  const uint64_t next = begins[i + 1], stop = stops ? stops[i] : next;
  return stop <= next ? stop : begins[i];
}

/* Where the room of a bin begins, and that of the one before ends, of a batch that nobody has counted. */
static __device__ __forceinline__ uint64_t room_begin(const tsr_pages *a, uint64_t bin) {
  const uint64_t page = bin << a->shift;
  return (page < a->pages ? page : a->pages) * a->room;
}

/* The segment that a tile belongs to, or `segments`, where there is no such tile. All threads of the block look, each at the
 * begin of a part of the segments that are left, so that it waits for memory once for 512 of them. */
static __device__ __forceinline__ uint64_t segment_of(const uint64_t *tiles, uint64_t segments, uint64_t tile) {
  enum { PARTS_LOG2 = 9 };
  static_assert(TSR_TILE_THREADS == 1 << PARTS_LOG2 && TSR_SET_THREADS == TSR_TILE_THREADS, "a thread looks at a part");
  __shared__ uint64_t found;
  uint64_t first = 0, end = segments;
  if (threadIdx.x == 0) found = segments;
  __syncthreads();
  do {
    const uint64_t part = (end - first + (1u << PARTS_LOG2) - 1) >> PARTS_LOG2, own = first + threadIdx.x * part;
    const uint64_t next = own + part < end ? own + part : end;
    if (own < end && tiles[own] <= tile && tile < tiles[next]) found = own;
    __syncthreads();
    first = found;
    end = first + part < end ? first + part : end;
    __syncthreads();
  } while (end > first + 1);
  return first;
}

static __device__ __forceinline__ tile tile_of(const tsr_pages *a) {
  tile t = {0, 0, 0, 0};
  uint64_t segment = 0, at = blockIdx.x, end = a->bulk.n;
  if (a->ends) {
    segment = segment_of(a->tiles, a->segments, at);
    if (segment == a->segments) return t;
    at -= a->tiles[segment];
    t.begin = a->ends[segment];
    end = end_of(a->ends, a->stops, segment);
  }
  t.begin += at * TILE_ITEMS;
  t.items = end - t.begin < TILE_ITEMS ? (uint32_t)(end - t.begin) : TILE_ITEMS;
  t.first_bin = (uint32_t)segment << a->fan_log2;
  const uint64_t bins = a->bins - t.first_bin;
  t.bins = bins >> a->fan_log2 ? 1u << a->fan_log2 : (uint32_t)bins;
  return t;
}

/* Which of its tile's bins a key falls into. */
static __device__ __forceinline__ uint32_t bin_of(const tsr_ctx *c, const tsr_pages *a, const tile *t, tsr_key key) {
  return (page_of_item(c, a->pages, key) >> a->shift) - t->first_bin;
}

enum {
  TILE_BINS = 1 << TSR_PAGES_FAN_LOG2,
  TILE_ROUNDS = TILE_ITEMS / TSR_TILE_THREADS,
  WARP_LANES = 32,
  TILE_IS_WIDE = TSR_KEY_BITS + TSR_PAYLOAD_BITS > 64, /* keys and payloads together would take too many registers */
  TILE_KEEPS_BINS = TSR_TILE_BIN_BYTES(TILE_ITEM_BYTES) != 0
};
static_assert(TILE_BINS <= TSR_TILE_THREADS, "a thread has at most one bin");

#include "core/batch/hot.cuh"

extern "C" __global__ void __launch_bounds__(TSR_TILE_THREADS)
    tsr_pages_count_kernel(const __grid_constant__ tsr_pages a) {
  __shared__ uint32_t count[TILE_BINS];
  __shared__ io_key hot[TSR_HOT_SLOTS];
  tsr_scratch scratch;
  const tsr_ctx c = pages_context(&a, &scratch);
  const tile t = tile_of(&a);
  const uint32_t has_hot = hot_load(&c, &a, hot);
  count[threadIdx.x] = 0;
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < t.items; i += TSR_TILE_THREADS) {
    const tsr_key key = io_key_at(a.bulk.keys, item_place(&a.bulk, t.begin + i), 1);
    if (has_hot && hot_find(hot, key) != HOT_NONE) continue;
    atomicAdd(&count[bin_of(&c, &a, &t, key)], 1u);
  }
  __syncthreads();
  if (threadIdx.x < t.bins && count[threadIdx.x]) IO_ADD(&a.counts[t.first_bin + threadIdx.x], count[threadIdx.x]);
}

/* All pages at once, where a block's memory has a count of each. Each thread reads some keys before it counts the first. */
extern "C" __global__ void __launch_bounds__(TSR_COUNT_THREADS, 2)
    tsr_pages_count_pages_kernel(const __grid_constant__ tsr_pages a) {
  enum { ROWS = 4, ITEMS = ROWS * TSR_COUNT_THREADS };
  __shared__ io_key hot[TSR_HOT_SLOTS];
  uint32_t *count = (uint32_t *)tsr_page_memory;
  tsr_scratch scratch;
  const tsr_ctx c = pages_context(&a, &scratch);
  const uint32_t has_hot = hot_load(&c, &a, hot);
  for (uint64_t page = threadIdx.x; page < a.bins; page += TSR_COUNT_THREADS) count[page] = 0;
  __syncthreads();
  for (uint64_t row = blockIdx.x * (uint64_t)ITEMS; row < a.bulk.n; row += gridDim.x * (uint64_t)ITEMS) {
    const uint32_t items = a.bulk.n - row < ITEMS ? (uint32_t)(a.bulk.n - row) : ITEMS;
    const io_key *keys = (const io_key *)a.bulk.keys + row + threadIdx.x;
    io_key key[ROWS];
#pragma unroll
    for (uint32_t r = 0; r < ROWS; r++)
      key[r] = io_key_at(keys, r * TSR_COUNT_THREADS, r * TSR_COUNT_THREADS + threadIdx.x < items);
#pragma unroll
    for (uint32_t r = 0; r < ROWS; r++) {
      uint32_t counts = r * TSR_COUNT_THREADS + threadIdx.x < items;
      if (has_hot && hot_find(hot, key[r]) != HOT_NONE) counts = 0;
      atomicAdd(&count[page_of_item(&c, a.pages, key[r])], counts);
    }
  }
  __syncthreads();
  for (uint64_t page = threadIdx.x; page < a.bins; page += TSR_COUNT_THREADS)
    if (count[page]) IO_ADD(&a.counts[page], count[page]);
}

extern "C" __global__ void tsr_pages_bins_kernel(const __grid_constant__ tsr_pages a) {
  const uint64_t bin = io_item(0), page = bin << a.shift;
  if (bin <= a.bins) a.counts[bin] = a.room ? room_begin(&a, bin) : a.page_ends[page < a.pages ? page : a.pages];
}

extern "C" __global__ void tsr_pages_tiles_kernel(const __grid_constant__ tsr_pages a) {
  const uint64_t i = io_item(0);
  if (i >= a.segments) return;
  const uint32_t items = (uint32_t)(end_of(a.ends, a.stops, i) - a.ends[i]); /* of TSR_PIECE_MAX */
  const uint32_t tile = a.distinct ? a.piece_items : TILE_ITEMS;
  a.tiles[i] = items / tile + (items % tile != 0);
}

/* Of each bin of a tile that is being moved: how many items it has, how many the bins before it have, and how far its items
 * lie, by their number in the tile, from where they go. */
struct tile_bins {
  uint32_t count[TILE_BINS], before[TILE_BINS];
  uint32_t shift[TILE_BINS];
};

/* An item's place in its bin, and the bin above it, until the bins before are summed up: so a key is hashed once. */
enum { BIN_SHIFT = 16 };
#define NO_PLACE 0xFFFFFFFFu /* of an item past the end, or whose key is hot */
static_assert(TILE_ITEMS < (1 << BIN_SHIFT) - 1, "a place in a bin has so many bits");
static __device__ __forceinline__ uint32_t place_in_bin(tile_bins *bins, uint32_t bin) {
  return bin << BIN_SHIFT | atomicAdd(&bins->count[bin], 1u);
}

/* The same for all of a thread's items, whose bins are in position[]; NO_PLACE stays. Where all items of a warp are in one
 * bin, its counter would be asked once for each of them, one after the other: so it is asked once for all. Of tables of
 * lists, because others combine such items before. */
static __device__ __forceinline__ void places_in_bins(tile_bins *bins, uint32_t position[TILE_ROUNDS]) {
  const uint32_t bin = __shfl_sync(0xFFFFFFFFu, position[0], 0);
  uint32_t is_one = bin != NO_PLACE;
#pragma unroll
  for (uint32_t r = 0; r < TILE_ROUNDS; r++) is_one = is_one && position[r] == bin;
  const uint32_t shares = __all_sync(0xFFFFFFFFu, is_one), lane = threadIdx.x % WARP_LANES;
  uint32_t first = shares && lane == 0 ? atomicAdd(&bins->count[bin], (uint32_t)(TILE_ROUNDS * WARP_LANES)) : 0;
  first = __shfl_sync(0xFFFFFFFFu, first, 0);
#pragma unroll
  for (uint32_t r = 0; r < TILE_ROUNDS; r++)
    if (shares)
      position[r] = bin << BIN_SHIFT | (first + r * WARP_LANES + lane);
    else if (position[r] != NO_PLACE)
      position[r] = place_in_bin(bins, position[r]);
}

/* This thread's items of a column: item r is the tile's item r * TSR_TILE_THREADS + threadIdx.x. All are asked for before
 * the first is used, so that a tile waits for memory once. A column that is NULL has none. */
template <class T>
static __device__ __forceinline__ void tile_column(const T *column, const tile *t, T item[TILE_ROUNDS]) {
  const uint32_t items = column ? t->items : 0;
  const T *own = column + t->begin + threadIdx.x;
#pragma unroll
  for (uint32_t r = 0; r < TILE_ROUNDS; r++)
    if (r * TSR_TILE_THREADS + threadIdx.x < items) item[r] = __ldcs(own + r * TSR_TILE_THREADS);
}

/* The same of keys and values that lie together. Wide values are read later; until then the caches keep them. */
static __device__ __forceinline__ void tile_pairs(const void *pairs, const tile *t, io_key key[TILE_ROUNDS],
                                                  io_payload payload[TILE_ROUNDS]) {
  const io_pair *own = (const io_pair *)pairs + t->begin + threadIdx.x;
#pragma unroll
  for (uint32_t r = 0; r < TILE_ROUNDS; r++) {
    if (r * TSR_TILE_THREADS + threadIdx.x >= t->items) continue;
    if (TILE_IS_WIDE) {
      key[r] = __ldcg(&own[r * TSR_TILE_THREADS].x);
    } else {
      const io_pair pair = __ldcs(own + r * TSR_TILE_THREADS);
      key[r] = pair.x;
      payload[r] = pair.y;
    }
  }
}

/* The items of a bin may come in any order, because the items of a call have none. All columns of the tile lie in shared
 * memory, in the order of its bins, before any is written, so that a warp writes runs and the block waits for memory
 * once. */
extern "C" __global__ void __launch_bounds__(TSR_TILE_THREADS, 2)
    tsr_pages_scatter_kernel(const __grid_constant__ tsr_pages a) {
  typedef cub::BlockScan<uint32_t, TSR_TILE_THREADS, cub::BLOCK_SCAN_WARP_SCANS> scan; /* no shuffle in a branch */
  __shared__ tile_bins bins;
  __shared__ typename scan::TempStorage scan_storage;
  __shared__ uint32_t spills; /* whether a bin has no room for its items of the tile: its count is 0 then */
  io_key *keys = (io_key *)tsr_page_memory;
  io_payload *payloads = (io_payload *)(keys + TILE_ITEMS);
  uint32_t *places = (uint32_t *)(TSR_PAYLOAD_BITS ? (void *)(payloads + TILE_ITEMS) : payloads);
  uint16_t *bin_at = (uint16_t *)(places + (a.places_to ? TILE_ITEMS : 0));
  tsr_scratch scratch;
  const tsr_ctx c = pages_context(&a, &scratch);
  const tile t = tile_of(&a); /* no thread ends early: ptxas would not see that all of them meet below (sm_80) */
  const uint32_t bin = threadIdx.x;
  const hot_tile hot = hot_tile_in(tsr_page_memory);
  const uint32_t has_hot = hot_begin(&c, &a, hot);
  uint32_t position[TILE_ROUNDS];
  io_key key[TILE_ROUNDS];
  io_payload payload[TILE_ROUNDS];
  if (HAS_PAIRS && a.bulk.are_pairs) {
    tile_pairs(a.bulk.keys, &t, key, payload);
  } else {
    tile_column((const io_key *)a.bulk.keys, &t, key);
    if (!TILE_IS_WIDE) tile_column((const io_payload *)a.bulk.values, &t, payload);
  }
  bins.count[bin] = 0;
  if (bin == 0) spills = 0;
  __syncthreads();
#pragma unroll
  for (uint32_t r = 0; r < TILE_ROUNDS; r++) {
    const uint32_t i = r * TSR_TILE_THREADS + threadIdx.x;
    position[r] = NO_PLACE;
    if (i < t.items && !(has_hot && hot_takes(&c, hot, key[r], payload[r], a.bulk.values, t.begin + i)))
      position[r] =
          TSR_FACT(&c, has_lists) ? bin_of(&c, &a, &t, key[r]) : place_in_bin(&bins, bin_of(&c, &a, &t, key[r]));
  }
  if (TSR_FACT(&c, has_lists)) places_in_bins(&bins, position);
  __syncthreads();
  const uint32_t count = bins.count[bin];
  uint32_t before, placed;
  scan(scan_storage).ExclusiveSum(count, before, placed);
  if (has_hot) hot_end(&c, &a, hot);
  bins.before[bin] = before;
  if (count) {
    const uint64_t first = IO_ADD(&a.cursors[t.first_bin + bin], count);
    bins.shift[bin] = (uint32_t)first - before;
    if (a.room && first + count > room_begin(&a, t.first_bin + bin + 1)) {
      bins.count[bin] = 0;
      *a.spills = spills = 1; /* plain: all who write write 1 */
    }
  }
  __syncthreads();
#pragma unroll
  for (uint32_t r = 0; r < TILE_ROUNDS; r++)
    if (position[r] != NO_PLACE) {
      const uint32_t of_bin = position[r] >> BIN_SHIFT;
      position[r] = bins.before[of_bin] + (position[r] & ((1u << BIN_SHIFT) - 1));
      keys[position[r]] = key[r];
      if (TILE_KEEPS_BINS) bin_at[position[r]] = (uint16_t)of_bin;
    }
#pragma unroll
  for (uint32_t r = 0; r < TILE_ROUNDS; r++) {
    const uint32_t i = r * TSR_TILE_THREADS + threadIdx.x;
    if (position[r] == NO_PLACE) continue;
    if (TSR_PAYLOAD_BITS && a.values_to)
      payloads[position[r]] =
          TILE_IS_WIDE ? __ldcs((const io_payload *)a.bulk.values + item_place(&a.bulk, t.begin + i)) : payload[r];
    /* numbers of items are below 2^32: the plan sees to it */
    if (a.places_to) places[position[r]] = a.places ? a.places[t.begin + i] : (uint32_t)(t.begin + i);
  }
  __syncthreads();
  const uint32_t skips = spills;
#pragma unroll
  for (uint32_t r = 0; r < TILE_ROUNDS; r++) {
    const uint32_t i = r * TSR_TILE_THREADS + threadIdx.x;
    if (i < placed) {
      const io_key moved = keys[i];
      const uint32_t of_bin = TILE_KEEPS_BINS ? bin_at[i] : bin_of(&c, &a, &t, moved), to = bins.shift[of_bin] + i;
      if (skips && bins.count[of_bin] == 0) continue;
      if (HAS_PAIRS && a.pairs_to) {
        ((io_pair *)a.keys_to)[to] = pair_of(moved, payloads[i]);
      } else {
        ((io_key *)a.keys_to)[to] = moved;
        if (TSR_PAYLOAD_BITS && a.values_to) ((io_payload *)a.values_to)[to] = payloads[i];
      }
      if (a.places_to) a.places_to[to] = places[i];
    }
  }
}

/* ---- A filter -------------------------------------------------------------------------------- */

/* Sets the bits of a key in a block, wherever that lies; returns whether any was not set. The atomics are relaxed, as in
 * filter_set. */
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

/* All keys of a tile name blocks that lie together, which are copied to shared memory; what has become of them is
 * written back by atomics, because other tiles have the same page, and a neighbouring one has its first or its last block.
 * Any other block is marked where it lies: of a reserved key, which goes with the last page of a table, or where rounding
 * has left one out. */
extern "C" __global__ void __launch_bounds__(TSR_TILE_THREADS, 2)
    tsr_pages_mark_kernel(const __grid_constant__ tsr_pages a) {
  typedef unsigned long long pair; /* of words */
  tsr_scratch scratch;
  const tsr_ctx c = pages_context(&a, &scratch);
  const tile t = tile_of(&a);
  const uint64_t first = (uint64_t)((double)(t.first_bin >> a.fan_log2) * a.mark_blocks);
  const uint64_t last = filter_blocks(&c), most = a.mark_bytes / (4 * TSR_FACT(&c, filter_words));
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

/* ---- Pages ----------------------------------------------------------------------------------- */

/* Items are the stash's buckets. Plain stores suffice: all who write a word write the same, and a later kernel reads it. */
extern "C" __global__ void __launch_bounds__(TSR_BLOCK_THREADS)
    tsr_pages_bar_kernel(const __grid_constant__ tsr_pages a) {
  tsr_scratch scratch;
  const tsr_ctx c = pages_context(&a, &scratch);
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
static __device__ __forceinline__ void page_load(const tsr_pages *a, uint64_t page) {
  for (uint32_t i = 0; i < a->regions; i++) {
    const tsr_page_region *region = &a->region[i];
    const uint4 *from = (const uint4 *)(region->table + page * region->page_bytes);
    uint4 *to = (uint4 *)(tsr_page_memory + region->offset_bytes);
    const uint4 fill = {region->fill, region->fill, region->fill, region->fill};
    for (uint32_t at = threadIdx.x; at < region->page_bytes / 16; at += blockDim.x)
      to[at] = a->is_clear ? fill : __ldcs(from + at);
  }
  if (a->bulk.state.lock_shift) {
    uint32_t *locks = (uint32_t *)(tsr_page_memory + (uint32_t)(unsigned long long)a->bulk.state.locks);
    for (uint32_t at = threadIdx.x; at < TSR_PAGES_LOCK_BYTES / 4; at += blockDim.x) locks[at] = 0;
  }
}

static __device__ __forceinline__ void page_store(const tsr_pages *a, uint64_t page) {
  for (uint32_t i = 0; i < a->regions; i++) {
    const tsr_page_region *region = &a->region[i];
    uint4 *to = (uint4 *)(region->table + page * region->page_bytes);
    const uint4 *from = (const uint4 *)(tsr_page_memory + region->offset_bytes);
    for (uint32_t at = threadIdx.x; at < region->page_bytes / 16; at += blockDim.x) __stcs(to + at, from[at]);
  }
}

/* Asks for a column of the page's items, a line a thread, while the page is made. */
static __device__ __forceinline__ void page_prefetch(const char *column, uint64_t begin, uint64_t end) {
  enum { LINE_BYTES = 128 };
  for (uint64_t at = begin + threadIdx.x * LINE_BYTES; at < end; at += TSR_PAGES_THREADS * LINE_BYTES)
    asm volatile("prefetch.global.L2 [%0];" : : "l"(column + at));
}

/* ---- Lanes that go on together --------------------------------------------------------------- */

/* A lane of a loop that others have left alone makes its warp wait for it, and then for the next. So in the loops of a page
 * all lanes go on until none has anything to do, and meet after whatever only some of them do. Below sm_90 ptxas does not
 * see that they meet, and would give them a routine (0008): there each goes on alone. */
#if __CUDA_ARCH__ >= 900
#define LANES_MEET 1
static __device__ __forceinline__ bool lanes_any(uint32_t mine) { return __any_sync(0xFFFFFFFFu, mine); }
static __device__ __forceinline__ void lanes_meet() { __syncwarp(); }
#else
#define LANES_MEET 0
static __device__ __forceinline__ bool lanes_any(uint32_t mine) { return mine; }
static __device__ __forceinline__ void lanes_meet() {}
#endif

/* The first of so many places of a list as this lane has items for; its length is shared by the block. Where all lanes are
 * here the compiler makes it one atomic for them. Relaxed: a barrier comes before the list is read. */
static __device__ __forceinline__ uint32_t lanes_append(uint32_t *length, uint32_t items) {
  lanes_meet();
  return atomicAdd(length, items);
}

#include "core/batch/counted.cuh"
#include "core/batch/distinct.cuh"

/* How many items a page has, when those of one key are one; TSR_NO_SET: they are not. */
static __device__ __forceinline__ uint32_t distinct_items(const tsr_pages *a, uint64_t page) {
  return a->begins[page] < a->begins[page + 1] ? a->distinct[a->tiles[page]] : 0;
}

/* ---- Keys that are there ---------------------------------------------------------------------- */

/* Where keys repeat, most items find theirs where its walk begins, and only have to combine. While all items of a chunk look
 * there, nothing moves and no slot is claimed. The items that do not see their key are listed, and inserted by the walk
 * before the next chunk. Lanes that are warp-synchronous make no such list. */
static __device__ __forceinline__ bool looks_first(const tsr_ctx *c) {
  return TSR_POLICY_LOOKS(TSR_FACT(c, duplicates)) && !TSR_FACT(c, warp_sync);
}

static __device__ __forceinline__ bool combine_first(const tsr_ctx *c, const tsr_pages *a, uint64_t i, tsr_key key,
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

/* All items of a page; returns those of this thread that got a slot. */
static __device__ __forceinline__ uint32_t page_look_in(const tsr_ctx *c, const tsr_pages *a, uint64_t begin,
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

/* Whether a page gives up is the block's decision, told by one word of shared memory: plain stores suffice, because all who
 * write it write 1, and a thread that reads it too early only stops later; a barrier comes before it counts. A page without
 * items is left alone, but no thread ends early: ptxas would not see that all of them meet again (sm_80). Where a
 * form spills the linker takes the next one: with fewer items of a thread under way, then with more registers. */
#define PAGES_INSERT(name, rows, bounds)                                                                               \
  extern "C" __global__ void bounds name(const __grid_constant__ tsr_pages a) {                                        \
    __shared__ bulk_statistics statistics;                                                                             \
    __shared__ uint32_t gives_up;                                                                                      \
    __shared__ unsigned long long overflows;                                                                           \
    __shared__ page_left left;                                                                                         \
    const uint64_t page = blockIdx.x, begin = a.begins[page];                                                          \
    const uint32_t made = a.distinct ? distinct_items(&a, page) : 0, has_set = made != TSR_NO_SET;                     \
    const uint64_t end = !a.distinct ? end_of(a.begins, a.stops, page) : begin + (has_set ? made : 0);                 \
    tsr_scratch scratch;                                                                                               \
    tsr_ctx c = pages_context(&a, &scratch);                                                                           \
    const uint32_t seeks = counts_distinct(&c) && !a.distinct;                                                         \
    const uint32_t counts = TSR_FACT(&c, counts_slots) && a.counts_offset_bytes &&                                     \
                            end - begin <= TSR_PAGES_COUNTED_ITEMS &&                                                  \
                            (!seeks || (takes_any(&c) && (end - begin) * 3 / 2 <= repeats_room(&a)));                  \
    const uint32_t looks = looks_first(&c) && !counts;                                                                 \
    uint32_t hits = 0, fails = 0, stops = 0;                                                                           \
    bulk_begin_statistics(&c, &statistics);                                                                            \
    bulk_hold_overflows(&c, &overflows);                                                                               \
    if (threadIdx.x == 0) gives_up = !has_set || (a.barred && a.barred[page]);                                         \
    page_prefetch((const char *)a.bulk.keys, item_place(&a.bulk, begin) * sizeof(io_key),                              \
                  item_place(&a.bulk, end) * sizeof(io_key));                                                          \
    if (TSR_PAYLOAD_BITS && a.bulk.values && !a.bulk.are_pairs)                                                        \
      page_prefetch((const char *)a.bulk.values, begin * sizeof(io_payload), end * sizeof(io_payload));                \
    if (counts && seeks) page_find_repeats(&c, &a, begin, (uint32_t)(end - begin), &left, &gives_up);                  \
    if (begin < end) page_load(&a, page);                                                                              \
    if (counts) counts_clear(&a, c.t->buckets, &left);                                                                 \
    __syncthreads();                                                                                                   \
    if (counts) hits = page_count_in<rows>(&c, &a, begin, (uint32_t)(end - begin), &left, &gives_up);                  \
    if (looks) hits = page_look_in(&c, &a, begin, (uint32_t)(end - begin), &left, &gives_up);                          \
    __syncthreads();                                                                                                   \
    const uint32_t evicts = counts && evicts_counted(&c);                                                              \
    if (evicts) hits += page_evict_for(&c, &a, begin, &left, &gives_up);                                               \
    const uint32_t items = looks || evicts ? 0 : counts ? left.items : (uint32_t)(end - begin);                        \
    for (uint32_t row = 0; row < items; row += TSR_PAGES_THREADS) {                                                    \
      const uint32_t at = row + threadIdx.x;                                                                           \
      stops |= tsr_warp_any(&c, *(volatile uint32_t *)&gives_up);                                                      \
      const uint32_t mine = at < items && !stops;                                                                      \
      hits += page_insert(&c, &a.bulk, begin + (counts && mine ? left.item[at] : at), mine, &fails);                   \
      if (fails) gives_up = 1;                                                                                         \
    }                                                                                                                  \
    __syncthreads();                                                                                                   \
    const uint32_t keeps = !gives_up, rests = !keeps || (evicts && page_hand_over(&a, page, begin, &left));            \
    if (TSR_FACT(&c, combines_later))                                                                                  \
      for (uint64_t row = begin; row < end; row += TSR_PAGES_THREADS) {                                                \
        const uint64_t i = row + threadIdx.x;                                                                          \
        bulk_combine(&c, &a.bulk, i, keeps &&i < end);                                                                 \
      }                                                                                                                \
    __syncthreads();                                                                                                   \
    if (keeps && begin < end) page_store(&a, page);                                                                    \
    if (rests && threadIdx.x == 0) a.rest[1 + atomicAdd(a.rest, 1u)] = (uint32_t)page;                                 \
    bulk_tell_overflows(&c, a.bulk.tally, keeps);                                                                      \
    bulk_add(a.bulk.tally, keeps ? hits : 0);                                                                          \
    if (keeps && begin < end) bulk_end_statistics(&c, &statistics, a.bulk.tally);                                      \
  }
PAGES_INSERT(tsr_pages_insert_kernel, 4, __launch_bounds__(TSR_PAGES_THREADS, 3))
PAGES_INSERT(tsr_medium_pages_insert_kernel, 2, __launch_bounds__(TSR_PAGES_THREADS, 3))
PAGES_INSERT(tsr_roomy_pages_insert_kernel, 2, __launch_bounds__(TSR_PAGES_THREADS, 1))

/* The items of pages that gave up, by random access; blocks take pages in turn, and rows of items, so that ptxas sees all
 * threads leave a loop at once. */
#define PAGES_REST(name, work)                                                                                         \
  extern "C" __global__ void __launch_bounds__(TSR_BLOCK_THREADS, 1) name(const __grid_constant__ tsr_pages a) {       \
    __shared__ bulk_statistics statistics;                                                                             \
    tsr_scratch scratch;                                                                                               \
    tsr_ctx c = pages_context(&a, &scratch);                                                                           \
    uint32_t hits = 0;                                                                                                 \
    bulk_begin_statistics(&c, &statistics);                                                                            \
    for (uint32_t at = blockIdx.x; at < a.rest[0]; at += gridDim.x) {                                                  \
      const uint64_t page = a.rest[1 + at], begin = a.begins[page], end = end_of(a.begins, a.stops, page);             \
      for (uint64_t row = begin; row < end; row += TSR_BLOCK_THREADS) {                                                \
        const uint64_t i = row + threadIdx.x;                                                                          \
        hits += work(&c, &a.bulk, i, is_rest(&c, &a, i, i < end));                                                     \
      }                                                                                                                \
    }                                                                                                                  \
    bulk_add(a.bulk.tally, hits);                                                                                      \
    bulk_end_statistics(&c, &statistics, a.bulk.tally);                                                                \
  }
PAGES_REST(tsr_pages_rest_kernel, bulk_insert)
PAGES_REST(tsr_pages_rest_combine_kernel, bulk_combine)

/* Items are those of the batch as it came. */
extern "C" __global__ void __launch_bounds__(TSR_BLOCK_THREADS)
    tsr_pages_spilled_kernel(const __grid_constant__ tsr_pages a) {
  __shared__ bulk_statistics statistics;
  tsr_scratch scratch;
  const tsr_ctx c = pages_context(&a, &scratch);
  const uint64_t items = *a.spills ? a.bulk.n : 0;
  uint32_t hits = 0;
  bulk_begin_statistics(&c, &statistics);
  __syncthreads();
  for (uint64_t row = blockIdx.x * (uint64_t)TSR_BLOCK_THREADS; row < items;
       row += gridDim.x * (uint64_t)TSR_BLOCK_THREADS) {
    const uint64_t i = row + threadIdx.x, page = page_of_item(&c, a.pages, io_key_at(a.bulk.keys, i, i < items));
    const uint64_t bin = page >> a.shift;
    const uint32_t is_left = a.stops[page] > (page + 1) * a.room || a.cursors[bin] > room_begin(&a, bin + 1);
    hits += bulk_insert(&c, &a.bulk, i, is_left && i < items);
  }
  bulk_add(a.bulk.tally, hits);
  bulk_end_statistics(&c, &statistics, a.bulk.tally);
}

#include "core/batch/spans.cuh"

/* ---- Answers --------------------------------------------------------------------------------- */

extern "C" __global__ void tsr_pages_answer_kernel(const __grid_constant__ tsr_pages a) {
  const uint64_t i = io_item(0);
  if (i >= a.ends[a.segments]) return; /* hot keys' items have other answers */
  const uint32_t place = a.places[i], result = a.bulk.results[i];
  if (a.results) a.results[place] = (uint8_t)result;
  if (result != TSR_RESULT_NOT_PLACED) return;
  if (a.unplaced_keys) ((io_key *)a.unplaced_keys)[place] = ((const io_key *)a.bulk.keys)[i];
  io_put_payload(a.unplaced_values, place, io_payload_at(a.bulk.unplaced_values, i, 1));
}

#include "core/batch/lists.cuh"

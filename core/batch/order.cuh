/* SPDX-License-Identifier: Apache-2.0
 *
 * The partition: puts a tile of items in the order of the pages, or the lists, of their keys. Read next: hot.cuh,
 * whose items the first pass takes out; place.cuh.
 */
#ifndef TSR_BATCH_ORDER_CUH
#define TSR_BATCH_ORDER_CUH

#include <cub/block/block_scan.cuh>

#include "core/batch/hot.cuh"
#include "core/batch/idle.cuh"

/* ---- Tiles ----------------------------------------------------------------------------------- */

/* Atomics of the partition are relaxed, because they count items or give out places: a barrier of the block, or the end
 * of the kernel, comes before anybody reads the result. */

enum {
  TILE_ITEM_BYTES = sizeof(io_key) + (TSR_PAYLOAD_BITS ? sizeof(io_payload) : 0),
  TILE_ITEMS = TSR_TILE_ITEMS(TILE_ITEM_BYTES)
};

/* A block's tile: items from `begin` on, all of one segment, whose bins begin at first_bin. */
struct tile {
  uint64_t begin;
  uint32_t items, first_bin, bins; /* 0: there is no such tile */
};

/* Where segment, or page, i ends. A bin without room for all of its items has none. */
static __device__ __forceinline__ uint64_t end_of(const uint64_t *begins, const uint64_t *stops, uint64_t i) {
  const uint64_t next = begins[i + 1], stop = stops ? stops[i] : next;
  return stop <= next ? stop : begins[i];
}

/* Where the room of a bin begins, and that of the one before ends, in a batch that was not counted. */
static __device__ __forceinline__ uint64_t room_begin(const tsr_order_step *a, uint64_t bin) {
  const uint64_t page = bin << a->shift;
  return (page < a->pages ? page : a->pages) * a->room;
}

/* The segment of a tile, or `segments` if there is no such tile. All threads of the block look, each at the beginning
 * of a part of the segments that are left, so the block waits for memory once per 512 of them. */
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

/* The tile of this block among those of n items, without its bins. */
static __device__ __forceinline__ tile tile_in(const tsr_segments *segments, uint64_t n, uint64_t *segment) {
  tile t = {0, 0, 0, 0};
  uint64_t at = blockIdx.x, end = n;
  *segment = 0;
  if (segments->begins) {
    *segment = segment_of(segments->tiles, segments->count, at);
    if (*segment == segments->count) return t;
    at -= segments->tiles[*segment];
    t.begin = segments->begins[*segment];
    end = end_of(segments->begins, segments->ends, *segment);
  }
  t.begin += at * TILE_ITEMS;
  t.items = end - t.begin < TILE_ITEMS ? (uint32_t)(end - t.begin) : TILE_ITEMS;
  return t;
}

static __device__ __forceinline__ tile tile_of(const tsr_order_step *a) {
  uint64_t segment;
  tile t = tile_in(&a->segments, a->bulk.n, &segment);
  if (a->segments.begins && segment == a->segments.count) return t;
  t.first_bin = (uint32_t)segment << a->fan_log2;
  const uint64_t bins = a->bins - t.first_bin;
  t.bins = bins >> a->fan_log2 ? 1u << a->fan_log2 : (uint32_t)bins;
  return t;
}

/* The bin of a key, as a number within its tile's bins. */
static __device__ __forceinline__ uint32_t bin_of(const tsr_ctx *c, const tsr_order_step *a, const tile *t,
                                                  tsr_key key) {
  return (page_of_item(c, a->pages, key) >> a->shift) - t->first_bin;
}

enum {
  TILE_BINS = 1 << TSR_PAGES_FAN_LOG2,
  TILE_ROUNDS = TILE_ITEMS / TSR_TILE_THREADS,
  TILE_KEEPS_BINS = TSR_TILE_BIN_BYTES(TILE_ITEM_BYTES) != 0
};
static_assert(TILE_BINS <= TSR_TILE_THREADS, "a thread has at most one bin");

/* ---- Counts ---------------------------------------------------------------------------------- */

extern "C" __global__ void __launch_bounds__(TSR_TILE_THREADS)
    tsr_pages_count_kernel(const __grid_constant__ tsr_order_step a) {
  __shared__ uint32_t count[TILE_BINS];
  __shared__ io_key hot[TSR_HOT_SLOTS];
  if (is_idle(a.segments.idle)) return;
  tsr_scratch scratch;
  const tsr_ctx c = batch_context(&a.bulk, &scratch);
  const tile t = tile_of(&a);
  const uint32_t has_hot = hot_load(&c, &a.hot, hot);
  count[threadIdx.x] = 0;
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < t.items; i += TSR_TILE_THREADS) {
    const tsr_key key = io_key_at(a.bulk.keys, item_place(&a.bulk, t.begin + i), 1);
    if (has_hot && hot_find(hot, key) != TSR_SET_NONE) continue;
    atomicAdd(&count[bin_of(&c, &a, &t, key)], 1u);
  }
  __syncthreads();
  if (threadIdx.x < t.bins && count[threadIdx.x]) IO_ADD(&a.counts[t.first_bin + threadIdx.x], count[threadIdx.x]);
}

/* Counts all pages at once, if a block's memory has a count for each. Each thread reads some keys before it counts the
 * first. */
extern "C" __global__ void __launch_bounds__(TSR_COUNT_THREADS, 2)
    tsr_pages_count_pages_kernel(const __grid_constant__ tsr_order_step a) {
  enum { ROWS = 4, ITEMS = ROWS * TSR_COUNT_THREADS };
  __shared__ io_key hot[TSR_HOT_SLOTS];
  if (is_idle(a.segments.idle)) return;
  uint32_t *count = (uint32_t *)tsr_page_memory;
  tsr_scratch scratch;
  const tsr_ctx c = batch_context(&a.bulk, &scratch);
  const uint32_t has_hot = hot_load(&c, &a.hot, hot);
  const uint64_t n = a.bulk.n;
  for (uint64_t page = threadIdx.x; page < a.bins; page += TSR_COUNT_THREADS) count[page] = 0;
  __syncthreads();
  for (uint64_t row = blockIdx.x * (uint64_t)ITEMS; row < n; row += gridDim.x * (uint64_t)ITEMS) {
    const uint32_t items = n - row < ITEMS ? (uint32_t)(n - row) : ITEMS;
    const io_key *keys = (const io_key *)a.bulk.keys + row + threadIdx.x;
    io_key key[ROWS];
#pragma unroll
    for (uint32_t r = 0; r < ROWS; r++)
      key[r] = io_key_at(keys, r * TSR_COUNT_THREADS, r * TSR_COUNT_THREADS + threadIdx.x < items);
#pragma unroll
    for (uint32_t r = 0; r < ROWS; r++) {
      uint32_t counts = r * TSR_COUNT_THREADS + threadIdx.x < items;
      if (has_hot && hot_find(hot, key[r]) != TSR_SET_NONE) counts = 0;
      atomicAdd(&count[page_of_item(&c, a.pages, key[r])], counts);
    }
  }
  __syncthreads();
  for (uint64_t page = threadIdx.x; page < a.bins; page += TSR_COUNT_THREADS)
    if (count[page]) IO_ADD(&a.counts[page], count[page]);
}

extern "C" __global__ void tsr_pages_bins_kernel(const __grid_constant__ tsr_order_step a) {
  const uint64_t bin = io_item(0), page = bin << a.shift;
  if (bin <= a.bins) a.counts[bin] = a.room ? room_begin(&a, bin) : a.page_ends[page < a.pages ? page : a.pages];
}

extern "C" __global__ void tsr_pages_tiles_kernel(const __grid_constant__ tsr_tiles_step a) {
  const uint64_t i = io_item(0);
  if (i >= a.segments.count) return;
  const uint32_t items =
      (uint32_t)(end_of(a.segments.begins, a.segments.ends, i) - a.segments.begins[i]); /* of TSR_PIECE_MAX */
  a.segments.tiles[i] = items / a.tile_items + (items % a.tile_items != 0);
}

/* For each bin of a tile that is being moved: how many items it has, how many the bins before it have, and the
 * difference between an item's number in the tile and its destination. */
struct tile_bins {
  uint32_t count[TILE_BINS], before[TILE_BINS];
  uint32_t shift[TILE_BINS];
};

/* An item's place in its bin, with the bin in the upper bits, until the bins before are summed: so a key is hashed
 * once. */
enum { BIN_SHIFT = 16 };
#define NO_PLACE 0xFFFFFFFFu /* for an item past the end, or whose key is hot */
static_assert(TILE_ITEMS < (1 << BIN_SHIFT) - 1, "a place in a bin has that many bits");
static __device__ __forceinline__ uint32_t place_in_bin(tile_bins *bins, uint32_t bin) {
  return bin << BIN_SHIFT | atomicAdd(&bins->count[bin], 1u);
}

/* The same for all of a thread's items, whose bins are in position[]; NO_PLACE stays. If all items of a warp are in one
 * bin, its counter would be asked once for each, one after the other, so it is asked once for all. Only in tables of
 * lists: others combine such items before. */
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

/* This thread's items of a column: item r is the tile's item r * TSR_TILE_THREADS + threadIdx.x. All are requested
 * before the first is used, so that a tile waits for memory once. A column that is NULL has none. */
template <class T>
static __device__ __forceinline__ void tile_column(const T *column, const tile *t, T item[TILE_ROUNDS]) {
  const uint32_t items = column ? t->items : 0;
  const T *own = column + t->begin + threadIdx.x;
#pragma unroll
  for (uint32_t r = 0; r < TILE_ROUNDS; r++)
    if (r * TSR_TILE_THREADS + threadIdx.x < items) item[r] = __ldcs(own + r * TSR_TILE_THREADS);
}

/* The same for keys and values in pairs. Wide values are read later; until then the caches keep them. */
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

/* ---- Scatter --------------------------------------------------------------------------------- */

/* The columns of a tile in shared memory, in the order of its bins, and the bin of each item. */
struct tile_copy {
  io_key *keys;
  io_payload *payloads;
  uint32_t *places;
  uint16_t *bin_at;
};

static __device__ __forceinline__ tile_copy tile_copy_in(const tsr_order_step *a, unsigned char *memory) {
  tile_copy copy;
  copy.keys = (io_key *)memory;
  copy.payloads = (io_payload *)(copy.keys + TILE_ITEMS);
  copy.places = (uint32_t *)(TSR_PAYLOAD_BITS ? (void *)(copy.payloads + TILE_ITEMS) : copy.payloads);
  copy.bin_at = (uint16_t *)(copy.places + (a->to.places ? TILE_ITEMS : 0));
  return copy;
}

static __device__ __forceinline__ void tile_read(const tsr_order_step *a, const tile *t, io_key key[TILE_ROUNDS],
                                                 io_payload payload[TILE_ROUNDS]) {
  if (HAS_PAIRS && a->bulk.are_pairs) {
    tile_pairs(a->bulk.keys, t, key, payload);
  } else {
    tile_column((const io_key *)a->bulk.keys, t, key);
    if (!TILE_IS_WIDE) tile_column((const io_payload *)a->bulk.values, t, payload);
  }
}

/* Counts the items of each bin; position: each item's place in its bin, or NO_PLACE. */
static __device__ __forceinline__ void tile_count(const tsr_ctx *c, const tsr_order_step *a, const tile *t,
                                                  hot_tile hot, const io_key key[TILE_ROUNDS],
                                                  const io_payload payload[TILE_ROUNDS], tile_bins *bins,
                                                  uint32_t position[TILE_ROUNDS]) {
#pragma unroll
  for (uint32_t r = 0; r < TILE_ROUNDS; r++) {
    const uint32_t i = r * TSR_TILE_THREADS + threadIdx.x;
    position[r] = NO_PLACE;
    if (i < t->items && !(hot.has_keys && hot_takes(c, hot, key[r], payload[r], a->bulk.values, t->begin + i)))
      position[r] = TSR_FACT(c, has_lists) ? bin_of(c, a, t, key[r]) : place_in_bin(bins, bin_of(c, a, t, key[r]));
  }
  if (TSR_FACT(c, has_lists)) places_in_bins(bins, position);
}

/* Reserves the places of a bin's `count` items, which follow `before` others in the tile. *spills: the bin has no room
 * for them. */
static __device__ __forceinline__ void tile_reserve(const tsr_order_step *a, const tile *t, uint32_t bin,
                                                    uint32_t count, uint32_t before, tile_bins *bins,
                                                    uint32_t *spills) {
  bins->before[bin] = before;
  if (!count) return;
  const uint64_t first = IO_ADD(&a->cursors[t->first_bin + bin], count);
  bins->shift[bin] = (uint32_t)first - before;
  if (!a->room || first + count <= room_begin(a, t->first_bin + bin + 1)) return;
  bins->count[bin] = 0;
  *a->spills = *spills = 1; /* plain: all threads write 1 */
}

static __device__ __forceinline__ void tile_order(const tsr_order_step *a, const tile *t, const tile_bins *bins,
                                                  const io_key key[TILE_ROUNDS], const io_payload payload[TILE_ROUNDS],
                                                  uint32_t position[TILE_ROUNDS], const tile_copy *copy) {
#pragma unroll
  for (uint32_t r = 0; r < TILE_ROUNDS; r++)
    if (position[r] != NO_PLACE) {
      const uint32_t of_bin = position[r] >> BIN_SHIFT;
      position[r] = bins->before[of_bin] + (position[r] & ((1u << BIN_SHIFT) - 1));
      copy->keys[position[r]] = key[r];
      if (TILE_KEEPS_BINS) copy->bin_at[position[r]] = (uint16_t)of_bin;
    }
#pragma unroll
  for (uint32_t r = 0; r < TILE_ROUNDS; r++) {
    const uint32_t i = r * TSR_TILE_THREADS + threadIdx.x;
    if (position[r] == NO_PLACE) continue;
    if (TSR_PAYLOAD_BITS && a->to.values)
      copy->payloads[position[r]] =
          TILE_IS_WIDE ? __ldcs((const io_payload *)a->bulk.values + item_place(&a->bulk, t->begin + i)) : payload[r];
    /* numbers of items are below 2^32: the plan sees to it */
    if (a->to.places) copy->places[position[r]] = a->places ? a->places[t->begin + i] : (uint32_t)(t->begin + i);
  }
}

/* Writes the items; `placed` of them have a place. skips: items of bins without room have none. */
static __device__ __forceinline__ void tile_write(const tsr_ctx *c, const tsr_order_step *a, const tile *t,
                                                  const tile_bins *bins, const tile_copy *copy, uint32_t placed,
                                                  uint32_t skips) {
#pragma unroll
  for (uint32_t r = 0; r < TILE_ROUNDS; r++) {
    const uint32_t i = r * TSR_TILE_THREADS + threadIdx.x;
    if (i < placed) {
      const io_key moved = copy->keys[i];
      const uint32_t of_bin = TILE_KEEPS_BINS ? copy->bin_at[i] : bin_of(c, a, t, moved), to = bins->shift[of_bin] + i;
      if (skips && bins->count[of_bin] == 0) continue;
      if (HAS_PAIRS && a->to.are_pairs) {
        ((io_pair *)a->to.keys)[to] = pair_of(moved, copy->payloads[i]);
      } else {
        ((io_key *)a->to.keys)[to] = moved;
        if (TSR_PAYLOAD_BITS && a->to.values) ((io_payload *)a->to.values)[to] = copy->payloads[i];
      }
      if (a->to.places) a->to.places[to] = copy->places[i];
    }
  }
}

/* The items of a bin may come in any order, because the items of a call have none. All columns of the tile are put into
 * shared memory, in the order of its bins, before any is written. So a warp writes runs, and the block waits for memory
 * once. */
extern "C" __global__ void __launch_bounds__(TSR_TILE_THREADS, 2)
    tsr_pages_scatter_kernel(const __grid_constant__ tsr_order_step a) {
  typedef cub::BlockScan<uint32_t, TSR_TILE_THREADS, cub::BLOCK_SCAN_WARP_SCANS> scan; /* no shuffle in a branch */
  __shared__ tile_bins bins;
  __shared__ typename scan::TempStorage scan_storage;
  __shared__ uint32_t spills; /* whether a bin has no room for its items of the tile; its count is then 0 */
  if (is_idle(a.segments.idle)) return;
  const tile_copy copy = tile_copy_in(&a, tsr_page_memory);
  tsr_scratch scratch;
  const tsr_ctx c = batch_context(&a.bulk, &scratch);
  const tile t = tile_of(&a); /* no thread ends early: ptxas would not see that all of them meet below (sm_80) */
  const uint32_t bin = threadIdx.x;
  const hot_tile hot = hot_begin(&c, &a.hot, tsr_page_memory);
  uint32_t position[TILE_ROUNDS];
  io_key key[TILE_ROUNDS];
  io_payload payload[TILE_ROUNDS];
  tile_read(&a, &t, key, payload);
  bins.count[bin] = 0;
  if (bin == 0) spills = 0;
  __syncthreads();
  tile_count(&c, &a, &t, hot, key, payload, &bins, position);
  __syncthreads();
  const uint32_t count = bins.count[bin];
  uint32_t before, placed;
  scan(scan_storage).ExclusiveSum(count, before, placed);
  if (hot.has_keys) hot_end(&c, &a.hot, hot);
  tile_reserve(&a, &t, bin, count, before, &bins, &spills);
  __syncthreads();
  tile_order(&a, &t, &bins, key, payload, position, &copy);
  __syncthreads();
  tile_write(&c, &a, &t, &bins, &copy, placed, spills);
  bulk_tell_overflows(&c, a.bulk.tally, 1); /* of hot keys */
}

/* ---- Answers --------------------------------------------------------------------------------- */

static __device__ __forceinline__ void answer_item(const tsr_answer_step &a, uint64_t i, uint32_t result,
                                                   uint32_t place) {
  if (result == TSR_RESULT_INSERTED) return; /* as the caller's array says already */
  if (a.results) a.results[place] = (uint8_t)result;
  if (result != TSR_RESULT_NOT_PLACED) return;
  if (a.unplaced_keys) ((io_key *)a.unplaced_keys)[place] = ((const io_key *)a.bulk.keys)[i];
  io_put_payload(a.unplaced_values, place, io_payload_at(a.bulk.unplaced_values, i, a.unplaced_values != NULL));
}

/* Hot keys' items, which are behind the end, have other answers. */
extern "C" __global__ void __launch_bounds__(TSR_BLOCK_THREADS)
    tsr_pages_answer_kernel(const __grid_constant__ tsr_answer_step a) {
  const uint64_t first = blockIdx.x * (uint64_t)TSR_ANSWER_ITEMS + threadIdx.x, end = *a.end;
  uint32_t result[TSR_ANSWER_ROWS], place[TSR_ANSWER_ROWS];
#pragma unroll
  for (uint32_t r = 0; r < TSR_ANSWER_ROWS; r++) {
    const uint64_t i = first + r * TSR_BLOCK_THREADS;
    result[r] = i < end ? a.bulk.results[i] : TSR_RESULT_INSERTED;
    place[r] = i < end ? a.places[i] : 0;
  }
#pragma unroll
  for (uint32_t r = 0; r < TSR_ANSWER_ROWS; r++) answer_item(a, first + r * TSR_BLOCK_THREADS, result[r], place[r]);
}

#endif

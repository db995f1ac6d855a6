/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of groups.h.
 *
 * A page's set is made by election, without compare-and-swap and without walks. It has levels. All threads write their
 * keys to the first level, at the keys' places. Whichever key is there after a barrier has won its place, for all of its
 * items at once. The items of other keys go on to the next level, to other places. So a key that occurs a thousand times
 * costs each of its items what a single key costs, and no lane waits for another lane's walk. Half as many keys are
 * expected as the first level has places. Of these 21 % go on to the second level, and 2 % to the last, where they take
 * places by compare-and-swap. If a page has more items than a block has in hand, they come in pieces. A place that is
 * taken is then not written again, so that later items meet the same keys at the same levels.
 *
 * Atomics are relaxed: they count or give out places, and a barrier or the end of the kernel comes before anybody reads
 * the result. Words of a set are written whole, and a barrier comes before they are read.
 */
#include "core/batch/groups.h"
#include "core/batch/mix.h"

#include <cub/block/block_scan.cuh>
#include <cuda_pipeline_primitives.h>

typedef unsigned long long wide_key;
extern __shared__ uint4 group_room[];

#define KERNEL(name, argument, threads, blocks)                                                                        \
  TSR_STEP_KERNEL(tsr_group_##name, argument, __launch_bounds__(threads, blocks))

/* ---- Keys ------------------------------------------------------------------------------------ */

static __device__ __forceinline__ uint32_t mix(uint32_t key, uint64_t seed) { return tsr_mix_32(key, seed); }
static __device__ __forceinline__ uint32_t unmix(uint32_t h, uint64_t seed) { return tsr_unmix_32(h, seed); }
static __device__ __forceinline__ wide_key mix(wide_key key, uint64_t seed) { return tsr_mix_64(key, seed); }
static __device__ __forceinline__ wide_key unmix(wide_key h, uint64_t seed) { return tsr_unmix_64(h, seed); }

template <class K>
static __device__ __forceinline__ uint32_t bin_of(const tsr_group_pass &a, K mixed) {
  return (uint32_t)(mixed >> a.shift) & ((1u << a.bins_log2) - 1);
}

/* ---- Tiles ----------------------------------------------------------------------------------- */

/* What a block works on: items `begin` to before `begin + count` of a column, all of one segment. */
struct tile {
  uint32_t segment, count;
  uint64_t begin;
};

/* Where a segment or a page ends. One that had no room for all of its items makes the batch begin again. */
static __device__ __forceinline__ uint64_t end_of(const tsr_group_segments &s, uint64_t segment) {
  const uint64_t end = s.ends[segment], most = s.begins[segment + 1];
  return end < most ? end : most;
}

/* The one among `count` sorted numbers with numbers[i] <= at < numbers[i + 1]: two looks of all threads. */
static __device__ __forceinline__ uint32_t find_segment(const uint64_t *numbers, uint32_t count, uint64_t at) {
  __shared__ uint32_t found;
  uint32_t first = 0;
  for (uint32_t step = (count + TSR_GROUP_THREADS - 1) / TSR_GROUP_THREADS;; step = 1) {
    const uint32_t own = first + threadIdx.x * step;
    const uint32_t next = own + step < count ? own + step : count;
    if (own < count && numbers[own] <= at && at < numbers[next]) found = own;
    __syncthreads();
    first = found;
    if (step == 1) return first;
    __syncthreads();
  }
}

/* False: the block has none. */
template <class K>
static __device__ __forceinline__ bool find_tile(const tsr_group_pass &a, tile *t) {
  enum { ITEMS = TSR_GROUP_TILE(sizeof(K)) };
  uint64_t begin = 0, end = a.n, first = 0;
  t->segment = 0;
  if (a.segments.begins) {
    if (blockIdx.x >= a.segments.tiles[a.segments.count]) return false;
    t->segment = find_segment(a.segments.tiles, a.segments.count, blockIdx.x);
    begin = a.segments.begins[t->segment];
    end = end_of(a.segments, t->segment);
    first = a.segments.tiles[t->segment];
  }
  t->begin = begin + (blockIdx.x - first) * ITEMS;
  t->count = end - t->begin < ITEMS ? (uint32_t)(end - t->begin) : (uint32_t)ITEMS;
  return true;
}

KERNEL(begin, tsr_group_pass, TSR_BLOCK_THREADS, 1) {
  const uint64_t bin = tsr_step_thread();
  if (bin >= a.n) return;
  if (a.room) a.bin_begins[bin] = bin * a.room;
  if (bin + 1 < a.n) a.cursors[bin] = (uint32_t)a.bin_begins[bin];
}

KERNEL(tiles, tsr_group_pass, TSR_BLOCK_THREADS, 1) {
  const uint64_t segment = tsr_step_thread();
  if (segment >= a.n) return;
  const uint64_t items = end_of(a.segments, segment) - a.segments.begins[segment];
  a.segments.tiles[segment] = (items + a.room - 1) / a.room;
}

KERNEL(tell, tsr_group_pass, TSR_BLOCK_THREADS, 1) {
  if (tsr_step_thread() == 0) *a.bin_begins = a.told->fails ? ~0ull : a.told->found;
}

/* ---- Frequent keys --------------------------------------------------------------------------- */

#define NOT_HOT 0xFFFFFFFFu

/* A block's copy of the table of frequent keys, and how often it met each. */
template <class K>
struct hot_table {
  K keys[TSR_GROUP_HOT_SLOTS];
  uint16_t ids[TSR_GROUP_HOT_SLOTS];
  uint32_t counts[TSR_GROUP_HOT];
};

/* No mixed key of a set. The one key with this value has a place of its own in a set, and is never a frequent one. */
template <class K>
static __device__ __forceinline__ K free_key() {
  return (K) ~(K)0;
}

template <class K>
static __device__ __forceinline__ uint32_t hot_home(K mixed) {
  return ((uint32_t)mixed * 0x9E3779B1u) >> 16 & (TSR_GROUP_HOT_SLOTS - 1);
}

/* To be followed by a barrier. */
template <class K>
static __device__ __forceinline__ void hot_read(const tsr_group_hot &hot, hot_table<K> *table) {
  for (uint32_t at = threadIdx.x; at < TSR_GROUP_HOT_SLOTS; at += TSR_GROUP_THREADS) {
    table->keys[at] = ((const K *)hot.slot_keys)[at];
    table->ids[at] = (uint16_t)hot.slot_ids[at];
    if (at < TSR_GROUP_HOT) table->counts[at] = 0;
  }
}

/* Which frequent key it is. Half of the places are free. */
template <class K>
static __device__ __forceinline__ uint32_t hot_find(const hot_table<K> *table, K mixed) {
  for (uint32_t at = hot_home(mixed);; at = (at + 1) % TSR_GROUP_HOT_SLOTS) {
    if (table->keys[at] == mixed) return mixed == free_key<K>() ? NOT_HOT : table->ids[at];
    if (table->keys[at] == free_key<K>()) return NOT_HOT;
  }
}

/* Counts a key that is frequent. All lanes call it together: often they all have one key. */
template <class K>
static __device__ __forceinline__ void hot_count(hot_table<K> *table, uint32_t id) {
  if (__all_sync(~0u, id == __shfl_sync(~0u, id, 0))) {
    if (id != NOT_HOT && threadIdx.x % 32 == 0) atomicAdd(&table->counts[id], 32u);
  } else if (id != NOT_HOT) {
    atomicAdd(&table->counts[id], 1u);
  }
}

template <class K>
static __device__ __forceinline__ void hot_tell(const tsr_group_hot &hot, const hot_table<K> *table) {
  if (threadIdx.x < TSR_GROUP_HOT && table->counts[threadIdx.x])
    atomicAdd((unsigned long long *)&hot.counts[threadIdx.x], (unsigned long long)table->counts[threadIdx.x]);
}

/* ---- Passes ---------------------------------------------------------------------------------- */

template <class K, bool IS_SIFTED>
static __device__ __forceinline__ void count_tile(const tsr_group_pass &a) {
  enum { ROUNDS = TSR_GROUP_TILE(sizeof(K)) / TSR_GROUP_THREADS };
  __shared__ uint32_t size[TSR_GROUP_BINS];
  __shared__ hot_table<K> hot;
  tile t;
  if (!find_tile<K>(a, &t)) return;
  if (threadIdx.x < TSR_GROUP_BINS) size[threadIdx.x] = 0;
  if (IS_SIFTED) hot_read(a.hot, &hot);
  __syncthreads();
  const K *from = (const K *)a.from + t.begin;
#pragma unroll 8
  for (uint32_t r = 0; r < ROUNDS; r++) {
    const uint32_t i = r * TSR_GROUP_THREADS + threadIdx.x;
    if (i >= t.count) break;
    const K key = a.segments.begins ? __ldcs(from + i) : mix(__ldcs(from + i), a.seed);
    if (!IS_SIFTED || hot_find(&hot, key) == NOT_HOT) atomicAdd(&size[bin_of(a, key)], 1u);
  }
  __syncthreads();
  if (threadIdx.x < 1u << a.bins_log2 && size[threadIdx.x])
    atomicAdd((unsigned long long *)&a.bin_begins[(t.segment << a.bins_log2) + threadIdx.x],
              (unsigned long long)size[threadIdx.x]);
}
template <class K>
static __device__ __forceinline__ void count_any(const tsr_group_pass &a) {
  if (a.hot.keys)
    count_tile<K, true>(a);
  else
    count_tile<K, false>(a);
}
KERNEL(count_32, tsr_group_pass, TSR_GROUP_THREADS, 3) { count_any<uint32_t>(a); }
KERNEL(count_64, tsr_group_pass, TSR_GROUP_THREADS, 3) { count_any<wide_key>(a); }

/* The runs of a tile: where each begins in the tile, and how much later it is in its column. */
struct tile_bins {
  uint32_t size[TSR_GROUP_BINS], begin[TSR_GROUP_BINS], shift[TSR_GROUP_BINS];
  uint32_t all; /* items of all bins */
};

/* Takes room for the runs of a tile whose sizes are known. A run without room is not written. */
#define NO_ROOM 0xFFFFFFFFu
static __device__ __forceinline__ void take_runs(const tsr_group_pass &a, const tile *t, tile_bins *bins) {
  typedef cub::BlockScan<uint32_t, TSR_GROUP_THREADS, cub::BLOCK_SCAN_WARP_SCANS> scan;
  __shared__ typename scan::TempStorage storage;
  const uint32_t bin = threadIdx.x, is_bin = bin < 1u << a.bins_log2, size = is_bin ? bins->size[bin] : 0;
  uint32_t begin;
  scan(storage).ExclusiveSum(size, begin);
  if (is_bin) {
    const uint64_t cell = ((uint64_t)t->segment << a.bins_log2) + bin;
    const uint32_t at = size ? atomicAdd(&a.cursors[cell], size) : 0;
    const bool fits = at + (uint64_t)size <= a.bin_begins[cell + 1];
    if (size && !fits) *(volatile uint32_t *)&a.told->fails = 1;
    if (bin + 1 == 1u << a.bins_log2) bins->all = begin + size;
    bins->begin[bin] = begin;
    bins->shift[bin] = fits ? at - begin : NO_ROOM - begin;
    if (a.runs) a.runs[((uint64_t)blockIdx.x << a.bins_log2) + bin] = TSR_GROUP_RUN(at, begin, size);
  }
}

/* Of a thread's items, their places in the tile in the order of bins: two of 16 bits each. */
#define PLACES(K) (TSR_GROUP_TILE(sizeof(K)) / TSR_GROUP_THREADS / 2)
static __device__ __forceinline__ uint32_t place_of(const uint32_t *places, uint32_t round) {
  return places[round / 2] >> round % 2 * 16 & 0xFFFFu;
}

/* Begins to copy a tile's values to the places of their keys, behind the keys. */
template <class K, bool IS_SIFTED>
static __device__ __forceinline__ void fetch_values(const tsr_group_array &array, const tile &t,
                                                    const uint32_t *places) {
  char *room = (char *)group_room + TSR_GROUP_TILE_BYTES;
  const char *from = (const char *)array.from + t.begin * array.bytes;
#pragma unroll
  for (uint32_t r = 0; r < 2 * PLACES(K); r++) {
    const uint32_t i = r * TSR_GROUP_THREADS + threadIdx.x, place = place_of(places, r);
    if (i >= t.count || (IS_SIFTED && place >= TSR_GROUP_HOT_PLACE)) continue;
    if (array.bytes == sizeof(wide_key))
      __pipeline_memcpy_async((wide_key *)room + place, (const wide_key *)from + i, sizeof(wide_key));
    else
      __pipeline_memcpy_async((uint32_t *)room + place, (const uint32_t *)from + i, sizeof(uint32_t));
  }
  __pipeline_commit();
}

/* Writes what is in the order of bins: `all` keys, or their values. */
template <class K, class word>
static __device__ __forceinline__ void write_items(const tsr_group_pass &a, const tile_bins &bins, uint32_t all,
                                                   const word *items, void *column) {
  for (uint32_t i = threadIdx.x; i < all; i += TSR_GROUP_THREADS) {
    const uint32_t to = bins.shift[bin_of(a, ((const K *)group_room)[i])] + i;
    if (to < NO_ROOM - TSR_GROUP_TILE_BYTES) ((word *)column)[to] = items[i];
  }
}

/* As tsr_aggregate_at, in the block's memory, which has no addition of 64 bits but a loop: the halves are added by
 * themselves, and who sees the lower one pass its end carries. */
static __device__ __forceinline__ void combine_at(const tsr_aggregate &made, uint64_t *to, uint64_t offer) {
  if (made.how == TSR_AGGREGATE_SUM && !tsr_aggregate_is_floating(made.type)) {
    uint32_t *halves = (uint32_t *)to;
    const uint32_t low = (uint32_t)offer, before = atomicAdd(&halves[0], low);
    const uint32_t high = (uint32_t)(offer >> 32) + (before + low < low);
    if (high) atomicAdd(&halves[1], high);
  } else if (made.how == TSR_AGGREGATE_SUM || *(const volatile uint64_t *)to < offer) { /* the largest never falls */
    tsr_aggregate_at(&made, to, offer);
  }
}

static __device__ __forceinline__ tsr_aggregate made_of(const tsr_group_values &values, uint32_t which,
                                                        const void *from) {
  const tsr_aggregate made = {from, values.made[which].combined, values.made[which].type, values.made[which].how};
  return made;
}

/* Combines the values of a tile's frequent keys. Lanes that all have one key combine theirs first. */
template <class K>
static __device__ __forceinline__ void combine_hot(const tsr_group_values &values, const tile &t,
                                                   const uint32_t *places) {
  enum { ROUNDS = TSR_GROUP_TILE(sizeof(K)) / TSR_GROUP_THREADS };
  __shared__ uint64_t sums[TSR_GROUP_HOT];
  for (uint32_t which = 0; which < values.made_count; which++) {
    const tsr_aggregate made = made_of(values, which, values.array[values.made[which].array].from);
    sums[threadIdx.x] = 0;
    __syncthreads();
#pragma unroll
    for (uint32_t r = 0; r < ROUNDS; r++) {
      const uint32_t i = r * TSR_GROUP_THREADS + threadIdx.x, place = i < t.count ? place_of(places, r) : 0;
      const uint32_t id = place >= TSR_GROUP_HOT_PLACE ? place - TSR_GROUP_HOT_PLACE : NOT_HOT;
      const bool is_one = __all_sync(~0u, id == __shfl_sync(~0u, id, 0));
      if (is_one && id == NOT_HOT) continue;
      uint64_t offer = id == NOT_HOT ? 0 : tsr_aggregate_offer(&made, t.begin + i);
      for (uint32_t d = 16; is_one && d; d /= 2) offer = tsr_aggregate_of(&made, offer, __shfl_xor_sync(~0u, offer, d));
      if (id != NOT_HOT && (!is_one || threadIdx.x % 32 == 0)) combine_at(made, &sums[id], offer);
    }
    __syncthreads();
    if (sums[threadIdx.x])
      tsr_aggregate_at(&made, &values.hot_sums[which * TSR_GROUP_HOT + threadIdx.x], sums[threadIdx.x]);
  }
}
static_assert(TSR_GROUP_HOT == TSR_GROUP_THREADS, "a thread has a frequent key");

/* Values go one array after the other. Keys are written while the first one is on its way. */
template <class K, bool IS_SIFTED>
static __device__ __forceinline__ void carry_values(const tsr_group_pass &a, const tile &t, const tile_bins &bins,
                                                    const uint32_t *places) {
  const char *values = (const char *)group_room + TSR_GROUP_TILE_BYTES;
  for (uint32_t which = 0; which < a.values.array_count; which++) {
    const tsr_group_array &array = a.values.array[which];
    if (which) __syncthreads();
    fetch_values<K, IS_SIFTED>(array, t, places);
    if (which == 0) write_items<K>(a, bins, bins.all, (const K *)group_room, a.to);
    __pipeline_wait_prior(0);
    __syncthreads();
    if (array.bytes == sizeof(wide_key))
      write_items<K>(a, bins, bins.all, (const wide_key *)values, array.to);
    else
      write_items<K>(a, bins, bins.all, (const uint32_t *)values, array.to);
  }
}

/* A tile goes into the bins of its segment. Frequent keys are counted, and go nowhere. */
template <class K, bool IS_SIFTED, bool HAS_VALUES>
static __device__ __forceinline__ void order_tile(const tsr_group_pass &a) {
  enum { ROUNDS = TSR_GROUP_TILE(sizeof(K)) / TSR_GROUP_THREADS };
  __shared__ tile_bins bins;
  __shared__ hot_table<K> hot;
  K *room = (K *)group_room;
  K key[ROUNDS];
  uint32_t place[PLACES(K)]; /* at first the rank in its bin */
  tile t;
  if (!find_tile<K>(a, &t)) return;
  if (threadIdx.x < TSR_GROUP_BINS) bins.size[threadIdx.x] = 0;
  if (IS_SIFTED) hot_read(a.hot, &hot);
  const K *from = (const K *)a.from + t.begin;
#pragma unroll
  for (uint32_t r = 0; r < ROUNDS; r++) {
    const uint32_t i = r * TSR_GROUP_THREADS + threadIdx.x;
    key[r] = i < t.count ? __ldcs(from + i) : (K)0;
  }
  __syncthreads();
#pragma unroll
  for (uint32_t r = 0; r < ROUNDS; r++) {
    if (!a.segments.begins) key[r] = mix(key[r], a.seed);
    const bool is_item = r * TSR_GROUP_THREADS + threadIdx.x < t.count;
    const uint32_t id = IS_SIFTED && is_item ? hot_find(&hot, key[r]) : NOT_HOT;
    uint32_t own = TSR_GROUP_HOT_PLACE + id;
    if (IS_SIFTED) hot_count(&hot, id);
    if (is_item && id == NOT_HOT) own = atomicAdd(&bins.size[bin_of(a, key[r])], 1u);
    place[r / 2] = r % 2 ? place[r / 2] | own << 16 : own;
  }
  __syncthreads();
  take_runs(a, &t, &bins);
  __syncthreads();
#pragma unroll
  for (uint32_t r = 0; r < ROUNDS; r++) {
    const uint32_t i = r * TSR_GROUP_THREADS + threadIdx.x, bin = bin_of(a, key[r]);
    const uint32_t rank = place_of(place, r), is_hot = IS_SIFTED && rank >= TSR_GROUP_HOT_PLACE;
    const uint32_t own = is_hot ? rank : bins.begin[bin] + rank;
    if (i < t.count && !is_hot) room[own] = key[r];
    if (i < t.count && a.runs) __stcs(a.places + t.begin + i, (uint16_t)own);
    if (HAS_VALUES) place[r / 2] = r % 2 ? (place[r / 2] & 0xFFFFu) | own << 16 : (place[r / 2] & 0xFFFF0000u) | own;
  }
  __syncthreads();
  if (IS_SIFTED) hot_tell(a.hot, &hot);
  if (!HAS_VALUES)
    write_items<K>(a, bins, IS_SIFTED ? bins.all : t.count, room, a.to);
  else
    carry_values<K, IS_SIFTED>(a, t, bins, place);
  if (HAS_VALUES && IS_SIFTED) combine_hot<K>(a.values, t, place);
}
KERNEL(order_32, tsr_group_pass, TSR_GROUP_THREADS, 3) { order_tile<uint32_t, false, false>(a); }
KERNEL(order_64, tsr_group_pass, TSR_GROUP_THREADS, 3) { order_tile<wide_key, false, false>(a); }
KERNEL(sift_32, tsr_group_pass, TSR_GROUP_THREADS, 3) { order_tile<uint32_t, true, false>(a); }
KERNEL(sift_64, tsr_group_pass, TSR_GROUP_THREADS, 3) { order_tile<wide_key, true, false>(a); }
KERNEL(carry_32, tsr_group_pass, TSR_GROUP_THREADS, 2) { order_tile<uint32_t, false, true>(a); }
KERNEL(carry_64, tsr_group_pass, TSR_GROUP_THREADS, 2) { order_tile<wide_key, false, true>(a); }
KERNEL(cull_32, tsr_group_pass, TSR_GROUP_THREADS, 2) { order_tile<uint32_t, true, true>(a); }
KERNEL(cull_64, tsr_group_pass, TSR_GROUP_THREADS, 2) { order_tile<wide_key, true, true>(a); }

/* A warp brings a run back, so that whole lines are read. */
template <class K>
static __device__ __forceinline__ void back_tile(const tsr_group_pass &a) {
  enum { ROUNDS = TSR_GROUP_TILE(sizeof(K)) / TSR_GROUP_THREADS, WARPS = TSR_GROUP_THREADS / 32 };
  __shared__ uint64_t runs[TSR_GROUP_BINS];
  uint32_t *room = (uint32_t *)group_room;
  uint32_t places[ROUNDS / 2]; /* two of 16 bits each */
  tile t;
  if (a.told->fails || !find_tile<K>(a, &t)) return;
  const uint32_t bins = 1u << a.bins_log2;
#pragma unroll
  for (uint32_t r = 0; r < ROUNDS; r++) {
    const uint32_t i = r * TSR_GROUP_THREADS + threadIdx.x;
    const uint32_t place = i < t.count ? __ldcs(a.places + t.begin + i) : 0;
    places[r / 2] = r % 2 ? places[r / 2] | place << 16 : place;
  }
  if (threadIdx.x < bins) runs[threadIdx.x] = a.runs[(uint64_t)blockIdx.x * bins + threadIdx.x];
  __syncthreads();
  for (uint32_t bin = threadIdx.x / 32; bin < bins; bin += WARPS) {
    const uint32_t first = (uint32_t)(runs[bin] >> 32) & 0xFFFFu, count = (uint32_t)(runs[bin] >> 48);
    const uint32_t *run = (const uint32_t *)a.from + (uint32_t)runs[bin];
    for (uint32_t k = threadIdx.x % 32; k < count; k += 32) __pipeline_memcpy_async(room + first + k, run + k, 4);
  }
  __pipeline_commit();
  __pipeline_wait_prior(0);
  __syncthreads();
#pragma unroll
  for (uint32_t r = 0; r < ROUNDS; r++) {
    const uint32_t i = r * TSR_GROUP_THREADS + threadIdx.x;
    const uint32_t place = places[r / 2] >> r % 2 * 16 & 0xFFFFu;
    if (i < t.count)
      __stcs((uint32_t *)a.to + t.begin + i, place >= TSR_GROUP_HOT_PLACE ? place - TSR_GROUP_HOT_PLACE : room[place]);
  }
}
KERNEL(back_32, tsr_group_pass, TSR_GROUP_THREADS, 3) { back_tile<uint32_t>(a); }
KERNEL(back_64, tsr_group_pass, TSR_GROUP_THREADS, 3) { back_tile<wide_key>(a); }

/* ---- Sets ------------------------------------------------------------------------------------ */

template <class K>
struct page_of {
  enum {
    FIRST = TSR_GROUP_FIRST(sizeof(K)),
    SECOND = FIRST / 2,
    LAST_BEGIN = FIRST + SECOND,
    SLOTS = LAST_BEGIN + TSR_GROUP_LAST, /* and one for the key that is no key of a set */
    ITEMS = TSR_GROUP_IN_HAND(sizeof(K)),
    ROWS = ITEMS / TSR_GROUP_THREADS
  };
};

/* The key's place at a level. Keys of a page have their first bits in common. */
template <class K, uint32_t LEVEL>
static __device__ __forceinline__ uint32_t place_at(K mixed) {
  typedef page_of<K> page;
  const uint32_t h = (uint32_t)mixed ^ (sizeof(K) > 4 ? (uint32_t)((wide_key)mixed >> 29) : 0);
  if (LEVEL == 0) return (uint32_t)mixed % page::FIRST;
  if (LEVEL == 1) return page::FIRST + (h * 0x9E3779B1u >> 16) % page::SECOND;
  return (h * 0xC2B2AE3Du >> 16) % TSR_GROUP_LAST;
}

template <class K>
static __device__ __forceinline__ K load(const K *at) {
  return *(const volatile K *)at;
}
template <class K>
static __device__ __forceinline__ void store(K *at, K value) {
  *(volatile K *)at = value;
}

/* An election: the rows of keys that have no place yet, each at its place of this level. IS_FIRST: nobody was elected
 * before; then the places need not be free words. */
template <class K, uint32_t LEVEL, bool IS_FIRST>
static __device__ __forceinline__ uint32_t elect(K *set, const K *key, uint32_t rows, uint32_t *slot) {
#pragma unroll
  for (uint32_t r = 0; r < page_of<K>::ROWS; r++)
    if (rows >> r & 1u) {
      slot[r] = place_at<K, LEVEL>(key[r]);
      if (IS_FIRST || load(&set[slot[r]]) == free_key<K>()) store(&set[slot[r]], key[r]);
    }
  __syncthreads();
#pragma unroll
  for (uint32_t r = 0; r < page_of<K>::ROWS; r++)
    if ((rows >> r & 1u) && load(&set[slot[r]]) == key[r]) rows &= ~(1u << r);
  return rows;
}

static __device__ __forceinline__ uint32_t swap(uint32_t *at, uint32_t key) { return atomicCAS(at, ~0u, key); }
static __device__ __forceinline__ wide_key swap(wide_key *at, wide_key key) { return atomicCAS(at, ~0ull, key); }

/* The last level. Bounded: it has few places. */
template <class K>
static __device__ __forceinline__ bool put_last(K *set, K key, uint32_t *slot) {
  uint32_t at = place_at<K, 2>(key);
  for (uint32_t tries = 0; tries < TSR_GROUP_LAST; tries++, at = (at + 1) % TSR_GROUP_LAST) {
    *slot = page_of<K>::LAST_BEGIN + at;
    const K seen = swap(&set[*slot], key);
    if (seen == free_key<K>() || seen == key) return true;
  }
  return false;
}

/* Puts the keys of a thread's rows into the set. slot: of each, its place. False: there is none for one of them. */
template <class K, bool IS_FIRST>
static __device__ __forceinline__ bool put_rows(K *set, const K *key, uint32_t rows, uint32_t *slot) {
  bool fits = true;
#pragma unroll
  for (uint32_t r = 0; r < page_of<K>::ROWS; r++)
    if ((rows >> r & 1u) && key[r] == free_key<K>()) {
      slot[r] = page_of<K>::SLOTS;
      store(&set[slot[r]], (K)0);
      rows &= ~(1u << r);
    }
  rows = elect<K, 0, IS_FIRST>(set, key, rows, slot);
  rows = elect<K, 1, IS_FIRST>(set, key, rows, slot);
#pragma unroll
  for (uint32_t r = 0; r < page_of<K>::ROWS; r++)
    if (rows >> r & 1u) fits &= put_last(set, key[r], &slot[r]);
  return fits;
}

/* Reads a thread's rows of a piece of a page; returns which there are. */
template <class K>
static __device__ __forceinline__ uint32_t read_rows(const tsr_group_page &a, uint64_t begin, uint64_t end, K *key) {
  const K *from = (const K *)a.from + begin;
  const uint32_t items = end - begin < page_of<K>::ITEMS ? (uint32_t)(end - begin) : (uint32_t)page_of<K>::ITEMS;
  uint32_t rows = 0;
#pragma unroll
  for (uint32_t r = 0; r < page_of<K>::ROWS; r++) {
    const uint32_t i = r * TSR_GROUP_THREADS + threadIdx.x;
    rows |= (uint32_t)(i < items) << r;
    key[r] = i < items ? __ldcs(from + i) : (K)0;
  }
  if (a.is_first)
#pragma unroll
    for (uint32_t r = 0; r < page_of<K>::ROWS; r++) key[r] = mix(key[r], a.seed);
  return rows;
}

/* ---- Leaders and numbers --------------------------------------------------------------------- */

/* The items that a thread has in hand. at: of each, its key's place in the set; later, its number in the block. there,
 * leads: a bit for each. */
template <class K>
struct in_hand {
  K key[page_of<K>::ROWS];
  uint32_t at[page_of<K>::ROWS], there, leads;
};
#define EACH_ROW(r, rows) _Pragma("unroll") for (uint32_t r = 0; r < page_of<K>::ROWS; r++) if ((rows) >> r & 1u)

/* Of the items of each key one leads. The words of the set become other ones: all keys have their places. */
template <class K>
static __device__ __forceinline__ void elect_leaders(K *set, in_hand<K> *own) {
  own->leads = 0;
  __syncthreads();
  EACH_ROW(r, own->there) store((uint32_t *)&set[own->at[r]], r * TSR_GROUP_THREADS + threadIdx.x);
  __syncthreads();
  EACH_ROW(r, own->there)
  own->leads |= (uint32_t)(load((uint32_t *)&set[own->at[r]]) == r * TSR_GROUP_THREADS + threadIdx.x) << r;
}

enum { PAGE_WARPS = TSR_GROUP_THREADS / 32 };
struct page_sums {
  uint32_t of_warp[PAGE_WARPS], all;
  uint64_t base;
};

static __device__ __forceinline__ void tell_base(const tsr_group_page &a, uint64_t page, const page_sums *sums) {
  a.values.bases[2 * page] = sums->base;
  a.values.bases[2 * page + 1] = sums->all;
}

static __device__ __forceinline__ uint32_t lanes_before(uint32_t lanes) {
  return __popc(lanes & ((1u << threadIdx.x % 32) - 1));
}

/* How many come before this thread's warp in the block, of which each thread has `own`. base: the number of the block's
 * first. found: NULL: numbers are the block's own. */
static __device__ __forceinline__ uint32_t take_numbers(uint32_t own, page_sums *sums, uint64_t *found) {
  const uint32_t warp = threadIdx.x / 32, all = __reduce_add_sync(~0u, own);
  if (threadIdx.x % 32 == 0) sums->of_warp[warp] = all;
  __syncthreads();
  if (threadIdx.x < 32) {
    const uint32_t mine = threadIdx.x < PAGE_WARPS ? sums->of_warp[threadIdx.x] : 0;
    uint32_t before = mine;
#pragma unroll
    for (uint32_t d = 1; d < 32; d *= 2) {
      const uint32_t lower = __shfl_up_sync(~0u, before, d);
      if (threadIdx.x >= d) before += lower;
    }
    if (threadIdx.x < PAGE_WARPS) sums->of_warp[threadIdx.x] = before - mine;
    if (threadIdx.x == 31) sums->all = before;
    if (threadIdx.x == 31)
      sums->base = found && before ? atomicAdd((unsigned long long *)found, (unsigned long long)before) : 0;
  }
  __syncthreads();
  return sums->of_warp[warp];
}

/* Gives the leaders numbers in the block, and calls got(r, number) for each; then all items get the numbers of their
 * leaders. */
template <class K, class Got>
static __device__ __forceinline__ void number_items(K *set, in_hand<K> *own, page_sums *sums, uint64_t *found,
                                                    Got got) {
  uint32_t number = take_numbers(__popc(own->leads), sums, found);
#pragma unroll
  for (uint32_t r = 0; r < page_of<K>::ROWS; r++) {
    const uint32_t all = __ballot_sync(~0u, own->leads >> r & 1u), mine = number + lanes_before(all);
    number += __popc(all);
    if (!(own->leads >> r & 1u)) continue;
    store((uint32_t *)&set[own->at[r]], mine);
    got(r, mine);
  }
  __syncthreads();
  EACH_ROW(r, own->there) own->at[r] = load((uint32_t *)&set[own->at[r]]);
}

/* Counts the items of each key, in the memory of the set, which is needed no more. */
template <class K>
static __device__ __forceinline__ uint32_t *count_items(K *set, const in_hand<K> *own) {
  uint32_t *counts = (uint32_t *)set;
  __syncthreads();
  EACH_ROW(r, own->leads) store(&counts[own->at[r]], 1u);
  __syncthreads();
  EACH_ROW(r, own->there & ~own->leads) atomicAdd(&counts[own->at[r]], 1u);
  __syncthreads();
  return counts;
}

/* ---- Pages ----------------------------------------------------------------------------------- */

/* To be followed by a barrier. */
template <class K>
static __device__ __forceinline__ void clear_last(K *set) {
  for (uint32_t at = page_of<K>::LAST_BEGIN + threadIdx.x; at <= page_of<K>::SLOTS; at += TSR_GROUP_THREADS)
    set[at] = free_key<K>();
}

/* Begins to copy a page's values into the block's memory, behind the set. Each thread copies those of its own items. */
template <class K>
static __device__ __forceinline__ void fetch_page(const tsr_group_array &array, uint64_t begin, uint32_t items) {
  char *room = (char *)group_room + TSR_GROUP_SET_BYTES(sizeof(K));
  const char *from = (const char *)array.from + begin * array.bytes;
#pragma unroll 1
  for (uint32_t i = threadIdx.x; i < items; i += TSR_GROUP_THREADS)
    if (array.bytes == sizeof(wide_key))
      __pipeline_memcpy_async((wide_key *)room + i, (const wide_key *)from + i, sizeof(wide_key));
    else
      __pipeline_memcpy_async((uint32_t *)room + i, (const uint32_t *)from + i, sizeof(uint32_t));
  __pipeline_commit();
}

/* Leaders write their values, and others combine theirs with these, in the memory of the set. */
template <class K>
static __device__ __forceinline__ void combine_in_hand(const tsr_group_page &a, const in_hand<K> &own,
                                                       const page_sums &sums, uint32_t which) {
  uint64_t *combined = (uint64_t *)group_room;
  const tsr_aggregate made = made_of(a.values, which, (char *)group_room + TSR_GROUP_SET_BYTES(sizeof(K)));
  __syncthreads();
  EACH_ROW(r, own.leads) combined[own.at[r]] = tsr_aggregate_offer(&made, r * TSR_GROUP_THREADS + threadIdx.x);
  __syncthreads();
  EACH_ROW(r, own.there & ~own.leads)
  combine_at(made, &combined[own.at[r]], tsr_aggregate_offer(&made, r * TSR_GROUP_THREADS + threadIdx.x));
  __syncthreads();
  for (uint32_t k = threadIdx.x; k < sums.all && sums.base + k < a.room; k += TSR_GROUP_THREADS)
    tsr_aggregate_put(&made, sums.base + k, combined[k]);
}

/* The first array is on its way. */
template <class K>
static __device__ __forceinline__ void combine_all(const tsr_group_page &a, uint64_t begin, uint32_t items,
                                                   const in_hand<K> &own, const page_sums &sums) {
  for (uint32_t array = 0; array < a.values.array_count; array++) {
    if (array) fetch_page<K>(a.values.array[array], begin, items);
    __pipeline_wait_prior(0);
    for (uint32_t which = 0; which < a.values.made_count; which++)
      if (a.values.made[which].array == array) combine_in_hand(a, own, sums, which);
  }
}

/* A page whose items a block has in hand all at once. */
template <class K, bool HAS_VALUES>
static __device__ __forceinline__ void make_page(const tsr_group_page &a) {
  __shared__ page_sums sums;
  K *set = (K *)group_room;
  in_hand<K> own;
  const uint64_t begin = a.pages.begins ? a.pages.begins[blockIdx.x] : 0;
  const uint64_t end = a.pages.begins ? end_of(a.pages, blockIdx.x) : a.n;
  if (begin == end || a.told->fails) return;
  if (end - begin > page_of<K>::ITEMS) {
    if (threadIdx.x == 0) a.larges[atomicAdd(&a.told->larges, 1u)] = blockIdx.x;
    return;
  }
  own.there = read_rows<K>(a, begin, end, own.key);
  if (HAS_VALUES) fetch_page<K>(a.values.array[0], begin, (uint32_t)(end - begin));
  clear_last(set);
  if (!put_rows<K, true>(set, own.key, own.there, own.at)) *(volatile uint32_t *)&a.told->fails = 1;
  elect_leaders(set, &own);
  number_items(set, &own, &sums, &a.told->found, [&](uint32_t r, uint32_t number) {
    const uint64_t to = sums.base + number;
    if (a.keys && to < a.room) __stcs((K *)a.keys + to, unmix(own.key[r], a.seed));
  });
  if (a.wants_numbers) {
    EACH_ROW(r, own.there)
    __stcs(a.numbers + begin + r * TSR_GROUP_THREADS + threadIdx.x, (uint32_t)sums.base + own.at[r]);
  }
  if (a.counts) {
    const uint32_t *counts = count_items(set, &own);
    EACH_ROW(r, own.leads) {
      const uint64_t to = sums.base + own.at[r];
      if (to < a.room) __stcs(a.counts + to, (uint64_t)counts[own.at[r]]);
    }
  }
  if (HAS_VALUES) combine_all(a, begin, (uint32_t)(end - begin), own, sums);
}
KERNEL(page_32, tsr_group_page, TSR_GROUP_THREADS, 3) { make_page<uint32_t, false>(a); }
KERNEL(page_64, tsr_group_page, TSR_GROUP_THREADS, 3) { make_page<wide_key, false>(a); }
KERNEL(merge_32, tsr_group_page, TSR_GROUP_THREADS, 3) { make_page<uint32_t, true>(a); }
KERNEL(merge_64, tsr_group_page, TSR_GROUP_THREADS, 3) { make_page<wide_key, true>(a); }

/* ---- The sample ------------------------------------------------------------------------------ */

/* Puts the frequent keys into their table, in this block's memory and then in the device's. */
template <class K>
static __device__ __forceinline__ void put_hot(const tsr_group_hot &hot, K *slots, const K *key, const uint32_t *id,
                                               uint32_t rows) {
  uint32_t *ids = (uint32_t *)(slots + TSR_GROUP_HOT_SLOTS);
  for (uint32_t at = threadIdx.x; at < TSR_GROUP_HOT_SLOTS; at += TSR_GROUP_THREADS) slots[at] = free_key<K>();
  if (threadIdx.x < TSR_GROUP_HOT) hot.counts[threadIdx.x] = 0;
  __syncthreads();
  EACH_ROW(r, rows) {
    uint32_t at = hot_home(key[r]);
    while (swap(&slots[at], key[r]) != free_key<K>()) at = (at + 1) % TSR_GROUP_HOT_SLOTS; /* half of them are free */
    ids[at] = id[r];
    ((K *)hot.keys)[id[r]] = key[r];
  }
  __syncthreads();
  for (uint32_t at = threadIdx.x; at < TSR_GROUP_HOT_SLOTS; at += TSR_GROUP_THREADS) {
    ((K *)hot.slot_keys)[at] = slots[at];
    hot.slot_ids[at] = ids[at];
  }
}

/* As many items as a block has in hand, from anywhere in the batch. */
template <class K>
static __device__ __forceinline__ void sample(const tsr_group_page &a) {
  __shared__ page_sums sums;
  __shared__ uint32_t hot, hot_items, distinct;
  K *set = (K *)group_room;
  in_hand<K> own;
  own.there = (1u << page_of<K>::ROWS) - 1;
  if (threadIdx.x == 0) hot = hot_items = distinct = 0;
  EACH_ROW(r, own.there) {
    const uint64_t at = mix((uint32_t)(r * TSR_GROUP_THREADS + threadIdx.x), a.seed) * a.n >> 32;
    own.key[r] = mix(((const K *)a.from)[at], a.seed);
  }
  clear_last(set);
  put_rows<K, true>(set, own.key, own.there, own.at); /* if there is no place for a key, it has one more leader */
  elect_leaders(set, &own);
  number_items(set, &own, &sums, NULL, [](uint32_t, uint32_t) {});
  const uint32_t *counts = count_items(set, &own);
  uint32_t takes = 0;
  atomicAdd(&distinct, (uint32_t)__popc(own.leads));
  EACH_ROW(r, own.leads) {
    const uint32_t count = counts[own.at[r]];
    if (count < TSR_GROUP_HOT_LEAST || own.key[r] == free_key<K>()) continue;
    own.at[r] = atomicAdd(&hot, 1u);
    if (own.at[r] >= TSR_GROUP_HOT) continue;
    takes |= 1u << r;
    atomicAdd(&hot_items, count);
  }
  __syncthreads();
  put_hot(a.hot, set, own.key, own.at, takes);
  if (threadIdx.x) return;
  const uint32_t taken = hot < TSR_GROUP_HOT ? hot : TSR_GROUP_HOT;
  const tsr_group_told told = {
      .found = taken, .hot = taken, .pairs = page_of<K>::ITEMS - hot_items - (distinct - taken)};
  *a.told = told;
}
KERNEL(sample_32, tsr_group_page, TSR_GROUP_THREADS, 1) { sample<uint32_t>(a); }
KERNEL(sample_64, tsr_group_page, TSR_GROUP_THREADS, 1) { sample<wide_key>(a); }

/* ---- Large pages ----------------------------------------------------------------------------- */

/* Calls got(slot, key) for each slot of this thread. All lanes of a warp call it together. */
template <class K, class Got>
static __device__ __forceinline__ void each_slot(const K *set, Got got) {
  for (uint32_t at = threadIdx.x; at / 32 * 32 <= page_of<K>::SLOTS; at += TSR_GROUP_THREADS)
    got(at, at <= page_of<K>::SLOTS ? set[at] : free_key<K>());
}

/* A page in pieces. A place that is taken is not written again. */
template <class K>
static __device__ __forceinline__ void make_large(const tsr_group_page &a, uint32_t which) {
  typedef page_of<K> page;
  const uint64_t begin = a.pages.begins[which], end = end_of(a.pages, which);
  __shared__ page_sums sums;
  K *set = (K *)group_room, key[page::ROWS];
  uint32_t *counts = (uint32_t *)(set + page::SLOTS + 16 / sizeof(K)), slot[page::ROWS], own = 0;
  for (uint32_t at = threadIdx.x; at <= page::SLOTS; at += TSR_GROUP_THREADS) {
    set[at] = free_key<K>();
    counts[at] = 0;
  }
#pragma unroll 1
  for (uint64_t piece = begin; piece < end; piece += page::ITEMS) {
    const uint32_t rows = read_rows<K>(a, piece, end, key);
    __syncthreads();
    if (!put_rows<K, false>(set, key, rows, slot)) *(volatile uint32_t *)&a.told->fails = 1;
#pragma unroll
    for (uint32_t r = 0; r < page::ROWS; r++)
      if (rows >> r & 1u) {
        if (a.counts) atomicAdd(&counts[slot[r]], 1u);
        if (a.numbers) a.numbers[piece + r * TSR_GROUP_THREADS + threadIdx.x] = slot[r];
      }
  }
  __syncthreads();
  each_slot<K>(set, [&](uint32_t at, K k) { own += at == page::SLOTS ? k == 0 : k != free_key<K>(); });
  uint32_t number = take_numbers(own, &sums, &a.told->found);
  if (a.values.made_count && threadIdx.x == 0) tell_base(a, which, &sums);
  each_slot<K>(set, [&](uint32_t at, K k) {
    const bool is_key = at == page::SLOTS ? k == 0 : k != free_key<K>();
    const uint32_t all = __ballot_sync(~0u, is_key);
    const uint64_t to = sums.base + number + lanes_before(all);
    number += __popc(all);
    if (!is_key) return;
    if (a.keys && to < a.room) __stcs((K *)a.keys + to, unmix(at == page::SLOTS ? free_key<K>() : k, a.seed));
    if (a.counts && to < a.room) __stcs(a.counts + to, (uint64_t)counts[at]);
    store((uint32_t *)&set[at], (uint32_t)to);
  });
  __syncthreads();
  if (a.numbers)
    for (uint64_t i = begin + threadIdx.x; i < end; i += TSR_GROUP_THREADS)
      a.numbers[i] = *(const uint32_t *)&set[a.numbers[i]];
  __syncthreads();
}

template <class K>
static __device__ __forceinline__ void make_large_pages(const tsr_group_page &a) {
  for (uint32_t id = threadIdx.x; blockIdx.x == 0 && id < a.told->hot; id += TSR_GROUP_THREADS) {
    if (a.keys && id < a.room) ((K *)a.keys)[id] = unmix(((const K *)a.hot.keys)[id], a.seed);
    if (a.counts && id < a.room) a.counts[id] = a.hot.counts[id];
  }
  const uint32_t larges = a.told->fails ? 0 : a.told->larges;
  for (uint32_t i = blockIdx.x; i < larges; i += gridDim.x) make_large<K>(a, a.larges[i]);
}
KERNEL(large_32, tsr_group_page, TSR_GROUP_THREADS, 2) { make_large_pages<uint32_t>(a); }
KERNEL(large_64, tsr_group_page, TSR_GROUP_THREADS, 2) { make_large_pages<wide_key>(a); }

/* ---- Values of large pages ------------------------------------------------------------------- */

/* Some keys of a page that came in pieces, and all of its items: those whose numbers in the page are from `first` to before
 * `first + keys`, which is where `base` is. */
static __device__ __forceinline__ void combine_keys(const tsr_group_page &a, uint32_t page, uint64_t base,
                                                    uint32_t keys, uint32_t which) {
  uint64_t *combined = (uint64_t *)group_room;
  const tsr_aggregate made = made_of(a.values, which, a.values.array[a.values.made[which].array].from);
  const uint64_t end = end_of(a.pages, page);
  for (uint32_t k = threadIdx.x; k < keys; k += TSR_GROUP_THREADS) combined[k] = 0;
  __syncthreads();
  for (uint64_t i = a.pages.begins[page] + threadIdx.x; i < end; i += TSR_GROUP_THREADS) {
    const uint32_t own = a.numbers[i] - (uint32_t)base;
    if (own < keys) combine_at(made, &combined[own], tsr_aggregate_offer(&made, i));
  }
  __syncthreads();
  for (uint32_t k = threadIdx.x; k < keys; k += TSR_GROUP_THREADS)
    if (base + k < a.room) tsr_aggregate_put(&made, base + k, combined[k]);
  __syncthreads();
}

/* What frequent keys' values became in the first pass. */
static __device__ __forceinline__ void put_hot_combined(const tsr_group_page &a) {
  const uint32_t hot = a.told->hot < a.room ? a.told->hot : (uint32_t)a.room;
  for (uint32_t which = 0; which < a.values.made_count; which++) {
    const tsr_aggregate made = made_of(a.values, which, NULL);
    for (uint32_t id = threadIdx.x; id < hot; id += TSR_GROUP_THREADS)
      tsr_aggregate_put(&made, id, a.values.hot_sums[which * TSR_GROUP_HOT + id]);
  }
}

template <class K>
static __device__ __forceinline__ void combine_large_pages(const tsr_group_page &a) {
  enum { KEYS = TSR_GROUP_IN_HAND(sizeof(K)) };
  if (a.told->fails) return;
  if (blockIdx.x == 0) put_hot_combined(a);
  for (uint32_t i = blockIdx.x; i < a.told->larges; i += gridDim.x) {
    const uint64_t base = a.values.bases[2 * a.larges[i]], keys = a.values.bases[2 * a.larges[i] + 1];
    for (uint64_t first = 0; first < keys; first += KEYS)
      for (uint32_t which = 0; which < a.values.made_count; which++)
        combine_keys(a, a.larges[i], base + first, keys - first < KEYS ? (uint32_t)(keys - first) : (uint32_t)KEYS,
                     which);
  }
}
KERNEL(combine_32, tsr_group_page, TSR_GROUP_THREADS, 2) { combine_large_pages<uint32_t>(a); }
KERNEL(combine_64, tsr_group_page, TSR_GROUP_THREADS, 2) { combine_large_pages<wide_key>(a); }

/* ---- Directly -------------------------------------------------------------------------------- */

#include "core/batch/direct.cuh"

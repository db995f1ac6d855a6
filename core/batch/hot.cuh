/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys that a batch repeats so often that their pages would keep all others waiting. A sample of the batch shows them.
 * The partition's first pass combines the values of each, a tile at a time in shared memory, instead of moving its
 * items. After all pages each key is inserted as one pair, by random access. Why: ../design/0014-pages.md.
 */
#ifndef TSR_BATCH_HOT_CUH
#define TSR_BATCH_HOT_CUH

#include "core/batch/idle.cuh"
#include "core/batch/offers.cuh"

/* Whether offers are combined: only then can all that a batch offers for a key be one offer. With `first` and `replace`
 * the item whose result is "inserted" expects its own value there. */
static __device__ __forceinline__ uint32_t hot_combines(const tsr_ctx *c) {
  return TSR_PAYLOAD_BITS > 0 && TSR_POLICY_MERGES(TSR_FACT(c, duplicates));
}

/* Where a key is looked for first, by the lowest bits of its hash. The hot keys are the first ones of the sample's set;
 * by the highest bits they would all be neighbours here as well. */
static __device__ __forceinline__ uint32_t hot_home(tsr_key key, uint32_t slots) { return set_hash(key) % slots; }

/* Makes the hot keys available to all threads of the block, after a barrier. Returns whether there are any. */
static __device__ __forceinline__ uint32_t hot_load(const tsr_ctx *c, const tsr_hot *hot, io_key *keys) {
  if (!hot_combines(c) || !hot->keys || *hot->count == 0) return 0;
  for (uint32_t slot = threadIdx.x; slot < TSR_HOT_SLOTS; slot += blockDim.x)
    keys[slot] = ((const io_key *)hot->keys)[slot];
  return 1;
}

/* The key's slot, or TSR_SET_NONE. Half of the slots are free, and no reserved key is hot. */
static __device__ __forceinline__ uint32_t hot_find(const io_key *keys, tsr_key key) {
  return set_find(keys, TSR_HOT_SLOTS, hot_home(key, TSR_HOT_SLOTS), TSR_HOT_SLOTS, (io_key)key);
}

/* ---- Which keys are hot ---------------------------------------------------------------------- */

/* The position of item i of a sample of 2^log2: one in each of equal parts of the batch, or the item itself if there are
 * few. */
static __device__ __forceinline__ uint64_t sample_at(uint64_t n, uint64_t i, uint32_t log2) {
  const uint64_t begin = i * n >> log2, end = (i + 1) * n >> log2;
  if (n >> log2 == 0) return i;
  return begin + set_home(set_hash(i + 1), (uint32_t)(end - begin));
}

/* Counts the sampled items of each key. The atomics of this file are relaxed: they count, combine numbers in any order,
 * or let one of several threads win, and the result is read after a barrier or by the next kernel. */
extern "C" __global__ void __launch_bounds__(TSR_BLOCK_THREADS)
    tsr_pages_sample_kernel(const __grid_constant__ tsr_hot_step a) {
  const uint64_t i = io_item(0);
  if (i >= TSR_HOT_SAMPLE || i >= a.bulk.n) return;
  const uint64_t at = sample_at(a.bulk.n, i, TSR_HOT_SAMPLE_LOG2);
  const tsr_key key = io_key_at(a.bulk.keys, at, 1);
  if (walk_is_reserved(key)) return;
  io_key *keys = (io_key *)a.hot.sampled_keys;
  bool is_new;
  const uint32_t slot = set_add(keys, TSR_HOT_SAMPLE_SLOTS, hot_home(key, TSR_HOT_SAMPLE_SLOTS), TSR_HOT_SAMPLE_SLOTS,
                                (io_key)key, &is_new); /* there are more slots than sampled items */
  atomicAdd(&a.hot.sampled_counts[slot], 1u);
}

/* Chooses the hot keys; works as one block. A few keys that are hardly hot are not worth comparing all others with
 * them. So there are hot keys only if one of them is very hot. */
extern "C" __global__ void __launch_bounds__(TSR_TILE_THREADS, 1)
    tsr_pages_choose_kernel(const __grid_constant__ tsr_hot_step a) {
  __shared__ io_key keys[TSR_HOT_SLOTS];
  __shared__ uint32_t most, count;
  tsr_scratch scratch;
  const tsr_ctx c = batch_context(&a.bulk, &scratch);
  uint32_t own = 0;
  if (threadIdx.x == 0) most = count = 0;
  for (uint32_t slot = threadIdx.x; slot < TSR_HOT_SLOTS; slot += TSR_TILE_THREADS) {
    keys[slot] = TSR_EMPTY_KEY;
    a.hot.told[slot] = 0;
    if (TSR_PAYLOAD_BITS > 0) ((io_payload *)a.hot.values)[slot] = tsr_identity(TSR_FACT(&c, duplicates));
  }
  __syncthreads();
#pragma unroll 8
  for (uint32_t i = threadIdx.x; i < TSR_HOT_SAMPLE_SLOTS; i += TSR_TILE_THREADS) {
    const uint32_t sampled = a.hot.sampled_counts[i];
    own = own < sampled ? sampled : own;
  }
  atomicMax(&most, own);
  __syncthreads();
  const uint32_t end = most >= TSR_HOT_MOST && !is_idle(a.idle) ? TSR_HOT_SAMPLE_SLOTS : 0;
#pragma unroll 8
  for (uint32_t i = threadIdx.x; i < end; i += TSR_TILE_THREADS) {
    if (a.hot.sampled_counts[i] < TSR_HOT_LEAST || atomicAdd(&count, 1u) >= TSR_HOT_KEYS) continue;
    const io_key key = ((const io_key *)a.hot.sampled_keys)[i];
    bool is_new;
    set_add(keys, TSR_HOT_SLOTS, hot_home(key, TSR_HOT_SLOTS), TSR_HOT_SLOTS, key, &is_new);
  }
  __syncthreads();
  for (uint32_t slot = threadIdx.x; slot < TSR_HOT_SLOTS; slot += TSR_TILE_THREADS)
    ((io_key *)a.hot.keys)[slot] = keys[slot];
  if (threadIdx.x != 0) return;
  *a.hot.count = count < TSR_HOT_KEYS ? count : (uint32_t)TSR_HOT_KEYS;
  a.hot.rest[0] = count != 0; /* they are a page of their own, which is left to random access */
  a.hot.rest[1] = 0;
  a.hot.begins[0] = 0;
  a.hot.begins[1] = TSR_HOT_SLOTS;
}

/* ---- What a tile offers for them ------------------------------------------------------------- */

/* The hot keys and what the tile offers for each, in memory that later holds the tile's items. */
struct hot_tile {
  offers_set set;
  uint32_t has_keys;
};

/* To be followed by a barrier. */
static __device__ __forceinline__ hot_tile hot_begin(const tsr_ctx *c, const tsr_hot *all, unsigned char *memory) {
  hot_tile hot = {offers_in(memory, TSR_HOT_SLOTS), 0};
  hot.has_keys = hot_load(c, all, hot.set.keys);
  for (uint32_t slot = threadIdx.x; hot.has_keys && slot < TSR_HOT_SLOTS; slot += blockDim.x)
    hot.set.sums[slot] = tsr_identity(TSR_FACT(c, duplicates));
  return hot;
}

/* Whether the key is hot; if so, combines item i's offer with those of the tile. payload: the item's, if it has been
 * read. */
static __device__ __forceinline__ bool hot_takes(const tsr_ctx *c, hot_tile hot, tsr_key key, tsr_payload payload,
                                                 const void *values, uint64_t i) {
  const uint32_t slot = hot_find(hot.set.keys, key);
  if (slot == TSR_SET_NONE) return false;
  offers_put(c, hot.set, slot, TILE_IS_WIDE || !values ? offered_at(c, values, i, 1) : offered(c, payload), 0);
  return true;
}

/* Adds what the tile has combined to the offers of the batch. To be called after a barrier. */
static __device__ __forceinline__ void hot_end(const tsr_ctx *c, const tsr_hot *all, hot_tile hot) {
  for (uint32_t slot = threadIdx.x; slot < TSR_HOT_SLOTS; slot += blockDim.x)
    if (hot.set.sums[slot] != tsr_identity(TSR_FACT(c, duplicates)))
      tsr_combine_at(c, (tsr_payload *)all->values + slot, TSR_FACT(c, duplicates), hot.set.sums[slot]);
}

/* ---- What became of them --------------------------------------------------------------------- */

/* The answer for one item of the batch whose key is hot. Its pair was inserted once for all of them. One item gets that
 * result, the others that the key was present; or all are handed back, if the pair in hand is still the key's. */
static __device__ __forceinline__ void hot_answer(const tsr_ctx *c, const tsr_hot_step *a, uint64_t i, tsr_key key,
                                                  uint32_t slot) {
  uint32_t result = a->hot.results[slot];
  const uint32_t is_first = result == TSR_RESULT_INSERTED || result == TSR_RESULT_NOT_PLACED
                                ? !atomicExch(&a->hot.told[slot], 1u) /* one of them, whichever */
                                : 0;
  const tsr_key in_hand = ((const io_key *)a->hot.unplaced_keys)[slot];
  const uint32_t all = result == TSR_RESULT_NOT_PLACED && in_hand == key;
  if (!is_first && !all) result = result_for_present(TSR_FACT(c, duplicates));
  if (a->results) a->results[i] = (uint8_t)result;
  if (result != TSR_RESULT_NOT_PLACED) return;
  if (!is_first) IO_ADD(&a->bulk.tally->not_placed, 1); /* the insert itself has counted one */
  if (a->unplaced_keys) ((io_key *)a->unplaced_keys)[i] = in_hand;
  io_put_payload(a->unplaced_values, i,
                 all ? offered_at(c, a->bulk.values, i, 1) : io_payload_at(a->hot.unplaced_values, slot, 1));
}

/* If the caller asks for no answers, only items without a place are counted. */
extern "C" __global__ void __launch_bounds__(TSR_BLOCK_THREADS)
    tsr_pages_hot_answer_kernel(const __grid_constant__ tsr_hot_step a) {
  __shared__ io_key keys[TSR_HOT_SLOTS];
  __shared__ uint32_t asks;
  tsr_scratch scratch;
  const tsr_ctx c = batch_context(&a.bulk, &scratch);
  if (threadIdx.x == 0) asks = a.results || a.unplaced_keys || a.unplaced_values;
  const uint32_t has_hot = hot_load(&c, &a.hot, keys);
  __syncthreads();
  for (uint32_t slot = threadIdx.x; has_hot && slot < TSR_HOT_SLOTS; slot += TSR_BLOCK_THREADS)
    if (keys[slot] != TSR_EMPTY_KEY && a.hot.results[slot] == TSR_RESULT_NOT_PLACED) asks = 1;
  __syncthreads();
  const uint64_t end = has_hot && asks ? a.bulk.n : 0, step = gridDim.x * (uint64_t)TSR_BLOCK_THREADS;
  for (uint64_t i = io_item(0); i < end; i += step) {
    const tsr_key key = io_key_at(a.bulk.keys, i, 1);
    const uint32_t slot = hot_find(keys, key);
    if (slot != TSR_SET_NONE) hot_answer(&c, &a, i, key, slot);
  }
}

#endif

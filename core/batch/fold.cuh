/* SPDX-License-Identifier: Apache-2.0
 *
 * A block of threads folds a span (fold.h). Lanes of a warp whose items are of one key make them one first, because atomics
 * on one address take turns. Then a set in the block's memory takes the keys that come first, and combines what they offer.
 * Keys without a place there go on alone: they are mostly rare ones. All atomics are relaxed: they combine numbers in any
 * order, give out places, or let one of several threads win, and a barrier or the end of the kernel comes before anybody
 * reads the result. Read next: split.cu.
 */
#ifndef TSR_BATCH_FOLD_CUH
#define TSR_BATCH_FOLD_CUH

#include "core/batch/fold.h"
#include "core/batch/set.cuh"

enum {
  FOLD_LANES = 32,
  FOLD_ROWS = 4 /* items that a thread reads before it works on the first of them */
};
#define FOLD_WARP 0xFFFFFFFFu
#define FOLD_IN_SET 0x40000000u /* of a part, until the set is written out: a place there */
static_assert(TSR_FOLD_ROOM <= TSR_FOLD_SPAN, "a place in the set has the bits of a number");

/* The keys; of each what is offered, and how many items, which in the end gives way to the number of what was made. */
template <class key_word, class value_word>
struct fold_set {
  key_word *keys;
  value_word *sums;
  uint32_t *items;
};

template <class key_word, class value_word>
static __device__ __forceinline__ fold_set<key_word, value_word> fold_set_in(void *memory) {
  key_word *const keys = (key_word *)memory;
  value_word *const sums = (value_word *)(keys + TSR_FOLD_ROOM);
  return {keys, sums, (uint32_t *)(sums + TSR_FOLD_ROOM)};
}

/* Below sm_90 ptxas does not see that the lanes of a warp meet again after each has looked for its key, and would make each
 * collective a routine (core/design/0008): there each lane works alone. */
#if __CUDA_ARCH__ >= 900
#define FOLD_MEETS 1
#else
#define FOLD_MEETS 0
#endif

static __device__ __forceinline__ uint32_t fold_lane() { return threadIdx.x % FOLD_LANES; }
/* Whether values are combined. Those of a counter that was given none are the numbers of items. */
static __device__ __forceinline__ bool fold_combines(const tsr_fold *f) {
  return f->values && f->policy != TSR_DUPLICATES_FIRST && f->policy != TSR_DUPLICATES_REPLACE;
}

/* tsr_fold_two, in words of the value's width. */
static __device__ __forceinline__ unsigned long long fold_two(const tsr_fold *f, unsigned long long present,
                                                              unsigned long long offered, uint32_t *overflows) {
  return tsr_fold_two(f->policy, f->most, present, offered, overflows);
}
static __device__ __forceinline__ uint32_t fold_two(const tsr_fold *f, uint32_t present, uint32_t offered,
                                                    uint32_t *overflows) {
  const uint32_t sum = present + offered, most = (uint32_t)f->most;
  if (f->policy == TSR_DUPLICATES_MIN) return offered < present ? offered : present;
  if (f->policy == TSR_DUPLICATES_MAX) return offered > present ? offered : present;
  const uint32_t passes = sum < present || sum > most;
  *overflows += passes;
  return passes && f->policy != TSR_DUPLICATES_ADD ? most : sum;
}

/* What the lanes in `same` offer. In each round a lane takes over from the next one that is left, and then every second one
 * leaves. Sums of lanes that have left are not counted. Collective over the warp. */
template <class value_word>
static __device__ __forceinline__ value_word fold_lanes(const tsr_fold *f, value_word own, uint32_t same,
                                                        uint32_t *overflows) {
  const uint32_t lane = fold_lane();
  uint32_t later = same & (~1u << lane), rank = __popc(same & ((1u << lane) - 1u));
  while (__any_sync(FOLD_WARP, later != 0)) { /* at most 5 rounds */
    const uint32_t next = later ? __ffs((int)later) - 1 : lane;
    const value_word other = __shfl_sync(FOLD_WARP, own, (int)next);
    uint32_t passes = 0;
    if (later) own = fold_two(f, own, other, &passes);
    if (rank & 1u) passes = later = 0;
    later &= ~__ballot_sync(FOLD_WARP, rank & 1u);
    *overflows += passes;
    rank = rank & 1u ? 0 : rank >> 1;
  }
  return own;
}

/* Adds an offer to a key's sum. */
template <class value_word>
static __device__ __forceinline__ void fold_into(const tsr_fold *f, value_word *sum, value_word offered,
                                                 uint32_t *overflows) {
  if (f->policy == TSR_DUPLICATES_ADD) {
    const value_word seen = atomicAdd(sum, offered);
    *overflows += (value_word)(seen + offered) < offered;
  } else if (f->policy == TSR_DUPLICATES_MIN) {
    atomicMin(sum, offered);
  } else if (f->policy == TSR_DUPLICATES_MAX) {
    atomicMax(sum, offered);
  } else {
    for (value_word seen = *(volatile value_word *)sum;;) {
      uint32_t stops = 0;
      const value_word next = fold_two(f, seen, offered, &stops);
      const value_word found = atomicCAS(sum, seen, next);
      if (found == seen) {
        *overflows += stops;
        break;
      }
      seen = found;
    }
  }
}

/* The numbers of the lanes with `mine` among the items that were made of the span. Collective over the warp. */
static __device__ __forceinline__ uint32_t fold_number(uint32_t *made, uint32_t mine) {
  if (!FOLD_MEETS) return mine ? atomicAdd(made, 1u) : 0;
  const uint32_t takers = __ballot_sync(FOLD_WARP, mine);
  uint32_t first = 0;
  if (takers && fold_lane() == 0) first = atomicAdd(made, (uint32_t)__popc(takers));
  return __shfl_sync(FOLD_WARP, first, 0) + __popc(takers & ((1u << fold_lane()) - 1u));
}

template <class key_word, class value_word>
static __device__ __forceinline__ void fold_put(const tsr_fold *f, uint64_t at, key_word key, value_word value,
                                                uint32_t items) {
  if (!f->keys) return;
  __stcs((key_word *)f->keys + at, key);
  if (f->values) __stcs((value_word *)f->values + at, value);
  __stcs((unsigned short *)f->more + at, (unsigned short)(items - 1));
}

/* What the threads of a block share. */
struct fold_block {
  uint32_t made;
  uint64_t begin;
};

/* An item of a lane, number `at` of the span, if the lane has one. */
template <class key_word, class value_word>
struct fold_item {
  uint32_t at, mine;
  key_word key;
  value_word value;
};

/* Folds one item of each lane. Collective over the warp. */
template <class key_word, class value_word>
static __device__ __forceinline__ void fold_row(const tsr_fold *f, fold_set<key_word, value_word> set,
                                                fold_block *block, fold_item<key_word, value_word> own,
                                                uint32_t *overflows) {
  const uint32_t same =
      FOLD_MEETS ? __match_any_sync(FOLD_WARP, own.key) & __ballot_sync(FOLD_WARP, own.mine) : 1u << fold_lane();
  const uint32_t leader = own.mine ? __ffs((int)same) - 1 : fold_lane(), leads = own.mine && leader == fold_lane();
  if (FOLD_MEETS && fold_combines(f)) own.value = fold_lanes(f, own.value, own.mine ? same : 0u, overflows);
  uint32_t place = TSR_SET_NONE;
  bool is_new = false;
  if (leads && own.key != set_free<key_word>())
    place =
        set_add(set.keys, TSR_FOLD_ROOM, set_home(set_hash(own.key), TSR_FOLD_ROOM), TSR_FOLD_TRIES, own.key, &is_new);
  if (place != TSR_SET_NONE) {
    atomicAdd(&set.items[place], (uint32_t)__popc(same));
    if (fold_combines(f))
      fold_into(f, &set.sums[place], own.value, overflows);
    else if (is_new)
      set.sums[place] = own.value;
  }
  if (FOLD_MEETS) __syncwarp();
  const uint32_t goes_alone = leads && place == TSR_SET_NONE, number = fold_number(&block->made, goes_alone);
  if (goes_alone) fold_put(f, block->begin + number, own.key, own.value, __popc(same));
  if (!f->parts) return;
  const uint32_t part = goes_alone ? TSR_FOLD_FIRST | number : FOLD_IN_SET | place | (is_new ? TSR_FOLD_FIRST : 0u);
  const uint32_t leaders = FOLD_MEETS ? __shfl_sync(FOLD_WARP, part, (int)leader) : part;
  if (own.mine) f->parts[block->begin + own.at] = leads ? part : leaders & ~TSR_FOLD_FIRST;
}

/* Writes out the keys of the set; each thread then tells its items the numbers of what was made of them. */
template <class key_word, class value_word>
static __device__ __forceinline__ void fold_end(const tsr_fold *f, fold_set<key_word, value_word> set,
                                                fold_block *block, uint32_t items) {
  for (uint32_t place = threadIdx.x; place < TSR_FOLD_ROOM; place += TSR_RUNS_THREADS) {
    const key_word key = set.keys[place];
    const uint32_t is_used = key != set_free<key_word>(), number = fold_number(&block->made, is_used);
    if (is_used) fold_put(f, block->begin + number, key, set.sums[place], set.items[place]);
    set.items[place] = number;
  }
  __syncthreads();
  for (uint32_t at = threadIdx.x; f->parts && at < items; at += TSR_RUNS_THREADS) {
    const uint32_t part = f->parts[block->begin + at];
    if (part & FOLD_IN_SET) f->parts[block->begin + at] = (part & TSR_FOLD_FIRST) | set.items[part & TSR_FOLD_NUMBER];
  }
}

/* Does all of a block's work. n: items of the batch; values: NULL, or what they offer. */
template <class key_word, class value_word>
static __device__ __forceinline__ void fold_span(const tsr_fold *f, uint64_t n, const key_word *keys,
                                                 const value_word *values, void *memory) {
  __shared__ fold_block block;
  const fold_set<key_word, value_word> set = fold_set_in<key_word, value_word>(memory);
  const uint64_t begin = blockIdx.x * f->every, left = n - begin;
  const uint32_t items = left < f->span ? (uint32_t)left : f->span;
  uint32_t overflows = 0;
  if (threadIdx.x == 0) block = {0, begin};
  for (uint32_t place = threadIdx.x; place < TSR_FOLD_ROOM; place += TSR_RUNS_THREADS) {
    set.keys[place] = set_free<key_word>();
    set.sums[place] = f->policy == TSR_DUPLICATES_MIN ? (value_word) ~(value_word)0 : (value_word)0;
    set.items[place] = 0;
  }
  __syncthreads();
#pragma unroll 1
  for (uint32_t row = 0; row < items; row += FOLD_ROWS * TSR_RUNS_THREADS) {
    key_word key[FOLD_ROWS];
    value_word value[FOLD_ROWS];
#pragma unroll
    for (uint32_t r = 0; r < FOLD_ROWS; r++) {
      const uint32_t at = row + r * TSR_RUNS_THREADS + threadIdx.x;
      key[r] = at < items ? __ldcs(keys + begin + at) : (key_word)0;
      value[r] = values && at < items ? __ldcs(values + begin + at) : (value_word)0;
    }
#pragma unroll
    for (uint32_t r = 0; r < FOLD_ROWS; r++) {
      const uint32_t at = row + r * TSR_RUNS_THREADS + threadIdx.x;
      const value_word offered = (value_word)tsr_fold_offer(f, values != 0, value[r]);
      if (f->keys) overflows += tsr_fold_passes(f, value[r]);
      fold_row(f, set, &block, fold_item<key_word, value_word>{at, at < items, key[r], offered}, &overflows);
    }
  }
  __syncthreads();
  fold_end(f, set, &block, items);
  if (overflows && f->overflows) atomicAdd((unsigned long long *)f->overflows, (unsigned long long)overflows);
  if (threadIdx.x == 0) f->made[blockIdx.x] = block.made;
}

#endif

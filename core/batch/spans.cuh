/* SPDX-License-Identifier: Apache-2.0
 *
 * Before a large batch is inserted by random access: offers of neighbouring items for one key become one item, in a
 * set in shared memory. So few threads meet at the slot of a key that the batch repeats. Why:
 * ../design/0012-hot-keys.md.
 */
#ifndef TSR_BATCH_SPANS_CUH
#define TSR_BATCH_SPANS_CUH

#include "core/batch/offers.cuh"

/* A block works on a span of the batch. A glance at one key per thread, and a look at more items if that leaves it open,
 * show whether keys repeat enough there; if not, the span stays as it came. The set takes the keys that come first. Those
 * without a place in it go on alone: they are mostly rare keys. Atomics are relaxed: they combine numbers in any order,
 * give out places, or let one of several threads win, and a barrier comes before anybody reads the result. */

#if TSR_PAYLOAD_BITS > 0
struct span_set {
  offers_set keys;
  uint32_t *items; /* of each key */
};

static __device__ __forceinline__ span_set span_set_in() {
  const offers_set keys = offers_in(tsr_page_memory, TSR_SPAN_ROOM);
  const span_set set = {keys, (uint32_t *)(keys.sums + TSR_SPAN_ROOM)};
  return set;
}

struct span_block {
  uint32_t made, repeats;
};

/* What an item became part of: a pair's place in the span, or in the set. And whether the item gets the result of that
 * pair; the others get the result that it was present. */
enum { SPAN_IS_FIRST = 1u << 31, SPAN_IN_SET = 1u << 30 };

/* Puts the pairs of the lanes with `mine` among the pairs of the span, with the number of items that each was made of;
 * returns their places in the span. Collective over the warp, where lanes meet: one atomic gives all of them their
 * places. */
static __device__ __forceinline__ uint32_t span_put(const tsr_spans_step *a, span_block *block, uint64_t begin,
                                                    uint32_t mine, io_key key, io_payload payload, uint32_t items) {
  lanes_meet();
  if (!mine) return 0;
  const uint32_t place = atomicAdd(&block->made, 1u);
  const uint64_t to = begin + place;
  __stcs((io_key *)a->to.keys + to, key);
  __stcs((io_payload *)a->to.values + to, payload);
  __stcs(a->to.places + to, items);
  return place;
}

/* Notes what item i became part of. Of the merged lanes of one key only the first one knows. Collective over the
 * warp. */
static __device__ __forceinline__ void span_note(const tsr_spans_step *a, uint64_t i, uint32_t mine, tsr_key key,
                                                 uint32_t part) {
#if MERGES_ALONE
  const uint32_t leader = merge_leader(key, mine), leaders = __shfl_sync(MERGE_WARP, part, (int)leader);
  if (leader != merge_lane()) part = leaders & ~(uint32_t)SPAN_IS_FIRST;
#else
  (void)key;
#endif
  if (mine) __stcs(a->parts + i, part);
}

enum { SPAN_ROWS = TILE_IS_WIDE ? TSR_SPAN_ROWS / 2 : TSR_SPAN_ROWS };

/* Some items of a thread; `items` of one key as one. */
struct span_rows {
  tsr_key key[SPAN_ROWS];
  tsr_payload payload[SPAN_ROWS];
  uint32_t items[SPAN_ROWS];
};

/* Reads rows of the span, from item `row` on. Lanes of one key are merged, because atomics on one address take turns.
 * Returns a bit for each row that this thread has to work on; *reserved: those that the set cannot take. */
static __device__ __forceinline__ uint32_t span_read(const tsr_ctx *c, const tsr_spans_step *a, uint64_t row,
                                                     uint64_t end, uint32_t combines, span_rows *own,
                                                     uint32_t *reserved) {
  uint32_t rows = 0;
#pragma unroll
  for (uint32_t r = 0; r < SPAN_ROWS; r++) {
    const uint64_t i = row + r * TSR_SPAN_THREADS + threadIdx.x;
    own->key[r] = io_key_at(a->bulk.keys, i, i < end);
    own->payload[r] = offered_at(c, a->bulk.values, i, i < end);
  }
#pragma unroll
  for (uint32_t r = 0; r < SPAN_ROWS; r++) {
    const uint32_t mine = row + r * TSR_SPAN_THREADS + threadIdx.x < end;
    const uint32_t same = MERGES_ALONE ? merge_group(own->key[r], mine) : 1u << merge_lane();
    if (MERGES_ALONE && combines) merge_payloads_of(c, TSR_FACT(c, duplicates), &own->payload[r], mine, same);
    own->items[r] = tsr_count_bits(same);
    const uint32_t leads = mine && tsr_lowest(same) == merge_lane();
    if (walk_is_reserved(own->key[r]))
      *reserved |= leads << r;
    else
      rows |= leads << r;
  }
  return rows;
}

/* Adds the items to the set; those without a place there are put among the span's pairs. tells: notes what becomes of
 * each; a constant. */
static __device__ __forceinline__ void span_take(const tsr_ctx *c, const tsr_spans_step *a, span_set set,
                                                 span_block *block, uint64_t span, uint64_t begin, uint64_t end,
                                                 uint32_t tells) {
  const uint32_t combines = TSR_POLICY_COMBINES(TSR_FACT(c, duplicates)); /* or the first offer stays */
#pragma unroll 1
  for (uint64_t row = begin; row < end; row += SPAN_ROWS * TSR_SPAN_THREADS) {
    span_rows own;
    uint32_t at[SPAN_ROWS], reserved = 0, firsts = 0, repeats = 0;
    uint32_t rows = span_read(c, a, row, end, combines, &own, &reserved);
    rows = offers_add<offers_near, SPAN_ROWS>(c, set.keys, own.key, own.payload, rows,
                                              [&](uint32_t r, uint32_t place, uint32_t is_new) {
                                                at[r] = place;
                                                atomicAdd(&set.items[place], own.items[r]);
                                                repeats += own.items[r] - is_new;
                                                firsts |= is_new << r;
                                              });
#pragma unroll
    for (uint32_t r = 0; r < SPAN_ROWS; r++) {
      const uint32_t puts = (rows | reserved) >> r & 1u;
      const uint32_t place =
          span_put(a, block, span, puts, (io_key)own.key[r], (io_payload)own.payload[r], own.items[r]);
      const uint64_t i = row + r * TSR_SPAN_THREADS + threadIdx.x;
      const uint32_t is_first = puts || firsts >> r & 1u ? SPAN_IS_FIRST : 0;
      if (tells) span_note(a, i, i < end, own.key[r], is_first | (puts ? place : SPAN_IN_SET | at[r]));
    }
    if (repeats && begin == span) atomicAdd(&block->repeats, repeats);
  }
}

enum { SPAN_GLANCE_ROOM = 1024 }; /* for one key of each thread */

/* Whether this thread's key, one of the very first of a span, repeats that of another thread. Of the lanes that have one
 * key the first one looks for it, because attempts to claim one place take turns. A key that finds no place, as only
 * crafted ones do, counts as new. */
static __device__ __forceinline__ bool span_repeats(io_key *keys, tsr_key key, uint32_t mine) {
  enum { TRIES = 8 };
  bool is_new = true;
  const uint32_t leader = MERGES_ALONE ? merge_leader(key, mine) : merge_lane();
  if (!mine || walk_is_reserved(key)) return false;
  if (leader != merge_lane()) return true;
  const uint32_t home = set_home(set_hash((uint64_t)key), SPAN_GLANCE_ROOM);
  return set_add(keys, SPAN_GLANCE_ROOM, home, TRIES, (io_key)key, &is_new) != TSR_SET_NONE && !is_new;
}

/* Does all of a block's work. tells: of span_take. The glance spares the look where keys repeat hardly, or much. */
static __device__ __forceinline__ void span_work(const tsr_spans_step *a, uint32_t tells) {
  __shared__ span_block block;
  __shared__ io_key glance[SPAN_GLANCE_ROOM];
  /* Combining pays if this share of the first items has the key of another one; a closer look, if that share has. */
  enum { SHARE = 8, SHARE_TO_LOOK = 64 };
  tsr_scratch scratch;
  const tsr_ctx c = batch_context(&a->bulk, &scratch);
  const span_set set = span_set_in();
  const uint64_t begin = (uint64_t)blockIdx.x << a->piece_log2, after = begin + (1ull << a->piece_log2);
  const uint64_t end = after < a->bulk.n ? after : a->bulk.n, own = begin + threadIdx.x;
  const tsr_key first = io_key_at(a->bulk.keys, own, own < end);
  if (threadIdx.x == 0) block.made = block.repeats = 0;
  for (uint32_t at = threadIdx.x; at < SPAN_GLANCE_ROOM; at += TSR_SPAN_THREADS) glance[at] = (io_key)TSR_EMPTY_KEY;
  offers_clear(&c, set.keys);
  for (uint32_t at = threadIdx.x; at < TSR_SPAN_ROOM; at += TSR_SPAN_THREADS) set.items[at] = 0;
  __syncthreads();
  const uint64_t glanced = end - begin < TSR_SPAN_THREADS ? end - begin : TSR_SPAN_THREADS;
  const uint64_t repeats = (uint64_t)__syncthreads_count(span_repeats(glance, first, own < end));
  if (repeats * SHARE_TO_LOOK < glanced) {
    if (threadIdx.x == 0) a->made[blockIdx.x] = TSR_AS_IT_CAME;
    return;
  }
  const bool is_sure = repeats * SHARE >= glanced;
  const uint64_t judged = is_sure ? begin : end - begin < TSR_SPAN_JUDGED ? end : begin + TSR_SPAN_JUDGED;
  span_take(&c, a, set, &block, begin, begin, judged, tells);
  __syncthreads();
  const uint32_t repeat = is_sure || (uint64_t)block.repeats * SHARE >= judged - begin;
  const uint64_t rest = repeat ? end : judged;
  span_take(&c, a, set, &block, begin, judged, rest, tells);
  __syncthreads();
  for (uint32_t at = threadIdx.x; at < TSR_SPAN_ROOM && repeat; at += TSR_SPAN_THREADS) {
    const io_key key = set.keys.keys[at];
    const uint32_t is_used = key != (io_key)TSR_EMPTY_KEY;
    const uint32_t place = span_put(a, &block, begin, is_used, key, set.keys.sums[at], set.items[at]);
    if (tells && is_used) __stcs(a->set_places + blockIdx.x * TSR_SPAN_ROOM + at, place);
  }
  __syncthreads();
  bulk_tell_overflows(&c, a->bulk.tally, repeat);
  if (threadIdx.x == 0) a->made[blockIdx.x] = repeat ? block.made : TSR_AS_IT_CAME;
}

/* The linker takes the roomy form, with more registers, if the first one spills. */
extern "C" __global__ void __launch_bounds__(TSR_SPAN_THREADS, TSR_SPAN_BLOCKS)
    tsr_pages_spans_kernel(const __grid_constant__ tsr_spans_step a) {
  span_work(&a, 0);
}
extern "C" __global__ void __launch_bounds__(TSR_SPAN_THREADS, 1)
    tsr_roomy_pages_spans_kernel(const __grid_constant__ tsr_spans_step a) {
  span_work(&a, 0);
}
extern "C" __global__ void __launch_bounds__(TSR_SPAN_THREADS, TSR_SPAN_BLOCKS)
    tsr_pages_told_spans_kernel(const __grid_constant__ tsr_spans_step a) {
  span_work(&a, 1);
}
extern "C" __global__ void __launch_bounds__(TSR_SPAN_THREADS, 1)
    tsr_roomy_pages_told_spans_kernel(const __grid_constant__ tsr_spans_step a) {
  span_work(&a, 1);
}

/* Hands item i back if its pair found no place. If a pair was evicted for it, that one, which is at `at`, is handed
 * back by the first of the items. Returns whether a pair was handed back. made: what the item's pair was. */
static __device__ __forceinline__ uint32_t span_hand_back(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint64_t at,
                                                          uint32_t is_first, tsr_payload made) {
  const io_key key = (io_key)io_key_at(a->spans.unplaced_keys, at, 1);
  const uint32_t is_own = key == (io_key)io_key_at(a->keys, i, 1);
  if (!is_own && !is_first) return 0;
  const tsr_payload hand = io_payload_at(a->spans.unplaced_values, at, 1), own = offered_at(c, a->values, i, 1);
  const tsr_payload share = is_first ? merge_share(TSR_FACT(c, duplicates), own, made, hand) : own;
  if (a->unplaced_keys) ((io_key *)a->unplaced_keys)[i] = key;
  io_put_payload(a->unplaced_values, i, is_own ? share : hand);
  return 1;
}

/* Gives the items of a block's span the results of the pairs that they are part of. Items of a span that stayed as it
 * came have theirs. */
extern "C" __global__ void __launch_bounds__(TSR_SPAN_THREADS)
    tsr_pages_spans_answer_kernel(const __grid_constant__ tsr_spans_step a) {
  tsr_scratch scratch;
  const tsr_ctx c = batch_context(&a.bulk, &scratch);
  const tsr_spans *spans = &a.bulk.spans;
  const uint64_t begin = (uint64_t)blockIdx.x << spans->log2, after = begin + (1ull << spans->log2);
  const uint64_t end = after < a.bulk.n ? after : a.bulk.n;
  if (spans->made[blockIdx.x] == TSR_AS_IT_CAME) return;
  for (uint64_t i = begin + threadIdx.x; i < end; i += TSR_SPAN_THREADS) {
    const uint32_t part = __ldcs(a.parts + i);
    const uint32_t is_first = part / SPAN_IS_FIRST, named = part % SPAN_IN_SET;
    const uint64_t at = begin + (part & SPAN_IN_SET ? a.set_places[blockIdx.x * TSR_SPAN_ROOM + named] : named);
    uint32_t result = spans->results[at];
    const tsr_payload made = offered_at(&c, spans->values, at, 1);
    const uint32_t comes_back = result == TSR_RESULT_NOT_PLACED && span_hand_back(&c, &a.bulk, i, at, is_first, made);
    if (!is_first && !comes_back) result = result_for_present(TSR_FACT(&c, duplicates));
    put_result(&a.bulk, i, 1, result);
  }
}

/* Copies the pairs of a block's span behind those of the spans before it. */
extern "C" __global__ void __launch_bounds__(TSR_SPAN_THREADS)
    tsr_pages_spans_list_kernel(const __grid_constant__ tsr_spans_step a) {
  __shared__ unsigned long long before;
  tsr_scratch scratch;
  const tsr_ctx c = batch_context(&a.bulk, &scratch);
  const tsr_spans *spans = &a.bulk.spans;
  const uint64_t begin = (uint64_t)blockIdx.x << spans->log2;
  const uint64_t rest = a.bulk.n - begin, span = 1ull << spans->log2;
  const uint32_t made = spans->made[blockIdx.x], as_it_came = made == TSR_AS_IT_CAME;
  const uint32_t items = !as_it_came ? made : rest < span ? (uint32_t)rest : (uint32_t)span;
  if (threadIdx.x == 0) before = 0;
  __syncthreads();
  for (uint32_t at = threadIdx.x; at < blockIdx.x; at += TSR_SPAN_THREADS)
    atomicAdd(&before, spans->made[at] == TSR_AS_IT_CAME ? span : spans->made[at]);
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < items; i += TSR_SPAN_THREADS) {
    ((io_key *)a.to.keys)[before + i] = (io_key)io_key_at(as_it_came ? a.bulk.keys : spans->keys, begin + i, 1);
    ((io_payload *)a.to.values)[before + i] =
        (io_payload)offered_at(&c, as_it_came ? a.bulk.values : spans->values, begin + i, 1);
    a.to.places[before + i] = as_it_came ? 1 : spans->counts[begin + i];
  }
}
#endif

#endif

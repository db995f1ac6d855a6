/* SPDX-License-Identifier: Apache-2.0
 *
 * The items of a batch as the steps read them, and loops that all lanes leave together. Read next: order.cuh.
 */
#ifndef TSR_BATCH_ITEMS_CUH
#define TSR_BATCH_ITEMS_CUH

#include "core/batch/set.cuh"
#include "core/batch/steps.h"
#include "core/kernels/bins.cuh"
#include "core/kernels/context.cuh"
#include "core/kernels/tally.cuh"

enum {
  WARP_LANES = 32,
  TILE_IS_WIDE = TSR_KEY_BITS + TSR_PAYLOAD_BITS > 64 /* keys and payloads together would take too many registers */
};

/* Keys and values of one width may be stored as pairs: then runs are twice as long. */
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

/* Items of a thread, `at` after item `first`. Keys whose bit is not set are 0, and so are values if there are none. */
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

static __device__ __forceinline__ tsr_ctx batch_context(const tsr_bulk *bulk, tsr_scratch *scratch) {
  return kernel_context(&bulk->state, scratch);
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

/* Whether an item of a page that is worked on by random access is to be inserted: a slot of hot keys only if it is not
 * empty. */
static __device__ __forceinline__ uint32_t is_rest(const tsr_bulk *bulk, uint32_t is_hot, uint64_t i, uint32_t mine) {
  return mine && !(is_hot && walk_is_reserved(io_key_at(bulk->keys, i, 1)));
}

/* A lane that stays in a loop alone makes its warp wait. So in the loops of a page all lanes go on until none has
 * anything to do, and meet after whatever only some of them do. Below sm_90 ptxas does not see that they meet, and
 * would make the collectives a routine (0008): there each lane goes on alone. */
#if __CUDA_ARCH__ >= 900
#define LANES_MEET 1
static __device__ __forceinline__ bool lanes_any(uint32_t mine) { return __any_sync(0xFFFFFFFFu, mine); }
static __device__ __forceinline__ void lanes_meet() { __syncwarp(); }
#else
#define LANES_MEET 0
static __device__ __forceinline__ bool lanes_any(uint32_t mine) { return mine; }
static __device__ __forceinline__ void lanes_meet() {}
#endif

/* The first of as many places of a list as this lane has items for; the block shares the list's length. If all lanes
 * are here, the compiler makes it one atomic. Relaxed: a barrier comes before the list is read. */
static __device__ __forceinline__ uint32_t lanes_append(uint32_t *length, uint32_t items) {
  lanes_meet();
  return atomicAdd(length, items);
}

#endif

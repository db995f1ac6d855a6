/* SPDX-License-Identifier: Apache-2.0
 *
 * Items of one key become one item: a set of keys in memory that a block of threads shares, and for each key what all
 * of its items offer. Which items these are, and where the result goes, is in hot.cuh (frequent keys), distinct.cuh (a
 * page) and spans.cuh (neighbours in the batch). Read next: set.cuh.
 *
 * Atomics are relaxed: one of several threads makes a key's place, offers are combined in any order, and a barrier
 * comes before anybody reads the result.
 */
#ifndef TSR_BATCH_OFFERS_CUH
#define TSR_BATCH_OFFERS_CUH

#include "core/batch/items.cuh"

/* The keys, and the sum of the offers for each. room: places. */
struct offers_set {
  io_key *keys;
  io_payload *sums;
  uint32_t room;
};

static __device__ __forceinline__ offers_set offers_in(void *memory, uint32_t room) {
  const offers_set set = {(io_key *)memory, (io_payload *)((io_key *)memory + room), room};
  return set;
}

/* To be followed by a barrier. */
static __device__ __forceinline__ void offers_clear(const tsr_ctx *c, offers_set set) {
  for (uint32_t at = threadIdx.x; at < set.room; at += blockDim.x) {
    set.keys[at] = (io_key)TSR_EMPTY_KEY;
    if (TSR_PAYLOAD_BITS > 0) set.sums[at] = tsr_identity(TSR_FACT(c, duplicates));
  }
}

/* Adds an offer to a key's sum. Policies that do not combine keep the offer of the item that made the place. */
static __device__ __forceinline__ void offers_put(const tsr_ctx *c, offers_set set, uint32_t place, tsr_payload payload,
                                                  uint32_t is_new) {
  if (TSR_POLICY_COMBINES(TSR_FACT(c, duplicates)))
    tsr_combine_at(c, (tsr_payload *)&set.sums[place], TSR_FACT(c, duplicates), payload);
  else if (is_new)
    set.sums[place] = (io_payload)payload;
}

/* How a set is looked through. PLACES: that a look sees. STEPS: the next look is at most that many looks away. TRIES: the
 * most looks. VOTES: after each look lanes ask whether any of them still looks. */
struct offers_far { /* finds a place for every key that fits: only keys that were crafted for it need more looks */
  enum { PLACES = 16 / sizeof(io_key), STEPS = 64, TRIES = 512, VOTES = 1 };
};
struct offers_near { /* keys without a place among the first ones go on alone */
  enum { PLACES = 1, STEPS = 1, TRIES = 4, VOTES = 0 };
};

/* The places of a look, by one read: they fill in order, so no key gets two. */
static __device__ __forceinline__ void offers_look(const io_key *keys, io_key (&found)[1]) {
  found[0] = set_load(keys);
}
static __device__ __forceinline__ void offers_look(const io_key *keys, io_key (&found)[16 / sizeof(io_key)]) {
  const uint32_t at = (uint32_t)__cvta_generic_to_shared(keys);
#if TSR_KEY_BITS == 64
  asm volatile("ld.volatile.shared.v2.u64 {%0, %1}, [%2];" : "=l"(found[0]), "=l"(found[1]) : "r"(at) : "memory");
#else
  asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(found[0]), "=r"(found[1]), "=r"(found[2]), "=r"(found[3])
               : "r"(at)
               : "memory");
#endif
}

/* Adds the offers of this thread's rows whose bits are set, and calls got(row, place, is_new) for each that has a place.
 * Returns those without one. Lanes go on together, each at the next look of each of its rows; a lane that looked for
 * its key alone would make the warp wait. Below sm_90 ptxas does not see that they meet. */
template <class LOOK, uint32_t ROWS, class GOT>
static __device__ __forceinline__ uint32_t offers_add(const tsr_ctx *c, offers_set set, const tsr_key key[ROWS],
                                                      const tsr_payload payload[ROWS], uint32_t rows, GOT got) {
  const uint32_t looks = set.room / LOOK::PLACES;
  uint32_t look[ROWS];
#pragma unroll
  for (uint32_t r = 0; r < ROWS; r++) look[r] = set_home(set_hash(key[r]), looks);
#pragma unroll 1
  for (uint32_t tries = 0; tries < LOOK::TRIES; tries++) {
    if (LOOK::VOTES && !lanes_any(rows)) break;
#pragma unroll
    for (uint32_t r = 0; r < ROWS; r++) {
      if (rows >> r & 1u) {
        io_key seen[LOOK::PLACES], found = 0;
        uint32_t at = LOOK::PLACES;
        offers_look(set.keys + look[r] * LOOK::PLACES, seen);
#pragma unroll
        for (uint32_t i = LOOK::PLACES; i-- > 0;)
          if (seen[i] == (io_key)TSR_EMPTY_KEY || seen[i] == (io_key)key[r]) {
            at = i;
            found = seen[i];
          }
        const uint32_t place = look[r] * LOOK::PLACES + at;
        if (at < LOOK::PLACES && found == (io_key)TSR_EMPTY_KEY) found = set_swap(&set.keys[place], (io_key)key[r]);
        const uint32_t is_new = at < LOOK::PLACES && found == (io_key)TSR_EMPTY_KEY;
        if (is_new || (at < LOOK::PLACES && found == (io_key)key[r])) {
          offers_put(c, set, place, payload[r], is_new);
          got(r, place, is_new);
          rows &= ~(1u << r);
        } else if (at == LOOK::PLACES || LOOK::PLACES == 1) { /* otherwise another key came first: look again */
          look[r] += 1 + set_hash(key[r]) % LOOK::STEPS;
          look[r] -= look[r] < looks ? 0 : looks;
        }
      }
      lanes_meet();
    }
  }
  return rows;
}

#endif

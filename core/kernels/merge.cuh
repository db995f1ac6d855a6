/* SPDX-License-Identifier: Apache-2.0
 *
 * Combines the items of one key that a warp is about to insert, before memory is touched. Atomics on one address
 * take turns, so what 32 lanes bring for a hot key then costs one turn instead of 32. This is done only where a
 * policy combines payloads; one that leaves a present key alone has nothing to write. On the CPU a thread has one
 * item at a time and merges nothing here; its range merges items that follow each other (../cpu/range.cuh).
 */
#ifndef TSR_MERGE_CUH
#define TSR_MERGE_CUH

#include "core/kernels/queue.cuh"

/* What the first of several items gets back when their pair, which they `made`, is in hand again: what it offered
 * itself, and what others have added to the pair. The pair may have been in the table for a while before it had to
 * go again. */
TSR_INLINE tsr_payload merge_share(uint32_t policy, tsr_payload offered, tsr_payload made, tsr_payload in_hand) {
  if (in_hand == made) return offered;
  return policy == TSR_DUPLICATES_ADD ? (tsr_payload)(offered + (tsr_payload)(in_hand - made)) : in_hand;
}

#if defined(__CUDACC__) && TSR_PAYLOAD_BITS > 0
/* Below sm_90 lanes that work alone do not: ptxas does not see that they meet again after their walks, and would give
 * each collective a routine of its own (core/design/0008). */
#if __CUDA_ARCH__ >= 900
#define MERGES_ALONE 1
#else
#define MERGES_ALONE 0
#endif
/* In a page an atomic costs less than the vote, and keys that would fill a warp are not among its items (hot.cuh). */
#define MERGES(c, policy) (TSR_POLICY_COMBINES(policy) && (TSR_FACT(c, warp_sync) || MERGES_ALONE) && !TSR_IN_PAGE)

#if TSR_KEY_BITS == 64
typedef unsigned long long merge_key;
#else
typedef uint32_t merge_key;
#endif
#if TSR_PAYLOAD_BITS == 64
typedef unsigned long long merge_payload;
#else
typedef uint32_t merge_payload;
#endif

#define MERGE_WARP 0xFFFFFFFFu

TSR_INLINE uint32_t merge_lane(void) { return threadIdx.x % 32; }

/* The lanes whose items have this lane's key. Collective over the warp. */
TSR_INLINE uint32_t merge_group(tsr_key key, uint32_t mine) {
  const uint32_t present = __ballot_sync(MERGE_WARP, mine);
  return __match_any_sync(MERGE_WARP, (merge_key)key) & present;
}

/* The lowest of them. */
TSR_INLINE uint32_t merge_leader(tsr_key key, uint32_t mine) {
  const uint32_t same = merge_group(key, mine);
  return mine ? tsr_lowest(same) : merge_lane();
}

/* Its payload becomes the combination of the payloads of all of `same`. In each round a lane takes over the payload
 * of the next one that is left, and then every second one leaves. c: NULL where this was done before, and its
 * overflows were counted. Collective over the warp. */
TSR_INLINE void merge_payloads_of(const tsr_ctx *c, tsr_item *own, uint32_t mine, uint32_t same) {
  const uint32_t lane = merge_lane();
  uint32_t later = mine ? same & (~1u << lane) : 0, rank = tsr_count_bits(same & ((1u << lane) - 1u));
  while (__any_sync(MERGE_WARP, later != 0)) { /* at most 5 rounds */
    const uint32_t next = later ? tsr_lowest(later) : lane;
    const tsr_payload other = __shfl_sync(MERGE_WARP, (merge_payload)own->payload, (int)next);
    if (later && c) tsr_tell_overflow(c, own->policy, own->payload, other);
    if (later) own->payload = tsr_combine(own->policy, own->payload, other);
    later &= ~__ballot_sync(MERGE_WARP, rank & 1u);
    rank >>= 1;
  }
}

/* Both; returns that lane. Collective over the warp. */
TSR_INLINE uint32_t merge_payloads(const tsr_ctx *c, tsr_item *own, uint32_t mine) {
  const uint32_t same = merge_group(own->key, mine);
  merge_payloads_of(c, own, mine, same);
  return mine ? tsr_lowest(same) : merge_lane();
}

/* Whether any lane's item was merged into another one's. Collective over the warp. */
TSR_INLINE uint32_t merge_any(uint32_t leader) { return __any_sync(MERGE_WARP, leader != merge_lane()); }

/* Answers the items whose key another lane has inserted: either no pair of the key has a place, or theirs were
 * combined with it. key: that of this lane's item, which is not own->key where another pair is in hand. Returns
 * whether this lane's own pair has no place. */
TSR_INLINE uint32_t merge_results(tsr_item *own, tsr_key key, uint32_t leader) {
  const uint32_t result = __shfl_sync(MERGE_WARP, own->result, (int)leader);
  const tsr_key in_hand = __shfl_sync(MERGE_WARP, (merge_key)own->key, (int)leader);
  const uint32_t is_unplaced = result == TSR_RESULT_NOT_PLACED && in_hand == key;
  if (merge_lane() != leader) own->result = is_unplaced ? result : result_for_present(own->policy);
  return is_unplaced;
}

/* Gives back what items of one key were merged from, to those that merge_results says have no place: offered, with the key
 * that they had, is this lane's. Collective over the warp. */
TSR_INLINE void merge_give_back(tsr_item *own, tsr_item offered, uint32_t mine, uint32_t leader, uint32_t is_unplaced) {
  const tsr_payload payload = offered.payload;
  if (!__any_sync(MERGE_WARP, is_unplaced)) return;
  merge_payloads(NULL, &offered, mine);
  if (!is_unplaced) return;
  own->payload = merge_lane() == leader ? merge_share(own->policy, payload, offered.payload, own->payload) : payload;
}
#else
#define MERGES(c, policy) 0
TSR_INLINE void merge_give_back(tsr_item *own, tsr_item offered, uint32_t mine, uint32_t leader, uint32_t is_unplaced) {
  (void)own, (void)offered, (void)mine, (void)leader, (void)is_unplaced;
}
TSR_INLINE uint32_t merge_any(uint32_t leader) { return leader; }
TSR_INLINE uint32_t merge_lane(void) { return 0; }
TSR_INLINE uint32_t merge_leader(tsr_key key, uint32_t mine) { return (void)key, (void)mine, 0; }
TSR_INLINE uint32_t merge_payloads(const tsr_ctx *c, tsr_item *own, uint32_t mine) {
  return (void)c, (void)own, (void)mine, 0;
}
TSR_INLINE uint32_t merge_results(tsr_item *own, tsr_key key, uint32_t leader) {
  return (void)own, (void)key, (void)leader, 0;
}
#endif

#endif

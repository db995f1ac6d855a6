/* SPDX-License-Identifier: Apache-2.0
 *
 * Atomics on one address take turns. So a warp combines items of one key that it is about to insert into one before
 * memory is touched. What 32 lanes bring for a hot key then costs one turn instead of 32. Only policies that combine
 * payloads do so: one that leaves a present key alone has nothing to write. On the CPU a thread has one item at a time
 * and nothing to merge here; its range merges neighbouring items (../cpu/range.cuh).
 */
#ifndef TSR_MERGE_CUH
#define TSR_MERGE_CUH

#include "core/kernels/queue.cuh"

/* What the first of several items gets back if the pair `made` of them is in hand again: what it offered itself, and
 * what others have added to the pair, which may have been in the table for a while before it was evicted. */
TSR_INLINE tsr_payload merge_share(uint32_t policy, tsr_payload offered, tsr_payload made, tsr_payload in_hand) {
  if (in_hand == made) return offered;
  const uint32_t adds = policy == TSR_DUPLICATES_ADD || TSR_POLICY_COUNTS(policy);
  return adds ? (tsr_payload)(offered + (tsr_payload)(in_hand - made)) : in_hand;
}

#if defined(__CUDACC__) && TSR_PAYLOAD_BITS > 0
/* Not below sm_90 for lanes that work alone: ptxas does not see that they meet again after their walks, and would make
 * each collective a routine of its own (core/design/0008). */
#if __CUDA_ARCH__ >= 900
#define MERGES_ALONE 1
#else
#define MERGES_ALONE 0
#endif
/* In a page an atomic costs less than the vote, and its items do not have keys that would fill a warp (hot.cuh). */
#define MERGES(c, policy) (TSR_POLICY_COMBINES(policy) && (TSR_FACT(c, warp_sync) || MERGES_ALONE) && !TSR_IN_PAGE)

#if TSR_KEY_BITS >= 64
typedef unsigned long long merge_key; /* of 128 bits one half */
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
#if TSR_KEY_BITS == 128
  const uint32_t high = __match_any_sync(MERGE_WARP, (merge_key)(key >> 64));
  return __match_any_sync(MERGE_WARP, (merge_key)key) & high & present;
#else
  return __match_any_sync(MERGE_WARP, (merge_key)key) & present;
#endif
}

/* The lowest of them. */
TSR_INLINE uint32_t merge_leader(tsr_key key, uint32_t mine) {
  const uint32_t same = merge_group(key, mine);
  return mine ? tsr_lowest(same) : merge_lane();
}

/* Combines into this lane's payload those of all lanes in `same`. In each round a lane takes over the payload of the
 * next one that is left, and then every second one leaves: it takes over no more, and counts no overflow. c: NULL if the
 * overflows were counted before. Collective over the warp. */
TSR_INLINE void merge_payloads_of(const tsr_ctx *c, uint32_t policy, tsr_payload *own, uint32_t mine, uint32_t same) {
  const uint32_t lane = merge_lane();
  uint32_t later = mine ? same & (~1u << lane) : 0, rank = tsr_count_bits(same & ((1u << lane) - 1u));
  while (__any_sync(MERGE_WARP, later != 0)) { /* at most 5 rounds */
    const uint32_t next = later ? tsr_lowest(later) : lane;
    const tsr_payload other = __shfl_sync(MERGE_WARP, (merge_payload)*own, (int)next);
    if (later && c && !(rank & 1u)) tsr_tell_overflow(c, policy, *own, other);
    if (later) *own = tsr_combine(policy, *own, other);
    const uint32_t leaving = __ballot_sync(MERGE_WARP, rank & 1u);
    later = rank & 1u ? 0 : later & ~leaving;
    rank >>= 1;
  }
}

/* Both; returns that lane. Collective over the warp. */
TSR_INLINE uint32_t merge_payloads(const tsr_ctx *c, tsr_item *own, uint32_t mine) {
  const uint32_t same = merge_group(own->key, mine);
  merge_payloads_of(c, own->policy, &own->payload, mine, same);
  return mine ? tsr_lowest(same) : merge_lane();
}

/* Whether any lane's item was merged into another one's. Collective over the warp. */
TSR_INLINE uint32_t merge_any(uint32_t leader) { return __any_sync(MERGE_WARP, leader != merge_lane()); }

/* Tells the items whose key another lane has inserted what became of it: either no pair of the key has a place, or
 * theirs were combined with it. key: that of this lane's item; own->key is another one if another pair is in hand.
 * Returns whether this lane's own pair has no place. */
TSR_INLINE uint32_t merge_results(tsr_item *own, tsr_key key, uint32_t leader) {
  const uint32_t result = __shfl_sync(MERGE_WARP, own->result, (int)leader);
#if TSR_KEY_BITS == 128
  const tsr_key high = __shfl_sync(MERGE_WARP, (merge_key)(own->key >> 64), (int)leader);
  const tsr_key in_hand = high << 64 | __shfl_sync(MERGE_WARP, (merge_key)own->key, (int)leader);
#else
  const tsr_key in_hand = __shfl_sync(MERGE_WARP, (merge_key)own->key, (int)leader);
#endif
  const uint32_t is_unplaced = result == TSR_RESULT_NOT_PLACED && in_hand == key;
  if (merge_lane() != leader) own->result = is_unplaced ? result : result_for_present(own->policy);
  return is_unplaced;
}

/* Gives back to items that merge_results leaves without a place what they offered. offered, with the key that they had,
 * is this lane's. Collective over the warp. */
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

/* SPDX-License-Identifier: Apache-2.0
 *
 * probing cuckoo: bucketed cuckoo hashing (BGHT 3.1, 5.2). A key lives in one of hash_functions buckets. A new pair
 * goes to its first bucket; if that is full it takes a random pair's slot, and the evicted pair goes to its own next
 * bucket. Law kept: a pair leaves a bucket, or passes it by, only when it is full; buckets never regain an empty slot;
 * so a find ends at the first bucket with one.
 * With least_loaded a new pair goes to the emptiest of its buckets instead (BGHT 4.3), and that law is given up.
 * Buckets of one slot make it the table of Alcantara et al., "Building an efficient hash table on the GPU", 2011.
 */
#define TSR_PARAMETERS(P)                                                                                              \
  P(uint32_t, hash_functions, 3, 2, 4, "Number of buckets that may hold a key.")                                       \
  P(uint32_t, max_chain, 0, 0, 1000000, "Evictions before an insert gives up. 0: 7 log2(slots), at least 64.")         \
  P(uint32_t, neighbours, 0, 0, 1,                                                                                     \
    "Where a key's second and fourth bucket are. 0: anywhere. 1: next to the bucket before.")                          \
  P(uint32_t, least_loaded, 0, 0, 1, "Where a new pair goes. 0: to its first bucket. 1: to its least loaded one.")

#define TSR_KEYS_128 0, 32, 64

#include "plugins/probing.cuh"

enum { CUCKOO_MAX_CHAIN }; /* state word: the bound in force */

/* With neighbours the number of buckets is even. */
TSR_INLINE uint64_t cuckoo_bucket(const tsr_ctx *c, tsr_key key, uint32_t i) {
  return TSR_PARAMETER(c, neighbours) ? tsr_bucket_of(c, key, i / 2) ^ (i & 1u) : tsr_bucket_of(c, key, i);
}

TSR_DEVICE bool TSR_PART(next)(const tsr_ctx *c, tsr_key key, tsr_probe *probe) {
  if (probe->visited >= TSR_PARAMETER(c, hash_functions)) return false;
  probe->ref = cuckoo_bucket(c, key, probe->visited);
  return true;
}

/* The bucket after `from` in the key's own order; from the last one back to the first. In BGHT's order that is the next
 * function's, which may be the same bucket again. With one slot two keys of which that is true would evict each other
 * for ever, so there it is the next other bucket; among several slots the random victim ends it. */
TSR_DEVICE uint64_t TSR_PART(after)(const tsr_ctx *c, tsr_key key, uint64_t from, tsr_placing *placing) {
  (void)placing;
  uint32_t functions = TSR_PARAMETER(c, hash_functions), next = 0;
  TSR_NO_UNROLL
  for (uint32_t i = 0; i < functions; i++)
    if (cuckoo_bucket(c, key, i) == from) {
      next = i + 1 < functions ? i + 1 : 0;
      break;
    }
  uint64_t bucket = cuckoo_bucket(c, key, next);
  if (TSR_FACT(c, bucket_slots) > 1 || bucket != from) return bucket;
  return cuckoo_bucket(c, key, next + 1 < functions ? next + 1 : 0);
}

TSR_DEVICE tsr_choice TSR_PART(place)(const tsr_ctx *c, tsr_key key, const tsr_sight *seen, tsr_placing *placing) {
  if (seen->has_room) return tsr_claim();
  if (placing->passed >= TSR_WORD(c, CUCKOO_MAX_CHAIN)) return tsr_nowhere();
  return tsr_evict(tsr_random_slot(c, key, placing));
}

TSR_PART_FUNCTIONS(.next = TSR_PART(next), .place = TSR_PART(place), .after = TSR_PART(after));

/* SPDX-License-Identifier: Apache-2.0
 *
 * probing linear_hashing: linear hashing (Litwin 1980; on GPUs: Hive, 2025) with several buckets per key. A hash modulo the power of two above the number
 * of buckets names a bucket; if there is no such bucket, the number without its highest bit does. So one more bucket takes
 * its pairs from one other bucket, and a table can grow by any number of them (fact splits). Until a bucket is split it has
 * twice the keys of a new one. So a new pair goes to the emptiest of its key's buckets, and if these are full it evicts
 * another, as in cuckoo.cuh. A find looks at all buckets of its key, because pairs leave full buckets when these are split.
 */
#define TSR_PARAMETERS(P)                                                                                              \
  P(uint32_t, hash_functions, 2, 2, 4, "Number of buckets that may hold a key.")                                       \
  P(uint32_t, max_chain, 0, 0, 1000000, "Evictions before an insert gives up. 0: 7 log2(slots), at least 64.")

#define TSR_KEYS_128 0, 32, 64

#include "plugins/probing.cuh"

enum {
  LINEAR_HASHING_MASK,     /* state word: the power of two above the number of buckets, less 1 */
  LINEAR_HASHING_MAX_CHAIN /* state word: the bound in force */
};

/* With pages the leading digit of the first hash names the page, as in tsr_bucket_of. */
TSR_INLINE uint64_t linear_hashing_bucket(const tsr_ctx *c, tsr_key key, uint32_t i) {
  tsr_hash hash = hasher_hash(c, key, i);
  if (TSR_FACT(c, is_paged) && i == 0) hash = (tsr_hash)(hash * (tsr_hash)c->t->pages);
  const uint64_t mask = TSR_WORD(c, LINEAR_HASHING_MASK), bucket = tsr_reversed(hash) & mask;
  return bucket < c->t->buckets ? bucket : bucket & mask >> 1;
}

TSR_DEVICE bool TSR_PART(next)(const tsr_ctx *c, tsr_key key, tsr_probe *probe) {
  if (probe->visited >= TSR_PARAMETER(c, hash_functions)) return false;
  probe->ref = linear_hashing_bucket(c, key, probe->visited);
  return true;
}

/* The bucket after `from` in the key's own order, from the last one back to the first. With one slot it is the next other
 * bucket: otherwise two keys that have one bucket twice could evict each other for ever. */
TSR_DEVICE uint64_t TSR_PART(after)(const tsr_ctx *c, tsr_key key, uint64_t from, tsr_placing *placing) {
  (void)placing;
  const uint32_t functions = TSR_PARAMETER(c, hash_functions);
  uint32_t next = 0;
  TSR_NO_UNROLL
  for (uint32_t i = 0; i < functions; i++)
    if (linear_hashing_bucket(c, key, i) == from) {
      next = i + 1 < functions ? i + 1 : 0;
      break;
    }
  const uint64_t bucket = linear_hashing_bucket(c, key, next);
  if (TSR_FACT(c, bucket_slots) > 1 || bucket != from) return bucket;
  return linear_hashing_bucket(c, key, next + 1 < functions ? next + 1 : 0);
}

TSR_DEVICE tsr_choice TSR_PART(place)(const tsr_ctx *c, tsr_key key, const tsr_sight *seen, tsr_placing *placing) {
  if (seen->has_room) return tsr_claim();
  if (placing->passed >= TSR_WORD(c, LINEAR_HASHING_MAX_CHAIN)) return tsr_nowhere();
  return tsr_evict(tsr_random_slot(c, key, placing));
}

TSR_PART_FUNCTIONS(.next = TSR_PART(next), .place = TSR_PART(place), .after = TSR_PART(after));

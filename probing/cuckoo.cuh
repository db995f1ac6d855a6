/* SPDX-License-Identifier: Apache-2.0
 *
 * probing cuckoo: bucketed cuckoo hashing (BGHT 3.1, 5.2). A key lives in one of hash_functions buckets. A new pair
 * goes to its first bucket; if that is full it takes a random pair's slot, and the evicted pair goes to its own next
 * bucket. Law kept: a pair leaves a bucket, or passes it by, only when it is full; buckets never regain an empty slot;
 * so a find ends at the first bucket with one.
 * With least_loaded a new pair goes to the emptiest of its buckets instead (BGHT 4.3), and that law is given up.
 * Buckets of one slot need no look where nobody can race for the key: exchanging tells what was there (1CHT, Alcantara
 * et al., "Building an efficient hash table on the GPU", 2011).
 */
#define TSR_PARAMETERS(P)                                                                                              \
  P(uint32_t, hash_functions, 3, 2, 4, "Buckets where a key may live.")                                                \
  P(uint32_t, max_chain, 0, 0, 1000000, "Evictions before an insert gives up; 0 = 7 log2(slots), at least 64.")        \
  P(uint32_t, least_loaded, 0, 0, 1, "Where a new pair goes: 0 = to its first bucket, 1 = to the least loaded one.")

#include "plugins/probing.cuh"

enum { CUCKOO_MAX_CHAIN }; /* state word: the bound in force */

TSR_INLINE uint64_t cuckoo_bucket(const tsr_ctx *c, tsr_key key, uint32_t i) {
  return tsr_reduce(hasher_hash(c, key, i), c->t->buckets);
}

TSR_DEVICE bool TSR_PART(next)(const tsr_ctx *c, tsr_key key, tsr_probe *probe) {
  if (probe->visited >= TSR_PARAMETER(c, hash_functions)) return false;
  probe->ref = cuckoo_bucket(c, key, probe->visited);
  return true;
}

/* The bucket after `from` in the key's own order; from the last one back to the first. In BGHT's order that is the next
 * function's, which may be the same bucket again. With one slot two keys of which that is true would evict each other for
 * ever, so there it is the next other bucket; among several slots the random victim ends it. */
TSR_INLINE uint64_t cuckoo_bucket_after(const tsr_ctx *c, tsr_key key, uint64_t from) {
  uint32_t functions = TSR_PARAMETER(c, hash_functions), next = 0;
  TSR_NO_UNROLL
  for (uint32_t i = 0; i < functions; i++)
    if (cuckoo_bucket(c, key, i) == from) {
      next = i + 1 < functions ? i + 1 : 0;
      break;
    }
  uint64_t bucket = cuckoo_bucket(c, key, next);
  if (tsr_bucket_slots(c) > 1 || bucket != from) return bucket;
  return cuckoo_bucket(c, key, next + 1 < functions ? next + 1 : 0);
}

TSR_DEVICE bool TSR_PART(place)(const tsr_ctx *c, tsr_key *key, tsr_cell *cell) {
  uint64_t bucket = cuckoo_bucket(c, *key, 0);
  uint32_t random = (uint32_t)*key, retry = 0, chain = 0, lost = 0, vacant;
  bool balances = TSR_PARAMETER(c, least_loaded);
  bool blind = tsr_bucket_slots(c) == 1 && tsr_guard(c) == TSR_GUARD_NONE && !balances;
  for (;;) {
    tsr_bucket b;
    bool looks = !blind || chain >= TSR_WORD(c, CUCKOO_MAX_CHAIN); /* the last one must not evict in vain */
    b.ref = bucket;
    if (!looks) {
      TSR_COUNT(c, probes);
    } else if (balances && chain == 0) {
      TSR_NO_UNROLL
      for (uint32_t i = 0; i < TSR_PARAMETER(c, hash_functions); i++)
        tsr_look_less_loaded(c, cuckoo_bucket(c, *key, i), i, retry, &b);
    } else {
      tsr_look_at(c, bucket, retry, &b);
    }
    vacant = looks ? layout_vacant(c, &b) : 0;
    if (vacant) {
      if (tsr_claim(c, &b, tsr_lowest(vacant), *key, *cell)) return true;
      retry = 1; /* bounded: the slot now holds a pair, and there are bucket_slots of them */
      continue;
    }
    /* an attempt lost to a busy victim is no eviction; the generous bound only ends a jam that cannot resolve itself */
    if (chain >= TSR_WORD(c, CUCKOO_MAX_CHAIN) || lost >= 65536) return false;
    random = random * 1664525u + 1013904223u;
    retry = !tsr_evict(c, &b, (random >> 16) & (tsr_bucket_slots(c) - 1u), key, cell);
    if (retry) {
      lost++;
    } else {
      chain++;
      if (blind && *key >= TSR_ERASED_KEY) return true; /* the slot was vacant */
      bucket = cuckoo_bucket_after(c, *key, b.ref);
    }
  }
}

TSR_PART_FUNCTIONS(.next = TSR_PART(next), .place = TSR_PART(place));

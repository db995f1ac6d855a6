/* SPDX-License-Identifier: Apache-2.0
 *
 * probing cuckoo_filter: partial-key cuckoo hashing (B. Fan, D. Andersen, M. Kaminsky and M. Mitzenmacher, "Cuckoo filter:
 * practically better than Bloom", CoNEXT 2014, section 3). A key has two buckets. Either one and the key's fingerprint give
 * the other, so a fingerprint can move although its key is not known. Here their sum is a function of the fingerprint,
 * modulo the number of buckets, which need not be a power of two.
 * Laws kept: the two keys of one fingerprint that share a bucket share both, hence an erase may take either one's; and a
 * fingerprint goes to its second bucket only while the first is full, so that a find ends at an empty slot.
 */
#define TSR_PARAMETERS(P) P(uint32_t, max_chain, 500, 0, 1000000, "Evictions before an insert gives up.")

#include "plugins/probing.cuh"

/* The other bucket of a key of this fingerprint that is in bucket `ref`. The upper bits of a product are mixed best. */
TSR_INLINE uint64_t cuckoo_filter_other(const tsr_ctx *c, tsr_key key, uint64_t ref) {
  const uint64_t mixed = (tsr_fingerprint(c, key) + 1u) * 0x9E3779B97F4A7C15u;
  const uint64_t sum =
      tsr_reduce((tsr_hash)((mixed ^ mixed >> 29) * 0xBF58476D1CE4E5B9u >> (64 - 8 * sizeof(tsr_hash))), c->t->buckets);
  return sum >= ref ? sum - ref : sum + c->t->buckets - ref;
}

/* The first hash has the fingerprint. */
TSR_INLINE uint64_t cuckoo_filter_first(const tsr_ctx *c, tsr_key key) { return tsr_bucket_of(c, key, 1); }

TSR_DEVICE bool TSR_PART(next)(const tsr_ctx *c, tsr_key key, tsr_probe *probe) {
  if (probe->visited >= 2) return false;
  probe->ref = probe->visited == 0 ? cuckoo_filter_first(c, key) : cuckoo_filter_other(c, key, probe->ref);
  return true;
}

TSR_DEVICE uint64_t TSR_PART(after)(const tsr_ctx *c, tsr_key key, uint64_t ref, tsr_placing *placing) {
  (void)placing;
  return cuckoo_filter_other(c, key, ref);
}

TSR_DEVICE tsr_choice TSR_PART(place)(const tsr_ctx *c, tsr_key key, const tsr_sight *seen, tsr_placing *placing) {
  if (seen->has_room) return tsr_claim();
  if (placing->passed >= TSR_PARAMETER(c, max_chain)) return tsr_nowhere();
  if (placing->passed == 0) return tsr_pass(); /* the key's second bucket may have room */
  return tsr_evict(tsr_random_slot(c, key, placing));
}

TSR_PART_FUNCTIONS(.next = TSR_PART(next), .place = TSR_PART(place), .after = TSR_PART(after));

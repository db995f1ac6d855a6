/* SPDX-License-Identifier: Apache-2.0
 *
 * probing paged_cuckoo: bucketed cuckoo hashing in which all buckets of a key lie in one page, a run of neighbouring
 * buckets (M. Dietzfelbinger, M. Mitzenmacher, M. Rink, "Cuckoo hashing with pages", ESA 2011; without the second page
 * that they keep in reserve). So a key's walk and every chain of evictions stay in one page, which fits a small memory;
 * a page that gets more pairs than it has room for hands back, or gives to the stash, what others would still have had
 * room for. Laws kept: as in cuckoo. A pair leaves a bucket only when it is full, and buckets never regain an empty
 * slot; so a find ends at the first bucket with one.
 */
#define TSR_PARAMETERS(P)                                                                                              \
  P(uint32_t, hash_functions, 3, 2, 4, "Buckets where a key may live, all in one page.")                               \
  P(uint32_t, page_buckets, 1024, 4, 1048576, "The most buckets that a page has; more make fuller tables.")            \
  P(uint32_t, max_chain, 128, 0, 1000000, "Evictions before an insert gives up.")

#include "plugins/probing.cuh"

enum { PAGED_CUCKOO_PAGES, PAGED_CUCKOO_PAGE }; /* state words: pages; buckets of each, whose product is all buckets */

/* The first hash names a bucket of the table, and by the same bits the page in which that lies: tsr_reduce multiplies
 * and takes the upper part, so that reducing to pages gives the leading digit of what reducing to all buckets gives. */
TSR_INLINE uint64_t paged_cuckoo_bucket(const tsr_ctx *c, tsr_key key, uint32_t i) {
  const tsr_hash first = hasher_hash(c, key, 0);
  if (i == 0) return tsr_reduce(first, c->t->buckets);
  const uint64_t page = tsr_reduce(first, TSR_WORD(c, PAGED_CUCKOO_PAGES)), size = TSR_WORD(c, PAGED_CUCKOO_PAGE);
  return page * size + tsr_reduce(hasher_hash(c, key, i), size);
}

TSR_DEVICE bool TSR_PART(next)(const tsr_ctx *c, tsr_key key, tsr_probe *probe) {
  if (probe->visited >= TSR_PARAMETER(c, hash_functions)) return false;
  probe->ref = paged_cuckoo_bucket(c, key, probe->visited);
  return true;
}

TSR_DEVICE tsr_choice TSR_PART(place)(const tsr_ctx *c, tsr_key key, const tsr_sight *seen, tsr_placing *placing) {
  if (seen->has_room) return tsr_claim();
  if (placing->passed >= TSR_PARAMETER(c, max_chain)) return tsr_nowhere();
  return tsr_evict(tsr_random_slot(c, key, placing));
}

/* Once or twice round the key's buckets: past `ref` to the next one that is another. In small pages two of them are
 * often the same, and a pair that came back to it at once would make no room. */
TSR_DEVICE uint64_t TSR_PART(after)(const tsr_ctx *c, tsr_key key, uint64_t ref, tsr_placing *placing) {
  (void)placing;
  const uint32_t functions = TSR_PARAMETER(c, hash_functions);
  bool is_past = false;
  TSR_NO_UNROLL
  for (uint32_t i = 0; i < 2 * functions; i++) {
    const uint64_t bucket = paged_cuckoo_bucket(c, key, i < functions ? i : i - functions);
    if (is_past && bucket != ref) return bucket;
    is_past = is_past || bucket == ref;
  }
  return ref;
}

TSR_PART_FUNCTIONS(.next = TSR_PART(next), .place = TSR_PART(place), .after = TSR_PART(after));

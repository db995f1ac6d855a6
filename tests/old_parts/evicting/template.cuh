/* SPDX-License-Identifier: Apache-2.0
 *
 * probing template: a small cuckoo hashing. A key may live in two buckets, which two hashes name. A new pair goes to its
 * first bucket; if that is full it takes the slot of a random resident, which goes to its own other bucket, and so on.
 * Law kept: a pair leaves a bucket only when that is full, and a slot that has held a pair is never empty again; so a
 * find ends at a first bucket with an empty slot.
 */
#define TSR_PARAMETERS(P) P(uint32_t, max_chain, 500, 0, 1000000, "Evictions before an insert gives up.")

#include "plugins/probing.cuh"

/* Where a key may live, in the order in which a find looks. place() must leave every pair in one of these. */
TSR_DEVICE bool TSR_PART(next)(const tsr_ctx *c, tsr_key key, tsr_probe *probe) {
  if (probe->visited >= 2) return false;
  probe->ref = tsr_bucket_of(c, key, probe->visited);
  return true;
}

/* What to do with the pair in hand at the bucket that was looked at for it: first the new pair at its first bucket, then
 * each evicted pair at the bucket that after() has named. The bound is needed: there may be no room at the end of any
 * chain. Then the pair in hand, perhaps another than the new one, goes to the stash or back to the caller. */
TSR_DEVICE tsr_choice TSR_PART(place)(const tsr_ctx *c, tsr_key key, const tsr_sight *seen, tsr_placing *placing) {
  if (seen->has_room) return tsr_claim();
  if (placing->passed >= TSR_PARAMETER(c, max_chain)) return tsr_nowhere();
  return tsr_evict(tsr_random_slot(c, key, placing));
}

/* The bucket to look at next for the pair that was evicted from bucket `ref`: its other one. Nothing tells in which of its
 * buckets a resident is, so its hashes are computed again. */
TSR_DEVICE uint64_t TSR_PART(after)(const tsr_ctx *c, tsr_key key, uint64_t ref, tsr_placing *placing) {
  (void)placing; /* placing->word[] is for schemes that remember more than how many buckets they have left behind */
  const uint64_t first = tsr_bucket_of(c, key, 0);
  return ref == first ? tsr_bucket_of(c, key, 1) : first;
}

TSR_PART_FUNCTIONS(.next = TSR_PART(next), .place = TSR_PART(place), .after = TSR_PART(after));

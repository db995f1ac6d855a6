/* SPDX-License-Identifier: Apache-2.0
 *
 * probing flagged_cuckoo: bucketed cuckoo hashing with an overflow flag for each bucket. The flag is the note of a key's
 * first bucket: no key whose walk begins there is beyond that many steps; 0 for a bucket that no key had to leave. So the
 * find of an absent key ends at a full first bucket as well, unless a key of it is elsewhere.
 * Laws kept: a pair leaves its first bucket only when that is full; and a flag is raised before the pair is put elsewhere.
 */
#define TSR_PARAMETERS(P)                                                                                              \
  P(uint32_t, hash_functions, 3, 2, 4, "Number of buckets that may hold a key.")                                       \
  P(uint32_t, max_chain, 200, 0, 1000000, "Evictions before an insert gives up.")

#include "plugins/probing.cuh"

enum { FLAGGED_CUCKOO_FLAGS }; /* region: for each first bucket the furthest step of its keys */

/* Which of the key's buckets this is: the first, where two of them are the same. */
TSR_INLINE uint32_t flagged_cuckoo_step(const tsr_ctx *c, tsr_key key, uint64_t ref) {
  uint32_t step = 0;
  while (step + 1 < TSR_PARAMETER(c, hash_functions) && tsr_bucket_of(c, key, step) != ref) step++;
  return step;
}

TSR_DEVICE bool TSR_PART(next)(const tsr_ctx *c, tsr_key key, tsr_probe *probe) {
  if (probe->visited == 1) probe->word[0] = tsr_note(c, probe);
  if (probe->visited > 0 && probe->visited > probe->word[0]) return false;
  if (probe->visited >= TSR_PARAMETER(c, hash_functions)) return false;
  probe->ref = tsr_bucket_of(c, key, probe->visited);
  return true;
}

TSR_DEVICE tsr_choice TSR_PART(place)(const tsr_ctx *c, tsr_key key, const tsr_sight *seen, tsr_placing *placing) {
  const uint32_t step = flagged_cuckoo_step(c, key, seen->ref);
  if (seen->has_room) return tsr_with_note(tsr_claim(), step);
  if (placing->passed >= TSR_PARAMETER(c, max_chain)) return tsr_nowhere();
  return tsr_with_note(tsr_evict(tsr_random_slot(c, key, placing)), step);
}

TSR_DEVICE uint64_t TSR_PART(after)(const tsr_ctx *c, tsr_key key, uint64_t ref, tsr_placing *placing) {
  (void)placing;
  const uint32_t step = flagged_cuckoo_step(c, key, ref);
  return tsr_bucket_of(c, key, step + 1 < TSR_PARAMETER(c, hash_functions) ? step + 1 : 0);
}

TSR_PART_FUNCTIONS(.next = TSR_PART(next), .place = TSR_PART(place), .after = TSR_PART(after));

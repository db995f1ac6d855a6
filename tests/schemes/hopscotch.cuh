/* SPDX-License-Identifier: Apache-2.0
 *
 * probing hopscotch: a key lives in its home bucket or one of the next few, its neighbourhood (M. Herlihy, N. Shavit,
 * M. Tzafrir, "Hopscotch hashing", DISC 2008). The paper looks for an empty slot, however far, and brings it nearer by
 * moving one pair after another into it. Here the same moves are made in the other order: a pair that finds its
 * neighbourhood full takes the slot, in the last bucket of it, of the resident that is nearest to its own home, and this
 * one goes on ahead. So a pair is in hand during the chain, which the paper's order avoids (core/design/0002).
 * Law kept: pairs leave or pass only full buckets, and these never regain an empty slot; so a find ends at the first bucket
 * with one.
 */
#define TSR_PARAMETERS(P)                                                                                              \
  P(uint32_t, neighbours, 8, 2, 255,                                                                                   \
    "Where a key's second and fourth bucket are. 0: anywhere. 1: next to the bucket before.")

#include "plugins/probing.cuh"

enum { HOPSCOTCH_REACH }; /* state word: buckets of a neighbourhood, at most all */

TSR_INLINE uint64_t hopscotch_home(const tsr_ctx *c, tsr_key key) { return tsr_bucket_of(c, key, 0); }

/* How many buckets `ref` is from the key's home. */
TSR_INLINE uint32_t hopscotch_distance(const tsr_ctx *c, tsr_key key, uint64_t ref) {
  const uint64_t home = hopscotch_home(c, key);
  return (uint32_t)(ref >= home ? ref - home : ref + c->t->buckets - home);
}

TSR_DEVICE bool TSR_PART(next)(const tsr_ctx *c, tsr_key key, tsr_probe *probe) {
  if (probe->visited >= TSR_WORD(c, HOPSCOTCH_REACH)) return false;
  probe->ref = probe->visited == 0 ? hopscotch_home(c, key) : tsr_bucket_after(c, probe->ref);
  return true;
}

TSR_DEVICE tsr_choice TSR_PART(place)(const tsr_ctx *c, tsr_key key, const tsr_sight *seen, tsr_placing *placing) {
  const uint32_t distance = hopscotch_distance(c, key, seen->ref), last = (uint32_t)TSR_WORD(c, HOPSCOTCH_REACH) - 1;
  const uint32_t bound = distance == last ? last : 0; /* who is at the end of its own neighbourhood cannot go on */
  TSR_LEAST_RESIDENT(c, seen, nearest, bound, resident, hopscotch_distance(c, resident, seen->ref))
  if (seen->has_room) return tsr_claim();
  if (placing->passed >= c->t->buckets) return tsr_nowhere();
  if (distance < last) return tsr_pass();
  return nearest != TSR_NO_SLOT ? tsr_evict(nearest) : tsr_nowhere();
}

TSR_DEVICE uint64_t TSR_PART(after)(const tsr_ctx *c, tsr_key key, uint64_t ref, tsr_placing *placing) {
  (void)key, (void)placing;
  return tsr_bucket_after(c, ref);
}

TSR_PART_FUNCTIONS(.next = TSR_PART(next), .place = TSR_PART(place), .after = TSR_PART(after));

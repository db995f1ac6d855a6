/* SPDX-License-Identifier: Apache-2.0
 *
 * probing robin_hood: linear probing in which the old displace the young (P. Celis, "Robin Hood hashing", 1986; on GPUs
 * I. Garcia et al., "Coherent parallel hashing", TOG 30(6), 2011). A pair's age is the number of buckets from its first
 * one, its home, to where it is; no slot stores it, a resident's key is hashed again. A pair on its way that meets a
 * full bucket takes the place of the youngest resident, if that is younger than it, and this one goes on.
 * Laws kept: pairs leave or pass only buckets that are full, and these never regain an empty slot: a find ends at the
 * first bucket with one. A note for each home holds an age that no pair of it exceeds, raised before the pair is put
 * there: a find ends beyond it. So the order of ages is no law, only what keeps walks short: who loses victims to
 * other threads goes on.
 */
#define TSR_PARAMETERS(P)                                                                                              \
  P(uint32_t, max_age, 255, 1, 255, "How many buckets a pair may be stored after its first one.")

#define TSR_KEYS_128 0, 32, 64

#include "plugins/probing.cuh"

/* Evictions that others made impossible, after which a pair passes by. Two pairs in hand, each of which is the lock of the
 * other's victim, would wait for each other. */
enum { ROBIN_HOOD_LOST_MAX = 64 };

enum { ROBIN_HOOD_NOTES }; /* region: for each home the highest age of its pairs */
enum { ROBIN_HOOD_REACH }; /* state word: ages are below it */

TSR_INLINE uint64_t robin_hood_home(const tsr_ctx *c, tsr_key key) { return tsr_bucket_of(c, key, 0); }

/* Buckets from `from` on to `to`. */
TSR_INLINE uint64_t robin_hood_minus(const tsr_ctx *c, uint64_t to, uint64_t from) {
  return to >= from ? to - from : to + c->t->buckets - from;
}

TSR_DEVICE bool TSR_PART(next)(const tsr_ctx *c, tsr_key key, tsr_probe *probe) {
  if (probe->visited == 0) {
    probe->ref = robin_hood_home(c, key);
    return true;
  }
  if (probe->visited == 1) probe->word[0] = tsr_note(c, probe);
  probe->ref = tsr_bucket_after(c, probe->ref);
  return probe->visited <= probe->word[0];
}

/* Buckets from the resident's home to the bucket where it is. */
TSR_INLINE uint32_t robin_hood_age(const tsr_ctx *c, tsr_key key, uint64_t ref) {
  return (uint32_t)robin_hood_minus(c, ref, robin_hood_home(c, key));
}

TSR_DEVICE tsr_choice TSR_PART(place)(const tsr_ctx *c, tsr_key key, const tsr_sight *seen, tsr_placing *placing) {
  const uint32_t age = robin_hood_age(c, key, seen->ref);
  TSR_LEAST_RESIDENT(c, seen, youngest, age, resident, robin_hood_age(c, resident, seen->ref))
  if (placing->passed >= c->t->buckets || age >= TSR_WORD(c, ROBIN_HOOD_REACH)) return tsr_nowhere();
  if (seen->has_room) return tsr_with_note(tsr_claim(), age);
  if (youngest != TSR_NO_SLOT && placing->lost < ROBIN_HOOD_LOST_MAX) return tsr_with_note(tsr_evict(youngest), age);
  return tsr_pass();
}

TSR_DEVICE uint64_t TSR_PART(after)(const tsr_ctx *c, tsr_key key, uint64_t ref, tsr_placing *placing) {
  (void)key, (void)placing;
  return tsr_bucket_after(c, ref);
}

TSR_PART_FUNCTIONS(.next = TSR_PART(next), .place = TSR_PART(place), .after = TSR_PART(after));

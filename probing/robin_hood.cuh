/* SPDX-License-Identifier: Apache-2.0
 *
 * probing robin_hood: linear probing in which the old displace the young (P. Celis, "Robin Hood hashing", 1986; on GPUs
 * I. Garcia et al., "Coherent parallel hashing", TOG 30(6), 2011). A pair's age is the number of buckets from its first
 * one, its home, to where it lies; no slot stores it, a resident's key is hashed again. A pair on its way that meets a
 * full bucket takes the place of the youngest resident, if that is younger than it, and this one goes on.
 * Laws kept: pairs leave or pass only buckets that are full, and these never regain an empty slot: a find ends at the
 * first bucket with one. A note for each home holds an age that no pair of it exceeds, raised before the pair is put
 * there: a find ends beyond it. So the order of ages is no law, only what keeps walks short: who loses a victim to
 * another thread goes on.
 */
#define TSR_PARAMETERS(P) P(uint32_t, max_age, 255, 1, 255, "Buckets after its first one where a pair may lie.")

#include "plugins/probing.cuh"

enum { ROBIN_HOOD_NOTES }; /* region: for each home the highest age of its pairs */
enum { ROBIN_HOOD_REACH }; /* state word: ages are below it */

TSR_INLINE uint32_t *robin_hood_notes(const tsr_ctx *c) { return (uint32_t *)TSR_REGION(c, ROBIN_HOOD_NOTES); }

TSR_INLINE uint64_t robin_hood_home(const tsr_ctx *c, tsr_key key) {
  return tsr_reduce(hasher_hash(c, key, 0), c->t->buckets);
}

/* Buckets from `from` on to `to`, or (with to = an age) the bucket so many before. */
TSR_INLINE uint64_t robin_hood_minus(const tsr_ctx *c, uint64_t to, uint64_t from) {
  return to >= from ? to - from : to + c->t->buckets - from;
}

TSR_INLINE uint64_t robin_hood_after(const tsr_ctx *c, uint64_t ref) { return ref + 1 < c->t->buckets ? ref + 1 : 0; }

TSR_DEVICE bool TSR_PART(next)(const tsr_ctx *c, tsr_key key, tsr_probe *probe) {
  if (probe->visited == 0) {
    probe->ref = robin_hood_home(c, key);
    return true;
  }
  if (probe->visited == 1) probe->word[0] = tsr_note(robin_hood_notes(c), probe->ref);
  probe->ref = robin_hood_after(c, probe->ref);
  return probe->visited <= probe->word[0];
}

/* The youngest of a full bucket's pairs that is younger than `age`; bucket_slots: none. */
TSR_INLINE uint32_t robin_hood_victim(const tsr_ctx *c, const tsr_bucket *b, uint32_t age) {
  uint32_t victim = TSR_FACT(c, bucket_slots);
  TSR_NO_UNROLL
  for (uint32_t slot = 0; slot < TSR_FACT(c, bucket_slots); slot++) {
    uint32_t other = (uint32_t)robin_hood_minus(c, b->ref, robin_hood_home(c, layout_key(c, b, slot)));
    victim = other < age ? slot : victim;
    age = other < age ? other : age;
  }
  return victim;
}

/* Between steps: visited and word[0] count the buckets and the age; stashed: the last look was stale. */
TSR_DEVICE uint32_t TSR_PART(place)(const tsr_ctx *c, tsr_key *key, tsr_payload *payload, tsr_probe *probe) {
  const uint64_t ref = probe->ref;
  uint32_t age = (uint32_t)probe->word[0], slots = TSR_FACT(c, bucket_slots);
  tsr_bucket b;
  tsr_look_at(c, ref, probe->stashed, &b);
  uint32_t vacant = layout_vacant(c, &b), victim = slots, is_full = !vacant && age > 0 && !c->idle;
  if (tsr_warp_any(c, is_full)) victim = robin_hood_victim(c, &b, age);
  victim = vacant ? tsr_lowest(vacant) : victim;
  uint32_t enters = victim < slots && !c->idle, slot = enters ? victim : 0, evicts = enters && !vacant;
  tsr_ctx work = tsr_work_ctx(c, age > 0 && enters);
  tsr_raise_note(&work, robin_hood_notes(c), robin_hood_minus(c, ref, age), age);
  work = tsr_work_ctx(c, enters && vacant);
  uint32_t placed = tsr_claim(&work, &b, slot, *key, *payload);
  if (tsr_warp_any(c, evicts)) {
    work = tsr_work_ctx(c, evicts);
    uint32_t evicted = tsr_evict(&work, &b, slot, key, payload);
    uint32_t young = (uint32_t)robin_hood_minus(c, ref, robin_hood_home(c, *key));
    age = evicted ? young : age;
  }
  /* a lost claim has filled a slot: so looking at a bucket again is bounded */
  probe->stashed = vacant != 0;
  probe->ref = vacant ? ref : robin_hood_after(c, ref);
  age += !vacant;
  probe->word[0] = age;
  probe->visited += !vacant;
  if (placed) return TSR_PLACED;
  return probe->visited >= c->t->buckets || age >= TSR_WORD(c, ROBIN_HOOD_REACH) ? TSR_UNPLACED : TSR_PLACING;
}

TSR_PART_FUNCTIONS(.next = TSR_PART(next), .place = TSR_PART(place));

/* SPDX-License-Identifier: Apache-2.0
 *
 * probing iceberg: iceberg hashing with one table for all three buckets of a key (BGHT 3.2, 5.3). A new pair goes to
 * its first bucket while that holds less than the threshold, then to the less loaded of two others; when they are full,
 * to the first one after all. Pairs stay. BGHT's text and its listing 5 differ in both: that a load below the threshold
 * is what counts is the text, and its probe counts; the last resort is the listing.
 * Law kept: a pair goes to a later bucket only after first_slots of the first one's slots were not empty, and slots are
 * claimed from the lowest on; so a find ends at a first bucket that has more empty ones.
 */
#define TSR_PARAMETERS(P)                                                                                              \
  P(uint32_t, threshold, 80, 1, 100, "Load of the first bucket, in percent, from which on the others are tried.")

#include "plugins/probing.cuh"

TSR_INLINE uint64_t iceberg_bucket(const tsr_ctx *c, tsr_key key, uint32_t i) {
  return tsr_reduce(hasher_hash(c, key, i), c->t->buckets);
}

TSR_DEVICE bool TSR_PART(next)(const tsr_ctx *c, tsr_key key, tsr_probe *probe) {
  if (probe->visited >= 3) return false;
  probe->ref = iceberg_bucket(c, key, probe->visited);
  return true;
}

TSR_DEVICE uint32_t TSR_PART(place)(const tsr_ctx *c, tsr_key *key, tsr_payload *payload, tsr_probe *probe) {
  tsr_bucket b;
  uint32_t least = 0, looks = !c->idle;
  TSR_NO_UNROLL
  for (uint32_t i = 0; i == 0 || (i < 3 && tsr_warp_any(c, looks)); i++) {
    tsr_ctx work = tsr_work_ctx(c, looks);
    tsr_look_less_loaded(&work, iceberg_bucket(c, *key, i), probe->visited, &least, &b);
    if (i > 0) continue;
    /* a full front: to the less loaded of the others, unless both are full */
    looks = least <= TSR_FACT(c, bucket_slots) - TSR_FACT(c, first_slots) + 1 && !c->idle;
    least = 1;
  }
  uint32_t vacant = layout_vacant(c, &b);
  tsr_ctx work = tsr_work_ctx(c, vacant && !c->idle);
  probe->visited = 1; /* a lost claim is another thread's success: look again, fresh */
  if (tsr_claim(&work, &b, vacant ? tsr_lowest(vacant) : 0, *key, *payload)) return TSR_PLACED;
  return vacant ? TSR_PLACING : TSR_UNPLACED;
}

TSR_PART_FUNCTIONS(.next = TSR_PART(next), .place = TSR_PART(place));

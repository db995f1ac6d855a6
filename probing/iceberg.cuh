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

TSR_DEVICE bool TSR_PART(place)(const tsr_ctx *c, tsr_key *key, tsr_cell *cell) {
  for (uint32_t retry = 0;; retry = 1) { /* bounded: a lost claim is another thread's success */
    tsr_bucket b;
    uint64_t first = iceberg_bucket(c, *key, 0);
    tsr_look_at(c, first, retry, &b);
    if (tsr_count_bits(layout_vacant(c, &b)) <= tsr_bucket_slots(c) - tsr_first_slots(c)) {
      bool has_room = layout_vacant(c, &b) != 0;
      TSR_NO_UNROLL
      for (uint32_t i = 0; i < 2; i++) tsr_look_less_loaded(c, iceberg_bucket(c, *key, i + 1), i, retry, &b);
      if (has_room && !layout_vacant(c, &b)) tsr_look_at(c, first, retry, &b);
    }
    uint32_t vacant = layout_vacant(c, &b);
    if (!vacant) return false;
    if (tsr_claim(c, &b, tsr_lowest(vacant), *key, *cell)) return true;
  }
}

TSR_PART_FUNCTIONS(.next = TSR_PART(next), .place = TSR_PART(place));

/* SPDX-License-Identifier: Apache-2.0
 *
 * probing iceberg: iceberg hashing with one table for all three buckets of a key (BGHT 3.2, 5.3). A new pair goes to
 * its first bucket while that holds less than the threshold, then to the less loaded of two others; when they are full,
 * to the first one after all. Pairs stay. All of that is two facts in iceberg.c, first_slots and
 * choices = 2. BGHT's text and its listing 5 differ in both: that a load below the threshold
 * is what counts is the text, and its probe counts; the last resort is the listing.
 * Law kept: a pair goes to a later bucket only after first_slots of the first one's slots were not empty, and slots are
 * claimed from the lowest on; so a find ends at a first bucket that has more empty ones.
 */
#define TSR_PARAMETERS(P)                                                                                              \
  P(uint32_t, threshold, 80, 1, 100, "Load of the first bucket, in percent, above which a new pair goes to the others.")

#define TSR_KEYS_128 0, 32, 64

#include "plugins/probing.cuh"

TSR_INLINE uint64_t iceberg_bucket(const tsr_ctx *c, tsr_key key, uint32_t i) { return tsr_bucket_of(c, key, i); }

TSR_DEVICE bool TSR_PART(next)(const tsr_ctx *c, tsr_key key, tsr_probe *probe) {
  if (probe->visited >= 3) return false;
  probe->ref = iceberg_bucket(c, key, probe->visited);
  return true;
}

TSR_PART_FUNCTIONS(.next = TSR_PART(next));

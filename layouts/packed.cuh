/* SPDX-License-Identifier: Apache-2.0
 *
 * layout packed: buckets of whole pairs, each in one atomic word ("packed array of structs", WarpCore IV-B1). What it
 * does with them is the kit's: ../plugins/pair.cuh.
 */
#define TSR_PARAMETERS(P)                                                                                              \
  P(uint32_t, bucket_slots, 8, 1, 32, "Slots of one bucket; a power of two.")                                          \
  P(uint32_t, tile_lanes, 1, 1, 32, "Lanes of a warp that work on one bucket together; a power of two.")

#include "plugins/pair.cuh"

TSR_INLINE tsr_pair *packed_words(const tsr_ctx *c, uint64_t ref) {
  return (tsr_pair *)TSR_REGION(c, 0) + ref * TSR_FACT(c, bucket_slots);
}

TSR_DEVICE void TSR_PART(load)(const tsr_ctx *c, uint64_t ref, uint32_t active, uint32_t mode, tsr_bucket *b) {
  b->ref = ref;
  tsr_pair_load(c, packed_words(c, ref), active, mode, b);
}

TSR_DEVICE uint32_t TSR_PART(match)(const tsr_ctx *c, const tsr_bucket *b, tsr_key key) {
  return tsr_pair_match(c, b, key);
}

TSR_DEVICE uint32_t TSR_PART(empties)(const tsr_ctx *c, const tsr_bucket *b) {
  return tsr_pair_match(c, b, TSR_EMPTY_KEY);
}

TSR_DEVICE uint32_t TSR_PART(vacant)(const tsr_ctx *c, const tsr_bucket *b) { return tsr_pair_vacant(c, b); }

TSR_DEVICE tsr_key TSR_PART(key)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot) {
  return tsr_pair_slot_key(c, b, slot);
}

TSR_DEVICE tsr_payload TSR_PART(payload)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot) {
  return tsr_pair_slot_payload(c, b, slot);
}

TSR_DEVICE bool TSR_PART(cas)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot, tsr_key key, tsr_payload payload) {
  return tsr_pair_swap(c, packed_words(c, b->ref), b, slot, tsr_pair_join(key, payload));
}

TSR_DEVICE bool TSR_PART(exchange)(const tsr_ctx *c, uint64_t ref, uint32_t slot, tsr_key *key, tsr_payload *payload) {
  return tsr_pair_exchange(c, packed_words(c, ref), slot, key, payload);
}

TSR_DEVICE bool TSR_PART(update)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot, uint32_t policy,
                                 tsr_payload payload) {
  return tsr_pair_update(c, packed_words(c, b->ref), b, slot, policy, payload);
}

TSR_DEVICE bool TSR_PART(erase)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot) {
  return tsr_pair_erase(c, packed_words(c, b->ref), b, slot);
}

TSR_PART_FUNCTIONS(.load = TSR_PART(load), .match = TSR_PART(match), .empties = TSR_PART(empties),
                   .vacant = TSR_PART(vacant), .key = TSR_PART(key), .payload = TSR_PART(payload), .cas = TSR_PART(cas),
                   .exchange = TSR_PART(exchange), .update = TSR_PART(update), .erase = TSR_PART(erase));

/* SPDX-License-Identifier: Apache-2.0
 *
 * layout slab: whole pairs, each in one atomic word, and a link to another slab in the last word (SlabHash IV-B). The
 * first slab of a list is a bucket, the others are units of the table's allocator. What it does with pairs and link is
 * the kit's: ../plugins/pair.cuh. With 64 bits a pair the upper half of the link's word is the paper's auxiliary one.
 */
#define TSR_PARAMETERS(P)                                                                                              \
  P(uint32_t, slab_bytes, 128, 32, 256, "Bytes of a slab, its link among them; a power of two.")                       \
  P(uint32_t, tile_lanes, 1, 1, 32, "Lanes of a warp that work on one slab together; a power of two.")

#include "plugins/allocator.cuh"
#include "plugins/pair.cuh"

TSR_INLINE tsr_pair *slab_words(const tsr_ctx *c, uint64_t ref) {
  if (ref & TSR_UNIT_REF) return (tsr_pair *)allocator_address(c, (uint32_t)ref);
  return (tsr_pair *)TSR_REGION(c, 0) + ref * TSR_FACT(c, bucket_places);
}

TSR_DEVICE void TSR_PART(load)(const tsr_ctx *c, uint64_t ref, uint32_t active, uint32_t mode, tsr_bucket *b) {
  b->ref = ref;
  tsr_pair_load(c, slab_words(c, ref), active, mode, b);
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
  return tsr_pair_swap(c, slab_words(c, b->ref), b, slot, tsr_pair_join(key, payload));
}

TSR_DEVICE bool TSR_PART(exchange)(const tsr_ctx *c, uint64_t ref, uint32_t slot, tsr_key *key, tsr_payload *payload) {
  return tsr_pair_exchange(c, slab_words(c, ref), slot, key, payload);
}

TSR_DEVICE bool TSR_PART(update)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot, uint32_t policy,
                                 tsr_payload payload) {
  return tsr_pair_update(c, slab_words(c, b->ref), b, slot, policy, payload);
}

TSR_DEVICE bool TSR_PART(erase)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot) {
  return tsr_pair_erase(c, slab_words(c, b->ref), b, slot);
}

TSR_DEVICE uint32_t TSR_PART(link)(const tsr_ctx *c, const tsr_bucket *b) { return tsr_pair_link(c, b); }

TSR_DEVICE uint32_t TSR_PART(relink)(const tsr_ctx *c, uint64_t ref, uint32_t expected, uint32_t desired) {
  return tsr_pair_relink(c, slab_words(c, ref), expected, desired);
}

TSR_PART_FUNCTIONS(.load = TSR_PART(load), .match = TSR_PART(match), .empties = TSR_PART(empties),
                   .vacant = TSR_PART(vacant), .key = TSR_PART(key), .payload = TSR_PART(payload), .cas = TSR_PART(cas),
                   .exchange = TSR_PART(exchange), .update = TSR_PART(update), .erase = TSR_PART(erase),
                   .link = TSR_PART(link), .relink = TSR_PART(relink));

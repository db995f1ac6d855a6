/* SPDX-License-Identifier: Apache-2.0
 *
 * layout template: a column of keys and a column of payloads. A lane loads its keys of a bucket into registers; a payload is
 * read from memory when it is asked for.
 * Law kept: a slot is claimed by a CAS on its key. A free slot's payload holds the policy's identity (the region's fill,
 * and erase puts it back), and claimers and updaters alike combine into it, so inserts may overlap inserts and finds
 * finds.
 */
#define TSR_PARAMETERS(P)                                                                                              \
  P(uint32_t, bucket_slots, 8, 1, 32, "Slots per bucket, a power of two. A probe reads one bucket.")                   \
  P(uint32_t, tile_lanes, 1, 1, 32,                                                                                    \
    "GPU threads (lanes of a warp) that read a bucket together: a power of two, at most bucket_slots.")

#include "plugins/layout.cuh"

enum { TEMPLATE_KEYS, TEMPLATE_PAYLOADS }; /* regions */

/* The key that load saw in this lane's slot j; j is a constant after unrolling. */
TSR_INLINE tsr_key template_seen(const tsr_bucket *b, uint32_t j) {
#if TSR_KEY_BITS == 64
  return (tsr_key)b->word[2 * j + 1] << 32 | b->word[2 * j];
#else
  return b->word[j];
#endif
}

/* The same for a slot known at run time, on the lane that owns it. */
TSR_INLINE tsr_key template_seen_slot(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot) {
  tsr_key key = 0;
  TSR_SLOT_SEEN(c, key, slot, j, template_seen(b, j));
  return key;
}

TSR_INLINE tsr_payload *template_payload_at(const tsr_ctx *c, uint64_t ref, uint32_t slot) {
  return (tsr_payload *)TSR_REGION(c, TEMPLATE_PAYLOADS) + tsr_slot_index(c, ref, slot, sizeof(tsr_key));
}

/* What the slot's owner does: swaps the key that load saw for `desired`, and then writes the payload by `policy`. */
TSR_INLINE bool template_swap(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot, tsr_key desired, uint32_t policy,
                              tsr_payload payload) {
  tsr_key *address = (tsr_key *)TSR_REGION(c, TEMPLATE_KEYS) + tsr_slot_index(c, b->ref, slot, sizeof(tsr_key));
  tsr_key seen = template_seen_slot(c, b, slot);
  bool swapped = tsr_cas_key(address, seen, desired) == seen;
  if (swapped && TSR_PAYLOAD_BITS > 0) tsr_combine_at(c, template_payload_at(c, b->ref, slot), policy, payload);
  return swapped;
}

TSR_DEVICE void TSR_PART(load)(const tsr_ctx *c, uint64_t ref, uint32_t active, uint32_t mode, tsr_bucket *b) {
  b->ref = ref;
  tsr_load(c, (tsr_key *)TSR_REGION(c, TEMPLATE_KEYS) + ref * TSR_FACT(c, bucket_slots), sizeof(tsr_key),
           (uint32_t)sizeof(tsr_key) * tsr_slots_per_lane(c), active, mode, b->word);
}

/* Slots whose key is from lowest to highest. */
TSR_INLINE uint32_t template_range(const tsr_ctx *c, const tsr_bucket *b, tsr_key lowest, tsr_key highest) {
  uint32_t mask = 0;
  TSR_SLOTS_WHERE(c, mask, j, template_seen(b, j) >= lowest && template_seen(b, j) <= highest);
  return mask;
}

TSR_DEVICE uint32_t TSR_PART(match)(const tsr_ctx *c, const tsr_bucket *b, tsr_key key) {
  return template_range(c, b, key, key);
}

TSR_DEVICE uint32_t TSR_PART(empties)(const tsr_ctx *c, const tsr_bucket *b) {
  return template_range(c, b, TSR_EMPTY_KEY, TSR_EMPTY_KEY);
}

TSR_DEVICE uint32_t TSR_PART(vacant)(const tsr_ctx *c, const tsr_bucket *b) {
  return template_range(c, b, TSR_ERASED_KEY, TSR_EMPTY_KEY);
}

TSR_DEVICE tsr_key TSR_PART(key)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot) {
  return tsr_shuffle_key(c, template_seen_slot(c, b, slot), tsr_slot_lane(c, slot));
}

TSR_DEVICE tsr_payload TSR_PART(payload)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot) {
  if (TSR_PAYLOAD_BITS == 0) return 0; /* a set has no payloads in memory */
  return tsr_load_payload(template_payload_at(c, b->ref, slot), 1);
}

TSR_DEVICE bool TSR_PART(cas)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot, tsr_key key, tsr_payload payload) {
  return TSR_OWNER_DOES(c, slot, template_swap(c, b, slot, key, TSR_FACT(c, duplicates), payload)) != 0;
}

TSR_DEVICE bool TSR_PART(update)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot, uint32_t policy,
                                 tsr_payload payload) {
  if (TSR_PAYLOAD_BITS > 0 && tsr_owns(c, slot))
    tsr_combine_at(c, template_payload_at(c, b->ref, slot), policy, payload);
  return true; /* nothing erases or moves the key while inserts run */
}

TSR_DEVICE bool TSR_PART(erase)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot) {
  const tsr_payload identity = tsr_identity(TSR_FACT(c, duplicates));
  return TSR_OWNER_DOES(c, slot, template_swap(c, b, slot, TSR_ERASED_KEY, TSR_DUPLICATES_REPLACE, identity)) != 0;
}

TSR_PART_FUNCTIONS(.load = TSR_PART(load), .match = TSR_PART(match), .empties = TSR_PART(empties),
                   .vacant = TSR_PART(vacant), .key = TSR_PART(key), .payload = TSR_PART(payload), .cas = TSR_PART(cas),
                   .update = TSR_PART(update), .erase = TSR_PART(erase));

/* SPDX-License-Identifier: Apache-2.0
 *
 * layout aos: key and value side by side, each at its own width ("array of structs", WarpCore IV-B1; its default). One
 * load brings both, so a hit reads nothing more; the key alone is claimed by a CAS, and the value is combined after it.
 * Law kept: a vacant slot's value is the policy's identity (soa.cuh says why). A region has one fill byte, and keys
 * need all ones: so where the identity is 0 (add, max, counts) values are stored complemented, and the combinations are turned
 * round: ~max(a, b) = min(~a, ~b) and ~(a + b) = ~a - b.
 */
#define TSR_PARAMETERS(P)                                                                                              \
  P(uint32_t, bucket_slots, 8, 1, 32, "Slots per bucket, a power of two. A probe reads one bucket.")                   \
  P(uint32_t, tile_lanes, 1, 1, 32,                                                                                    \
    "GPU threads (lanes of a warp) that read a bucket together: a power of two, at most bucket_slots.")

#define TSR_KEYS_128 0

#include "plugins/layout.cuh"

/* C's own layout: 8 bytes for 32 + 32 bits, 16 for wider pairs, and no half crosses 8 bytes. */
typedef struct aos_slot {
  tsr_key key;
#if TSR_PAYLOAD_BITS > 0
  tsr_payload payload;
#endif
} aos_slot;

/* AOS_UNIT: what is read atomically, so that neither half is torn. */
enum {
  AOS_WORDS = sizeof(aos_slot) / 4,
  AOS_UNIT = TSR_KEY_BITS == 128                            ? 16
             : sizeof(aos_slot) == 16 || TSR_KEY_BITS == 64 ? 8
                                                            : 4,
  AOS_PAYLOAD_WORD = AOS_WORDS / 2
};

TSR_INLINE tsr_key aos_key(const tsr_bucket *b, uint32_t j) {
#if TSR_KEY_BITS == 128
  return tsr_key_of_words(b->word + AOS_WORDS * j);
#elif TSR_KEY_BITS == 64
  return (tsr_key)b->word[AOS_WORDS * j + 1] << 32 | b->word[AOS_WORDS * j];
#else
  return b->word[AOS_WORDS * j];
#endif
}

/* As stored. */
TSR_INLINE tsr_payload aos_payload(const tsr_bucket *b, uint32_t j) {
#if TSR_PAYLOAD_BITS == 64
  return (tsr_payload)b->word[AOS_WORDS * j + AOS_PAYLOAD_WORD + 1] << 32 | b->word[AOS_WORDS * j + AOS_PAYLOAD_WORD];
#elif TSR_PAYLOAD_BITS == 32
  return b->word[AOS_WORDS * j + AOS_PAYLOAD_WORD];
#else
  (void)b, (void)j;
  return 0;
#endif
}

/* Whether values are stored complemented. */
TSR_INLINE bool aos_turns(uint32_t policy) {
  return policy == TSR_DUPLICATES_ADD || policy == TSR_DUPLICATES_MAX || TSR_POLICY_COUNTS(policy);
}

/* Between a value and its stored form, both ways. */
TSR_INLINE tsr_payload aos_stored(const tsr_ctx *c, tsr_payload payload) {
  return aos_turns(TSR_FACT(c, duplicates)) ? (tsr_payload)~payload : payload;
}

TSR_INLINE aos_slot *aos_address(const tsr_ctx *c, uint64_t ref, uint32_t slot) {
  return (aos_slot *)TSR_REGION(c, 0) + tsr_slot_index(c, ref, slot, sizeof(aos_slot));
}

TSR_INLINE void aos_combine(const tsr_ctx *c, uint64_t ref, uint32_t slot, uint32_t policy, tsr_payload payload) {
#if TSR_PAYLOAD_BITS > 0
  tsr_payload *address = &aos_address(c, ref, slot)->payload;
  if (TSR_POLICY_COUNTS(policy)) { /* as tsr_combine_at does it */
    const tsr_payload seen = (tsr_payload)~tsr_add_payload(address, (tsr_payload)(0 - payload));
    const tsr_payload count = tsr_combine(policy, seen, payload);
    if (count != (tsr_payload)(seen + payload)) {
      tsr_exchange_payload(address, (tsr_payload)~count);
      tsr_tell_overflow(c, policy, seen, payload);
    }
    return;
  }
  switch (policy) {
  case TSR_DUPLICATES_ADD:
    tsr_tell_overflow(c, policy, (tsr_payload)~tsr_add_payload(address, (tsr_payload)(0 - payload)), payload);
    break;
  case TSR_DUPLICATES_MAX:
    tsr_combine_at(c, address, TSR_DUPLICATES_MIN, (tsr_payload)~payload);
    break;
  default:
    tsr_combine_at(c, address, policy, payload);
    break;
  }
#else
  (void)c, (void)ref, (void)slot, (void)policy, (void)payload;
#endif
}

/* What load saw of a slot known at run time, on the lane that owns it. */
TSR_INLINE tsr_key aos_seen_key(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot) {
  tsr_key key = 0;
  TSR_SLOT_SEEN(c, key, slot, j, aos_key(b, j));
  return key;
}

TSR_INLINE tsr_payload aos_seen_payload(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot) {
  tsr_payload payload = 0;
  TSR_SLOT_SEEN(c, payload, slot, j, aos_payload(b, j));
  return payload;
}

/* The owner's part: changes the key that load saw. */
TSR_INLINE bool aos_try(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot, tsr_key desired) {
  tsr_key expected = aos_seen_key(c, b, slot);
  return tsr_cas_key(&aos_address(c, b->ref, slot)->key, expected, desired) == expected;
}

TSR_INLINE bool aos_claim(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot, tsr_key key, tsr_payload payload) {
  bool claimed = aos_try(c, b, slot, key);
  if (claimed) aos_combine(c, b->ref, slot, TSR_FACT(c, duplicates), payload);
  return claimed;
}

/* Stored payloads of vacant slots are all ones. */
TSR_INLINE bool aos_erase(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot) {
  bool erased = aos_try(c, b, slot, TSR_ERASED_KEY);
#if TSR_PAYLOAD_BITS > 0
  if (erased)
    tsr_combine_at(c, &aos_address(c, b->ref, slot)->payload, TSR_DUPLICATES_REPLACE, (tsr_payload) ~(tsr_payload)0);
#endif
  return erased;
}

TSR_DEVICE void TSR_PART(load)(const tsr_ctx *c, uint64_t ref, uint32_t active, uint32_t mode, tsr_bucket *b) {
  b->ref = ref;
  tsr_load(c, (aos_slot *)TSR_REGION(c, 0) + ref * TSR_FACT(c, bucket_slots), AOS_UNIT,
           (uint32_t)sizeof(aos_slot) * tsr_slots_per_lane(c), active, mode, b->word);
}

TSR_DEVICE uint32_t TSR_PART(match)(const tsr_ctx *c, const tsr_bucket *b, tsr_key key) {
  uint32_t mask = 0;
  TSR_SLOTS_WHERE(c, mask, j, aos_key(b, j) == key);
  return mask;
}

TSR_DEVICE uint32_t TSR_PART(empties)(const tsr_ctx *c, const tsr_bucket *b) {
  return TSR_PART(match)(c, b, TSR_EMPTY_KEY);
}

TSR_DEVICE uint32_t TSR_PART(vacant)(const tsr_ctx *c, const tsr_bucket *b) {
  uint32_t mask = 0;
  TSR_SLOTS_WHERE(c, mask, j, aos_key(b, j) >= TSR_ERASED_KEY);
  return mask;
}

TSR_DEVICE tsr_key TSR_PART(key)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot) {
  return tsr_shuffle_key(c, aos_seen_key(c, b, slot), tsr_slot_lane(c, slot));
}

TSR_DEVICE tsr_payload TSR_PART(payload)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot) {
  return tsr_shuffle_payload(c, aos_stored(c, aos_seen_payload(c, b, slot)), tsr_slot_lane(c, slot));
}

TSR_DEVICE bool TSR_PART(cas)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot, tsr_key key, tsr_payload payload) {
  return TSR_OWNER_DOES(c, slot, aos_claim(c, b, slot, key, payload)) != 0;
}

TSR_DEVICE bool TSR_PART(put)(const tsr_ctx *c, uint64_t ref, uint32_t slot, tsr_key key, tsr_payload payload) {
  tsr_store_key(&aos_address(c, ref, slot)->key, key);
#if TSR_PAYLOAD_BITS > 0
  tsr_store_payload(&aos_address(c, ref, slot)->payload, aos_stored(c, payload));
#else
  (void)payload;
#endif
  return true;
}

TSR_DEVICE bool TSR_PART(update)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot, uint32_t policy,
                                 tsr_payload payload) {
  if (tsr_owns(c, slot)) aos_combine(c, b->ref, slot, policy, payload);
  return true; /* nothing erases or moves the key while inserts run */
}

TSR_DEVICE bool TSR_PART(erase)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot) {
  return TSR_OWNER_DOES(c, slot, aos_erase(c, b, slot)) != 0;
}

#if TSR_PAYLOAD_BITS == 0 /* a key alone is a whole pair */
TSR_DEVICE bool TSR_PART(exchange)(const tsr_ctx *c, uint64_t ref, uint32_t slot, tsr_key *key, tsr_payload *payload) {
  uint32_t owner = tsr_slot_lane(c, slot);
  tsr_key found = 0;
  if (tsr_owns(c, slot)) found = tsr_exchange_key(&aos_address(c, ref, slot)->key, *key);
  *key = tsr_shuffle_key(c, found, owner);
  *payload = 0;
  return true;
}
#define AOS_EXCHANGE .exchange = TSR_PART(exchange),
#else
#define AOS_EXCHANGE
#endif

TSR_PART_FUNCTIONS(AOS_EXCHANGE.load = TSR_PART(load), .match = TSR_PART(match), .empties = TSR_PART(empties),
                   .vacant = TSR_PART(vacant), .key = TSR_PART(key), .payload = TSR_PART(payload), .cas = TSR_PART(cas),
                   .put = TSR_PART(put), .update = TSR_PART(update), .erase = TSR_PART(erase));

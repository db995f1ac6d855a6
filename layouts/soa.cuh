/* SPDX-License-Identifier: Apache-2.0
 *
 * layout soa: a column of keys and a column of payloads, any widths ("struct of arrays", WarpCore IV-B1). A probe reads
 * keys only, so a bucket of 32-bit keys costs half of a packed one; a hit reads the value apart.
 * Law kept: a slot is claimed by a CAS on its key; its payload starts at the policy's identity (region fill, and erase
 * puts it back), and claimers and updaters alike combine into it atomically. Therefore inserts may overlap inserts, and
 * finds only finds. An empty key is all ones.
 */
#define TSR_PARAMETERS(P)                                                                                              \
  P(uint32_t, bucket_slots, 8, 1, 32, "Slots per bucket, a power of two. A probe reads one bucket.")                   \
  P(uint32_t, tile_lanes, 1, 1, 32,                                                                                    \
    "GPU threads (lanes of a warp) that read a bucket together: a power of two, at most bucket_slots.")

#define TSR_KEYS_128 0, 32, 64

#include "plugins/layout.cuh"

enum { SOA_KEYS, SOA_PAYLOADS };

TSR_INLINE tsr_key soa_seen(const tsr_bucket *b, uint32_t j) {
#if TSR_KEY_BITS == 128
  return tsr_key_of_words(b->word + 4 * j);
#elif TSR_KEY_BITS == 64
  return (tsr_key)b->word[2 * j + 1] << 32 | b->word[2 * j];
#else
  return b->word[j];
#endif
}

TSR_INLINE tsr_key soa_seen_slot(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot) {
  tsr_key key = 0;
  TSR_SLOT_SEEN(c, key, slot, j, soa_seen(b, j));
  return key;
}

TSR_INLINE tsr_key *soa_key_address(const tsr_ctx *c, uint64_t ref, uint32_t slot) {
  return (tsr_key *)TSR_REGION(c, SOA_KEYS) + tsr_slot_index(c, ref, slot, sizeof(tsr_key));
}

#if TSR_PAYLOAD_BITS > 0
TSR_INLINE tsr_payload *soa_payload_address(const tsr_ctx *c, uint64_t ref, uint32_t slot) {
  return (tsr_payload *)TSR_REGION(c, SOA_PAYLOADS) + tsr_slot_index(c, ref, slot, sizeof(tsr_key));
}
#endif

TSR_INLINE void soa_combine(const tsr_ctx *c, uint64_t ref, uint32_t slot, uint32_t policy, tsr_payload payload) {
#if TSR_PAYLOAD_BITS > 0
  tsr_combine_at(c, soa_payload_address(c, ref, slot), policy, payload);
#else
  (void)c, (void)ref, (void)slot, (void)policy, (void)payload; /* a set has no column of payloads */
#endif
}

TSR_DEVICE void TSR_PART(load)(const tsr_ctx *c, uint64_t ref, uint32_t active, uint32_t mode, tsr_bucket *b) {
  b->ref = ref;
  tsr_load(c, (tsr_key *)TSR_REGION(c, SOA_KEYS) + ref * TSR_FACT(c, bucket_slots), sizeof(tsr_key),
           (uint32_t)sizeof(tsr_key) * tsr_slots_per_lane(c), active, mode, b->word);
}

TSR_DEVICE uint32_t TSR_PART(match)(const tsr_ctx *c, const tsr_bucket *b, tsr_key key) {
  uint32_t mask = 0;
  TSR_SLOTS_WHERE(c, mask, j, soa_seen(b, j) == key);
  return mask;
}

TSR_DEVICE uint32_t TSR_PART(empties)(const tsr_ctx *c, const tsr_bucket *b) {
  return TSR_PART(match)(c, b, TSR_EMPTY_KEY);
}

TSR_DEVICE uint32_t TSR_PART(vacant)(const tsr_ctx *c, const tsr_bucket *b) {
  uint32_t mask = 0;
  TSR_SLOTS_WHERE(c, mask, j, soa_seen(b, j) >= TSR_ERASED_KEY);
  return mask;
}

TSR_DEVICE tsr_key TSR_PART(key)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot) {
  return tsr_shuffle_key(c, soa_seen_slot(c, b, slot), tsr_slot_lane(c, slot));
}

TSR_DEVICE tsr_payload TSR_PART(payload)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot) {
#if TSR_PAYLOAD_BITS > 0
  return tsr_load_payload(soa_payload_address(c, b->ref, slot), 1);
#else
  (void)c, (void)b, (void)slot;
  return 0;
#endif
}

/* The owner's part: changes the key that load saw, and then the value by `policy`. */
TSR_INLINE bool soa_try(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot, tsr_key desired, uint32_t policy,
                        tsr_payload payload) {
  tsr_key expected = soa_seen_slot(c, b, slot);
  bool swapped = tsr_cas_key(soa_key_address(c, b->ref, slot), expected, desired) == expected;
  if (swapped) soa_combine(c, b->ref, slot, policy, payload);
  return swapped;
}

TSR_DEVICE bool TSR_PART(cas)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot, tsr_key key, tsr_payload payload) {
  return TSR_OWNER_DOES(c, slot, soa_try(c, b, slot, key, TSR_FACT(c, duplicates), payload)) != 0;
}

/* The slot is empty, so that its payload is the policy's identity. */
TSR_DEVICE bool TSR_PART(put)(const tsr_ctx *c, uint64_t ref, uint32_t slot, tsr_key key, tsr_payload payload) {
  tsr_store_key(soa_key_address(c, ref, slot), key);
#if TSR_PAYLOAD_BITS > 0
  tsr_store_payload(soa_payload_address(c, ref, slot), payload);
#else
  (void)payload;
#endif
  return true;
}

TSR_DEVICE bool TSR_PART(update)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot, uint32_t policy,
                                 tsr_payload payload) {
  if (tsr_owns(c, slot)) soa_combine(c, b->ref, slot, policy, payload);
  return true; /* nothing erases or moves the key while inserts run */
}

TSR_DEVICE bool TSR_PART(erase)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot) {
  const tsr_payload identity = tsr_identity(TSR_FACT(c, duplicates));
  return TSR_OWNER_DOES(c, slot, soa_try(c, b, slot, TSR_ERASED_KEY, TSR_DUPLICATES_REPLACE, identity)) != 0;
}

#if TSR_PAYLOAD_BITS == 0 /* a key alone is a whole pair */
TSR_DEVICE bool TSR_PART(exchange)(const tsr_ctx *c, uint64_t ref, uint32_t slot, tsr_key *key, tsr_payload *payload) {
  uint32_t owner = tsr_slot_lane(c, slot);
  tsr_key found = 0;
  if (tsr_owns(c, slot)) found = tsr_exchange_key(soa_key_address(c, ref, slot), *key);
  *key = tsr_shuffle_key(c, found, owner);
  *payload = 0;
  return true;
}
#define SOA_EXCHANGE .exchange = TSR_PART(exchange),
#else
#define SOA_EXCHANGE
#endif

TSR_PART_FUNCTIONS(SOA_EXCHANGE.load = TSR_PART(load), .match = TSR_PART(match), .empties = TSR_PART(empties),
                   .vacant = TSR_PART(vacant), .key = TSR_PART(key), .payload = TSR_PART(payload), .cas = TSR_PART(cas),
                   .put = TSR_PART(put), .update = TSR_PART(update), .erase = TSR_PART(erase));

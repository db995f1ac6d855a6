/* SPDX-License-Identifier: Apache-2.0
 *
 * layout quotient: whole pairs as in packed, but of a key that part of its hash which its page does not say (J. G. Cleary,
 * "Compact hash tables using bidirectional linear probing", IEEE Trans. Comput. C-33, 1984; Knuth 6.4, exercise 13). The
 * hash is a bijection, so nothing is lost, and the bits that the page's number has need no storing: the top one of slot 0
 * is the bucket's overflow flag. So the flag is read with the pairs, and costs no memory.
 * Laws kept: pages are a power of two, and at least four, so that neither marker of a slot without a pair is a part of a
 * hash, whatever the flag says; and what changes slot 0 leaves the flag as it is.
 */
#define TSR_PARAMETERS(P)                                                                                              \
  P(uint32_t, bucket_slots, 4, 1, 32, "Slots per bucket, a power of two. A probe reads one bucket.")                   \
  P(uint32_t, tile_lanes, 1, 1, 32,                                                                                    \
    "GPU threads (lanes of a warp) that read a bucket together: a power of two, at most bucket_slots.")

#include "plugins/hasher.cuh"
#include "plugins/pair.cuh"

/* Set in all slots of pages; in slot 0 cleared to raise the bucket's flag. */
#define QUOTIENT_UNRAISED ((tsr_key)1 << (TSR_KEY_BITS - 1))

TSR_INLINE tsr_pair *quotient_words(const tsr_ctx *c, uint64_t ref) {
  return (tsr_pair *)TSR_REGION(c, 0) + ref * TSR_FACT(c, bucket_slots);
}

/* The bit of slot 0 that is the flag. Tail buckets are in no page: they hold whole keys, and no flag. Pairs pass them only
 * when they are full, which tells as much. */
TSR_INLINE tsr_key quotient_flag_bit(const tsr_ctx *c, uint64_t ref) {
  return !TSR_FACT(c, in_page) && ref >= c->t->pages * c->t->buckets ? 0 : QUOTIENT_UNRAISED;
}

/* The bits of a hash below those that are the page. */
TSR_INLINE tsr_key quotient_bits(const tsr_ctx *c) {
  return TSR_EMPTY_KEY >> tsr_count_bits((uint32_t)c->t->pages - 1u);
}

/* What a slot holds of a key; of one without a pair, the marker. */
TSR_INLINE tsr_key quotient_short(const tsr_ctx *c, uint64_t ref, tsr_key key) {
  const tsr_key stored = (hasher_hash(c, key, 0) & quotient_bits(c)) | QUOTIENT_UNRAISED;
  return key >= TSR_ERASED_KEY || !quotient_flag_bit(c, ref) ? key : stored;
}

/* The key of which a slot in bucket `ref` holds so much. */
TSR_INLINE tsr_key quotient_whole(const tsr_ctx *c, uint64_t ref, tsr_key stored) {
  const tsr_key bits = quotient_bits(c), flag = quotient_flag_bit(c, ref), page = (tsr_key)tsr_page_of_bucket(c, ref);
  const tsr_key key = hasher_unhash(c, (tsr_hash)(page * (bits + 1u) | (stored & bits)));
  stored |= flag;
  return stored >= TSR_ERASED_KEY || !flag ? stored : key;
}

/* A pair for a slot in which `seen` is: as much of the flag as there is. */
TSR_INLINE tsr_pair quotient_pair(const tsr_ctx *c, uint64_t ref, tsr_pair seen, tsr_key key, tsr_payload payload) {
  return tsr_pair_join(quotient_short(c, ref, key) & (tsr_pair_key(seen) | ~quotient_flag_bit(c, ref)), payload);
}

/* What load saw in this lane's place j. Only slot 0, the first lane's first, can have the bit cleared. */
TSR_INLINE tsr_key quotient_seen(const tsr_ctx *c, const tsr_bucket *b, uint32_t j) {
  const tsr_key key = tsr_pair_key(tsr_pair_seen(b, j));
  return j == 0 && c->lane == 0 ? key | quotient_flag_bit(c, b->ref) : key;
}

TSR_DEVICE void TSR_PART(load)(const tsr_ctx *c, uint64_t ref, uint32_t active, uint32_t mode, tsr_bucket *b) {
  b->ref = ref;
  tsr_pair_load(c, quotient_words(c, ref), active, mode, b);
}

TSR_DEVICE uint32_t TSR_PART(match)(const tsr_ctx *c, const tsr_bucket *b, tsr_key key) {
  const tsr_key stored = quotient_short(c, b->ref, key);
  uint32_t mask = 0;
  TSR_SLOTS_WHERE(c, mask, j, quotient_seen(c, b, j) == stored);
  return mask;
}

TSR_DEVICE uint32_t TSR_PART(empties)(const tsr_ctx *c, const tsr_bucket *b) {
  return TSR_PART(match)(c, b, TSR_EMPTY_KEY);
}

TSR_DEVICE uint32_t TSR_PART(vacant)(const tsr_ctx *c, const tsr_bucket *b) {
  uint32_t mask = 0;
  TSR_SLOTS_WHERE(c, mask, j, quotient_seen(c, b, j) >= TSR_ERASED_KEY);
  return mask;
}

TSR_DEVICE tsr_key TSR_PART(key)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot) {
  return quotient_whole(c, b->ref, tsr_pair_slot_key(c, b, slot));
}

TSR_DEVICE tsr_payload TSR_PART(payload)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot) {
  return tsr_pair_slot_payload(c, b, slot);
}

TSR_INLINE bool quotient_try(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot, tsr_key key, tsr_payload payload) {
  const tsr_pair seen = tsr_pair_seen_slot(c, b, slot);
  return tsr_pair_try(c, quotient_words(c, b->ref), b, slot, quotient_pair(c, b->ref, seen, key, payload));
}

TSR_DEVICE bool TSR_PART(cas)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot, tsr_key key, tsr_payload payload) {
  return TSR_OWNER_DOES(c, slot, quotient_try(c, b, slot, key, payload)) != 0;
}

/* In slot 0 the flag may rise at any time, so there the owner compares and swaps: each failure is another thread's
 * success. All tiles of a warp take part, as in the kit's own loops. */
TSR_DEVICE bool TSR_PART(exchange)(const tsr_ctx *c, uint64_t ref, uint32_t slot, tsr_key *key, tsr_payload *payload) {
  const uint32_t owner = tsr_slot_lane(c, slot);
  tsr_pair *word = quotient_words(c, ref) + tsr_slot_place(c, slot, sizeof(tsr_pair));
  tsr_pair found = ~(tsr_pair)0;
  if (slot != 0 && tsr_owns(c, slot))
    found = tsr_pair_exchange_(word, tsr_pair_join(quotient_short(c, ref, *key), *payload));
  uint32_t tries = slot == 0 && tsr_owns(c, slot);
  TSR_NO_UNROLL
  while (tsr_warp_any(c, tries)) {
    const tsr_pair seen = found;
    if (tries) found = tsr_pair_cas_(word, seen, quotient_pair(c, ref, seen, *key, *payload));
    tries &= found != seen; /* no branch: one way back to the vote */
  }
  *key = quotient_whole(c, ref, tsr_shuffle_key(c, tsr_pair_key(found), owner));
  *payload = tsr_shuffle_payload(c, tsr_pair_payload(found), owner);
  return true;
}

/* The words of slot 0's key, of which the last one has the flag: they are all ones, or the flag is raised meanwhile. */
TSR_INLINE uint32_t *quotient_flag(const tsr_ctx *c, uint64_t ref) {
  return (uint32_t *)quotient_words(c, ref) + TSR_KEY_BITS / 32 - 1;
}

TSR_DEVICE bool TSR_PART(put)(const tsr_ctx *c, uint64_t ref, uint32_t slot, tsr_key key, tsr_payload payload) {
  const tsr_key stored = quotient_short(c, ref, key);
  tsr_pair *words = quotient_words(c, ref);
  if (slot != 0) return tsr_pair_put(c, words, slot, stored, payload);
  tsr_and32(quotient_flag(c, ref), (uint32_t)(stored >> (TSR_KEY_BITS - 32)));
#if TSR_KEY_BITS == 64
  tsr_store32((uint32_t *)words, (uint32_t)stored);
#endif
#if TSR_PAYLOAD_BITS > 0
  tsr_store_payload((tsr_payload *)((char *)words + sizeof(tsr_pair) / 2), payload);
#else
  (void)payload;
#endif
  return true;
}

TSR_DEVICE bool TSR_PART(update)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot, uint32_t policy,
                                 tsr_payload payload) {
  return tsr_pair_update(c, quotient_words(c, b->ref), b, slot, policy, payload); /* leaves what is stored of the key */
}

TSR_DEVICE bool TSR_PART(erase)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot) {
  return TSR_PART(cas)(c, b, slot, TSR_ERASED_KEY, (tsr_payload) ~(tsr_payload)0);
}

TSR_DEVICE uint32_t TSR_PART(flag)(const tsr_ctx *c, const tsr_bucket *b) {
  const uint32_t raised = tsr_shuffle32(c, !(tsr_pair_key(tsr_pair_seen(b, 0)) & QUOTIENT_UNRAISED), 0);
  const uint32_t empties = TSR_PART(empties)(c, b); /* by all tiles of a warp, of which only some are in the tail */
  return quotient_flag_bit(c, b->ref) ? raised : !empties;
}

TSR_DEVICE bool TSR_PART(raise)(const tsr_ctx *c, uint64_t ref) {
  uint32_t *word = quotient_flag(c, ref);
  if (quotient_flag_bit(c, ref) && tsr_load32(word, 1) >> 31) tsr_and32(word, 0x7FFFFFFFu);
  return true;
}

TSR_PART_FUNCTIONS(TSR_PAIR_LAYOUT_FUNCTIONS, .flag = TSR_PART(flag), .raise = TSR_PART(raise));

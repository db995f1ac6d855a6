/* SPDX-License-Identifier: Apache-2.0
 *
 * layout tagged: whole pairs as in packed, and in the last bytes of each bucket a tag of one byte for each slot: 8 bits
 * of its key. A find reads the tags, one sector, and a pair only where its tag is the key's: so a bucket of 14 slots
 * costs an absent key as much memory as one of 4, and at high loads its walk is shorter. Tags serve finds alone.
 * Whatever writes looks at the pairs, which say what a slot holds; whoever has put or erased a pair then stores its
 * tag. That needs no order and no compare-and-swap: in a phase of inserts a slot is claimed once, in one of erases
 * erased once, so a tag has one writer, and finds come in a later phase (TSR_LOAD_SETTLED), after all of its writes.
 * For the same reason pairs are never exchanged: two who exchange in one slot could store their tags in the other
 * order. The byte behind the tags is the bucket's overflow flag, which a find has then read as well. Where operations of
 * all kinds overlap, or a tile has several lanes, pairs are read and no tags.
 */
#define TSR_PARAMETERS(P)                                                                                              \
  P(uint32_t, bucket_bytes, 128, 64, 128, "Bytes per bucket, 64 or 128. The tags are among them.")

#define TSR_KEYS_128 0

#include "plugins/pair.cuh"

/* A tag of 0xFF is an empty slot's, as the region is filled. */
enum { TAGGED_ERASED = 0xFE, TAGGED_TAGS = 0xFE };
/* The word of a tsr_bucket, behind those of any bucket here, that says that only tags were loaded: a constant wherever
 * a load is followed by what it is for. */
enum { TAGGED_SLOTS_MAX = 28, TAGGED_HAS_TAGS = TSR_BUCKET_WORDS - 1 };

TSR_INLINE uint32_t tagged_tag(tsr_key key) {
  if (key >= TSR_ERASED_KEY) return TAGGED_ERASED | (key == TSR_EMPTY_KEY);
#if TSR_KEY_BITS >= 64
  uint32_t tag = (uint32_t)(tsr_key_word(key) * 0x9E3779B97F4A7C15u >> 56);
#else
  uint32_t tag = key * 0x9E3779B1u >> 24;
#endif
  return tag < TAGGED_TAGS ? tag : tag - TAGGED_TAGS;
}

TSR_INLINE tsr_pair *tagged_words(const tsr_ctx *c, uint64_t ref) {
  return (tsr_pair *)TSR_REGION(c, 0) + ref * TSR_FACT(c, bucket_places);
}
/* Only of a lane alone do the places behind the slots follow each other in memory. */
TSR_INLINE bool tagged_has_tags(const tsr_ctx *c) { return TSR_FACT(c, tile_lanes) == 1; }
TSR_INLINE uint8_t *tagged_tags(const tsr_ctx *c, uint64_t ref) {
  return (uint8_t *)(tagged_words(c, ref) + TSR_FACT(c, bucket_slots));
}

/* Slots whose tag is `tag`: in each word the bytes that differ by nothing get their top bit, and the four top bits are
 * brought side by side. */
TSR_INLINE uint32_t tagged_equal(const tsr_ctx *c, const tsr_bucket *b, uint32_t tag) {
  uint32_t mask = 0;
  TSR_UNROLL
  for (uint32_t i = 0; i < TAGGED_SLOTS_MAX / 4; i++)
    if (4 * i < TSR_FACT(c, bucket_slots)) {
      uint32_t differs = b->word[i] ^ tag * 0x01010101u;
      uint32_t equal = ~(((differs & 0x7F7F7F7Fu) + 0x7F7F7F7Fu) | differs) & 0x80808080u;
      mask |= ((equal >> 7) * 0x10204080u >> 28) << 4 * i;
    }
  return mask & tsr_slot_mask(c);
}

/* The pair of a slot of which only the tag was loaded; nothing writes it meanwhile. */
TSR_INLINE tsr_pair tagged_read(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot) {
  const tsr_pair *at = tagged_words(c, b->ref) + tsr_slot_place(c, slot, sizeof(tsr_pair));
  uint32_t word[TSR_PAIR_WORDS];
  tsr_load(c, at, sizeof(tsr_pair), sizeof(tsr_pair), 1, 0, word);
  tsr_pair pair = word[0];
  TSR_UNROLL
  for (uint32_t i = 1; i < TSR_PAIR_WORDS; i++) pair |= (tsr_pair)word[i] << (32 * i);
  return pair;
}

TSR_DEVICE void TSR_PART(load)(const tsr_ctx *c, uint64_t ref, uint32_t active, uint32_t mode, tsr_bucket *b) {
  b->ref = ref;
  b->word[TAGGED_HAS_TAGS] = (mode & TSR_LOAD_SETTLED) && tagged_has_tags(c);
  if (!b->word[TAGGED_HAS_TAGS]) {
    tsr_pair_load(c, tagged_words(c, ref), active, mode, b);
    return;
  }
  TSR_UNROLL
  for (uint32_t i = 0; i < TAGGED_SLOTS_MAX / 4; i++) b->word[i] = 0xFFFFFFFFu; /* who has no work looks at no pair */
  const uint32_t *tags = (const uint32_t *)tagged_tags(c, ref);
  const uint32_t bytes = (uint32_t)sizeof(tsr_pair) * (TSR_FACT(c, bucket_places) - TSR_FACT(c, bucket_slots));
  if (bytes == 8 || bytes == 16) {
    tsr_load(c, tags, 4, bytes, active, mode, b->word);
    return;
  }
  TSR_UNROLL
  for (uint32_t i = 0; i < TAGGED_SLOTS_MAX / 4; i++)
    if (4 * i < TSR_FACT(c, bucket_slots) && active) b->word[i] = tsr_load32(tags + i, 0);
}

TSR_DEVICE uint32_t TSR_PART(match)(const tsr_ctx *c, const tsr_bucket *b, tsr_key key) {
  if (!b->word[TAGGED_HAS_TAGS]) return tsr_pair_match(c, b, key);
  uint32_t mask = 0;
  TSR_NO_UNROLL
  for (uint32_t hits = tagged_equal(c, b, tagged_tag(key)); hits; hits &= hits - 1) { /* mostly none or one */
    uint32_t slot = tsr_lowest(hits);
    mask |= (uint32_t)(tsr_pair_key(tagged_read(c, b, slot)) == key) << slot;
  }
  return mask;
}

TSR_DEVICE uint32_t TSR_PART(empties)(const tsr_ctx *c, const tsr_bucket *b) {
  if (!b->word[TAGGED_HAS_TAGS]) return tsr_pair_match(c, b, TSR_EMPTY_KEY);
  return tagged_equal(c, b, tagged_tag(TSR_EMPTY_KEY));
}

TSR_DEVICE uint32_t TSR_PART(vacant)(const tsr_ctx *c, const tsr_bucket *b) {
  if (!b->word[TAGGED_HAS_TAGS]) return tsr_pair_vacant(c, b);
  return tagged_equal(c, b, tagged_tag(TSR_EMPTY_KEY)) | tagged_equal(c, b, TAGGED_ERASED);
}

TSR_DEVICE tsr_key TSR_PART(key)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot) {
  if (!b->word[TAGGED_HAS_TAGS]) return tsr_pair_slot_key(c, b, slot);
  return tsr_pair_key(tagged_read(c, b, slot));
}

TSR_DEVICE tsr_payload TSR_PART(payload)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot) {
  if (!b->word[TAGGED_HAS_TAGS]) return tsr_pair_slot_payload(c, b, slot);
  return tsr_pair_payload(tagged_read(c, b, slot));
}

/* The owner's part: the pair, and then its tag. */
TSR_INLINE bool tagged_try(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot, tsr_key key, tsr_payload payload) {
  bool swapped = tsr_pair_try(c, tagged_words(c, b->ref), b, slot, tsr_pair_join(key, payload));
  if (swapped && tagged_has_tags(c)) tsr_store8(tagged_tags(c, b->ref) + slot, (uint8_t)tagged_tag(key));
  return swapped;
}

TSR_DEVICE bool TSR_PART(cas)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot, tsr_key key, tsr_payload payload) {
  return TSR_OWNER_DOES(c, slot, tagged_try(c, b, slot, key, payload)) != 0;
}

TSR_DEVICE bool TSR_PART(put)(const tsr_ctx *c, uint64_t ref, uint32_t slot, tsr_key key, tsr_payload payload) {
  if (tagged_has_tags(c)) tsr_store8(tagged_tags(c, ref) + slot, (uint8_t)tagged_tag(key));
  return tsr_pair_put(c, tagged_words(c, ref), slot, key, payload);
}

TSR_DEVICE bool TSR_PART(update)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot, uint32_t policy,
                                 tsr_payload payload) {
  return tsr_pair_update(c, tagged_words(c, b->ref), b, slot, policy, payload); /* the key, hence its tag, stays */
}

TSR_DEVICE bool TSR_PART(erase)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot) {
  return TSR_OWNER_DOES(c, slot, tagged_try(c, b, slot, TSR_ERASED_KEY, (tsr_payload) ~(tsr_payload)0)) != 0;
}

/* The bucket's last byte is nobody's tag: all ones, or 0 where a pair has gone on. All who raise store the same. */
TSR_INLINE uint32_t *tagged_flag_word(const tsr_ctx *c, uint64_t ref) {
  const uint32_t last = tsr_slot_place(c, TSR_FACT(c, bucket_places) - 1, sizeof(tsr_pair));
  return (uint32_t *)(tagged_words(c, ref) + last + 1) - 1;
}

TSR_DEVICE uint32_t TSR_PART(flag)(const tsr_ctx *c, const tsr_bucket *b) {
  const uint32_t last = TSR_FACT(c, bucket_places) - 1;
  if (b->word[TAGGED_HAS_TAGS])
    return b->word[TSR_PAIR_WORDS * (TSR_FACT(c, bucket_places) - TSR_FACT(c, bucket_slots)) - 1] >> 24 == 0;
  const tsr_pair pair = tsr_pair_seen_slot(c, b, last);
  return tsr_shuffle32(c, (uint32_t)(pair >> (8 * sizeof(tsr_pair) - 8)), tsr_slot_lane(c, last)) == 0;
}

TSR_DEVICE bool TSR_PART(raise)(const tsr_ctx *c, uint64_t ref) {
  uint32_t *word = tagged_flag_word(c, ref);
  if (tsr_load32(word, 1) >> 24) tsr_store8((uint8_t *)word + 3, 0);
  return true;
}

TSR_PART_FUNCTIONS(.load = TSR_PART(load), .match = TSR_PART(match), .empties = TSR_PART(empties),
                   .vacant = TSR_PART(vacant), .key = TSR_PART(key), .payload = TSR_PART(payload), .cas = TSR_PART(cas),
                   .put = TSR_PART(put), .update = TSR_PART(update), .erase = TSR_PART(erase), .flag = TSR_PART(flag),
                   .raise = TSR_PART(raise));

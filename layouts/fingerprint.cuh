/* SPDX-License-Identifier: Apache-2.0
 *
 * layout fingerprint: a slot holds 8, 16 or 32 bits of its key's hash and nothing else (B. Fan, D. Andersen, M. Kaminsky and
 * M. Mitzenmacher, "Cuckoo filter: practically better than Bloom", CoNEXT 2014). Two values of these bits mark empty and
 * erased slots. Fingerprints are side by side in words of 32 bits, each of which is swapped by one atomic operation.
 * One lane reads a bucket. In a tile of several the first lane reads for all, so that they see one moment.
 */
#define TSR_PARAMETERS(P)                                                                                              \
  P(uint32_t, bucket_slots, 16, 4, 32, "Slots per bucket: 4, 8, 16 or 32. More fill better, and err more often.")      \
  P(uint32_t, fingerprint_bits, 16, 8, 32,                                                                             \
    "Bits per slot: 8, 16 or 32. With 16, and 16 slots, about 1 absent key in 2,100 seems present.")

#include "plugins/hasher.cuh"
#include "plugins/layout.cuh"

enum { FINGERPRINT_WORD_BITS = 32, FINGERPRINT_WORDS_MAX = 32 };

/* Words of a bucket, at least one. */
TSR_INLINE uint32_t fingerprint_words(const tsr_ctx *c) {
  return TSR_FACT(c, bucket_slots) * TSR_FACT(c, fingerprint_bits) / FINGERPRINT_WORD_BITS;
}
TSR_INLINE uint32_t fingerprint_mask(const tsr_ctx *c) { return 0xFFFFFFFFu >> (32u - TSR_FACT(c, fingerprint_bits)); }
TSR_INLINE uint32_t *fingerprint_bucket(const tsr_ctx *c, uint64_t ref) {
  return (uint32_t *)TSR_REGION(c, 0) + ref * fingerprint_words(c);
}
/* In which word of its bucket a slot is, and where in the word. */
TSR_INLINE uint32_t fingerprint_word_of(const tsr_ctx *c, uint32_t slot) {
  return slot * TSR_FACT(c, fingerprint_bits) / FINGERPRINT_WORD_BITS;
}
TSR_INLINE uint32_t fingerprint_shift(const tsr_ctx *c, uint32_t slot) {
  return slot * TSR_FACT(c, fingerprint_bits) % FINGERPRINT_WORD_BITS;
}

TSR_DEVICE void TSR_PART(load)(const tsr_ctx *c, uint64_t ref, uint32_t active, uint32_t mode, tsr_bucket *b) {
  const uint32_t *words = fingerprint_bucket(c, ref);
  b->ref = ref;
  if (TSR_FACT(c, tile_lanes) == 1) {
    tsr_load(c, words, 4, 4 * fingerprint_words(c), active, mode, b->word);
    return;
  }
  TSR_UNROLL
  for (uint32_t i = 0; i < FINGERPRINT_WORDS_MAX; i++)
    if (i < fingerprint_words(c))
      b->word[i] = tsr_shuffle32(c, c->lane == 0 && active ? tsr_load32(words + i, 1) : 0, 0);
}

/* The slots that hold this, but for the bits of `but`. */
TSR_INLINE uint32_t fingerprint_equal(const tsr_ctx *c, const tsr_bucket *b, uint32_t wanted, uint32_t but) {
  const uint32_t in_word = FINGERPRINT_WORD_BITS / TSR_FACT(c, fingerprint_bits);
  uint32_t mask = 0;
  TSR_UNROLL
  for (uint32_t i = 0; i < FINGERPRINT_WORDS_MAX; i++)
    if (i < fingerprint_words(c)) {
      TSR_UNROLL
      for (uint32_t j = 0; j < 4; j++)
        if (j < in_word) {
          const uint32_t held = b->word[i] >> (j * TSR_FACT(c, fingerprint_bits)) & fingerprint_mask(c);
          mask |= (uint32_t)((held | but) == wanted) << (i * in_word + j);
        }
    }
  return mask;
}

TSR_DEVICE uint32_t TSR_PART(match)(const tsr_ctx *c, const tsr_bucket *b, tsr_key key) {
  return fingerprint_equal(c, b, tsr_fingerprint(c, key), 0);
}

TSR_DEVICE uint32_t TSR_PART(empties)(const tsr_ctx *c, const tsr_bucket *b) {
  return fingerprint_equal(c, b, TSR_FINGERPRINT_EMPTY, 0);
}

TSR_DEVICE uint32_t TSR_PART(vacant)(const tsr_ctx *c, const tsr_bucket *b) {
  return fingerprint_equal(c, b, TSR_FINGERPRINT_ERASED, TSR_FINGERPRINT_ERASED);
}

/* The word that load saw a slot in. Registers cannot be indexed. */
TSR_INLINE uint32_t fingerprint_seen(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot) {
  const uint32_t at = fingerprint_word_of(c, slot);
#ifdef __CUDACC__
  uint32_t seen = b->word[0];
  TSR_UNROLL
  for (uint32_t i = 1; i < FINGERPRINT_WORDS_MAX; i++)
    if (i < fingerprint_words(c)) seen = i == at ? b->word[i] : seen;
  return seen;
#else
  return b->word[at];
#endif
}

TSR_DEVICE tsr_key TSR_PART(key)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot) {
  const uint32_t seen = fingerprint_seen(c, b, slot);
  return tsr_key_of_fingerprint(c, seen >> fingerprint_shift(c, slot) & fingerprint_mask(c));
}

TSR_DEVICE tsr_payload TSR_PART(payload)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot) {
  (void)c, (void)b, (void)slot;
  return 0;
}

/* Puts `desired` into a slot that the lane owns. With `expects` only if it still holds what `seen`, its word, has. Returns
 * what the slot held. Neighbours in the word change meanwhile, and each failure is another thread's success. Relaxed is
 * enough, since a slot is all that there is of a key. All tiles of a warp take part, as in the kit's own loops. */
TSR_INLINE uint32_t fingerprint_swap(const tsr_ctx *c, uint64_t ref, uint32_t slot, uint32_t seen, uint32_t desired,
                                     bool expects) {
  uint32_t *word = fingerprint_bucket(c, ref) + fingerprint_word_of(c, slot);
  const uint32_t shift = fingerprint_shift(c, slot), bits = fingerprint_mask(c) << shift, expected = seen & bits;
  uint32_t tries = tsr_owns(c, slot);
  TSR_NO_UNROLL
  while (tsr_warp_any(c, tries)) {
    const uint32_t before = seen;
    if (tries) seen = tsr_cas32(word, before, (before & ~bits) | desired << shift);
    tries &= (uint32_t)(seen != before) & (uint32_t)(!expects || (seen & bits) == expected);
  }
  return (seen & bits) >> shift;
}

TSR_INLINE bool fingerprint_try(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot, uint32_t desired) {
  const uint32_t seen = fingerprint_seen(c, b, slot), shift = fingerprint_shift(c, slot);
  const uint32_t found = fingerprint_swap(c, b->ref, slot, seen, desired, true);
  return TSR_OWNER_DOES(c, slot, found == (seen >> shift & fingerprint_mask(c))) != 0;
}

TSR_DEVICE bool TSR_PART(cas)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot, tsr_key key, tsr_payload payload) {
  (void)payload;
  return fingerprint_try(c, b, slot, tsr_fingerprint(c, key));
}

TSR_DEVICE bool TSR_PART(exchange)(const tsr_ctx *c, uint64_t ref, uint32_t slot, tsr_key *key, tsr_payload *payload) {
  const uint32_t *word = fingerprint_bucket(c, ref) + fingerprint_word_of(c, slot);
  const uint32_t seen = tsr_owns(c, slot) ? tsr_load32(word, 1) : 0;
  const uint32_t found = fingerprint_swap(c, ref, slot, seen, tsr_fingerprint(c, *key), false);
  *key = tsr_key_of_fingerprint(c, tsr_shuffle32(c, found, tsr_slot_lane(c, slot)));
  *payload = 0;
  return true;
}

/* There is nothing to combine. */
TSR_DEVICE bool TSR_PART(update)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot, uint32_t policy,
                                 tsr_payload payload) {
  (void)policy, (void)payload;
  const uint32_t *word = fingerprint_bucket(c, b->ref) + fingerprint_word_of(c, slot);
  const uint32_t bits = fingerprint_mask(c) << fingerprint_shift(c, slot), seen = fingerprint_seen(c, b, slot);
  return TSR_OWNER_DOES(c, slot, ((tsr_load32(word, 1) ^ seen) & bits) == 0) != 0;
}

TSR_DEVICE bool TSR_PART(erase)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot) {
  return fingerprint_try(c, b, slot, TSR_FINGERPRINT_ERASED);
}

TSR_PART_FUNCTIONS(.load = TSR_PART(load), .match = TSR_PART(match), .empties = TSR_PART(empties),
                   .vacant = TSR_PART(vacant), .key = TSR_PART(key), .payload = TSR_PART(payload), .cas = TSR_PART(cas),
                   .exchange = TSR_PART(exchange), .update = TSR_PART(update), .erase = TSR_PART(erase));

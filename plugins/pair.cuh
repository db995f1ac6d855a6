/* SPDX-License-Identifier: Apache-2.0
 *
 * A service for layouts of whole pairs: key and payload in one word of 32, 64 or 128 bits, the smallest that holds
 * them, read and swapped by one atomic operation. A pair is never torn, so pairs may move and finds may overlap
 * inserts. The key is the low half. An empty word is all ones; an erased one is TSR_ERASED_KEY over all ones.
 *
 * These are all functions of a layout, which has to say only where a bucket's first word is: callers pass it as `words`,
 * which only the lane that owns the slot uses, or give a function that returns it to TSR_PAIR_LAYOUT. How slots are in a
 * bucket: layout.cuh, tsr_slot_lane. Collective as in layout.cuh.
 */
#ifndef TSR_PAIR_CUH
#define TSR_PAIR_CUH

#include "plugins/layout.cuh"

/* What plan() has to know: bytes of such a word. */
TSR_INLINE uint32_t tsr_pair_bytes(uint32_t key_bits, uint32_t payload_bits) {
  uint32_t bits = key_bits + payload_bits;
  return bits <= 32 ? 4 : bits <= 64 ? 8 : 16;
}

#ifdef TSR_PAYLOAD_BITS
#if TSR_KEY_BITS + TSR_PAYLOAD_BITS == 32
typedef uint32_t tsr_pair;
#define tsr_pair_cas_ tsr_cas32
#define tsr_pair_store_ tsr_store32
#define tsr_pair_exchange_ tsr_exchange32
#elif TSR_KEY_BITS + TSR_PAYLOAD_BITS == 64
typedef uint64_t tsr_pair;
#define tsr_pair_cas_ tsr_cas64
#define tsr_pair_store_ tsr_store64
#define tsr_pair_exchange_ tsr_exchange64
#else
typedef tsr_u128 tsr_pair;
#define tsr_pair_cas_ tsr_cas128
#define tsr_pair_store_ tsr_store128
#define tsr_pair_exchange_ tsr_exchange128
#endif

/* The payload is half of the word; of a set there is none. */
enum { TSR_PAIR_WORDS = sizeof(tsr_pair) / 4, TSR_PAIR_PAYLOAD_SHIFT = 4 * sizeof(tsr_pair) };

TSR_INLINE tsr_pair tsr_pair_join(tsr_key key, tsr_payload payload) {
#if TSR_PAYLOAD_BITS > 0
  return (tsr_pair)payload << TSR_PAIR_PAYLOAD_SHIFT | key;
#else
  (void)payload;
  return key;
#endif
}

TSR_INLINE tsr_key tsr_pair_key(tsr_pair pair) { return (tsr_key)pair; }

TSR_INLINE tsr_payload tsr_pair_payload(tsr_pair pair) {
#if TSR_PAYLOAD_BITS > 0
  return (tsr_payload)(pair >> TSR_PAIR_PAYLOAD_SHIFT);
#else
  (void)pair;
  return 0;
#endif
}

/* Compare-and-swap and exchange of a pair, with nobody to race where the thread is alone. */
TSR_INLINE tsr_pair tsr_pair_cas(const tsr_ctx *c, tsr_pair *word, tsr_pair expected, tsr_pair desired) {
#ifndef __CUDACC__
  if (c->alone) {
    const tsr_pair found = *word;
    if (found == expected) *word = desired;
    return found;
  }
#endif
  (void)c;
  return tsr_pair_cas_(word, expected, desired);
}

TSR_INLINE tsr_pair tsr_pair_exchange_word(const tsr_ctx *c, tsr_pair *word, tsr_pair desired) {
#ifndef __CUDACC__
  if (c->alone) {
    const tsr_pair found = *word;
    *word = desired;
    return found;
  }
#endif
  (void)c;
  return tsr_pair_exchange_(word, desired);
}

/* What load saw in this lane's place j; j is a constant after unrolling. */
TSR_INLINE tsr_pair tsr_pair_seen(const tsr_bucket *b, uint32_t j) {
#ifdef __CUDACC__
  tsr_pair pair = b->word[TSR_PAIR_WORDS * j];
  TSR_UNROLL
  for (uint32_t i = 1; i < TSR_PAIR_WORDS; i++) pair |= (tsr_pair)b->word[TSR_PAIR_WORDS * j + i] << (32 * i);
#else
  tsr_pair pair; /* little-endian, as tsr_load wrote it */
  __builtin_memcpy(&pair, &b->word[TSR_PAIR_WORDS * j], sizeof pair);
#endif
  return pair;
}

/* Its payload. Where it fills words of its own only these are read. Taken from the joined pair, words that a masked tile
 * has not loaded would become zeros, and the compiler would wait for the load in order to set them so. */
TSR_INLINE tsr_payload tsr_pair_seen_payload(const tsr_bucket *b, uint32_t j) {
#if TSR_PAYLOAD_BITS == 32
  return b->word[TSR_PAIR_WORDS * (j + 1) - TSR_PAIR_WORDS / 2];
#else
  return tsr_pair_payload(tsr_pair_seen(b, j));
#endif
}

/* The same for a slot number known at run time, on the lane that owns it. */
TSR_INLINE tsr_pair tsr_pair_seen_slot(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot) {
  tsr_pair pair = 0;
  TSR_SLOT_SEEN(c, pair, slot, j, tsr_pair_seen(b, j));
  return pair;
}

TSR_INLINE void tsr_pair_load(const tsr_ctx *c, const tsr_pair *words, uint32_t active, uint32_t mode, tsr_bucket *b) {
  tsr_load(c, words, sizeof(tsr_pair), (uint32_t)sizeof(tsr_pair) * tsr_slots_per_lane(c), active, mode, b->word);
}

/* Slots whose key is this one, but for the bits of `but`. A CPU compares two keys of 64 bits at once; it must not load two
 * pairs at once for that, because such a load would wait for the stores of either. */
TSR_INLINE uint32_t tsr_pair_match_but(const tsr_ctx *c, const tsr_bucket *b, tsr_key key, tsr_key but) {
  uint32_t mask = 0;
#if defined(__SSE4_1__) && TSR_KEY_BITS == 64 && TSR_PAYLOAD_BITS == 64
  typedef long long words __attribute__((vector_size(16)));
  typedef double numbers __attribute__((vector_size(16)));
  if (TSR_FACT(c, tile_lanes) == 1 && tsr_slots_per_lane(c) % 2 == 0) {
    const words wanted = {(long long)key, (long long)key}, ignored = {(long long)but, (long long)but};
    for (uint32_t j = 0; j < tsr_slots_per_lane(c); j += 2) {
      words keys;
      __builtin_memcpy(&keys, &b->word[TSR_PAIR_WORDS * j], 8);
      __builtin_memcpy((char *)&keys + 8, &b->word[TSR_PAIR_WORDS * (j + 1)], 8);
      mask |= (uint32_t)__builtin_ia32_movmskpd((numbers)((keys | ignored) == wanted)) << j;
    }
    return mask & tsr_slot_mask(c);
  }
#endif
  TSR_SLOTS_WHERE(c, mask, j, (tsr_pair_key(tsr_pair_seen(b, j)) | but) == key);
  return mask & tsr_slot_mask(c);
}

TSR_INLINE uint32_t tsr_pair_match(const tsr_ctx *c, const tsr_bucket *b, tsr_key key) {
  return tsr_pair_match_but(c, b, key, 0);
}

/* Empty and erased keys differ in the lowest bit. */
TSR_INLINE uint32_t tsr_pair_vacant(const tsr_ctx *c, const tsr_bucket *b) {
  return tsr_pair_match_but(c, b, TSR_EMPTY_KEY, TSR_EMPTY_KEY ^ TSR_ERASED_KEY);
}

TSR_INLINE tsr_key tsr_pair_slot_key(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot) {
  return tsr_shuffle_key(c, tsr_pair_key(tsr_pair_seen_slot(c, b, slot)), tsr_slot_lane(c, slot));
}

TSR_INLINE tsr_payload tsr_pair_slot_payload(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot) {
  tsr_payload payload = 0;
  TSR_SLOT_SEEN(c, payload, slot, j, tsr_pair_seen_payload(b, j));
  return tsr_shuffle_payload(c, payload, tsr_slot_lane(c, slot));
}

/* What load saw -> desired, if it is still there: the owner's part. */
TSR_INLINE bool tsr_pair_try(const tsr_ctx *c, tsr_pair *words, const tsr_bucket *b, uint32_t slot, tsr_pair desired) {
  tsr_pair seen = tsr_pair_seen_slot(c, b, slot);
  return tsr_pair_cas(c, words + tsr_slot_place(c, slot, sizeof(tsr_pair)), seen, desired) == seen;
}

TSR_INLINE bool tsr_pair_swap(const tsr_ctx *c, tsr_pair *words, const tsr_bucket *b, uint32_t slot, tsr_pair desired) {
  return TSR_OWNER_DOES(c, slot, tsr_pair_try(c, words, b, slot, desired)) != 0;
}

TSR_INLINE bool tsr_pair_erase(const tsr_ctx *c, tsr_pair *words, const tsr_bucket *b, uint32_t slot) {
  return tsr_pair_swap(c, words, b, slot, tsr_pair_join(TSR_ERASED_KEY, (tsr_payload) ~(tsr_payload)0));
}

TSR_INLINE bool tsr_pair_exchange(const tsr_ctx *c, tsr_pair *words, uint32_t slot, tsr_key *key,
                                  tsr_payload *payload) {
  uint32_t owner = tsr_slot_lane(c, slot);
  tsr_pair found = 0;
  if (tsr_owns(c, slot))
    found = tsr_pair_exchange_word(c, words + tsr_slot_place(c, slot, sizeof(tsr_pair)), tsr_pair_join(*key, *payload));
  *key = tsr_shuffle_key(c, tsr_pair_key(found), owner);
  *payload = tsr_shuffle_payload(c, tsr_pair_payload(found), owner);
  return true;
}

/* The caller has the slot to itself, so its own lane writes, whichever lane owns the slot. */
TSR_INLINE bool tsr_pair_put(const tsr_ctx *c, tsr_pair *words, uint32_t slot, tsr_key key, tsr_payload payload) {
  tsr_pair_store_(words + tsr_slot_place(c, slot, sizeof(tsr_pair)), tsr_pair_join(key, payload));
  return true;
}

/* The owner's part of an update where keys stay: one atomic on the payload's half of the word, which cannot fail, so
 * that threads that meet at one key do not wait for each other's round trips. Nobody swaps the word meanwhile, because
 * a claim expects it empty. */
TSR_INLINE void tsr_pair_combine(const tsr_ctx *c, tsr_pair *word, uint32_t policy, tsr_payload payload) {
  tsr_combine_at(c, (tsr_payload *)((char *)word + sizeof(tsr_pair) / 2), policy, payload);
}

/* The owner's part where pairs may move, or be erased: one attempt at the whole word. Who loses it looks again, and then
 * sees what the winner left. But who wanted to replace a value of a key that is still there, with another value, is done:
 * since its look another replaced the value, and would have overwritten this one just before. The word alone decides, in
 * one order of changes: relaxed is enough. */
TSR_INLINE bool tsr_pair_try_update(const tsr_ctx *c, tsr_pair *words, const tsr_bucket *b, uint32_t slot,
                                    uint32_t policy, tsr_payload payload) {
  const tsr_pair seen = tsr_pair_seen_slot(c, b, slot);
  const tsr_pair desired = tsr_pair_join(tsr_pair_key(seen), tsr_combine(policy, tsr_pair_payload(seen), payload));
  const tsr_pair found = tsr_pair_cas(c, words + tsr_slot_place(c, slot, sizeof(tsr_pair)), seen, desired);
  const bool is_overwritten = policy == TSR_DUPLICATES_REPLACE && TSR_FACT(c, duplicates) == TSR_DUPLICATES_REPLACE &&
                              !TSR_FACT(c, is_mixed) && tsr_pair_key(found) == tsr_pair_key(seen);
  if (found == seen) tsr_tell_overflow(c, policy, tsr_pair_payload(seen), payload);
  return found == seen || is_overwritten;
}

TSR_INLINE bool tsr_pair_update(const tsr_ctx *c, tsr_pair *words, const tsr_bucket *b, uint32_t slot, uint32_t policy,
                                tsr_payload payload) {
  if (tsr_keys_stay(c)) {
    if (tsr_owns(c, slot)) tsr_pair_combine(c, words + tsr_slot_place(c, slot, sizeof(tsr_pair)), policy, payload);
    return true;
  }
  return TSR_OWNER_DOES(c, slot, tsr_pair_try_update(c, words, b, slot, policy, payload)) != 0;
}

/* The last place of a bucket that links (fact has_link): a handle in the word's low 32 bits, the others are spare and
 * all ones. */
TSR_INLINE uint32_t tsr_pair_link(const tsr_ctx *c, const tsr_bucket *b) {
  uint32_t last = TSR_FACT(c, bucket_slots);
  return tsr_shuffle32(c, (uint32_t)tsr_pair_seen_slot(c, b, last), tsr_slot_lane(c, last));
}

TSR_INLINE uint32_t tsr_pair_relink(const tsr_ctx *c, tsr_pair *words, uint32_t expected, uint32_t desired) {
  uint32_t last = TSR_FACT(c, bucket_slots);
  const tsr_pair spare = (tsr_pair) ~(tsr_pair)0xFFFFFFFFu;
  return TSR_OWNER_DOES(
      c, last, tsr_pair_cas(c, words + tsr_slot_place(c, last, sizeof(tsr_pair)), spare | expected, spare | desired));
}

/* All functions of a layout whose buckets are nothing but such words; WORDS(c, ref) is a bucket's first one. */
#define TSR_PAIR_LAYOUT(WORDS)                                                                                         \
  TSR_DEVICE void TSR_PART(load)(const tsr_ctx *c, uint64_t ref, uint32_t active, uint32_t mode, tsr_bucket *b) {      \
    b->ref = ref;                                                                                                      \
    tsr_pair_load(c, WORDS(c, ref), active, mode, b);                                                                  \
  }                                                                                                                    \
  TSR_DEVICE uint32_t TSR_PART(match)(const tsr_ctx *c, const tsr_bucket *b, tsr_key key) {                            \
    return tsr_pair_match(c, b, key);                                                                                  \
  }                                                                                                                    \
  TSR_DEVICE uint32_t TSR_PART(empties)(const tsr_ctx *c, const tsr_bucket *b) {                                       \
    return tsr_pair_match(c, b, TSR_EMPTY_KEY);                                                                        \
  }                                                                                                                    \
  TSR_DEVICE uint32_t TSR_PART(vacant)(const tsr_ctx *c, const tsr_bucket *b) { return tsr_pair_vacant(c, b); }        \
  TSR_DEVICE tsr_key TSR_PART(key)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot) {                             \
    return tsr_pair_slot_key(c, b, slot);                                                                              \
  }                                                                                                                    \
  TSR_DEVICE tsr_payload TSR_PART(payload)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot) {                     \
    return tsr_pair_slot_payload(c, b, slot);                                                                          \
  }                                                                                                                    \
  TSR_DEVICE bool TSR_PART(cas)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot, tsr_key key,                     \
                                tsr_payload payload) {                                                                 \
    return tsr_pair_swap(c, WORDS(c, b->ref), b, slot, tsr_pair_join(key, payload));                                   \
  }                                                                                                                    \
  TSR_DEVICE bool TSR_PART(exchange)(const tsr_ctx *c, uint64_t ref, uint32_t slot, tsr_key *key,                      \
                                     tsr_payload *payload) {                                                           \
    return tsr_pair_exchange(c, WORDS(c, ref), slot, key, payload);                                                    \
  }                                                                                                                    \
  TSR_DEVICE bool TSR_PART(put)(const tsr_ctx *c, uint64_t ref, uint32_t slot, tsr_key key, tsr_payload payload) {     \
    return tsr_pair_put(c, WORDS(c, ref), slot, key, payload);                                                         \
  }                                                                                                                    \
  TSR_DEVICE bool TSR_PART(update)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot, uint32_t policy,              \
                                   tsr_payload payload) {                                                              \
    return tsr_pair_update(c, WORDS(c, b->ref), b, slot, policy, payload);                                             \
  }                                                                                                                    \
  TSR_DEVICE bool TSR_PART(erase)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot) {                              \
    return tsr_pair_erase(c, WORDS(c, b->ref), b, slot);                                                               \
  }
/* For TSR_PART_FUNCTIONS. */
#define TSR_PAIR_LAYOUT_FUNCTIONS                                                                                      \
  .load = TSR_PART(load), .match = TSR_PART(match), .empties = TSR_PART(empties), .vacant = TSR_PART(vacant),          \
  .key = TSR_PART(key), .payload = TSR_PART(payload), .cas = TSR_PART(cas), .exchange = TSR_PART(exchange),            \
  .put = TSR_PART(put), .update = TSR_PART(update), .erase = TSR_PART(erase)
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * A service for layouts of whole pairs: key and payload in one word of 32, 64 or 128 bits, the smallest that holds them,
 * read and swapped by one atomic operation. A pair is never torn, so pairs may move and finds may overlap inserts. The
 * key is the low half. An empty word is all ones; an erased one is TSR_ERASED_KEY over all ones.
 *
 * These are the layout's functions but for one thing, where a bucket's first word is: callers pass it as `words`, which
 * only the lane that owns the slot uses. How slots lie in it: layout.cuh, tsr_slot_lane. Collective as in layout.cuh.
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
#define tsr_pair_exchange_ tsr_exchange32
#elif TSR_KEY_BITS + TSR_PAYLOAD_BITS == 64
typedef uint64_t tsr_pair;
#define tsr_pair_cas_ tsr_cas64
#define tsr_pair_exchange_ tsr_exchange64
#else
typedef tsr_u128 tsr_pair;
#define tsr_pair_cas_ tsr_cas128
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

/* What load saw in this lane's place j; j is a constant after unrolling. */
TSR_INLINE tsr_pair tsr_pair_seen(const tsr_bucket *b, uint32_t j) {
  tsr_pair pair = b->word[TSR_PAIR_WORDS * j];
  TSR_UNROLL
  for (uint32_t i = 1; i < TSR_PAIR_WORDS; i++) pair |= (tsr_pair)b->word[TSR_PAIR_WORDS * j + i] << (32 * i);
  return pair;
}

/* The same for a slot number known at run time, on the lane that owns it: registers cannot be indexed. */
TSR_INLINE tsr_pair tsr_pair_seen_slot(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot) {
  uint32_t at = tsr_slot_of_lane(c, slot);
  tsr_pair pair = tsr_pair_seen(b, 0);
  TSR_UNROLL
  for (uint32_t j = 1; j < TSR_LANE_SLOTS_MAX; j++)
    if (j < tsr_slots_per_lane(c) && j == at) pair = tsr_pair_seen(b, j);
  return pair;
}

TSR_INLINE void tsr_pair_load(const tsr_ctx *c, const tsr_pair *words, uint32_t active, uint32_t mode, tsr_bucket *b) {
  tsr_load(c, words, sizeof(tsr_pair), (uint32_t)sizeof(tsr_pair) * tsr_slots_per_lane(c), active, mode, b->word);
}

TSR_INLINE uint32_t tsr_pair_match(const tsr_ctx *c, const tsr_bucket *b, tsr_key key) {
  uint32_t mask = 0;
  TSR_SLOTS_WHERE(c, mask, j, tsr_pair_key(tsr_pair_seen(b, j)) == key);
  return mask & tsr_slot_mask(c);
}

TSR_INLINE uint32_t tsr_pair_vacant(const tsr_ctx *c, const tsr_bucket *b) {
  uint32_t mask = 0;
  TSR_SLOTS_WHERE(c, mask, j, tsr_pair_key(tsr_pair_seen(b, j)) >= TSR_ERASED_KEY);
  return mask & tsr_slot_mask(c);
}

TSR_INLINE tsr_key tsr_pair_slot_key(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot) {
  return tsr_shuffle_key(c, tsr_pair_key(tsr_pair_seen_slot(c, b, slot)), tsr_slot_lane(c, slot));
}

TSR_INLINE tsr_payload tsr_pair_slot_payload(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot) {
  return tsr_shuffle_payload(c, tsr_pair_payload(tsr_pair_seen_slot(c, b, slot)), tsr_slot_lane(c, slot));
}

/* The owner tries what load saw -> desired; all lanes learn whether it worked. */
TSR_INLINE bool tsr_pair_swap(const tsr_ctx *c, tsr_pair *words, const tsr_bucket *b, uint32_t slot, tsr_pair desired) {
  uint32_t swapped = 0;
  if (tsr_owns(c, slot)) {
    tsr_pair expected = tsr_pair_seen_slot(c, b, slot);
    swapped = tsr_pair_cas_(words + tsr_slot_place(c, slot, sizeof(tsr_pair)), expected, desired) == expected;
  }
  return tsr_shuffle32(c, swapped, tsr_slot_lane(c, slot)) != 0;
}

TSR_INLINE bool tsr_pair_erase(const tsr_ctx *c, tsr_pair *words, const tsr_bucket *b, uint32_t slot) {
  return tsr_pair_swap(c, words, b, slot, tsr_pair_join(TSR_ERASED_KEY, (tsr_payload) ~(tsr_payload)0));
}

TSR_INLINE bool tsr_pair_exchange(const tsr_ctx *c, tsr_pair *words, uint32_t slot, tsr_key *key,
                                  tsr_payload *payload) {
  uint32_t owner = tsr_slot_lane(c, slot);
  tsr_pair found = 0;
  if (tsr_owns(c, slot))
    found = tsr_pair_exchange_(words + tsr_slot_place(c, slot, sizeof(tsr_pair)), tsr_pair_join(*key, *payload));
  *key = tsr_shuffle_key(c, tsr_pair_key(found), owner);
  *payload = tsr_shuffle_payload(c, tsr_pair_payload(found), owner);
  return true;
}

/* One attempt: who loses it looks again, and then sees what the winner left. */
TSR_INLINE bool tsr_pair_update(const tsr_ctx *c, tsr_pair *words, const tsr_bucket *b, uint32_t slot, uint32_t policy,
                                tsr_payload payload) {
  tsr_pair seen = tsr_pair_seen_slot(c, b, slot);
  return tsr_pair_swap(c, words, b, slot,
                       tsr_pair_join(tsr_pair_key(seen), tsr_combine(policy, tsr_pair_payload(seen), payload)));
}

/* The last place of a bucket that links (fact has_link): a handle in the word's low 32 bits, the others are spare and
 * all ones. */
TSR_INLINE uint32_t tsr_pair_link(const tsr_ctx *c, const tsr_bucket *b) {
  uint32_t last = TSR_FACT(c, bucket_slots);
  return tsr_shuffle32(c, (uint32_t)tsr_pair_seen_slot(c, b, last), tsr_slot_lane(c, last));
}

TSR_INLINE uint32_t tsr_pair_relink(const tsr_ctx *c, tsr_pair *words, uint32_t expected, uint32_t desired) {
  uint32_t last = TSR_FACT(c, bucket_slots), owner = tsr_slot_lane(c, last), found = 0;
  const tsr_pair spare = (tsr_pair) ~(tsr_pair)0xFFFFFFFFu;
  if (tsr_owns(c, last))
    found =
        (uint32_t)tsr_pair_cas_(words + tsr_slot_place(c, last, sizeof(tsr_pair)), spare | expected, spare | desired);
  return tsr_shuffle32(c, found, owner);
}
#endif

#endif

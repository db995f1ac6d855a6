/* SPDX-License-Identifier: Apache-2.0
 *
 * layout packed: key and cell in one word of 32, 64 or 128 bits, the smallest that holds them, read and swapped by one
 * atomic operation ("packed array of structs", WarpCore IV-B1). A pair is never torn, so pairs may move and finds may
 * overlap inserts. The key is the low half. Law kept: an empty word is all ones; an erased one is TSR_ERASED_KEY over
 * all ones.
 */
#define TSR_PARAMETERS(P)                                                                                              \
  P(uint32_t, bucket_slots, 8, 1, 32, "Slots of one bucket; a power of two.")                                          \
  P(uint32_t, tile_lanes, 1, 1, 32, "Lanes of a warp that work on one bucket together; a power of two.")

#include "plugins/layout.cuh"

#if TSR_KEY_BITS + TSR_CELL_BITS == 32
typedef uint32_t packed_pair;
#define packed_cas_word tsr_cas32
#define packed_exchange_word tsr_exchange32
#elif TSR_KEY_BITS + TSR_CELL_BITS == 64
typedef uint64_t packed_pair;
#define packed_cas_word tsr_cas64
#define packed_exchange_word tsr_exchange64
#else
typedef tsr_u128 packed_pair;
#define packed_cas_word tsr_cas128
#define packed_exchange_word tsr_exchange128
#endif

/* Half of the word, or all of it for a set. */
enum { PACKED_BYTES = sizeof(packed_pair), PACKED_WORDS = PACKED_BYTES / 4, PACKED_CELL_SHIFT = 4 * PACKED_BYTES };

TSR_INLINE packed_pair packed_join(tsr_key key, tsr_cell cell) {
#if TSR_CELL_BITS > 0
  return (packed_pair)cell << PACKED_CELL_SHIFT | key;
#else
  (void)cell;
  return key;
#endif
}

TSR_INLINE tsr_key packed_key(packed_pair pair) { return (tsr_key)pair; }

TSR_INLINE tsr_cell packed_cell(packed_pair pair) {
#if TSR_CELL_BITS > 0
  return (tsr_cell)(pair >> PACKED_CELL_SHIFT);
#else
  (void)pair;
  return 0;
#endif
}

/* What load saw in this lane's slot j; j is a constant after unrolling. */
TSR_INLINE packed_pair packed_seen(const tsr_bucket *b, uint32_t j) {
  packed_pair pair = b->word[PACKED_WORDS * j];
  TSR_UNROLL
  for (uint32_t i = 1; i < PACKED_WORDS; i++) pair |= (packed_pair)b->word[PACKED_WORDS * j + i] << (32 * i);
  return pair;
}

/* The same for a slot number known at run time, on the lane that owns it: registers cannot be indexed. */
TSR_INLINE packed_pair packed_seen_slot(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot) {
  uint32_t at = tsr_slot_of_lane(c, slot);
  packed_pair pair = packed_seen(b, 0);
  TSR_UNROLL
  for (uint32_t j = 1; j < TSR_LANE_SLOTS_MAX; j++)
    if (j < tsr_slots_per_lane(c) && j == at) pair = packed_seen(b, j);
  return pair;
}

TSR_INLINE packed_pair *packed_address(const tsr_ctx *c, uint64_t ref, uint32_t slot) {
  return (packed_pair *)TSR_REGION(c, 0) + tsr_slot_index(c, ref, slot);
}

/* The owner tries expected -> desired; all lanes learn whether it worked. */
TSR_INLINE bool packed_swap_seen(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot, packed_pair desired) {
  uint32_t owner = tsr_slot_lane(c, slot), swapped = 0;
  if (c->lane == owner) {
    packed_pair expected = packed_seen_slot(c, b, slot);
    swapped = packed_cas_word(packed_address(c, b->ref, slot), expected, desired) == expected;
  }
  return tsr_shuffle32(c, swapped, owner) != 0;
}

TSR_DEVICE void TSR_PART(load)(const tsr_ctx *c, uint64_t ref, uint32_t active, uint32_t mode, tsr_bucket *b) {
  b->ref = ref;
  tsr_load(c, (packed_pair *)TSR_REGION(c, 0) + ref * tsr_bucket_slots(c), PACKED_BYTES,
           PACKED_BYTES * tsr_slots_per_lane(c), active, mode, b->word);
}

TSR_DEVICE uint32_t TSR_PART(match)(const tsr_ctx *c, const tsr_bucket *b, tsr_key key) {
  uint32_t mask = 0;
  TSR_SLOTS_WHERE(c, mask, j, packed_key(packed_seen(b, j)) == key);
  return mask;
}

TSR_DEVICE uint32_t TSR_PART(empties)(const tsr_ctx *c, const tsr_bucket *b) {
  return TSR_PART(match)(c, b, TSR_EMPTY_KEY);
}

TSR_DEVICE uint32_t TSR_PART(vacant)(const tsr_ctx *c, const tsr_bucket *b) {
  uint32_t mask = 0;
  TSR_SLOTS_WHERE(c, mask, j, packed_key(packed_seen(b, j)) >= TSR_ERASED_KEY);
  return mask;
}

TSR_DEVICE tsr_key TSR_PART(key)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot) {
  return tsr_shuffle_key(c, packed_key(packed_seen_slot(c, b, slot)), tsr_slot_lane(c, slot));
}

TSR_DEVICE tsr_cell TSR_PART(cell)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot) {
  return tsr_shuffle_cell(c, packed_cell(packed_seen_slot(c, b, slot)), tsr_slot_lane(c, slot));
}

TSR_DEVICE bool TSR_PART(cas)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot, tsr_key key, tsr_cell cell) {
  return packed_swap_seen(c, b, slot, packed_join(key, cell));
}

TSR_DEVICE bool TSR_PART(exchange)(const tsr_ctx *c, uint64_t ref, uint32_t slot, tsr_key *key, tsr_cell *cell) {
  uint32_t owner = tsr_slot_lane(c, slot);
  packed_pair found = 0;
  if (c->lane == owner) found = packed_exchange_word(packed_address(c, ref, slot), packed_join(*key, *cell));
  *key = tsr_shuffle_key(c, packed_key(found), owner);
  *cell = tsr_shuffle_cell(c, packed_cell(found), owner);
  return true;
}

TSR_DEVICE bool TSR_PART(update)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot, uint32_t policy, tsr_cell cell) {
  uint32_t owner = tsr_slot_lane(c, slot), done = 0;
  if (c->lane == owner) {
    packed_pair *address = packed_address(c, b->ref, slot), seen = packed_seen_slot(c, b, slot);
    tsr_key key = packed_key(seen);
    /* bounded: each failure is another thread's success on this slot */
    while (!done && packed_key(seen) == key) {
      packed_pair desired = packed_join(key, tsr_combine(policy, packed_cell(seen), cell));
      packed_pair found = packed_cas_word(address, seen, desired);
      done = found == seen;
      seen = found;
    }
  }
  return tsr_shuffle32(c, done, owner) != 0;
}

TSR_DEVICE bool TSR_PART(erase)(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot) {
  return packed_swap_seen(c, b, slot, packed_join(TSR_ERASED_KEY, (tsr_cell) ~(tsr_cell)0));
}

TSR_PART_FUNCTIONS(.load = TSR_PART(load), .match = TSR_PART(match), .empties = TSR_PART(empties),
                   .vacant = TSR_PART(vacant), .key = TSR_PART(key), .cell = TSR_PART(cell), .cas = TSR_PART(cas),
                   .exchange = TSR_PART(exchange), .update = TSR_PART(update), .erase = TSR_PART(erase));

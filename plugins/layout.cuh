/* SPDX-License-Identifier: Apache-2.0
 *
 * The layout role: how a bucket stores its pairs in memory, and which lanes hold which slots. Widths: key and payload.
 * Only the layout knows tiles and vector loads. bucket_slots and tile_lanes are independent: a lane may hold several
 * slots, loaded 16 bytes at a time. A slot is a bit of a mask and a number below bucket_slots. How slots map to lanes and
 * addresses is private to the layout, and constant for a table.
 *
 *   load(c, ref, active, mode, b)      reads the bucket `ref` (an index; tail buckets follow the last) into registers.
 *                                      mode: TSR_LOAD_ bits. Lanes of a masked tile call it with active = 0 and use
 *                                      nothing of b. With TSR_LOAD_SETTLED only functions that read follow.
 *
 * The other functions work on a bucket loaded with active = 1. All are warp-synchronous (device.cuh, c->active): masked
 * tiles call them as well, with a slot that exists, and ignore the result. A function that changes memory does so on the
 * lane that owns the slot, tsr_owns(c, slot), and a masked tile owns none.
 *
 *   match(c, b, key)                   slots that hold key
 *   empties(c, b)                      slots never used since clear
 *   vacant(c, b)                       slots that hold no pair: empty or erased
 *   key, payload(c, b, slot)           what the slot held when it was loaded; payload may read memory again
 *   cas(c, b, slot, key, payload)      puts a pair into the slot if it still holds what b saw; otherwise false. In an
 *                                      empty or erased slot a layout that stores key and value apart claims the key
 *                                      first and then combines the value by the policy (fact duplicates). With
 *                                      whole_pairs the slot may hold a pair, and TSR_ERASED_KEY with a payload of all
 *                                      ones makes it erased.
 *   exchange(c, ref, slot, &key, &payload)  swaps a whole pair without having loaded the bucket. Optional: fact
 *                                      can_exchange.
 *   put(c, ref, slot, key, payload)    writes a pair into an empty slot that no other thread reads meanwhile. Not
 *                                      collective: the calling lane writes. Optional: ordered batches use it in place of
 *                                      the compare-and-swap.
 *   update(c, b, slot, policy, payload)  combines a value into the slot that held the key; false, and nothing is done, if
 *                                      the slot has another key now. policy: the table's; with whole_pairs any other as
 *                                      well. A value that another update of this key has replaced since counts as put
 *                                      before it. A sum that overflows is reported by tsr_combine_at or tsr_tell_overflow.
 *   erase(c, b, slot)                  pair -> erased; false if the slot has changed since the load.
 *   link(c, b)                         the handle of the unit that continues the bucket, as loaded, or TSR_NO_HANDLE.
 *   relink(c, ref, expected, desired)  compare-and-swap of that handle; returns what it found. Both with the fact
 *                                      has_link, and then `ref` may be TSR_UNIT_REF and a handle: a bucket at the
 *                                      address of that unit, which is all ones when it is linked.
 *   flag(c, b)                         1 if the bucket's overflow flag is raised: a pair whose walk passed the bucket is
 *                                      further on. 0, and only 0, ends the search for a key. Fact has_flag.
 *   raise(c, ref)                      raises the flag. One lane calls it, like put, but while other threads read and write:
 *                                      their writes to slots must leave it raised. It stays raised until clear. A tail
 *                                      bucket may have no flag: then `raise` does nothing, and `flag` is 1 if no slot is
 *                                      empty.
 *
 * With the fact fingerprint_bits a slot holds tsr_fingerprint(c, key) (hasher.cuh) in place of the key. Then `match` is
 * the slots that hold the fingerprint of the key, and `key` returns tsr_key_of_fingerprint of what the slot holds.
 *
 * Laws: an occupied slot never becomes empty before clear: erase leaves a tombstone, so a find of an absent key may stop at
 * an empty slot. What load returns for one slot existed in memory at one moment: a pair is never torn, or payload is read
 * separately and the fact whole_pairs is 0.
 */
#ifndef TSR_LAYOUT_CUH
#define TSR_LAYOUT_CUH

#include "plugins/device.cuh"

/* A lane's registers of one bucket. Only the layout looks inside; word[] must be indexed by constants after unrolling.
 */
typedef struct tsr_bucket {
  uint64_t ref;
  uint32_t word[TSR_BUCKET_WORDS];
} tsr_bucket;

#define TSR_LAYOUT_FUNCTIONS(F, O)                                                                                     \
  F(layout, void, load, (const tsr_ctx *c, uint64_t ref, uint32_t active, uint32_t mode, tsr_bucket *b),               \
    (c, ref, active, mode, b))                                                                                         \
  F(layout, uint32_t, match, (const tsr_ctx *c, const tsr_bucket *b, tsr_key key), (c, b, key))                        \
  F(layout, uint32_t, empties, (const tsr_ctx *c, const tsr_bucket *b), (c, b))                                        \
  F(layout, uint32_t, vacant, (const tsr_ctx *c, const tsr_bucket *b), (c, b))                                         \
  F(layout, tsr_key, key, (const tsr_ctx *c, const tsr_bucket *b, uint32_t slot), (c, b, slot))                        \
  F(layout, tsr_payload, payload, (const tsr_ctx *c, const tsr_bucket *b, uint32_t slot), (c, b, slot))                \
  F(layout, bool, cas, (const tsr_ctx *c, const tsr_bucket *b, uint32_t slot, tsr_key key, tsr_payload payload),       \
    (c, b, slot, key, payload))                                                                                        \
  O(layout, bool, exchange, (const tsr_ctx *c, uint64_t ref, uint32_t slot, tsr_key *key, tsr_payload *payload),       \
    (c, ref, slot, key, payload), false)                                                                               \
  O(layout, bool, put, (const tsr_ctx *c, uint64_t ref, uint32_t slot, tsr_key key, tsr_payload payload),              \
    (c, ref, slot, key, payload), false)                                                                               \
  F(layout, bool, update,                                                                                              \
    (const tsr_ctx *c, const tsr_bucket *b, uint32_t slot, uint32_t policy, tsr_payload payload),                      \
    (c, b, slot, policy, payload))                                                                                     \
  F(layout, bool, erase, (const tsr_ctx *c, const tsr_bucket *b, uint32_t slot), (c, b, slot))                         \
  O(layout, uint32_t, link, (const tsr_ctx *c, const tsr_bucket *b), (c, b), TSR_NO_HANDLE)                            \
  O(layout, uint32_t, relink, (const tsr_ctx *c, uint64_t ref, uint32_t expected, uint32_t desired),                   \
    (c, ref, expected, desired), TSR_NO_HANDLE)                                                                        \
  O(layout, uint32_t, flag, (const tsr_ctx *c, const tsr_bucket *b), (c, b), 1)                                        \
  O(layout, bool, raise, (const tsr_ctx *c, uint64_t ref), (c, ref), false)

#ifdef TSR_PAYLOAD_BITS
#ifndef __CUDACC__
typedef struct tsr_layout_functions {
  TSR_LAYOUT_FUNCTIONS(TSR_SLOT_F, TSR_SLOT_O)
} tsr_layout_functions;
#endif
TSR_LAYOUT_FUNCTIONS(TSR_ENTRY_F, TSR_ENTRY_O)
#endif

#if defined(TSR_KEY_BITS) && TSR_KEY_BITS == 128
/* The key in four words of a loaded bucket, the low one first. */
TSR_INLINE tsr_key tsr_key_of_words(const uint32_t *word) {
  const uint64_t low = (uint64_t)word[1] << 32 | word[0], high = (uint64_t)word[3] << 32 | word[2];
  return (tsr_key)high << 64 | low;
}
#endif

/* Services for layouts: the mapping of slots to lanes that they share. Slot s belongs to lane s % tile_lanes, as that
 * lane's slot number s / tile_lanes. In memory a lane's slots are in pieces of 16 bytes, or one piece of less: first
 * all lanes' first pieces, then their second ones, as tsr_load reads them. A bucket's places are its slots and what the
 * layout keeps behind them; with has_link the first of these is the link. slot_bytes: what load reads of one slot. */
enum { TSR_LANE_SLOTS_MAX = 32 };
TSR_INLINE uint32_t tsr_slots_per_lane(const tsr_ctx *c) {
  return TSR_FACT(c, bucket_places) / TSR_FACT(c, tile_lanes);
}
TSR_INLINE uint32_t tsr_slot_lane(const tsr_ctx *c, uint32_t slot) { return slot & (TSR_FACT(c, tile_lanes) - 1u); }
/* Whether this lane is to read or change the slot: the lane that holds it is, if its tile is active. */
TSR_INLINE bool tsr_owns(const tsr_ctx *c, uint32_t slot) { return c->lane == tsr_slot_lane(c, slot) && c->active; }
TSR_INLINE uint32_t tsr_slot_of_lane(const tsr_ctx *c, uint32_t slot) { return slot / TSR_FACT(c, tile_lanes); }
/* The lane that holds the slot evaluates `expression`, 32 bits, if its tile is active; all lanes of the tile get its value,
 * or 0. */
#define TSR_OWNER_DOES(c, slot, expression)                                                                            \
  tsr_shuffle32(c, tsr_owns(c, slot) ? (uint32_t)(expression) : 0u, tsr_slot_lane(c, slot))
/* Before a statement: for each slot number j of this lane; on the GPU a constant after unrolling. */
#ifdef __CUDACC__
#define TSR_EACH_SLOT_OF_LANE(c, j)                                                                                    \
  TSR_UNROLL                                                                                                           \
  for (uint32_t j = 0; j < TSR_LANE_SLOTS_MAX; j++)                                                                    \
    if (j < tsr_slots_per_lane(c))
#else
#define TSR_EACH_SLOT_OF_LANE(c, j) for (uint32_t j = 0, j##_end = tsr_slots_per_lane(c); j < j##_end; j++)
#endif
/* Sets the bits in `mask` of the slots that satisfy `predicate`, an expression in this lane's slot number j. */
#define TSR_SLOTS_WHERE(c, mask, j, predicate)                                                                         \
  TSR_EACH_SLOT_OF_LANE(c, j) mask |= tsr_ballot(c, predicate) << (j * TSR_FACT(c, tile_lanes))
/* Sets `value` to `seen`, an expression in j, of a slot known at run time, on the lane that holds it. A GPU's registers
 * cannot be indexed, hence the loop; with `at` computed inside it nvcc would put the bucket on a stack after all. */
#ifdef __CUDACC__
#define TSR_SLOT_SEEN(c, value, slot, j, seen)                                                                         \
  do {                                                                                                                 \
    const uint32_t at = tsr_slot_of_lane(c, slot);                                                                     \
    TSR_EACH_SLOT_OF_LANE(c, j) value = j == 0 || j == at ? seen : value;                                              \
  } while (0)
#else
#define TSR_SLOT_SEEN(c, value, slot, j, seen)                                                                         \
  do {                                                                                                                 \
    const uint32_t j = tsr_slot_of_lane(c, slot);                                                                      \
    value = seen;                                                                                                      \
  } while (0)
#endif
/* All slots: a link's place is none. */
TSR_INLINE uint32_t tsr_slot_mask(const tsr_ctx *c) {
  return TSR_FACT(c, bucket_slots) == 32 ? 0xFFFFFFFFu : (1u << TSR_FACT(c, bucket_slots)) - 1u;
}
/* The slot's place in its bucket, and its index in a column of all buckets. */
TSR_INLINE uint32_t tsr_slot_place(const tsr_ctx *c, uint32_t slot, uint32_t slot_bytes) {
  uint32_t piece_slots = tsr_slots_per_lane(c) < 16u / slot_bytes ? tsr_slots_per_lane(c) : 16u / slot_bytes;
  uint32_t at = tsr_slot_of_lane(c, slot), piece = at / piece_slots;
  return (piece * TSR_FACT(c, tile_lanes) + tsr_slot_lane(c, slot)) * piece_slots + at % piece_slots;
}
TSR_INLINE uint64_t tsr_slot_index(const tsr_ctx *c, uint64_t ref, uint32_t slot, uint32_t slot_bytes) {
  return ref * TSR_FACT(c, bucket_places) + tsr_slot_place(c, slot, slot_bytes);
}

#endif

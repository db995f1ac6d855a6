/* SPDX-License-Identifier: Apache-2.0
 *
 * The probing role: in which buckets a key may live. Widths: key and payload. No lane, no ballot, no CUDA word in here: a
 * scheme speaks of buckets, the layout of lanes, and the walk (core/kernels/walk.cuh) does find, insert, erase, every
 * duplicate policy and the uniqueness guard once for all schemes.
 *
 *   next(c, key, probe)     Required. Writes probe->ref, the next bucket where the key may live, or returns false when
 *                           there is none. probe->visited counts the buckets already returned, 0 at first; probe->word is
 *                           the scheme's own memory, 0 at first. Must end, and must not depend on anything but key and
 *                           state.
 *   place(c, &key, &payload, probe)  Optional: where a new pair goes when that is not the first free slot of the walk (evict,
 *                           least loaded). One step of it: the core calls it until it says TSR_PLACED (all is placed) or
 *                           TSR_UNPLACED (the unplaced pair, which may be another one, is in *key, *payload). Between steps
 *                           probe is the scheme's own; at first it is the begin of the key's walk, probe->ref its first
 *                           bucket. Pairs move only through tsr_evict, and the number of steps is bounded. In step: a
 *                           tile without work (c->idle) takes part, nothing of it changes, and what it returns is
 *                           ignored; so a look is under a condition only if tsr_warp_any says so for the whole warp.
 *
 * Facts that plan() writes: buckets, ends_at_empty, moves_pairs, holds_many, first_slots. Laws behind them:
 * ends_at_empty: a pair is put into a later bucket of its walk only while its earlier buckets have no empty slot.
 * first_slots: the same of the first bucket and so many of its slots, and claims take the lowest vacant slot of a bucket.
 * holds_many: the walk of every key passes all buckets, or grows, unless a parameter bounds it, and none twice, so that
 * one key may have any number of pairs: what a multiset and a multimap need.
 */
#ifndef TSR_PROBING_CUH
#define TSR_PROBING_CUH

#include "plugins/hasher.cuh"
#include "plugins/layout.cuh"

typedef struct tsr_probe {
  uint64_t ref;
  uint64_t word[2];
  uint32_t visited; /* kept by the walk, like stashed */
  uint32_t stashed;
} tsr_probe;

/* What a step of place() says. */
enum { TSR_PLACING, TSR_PLACED, TSR_UNPLACED };

#define TSR_PROBING_FUNCTIONS(F, O)                                                                                    \
  F(probing, bool, next, (const tsr_ctx *c, tsr_key key, tsr_probe *probe), (c, key, probe))                           \
  O(probing, uint32_t, place, (const tsr_ctx *c, tsr_key *key, tsr_payload *payload, tsr_probe *probe),                \
    (c, key, payload, probe), (uint32_t)TSR_UNPLACED)

#ifdef TSR_PAYLOAD_BITS
#ifndef __CUDACC__
typedef struct tsr_probing_functions {
  TSR_PROBING_FUNCTIONS(TSR_SLOT_F, TSR_SLOT_O)
} tsr_probing_functions;
#endif
TSR_PROBING_FUNCTIONS(TSR_ENTRY_F, TSR_ENTRY_O)

/* Service for place(). Swaps (*key, *payload) with the pair in a full slot of b: then the caller's pair is placed and
 * the former one is unplaced. Without a guard one exchange does it. With key locks the unplaced pair's lock is held
 * from before it leaves its slot until it is placed, so that nobody can miss it and insert it again: the caller holds
 * *key's lock, the victim's is only tried (waiting for it while holding one could deadlock), and the swap must find
 * what b saw. Returns false when the victim is busy or gone: load again, choose again, count the attempt. Without a
 * guard only b->ref is read, so that a bucket of one slot needs no look: then a *key from TSR_ERASED_KEY on says that
 * the slot was vacant. */
TSR_INLINE bool tsr_evict(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot, tsr_key *key, tsr_payload *payload) {
  if (TSR_FACT(c, guard) != TSR_GUARD_LOCK) {
    tsr_key found = *key;
    tsr_payload found_payload = *payload;
    bool swapped = layout_exchange(c, b->ref, slot, &found, &found_payload) && !c->idle;
    if (swapped) {
      *key = found;
      *payload = found_payload;
    }
    TSR_COUNT_WHERE(c, moves, swapped && found < TSR_ERASED_KEY);
    return swapped;
  }
  tsr_key victim = layout_key(c, b, slot);
  tsr_payload victim_payload = layout_payload(c, b, slot);
  uint32_t held = tsr_lock_of(c, *key), wanted = tsr_lock_of(c, victim);
  tsr_ctx work = tsr_work_ctx(c, !c->idle && wanted != held);
  bool locked = tsr_try_lock(&work, wanted) || wanted == held;
  if (!locked) tsr_pause();
  work = tsr_work_ctx(c, !c->idle && locked);
  bool swapped = layout_cas(&work, b, slot, *key, *payload) && !work.idle;
  work.idle |= wanted == held;
  tsr_unlock(&work, swapped ? held : wanted);
  if (swapped) {
    *key = victim;
    *payload = victim_payload;
  }
  TSR_COUNT_WHERE(c, moves, swapped);
  return swapped;
}

/* Service for place(): puts the pair into a slot that b shows vacant; false when it has changed since. */
TSR_INLINE bool tsr_claim(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot, tsr_key key, tsr_payload payload) {
  bool claimed = layout_cas(c, b, slot, key, payload) && !c->idle;
  TSR_COUNT_WHERE(c, lost_claims, !claimed && !c->idle);
  return claimed;
}

/* Service for place(): loads one bucket. retry: the last look was stale. */
TSR_INLINE void tsr_look_at(const tsr_ctx *c, uint64_t ref, uint32_t retry, tsr_bucket *b) {
  TSR_COUNT_WHERE(c, probes, !c->idle);
  layout_load(c, ref, !c->idle, tsr_load_mode(c, retry || TSR_FACT(c, tile_lanes) > 1), b);
}

/* Service for place(), called in a loop over a key's buckets (TSR_NO_UNROLL): looks at one and keeps it in *b if it has at
 * least *least vacant slots, and then asks the next for one more; 0 at first, so that of equal ones the first is kept. In
 * a loop, because ptxas (CUDA 13.0) lets two looks in a row share a uniform register over a YIELD, where other threads of
 * the warp overwrite it (core/design/0001). */
TSR_INLINE void tsr_look_less_loaded(const tsr_ctx *c, uint64_t ref, uint32_t retry, uint32_t *least, tsr_bucket *b) {
  tsr_bucket other;
  tsr_look_at(c, ref, retry, &other);
  uint32_t vacant = tsr_count_bits(layout_vacant(c, &other));
  if (*least > 0 && (c->idle || vacant < *least)) return;
  *b = other;
  *least = vacant + 1;
}

/* Services for schemes that keep notes (fact has_notes): a region with a byte for each bucket and 4 more, 0 at first,
 * which only grows. Lanes may read different notes while other tiles raise them: the tile goes where its first lane does.
 * Relaxed: who must see a note that was raised for a key takes that key's lock, or comes in a later phase. */
TSR_INLINE uint32_t tsr_note(const uint32_t *notes, uint64_t index) {
  return tsr_load32(notes + index / 4, 1) >> index % 4 * 8 & 0xFFu;
}

TSR_INLINE void tsr_raise_note(const tsr_ctx *c, uint32_t *notes, uint64_t index, uint32_t note) {
  uint32_t *word = notes + index / 4, shift = (uint32_t)(index % 4 * 8);
  uint32_t raises = c->lane == 0 && !c->idle, seen = raises ? tsr_load32(word, 1) : 0;
  raises &= (seen >> shift & 0xFFu) < note;
  TSR_NO_UNROLL
  while (tsr_warp_any(c, raises)) { /* bounded: notes only grow, by at most 255 each */
    uint32_t found = seen;
    if (raises) found = tsr_cas32(word, seen, (seen & ~(0xFFu << shift)) | note << shift);
    raises = (found != seen) & ((found >> shift & 0xFFu) < note);
    seen = found;
  }
}
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * New pairs of schemes that decide where a pair goes: the least loaded of several buckets (fact `choices`), or the
 * answer of probing_place, which may evict a pair that then has to be placed in turn. The scheme decides; the looks,
 * claims, evictions, locks and votes are here. Read first: ../../plugins/probing.cuh.
 */
#ifndef TSR_PLACE_CUH
#define TSR_PLACE_CUH

#include "core/kernels/step.cuh"

/* An eviction whose victim is busy or gone has done nothing, and is not among the full buckets that a scheme counts.
 * This many of them end a jam that cannot resolve itself. */
enum { PLACE_LOST_MAX = 65536 };

/* Whether a place is found without a look. That is so if nobody can race for the key and buckets have one slot:
 * exchanging then shows what was there, if that is all that the scheme asks (1CHT; Alcantara et al., "Building an
 * efficient hash table on the GPU", 2011). */
TSR_INLINE bool places_unseen(const tsr_ctx *c) {
  return TSR_FACT(c, bucket_slots) == 1 && TSR_FACT(c, guard) == TSR_GUARD_NONE && TSR_FACT(c, asks_for_room) &&
         !TSR_FACT(c, choices);
}

TSR_INLINE void place_begin(const tsr_ctx *c, tsr_key key, tsr_placing *p) {
  tsr_probe probe;
  tsr_placing start = {0, 0, 0, 0, 0, {0, 0}};
  *p = start;
  walk_begin(c, key, &probe);
  p->ref = probe.ref;
  p->page = probe.page;
}

/* ---- Looks ----------------------------------------------------------------------------------- */

/* Whether a look has to be coherent: after one that was too old. With the key's lock held every look is coherent: the
 * mode is then a constant, and the kernel needs 40 registers instead of 48 (cuckoo). */
TSR_INLINE uint32_t looks_again(const tsr_ctx *c, const tsr_placing *p) {
  return TSR_FACT(c, guard) == TSR_GUARD_LOCK || p->retry;
}

/* Looks at a bucket and keeps it in *b if it has at least *least vacant slots; from then on another one must have one
 * more. A loop must call this: ptxas (CUDA 13.0) lets two looks in a row share a uniform register over a YIELD, where
 * other threads of the warp overwrite it (core/design/0001). */
TSR_INLINE void look_less_loaded(const tsr_ctx *c, uint64_t ref, uint32_t retry, uint32_t *least, tsr_bucket *b) {
  tsr_bucket other;
  look_at(c, ref, retry, &other);
  uint32_t vacant = tsr_count_bits(layout_vacant(c, &other));
  if (*least > 0 && (!c->active || vacant < *least)) return;
  *b = other;
  *least = vacant + 1;
}

TSR_INLINE bool has_choice(const tsr_ctx *c, const tsr_placing *p) {
  return !TSR_FACT(c, moves_pairs) || p->passed == 0;
}

/* Loads the least loaded of the first `choices` buckets of the key's walk, the first one of equal ones. With
 * first_slots the walk's first bucket is taken while fewer of its slots than that are occupied. Then the choice is
 * among the buckets after it, and if these are full it is the first one after all (BGHT 3.2, 4.3). With `ordered` the
 * first of that many buckets with room is taken, and the choice is among those after them. A pair that was evicted has
 * no choice: its tile looks at the one bucket that the scheme asks for. */
TSR_INLINE void look_at_choices(const tsr_ctx *c, tsr_key key, const tsr_placing *p, tsr_bucket *b) {
  const uint32_t ordered = TSR_FACT(c, ordered), front = ordered ? ordered : TSR_FACT(c, first_slots) ? 1 : 0;
  const uint32_t buckets = front + TSR_FACT(c, choices),
                 enough = ordered ? TSR_FACT(c, bucket_slots) : TSR_FACT(c, first_slots);
  const tsr_probe start = {p->ref, {0, 0}, 0, 0, p->page};
  uint32_t least = 0, looks = c->active;
  tsr_probe probe = start;
  TSR_NO_UNROLL
  for (uint32_t i = 0; i < buckets && (i == 0 || !front || tsr_warp_any(c, looks)); i++) {
    if (!ordered) probe = start; /* in order a walk goes on with what the scheme keeps */
    probe.visited = i;
    if (has_choice(c, p)) walk_scheme(c, key, &probe);
    tsr_ctx looking = tsr_masked(c, looks);
    look_less_loaded(&looking, probe.ref, looks_again(c, p), &least, b);
    if (i >= front) continue;
    looks = looks && least <= TSR_FACT(c, bucket_slots) - enough + 1;
    if (!ordered) least = 1;
  }
}

TSR_INLINE void place_look(const tsr_ctx *c, tsr_key key, const tsr_placing *p, tsr_bucket *b) {
  if (TSR_FACT(c, choices) && (!TSR_FACT(c, moves_pairs) || tsr_warp_any(c, has_choice(c, p))))
    look_at_choices(c, key, p, b);
  else
    look_at(c, p->ref, looks_again(c, p), b);
}

/* ---- Writes ---------------------------------------------------------------------------------- */

/* Puts the pair into a slot that b shows vacant; false if it has changed since. */
TSR_INLINE uint32_t claim(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot, tsr_key key, tsr_payload payload) {
  uint32_t claimed = layout_cas(c, b, slot, key, payload) && c->active;
  TSR_COUNT_WHERE(c, lost_claims, !claimed && c->active);
  return claimed;
}

/* Swaps (*key, *payload) with the pair in a full slot, which is then in hand. Without a guard one exchange does it.
 * With key locks, the lock of the pair in hand is held from before it leaves its slot until it is placed, so that
 * nobody can miss it and insert it again. The caller holds *key's lock. The victim's is only tried, because waiting for
 * it while holding one could deadlock. The swap must find what b saw. Returns false if the victim is busy or gone.
 * Without a guard only b->ref is read, so a bucket of one slot needs no look; then a *key from TSR_ERASED_KEY on means
 * that the slot was vacant. */
TSR_INLINE uint32_t evict(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot, tsr_key *key, tsr_payload *payload) {
  if (TSR_FACT(c, guard) != TSR_GUARD_LOCK) {
    tsr_key found = *key;
    tsr_payload found_payload = *payload;
    bool swapped = layout_exchange(c, b->ref, slot, &found, &found_payload) && c->active;
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
  tsr_ctx trying = tsr_masked(c, c->active && wanted != held);
  bool locked = tsr_try_lock(&trying, wanted) || wanted == held;
  if (!locked) tsr_pause();
  tsr_ctx swapping = tsr_masked(c, c->active && locked);
  bool swapped = layout_cas(&swapping, b, slot, *key, *payload) && swapping.active;
  tsr_ctx unlocking = tsr_masked(c, swapping.active && wanted != held);
  tsr_unlock(&unlocking, swapped ? held : wanted);
  if (swapped) {
    *key = victim;
    *payload = victim_payload;
  }
  TSR_COUNT_WHERE(c, moves, swapped);
  return swapped;
}

/* Raises the note that the scheme keeps for a bucket (fact has_notes: a byte for each bucket in its first region, which
 * only grows). Relaxed is enough: an operation that must see the note of its key holds the key's lock, or comes in a
 * later phase. */
TSR_INLINE void raise_note(const tsr_ctx *c, uint64_t bucket, uint32_t note) {
  uint32_t *word = tsr_notes(c) + bucket / 4, shift = (uint32_t)(bucket % 4 * 8);
  uint32_t raises = c->lane == 0 && c->active, seen = raises ? tsr_load32(word, 1) : 0;
  raises &= (seen >> shift & 0xFFu) < note;
  TSR_NO_UNROLL
  while (tsr_warp_any(c, raises)) { /* bounded: notes only grow, by at most 255 each */
    uint32_t found = seen;
    if (raises) found = tsr_cas32(word, seen, (seen & ~(0xFFu << shift)) | note << shift);
    raises = (found != seen) & ((found >> shift & 0xFFu) < note);
    seen = found;
  }
}

/* ---- A step ---------------------------------------------------------------------------------- */

/* What the scheme decides at a bucket. A bucket that was not looked at is presented to it as full (places_unseen). */
TSR_INLINE tsr_choice place_decide(const tsr_ctx *c, tsr_key key, const tsr_sight *seen, tsr_placing *p) {
  tsr_choice choice = TSR_FACT(c, asks_scheme) ? probing_place(c, key, seen, p) : tsr_claim_or_nowhere(seen);
  if (TSR_FACT(c, moves_pairs) && !seen->has_room && p->lost >= PLACE_LOST_MAX) choice = tsr_nowhere();
  if (!TSR_FACT(c, moves_pairs)) choice.evicts = 0; /* only schemes that say so move pairs */
  return choice;
}

/* The note of a key's first bucket rises before its pair is put into another one. */
TSR_INLINE void place_note(const tsr_ctx *c, tsr_key key, uint32_t note) {
  tsr_probe probe;
  walk_begin(c, key, &probe);
  raise_note(c, probe.ref, note);
}

/* One step of placing a pair: looks at the bucket that the scheme asked for, and does what it decides. Returns
 * TSR_RESULT_NONE while the pair in hand, *key and *payload, has no place yet, TSR_RESULT_INSERTED, or
 * TSR_RESULT_NOT_PLACED if the scheme knows no place for it. Bounded by the scheme. */
TSR_INLINE uint32_t place_step(const tsr_ctx *c, tsr_key *key, tsr_payload *payload, tsr_placing *p) {
  const bool unseen = places_unseen(c);
  uint32_t vacant = 0, result = TSR_RESULT_NONE;
  tsr_bucket b;
  b.ref = p->ref;
  if (unseen)
    TSR_COUNT_WHERE(c, probes, c->active);
  else
    place_look(c, *key, p, &b);
  if (!unseen) vacant = layout_vacant(c, &b);
  const uint64_t begin = tsr_page_begin(c, p->page); /* the scheme counts buckets from there on */
  tsr_sight seen = {&b, b.ref - begin, vacant != 0};
  tsr_choice choice = place_decide(c, *key, &seen, p);
  if (unseen && !choice.evicts) { /* before a pair is evicted in vain */
    look_at(c, p->ref, looks_again(c, p), &b);
    vacant = layout_vacant(c, &b);
    choice.claims = vacant != 0;
  }
  const uint32_t claims = c->active && choice.claims, evicts = c->active && choice.evicts;
  uint32_t leaves = c->active && choice.passes;
  if (!(choice.claims | choice.evicts | choice.passes)) result = TSR_RESULT_NOT_PLACED;
  if (TSR_FACT(c, has_notes)) {
    tsr_ctx raising = tsr_masked(c, (claims || evicts) && choice.note > 0);
    place_note(&raising, *key, choice.note);
  }
  if (TSR_FACT(c, ends_at_flag)) {
    tsr_ctx raising = tsr_masked(c, claims || evicts);
    walk_raise_before(&raising, *key, b.ref);
  }
  if (tsr_warp_any(c, claims)) {
    tsr_ctx claiming = tsr_masked(c, claims);
    if (claim(&claiming, &b, vacant ? tsr_lowest(vacant) : 0, *key, *payload)) result = TSR_RESULT_INSERTED;
    if (claims) p->retry = 1; /* a lost claim has filled a slot, so looking again is bounded */
  }
  if (!TSR_FACT(c, asks_scheme)) return result;
  if (TSR_FACT(c, moves_pairs) && tsr_warp_any(c, evicts)) {
    tsr_ctx evicting = tsr_masked(c, evicts);
    uint32_t evicted = evict(&evicting, &b, evicts ? choice.slot : 0, key, payload);
    if (unseen && evicted && *key >= TSR_ERASED_KEY) result = TSR_RESULT_INSERTED; /* the slot was vacant */
    if (evicts && !evicted) {
      p->lost++;
      p->retry = 1;
    }
    leaves |= evicted;
  }
  if (leaves) {
    p->passed++;
    p->ref = begin + probing_after(c, *key, b.ref - begin, p);
    p->retry = 0;
  }
  return result;
}

/* Places a new pair. What the scheme cannot place goes to the first vacant slot of its walk, which ends in the stash.
 * Returns a TSR_RESULT_; *key and *payload are the pair in hand at the end. */
TSR_INLINE uint32_t place(const tsr_ctx *c, tsr_key *key, tsr_payload *payload) {
  tsr_placing placing;
  uint32_t result = TSR_RESULT_NOT_PLACED, walks = c->active;
  place_begin(c, *key, &placing);
  TSR_NO_UNROLL
  while (tsr_warp_any(c, walks)) { /* bounded by the scheme */
    tsr_ctx walking = tsr_masked(c, walks);
    uint32_t placed = place_step(&walking, key, payload, &placing);
    result = walks ? placed : result;
    walks = walks && placed == TSR_RESULT_NONE;
  }
  uint32_t claims = c->active && result == TSR_RESULT_NOT_PLACED;
  if ((TSR_FACT(c, has_stash) || TSR_FACT(c, has_link)) && tsr_warp_any(c, claims)) {
    tsr_op op;
    op.key = *key;
    op.payload = *payload;
    op.policy = TSR_FACT(c, duplicates);
    op.walking = walk_begin(c, op.key, &op.probe) && claims;
    TSR_NO_UNROLL
    while (tsr_warp_any(c, op.walking)) { /* bounded: a lost claim has filled a slot */
      uint32_t walks_now = op.walking;
      step(c, &op, OP_CLAIM, 1);
      result = walks_now && !op.walking ? op.result : result;
    }
  }
  return result;
}

#endif

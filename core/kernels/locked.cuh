/* SPDX-License-Identifier: Apache-2.0
 *
 * The insert that holds its key's lock: what remains when a claim cannot be its own guard (core/design/0004). It does
 * not go through step.cuh. With the lock held there are two looks, the second at the bucket that the first has chosen:
 * keeping what the first one saw would cost the whole kernel registers (measured, core/design/0008).
 */
#ifndef TSR_LOCKED_CUH
#define TSR_LOCKED_CUH

#include "core/kernels/place.cuh"

/* Whether an insert may need a lock, and whether it begins with steps. Macros, so that the compiler drops what a table
 * does not need before it inlines and optimises (see TSR_FACT). */
#ifdef TSR_TEST_WITHOUT_GUARD /* looks, then writes, whatever has happened since: for the test that shows what guards do */
#define HAS_GUARD(c) 1
#define BEGINS_WITH_STEPS(c) 0
#else
#define HAS_GUARD(c) (TSR_FACT(c, guard) != TSR_GUARD_NONE)
#define BEGINS_WITH_STEPS(c) (!TSR_FACT(c, places_first))
#endif

/* Whether an insert that meets a held lock goes back to the steps instead of waiting. Where all new keys need locks,
 * the thousands of threads that bring a hot key would take turns at its lock, although all but the first only have to
 * look. The loop around both takes registers: batches of all kinds of operations would have a quarter fewer, and a lane
 * that holds 256 bytes of a bucket has none left. */
#define LOOKS_AGAIN(c)                                                                                                 \
  (TSR_FACT(c, guard) == TSR_GUARD_LOCK && BEGINS_WITH_STEPS(c) && !TSR_FACT(c, is_mixed) &&                           \
   tsr_slots_per_lane(c) * (TSR_KEY_BITS + TSR_PAYLOAD_BITS) <= 1024)

/* Whether such an insert needs no lock after all. Where a claim is its own guard, it is so past erased slots as well,
 * once the whole walk was seen (core/design/0004-uniqueness.md). Appending to a list still needs one. */
#define HOLDS_NO_LOCK(c) (TSR_FACT(c, guard) == TSR_GUARD_CLAIM && !TSR_FACT(c, has_link))

/* What a walk with the key's lock has found. */
typedef struct locked_survey {
  uint64_t target;     /* the bucket that holds the key, otherwise the first with a vacant slot */
  uint64_t end;        /* the last bucket that is not the stash's */
  uint32_t has_target; /* there is one of the two */
  uint32_t is_present; /* it is the first */
} locked_survey;

/* Whether the survey can end: the key is in no later bucket, and if the walk gives the pair its place, there is one. */
TSR_INLINE uint32_t survey_ends(const tsr_ctx *c, const tsr_probe *probe, const tsr_bucket *b, uint32_t has_target) {
  if (!walk_has_end(c)) return 0;
  if (TSR_FACT(c, ends_at_flag)) return !layout_flag(c, b) && (TSR_FACT(c, has_place) || has_target);
  return walk_ends(c, probe, layout_empties(c, b));
}

TSR_INLINE locked_survey survey(const tsr_ctx *c, tsr_key key) {
  locked_survey found = {0, 0, 0, 0};
  tsr_probe probe;
  uint32_t walks = walk_begin(c, key, &probe) && c->active;
  TSR_NO_UNROLL
  while (tsr_warp_any(c, walks)) {
    tsr_bucket b;
    tsr_ctx walking = tsr_masked(c, walks);
    look_at(&walking, probe.ref, 1, &b);
    uint32_t matches = layout_match(c, &b, walk_stored_key(key)), vacant = layout_vacant(c, &b);
    uint32_t ends = survey_ends(c, &probe, &b, found.has_target || vacant), link = walk_link(c, &b);
    uint32_t goes = walks && !matches, takes = walks && (matches || (vacant && !found.has_target));
    found.end = goes && probe.stashed == 0 ? probe.ref : found.end;
    found.target = takes ? probe.ref : found.target;
    if (TSR_FACT(c, ends_at_flag) && !TSR_FACT(c, has_place) && goes && !found.has_target && !vacant)
      walk_raise(c, probe.ref);
    uint32_t there = walk_advance(c, key, &probe, link, goes && !ends);
    found.is_present |= walks && matches;
    found.has_target |= takes;
    walks = goes ? there : 0;
  }
  return found;
}

/* Combines or claims in the surveyed bucket, by a look of its own. The key may be there now although the survey has
 * not seen it. An insert may have claimed a slot without the lock, if the bucket's erased slots were taken in
 * between. Returns what happened, or TSR_RESULT_NONE if the bucket has changed. */
TSR_INLINE uint32_t write_in(const tsr_ctx *c, const locked_survey *s, uint32_t policy, tsr_key key,
                             tsr_payload *payload) {
  tsr_bucket b = {
      0, {0}}; /* if undefined, it would be kept from look to look where a tile is masked, in registers of its own */
  look_at(c, s->target, 1, &b);
  uint32_t matches = layout_match(c, &b, walk_stored_key(key)), vacant = layout_vacant(c, &b), written = 0;
#ifdef TSR_TEST_WITHOUT_GUARD
  if (!s->is_present) matches = 0;
#endif
  uint32_t combines = c->active && matches, claims = c->active && !matches && !s->is_present && vacant;
  if (tsr_warp_any(c, combines)) {
    tsr_ctx writing = tsr_masked(c, combines);
    written = combine(&writing, &b, combines ? tsr_lowest(matches) : 0, policy, payload) && combines;
  }
  if (tsr_warp_any(c, claims)) {
    tsr_ctx writing = tsr_masked(c, claims);
    const uint32_t slot = claims ? tsr_lowest(first_to_claim(c, key, vacant)) : 0;
    uint32_t claimed = claim(&writing, &b, slot, walk_stored_key(key), *payload);
    TSR_COUNT_WHERE(c, stashed, claimed && walk_is_stash(c, s->target));
    written |= claimed;
  }
  return !written ? TSR_RESULT_NONE : combines ? result_for_present(policy) : TSR_RESULT_INSERTED;
}

/* With the key's lock held nobody else inserts, moves or combines it. Bounded: a bucket is looked at again only after
 * another thread's success on its slot. */
TSR_INLINE uint32_t insert_held(const tsr_ctx *c, tsr_key *key, tsr_payload *payload, uint32_t policy) {
  uint32_t result = TSR_RESULT_NONE, todo = c->active;
  TSR_NO_UNROLL
  while (tsr_warp_any(c, todo)) {
    tsr_ctx working = tsr_masked(c, todo);
    const locked_survey found = survey(&working, *key);
    uint32_t is_new = todo && !found.is_present && !walk_is_reserved(*key), again = 0;
    if (TSR_FACT(c, has_place) && tsr_warp_any(c, is_new)) {
      tsr_ctx placing = tsr_masked(c, is_new);
      uint32_t placed = place(&placing, key, payload);
      result = is_new ? placed : result;
      todo = is_new ? 0 : todo;
    }
    /* A list grows before the stash is used, because an insert without a lock looks into the stash only after a list
     * that is closed. */
    uint32_t grows = is_new && (!found.has_target || walk_is_stash(c, found.target));
    if (TSR_FACT(c, has_link) && tsr_warp_any(c, grows)) {
      tsr_ctx growing = tsr_masked(c, grows);
      again = walk_is_unit(link_append(&growing, *key, found.end)) && grows;
    }
    uint32_t writes = todo && !again && found.has_target, is_full = todo && !again && !found.has_target;
    result = is_full ? TSR_RESULT_NOT_PLACED : result;
    todo = is_full ? 0 : todo;
    if (tsr_warp_any(c, writes)) {
      tsr_ctx writing = tsr_masked(c, writes);
      uint32_t written = write_in(&writing, &found, policy, *key, payload);
      result = writes && written ? written : result;
      todo = writes && written ? 0 : todo;
    }
  }
  return result;
}

/* All of an insert that needs its key's lock. Returns a TSR_RESULT_, or NEEDS_COHERENT (LOOKS_AGAIN). With
 * TSR_RESULT_NOT_PLACED *key and *payload are the unplaced pair. With TSR_RESULT_FOUND (POLICY_FIND_OR_INSERT) *payload
 * is that of the present pair. Waiting for a lock is the one unbounded loop: its holder is always running. The critical
 * section is part of the loop's body, so that a tile never waits for tiles of its own warp to finish waiting. */
TSR_INLINE uint32_t insert_locked(const tsr_ctx *c, tsr_key *key, tsr_payload *payload, uint32_t policy) {
#ifdef TSR_TEST_WITHOUT_GUARD
  return insert_held(c, key, payload, policy);
#else
  uint32_t lock = tsr_lock_of(c, *key), result = NEEDS_COHERENT, waits = c->active;
  TSR_NO_UNROLL
  while (tsr_warp_any(c, waits)) {
    tsr_ctx trying = tsr_masked(c, waits && !HOLDS_NO_LOCK(c)); /* succeeds for a masked tile */
    uint32_t holds = tsr_try_lock(&trying, lock) && waits;
    if (tsr_warp_any(c, holds)) {
      tsr_ctx holding = tsr_masked(c, holds);
      uint32_t held = insert_held(&holding, key, payload, policy);
      if (!HOLDS_NO_LOCK(c)) tsr_unlock(&holding, tsr_lock_of(c, *key)); /* of the pair that was in hand last */
      result = holds ? held : result;
      waits = holds ? 0 : waits;
    }
    if (waits) tsr_pause();
    if (LOOKS_AGAIN(c)) break;
  }
  return result;
#endif
}

#endif

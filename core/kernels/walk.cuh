/* SPDX-License-Identifier: Apache-2.0
 *
 * The walk: find, insert and erase of one key by one tile, written once over the contract of the parts. Every duplicate
 * policy, the uniqueness guard and the tail buckets live here and nowhere else. All functions are collective over the
 * tile and get the same key on all its lanes; those named _step are called in step (device.cuh), by tiles without work,
 * too. Read next: bulk.cuh, which feeds it keys.
 *
 * Reserved keys: the two keys whose bits mark empty and erased slots are stored under the substitute key 0 in the first
 * tail buckets, one bucket each: in a multimap such a key has at most a bucket of pairs. No part ever sees them.
 * Lists: where buckets link, the walk of a key goes from each bucket through the units that continue it, and an insert that
 * finds no room appends one to the walk's last list. Reserved keys and the stash have no lists.
 * The stash: with `stash` the walk of every key goes on through further tail buckets after the scheme's own. A pair is
 * put there only when no bucket of its own has an empty slot, so most finds never look there.
 */
#ifndef TSR_WALK_CUH
#define TSR_WALK_CUH

#include "core/kernels/facts.cuh"
#include "plugins/allocator.cuh"
#include "plugins/probing.cuh"

TSR_INLINE bool walk_is_reserved(tsr_key key) { return key >= TSR_ERASED_KEY; }
TSR_INLINE tsr_key walk_stored_key(tsr_key key) { return walk_is_reserved(key) ? 0 : key; }

/* The bucket that a reserved key has to itself. */
TSR_INLINE uint64_t walk_reserved_bucket(const tsr_ctx *c, tsr_key key) {
  return c->t->buckets + (tsr_key)(key - TSR_ERASED_KEY);
}

/* The user's key of a pair found in bucket ref. */
TSR_INLINE tsr_key walk_user_key(const tsr_ctx *c, uint64_t ref, tsr_key stored) {
  uint64_t tail = ref - c->t->buckets; /* huge for buckets before the tail */
  return tail < TSR_TAIL_RESERVED ? (tsr_key)(TSR_ERASED_KEY + (tsr_key)tail) : stored;
}

/* What a link says if it names no unit, beside TSR_NO_HANDLE: a tile is about to append one; there was none left, which
 * stays so until the list is flushed or the table cleared. */
#define WALK_LINK_PENDING (TSR_NO_HANDLE - 1u)
#define WALK_LINK_CLOSED (TSR_NO_HANDLE - 2u)
TSR_INLINE bool walk_is_unit(uint32_t link) { return link < WALK_LINK_CLOSED; }

/* Makes bucket ref, the end of a list, go on in a unit, unless another tile has done so; returns the link. One tile
 * allocates, so that no unit is taken in vain. Waiting for it is as waiting for a lock: tiles of one warp never wait for
 * each other, for what they have to do is part of the loop's body. */
TSR_INLINE uint32_t walk_append(const tsr_ctx *c, tsr_key key, uint64_t ref) {
  uint32_t link = WALK_LINK_CLOSED, waits = !c->idle;
  TSR_NO_UNROLL
  while (tsr_warp_any(c, waits)) {
    tsr_ctx work = tsr_work_ctx(c, waits);
    /* relaxed: a unit is empty from the start, so nothing has to be seen with its handle */
    uint32_t found = layout_relink(&work, ref, TSR_NO_HANDLE, WALK_LINK_PENDING);
    uint32_t allocates = waits && found == TSR_NO_HANDLE;
    link = waits ? found : link;
    if (tsr_warp_any(c, allocates)) {
      work = tsr_work_ctx(c, allocates);
      uint32_t unit = allocator_allocate(&work, (uint32_t)(((uint64_t)key + 1u) * 0x9E3779B97F4A7C15u >> 32), 1);
      unit = unit == TSR_NO_HANDLE ? WALK_LINK_CLOSED : unit;
      layout_relink(&work, ref, WALK_LINK_PENDING, unit);
      link = allocates ? unit : link;
    }
    waits = waits && link == WALK_LINK_PENDING;
    if (waits) tsr_pause();
  }
  return link;
}

/* The next bucket of the walk that is no unit. */
TSR_INLINE bool walk_next(const tsr_ctx *c, tsr_key key, tsr_probe *probe) {
  if (walk_is_reserved(key)) {
    probe->ref = walk_reserved_bucket(c, key);
    return probe->visited == 0;
  }
  if (!TSR_FACT(c, has_stash)) return probing_next(c, key, probe);
  if (probe->stashed == 0 && probing_next(c, key, probe)) return true;
  /* ref stays one that exists: what a tile keeps in step without work may read there */
  if (probe->stashed == c->t->stash_buckets) return false;
  probe->ref = c->t->buckets + TSR_TAIL_RESERVED + probe->stashed++;
  return true;
}

TSR_INLINE bool walk_begin(const tsr_ctx *c, tsr_key key, tsr_probe *probe) {
  tsr_probe start = {0, {0, 0}, 0, 0};
  *probe = start;
  return walk_next(c, key, probe);
}

/* The bucket after one whose link is `link`. */
TSR_INLINE bool walk_go_on(const tsr_ctx *c, tsr_key key, tsr_probe *probe, uint32_t link) {
  if (TSR_FACT(c, has_link) && walk_is_unit(link)) {
    probe->ref = TSR_UNIT_REF | link;
    return true;
  }
  probe->visited++;
  return walk_next(c, key, probe);
}

/* In step: those with `goes` go on, as walk_go_on; returns whether this one does. Where lanes of a tile may read
 * different notes, all go where the first one does. */
TSR_INLINE uint32_t walk_advance(const tsr_ctx *c, tsr_key key, tsr_probe *probe, uint32_t link, uint32_t goes) {
  uint32_t there = goes && walk_go_on(c, key, probe, link);
  if (!TSR_FACT(c, has_notes)) return there;
  probe->ref = tsr_shuffle64(c, probe->ref, 0);
  for (uint32_t i = 0; i < 2; i++) probe->word[i] = tsr_shuffle64(c, probe->word[i], 0);
  probe->stashed = tsr_shuffle32(c, probe->stashed, 0);
  return tsr_shuffle32(c, there, 0);
}

TSR_INLINE uint32_t walk_link(const tsr_ctx *c, const tsr_bucket *b) {
  return TSR_FACT(c, has_link) ? layout_link(c, b) : TSR_NO_HANDLE;
}

/* Whether these empty slots of a bucket of the walk prove that the key is in no later one. */
TSR_INLINE bool walk_ends_with(const tsr_ctx *c, const tsr_probe *probe, uint32_t empties) {
  if (TSR_FACT(c, ends_at_empty)) return empties != 0;
  return probe->visited == 0 && tsr_count_bits(empties) > TSR_FACT(c, bucket_slots) - TSR_FACT(c, first_slots);
}

/* The same of a bucket. In step as layout_empties. */
TSR_INLINE bool walk_ends(const tsr_ctx *c, const tsr_probe *probe, const tsr_bucket *b) {
  if (!TSR_FACT(c, ends_at_empty) && !TSR_FACT(c, first_slots)) return false;
  return walk_ends_with(c, probe, layout_empties(c, b));
}

/* ---- find ------------------------------------------------------------------------------------ */

/* One search. A tile may start the next as soon as it has finished one, while other tiles of its warp still walk: so a
 * search is a state that advances by a bucket a step. */
typedef struct walk_search {
  tsr_probe probe;
  uint32_t walking; /* 0: finished, see found */
  tsr_key key;      /* given for each step, so that no register has to keep it */
  uint32_t found;   /* said by each step, like payload */
  tsr_payload payload;
} walk_search;

/* Of a tile that has none. What a step of it does not read stays undefined: zeros would take registers. */
TSR_INLINE walk_search walk_no_search(void) {
  walk_search none;
  none.walking = 0;
  none.probe.ref = 0;
  none.key = 0;
  return none;
}

/* How a step looks at its bucket. fresh: a constant, as loads of two modes need twice the registers. Only lanes that go
 * in step can share their loads. */
TSR_INLINE void walk_step_look(const tsr_ctx *c, uint64_t ref, uint32_t walking, uint32_t fresh, tsr_bucket *b) {
  layout_load(c, ref, walking, tsr_load_mode(c, fresh), b);
}

/* A step of a search looks at a bucket and goes on. In step: tiles without a search take part with walking =
 * 0. Returns the slots that hold the key. */
TSR_INLINE uint32_t walk_search_look(const tsr_ctx *c, const walk_search *s, uint32_t fresh, tsr_bucket *b) {
  walk_step_look(c, s->probe.ref, s->walking, fresh, b);
  if (s->walking) TSR_COUNT(c, probes);
  uint32_t matches = layout_match(c, b, walk_stored_key(s->key));
  return s->walking ? matches : 0;
}

TSR_INLINE void walk_search_go_on(const tsr_ctx *c, walk_search *s, const tsr_bucket *b) {
  if (!TSR_FACT(c, warp_sync) && !s->walking) return;
  uint32_t ends = walk_ends(c, &s->probe, b), link = walk_link(c, b);
  s->walking = walk_advance(c, s->key, &s->probe, link, s->walking && !ends);
}

/* The search for any one pair of the key. wants_payload: a constant; without it a search reads no values. */
TSR_INLINE void walk_search_step(const tsr_ctx *c, walk_search *s, uint32_t wants_payload) {
  tsr_bucket b;
  s->found = 0;
  uint32_t matches = walk_search_look(c, s, TSR_LOAD_SETTLED, &b);
  if (tsr_warp_any(c, matches != 0)) {
    tsr_payload payload = wants_payload ? layout_payload(c, &b, matches ? tsr_lowest(matches) : 0) : 0;
    if (matches) {
      s->payload = payload;
      s->found = 1;
      s->walking = 0;
    }
  }
  walk_search_go_on(c, s, &b);
}

/* ---- insert ---------------------------------------------------------------------------------- */

/* Internal results: this insert cannot be guarded by its claim; a look was stale; its list needs a unit. */
enum { WALK_NEEDS_LOCK = TSR_RESULTS, WALK_NEEDS_FRESH, WALK_NEEDS_UNIT };

/* What an operation does with a present key: an insert as a policy of TSR_DUPLICATES_ says, or nothing but return its
 * value. Of walk_operate_step also: it looks, or erases. */
enum { WALK_FIND_OR_INSERT = TSR_DUPLICATES_POLICIES, WALK_FIND, WALK_ERASE };

/* Operations of all kinds overlap. */
TSR_INLINE bool walk_is_mixed(const tsr_ctx *c) { return TSR_FACT(c, is_mixed) != 0; }

/* What an operation with a present key is called. */
TSR_INLINE uint32_t walk_present(uint32_t policy) {
  if (policy == WALK_FIND_OR_INSERT || policy == WALK_FIND) return TSR_RESULT_FOUND;
  if (policy == WALK_ERASE) return TSR_RESULT_ERASED;
  if (policy == TSR_DUPLICATES_FIRST) return TSR_RESULT_PRESENT;
  return policy == TSR_DUPLICATES_REPLACE ? TSR_RESULT_REPLACED : TSR_RESULT_COMBINED;
}

/* Combines *payload into the slot where the key was seen; false if the slot has changed: look again. A value that the
 * policy would leave alone needs no write, and then a stale look is as good as a fresh one: values only move one way.
 * In step. */
TSR_INLINE bool walk_combine(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot, tsr_payload *payload,
                             uint32_t policy) {
#if TSR_PAYLOAD_BITS > 0
  /* in step all read it: tiles may have different policies */
  tsr_payload seen = TSR_FACT(c, warp_sync) || policy != TSR_DUPLICATES_FIRST ? layout_payload(c, b, slot) : 0;
  bool writes = policy != WALK_FIND_OR_INSERT && tsr_combine(policy, seen, *payload) != seen;
  tsr_ctx work = tsr_work_ctx(c, writes && !c->idle);
  bool updated = layout_update(&work, b, slot, policy, *payload);
  if (policy == WALK_FIND_OR_INSERT && !c->idle) *payload = seen;
  return updated || !writes;
#else
  (void)c;
  (void)b;
  (void)slot;
  (void)payload;
  (void)policy;
  return true;
#endif
}

/* Puts the pair into the first vacant slot of the walk, whatever else the walk may hold. */
TSR_INLINE uint32_t walk_claim(const tsr_ctx *c, tsr_key key, tsr_payload payload) {
  tsr_probe probe;
  uint32_t retry = 0, result = TSR_RESULT_NOT_PLACED, walks = walk_begin(c, key, &probe) && !c->idle;
  TSR_NO_UNROLL
  while (tsr_warp_any(c, walks)) { /* bounded: a lost claim has filled a slot */
    tsr_bucket b;
    tsr_ctx work = tsr_work_ctx(c, walks);
    tsr_look_at(&work, probe.ref, retry, &b);
    uint32_t vacant = layout_vacant(c, &b), link = walk_link(c, &b);
    if (!walks) vacant = 0;
    retry = vacant != 0;
    if (tsr_warp_any(c, retry)) {
      work = tsr_work_ctx(c, retry);
      uint32_t claimed = tsr_claim(&work, &b, vacant ? tsr_lowest(vacant) : 0, walk_stored_key(key), payload);
      TSR_COUNT_WHERE(c, stashed, claimed && probe.stashed);
      result = claimed ? TSR_RESULT_INSERTED : result;
      walks = claimed ? 0 : walks;
    }
    uint32_t appends = walks && !vacant && !walk_is_unit(link) && !walk_is_reserved(key) && probe.stashed == 0;
    if (TSR_FACT(c, has_link) && tsr_warp_any(c, appends)) {
      work = tsr_work_ctx(c, appends);
      uint32_t appended = walk_append(&work, key, probe.ref);
      link = appends ? appended : link;
    }
    uint32_t there = walk_advance(c, key, &probe, link, walks && !vacant);
    walks = vacant ? walks : there;
  }
  return result;
}

/* A new pair, by a scheme that has a place of its own for it. What the scheme cannot place is tried in the first vacant
 * slot of its walk, which ends in the stash. */
TSR_INLINE uint32_t walk_place(const tsr_ctx *c, tsr_key *key, tsr_payload *payload) {
  tsr_probe probe;
  uint32_t said = TSR_PLACING, walks = walk_begin(c, *key, &probe) && !c->idle;
  TSR_NO_UNROLL
  while (tsr_warp_any(c, walks)) { /* bounded by the scheme */
    tsr_ctx work = tsr_work_ctx(c, walks);
    uint32_t says = probing_place(&work, key, payload, &probe);
    said = walks ? says : said;
    walks = walks && says == TSR_PLACING;
  }
  uint32_t result = said == TSR_PLACED ? TSR_RESULT_INSERTED : TSR_RESULT_NOT_PLACED;
  uint32_t claims = said == TSR_UNPLACED;
  if ((TSR_FACT(c, has_stash) || TSR_FACT(c, has_link)) && tsr_warp_any(c, claims)) {
    tsr_ctx work = tsr_work_ctx(c, claims);
    uint32_t claimed = walk_claim(&work, *key, *payload);
    result = claims ? claimed : result;
  }
  return result;
}

/* The key's lock is held, so nobody else inserts, moves or combines it. A walk finds the bucket to work in, which is then
 * looked at again: what the walk saw is not kept, for it would cost the whole kernel registers. */
TSR_INLINE uint32_t walk_insert_held(const tsr_ctx *c, tsr_key *key, tsr_payload *payload, uint32_t policy) {
  uint32_t result = TSR_RESULT_NONE, todo = !c->idle;
  const uint64_t stash = c->t->buckets + TSR_TAIL_RESERVED;
  const tsr_key stored = walk_stored_key(*key);
  const tsr_bucket nothing = {0, {0}};
  TSR_NO_UNROLL
  while (tsr_warp_any(c, todo)) { /* bounded: another look only after another thread's success on the slot */
    tsr_bucket b;
    tsr_probe probe;
    /* the bucket with the key, or the first one with a vacant slot; the last one that is not the stash's */
    uint64_t target = 0, end = 0;
    uint32_t has_target = 0, is_present = 0, walks = walk_begin(c, *key, &probe) && todo;
    TSR_NO_UNROLL
    while (tsr_warp_any(c, walks)) {
      tsr_ctx work = tsr_work_ctx(c, walks);
      tsr_look_at(&work, probe.ref, 1, &b);
      uint32_t matches = layout_match(c, &b, stored), vacant = layout_vacant(c, &b);
      uint32_t ends = walk_ends(c, &probe, &b), link = walk_link(c, &b);
      uint32_t goes = walks && !matches, takes = walks && (matches || (vacant && !has_target));
      end = goes && probe.stashed == 0 ? probe.ref : end;
      target = takes ? probe.ref : target;
      uint32_t there = walk_advance(c, *key, &probe, link, goes && !ends);
      is_present |= walks && matches;
      has_target |= takes;
      walks = goes ? there : 0;
    }
    uint32_t is_new = todo && !is_present && !walk_is_reserved(*key);
    uint32_t has_room = has_target && (target < stash || target & TSR_UNIT_REF), again = 0;
    if (TSR_FACT(c, has_place) && tsr_warp_any(c, is_new)) {
      tsr_ctx work = tsr_work_ctx(c, is_new);
      uint32_t placed = walk_place(&work, key, payload);
      result = is_new ? placed : result;
      todo = is_new ? 0 : todo;
      b = nothing; /* or what an idle tile does not load next would be kept meanwhile, beside place()'s own */
    }
    /* the stash is for lists that are closed: who holds no lock looks there only then */
    if (TSR_FACT(c, has_link) && tsr_warp_any(c, is_new && !has_room)) {
      tsr_ctx work = tsr_work_ctx(c, is_new && !has_room);
      again = walk_is_unit(walk_append(&work, *key, end)) && !work.idle;
    }
    uint32_t works = todo && !again && has_target, is_full = todo && !again && !has_target;
    result = is_full ? TSR_RESULT_NOT_PLACED : result;
    todo = is_full ? 0 : todo;
    if (tsr_warp_any(c, works)) {
      tsr_ctx work = tsr_work_ctx(c, works);
      tsr_look_at(&work, target, 1, &b);
      uint32_t matches = layout_match(c, &b, stored), vacant = layout_vacant(c, &b);
#ifdef TSR_TEST_WITHOUT_GUARD
      if (!is_present) matches = 0;
#endif
      /* the key may be here now: an insert that saw no erased slot, because it was taken since the look, may have claimed
       * without the lock */
      uint32_t combines = works && matches, claims = works && !matches && !is_present && vacant, done = 0;
      if (tsr_warp_any(c, combines)) {
        work = tsr_work_ctx(c, combines);
        done = walk_combine(&work, &b, combines ? tsr_lowest(matches) : 0, payload, policy) && combines;
      }
      if (tsr_warp_any(c, claims)) {
        work = tsr_work_ctx(c, claims);
        uint32_t claimed = tsr_claim(&work, &b, claims ? tsr_lowest(vacant) : 0, stored, *payload);
        TSR_COUNT_WHERE(c, stashed, claimed && !has_room);
        done |= claimed;
      }
      result = !done ? result : combines ? walk_present(policy) : TSR_RESULT_INSERTED;
      todo = done ? 0 : todo;
    }
  }
  return result;
}

/* What remains of an insert after its steps. Returns a TSR_RESULT_. With TSR_RESULT_NOT_PLACED *key, *payload are the
 * unplaced pair; with TSR_RESULT_FOUND (WALK_FIND_OR_INSERT) *payload is the value of the present pair.
 * Waiting for a lock is the one unbounded loop: its holder is always running. The critical section is part of the
 * loop's body, so that a tile never waits for tiles of its own warp to finish waiting for it. */
TSR_INLINE uint32_t walk_insert_locked(const tsr_ctx *c, tsr_key *key, tsr_payload *payload, uint32_t policy) {
#ifdef TSR_TEST_WITHOUT_GUARD /* looks, then writes whatever has happened since: for the test that shows what guards   \
                                 do */
  return walk_insert_held(c, key, payload, policy);
#else
  uint32_t lock = tsr_lock_of(c, *key), result = TSR_RESULT_NONE, waits = !c->idle;
  TSR_NO_UNROLL
  while (tsr_warp_any(c, waits)) {
    tsr_ctx work = tsr_work_ctx(c, waits);
    uint32_t holds = tsr_try_lock(&work, lock) && waits;
    if (tsr_warp_any(c, holds)) {
      work = tsr_work_ctx(c, holds);
      uint32_t held = walk_insert_held(&work, key, payload, policy);
      tsr_unlock(&work, tsr_lock_of(c, *key)); /* of the pair that place() handled last */
      result = holds ? held : result;
      waits = holds ? 0 : waits;
    }
    if (waits) tsr_pause();
  }
  return result;
#endif
}

/* Whether an insert may need a lock, and whether it begins in step. Macros, so that the compiler drops what a table does
 * not need before it inlines and optimises it, as TSR_FACT says. */
#ifdef TSR_TEST_WITHOUT_GUARD
#define WALK_HAS_GUARD(c) 1
#define WALK_INSERTS_IN_STEP(c) 0
#else
#define WALK_HAS_GUARD(c) (TSR_FACT(c, guard) != TSR_GUARD_NONE)
#define WALK_INSERTS_IN_STEP(c) (!TSR_FACT(c, places_first))
#endif

/* One insert, as far as it needs no lock. As a search it is a state that advances by a bucket a step. */
typedef struct walk_insertion {
  tsr_probe probe;     /* ref: with WALK_NEEDS_UNIT the end of the list */
  uint32_t walking;    /* 0: finished, see result */
  tsr_key key;         /* given for each step, so that no register has to keep it, like payload and policy */
  tsr_payload payload; /* in the end, with WALK_FIND_OR_INSERT or WALK_FIND, that of a present pair */
  uint32_t policy;
  uint32_t result; /* said by each step */
} walk_insertion;

/* As walk_no_search. */
TSR_INLINE walk_insertion walk_no_insertion(uint32_t policy) {
  walk_insertion none;
  none.walking = 0;
  none.probe.ref = 0;
  none.probe.visited = none.probe.stashed = 0;
  none.policy = policy;
  return none;
}

/* In step: those with `goes`, from a bucket where the key was not found and nothing was claimed. ends: see walk_ends. */
TSR_INLINE void walk_insert_go_on(const tsr_ctx *c, walk_insertion *s, uint32_t goes, uint32_t ends, uint32_t link) {
  uint32_t there = walk_advance(c, s->key, &s->probe, link, goes && !ends);
  bool is_proof = TSR_FACT(c, guard) == TSR_GUARD_NONE || (TSR_FACT(c, guard) == TSR_GUARD_CLAIM && !walk_is_mixed(c));
  s->walking = goes ? there : s->walking;
  s->result = !goes ? s->result : there ? TSR_RESULT_NONE : is_proof ? TSR_RESULT_NOT_PLACED : WALK_NEEDS_LOCK;
}

/* After a step: makes the lists of tiles with WALK_NEEDS_UNIT longer. */
TSR_INLINE void walk_insert_append(const tsr_ctx *c, walk_insertion *s) {
  uint32_t appends = s->result == WALK_NEEDS_UNIT;
  if (!TSR_FACT(c, has_link) || !tsr_warp_any(c, appends)) return;
  tsr_ctx work = tsr_work_ctx(c, appends);
  uint32_t link = walk_append(&work, s->key, s->probe.ref);
  walk_insert_go_on(c, s, appends, 0, link);
}

/* The slots of b that an insert may claim without a lock, and whether nothing but the lock guards it here.
 * TSR_GUARD_CLAIM: the claim is the guard: inserters of one key contend for the same slot, because the lowest empty slot
 * is taken and none ever becomes empty again; the loser looks again and finds the key. Past an erased slot that argument
 * fails. Where erases run meanwhile (lists only) erased slots are passed by.
 * TSR_GUARD_LOCK: a new key whose first bucket has an empty slot among its first_slots: had the key ever been elsewhere,
 * they would have been full, and full slots never become empty again. So its claim guards itself, and an insert that
 * holds the lock never contends with it, because it has seen them full: slots fill from the lowest on. Only an erased
 * slot, vacant again, would bring the two together: hence has_erased. (Measured: core/design/0004-uniqueness.md.) */
TSR_INLINE uint32_t walk_claimable(const tsr_ctx *c, const walk_insertion *s, const tsr_bucket *b, uint32_t empties,
                                   uint32_t *spoiled) {
  *spoiled = 0;
  if (TSR_FACT(c, guard) == TSR_GUARD_NONE) return layout_vacant(c, b);
  if (TSR_FACT(c, guard) == TSR_GUARD_LOCK) {
    bool claims = TSR_FACT(c, claims_first) && s->probe.visited == 0 && !c->t->has_erased &&
                  !walk_is_reserved(s->key) &&
                  tsr_count_bits(empties) > TSR_FACT(c, bucket_slots) - TSR_FACT(c, first_slots);
    return claims ? empties : 0;
  }
  if (!walk_is_mixed(c)) *spoiled = layout_vacant(c, b) != empties;
  return empties;
}

/* Whether the insert can go on only in another unit. */
TSR_INLINE bool walk_needs_unit(const tsr_ctx *c, const walk_insertion *s, uint32_t link) {
  return TSR_FACT(c, has_link) && TSR_FACT(c, guard) != TSR_GUARD_LOCK && !s->probe.stashed &&
         !walk_is_reserved(s->key) && !walk_is_unit(link) && link != WALK_LINK_CLOSED;
}

/* In step. fresh (a constant): looks are. If not, an insert whose look was stale ends with
 * WALK_NEEDS_FRESH. Bounded: a bucket is looked at again only where a lost claim has filled a slot, or a lost key was
 * another thread's success. */
TSR_INLINE void walk_insert_step(const tsr_ctx *c, walk_insertion *s, uint32_t fresh) {
  tsr_bucket b;
  uint32_t spoiled, again = 0, lost = 0, looked = s->walking;
  s->result = TSR_RESULT_NONE;
  walk_step_look(c, s->probe.ref, s->walking, fresh, &b);
  if (!TSR_FACT(c, warp_sync) && !s->walking) return;
  uint32_t matches = TSR_FACT(c, guard) == TSR_GUARD_NONE ? 0 : layout_match(c, &b, walk_stored_key(s->key));
  bool claims_empties =
      TSR_FACT(c, guard) == TSR_GUARD_CLAIM || (TSR_FACT(c, guard) == TSR_GUARD_LOCK && TSR_FACT(c, claims_first));
  uint32_t claimable = walk_claimable(c, s, &b, claims_empties ? layout_empties(c, &b) : 0, &spoiled);
  uint32_t ends = TSR_FACT(c, guard) == TSR_GUARD_LOCK && walk_ends(c, &s->probe, &b), link = walk_link(c, &b);
  uint32_t combines = s->walking && matches, claims = s->walking && !matches && !spoiled && claimable;
  if (TSR_FACT(c, guard) != TSR_GUARD_NONE && tsr_warp_any(c, combines)) {
    tsr_ctx work = tsr_work_ctx(c, combines);
    uint32_t combined = walk_combine(&work, &b, combines ? tsr_lowest(matches) : 0, &s->payload, s->policy);
    uint32_t settles = combined && combines;
    again = combines && !combined;
    s->result = settles ? walk_present(s->policy) : s->result;
    s->walking = settles ? 0 : s->walking;
  }
  if ((claims_empties || TSR_FACT(c, guard) == TSR_GUARD_NONE) && tsr_warp_any(c, claims)) {
    tsr_ctx work = tsr_work_ctx(c, claims);
    uint32_t slot = claims ? tsr_lowest(claimable) : 0;
    uint32_t claimed = layout_cas(&work, &b, slot, walk_stored_key(s->key), s->payload) && claims;
    lost = claims && !claimed;
    again |= lost;
    s->result = claimed ? TSR_RESULT_INSERTED : s->result;
    s->walking = claimed ? 0 : s->walking;
  }
  uint32_t goes = s->walking && !(again && fresh), stops = goes && (again || spoiled || walk_needs_unit(c, s, link));
  s->result = !stops ? s->result : again ? WALK_NEEDS_FRESH : spoiled ? WALK_NEEDS_LOCK : WALK_NEEDS_UNIT;
  s->walking = stops ? 0 : s->walking;
  goes = goes && !stops;
  if (TSR_FACT(c, warp_sync) || goes) walk_insert_go_on(c, s, goes, ends, link);
  TSR_COUNT_WHERE(c, probes, looked);
  TSR_COUNT_WHERE(c, lost_claims, lost);
}

/* ---- erase ----------------------------------------------------------------------------------- */

/* A step of a search that erases all pairs of the key, or with `one` (a constant) one that has this payload, or `any` one.
 * A slot that has changed since it was seen holds no such pair any more, because another erase took it, or it has
 * another value: where a key has one pair, it is looked at again. fresh (a constant): looks are; if not, *stale says
 * that this search has to begin again with fresh ones. Returns how many were erased. */
TSR_INLINE uint32_t walk_erase_step(const tsr_ctx *c, walk_search *s, uint32_t fresh, tsr_payload payload, uint32_t one,
                                    uint32_t any, uint32_t *stale) {
  const uint32_t ends_with_first = one || TSR_FACT(c, duplicates) != TSR_DUPLICATES_KEEP;
  tsr_bucket b;
  uint32_t erased = 0, again = 0, matches = walk_search_look(c, s, fresh, &b);
  uint32_t ends = walk_ends(c, &s->probe, &b), link = walk_link(c, &b);
  TSR_NO_UNROLL
  while (tsr_warp_any(c, matches != 0)) {
    uint32_t slot = matches ? tsr_lowest(matches) : 0, wanted = matches != 0;
    /* one lane decides: a payload that is read apart may be erased between the lanes' looks */
    if (one && !any && !tsr_shuffle32(c, layout_payload(c, &b, slot) == payload, 0)) wanted = 0;
    tsr_ctx work = tsr_work_ctx(c, wanted);
    uint32_t gone = layout_erase(&work, &b, slot) && wanted;
    erased += gone;
    if (TSR_FACT(c, duplicates) != TSR_DUPLICATES_KEEP) {
      again = wanted && !gone;
      break;
    }
    matches = one && erased ? 0 : matches & (matches - 1);
  }
  *stale = again && !fresh;
  s->walking = *stale || (erased && ends_with_first) ? 0 : s->walking;
  uint32_t goes = s->walking && !again, there = walk_advance(c, s->key, &s->probe, link, goes && !ends);
  s->walking = goes ? there : s->walking;
  return erased;
}

/* ---- operations of all kinds ----------------------------------------------------------------- */

/* An insertion that may be a search or an erase instead, as its `policy` says: tiles of a warp do different things in one
 * step, and still wait for one load and one compare-and-swap. Where operations of all kinds overlap only, so pairs are
 * whole and whatever a step does to a slot is a swap of what it saw. */

/* In step. A search that finds ends with the value in s->payload. Returns 1 if it erased a pair; where a key may have many,
 * it goes on until there is none, and its result is that of the last look. Bounded: a bucket is looked at again only
 * where this tile, or another thread in its stead, has changed the slot. */
TSR_INLINE uint32_t walk_operate_step(const tsr_ctx *c, walk_insertion *s) {
  const uint32_t erases = s->policy == WALK_ERASE, inserts = s->policy < WALK_FIND;
  const tsr_key stored = walk_stored_key(s->key);
  tsr_bucket b;
  uint32_t spoiled, swapped = 0, looked = s->walking;
  s->result = TSR_RESULT_NONE;
  walk_step_look(c, s->probe.ref, s->walking, 1, &b);
  if (!TSR_FACT(c, warp_sync) && !s->walking) return 0;
  uint32_t matches = layout_match(c, &b, stored), empties = layout_empties(c, &b);
  uint32_t claimable = walk_claimable(c, s, &b, empties, &spoiled);
  uint32_t ends = walk_ends_with(c, &s->probe, empties), link = walk_link(c, &b);
  if (!s->walking || (inserts && TSR_FACT(c, guard) == TSR_GUARD_NONE)) matches = 0;
  if (!s->walking || !inserts || matches) claimable = 0;
  uint32_t slot = matches ? tsr_lowest(matches) : claimable ? tsr_lowest(claimable) : 0;
  tsr_payload seen = tsr_warp_any(c, matches != 0) ? layout_payload(c, &b, slot) : 0;
  tsr_payload desired = s->payload;
  if (matches && s->policy == TSR_FACT(c, duplicates)) desired = tsr_combine(TSR_FACT(c, duplicates), seen, desired);
  if (erases) desired = (tsr_payload) ~(tsr_payload)0;
  uint32_t swaps = matches ? erases || (inserts && desired != seen) : claimable != 0;
  if (tsr_warp_any(c, swaps)) {
    tsr_ctx work = tsr_work_ctx(c, swaps);
    swapped = layout_cas(&work, &b, slot, erases ? TSR_ERASED_KEY : stored, desired) && swaps;
  }
  uint32_t goes = s->walking && !matches && !swaps, stops = goes && inserts && walk_needs_unit(c, s, link);
  uint32_t settles = swaps ? swapped : matches != 0;
  s->result = stops ? WALK_NEEDS_UNIT : s->result;
  s->result = !settles ? s->result : matches ? walk_present(s->policy) : TSR_RESULT_INSERTED;
  s->payload = settles ? seen : s->payload;
  s->walking = settles ? erases && TSR_FACT(c, duplicates) == TSR_DUPLICATES_KEEP : stops ? 0 : s->walking;
  goes = goes && !stops;
  walk_insert_go_on(c, s, goes, ends, link);
  s->result = goes && !inserts ? TSR_RESULT_MISSING : s->result;
  TSR_COUNT_WHERE(c, probes, looked);
  TSR_COUNT_WHERE(c, lost_claims, swaps && !swapped);
  return erases && swapped;
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* Packs the pairs of the list that begins at bucket `head` into its first slots, makes the others empty, takes the units
 * that hold nothing any more off the list and releases them; returns how many (SlabHash IV-C4, which only sketches it).
 * Collective; nothing else may work on the table. Pairs move forward only, in their order, so a slot that is written was
 * read before. */
TSR_INLINE uint32_t walk_flush(const tsr_ctx *c, uint64_t head) {
  const uint32_t slots = TSR_FACT(c, bucket_slots);
  uint64_t from = head, to = head;
  uint32_t to_slot = 0, released = 0, link, walks = !c->idle;
  tsr_bucket b;
  TSR_NO_UNROLL
  while (tsr_warp_any(c, walks)) { /* bounded by the list */
    tsr_ctx work = tsr_work_ctx(c, walks);
    tsr_look_at(&work, from, 1, &b);
    link = layout_link(c, &b);
    uint32_t pairs = layout_vacant(c, &b);
    pairs = walks ? tsr_slot_mask(c) & ~pairs : 0;
    TSR_NO_UNROLL
    for (; tsr_warp_any(c, pairs); pairs &= pairs - 1) {
      uint32_t slot = pairs ? tsr_lowest(pairs) : 0, is_full = pairs && to_slot == slots;
      tsr_key key = layout_key(c, &b, slot);
      tsr_payload payload = layout_payload(c, &b, slot);
      work = tsr_work_ctx(c, is_full);
      uint32_t next = tsr_warp_any(c, is_full) ? layout_relink(&work, to, TSR_NO_HANDLE, TSR_NO_HANDLE) : 0;
      to = is_full ? TSR_UNIT_REF | next : to;
      to_slot = is_full ? 0 : to_slot;
      uint32_t moves = pairs && (to != from || to_slot != slot);
      work = tsr_work_ctx(c, moves);
      if (tsr_warp_any(c, moves)) layout_exchange(&work, to, moves ? to_slot : 0, &key, &payload);
      to_slot += pairs != 0;
    }
    from = walks ? TSR_UNIT_REF | link : from;
    walks = walks && walk_is_unit(link);
  }
  walks = !c->idle;
  TSR_NO_UNROLL
  while (tsr_warp_any(c, walks)) { /* bounded by the list */
    tsr_ctx work;
    TSR_NO_UNROLL
    for (uint32_t clears; tsr_warp_any(c, clears = walks && to_slot < slots); to_slot += clears) {
      tsr_key key = TSR_EMPTY_KEY;
      tsr_payload payload = (tsr_payload) ~(tsr_payload)0;
      work = tsr_work_ctx(c, clears);
      layout_exchange(&work, to, clears ? to_slot : 0, &key, &payload);
    }
    work = tsr_work_ctx(c, walks);
    link = layout_relink(&work, to, TSR_NO_HANDLE, TSR_NO_HANDLE);
    work = tsr_work_ctx(c, walks && link != TSR_NO_HANDLE);
    layout_relink(&work, to, link, TSR_NO_HANDLE);
    work = tsr_work_ctx(c, walks && released > 0);
    allocator_release(&work, (uint32_t)to, 1);
    released += walks;
    to = walks ? TSR_UNIT_REF | link : to;
    to_slot = walks ? 0 : to_slot;
    walks = walks && walk_is_unit(link);
  }
  return released ? released - 1 : 0;
}

#endif

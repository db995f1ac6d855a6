/* SPDX-License-Identifier: Apache-2.0
 *
 * What a cache does with an item. The candidates of a key are the slots of its walk, whose buckets are few. A new pair goes to
 * the first vacant one, or takes the place of the pair that is worth least to the eviction part.
 *
 * An insert of an absent key holds the key's lock, so a key is in the table once. Pairs are exchanged by one swap, which fails
 * if the slot has changed since it was seen. So a pair is given up by one insert alone, and with the value that it had then.
 * The score is swapped before the pair: who loses that swap looks again, and sees that the slot is worth more now.
 *
 * Where a value is stored apart from its key, no swap has both. There an insert first owns the bucket that it writes to.
 * (core/design/0035-cache.md)
 */
#ifndef TSR_CACHE_CUH
#define TSR_CACHE_CUH

#include "core/kernels/cache.h"
#include "core/kernels/ops.cuh"
#include "plugins/eviction.cuh"

/* ---- Scores ---------------------------------------------------------------------------------- */

TSR_INLINE tsr_cache_head *cache_head(const tsr_ctx *c) {
  return (tsr_cache_head *)c->t->part[TSR_ROLE_OF_layout].region[TSR_FACT(c, score_region)];
}

/* 1: a tile owns the bucket. */
TSR_INLINE uint32_t *cache_owner(const tsr_ctx *c, uint64_t ref) {
  return (uint32_t *)c->t->part[TSR_ROLE_OF_layout].region[TSR_FACT(c, owner_region)] + ref;
}

/* The word that holds a slot's score, and where in it. */
TSR_INLINE uint32_t *cache_word(const tsr_ctx *c, uint64_t ref, uint32_t slot, uint32_t *shift) {
  const uint32_t bits = TSR_FACT(c, score_bits);
  const uint64_t at = ref * TSR_FACT(c, bucket_slots) + slot;
  *shift = (uint32_t)(at % (32 / bits)) * bits;
  return (uint32_t *)((char *)cache_head(c) + TSR_CACHE_HEAD_BYTES) + at / (32 / bits);
}

TSR_INLINE uint32_t cache_score(const tsr_ctx *c, uint64_t ref, uint32_t slot) {
  uint32_t shift;
  const uint32_t *word = cache_word(c, ref, slot, &shift);
  return tsr_load32(word, 1) >> shift & tsr_score_max(TSR_FACT(c, score_bits));
}

/* Replaces a score that is still `seen`, which is the whole word if scores have 32 bits. One lane calls it. Bounded: a turn is
 * repeated if a neighbour's score has changed.
 * Relaxed: a score orders nothing. */
TSR_INLINE uint32_t cache_swap_score(const tsr_ctx *c, uint64_t ref, uint32_t slot, uint32_t seen, uint32_t fresh) {
  uint32_t shift, done = 0, stays = 1;
  uint32_t *word = cache_word(c, ref, slot, &shift), held = TSR_FACT(c, score_bits) == 32 ? seen : tsr_load32(word, 1);
  const uint32_t mask = tsr_score_max(TSR_FACT(c, score_bits)) << shift;
  TSR_NO_UNROLL
  while (stays && !done) {
    stays = (held & mask) == seen << shift;
    const uint32_t found = stays ? tsr_cas32(word, held, (held & ~mask) | fresh << shift) : held;
    done = stays && found == held;
    held = found;
  }
  return done;
}

/* Writes the score of a pair that was used. Of two uses at a time one may be lost, and a pair that has just taken the slot may
 * get it: a score is an estimate. One lane calls it. */
TSR_INLINE void cache_use(const tsr_ctx *c, uint64_t ref, uint32_t slot, uint32_t seen, uint32_t fresh) {
  uint32_t shift;
  if (seen == fresh) return;
  if (TSR_FACT(c, score_bits) == 32)
    tsr_store32(cache_word(c, ref, slot, &shift), fresh);
  else
    cache_swap_score(c, ref, slot, seen, fresh);
}

/* Whether no call may find the pair any more. */
TSR_INLINE uint32_t cache_has_expired(const tsr_ctx *c, uint32_t score, uint32_t now) {
  return TSR_FACT(c, expires) && !eviction_worth(c, score, now);
}

/* Of the slots of a full bucket the first one that is worth least: its number below its worth, and its score. Collective. */
TSR_INLINE uint64_t cache_least(const tsr_ctx *c, uint64_t ref, uint32_t now, uint32_t *score) {
  const uint32_t lanes = TSR_FACT(c, tile_lanes);
  uint64_t least = ~(uint64_t)0;
  uint32_t seen = 0;
  TSR_NO_UNROLL
  for (uint32_t slot = c->lane; slot < TSR_FACT(c, bucket_slots); slot += lanes) {
    const uint32_t held = cache_score(c, ref, slot);
    const uint64_t own = (uint64_t)eviction_worth(c, held, now) << 32 | slot;
    seen = own < least ? held : seen;
    least = own < least ? own : least;
  }
  TSR_NO_UNROLL
  for (uint32_t distance = lanes / 2; distance > 0; distance /= 2) {
    const uint64_t other = tsr_shuffle64(c, least, c->lane ^ distance);
    least = other < least ? other : least;
  }
  *score = tsr_shuffle32(c, seen, (uint32_t)least % lanes);
  return least;
}

/* ---- Inserts --------------------------------------------------------------------------------- */

#define CACHE_NO_ROW ((tsr_payload) ~(tsr_payload)0)

/* A tile's item; afterwards what became of it. */
typedef struct cache_item {
  tsr_key key;         /* with TSR_RESULT_EVICTED and TSR_RESULT_NOT_PLACED that of the pair to hand back */
  tsr_payload payload; /* ... and its value; of a pair that was found its value */
  tsr_payload
      spare; /* with tells_spare: of a key that was present, the value that is in no pair now: the offered one, or
                        * the one that it has replaced. Otherwise CACHE_NO_ROW */
  uint32_t given, now, policy;
} cache_item;

/* What a walk has seen. */
typedef struct cache_survey {
  uint64_t target; /* the bucket that holds the key, otherwise the first with room, otherwise that of the least worth */
  uint64_t least;  /* of the full buckets, as cache_least says it */
  uint32_t has_full, is_present, has_room;
  tsr_bucket last; /* the bucket that was looked at last */
} cache_survey;

/* Whether a tile writes by what its survey saw: the key has one bucket, and a swap fails if the slot has changed. */
TSR_INLINE uint32_t cache_writes_at_once(const tsr_ctx *c) {
  return TSR_FACT(c, has_one_bucket) && !TSR_FACT(c, owns_buckets);
}

TSR_INLINE cache_survey cache_look(const tsr_ctx *c, tsr_key key, uint32_t now) {
  cache_survey s = {0, 0, 0, 0, 0, {0, {0}}};
  tsr_probe probe;
  uint32_t walks = walk_begin(c, key, &probe) && c->active;
  TSR_NO_UNROLL
  while (tsr_warp_any(c, walks)) { /* bounded by the walk */
    const tsr_ctx walking = tsr_masked(c, walks);
    uint64_t least = ~(uint64_t)0;
    uint32_t score;
    look_at(&walking, probe.ref, 1, &s.last);
    const uint32_t matches = layout_match(c, &s.last, walk_stored_key(key)), vacant = layout_vacant(c, &s.last);
    const uint32_t is_full = walks && !matches && !vacant && !s.has_room;
    if (!TSR_FACT(c, has_one_bucket) && tsr_warp_any(c, is_full)) least = cache_least(c, probe.ref, now, &score);
    const uint32_t finds = walks && matches, has_room = walks && !matches && vacant && !s.has_room;
    const uint32_t is_less = is_full && (!s.has_full || least >> 32 < s.least >> 32);
    const uint32_t ends = walk_has_end(c) && walk_ends(c, &probe, layout_empties(c, &s.last));
    s.target = finds || has_room || is_less ? probe.ref : s.target;
    s.least = is_less ? least : s.least;
    s.has_full |= is_full;
    s.is_present |= finds;
    s.has_room |= has_room;
    const uint32_t goes = walks && !matches && !ends;
    const uint32_t there = walk_advance(c, key, &probe, TSR_NO_HANDLE, goes);
    walks = goes ? there : 0;
  }
  return s;
}

/* Writes the value of a pair. False: the slot has changed. */
TSR_INLINE uint32_t cache_write(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot, uint32_t policy,
                                cache_item *item) {
  if (!TSR_FACT(c, tells_spare)) return combine(c, b, slot, policy, &item->payload) && c->active;
  const uint32_t replaces = policy == TSR_DUPLICATES_REPLACE && c->active;
  const tsr_payload held = layout_payload(c, b, slot), offered = item->payload;
  const tsr_ctx replacing = tsr_masked(c, replaces);
  const uint32_t replaced = layout_cas(&replacing, b, slot, walk_stored_key(item->key), offered) && replaces;
  if (c->active) item->spare = replaces ? held : offered;
  if (policy == POLICY_FIND_OR_INSERT && c->active) item->payload = held;
  return replaces ? replaced : c->active;
}

/* The key is present: combines the values, unless the pair has expired, and counts a use. TSR_RESULT_NONE: the slot has
 * changed. */
TSR_INLINE uint32_t cache_meet(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot, cache_item *item) {
  const uint32_t score = cache_score(c, b->ref, slot), is_expired = cache_has_expired(c, score, item->now);
  const uint32_t policy = is_expired && TSR_PAYLOAD_BITS > 0 ? (uint32_t)TSR_DUPLICATES_REPLACE : item->policy;
  const uint32_t fresh =
      is_expired ? eviction_inserted(c, item->now, item->given) : eviction_found(c, score, item->now, item->given);
  const uint32_t written = cache_write(c, b, slot, policy, item);
  if (written && c->lane == 0) cache_use(c, b->ref, slot, score, fresh);
  if (!written) return TSR_RESULT_NONE;
  return is_expired ? (uint32_t)TSR_RESULT_INSERTED : result_for_present(item->policy);
}

/* Takes a slot, vacant or not, whose score was seen, for the new pair. TSR_RESULT_NONE: it has changed. The score that was
 * swapped in then stays: put back, it could be that of another new pair, which has the same score and would seem to be worth as
 * little as the old one. */
TSR_INLINE uint32_t cache_take(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot, uint32_t score, uint32_t is_vacant,
                               cache_item *item) {
  const uint32_t fresh = eviction_inserted(c, item->now, item->given);
  const uint32_t is_low = TSR_FACT(c, weighs_new) && !is_vacant &&
                          eviction_worth(c, fresh, item->now) < eviction_worth(c, score, item->now);
  const tsr_key victim = layout_key(c, b, slot);
  const tsr_payload victim_payload = layout_payload(c, b, slot);
  uint32_t leads = 0;
  if (c->active) item->spare = CACHE_NO_ROW;
  if (c->lane == 0 && c->active && !is_low) leads = cache_swap_score(c, b->ref, slot, score, fresh);
  const tsr_ctx taking = tsr_masked(c, tsr_shuffle32(c, leads, 0));
  const uint32_t taken = layout_cas(&taking, b, slot, walk_stored_key(item->key), item->payload) && taking.active;
  TSR_COUNT_WHERE(c, lost_claims, !taken && taking.active);
  if (is_low && c->active) return TSR_RESULT_NOT_PLACED;
  if (!taken) return TSR_RESULT_NONE;
  if (is_vacant) return TSR_RESULT_INSERTED;
  item->key = victim;
  item->payload = victim_payload;
  return TSR_RESULT_EVICTED;
}

/* Whether the tile may write to the bucket now. It waits for no owner: it looks again. One lane takes the word, so a tile does
 * not meet itself. Acquire: what the tile then sees is what the owner before it has left. Collective. */
TSR_INLINE uint32_t cache_own(const tsr_ctx *c, uint64_t ref) {
  uint32_t found = 0;
  if (!TSR_FACT(c, owns_buckets)) return c->active;
  if (c->lane == 0 && c->active) found = tsr_cas32_acquire(cache_owner(c, ref), 0, 1);
  return tsr_shuffle32(c, found, 0) == 0 && c->active;
}

/* Release, when all lanes have written. Collective. */
TSR_INLINE void cache_disown(const tsr_ctx *c, uint64_t ref) {
  if (!TSR_FACT(c, owns_buckets) || !tsr_warp_any(c, c->active)) return;
  if (c->lane == 0 && c->active) tsr_store32_release(cache_owner(c, ref), 0);
}

/* One attempt. TSR_RESULT_NONE: look again; NEEDS_LOCK: the key is absent, and the tile holds no lock. Collective. */
TSR_INLINE uint32_t cache_try(const tsr_ctx *c, uint32_t holds_lock, cache_item *item) {
  cache_survey s = cache_look(c, item->key, item->now);
  const uint32_t wants = c->active && (s.is_present || holds_lock);
  const tsr_ctx wanting = tsr_masked(c, wants);
  const uint32_t writes = cache_own(&wanting, s.target);
  const tsr_ctx writing = tsr_masked(c, writes);
  uint32_t result = c->active && !wants ? (uint32_t)NEEDS_LOCK : (uint32_t)TSR_RESULT_NONE;
  if (!tsr_warp_any(c, writes)) return result;
  tsr_bucket *const b = &s.last;
  if (!cache_writes_at_once(c)) look_at(&writing, s.target, 1, b);
  const uint32_t matches = layout_match(c, b, walk_stored_key(item->key)), vacant = layout_vacant(c, b);
  const uint32_t meets = writes && matches, takes = writes && !matches && !s.is_present && (vacant || !s.has_room);
  if (tsr_warp_any(c, meets)) {
    const tsr_ctx meeting = tsr_masked(c, meets);
    const uint32_t met = cache_meet(&meeting, b, matches ? tsr_lowest(matches) : 0, item);
    result = meets ? met : result;
  }
  if (tsr_warp_any(c, takes)) {
    const tsr_ctx taking = tsr_masked(c, takes);
    uint32_t score;
    const uint32_t least = (uint32_t)cache_least(c, s.target, item->now, &score);
    const uint32_t slot = vacant ? tsr_lowest(vacant) : least;
    if (vacant) score = cache_score(c, s.target, slot);
    const uint32_t took = cache_take(&taking, b, slot, score, vacant != 0, item);
    result = takes ? took : result;
  }
  cache_disown(&writing, s.target);
  return result;
}

/* All of an insert; returns a TSR_RESULT_. A present key needs no lock, since the swap of its pair finds the key there.
 * Waiting for a lock is the one unbounded loop: its holder is always running. Collective. */
TSR_INLINE uint32_t cache_insert(const tsr_ctx *c, cache_item *item) {
  const tsr_key key = item->key;
  const uint32_t lock = tsr_lock_of(c, key);
  uint32_t result = TSR_RESULT_NONE, waits = c->active, needs_lock = 0;
  TSR_NO_UNROLL
  while (tsr_warp_any(c, waits)) {
    const tsr_ctx trying = tsr_masked(c, waits && needs_lock); /* succeeds for a masked tile */
    const uint32_t works = tsr_try_lock(&trying, lock) && waits, held = works && needs_lock;
    if (tsr_warp_any(c, works)) {
      const tsr_ctx working = tsr_masked(c, works), holding = tsr_masked(c, held);
      const uint32_t tried = cache_try(&working, needs_lock, item);
      tsr_unlock(&holding, lock);
      const uint32_t is_done = works && tried != TSR_RESULT_NONE && tried != NEEDS_LOCK;
      needs_lock |= works && tried == NEEDS_LOCK;
      result = is_done ? tried : result;
      waits = is_done ? 0 : waits;
    }
    if (waits) tsr_pause();
  }
  return result;
}

/* ---- Finds ----------------------------------------------------------------------------------- */

/* Returns whether the key is there, and has not expired; its value in item->payload. Collective. */
TSR_INLINE uint32_t cache_look_up(const tsr_ctx *c, uint32_t touches, cache_item *item) {
  tsr_probe probe;
  const uint32_t reads_score = touches || TSR_FACT(c, expires);
  uint32_t found = 0, walks = walk_begin(c, item->key, &probe) && c->active;
  TSR_NO_UNROLL
  while (tsr_warp_any(c, walks)) { /* bounded by the walk */
    tsr_bucket b;
    TSR_COUNT_WHERE(c, probes, walks);
    layout_load(c, probe.ref, walks, op_load_mode(c, OP_FIND, 0), &b);
    const uint32_t matches = layout_match(c, &b, walk_stored_key(item->key)), finds = walks && matches;
    const uint32_t slot = finds ? tsr_lowest(matches) : 0;
    const uint32_t ends = walk_has_end(c) && walk_ends(c, &probe, layout_empties(c, &b));
    if (tsr_warp_any(c, finds)) {
      const tsr_payload payload = layout_payload(c, &b, slot);
      const uint32_t score = reads_score ? cache_score(c, probe.ref, slot) : 0;
      found = finds ? !cache_has_expired(c, score, item->now) : found;
      item->payload = finds && found ? payload : item->payload;
      if (touches && finds && found && c->lane == 0)
        cache_use(c, probe.ref, slot, score, eviction_found(c, score, item->now, item->given));
    }
    const uint32_t goes = walks && !matches && !ends;
    const uint32_t there = walk_advance(c, item->key, &probe, TSR_NO_HANDLE, goes);
    walks = goes ? there : 0;
  }
  return found;
}

/* ---- Steps ----------------------------------------------------------------------------------- */

/* What a thread did. */
typedef struct cache_done {
  uint32_t hits, evicted;
} cache_done;

/* The lane's item becomes the tile's, turn by turn. All lanes of a warp call, `mine` = 0 past the end. Returns the lane's own
 * result; *own: what became of its item. puts: a constant. */
TSR_INLINE uint32_t cache_work(const tsr_ctx *c, const tsr_cache_run *a, uint64_t i, uint32_t mine, uint32_t puts,
                               cache_item *own) {
  const uint32_t todo = tsr_ballot(c, mine);
  uint32_t own_result = TSR_RESULT_NONE;
  TSR_NO_UNROLL
  for (uint32_t turn = 0; turn < TSR_FACT(c, tile_lanes); turn++) {
    const uint32_t active = todo >> turn & 1u;
    if (!tsr_warp_any(c, active)) continue;
    const tsr_ctx work = tsr_masked(c, active);
    cache_item item = *own;
    item.key = tsr_shuffle_key(c, own->key, turn);
    item.payload = tsr_shuffle_payload(c, own->payload, turn);
    item.given = tsr_shuffle32(c, own->given, turn);
    const uint32_t result = puts ? cache_insert(&work, &item) : cache_look_up(&work, a->touches, &item);
    tsr_leave_key(c, turn, active, 1);
    if (c->lane != turn || !active) continue;
    *own = item;
    own_result = result;
  }
  (void)i;
  return own_result;
}

TSR_INLINE cache_item cache_item_of(const tsr_ctx *c, const tsr_cache_run *a, uint64_t i, uint32_t mine) {
  cache_item item = {
      io_key_at(a->bulk.keys, i, mine), 0, CACHE_NO_ROW, 0, (uint32_t)tsr_load64(&cache_head(c)->clock, 1), 0};
  if (a->given && mine) item.given = a->given[i];
  return item;
}

TSR_INLINE cache_done cache_put(const tsr_ctx *c, const tsr_cache_run *a, uint64_t i, uint32_t mine) {
  cache_item item = cache_item_of(c, a, i, mine);
  item.payload = io_payload_at(a->bulk.values, i, mine);
  item.policy = a->finds_first ? (uint32_t)POLICY_FIND_OR_INSERT : TSR_FACT(c, duplicates);
  const uint32_t result = cache_work(c, a, i, mine, 1, &item);
  const uint32_t is_new = result == TSR_RESULT_INSERTED || result == TSR_RESULT_EVICTED;
  const uint32_t is_back = result == TSR_RESULT_EVICTED || result == TSR_RESULT_NOT_PLACED;
  if (is_back && a->bulk.unplaced_keys) io_put_key(a->bulk.unplaced_keys, i, item.key);
  if (is_back || (TSR_FACT(c, tells_spare) && mine))
    io_put_payload(a->bulk.unplaced_values, i, is_back ? item.payload : item.spare);
  if (result == TSR_RESULT_NOT_PLACED) IO_ADD(&a->bulk.tally->not_placed, 1);
  if (mine && a->bulk.values_out) {
    if (is_new) item.payload = io_payload_at(a->bulk.values, i, 1);
    io_put_payload(a->bulk.values_out, i,
                   result == TSR_RESULT_NOT_PLACED ? (tsr_payload)a->bulk.missing : item.payload);
  }
  put_result(&a->bulk, i, mine, result);
  const cache_done done = {is_new, result == TSR_RESULT_EVICTED};
  return done;
}

TSR_INLINE cache_done cache_find(const tsr_ctx *c, const tsr_cache_run *a, uint64_t i, uint32_t mine) {
  cache_item item = cache_item_of(c, a, i, mine);
  item.payload = (tsr_payload)a->bulk.missing;
  const cache_done done = {cache_work(c, a, i, mine, 0, &item), 0};
  if (mine) io_put_payload(a->bulk.values_out, i, item.payload);
  put_presence(&a->bulk, i, mine, done.hits, TSR_RESULT_FOUND);
  return done;
}

/* Relaxed is enough: nothing is read because of the clock. Other calls come in a later phase; finds that overlap may take
 * either one's clock, and both are as new as their use. */
TSR_INLINE cache_done cache_tick(const tsr_ctx *c, const tsr_cache_run *a, uint64_t i, uint32_t mine) {
  const cache_done none = {0, 0};
  (void)i;
  if (mine && a->now) tsr_store64(&cache_head(c)->clock, a->now);
  if (mine && !a->now) tsr_add64(&cache_head(c)->clock, 1);
  return none;
}

/* The pairs of a bucket whose scores are in the range, one after another. */
TSR_INLINE uint32_t cache_sweep_bucket(const tsr_ctx *c, const tsr_cache_run *a, uint64_t ref) {
  tsr_bucket b;
  uint32_t done = 0;
  layout_load(c, ref, c->active, tsr_load_mode(c, TSR_LOAD_COHERENT), &b);
  const uint32_t pairs = tsr_slot_mask(c) & ~layout_vacant(c, &b);
  TSR_NO_UNROLL
  for (uint32_t slot = 0; slot < TSR_FACT(c, bucket_slots); slot++) {
    const uint32_t score = cache_score(c, ref, slot);
    const uint32_t meant = c->active && pairs >> slot & 1u && score >= a->lowest && score <= a->highest;
    const tsr_ctx meaning = tsr_masked(c, meant && a->sweep == TSR_SWEEP_ERASE);
    if (!tsr_warp_any(c, meant)) continue;
    const tsr_key key = walk_user_key(c, ref, slot, layout_key(c, &b, slot));
    const tsr_payload payload = layout_payload(c, &b, slot);
    const uint32_t erased = layout_erase(&meaning, &b, slot);
    done += meant && (erased || a->sweep != TSR_SWEEP_ERASE);
    if (!meant || c->lane != 0 || a->sweep != TSR_SWEEP_EXPORT) continue;
    const uint64_t at = IO_ADD(&a->bulk.tally->keys, 1);
    if (at >= a->bulk.room) continue;
    if (a->bulk.keys_out) io_put_key(a->bulk.keys_out, at, key);
    io_put_payload(a->bulk.values_out, at, payload);
    if (a->scores_out) a->scores_out[at] = score;
  }
  return done;
}

TSR_INLINE cache_done cache_sweep(const tsr_ctx *c, const tsr_cache_run *a, uint64_t i, uint32_t mine) {
  const uint32_t todo = tsr_ballot(c, mine);
  cache_done all = {0, 0};
  TSR_NO_UNROLL
  for (uint32_t turn = 0; turn < TSR_FACT(c, tile_lanes); turn++) {
    const uint32_t active = todo >> turn & 1u;
    if (!tsr_warp_any(c, active)) continue;
    const uint64_t ref = tsr_shuffle64(c, i, turn); /* by all lanes of the warp */
    const tsr_ctx work = tsr_masked(c, active);
    const uint32_t done = cache_sweep_bucket(&work, a, active ? ref : 0);
    all.hits += c->lane == 0 ? done : 0;
  }
  return all;
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * The bulk operations, for one lane: every lane has an item of its own, and its tile works through the lanes' items in
 * turn (the work queue of BGHT 5.1 and SlabHash IV-A; with one lane a tile it is a thread per key). Called in step by
 * all lanes of a warp, `mine` = 0 past the end. Each returns its lane's hits. Wrapped by bulk.cu and ../cpu/bulk.c.
 */
#ifndef TSR_BULK_CUH
#define TSR_BULK_CUH

#include "core/kernels/bulk.h"
#include "core/kernels/walk.cuh"
#ifndef __CUDACC__
#include <time.h>
#endif

/* Input and output stream past the caches, which belong to the table. */
#ifdef __CUDACC__
#define BULK_READ(pointer) __ldcs(pointer)
#define BULK_WRITE(pointer, value) __stcs(pointer, value)
#define BULK_ADD(pointer, value) atomicAdd((unsigned long long *)(pointer), (unsigned long long)(value))
#else
#define BULK_READ(pointer) (*(pointer))
#define BULK_WRITE(pointer, value) (*(pointer) = (value))
#define BULK_ADD(pointer, value) __atomic_fetch_add(pointer, value, __ATOMIC_RELAXED) /* a count orders nothing */
#endif

#ifdef __CUDACC__
typedef unsigned long long bulk_u64; /* the type that __ldcs knows */
#else
typedef uint64_t bulk_u64;
#endif
#if TSR_KEY_BITS == 64
typedef bulk_u64 bulk_key;
#else
typedef uint32_t bulk_key;
#endif
#if TSR_PAYLOAD_BITS == 64
typedef bulk_u64 bulk_payload;
#else
typedef uint32_t bulk_payload;
#endif

TSR_INLINE tsr_key bulk_key_at(const tsr_bulk *a, uint64_t i, uint32_t mine) {
  return mine ? BULK_READ((const bulk_key *)a->keys + i) : 0;
}

TSR_INLINE void bulk_put_payload(void *payloads, uint64_t i, tsr_payload payload) {
#if TSR_PAYLOAD_BITS > 0
  if (payloads) BULK_WRITE((bulk_payload *)payloads + i, payload);
#else
  (void)payloads;
  (void)i;
  (void)payload;
#endif
}

/* This thread's item, on the CPU `i`. On the device it is read anew, so that it takes no register of the walk before: with
 * one read for the whole kernel finds needed 35 instead of 32, three quarters of the warps. */
TSR_INLINE uint64_t bulk_item(uint64_t i) {
#ifdef __CUDACC__
  uint32_t block, thread; /* volatile: or the compiler would find out that it has read them before */
  asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(block));
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
  (void)i;
  return block * (uint64_t)TSR_BLOCK_THREADS + thread;
#else
  return i;
#endif
}

/* The steps of the lanes' inserts, those of lanes with `mine`. Tiles without room in a list allocate by themselves.
 * fresh: of walk_insert_step. Returns this lane's result. */
TSR_INLINE uint32_t bulk_put_in_step(const tsr_ctx *c, tsr_key key, tsr_payload *payload, uint32_t mine,
                                     uint32_t policy, uint32_t fresh, uint32_t is_second) {
  uint32_t todo = tsr_ballot(c, mine), result = TSR_RESULT_NONE;
  walk_insertion insertion = walk_no_insertion(policy);
  TSR_NO_UNROLL
  while (tsr_warp_any(c, todo)) {
    uint32_t turn = todo ? tsr_lowest(todo) : 0;
    insertion.key = tsr_shuffle_key(c, key, turn);
    insertion.payload = tsr_shuffle_payload(c, *payload, turn);
    uint32_t begins = !insertion.walking && todo;
    if (is_second) {
      tsr_ctx work = tsr_work_ctx(c, begins);
      tsr_take_up_key(&work, turn);
    }
    if (begins) insertion.walking = walk_begin(c, insertion.key, &insertion.probe);
    walk_insert_step(c, &insertion, fresh);
    walk_insert_append(c, &insertion);
    uint32_t done = !insertion.walking && todo, is_own = done && c->lane == turn;
    TSR_COUNT_WHERE(c, stashed, done && insertion.result == TSR_RESULT_INSERTED && insertion.probe.stashed);
    tsr_leave_key(c, turn, done, insertion.result < WALK_NEEDS_LOCK);
    result = is_own ? insertion.result : result;
    *payload = is_own ? insertion.payload : *payload;
    todo &= todo - done;
  }
  return result;
}

/* The same where pairs have places of their own and nothing is looked up. The pair in hand is kept by the lane whose turn
 * it is, in the place of its own: *key, *payload. */
TSR_INLINE uint32_t bulk_place_in_step(const tsr_ctx *c, tsr_key *key, tsr_payload *payload, uint32_t mine) {
  uint32_t todo = tsr_ballot(c, mine), result = TSR_RESULT_NONE, walking = 0;
  tsr_probe probe = {0, {0, 0}, 0, 0};
  TSR_NO_UNROLL
  while (tsr_warp_any(c, todo)) {
    uint32_t turn = todo ? tsr_lowest(todo) : 0;
    tsr_key turn_key = tsr_shuffle_key(c, *key, turn);
    tsr_payload turn_payload = tsr_shuffle_payload(c, *payload, turn);
    if (todo && !walking) walk_begin(c, turn_key, &probe);
    tsr_ctx work = tsr_work_ctx(c, todo != 0);
    uint32_t says = probing_place(&work, &turn_key, &turn_payload, &probe);
    walking = todo && says == TSR_PLACING;
    uint32_t done = todo && !walking, is_own = todo && c->lane == turn;
    tsr_leave_key(c, turn, done, says == TSR_PLACED);
    result = is_own ? says == TSR_PLACED ? TSR_RESULT_INSERTED : WALK_NEEDS_LOCK : result;
    *key = is_own ? turn_key : *key;
    *payload = is_own ? turn_payload : *payload;
    todo &= todo - done;
  }
  return result;
}

/* Pairs of reserved keys that are promised to be unique: each goes to the bucket that its key has to itself, unseen. */
TSR_INLINE void bulk_place_reserved(const tsr_ctx *c, tsr_key key, tsr_payload payload, uint32_t mine) {
  uint32_t todo = tsr_ballot(c, mine);
  TSR_NO_UNROLL
  while (tsr_warp_any(c, todo)) {
    uint32_t turn = todo ? tsr_lowest(todo) : 0, works = todo != 0;
    tsr_key turn_key = tsr_shuffle_key(c, key, turn);
    tsr_payload turn_payload = tsr_shuffle_payload(c, payload, turn);
    uint64_t ref = works ? walk_reserved_bucket(c, turn_key) : 0;
    tsr_ctx work = tsr_work_ctx(c, works);
    turn_key = walk_stored_key(turn_key);
    layout_exchange(&work, ref, 0, &turn_key, &turn_payload);
    TSR_COUNT_WHERE(c, probes, works);
    tsr_leave_key(c, turn, works, 1);
    todo &= todo - works;
  }
}

/* The inserts of a table that looks nothing up and has a place for each pair, those of lanes with `mine`; as bulk_put. */
TSR_INLINE uint32_t bulk_put_unseen(const tsr_ctx *c, tsr_key *key, tsr_payload *payload, uint32_t mine) {
  uint32_t is_reserved = walk_is_reserved(*key);
  uint32_t placed = bulk_place_in_step(c, key, payload, mine && !is_reserved);
  uint32_t result = !mine ? TSR_RESULT_NONE : is_reserved ? WALK_NEEDS_LOCK : placed;
  uint32_t walks = result == WALK_NEEDS_LOCK;
  if (TSR_FACT(c, falls_back_to_walk)) {
    uint32_t walked = bulk_put_in_step(c, *key, payload, walks, TSR_FACT(c, duplicates), 1, 1);
    return walks ? walked : result;
  }
  bulk_place_reserved(c, *key, *payload, mine && is_reserved);
  return !walks ? result : is_reserved ? TSR_RESULT_INSERTED : TSR_RESULT_NOT_PLACED;
}

/* The inserts of lanes with result == WALK_NEEDS_LOCK; returns this lane's new result. differs (a constant): each lane has
 * a policy of its own. */
TSR_INLINE uint32_t bulk_put_alone(const tsr_ctx *c, tsr_key *key, tsr_payload *payload, uint32_t policy,
                                   uint32_t differs, uint32_t result) {
  uint32_t todo = tsr_ballot(c, result == WALK_NEEDS_LOCK);
  TSR_NO_UNROLL
  while (tsr_warp_any(c, todo)) {
    uint32_t turn = todo ? tsr_lowest(todo) : 0, works = todo != 0, is_own = works && c->lane == turn;
    tsr_ctx work = tsr_work_ctx(c, works);
    tsr_key turn_key = tsr_shuffle_key(c, *key, turn);
    tsr_payload turn_payload = tsr_shuffle_payload(c, *payload, turn);
    uint32_t turn_policy = differs ? tsr_shuffle32(c, policy, turn) : policy;
    tsr_take_up_key(&work, turn);
    uint32_t turn_result = walk_insert_locked(&work, &turn_key, &turn_payload, turn_policy);
    tsr_leave_key(c, turn, works, 1);
    result = is_own ? turn_result : result;
    *key = is_own ? turn_key : *key;
    *payload = is_own ? turn_payload : *payload;
    todo &= todo - works;
  }
  return result;
}

/* Inserts the lanes' pairs, those of lanes with `mine`; returns this lane's result. policy: the table's, or WALK_FIND_OR_INSERT, a
 * constant. *key, *payload: in the end as in walk_insert_locked. First all go in step, which most inserts never leave. */
TSR_INLINE uint32_t bulk_put(const tsr_ctx *c, tsr_key *key, tsr_payload *payload, uint32_t mine, uint32_t policy) {
  uint32_t result = mine ? WALK_NEEDS_LOCK : TSR_RESULT_NONE;
  if (TSR_FACT(c, places_first)) return bulk_put_unseen(c, key, payload, mine);
  if (WALK_INSERTS_IN_STEP(c)) {
    result = bulk_put_in_step(c, *key, payload, mine, policy, !TSR_FACT(c, first_look_cached), 0);
    if (TSR_FACT(c, first_look_cached) && result == WALK_NEEDS_FRESH)
      result = bulk_put_in_step(c, *key, payload, 1, policy, 1, 1);
  }
  if (WALK_HAS_GUARD(c)) result = bulk_put_alone(c, key, payload, policy, 0, result);
  return result;
}

/* Counts and hands back a pair that found no place. */
TSR_INLINE void bulk_hand_back(const tsr_bulk *a, uint64_t i, uint32_t result, tsr_key key, tsr_payload payload) {
  if (result != TSR_RESULT_NOT_PLACED) return;
  BULK_ADD(&a->tally->not_placed, 1);
  if (a->unplaced_keys) BULK_WRITE((bulk_key *)a->unplaced_keys + i, key);
  bulk_put_payload(a->unplaced_values, i, payload);
}

/* policy: of bulk_put; with WALK_FIND_OR_INSERT values_out gets the value that the table now holds for the key. */
TSR_INLINE uint32_t bulk_place(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine, uint32_t policy) {
  tsr_key key = bulk_key_at(a, i, mine);
  tsr_payload payload = 0;
#if TSR_PAYLOAD_BITS > 0
  if (mine) payload = BULK_READ((const bulk_payload *)a->values + i);
#endif
  uint32_t result = bulk_put(c, &key, &payload, mine, policy);
  bulk_hand_back(a, i, result, key, payload);
#if TSR_PAYLOAD_BITS > 0
  if (mine && policy == WALK_FIND_OR_INSERT && a->values_out) {
    bool is_unplaced = result == TSR_RESULT_NOT_PLACED && key == bulk_key_at(a, i, 1);
    /* of a new pair `payload` may be gone: evictions end with another pair in hand */
    if (result != TSR_RESULT_FOUND)
      payload = is_unplaced ? (tsr_payload)a->missing : BULK_READ((const bulk_payload *)a->values + i);
    bulk_put_payload(a->values_out, i, payload);
  }
#endif
  if (mine && a->results) a->results[i] = (uint8_t)result;
  return result == TSR_RESULT_INSERTED;
}

TSR_INLINE uint32_t bulk_insert(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine) {
  return bulk_place(c, a, i, mine, TSR_FACT(c, duplicates));
}

TSR_INLINE uint32_t bulk_find_or_insert(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine) {
  return bulk_place(c, a, i, mine, WALK_FIND_OR_INSERT);
}

/* Searches the lanes' keys; *payload is written where this lane's was found. Tiles take their next key when they are done
 * with one, whatever the other tiles of the warp do: the warp takes as many steps as its busiest tile has buckets to
 * look at. */
TSR_INLINE uint32_t bulk_search(const tsr_ctx *c, tsr_key key, uint32_t mine, uint32_t wants_payload,
                                tsr_payload *payload) {
  uint32_t todo = tsr_ballot(c, mine), found = 0; /* todo: the tile's lanes whose keys are not done */
  walk_search search = walk_no_search();
  TSR_NO_UNROLL
  while (tsr_warp_any(c, todo)) {
    uint32_t turn = todo ? tsr_lowest(todo) : 0;
    search.key = tsr_shuffle_key(c, key, turn);
    if (!search.walking && todo) search.walking = walk_begin(c, search.key, &search.probe);
    walk_search_step(c, &search, wants_payload);
    uint32_t done = !search.walking && todo, is_found = done && search.found && c->lane == turn;
    tsr_leave_key(c, turn, done, 1);
    found = is_found ? 1 : found;
    *payload = is_found ? search.payload : *payload;
    todo &= todo - done;
  }
  return found;
}

TSR_INLINE uint32_t bulk_find(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine) {
  tsr_payload payload = (tsr_payload)a->missing;
  uint32_t found = bulk_search(c, bulk_key_at(a, i, mine), mine, 1, &payload);
  i = bulk_item(i);
  mine = i < a->n;
  if (mine) {
    bulk_put_payload(a->values_out, i, payload);
    if (a->results) a->results[i] = found ? TSR_RESULT_FOUND : TSR_RESULT_MISSING;
  }
  return found;
}

TSR_INLINE uint32_t bulk_contains(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine) {
  tsr_payload ignored = 0;
  uint32_t found = bulk_search(c, bulk_key_at(a, i, mine), mine, 0, &ignored);
  i = bulk_item(i);
  mine = i < a->n;
  if (mine) a->results[i] = (uint8_t)found;
  return found;
}

/* Where a search for all pairs puts the values: one after another from `at` on, before `end`. */
typedef struct bulk_places {
  uint64_t at, end;
} bulk_places;

/* The values of a bucket's matches, as many at a time as the tile has lanes: each lane keeps one, then they are written
 * together, next to each other. Called in step. */
TSR_INLINE void bulk_put_payloads(const tsr_ctx *c, const tsr_bulk *a, const tsr_bucket *b, uint32_t matches,
                                  bulk_places *places) {
  uint32_t kept = 0;
  tsr_payload own = 0;
  TSR_NO_UNROLL
  while (tsr_warp_any(c, matches != 0)) {
    tsr_payload payload = layout_payload(c, b, matches ? tsr_lowest(matches) : 0);
    if (c->lane == kept) own = payload;
    kept += matches != 0;
    matches &= matches - 1;
    uint32_t writes = kept == TSR_FACT(c, tile_lanes) || !matches ? kept : 0;
    if (c->lane < writes && places->at + c->lane < places->end)
      bulk_put_payload(a->values_out, places->at + c->lane, own);
    places->at += writes;
    kept -= writes;
  }
}

/* Searches all pairs of the lanes' keys, in step as bulk_search does; returns how many this lane's key has. writes: a
 * constant; with it the values go to `mine_to`, the places of this lane's key. */
TSR_INLINE uint64_t bulk_search_all(const tsr_ctx *c, const tsr_bulk *a, tsr_key key, uint32_t mine, uint32_t writes,
                                    bulk_places mine_to) {
  uint32_t todo = tsr_ballot(c, mine);
  uint64_t pairs = 0, own_pairs = 0; /* of the key in work, and of this lane's */
  bulk_places to = {0, 0};
  walk_search search = walk_no_search();
  TSR_NO_UNROLL
  while (tsr_warp_any(c, todo)) {
    tsr_bucket b;
    uint32_t turn = todo ? tsr_lowest(todo) : 0;
    search.key = tsr_shuffle_key(c, key, turn);
    uint64_t turn_at = writes ? tsr_shuffle64(c, mine_to.at, turn) : 0;
    uint64_t turn_end = writes ? tsr_shuffle64(c, mine_to.end, turn) : 0;
    if (!search.walking && todo) {
      search.walking = walk_begin(c, search.key, &search.probe);
      pairs = 0;
      to.at = turn_at;
      to.end = turn_end;
    }
    uint32_t matches = walk_search_look(c, &search, TSR_LOAD_SETTLED, &b);
    pairs += tsr_count_bits(matches);
    if (writes) bulk_put_payloads(c, a, &b, matches, &to);
    /* where a key has one pair its walk may pass that bucket twice */
    if (matches && TSR_FACT(c, duplicates) != TSR_DUPLICATES_KEEP) search.walking = 0;
    walk_search_go_on(c, &search, &b);
    uint32_t done = !search.walking && todo;
    tsr_leave_key(c, turn, done, 1);
    /* fewer than were counted, where another operation may erase meanwhile: no place stays unwritten */
    TSR_NO_UNROLL
    for (; writes && TSR_FACT(c, is_mixed) && done && to.at < to.end; to.at++)
      if (c->lane == 0) bulk_put_payload(a->values_out, to.at, (tsr_payload)a->missing);
    own_pairs = done && c->lane == turn ? pairs : own_pairs;
    todo &= todo - done;
  }
  return own_pairs;
}

TSR_INLINE uint32_t bulk_count(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine) {
  bulk_places nowhere = {0, 0};
  uint64_t pairs = bulk_search_all(c, a, bulk_key_at(a, i, mine), mine, 0, nowhere);
  i = bulk_item(i);
  mine = i < a->n;
  if (mine) {
    a->counts[i] = pairs;
    if (a->results) a->results[i] = pairs ? TSR_RESULT_FOUND : TSR_RESULT_MISSING;
  }
  return pairs != 0;
}

TSR_INLINE uint32_t bulk_retrieve(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine) {
  bulk_places to = {0, 0};
  if (mine) {
    to.at = a->counts[i];
    to.end = a->counts[i + 1] < a->room ? a->counts[i + 1] : a->room;
  }
  return bulk_search_all(c, a, bulk_key_at(a, i, mine), mine, 1, to) != 0;
}

/* Erases pairs of the lanes' keys, of lanes with `mine`; one, fresh, stale: of walk_erase_step. Returns how many of this
 * lane's. In step, as bulk_search. */
TSR_INLINE uint64_t bulk_take_in_step(const tsr_ctx *c, tsr_key key, tsr_payload payload, uint32_t mine, uint32_t fresh,
                                      uint32_t one, uint32_t any, uint32_t *stale) {
  uint32_t todo = tsr_ballot(c, mine);
  uint64_t erased = 0, turn_erased = 0;
  walk_search search = walk_no_search();
  TSR_NO_UNROLL
  while (tsr_warp_any(c, todo)) {
    uint32_t turn = todo ? tsr_lowest(todo) : 0, turn_stale;
    tsr_key turn_key = tsr_shuffle_key(c, key, turn);
    tsr_payload turn_payload = one ? tsr_shuffle_payload(c, payload, turn) : 0;
    if (!search.walking && todo) {
      search.key = turn_key; /* kept, unlike elsewhere: at one lane a tile that takes fewer registers */
      search.walking = walk_begin(c, search.key, &search.probe);
      turn_erased = 0;
    }
    turn_erased += walk_erase_step(c, &search, fresh, turn_payload, one, any, &turn_stale);
    uint32_t done = !search.walking && todo, is_own = done && c->lane == turn;
    tsr_leave_key(c, turn, done && !turn_stale, 1);
    erased = is_own ? turn_erased : erased;
    *stale = is_own ? turn_stale : *stale;
    todo &= todo - done;
  }
  return erased;
}

/* one (a constant): erases one pair, with the value given if any are, else all pairs of the key. Returns how many. */
TSR_INLINE uint64_t bulk_take(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine, uint32_t one) {
  tsr_key key = bulk_key_at(a, i, mine);
  tsr_payload payload = 0;
  uint32_t stale = 0;
#if TSR_PAYLOAD_BITS > 0
  if (one && mine && a->values) payload = BULK_READ((const bulk_payload *)a->values + i);
#endif
  uint64_t erased = bulk_take_in_step(c, key, payload, mine, !TSR_FACT(c, first_look_cached), one, !a->values, &stale);
  if (TSR_FACT(c, first_look_cached) && stale)
    erased = bulk_take_in_step(c, key, payload, 1, 1, one, !a->values, &stale);
  i = bulk_item(i);
  mine = i < a->n;
  if (mine && a->results) a->results[i] = erased ? TSR_RESULT_ERASED : TSR_RESULT_MISSING;
  return erased;
}

/* A key's erased pairs beyond the first, which a block's sum may have no room for, are added to *hits. */
TSR_INLINE uint32_t bulk_taken(uint64_t *hits, uint64_t erased) {
  if (erased > 1) BULK_ADD(hits, erased - 1);
  return erased != 0;
}

TSR_INLINE uint32_t bulk_erase(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine) {
  return bulk_taken(&a->tally->hits, bulk_take(c, a, i, mine, 0));
}

TSR_INLINE uint32_t bulk_erase_pair(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine) {
  return bulk_taken(&a->tally->hits, bulk_take(c, a, i, mine, 1));
}

/* ---- All operations at once ------------------------------------------------------------------ */

/* What one lane of `apply` did: for each class 10 bits of a word, so that the lanes of a block add up in it. */
typedef struct bulk_answer {
  uint32_t asked, answered;
} bulk_answer;
enum { BULK_CLASS_BITS = 10, BULK_CLASS_MASK = (1 << BULK_CLASS_BITS) - 1 };

/* Nanoseconds of a clock that all threads share. */
TSR_INLINE uint64_t bulk_clock(void) {
#ifdef __CUDACC__
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now) : : "memory");
  return now;
#else
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
#endif
}

/* ends: 0 when the lane's operation begins, 1 when it has ended. */
TSR_INLINE void bulk_note_time(const tsr_bulk *a, uint64_t i, uint32_t mine, uint32_t ends) {
  if (a->times && mine) a->times[2 * i + ends] = bulk_clock();
}

/* What the operation of an item is to the walk, or BULK_NO_OPERATION. */
enum { BULK_NO_OPERATION = WALK_ERASE + 1 };
TSR_INLINE uint32_t bulk_policy_of(const tsr_ctx *c, uint32_t operation) {
  uint32_t looks =
      TSR_FACT(c, duplicates) != TSR_DUPLICATES_PROMISE_UNIQUE && TSR_FACT(c, duplicates) != TSR_DUPLICATES_KEEP;
  if (operation == TSR_APPLY_FIND) return WALK_FIND;
  if (operation == TSR_APPLY_ERASE) return WALK_ERASE;
  if (operation == TSR_APPLY_INSERT) return TSR_FACT(c, duplicates);
  return operation == TSR_APPLY_REPLACE && looks ? TSR_DUPLICATES_REPLACE : BULK_NO_OPERATION;
}

/* The steps of the lanes' operations, as bulk_put_in_step. *erased: with TSR_DUPLICATES_KEEP how many pairs
 * this lane's operation erased. */
TSR_INLINE uint32_t bulk_apply_in_step(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, tsr_key key,
                                       tsr_payload *payload, uint32_t policy, uint64_t *erased) {
  uint32_t mine = policy < WALK_FIND ? WALK_INSERTS_IN_STEP(c) : policy < BULK_NO_OPERATION;
  uint32_t todo = tsr_ballot(c, mine), result = policy < WALK_FIND ? WALK_NEEDS_LOCK : TSR_RESULT_NONE;
  uint64_t turn_erased = 0;
  walk_insertion operation = walk_no_insertion(WALK_FIND);
  TSR_NO_UNROLL
  while (tsr_warp_any(c, todo)) {
    uint32_t turn = todo ? tsr_lowest(todo) : 0;
    operation.key = tsr_shuffle_key(c, key, turn);
    operation.payload = tsr_shuffle_payload(c, *payload, turn);
    operation.policy = tsr_shuffle32(c, policy, turn);
    if (!operation.walking && todo) {
      bulk_note_time(a, i, c->lane == turn, 0);
      operation.walking = walk_begin(c, operation.key, &operation.probe);
      turn_erased = 0;
    }
    uint32_t gone = walk_operate_step(c, &operation);
    if (TSR_FACT(c, duplicates) == TSR_DUPLICATES_KEEP) turn_erased += gone;
    walk_insert_append(c, &operation);
    uint32_t done = !operation.walking && todo, is_own = done && c->lane == turn;
    TSR_COUNT_WHERE(c, stashed, done && operation.result == TSR_RESULT_INSERTED && operation.probe.stashed);
    tsr_leave_key(c, turn, done, operation.result < WALK_NEEDS_LOCK);
    bulk_note_time(a, i, is_own, 1);
    result = is_own ? turn_erased ? TSR_RESULT_ERASED : operation.result : result;
    *payload = is_own ? operation.payload : *payload;
    *erased = is_own ? turn_erased : *erased;
    todo &= todo - done;
  }
  return result;
}

/* Each lane has an operation of its own: the items of a call have no order, and other warps are elsewhere. */
TSR_INLINE bulk_answer bulk_apply(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine) {
  uint32_t policy = mine ? bulk_policy_of(c, a->operations[i]) : BULK_NO_OPERATION;
  uint32_t inserts = policy < WALK_FIND, kind = inserts ? TSR_CLASS_INSERT : TSR_CLASS_ERASE;
  uint64_t erased = 0;
  bulk_answer answer = {0, 0};
  tsr_key key = bulk_key_at(a, i, policy < BULK_NO_OPERATION);
  tsr_payload payload = 0;
#if TSR_PAYLOAD_BITS > 0
  if (inserts) payload = BULK_READ((const bulk_payload *)a->values + i);
#endif
  uint32_t result = bulk_apply_in_step(c, a, i, key, &payload, policy, &erased);
  uint32_t waits = result == WALK_NEEDS_LOCK;
  if (!WALK_INSERTS_IN_STEP(c)) bulk_note_time(a, i, waits, 0);
  if (WALK_HAS_GUARD(c)) result = bulk_put_alone(c, &key, &payload, policy, 1, result);
  if (TSR_FACT(c, places_first) && tsr_warp_any(c, waits)) {
    uint32_t put = bulk_put_unseen(c, &key, &payload, waits);
    result = waits ? put : result;
  }
  bulk_note_time(a, i, waits, 1);
  bulk_hand_back(a, i, result, key, payload);
  if (policy == WALK_FIND) {
    kind = TSR_CLASS_FIND;
    bulk_put_payload(a->values_out, i, result == TSR_RESULT_FOUND ? payload : (tsr_payload)a->missing);
  }
  if (mine && a->results) a->results[i] = (uint8_t)result;
  if (policy < BULK_NO_OPERATION) {
    uint32_t hit = result == TSR_RESULT_INSERTED || result == TSR_RESULT_FOUND || result == TSR_RESULT_ERASED;
    bulk_taken(&a->tally->answered[TSR_CLASS_ERASE], erased);
    answer.asked = 1u << kind * BULK_CLASS_BITS;
    answer.answered = hit << kind * BULK_CLASS_BITS;
  } else if (mine) {
    bulk_note_time(a, i, 1, 0);
    bulk_note_time(a, i, 1, 1);
  }
  return answer;
}

/* ---- Scans ----------------------------------------------------------------------------------- */

/* Pairs in bucket `ref`, and erased slots, as masks of slots; 0 without `active`. Called in step, as walk_find is. */
TSR_INLINE uint32_t bulk_occupied(const tsr_ctx *c, uint64_t ref, uint32_t active, tsr_bucket *b, uint32_t *erased) {
  layout_load(c, ref, active, tsr_load_mode(c, 0), b);
  *erased = 0;
  if (!TSR_FACT(c, warp_sync) && !active) return 0;
  uint32_t vacant = layout_vacant(c, b), empties = layout_empties(c, b);
  if (!active) return 0;
  *erased = vacant & ~empties;
  return tsr_slot_mask(c) & ~vacant;
}

/* The bucket that an item of a scan stands for: first those with an index, then the allocator's units, where they are
 * buckets. False if there is none: past the end, or a unit that is not in use; *ref is one that exists all the same, for
 * a tile without work may read there. */
TSR_INLINE uint32_t bulk_scanned(const tsr_ctx *c, uint64_t i, uint32_t mine, uint64_t *ref) {
  uint64_t buckets = c->t->buckets + TSR_TAIL_RESERVED + c->t->stash_buckets;
  *ref = mine ? i : 0;
  if (!TSR_FACT(c, has_link) || i < buckets || !mine) return mine;
  uint32_t unit = allocator_used(c, i - buckets), is_used = unit != TSR_NO_HANDLE;
  *ref = is_used ? TSR_UNIT_REF | unit : 0;
  return is_used;
}

TSR_INLINE uint32_t bulk_size(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine) {
  uint64_t ref;
  uint32_t is_there = bulk_scanned(c, i, mine, &ref), hits = 0, todo = tsr_ballot(c, is_there);
  if (is_there && ref & TSR_UNIT_REF) BULK_ADD(&a->tally->units, 1);
  TSR_NO_UNROLL
  for (uint32_t turn = 0; turn < TSR_FACT(c, tile_lanes); turn++) {
    tsr_bucket b;
    uint32_t erased, pairs = bulk_occupied(c, tsr_shuffle64(c, ref, turn), todo >> turn & 1u, &b, &erased);
    if (c->lane != turn) continue;
    hits = tsr_count_bits(pairs);
    if (erased) BULK_ADD(&a->tally->tombstones, tsr_count_bits(erased));
  }
  return hits;
}

/* Writes pairs from keys_out[tally->hits] on, in no particular order; n there bounds what the caller allocated, because
 * it counted first and nothing inserts meanwhile. */
TSR_INLINE uint32_t bulk_export(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine) {
  uint64_t mine_ref;
  uint32_t todo = tsr_ballot(c, bulk_scanned(c, i, mine, &mine_ref));
  TSR_NO_UNROLL
  for (uint32_t turn = 0; turn < TSR_FACT(c, tile_lanes); turn++) {
    tsr_bucket b;
    uint64_t ref = tsr_shuffle64(c, mine_ref, turn), at = 0;
    uint32_t erased, pairs = bulk_occupied(c, ref, todo >> turn & 1u, &b, &erased);
    if (c->lane == 0 && pairs) at = BULK_ADD(&a->tally->hits, tsr_count_bits(pairs));
    for (; tsr_warp_any(c, pairs); pairs &= pairs - 1, at++) {
      uint32_t slot = pairs ? tsr_lowest(pairs) : 0;
      tsr_key key = walk_user_key(c, ref, layout_key(c, &b, slot));
      tsr_payload payload = layout_payload(c, &b, slot);
      if (c->lane != 0 || !pairs) continue;
      BULK_WRITE((bulk_key *)a->keys_out + at, key);
      bulk_put_payload(a->values_out, at, payload);
    }
  }
  return 0; /* counted above */
}

/* Items are the buckets with an index, the stash's apart. */
TSR_INLINE uint32_t bulk_flush(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine) {
  uint32_t todo = tsr_ballot(c, mine), released = 0;
  if (!TSR_FACT(c, has_link)) return 0;
  TSR_NO_UNROLL
  for (uint32_t turn = 0; turn < TSR_FACT(c, tile_lanes); turn++) {
    uint32_t active = todo >> turn & 1u;
    if (!tsr_warp_any(c, active)) continue;
    tsr_ctx work = tsr_work_ctx(c, active);
    released += walk_flush(&work, tsr_shuffle64(c, i, turn));
  }
  if (c->lane == 0 && released) BULK_ADD(&a->tally->units, released);
  return 0;
}

#endif

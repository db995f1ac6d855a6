/* SPDX-License-Identifier: Apache-2.0
 *
 * The queue: every lane has an item of its own, and its tile works through the lanes' items in turn (BGHT 5.1,
 * SlabHash IV-A; with one lane per tile it is a thread per key). A tile begins its next item as soon as it is done
 * with one, whatever the other tiles of its warp do: the warp takes as many steps as its busiest tile needs
 * (core/design/0008).
 */
#ifndef TSR_QUEUE_CUH
#define TSR_QUEUE_CUH

#include "core/kernels/filter.cuh"
#include "core/kernels/io.cuh"
#include "core/kernels/locked.cuh"

/* One lane's item and its result. The code that makes an item sets what its kind of operation reads. A member that is
 * set to the same constant on all lanes stays a constant in the kernel, and takes no register. */
typedef struct tsr_item {
  tsr_key key;
  tsr_payload payload;  /* offered; at the end what was found, or that of the unplaced pair */
  uint32_t policy;      /* of an insert, or of OP_MIXED */
  uint32_t mixes;       /* 1: each lane has a policy of its own */
  uint32_t result;      /* TSR_RESULT_, or NEEDS_; a find changes it only to TSR_RESULT_FOUND */
  uint32_t any_payload; /* OP_ERASE_PAIR: whatever its payload */
  uint64_t pairs;       /* counted, retrieved or erased */
  uint64_t at, end;     /* OP_RETRIEVE: payloads go to payloads[at] .. payloads[end - 1]; as in tsr_op */
  void *payloads;
  tsr_payload missing; /* ... and this, where a pair has been erased since it was counted */
  uint64_t *times;     /* when item i began, at 2 i, and ended, at 2 i + 1; or NULL */
  uint64_t i;          /* ... for it */
} tsr_item;

TSR_INLINE bool op_has_payload(uint32_t kind) {
  return op_inserts(kind) || kind == OP_COMBINE || kind == OP_ERASE_PAIR || kind == OP_PLACE ||
         kind == OP_PLACE_RESERVED || kind == OP_INSERT_LOCKED;
}

/* Makes the item of lane `turn` the tile's: all lanes get what its operation reads. Collective. */
TSR_INLINE void take_item(const tsr_ctx *c, const tsr_item *own, uint32_t turn, uint32_t kind, tsr_op *op) {
  op->key = tsr_shuffle_key(c, own->key, turn);
  if (op_has_payload(kind)) op->payload = tsr_shuffle_payload(c, own->payload, turn);
  op->policy = own->mixes ? tsr_shuffle32(c, own->policy, turn) : own->policy;
  if (own->mixes && kind == OP_INSERT_LOCKED) /* one of two constants, or of one, which the compiler then knows */
    op->policy = op->policy == TSR_DUPLICATES_REPLACE ? TSR_DUPLICATES_REPLACE : TSR_FACT(c, duplicates);
  op->any_payload = own->any_payload;
}

/* Returns the key and hides from the compiler that it is the same in each turn of the queue. Otherwise a lane alone,
 * which has one item, would compute before the queue where the walk begins, and keep that in registers to the end
 * (core/design/0008-tiles-in-step.md). */
TSR_INLINE tsr_key beginning_key(tsr_key key) {
#if defined(__CUDACC__) && TSR_KEY_BITS == 128
  uint64_t low = (uint64_t)key, high = (uint64_t)(key >> 64);
  asm volatile("" : "+l"(low), "+l"(high));
  return (tsr_key)high << 64 | low;
#elif defined(__CUDACC__)
  uint64_t bits = key;
  asm volatile("" : "+l"(bits));
  return (tsr_key)bits;
#else
  return key;
#endif
}

/* Begins an operation, for tiles with `begins`. Collective. */
TSR_INLINE void begin(const tsr_ctx *c, const tsr_item *own, uint32_t turn, uint32_t kind, uint32_t begins,
                      uint32_t resumes, tsr_op *op) {
  uint64_t at = kind == OP_RETRIEVE ? tsr_shuffle64(c, own->at, turn) : 0;
  uint64_t end = kind == OP_RETRIEVE ? tsr_shuffle64(c, own->end, turn) : 0;
  if (!begins) return;
  if (!resumes && own->times && c->lane == turn)
    own->times[2 * (TAKES_TURNS(c) ? own->i : io_item(own->i))] = io_clock();
  op->pairs = 0;
  op->at = at;
  op->end = end;
  if (kind == OP_PLACE) {
    place_begin(c, op->key, &op->placing);
  } else if (kind != OP_PLACE_RESERVED && kind != OP_INSERT_LOCKED) {
    op->walking = walk_begin(c, beginning_key(op->key), &op->probe);
    if (TSR_FACT(c, has_lists)) op->result = decide_at_end(c, op, kind); /* an empty list has no bucket */
  }
}

/* A pair of a reserved key that is promised to be unique goes to the key's own bucket, without a look. */
TSR_INLINE void place_reserved(const tsr_ctx *c, tsr_op *op) {
  tsr_key key = walk_stored_key(op->key);
  layout_exchange(c, c->active ? walk_reserved_bucket(c, op->key) : 0, 0, &key, &op->payload);
  TSR_COUNT_WHERE(c, probes, c->active);
  op->result = TSR_RESULT_INSERTED;
}

/* Takes the operation of a tile a step further, if it has one; returns whether it is done. */
TSR_INLINE uint32_t take_step(const tsr_ctx *c, tsr_op *op, uint32_t kind, uint32_t coherent) {
  if (kind == OP_PLACE) {
    uint32_t placed = place_step(c, &op->key, &op->payload, &op->placing);
    op->result = placed == TSR_RESULT_NOT_PLACED ? (uint32_t)NEEDS_WALK : placed;
    op->walking = c->active && op->result == TSR_RESULT_NONE;
  } else if (kind == OP_PLACE_RESERVED) {
    place_reserved(c, op);
  } else if (kind == OP_INSERT_LOCKED) {
    op->result = insert_locked(c, &op->key, &op->payload, op->policy);
  } else {
    step(c, op, kind, coherent);
  }
  return c->active && !op->walking;
}

/* Whether an insert's key has a slot now. */
TSR_INLINE uint32_t is_in_table(uint32_t result) {
  return result == TSR_RESULT_INSERTED || result == TSR_RESULT_PRESENT;
}

/* Gives the result to the lane whose item it was. */
TSR_INLINE void give_item(const tsr_ctx *c, const tsr_op *op, uint32_t turn, uint32_t kind, uint32_t done,
                          tsr_item *own) {
  const uint32_t is_turn = c->lane == turn, is_own = done && is_turn;
  const uint32_t finds = op_looks(kind);
  const uint32_t tells = is_own && (!finds || op->result == TSR_RESULT_FOUND);
  own->result = tells ? finds ? (uint32_t)TSR_RESULT_FOUND : op->result : own->result;
  if (op_counts(kind) || op_erases(kind) || kind == OP_MIXED) own->pairs = is_own ? op->pairs : own->pairs;
  if (kind == OP_LOCATE || ((kind == OP_ERASE || kind == OP_INSERT) && TSR_FACT(c, value_list_first)))
    own->at = is_own && (kind != OP_INSERT || is_in_table(op->result)) ? op->at : own->at;
  if (kind == OP_FIND || kind == OP_NOTE || kind == OP_INSERT || kind == OP_MIXED)
    own->payload = tells ? op->payload : own->payload;
  if (kind == OP_PLACE ||
      kind == OP_INSERT_LOCKED) { /* the pair in hand may be another one, also before the operation is done */
    const uint32_t has_pair = kind == OP_PLACE ? c->active && is_turn : is_own;
    own->key = has_pair ? op->key : own->key;
    own->payload = has_pair ? op->payload : own->payload;
  }
  if (own->times && is_own) own->times[2 * (TAKES_TURNS(c) ? own->i : io_item(own->i)) + 1] = io_clock();
}

/* Works through the items of the lanes with `mine`: collective over the warp. coherent: of step(). resumes: these items
 * were worked on before (they NEED something), so their counts go on. kind, coherent and resumes are constants. */
TSR_INLINE void run(const tsr_ctx *c, tsr_item *own, uint32_t mine, uint32_t kind, uint32_t coherent,
                    uint32_t resumes) {
  uint32_t todo = tsr_ballot(c, mine); /* the lanes of the tile whose items are not done */
  tsr_op op; /* members that a masked tile does not read are left undefined, because zeros would take registers */
  op.walking = 0;
  op.probe.ref = op.placing.ref = 0;
  op.probe.visited = op.probe.stashed = op.probe.page = op.placing.page = 0;
  op.payloads = own->payloads;
  TSR_NO_UNROLL
  while (tsr_warp_any(c, todo)) {
    uint32_t turn = todo ? tsr_lowest(todo) : 0, begins = !op.walking && todo;
    tsr_ctx working = tsr_masked(c, todo != 0), beginning = tsr_masked(c, begins);
    take_item(c, own, turn, kind, &op);
    if (resumes) tsr_take_up_key(&beginning, turn);
    begin(c, own, turn, kind, begins, resumes, &op);
    uint32_t done = take_step(&working, &op, kind, coherent);
    /* Where another operation erases meanwhile, there may be fewer values than were counted; the others are `missing`. */
    TSR_NO_UNROLL
    for (; kind == OP_RETRIEVE && is_mixed(c) && done && op.at < op.end; op.at++)
      if (c->lane == 0) io_put_payload(op.payloads, op.at, own->missing);
    tsr_leave_key(c, turn, done, op.result < NEEDS_LOCK);
    give_item(&working, &op, turn, kind, done, own);
    todo &= todo - done;
  }
}

/* ---- Inserts --------------------------------------------------------------------------------- */

/* Pairs that the scheme has not placed: reserved keys, and pairs for which it knows no place, which may find room along
 * their walk. */
TSR_INLINE void insert_unplaced(const tsr_ctx *c, tsr_item *own, uint32_t mine, uint32_t is_reserved) {
  if (TSR_FACT(c, falls_back_to_walk)) {
    const uint32_t has_walk = !TSR_FACT(c, fingerprint_bits); /* of a fingerprint in hand nobody knows the walk */
    run(c, own, is_reserved || (has_walk && mine && own->result == NEEDS_WALK), OP_INSERT, 1, 1);
    if (has_walk) return;
  } else {
    run(c, own, is_reserved, OP_PLACE_RESERVED, 0, 0);
  }
  own->result = mine && own->result == NEEDS_WALK ? (uint32_t)TSR_RESULT_NOT_PLACED : own->result;
}

/* Where nothing is looked up and the scheme has a place for each pair; reserved keys have theirs without it. */
TSR_INLINE void insert_unseen(const tsr_ctx *c, tsr_item *own, uint32_t mine) {
  uint32_t is_reserved = mine && walk_is_reserved(own->key);
  run(c, own, mine && !is_reserved, OP_PLACE, 0, 0);
  insert_unplaced(c, own, mine, is_reserved);
}

/* Whether a lane's key is to be looked for in the table: not if the filter before it says that it is absent. Such a key
 * counts as one that was looked for in no bucket. */
TSR_INLINE uint32_t passes_filter(const tsr_ctx *c, const tsr_item *own, uint32_t mine) {
  if (!filter_is_before(c)) return mine;
  uint64_t *times = own->times && mine ? own->times + 2 * (TAKES_TURNS(c) ? own->i : io_item(own->i)) : NULL;
  if (times) times[0] = io_clock();
  const uint32_t passes = filter_contains(c, own->key, mine), stops = mine && !passes;
  if (times && stops) times[1] = io_clock();
  tsr_count_unseen(c, stops);
  return passes;
}

/* Looks for the lanes' keys, by OP_FIND, OP_CONTAINS, OP_COUNT or OP_NOTE: own->result, or pairs, and the payload that
 * was found. */
TSR_INLINE void look_up(const tsr_ctx *c, tsr_item *own, uint32_t mine, uint32_t kind) {
  if (TSR_FACT(c, is_filter)) {
    own->pairs = filter_contains(c, own->key, mine);
    own->result = own->pairs ? (uint32_t)TSR_RESULT_FOUND : own->result;
    return;
  }
  run(c, own, passes_filter(c, own, mine), kind, 0, 0);
}

/* Continues inserts that need coherent looks or their key's lock, as own->result says. */
TSR_INLINE void insert_on(const tsr_ctx *c, tsr_item *own) {
  do { /* unbounded where LOOKS_AGAIN: the holder of a lock is always running */
    if (BEGINS_WITH_STEPS(c)) run(c, own, own->result == NEEDS_COHERENT, OP_INSERT, 1, 1);
    if (HAS_GUARD(c)) run(c, own, own->result == NEEDS_LOCK, OP_INSERT_LOCKED, 1, BEGINS_WITH_STEPS(c));
  } while (LOOKS_AGAIN(c) && tsr_warp_any(c, own->result == NEEDS_COHERENT));
}

/* Whether the table is smaller than a GPU's L2, so that many lanes meet at a bucket. A lane that loses a slot would
 * begin again, and does not if its first look is coherent (core/design/0004-uniqueness.md). */
TSR_INLINE bool meets_often(const tsr_ctx *c) {
  const uint32_t bucket_bytes = TSR_FACT(c, bucket_slots) * (TSR_KEY_BITS + TSR_PAYLOAD_BITS) / 8;
  return TSR_FACT(c, guard) == TSR_GUARD_CLAIM && walk_tail(c) * bucket_bytes < (48ull << 20);
}

/* Inserts the lanes' items. own->result says what happened; with TSR_RESULT_NOT_PLACED own->key and own->payload are
 * the unplaced pair. First come the steps, which most inserts never leave. */
TSR_INLINE void insert(const tsr_ctx *c, tsr_item *own, uint32_t mine) {
  const uint32_t first = BEGINS_WITH_STEPS(c) ? NEEDS_COHERENT : NEEDS_LOCK;
  own->result = mine ? first : (uint32_t)TSR_RESULT_NONE;
  tsr_begin_key(c); /* whatever `resumes` says below */
  if (TSR_FACT(c, is_filter)) {
    own->result = filter_insert(c, own->key, mine);
    return;
  }
  if (TSR_FACT(c, places_first)) {
    insert_unseen(c, own, mine);
    return;
  }
  if (BEGINS_WITH_STEPS(c) && TSR_FACT(c, first_look_cached)) run(c, own, mine && !meets_often(c), OP_INSERT, 0, 0);
  insert_on(c, own);
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * What a tile works on (tsr_op), and what it sees of one bucket (tsr_view). Read next: decide.cuh.
 */
#ifndef TSR_LOOK_CUH
#define TSR_LOOK_CUH

#include "core/kernels/bulk.h"
#include "core/kernels/walk.cuh"

/* What an operation is. `kind` is a constant wherever it is passed on, so that a kernel has code for its own kind
 * alone. */
enum {
  OP_FIND,
  OP_CONTAINS, /* as find, without reading the payload */
  OP_LOCATE,   /* as contains, and where its slot is (value_list.cuh) */
  OP_COUNT,    /* how many pairs the key has */
  OP_NOTE,     /* the same, and the payload of one of them */
  OP_RETRIEVE, /* the payloads of all of them */
  OP_INSERT,   /* as far as it needs no lock */
  OP_COMBINE,  /* combines the payload with that of the present pair, while nothing else happens to pairs */
  OP_CLAIM,    /* puts the pair into the first vacant slot, whatever else the walk may hold */
  OP_ERASE,
  OP_ERASE_PAIR,
  OP_MIXED, /* what the item's policy says: an insert, a find or an erase */
  OP_PLACE, /* places a new pair by a scheme that decides where pairs go (place.cuh) */
  OP_PLACE_RESERVED,
  OP_INSERT_LOCKED /* all of an insert, with the key's lock (locked.cuh) */
};

/* What an operation does with a present key. An insert follows a policy of TSR_DUPLICATES_, or only takes its
 * payload. POLICY_LATER tries once and otherwise leaves it to OP_COMBINE. The last two are for OP_MIXED: it looks,
 * or it erases. */
enum { POLICY_FIND_OR_INSERT = TSR_DUPLICATES_POLICIES, POLICY_LATER, POLICY_FIND, POLICY_ERASE, POLICIES };

/* Results in addition to TSR_RESULT_: what an operation needs before it can end. NEEDS_NOTHING is not 0 on purpose: the
 * compiler merges two tests for 0 into one before it knows the layout's functions, and then needs more instructions for
 * both (core/design/0008-tiles-in-step.md). */
enum {
  NEEDS_NOTHING = TSR_RESULTS,
  NEEDS_LOCK,     /* the claim of this insert cannot be its guard */
  NEEDS_COHERENT, /* its look was too old */
  NEEDS_UNIT,     /* its list must become longer */
  NEEDS_WALK,     /* the scheme knows no place for the pair, but its walk may have one */
  NEEDS_COMBINE   /* its key is present, and its value was not combined (POLICY_LATER) */
};

/* One operation of a tile: a state that advances by a bucket per step. A tile can begin its next item when it is done
 * with one, whatever the other tiles of the warp do. */
typedef struct tsr_op {
  tsr_probe probe;  /* with NEEDS_UNIT its ref is the end of the list */
  uint32_t walking; /* 0: finished, see result */
  uint32_t result;  /* set by each step, like payload where something was found; valid if finished */
  /* The item: read from the lane that holds it for each step, so that no register has to keep it. */
  tsr_key key;
  tsr_payload payload;
  uint32_t policy;
  uint32_t any_payload; /* OP_ERASE_PAIR: the payload does not matter */
  uint64_t pairs;       /* counted or erased so far; OP_INSERT, where TELLS_LONG_WALKS: buckets passed */
  /* OP_RETRIEVE: the next payload goes to payloads[at], as long as that is before `end`. In a table with value lists `at` is
   * the place of the slot that was found, claimed or erased. */
  uint64_t at, end;
  void *payloads;
  tsr_placing placing; /* OP_PLACE */
} tsr_op;

/* What a tile sees in a bucket, as masks of slots. A mask that operations of this kind do not ask for is 0. */
typedef struct tsr_view {
  uint32_t matches; /* hold the key */
  uint32_t empties; /* never used since clear */
  uint32_t vacant;  /* empty or erased */
  uint32_t link;    /* the unit that continues the bucket */
} tsr_view;

/* Where a table keeps every pair of a key, an insert passes those that are there. One that has passed this many buckets, or
 * units, is counted, so that a user learns of keys with thousands of pairs. There are no sums that overflow in such a
 * table, so this is the same counter. */
enum { LONG_WALK = 1024 };
#define TELLS_LONG_WALKS(c)                                                                                            \
  (TSR_FACT(c, duplicates) == TSR_DUPLICATES_KEEP && !TSR_FACT(c, has_lists) && !TSR_FACT(c, fingerprint_bits) &&      \
   !TSR_FACT(c, in_page))

/* Operations of all kinds overlap. */
TSR_INLINE bool is_mixed(const tsr_ctx *c) { return TSR_FACT(c, is_mixed) != 0; }

/* Whether inserts and erases take turns although the table is mixed. Then a claim guards itself, and erased slots are
 * reused without locks (core/design/0004-uniqueness.md). In lists they overlap, and erased slots are passed by. A
 * macro, like those of locked.cuh; TSR_TAKES_TURNS is the same for the host. */
#define TAKES_TURNS(c) (TSR_FACT(c, is_mixed) && TSR_FACT(c, guard) == TSR_GUARD_CLAIM && !TSR_FACT(c, has_link))
TSR_INLINE bool claims_meet_erases(const tsr_ctx *c) { return is_mixed(c) && !TAKES_TURNS(c); }

TSR_INLINE bool op_erases(uint32_t kind) { return kind == OP_ERASE || kind == OP_ERASE_PAIR; }
TSR_INLINE bool op_inserts(uint32_t kind) { return kind == OP_INSERT || kind == OP_CLAIM || kind == OP_MIXED; }
TSR_INLINE bool op_looks(uint32_t kind) { return kind == OP_FIND || kind == OP_CONTAINS || kind == OP_LOCATE; }
TSR_INLINE bool op_counts(uint32_t kind) { return kind == OP_COUNT || kind == OP_NOTE || kind == OP_RETRIEVE; }

/* How a step of this kind loads. Nothing writes while a table of phases is only read; an insert that locates its key
 * loads past L1. */
TSR_INLINE uint32_t op_load_mode(const tsr_ctx *c, uint32_t kind, uint32_t coherent) {
  const bool reads = !coherent && (op_looks(kind) || op_counts(kind));
  return tsr_load_mode(c, reads ? TSR_LOAD_SETTLED : coherent ? TSR_LOAD_COHERENT : 0);
}

/* Whether notes of what key 0 stands for are made meanwhile. Otherwise they are read like all memory. Reading past L1
 * takes assembly, which in a loop hides from ptxas below sm_90 that lanes meet again. */
TSR_INLINE uint32_t op_meets_notes(const tsr_ctx *c, uint32_t kind) { return op_inserts(kind) || is_mixed(c); }

/* How a key is kept unique while inserts race. OP_CLAIM puts pairs whose key is guarded in another way. */
TSR_INLINE uint32_t op_guard(const tsr_ctx *c, uint32_t kind) {
  return kind == OP_CLAIM ? (uint32_t)TSR_GUARD_NONE : TSR_FACT(c, guard);
}

/* Whether an insert of this kind claims empty slots alone: an erased one proves nothing about later buckets. */
TSR_INLINE bool op_claims_empties(const tsr_ctx *c, uint32_t kind) {
  return op_guard(c, kind) == TSR_GUARD_CLAIM || (op_guard(c, kind) == TSR_GUARD_LOCK && TSR_FACT(c, claims_first));
}

/* Loads one bucket by an active tile. retry: the last look was too old. Collective. */
TSR_INLINE void look_at(const tsr_ctx *c, uint64_t ref, uint32_t retry, tsr_bucket *b) {
  TSR_COUNT_WHERE(c, probes, c->active);
  layout_load(c, ref, c->active, tsr_load_mode(c, retry || TSR_FACT(c, tile_lanes) > 1 ? TSR_LOAD_COHERENT : 0), b);
}

/* Whether the scheme has a law by which this kind of operation knows that no later bucket holds the key. Inserts whose
 * claim is their guard take the empty slot that would show it. */
TSR_INLINE bool op_has_end(const tsr_ctx *c, uint32_t kind) {
  if (!walk_has_end(c)) return false;
  return !op_inserts(kind) || kind == OP_MIXED || op_guard(c, kind) == TSR_GUARD_LOCK;
}

/* Whether the operation's item is a pair to insert; in OP_MIXED each item says so. */
TSR_INLINE bool op_has_pair(const tsr_op *op, uint32_t kind) {
  return op_inserts(kind) && (kind != OP_MIXED || op->policy < POLICY_FIND);
}

/* Whether an operation may put its pair into a later bucket when it goes on; with a lock it only looks. */
TSR_INLINE bool op_raises(const tsr_ctx *c, const tsr_op *op, uint32_t kind) {
  if (!TSR_FACT(c, ends_at_flag) || (kind == OP_MIXED && TAKES_TURNS(c))) return false;
  return op_has_pair(op, kind) && op_guard(c, kind) != TSR_GUARD_LOCK;
}

/* What this kind of operation has to see in a loaded bucket in order to decide; a masked tile sees no match. Whether
 * the walk ends there, and where it goes on, is looked at after the write, so that no register has to keep it
 * meanwhile. Collective. */
TSR_INLINE tsr_view look(const tsr_ctx *c, const tsr_op *op, uint32_t kind, const tsr_bucket *b) {
  const uint32_t guard = op_guard(c, kind);
  const bool sees_keys = kind == OP_MIXED || !op_inserts(kind) || guard != TSR_GUARD_NONE;
  const bool sees_empties = op_inserts(kind) && (op_claims_empties(c, kind) || op_has_end(c, kind));
  const bool sees_vacant =
      op_inserts(kind) && (guard == TSR_GUARD_NONE || (guard == TSR_GUARD_CLAIM && !claims_meet_erases(c)));
  tsr_view v = {0, 0, 0, 0};
  uint32_t open;
  const uint32_t own = walk_own_slots(c, op->key, b->ref, op_meets_notes(c, kind), &open);
  if (sees_keys) v.matches = layout_match(c, b, walk_stored_key(op->key)) & own;
  if (!op->walking) v.matches = 0;
  if (sees_empties) v.empties = layout_empties(c, b) & open;
  if (sees_vacant) v.vacant = layout_vacant(c, b) & open;
  if (op_inserts(kind)) v.link = walk_link(c, b);
  return v;
}

/* Whether no later bucket of the walk holds the key. Collective. */
TSR_INLINE uint32_t walk_ends_here(const tsr_ctx *c, const tsr_op *op, uint32_t kind, const tsr_view *v,
                                   const tsr_bucket *b) {
  if (!op_has_end(c, kind)) return 0;
  if (TSR_FACT(c, ends_at_flag)) return !layout_flag(c, b) && !op_raises(c, op, kind);
  uint32_t open = ~(uint32_t)0;
  if (!op_inserts(kind)) walk_own_slots(c, op->key, b->ref, op_meets_notes(c, kind), &open);
  return walk_ends(c, &op->probe, op_inserts(kind) ? v->empties : layout_empties(c, b) & open);
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * What the operations mean: given what a tile sees in one bucket of the key's walk, what is to be done there. Pure
 * functions, without memory, votes or lanes; step.cuh carries out what they say.
 *
 * Slots fill from the lowest on, and a slot that held a pair is never empty again before clear. So a walk ends at a
 * bucket with an empty slot if the scheme's law says so (walk_ends). decide_at_end says what it means that the walk
 * ended, there or after its last bucket.
 */
#ifndef TSR_DECIDE_CUH
#define TSR_DECIDE_CUH

#include "core/kernels/look.cuh"

/* What is to be done in a bucket. If it is nothing, the operation goes on to the next bucket of its walk. */
typedef struct tsr_action {
  uint32_t takes;    /* the present pair is the answer */
  uint32_t combines; /* combine the new payload with that of the present pair */
  uint32_t claims;   /* claim a slot for the new pair */
  uint32_t erases;   /* erase the present pairs */
  uint32_t needs;    /* NEEDS_: what a step cannot give, or NEEDS_NOTHING */
  uint32_t slots;    /* where: the lowest of these slots; erases: all of them */
} tsr_action;

TSR_INLINE tsr_action go_on(void) {
  tsr_action a = {0, 0, 0, 0, NEEDS_NOTHING, 0};
  return a;
}
TSR_INLINE tsr_action take(uint32_t slots) {
  tsr_action a = {1, 0, 0, 0, NEEDS_NOTHING, slots};
  return a;
}
TSR_INLINE tsr_action combine_with(uint32_t slots) {
  tsr_action a = {0, 1, 0, 0, NEEDS_NOTHING, slots};
  return a;
}
TSR_INLINE tsr_action claim_one(uint32_t slots) {
  tsr_action a = {0, 0, 1, 0, NEEDS_NOTHING, slots};
  return a;
}
TSR_INLINE tsr_action erase_these(uint32_t slots) {
  tsr_action a = {0, 0, 0, 1, NEEDS_NOTHING, slots};
  return a;
}
TSR_INLINE tsr_action ask_for(uint32_t needs) {
  tsr_action a = {0, 0, 0, 0, needs, 0};
  return a;
}

/* `a` if the condition holds, otherwise `b`. Written member by member: the compiler makes selects of this, and a branch
 * of an `if`, which costs a warp more than all that is decided here. */
TSR_INLINE tsr_action when(uint32_t so, tsr_action a, tsr_action b) {
  b.takes = so ? a.takes : b.takes;
  b.combines = so ? a.combines : b.combines;
  b.claims = so ? a.claims : b.claims;
  b.erases = so ? a.erases : b.erases;
  b.needs = so ? a.needs : b.needs;
  b.slots = so ? a.slots : b.slots;
  return b;
}

/* ---- The operations -------------------------------------------------------------------------- */

/* A find takes the first match, whether its key has one pair or many. */
TSR_INLINE tsr_action decide_find(const tsr_view *v) { return when(v->matches != 0, take(v->matches), go_on()); }

/* If a key may have many pairs, they are anywhere along its walk, so a count goes on to its end. If a key has one pair,
 * the walk must end with it: it may pass the same bucket again, and would count the pair twice. */
TSR_INLINE tsr_action decide_count(const tsr_ctx *c, const tsr_view *v) {
  return when(v->matches && TSR_FACT(c, duplicates) != TSR_DUPLICATES_KEEP, take(v->matches), go_on());
}

TSR_INLINE tsr_action decide_erase(const tsr_view *v) {
  return when(v->matches != 0, erase_these(v->matches), go_on());
}

TSR_INLINE tsr_action decide_combine(const tsr_view *v) {
  return when(v->matches != 0, combine_with(v->matches), go_on());
}

/* Those of a bucket's slots that have to be full before a key of it is put elsewhere (fact first_slots). By their places and
 * not by their count: an old look may show a later slot full and an earlier one as it was before. */
TSR_INLINE uint32_t first_slots_of(const tsr_ctx *c, uint32_t slots) {
  return slots & (uint32_t)(((uint64_t)1 << TSR_FACT(c, first_slots)) - 1);
}

/* The slots that an insert may claim without a lock.
 *   TSR_GUARD_NONE: any vacant one, because nobody looks for the key.
 *   TSR_GUARD_CLAIM: the claim itself is the guard. Inserters of one key contend for the same slot, because each takes
 * the first empty one in the key's order and none ever becomes empty again. The loser looks again and finds the key.
 *   TSR_GUARD_LOCK: for a new key, an empty slot among the first_slots of its first bucket. If the key had ever been in
 * another bucket, these slots would have been full then, and full slots never become empty again. So the claim guards
 * itself. An insert that holds the lock never contends with it, because it has seen each of these slots full. Only reusing an
 * erased slot could bring the two together: hence has_erased. (core/design/0004-uniqueness.md) */
TSR_INLINE uint32_t claimable_slots(const tsr_ctx *c, const tsr_op *op, uint32_t kind, const tsr_view *v) {
  if (op_guard(c, kind) == TSR_GUARD_NONE) return v->vacant;
  if (op_guard(c, kind) == TSR_GUARD_CLAIM) return v->empties;
  const uint32_t in_first = op->probe.visited == 0 ? first_slots_of(c, v->empties) : 0;
  const bool guards_itself = TSR_FACT(c, claims_first) && in_first && !c->t->has_erased && !walk_is_reserved(op->key);
  return guards_itself ? in_first : 0;
}

/* The slots of these that come first in the key's order; the lowest of them is claimed. All inserters of a key keep to
 * one order of the slots, which is what guards it. A lane alone begins where its key says, so that few of those that
 * meet at a bucket of a small table lose. A tile of several lanes begins at the lowest, since fewer tiles meet at a
 * bucket, and the multiplication would cost them 2 % (core/design/0004-uniqueness.md). */
TSR_INLINE uint32_t first_to_claim(const tsr_ctx *c, tsr_key key, uint32_t slots) {
  if (TSR_FACT(c, guard) != TSR_GUARD_CLAIM || TSR_FACT(c, has_link) || TSR_FACT(c, tile_lanes) > 1) return slots;
  const uint64_t word = tsr_key_word(key);
  const uint32_t count = TSR_FACT(c, bucket_slots), mixed = (uint32_t)(word ^ word >> 32) * 0x9E3779B1u;
  const uint32_t start = (uint32_t)((uint64_t)mixed * count >> 32), later = slots >> start << start;
  return later ? later : slots;
}

/* Past an erased slot the argument of TSR_GUARD_CLAIM fails: the key may be further on, from a time when that slot was
 * occupied. So the whole walk has to be seen first (insert_held). Where erases run at the same time, which this guard
 * meets in lists only, no erased slot is ever claimed, and the argument holds again. */
TSR_INLINE bool is_past_guarding(const tsr_ctx *c, uint32_t kind, const tsr_view *v) {
  return op_guard(c, kind) == TSR_GUARD_CLAIM && !claims_meet_erases(c) && v->vacant != v->empties;
}

/* Whether the insert can go on only in another unit of its list. */
TSR_INLINE bool needs_unit(const tsr_ctx *c, const tsr_op *op, uint32_t kind, const tsr_view *v) {
  return TSR_FACT(c, has_link) && op_guard(c, kind) != TSR_GUARD_LOCK && !op->probe.stashed &&
         (TSR_FACT(c, has_meanings) || !walk_is_reserved(op->key)) && !walk_is_unit(v->link) &&
         v->link != WALK_LINK_CLOSED;
}

/* The policy is applied to a present key; a new one goes to the first slot that the guard allows. */
TSR_INLINE tsr_action decide_insert(const tsr_ctx *c, const tsr_op *op, uint32_t kind, const tsr_view *v) {
  const uint32_t claimable = claimable_slots(c, op, kind, v);
  const uint32_t present =
      op_guard(c, kind) == TSR_GUARD_NONE ? 0 : v->matches; /* without a guard keys are not looked for */
  return when(present != 0, combine_with(present),
              when(is_past_guarding(c, kind, v), ask_for(NEEDS_LOCK),
                   when(claimable != 0, claim_one(first_to_claim(c, op->key, claimable)),
                        when(needs_unit(c, op, kind, v), ask_for(NEEDS_UNIT), go_on()))));
}

/* Each item does what its policy says, in the same step as the others (core/design/0010-lists.md). Inserts that take
 * turns with erases do not go by steps. */
TSR_INLINE tsr_action decide_mixed(const tsr_ctx *c, const tsr_op *op, const tsr_view *v) {
  if (TAKES_TURNS(c)) return when(op->policy == POLICY_FIND, decide_find(v), decide_erase(v));
  return when(op->policy == POLICY_FIND, decide_find(v),
              when(op->policy == POLICY_ERASE, decide_erase(v), decide_insert(c, op, OP_MIXED, v)));
}

TSR_INLINE tsr_action decide(const tsr_ctx *c, const tsr_op *op, uint32_t kind, const tsr_view *v) {
  if (kind == OP_MIXED) return decide_mixed(c, op, v);
  if (op_inserts(kind)) return decide_insert(c, op, kind, v);
  if (op_erases(kind)) return decide_erase(v);
  if (kind == OP_COMBINE) return decide_combine(v);
  if (op_counts(kind)) return decide_count(c, v);
  return decide_find(v);
}

/* The result of an operation whose walk has ended without a match. An insert has found no room either. If its claim
 * would have been its guard, that proves that there is none. Otherwise the key may have come since, and the insert has
 * to look again with the key's lock. */
TSR_INLINE uint32_t decide_at_end(const tsr_ctx *c, const tsr_op *op, uint32_t kind) {
  if (!op_has_pair(op, kind)) return TSR_RESULT_MISSING;
  const bool is_proof =
      op_guard(c, kind) == TSR_GUARD_NONE || (op_guard(c, kind) == TSR_GUARD_CLAIM && !claims_meet_erases(c));
  return is_proof ? (uint32_t)TSR_RESULT_NOT_PLACED : (uint32_t)NEEDS_LOCK;
}

/* The result of an insert, or of an item of OP_MIXED, whose key is present. */
TSR_INLINE uint32_t result_for_present(uint32_t policy) {
  if (policy == POLICY_FIND_OR_INSERT || policy == POLICY_FIND) return TSR_RESULT_FOUND;
  if (policy == POLICY_LATER) return NEEDS_COMBINE;
  if (policy == POLICY_ERASE) return TSR_RESULT_ERASED;
  if (policy == TSR_DUPLICATES_FIRST) return TSR_RESULT_PRESENT;
  return policy == TSR_DUPLICATES_REPLACE ? TSR_RESULT_REPLACED : TSR_RESULT_COMBINED;
}

#endif

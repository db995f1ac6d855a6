/* SPDX-License-Identifier: Apache-2.0
 *
 * A step of an operation: look at a bucket, decide, write, settle, advance. What the tiles of a warp have to agree on
 * is here, in place.cuh and in locked.cuh, and nowhere else (core/design/0008-tiles-in-step.md). All tiles come to a
 * step together, and those with nothing to do (active = 0) are masked. What a step decides is kept by selects (`x =
 * done ? new : x`), because a branch would hide from ptxas that all lanes meet again. A write follows a vote,
 * tsr_warp_any, so that a warp skips what none of its tiles wants.
 *
 * Read next: queue.cuh, which feeds the steps.
 */
#ifndef TSR_STEP_CUH
#define TSR_STEP_CUH

#include "core/kernels/decide.cuh"
#include "core/kernels/io.cuh"
#include "core/kernels/links.cuh"

/* How a write went. */
enum {
  WRITE_FAILED,  /* the slot has changed since it was seen */
  WRITE_DONE,    /* and the operation with it */
  WRITE_GOES_ON, /* the operation goes on in the next bucket */
  WRITE_STAYS    /* ... in the same one */
};

/* A slot's number in the order of memory, the same on both backends. For a table of keys, whose layout does not say
 * it. */
TSR_INLINE uint64_t place_of(const tsr_ctx *c, uint64_t ref, uint32_t slot) {
  return tsr_slot_index(c, ref, slot, sizeof(tsr_key));
}

/* ---- Writes ---------------------------------------------------------------------------------- */

/* Tells of a count that had stopped before, which is not written again. */
TSR_INLINE void tell_if_stopped(const tsr_ctx *c, uint32_t policy, tsr_payload seen, tsr_payload payload, bool writes) {
  if (!writes && c->active && c->lane == 0) tsr_tell_overflow(c, policy, seen, payload);
}

/* Combines *payload into a slot that holds the key, as the policy says; returns false if the slot has changed. A value
 * that the policy would leave alone needs no write. An old look is enough to know that: with `max` a value only grows,
 * with `min` it only falls, with `first` it stays. With POLICY_FIND_OR_INSERT *payload becomes that of the slot.
 * Collective. */
TSR_INLINE uint32_t combine(const tsr_ctx *c, const tsr_bucket *b, uint32_t slot, uint32_t policy,
                            tsr_payload *payload) {
#if TSR_PAYLOAD_BITS > 0
  /* Tiles that go in step read it together, because each may have another policy. */
  tsr_payload seen = TSR_FACT(c, warp_sync) || (policy != TSR_DUPLICATES_FIRST && policy != POLICY_LATER)
                         ? layout_payload(c, b, slot)
                         : 0;
  bool writes = policy < POLICY_FIND_OR_INSERT && tsr_combine(policy, seen, *payload) != seen;
  if (TSR_POLICY_COUNTS(TSR_FACT(c, duplicates))) tell_if_stopped(c, policy, seen, *payload, writes);
  tsr_ctx writing = tsr_masked(c, writes && c->active);
  bool updated = layout_update(&writing, b, slot, policy, *payload);
  if (policy == POLICY_FIND_OR_INSERT && c->active) *payload = seen;
  return updated || !writes;
#else
  (void)c, (void)b, (void)slot, (void)policy, (void)payload;
  return 1;
#endif
}

/* Erases the pairs in `slots`, one after another: all, or with OP_ERASE_PAIR the first with op->payload, or any one. A
 * slot that has changed no longer holds such a pair, because another erase took it. Or it has another value; so where a
 * key has one pair the bucket is looked at again. */
TSR_INLINE uint32_t erase(const tsr_ctx *c, tsr_op *op, uint32_t kind, const tsr_bucket *b, uint32_t slots) {
  const uint32_t one = kind == OP_ERASE_PAIR;
  const uint32_t is_enough = one || TSR_FACT(c, duplicates) != TSR_DUPLICATES_KEEP;
  uint32_t erased = 0, lost = 0;
  TSR_NO_UNROLL
  while (tsr_warp_any(c, slots != 0)) {
    uint32_t slot = slots ? tsr_lowest(slots) : 0, wanted = slots != 0;
    /* The first lane decides for its tile. Where payloads are read apart from keys, another thread may erase this
     * one between the looks of two lanes, and they would not agree. */
    if (one && !op->any_payload && !tsr_shuffle32(c, layout_payload(c, b, slot) == op->payload, 0)) wanted = 0;
    tsr_ctx writing = tsr_masked(c, wanted);
    uint32_t gone = layout_erase(&writing, b, slot) && wanted;
    erased += gone;
    if (TSR_FACT(c, value_list_first) && gone) op->at = place_of(c, op->probe.ref, slot);
    if (TSR_FACT(c, duplicates) != TSR_DUPLICATES_KEEP) {
      lost = wanted && !gone;
      break;
    }
    slots = one && erased ? 0 : slots & (slots - 1);
  }
  op->pairs += erased;
  return lost ? WRITE_FAILED : erased && is_enough ? WRITE_DONE : WRITE_GOES_ON;
}

/* Where operations of all kinds overlap, pairs are whole. So whatever is done to a slot is one swap of what was seen,
 * and tiles that do different things still wait for one load and one compare-and-swap. Where a key has many pairs an
 * erase stays until it finds no more. */
TSR_INLINE uint32_t write_mixed(const tsr_ctx *c, tsr_op *op, tsr_action a, const tsr_bucket *b) {
  const uint32_t is_present = a.takes | a.combines | a.erases, slot = a.slots ? tsr_lowest(a.slots) : 0;
  uint32_t swapped = 0;
  tsr_payload seen = tsr_warp_any(c, is_present) ? layout_payload(c, b, slot) : 0, desired = op->payload;
  if (a.combines && op->policy == TSR_FACT(c, duplicates))
    desired = tsr_combine(TSR_FACT(c, duplicates), seen, desired);
  if (a.erases) desired = (tsr_payload) ~(tsr_payload)0;
  const tsr_ctx claiming = tsr_masked(c, a.claims);
  a.claims = a.claims & walk_take_note(&claiming, op->key, b->ref);
  const uint32_t swaps = a.erases || a.claims || (a.combines && desired != seen);
  if (tsr_warp_any(c, swaps)) {
    tsr_ctx writing = tsr_masked(c, swaps);
    swapped = layout_cas(&writing, b, slot, a.erases ? TSR_ERASED_KEY : walk_stored_key(op->key), desired) && swaps;
  }
  const uint32_t done = swaps ? swapped : is_present;
  const uint32_t adds = TSR_POLICY_COUNTS(TSR_FACT(c, duplicates)) ? done : swapped; /* a count may have stopped */
  if (adds && a.combines && c->lane == 0) tsr_tell_overflow(c, op->policy, seen, op->payload);
  op->payload = done ? seen : op->payload;
  if (TSR_FACT(c, duplicates) == TSR_DUPLICATES_KEEP) {
    op->pairs += a.erases && swapped;
    if (a.erases && swapped) return WRITE_STAYS;
  }
  return done ? WRITE_DONE : WRITE_FAILED;
}

/* Writes the payloads of these slots, as many at a time as the tile has lanes. Each lane keeps one, then they are
 * written together, next to each other, from op->at on and before op->end. Collective. */
TSR_INLINE void retrieve(const tsr_ctx *c, tsr_op *op, const tsr_bucket *b, uint32_t slots) {
  uint32_t kept = 0;
  tsr_payload own = 0;
  TSR_NO_UNROLL
  while (tsr_warp_any(c, slots != 0)) {
    tsr_payload payload = layout_payload(c, b, slots ? tsr_lowest(slots) : 0);
    if (c->lane == kept) own = payload;
    kept += slots != 0;
    slots &= slots - 1;
    uint32_t writes = kept == TSR_FACT(c, tile_lanes) || !slots ? kept : 0;
    if (c->lane < writes && op->at + c->lane < op->end) io_put_payload(op->payloads, op->at + c->lane, own);
    op->at += writes;
    kept -= writes;
  }
}

/* Carries out what was decided; returns how it went. */
TSR_INLINE uint32_t write(const tsr_ctx *c, tsr_op *op, uint32_t kind, tsr_action a, const tsr_bucket *b) {
  const uint32_t slot = a.slots ? tsr_lowest(a.slots) : 0;
  uint32_t written = 0;
  if (kind == OP_MIXED) return write_mixed(c, op, a, b);
  if (op_erases(kind)) return erase(c, op, kind, b, a.slots);
  if (kind == OP_FIND && tsr_warp_any(c, a.takes)) op->payload = layout_payload(c, b, slot); /* told where taken */
  if ((kind == OP_LOCATE && a.takes) || (kind == OP_INSERT && TSR_FACT(c, value_list_first) && (a.combines | a.claims)))
    op->at = place_of(c, op->probe.ref, slot);
  const bool may_combine = kind == OP_COMBINE || (op_inserts(kind) && op_guard(c, kind) != TSR_GUARD_NONE);
  if (may_combine && tsr_warp_any(c, a.combines)) {
    tsr_ctx writing = tsr_masked(c, a.combines);
    const bool may_wait = op->policy == POLICY_LATER;
    const uint32_t policy = may_wait ? TSR_FACT(c, duplicates) : op->policy;
    written = combine(&writing, b, slot, policy, &op->payload) && a.combines;
    if (may_wait) { /* one attempt: a thread that loses it would lose the next one as well, where many bring this key */
      op->policy = written ? policy : op->policy;
      written = a.combines;
    }
  }
  if (op_inserts(kind) && (op_claims_empties(c, kind) || op_guard(c, kind) == TSR_GUARD_NONE) &&
      tsr_warp_any(c, a.claims)) {
    const tsr_ctx claiming = tsr_masked(c, a.claims);
    const uint32_t may = walk_take_note(&claiming, op->key, b->ref);
    tsr_ctx writing = tsr_masked(c, a.claims & may);
    uint32_t claimed = layout_cas(&writing, b, slot, walk_stored_key(op->key), op->payload) && a.claims && may;
    written |= claimed;
    TSR_COUNT_WHERE(c, stashed, claimed && op->probe.stashed);
  }
  return a.takes || written ? WRITE_DONE : WRITE_FAILED;
}

/* ---- The step -------------------------------------------------------------------------------- */

TSR_INLINE uint32_t result_of(tsr_action a, uint32_t policy) {
  return a.claims   ? (uint32_t)TSR_RESULT_INSERTED
         : a.takes  ? (uint32_t)TSR_RESULT_FOUND
         : a.erases ? (uint32_t)TSR_RESULT_ERASED
                    : result_for_present(policy);
}

/* An insert that has met the end of its list makes the list longer and goes on there. */
TSR_INLINE void append_unit(const tsr_ctx *c, tsr_op *op, uint32_t kind) {
  uint32_t appends = op->result == NEEDS_UNIT;
  if (!TSR_FACT(c, has_link) || !op_inserts(kind) || !tsr_warp_any(c, appends)) return;
  tsr_ctx appending = tsr_masked(c, appends);
  uint32_t link = link_append(&appending, op->key, op->probe.ref);
  op->walking |= walk_advance(c, op->key, &op->probe, link, appends);
  op->result = appends ? decide_at_end(c, op, kind) : op->result;
}

/* Takes an operation one bucket further. coherent: whether it looks past L1; a constant, because a step with loads of
 * both modes would need the registers of two buckets. A step that looks through L1 ends an operation whose look was too
 * old with NEEDS_COHERENT. Bounded: a bucket is looked at again only if another thread was faster and has filled the
 * slot that was to be claimed, or changed the pair that was to be changed. */
TSR_INLINE void step(const tsr_ctx *c, tsr_op *op, uint32_t kind, uint32_t coherent) {
  tsr_bucket b;
  layout_load(c, op->probe.ref, op->walking, op_load_mode(c, kind, coherent), &b);
  TSR_COUNT_WHERE(c, probes, op->walking);
  if (!TSR_FACT(c, warp_sync) && !op->walking) return;

  const tsr_view v = look(c, op, kind, &b);
  tsr_action a = decide(c, op, kind, &v);
  a.claims = op->walking ? a.claims : 0; /* in a masked tile only the matches are 0 */
  a.needs = op->walking ? a.needs : (uint32_t)NEEDS_NOTHING;
  if (op_counts(kind)) op->pairs += tsr_count_bits(v.matches);
  if (kind == OP_RETRIEVE) retrieve(c, op, &b, v.matches);
  if (kind == OP_NOTE && tsr_warp_any(c, v.matches != 0)) {
    const tsr_payload payload = layout_payload(c, &b, v.matches ? tsr_lowest(v.matches) : 0);
    op->payload = v.matches ? payload : op->payload;
  }

  const uint32_t writes = a.takes | a.combines | a.claims | a.erases;
  uint32_t stop = NEEDS_NOTHING, stays = 0;
  /* A lane alone mostly finds nothing to do and walks on directly; tiles that go in step come along. */
  if (TSR_FACT(c, warp_sync) || writes || a.needs != NEEDS_NOTHING) {
    const uint32_t went = write(c, op, kind, a, &b);
    const uint32_t done = writes && went == WRITE_DONE, failed = writes && went == WRITE_FAILED;
    TSR_COUNT_WHERE(c, lost_claims, failed);
    /* Why the operation stops here, if it does. A number, because from three flags ptxas (CUDA 13.0, sm_90) made a
     * PLOP3 that took two of them for their opposites, so that inserts of 64-bit keys ended at their first full
     * bucket. */
    stop = done ? result_of(a, op->policy) : failed && !coherent ? (uint32_t)NEEDS_COHERENT : a.needs;
    stays = stop == NEEDS_NOTHING && op->walking && (failed || (writes && went == WRITE_STAYS));
  }
  op->result = stop != NEEDS_NOTHING ? stop : decide_at_end(c, op, kind);
  const uint32_t goes = op->walking && stop == NEEDS_NOTHING && !stays;
  const uint32_t ends = walk_ends_here(c, op, kind, &v, &b);
  if (op_raises(c, op, kind) && goes) walk_raise(c, op->probe.ref);
  if (kind == OP_INSERT && TELLS_LONG_WALKS(c)) {
    op->pairs += goes;
    c->scratch->overflows += goes && op->pairs == LONG_WALK && c->lane == 0;
  }
  op->walking = stays;
  if (TSR_FACT(c, warp_sync) || goes)
    op->walking |= walk_advance(c, op->key, &op->probe, op_inserts(kind) ? v.link : walk_link(c, &b), goes && !ends);
  append_unit(c, op, kind);
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists of buckets (core/design/0010-lists.md): how one grows by a unit of the allocator, and how it is packed. A
 * bucket whose link names a unit continues there.
 */
#ifndef TSR_LINKS_CUH
#define TSR_LINKS_CUH

#include "core/kernels/look.cuh"

/* Continues bucket ref, the end of a list, in a new unit, unless another tile has done so; returns the link. One tile
 * allocates, so that no unit is taken in vain. Waiting for it is like waiting for a lock. Tiles of one warp never wait
 * for each other, because the allocation is part of the loop's body. */
TSR_INLINE uint32_t link_append(const tsr_ctx *c, tsr_key key, uint64_t ref) {
  uint32_t link = WALK_LINK_CLOSED, waits = c->active;
  TSR_NO_UNROLL
  while (tsr_warp_any(c, waits)) {
    tsr_ctx waiting = tsr_masked(c, waits);
    /* relaxed: a unit is empty from the start, so nothing has to be visible with its handle */
    uint32_t found = layout_relink(&waiting, ref, TSR_NO_HANDLE, WALK_LINK_PENDING);
    uint32_t allocates = waits && found == TSR_NO_HANDLE;
    link = waits ? found : link;
    if (tsr_warp_any(c, allocates)) {
      tsr_ctx allocating = tsr_masked(c, allocates);
      uint32_t unit =
          allocator_allocate(&allocating, (uint32_t)((tsr_key_word(key) + 1u) * 0x9E3779B97F4A7C15u >> 32), 1);
      walk_note_unit(&allocating, key, unit);
      unit = unit == TSR_NO_HANDLE ? WALK_LINK_CLOSED : unit;
      layout_relink(&allocating, ref, WALK_LINK_PENDING, unit);
      link = allocates ? unit : link;
    }
    waits = waits && link == WALK_LINK_PENDING;
    if (waits) tsr_pause();
  }
  return link;
}

/* Where the packed pairs of a list go. */
typedef struct link_end {
  uint64_t ref;
  uint32_t slot;
} link_end;

/* Moves the pairs of the list that begins at `head` into its first slots, in their order; returns their end. A slot is
 * read before it is written, because pairs move forward only. */
TSR_INLINE link_end link_pack(const tsr_ctx *c, uint64_t head) {
  const uint32_t slots = TSR_FACT(c, bucket_slots);
  link_end to = {head, 0};
  uint64_t from = head;
  uint32_t walks = c->active;
  TSR_NO_UNROLL
  while (tsr_warp_any(c, walks)) { /* bounded by the list */
    tsr_bucket b;
    tsr_ctx walking = tsr_masked(c, walks);
    look_at(&walking, from, 1, &b);
    uint32_t link = layout_link(c, &b), vacant = layout_vacant(c, &b), pairs = walks ? tsr_slot_mask(c) & ~vacant : 0;
    TSR_NO_UNROLL
    for (; tsr_warp_any(c, pairs); pairs &= pairs - 1) {
      uint32_t slot = pairs ? tsr_lowest(pairs) : 0, is_full = pairs && to.slot == slots;
      tsr_key key = layout_key(c, &b, slot);
      tsr_payload payload = layout_payload(c, &b, slot);
      tsr_ctx turning = tsr_masked(c, is_full);
      uint32_t next = tsr_warp_any(c, is_full) ? layout_relink(&turning, to.ref, TSR_NO_HANDLE, TSR_NO_HANDLE) : 0;
      to.ref = is_full ? TSR_UNIT_REF | next : to.ref;
      to.slot = is_full ? 0 : to.slot;
      uint32_t moves = pairs && (to.ref != from || to.slot != slot);
      tsr_ctx moving = tsr_masked(c, moves);
      if (tsr_warp_any(c, moves)) layout_exchange(&moving, to.ref, moves ? to.slot : 0, &key, &payload);
      to.slot += pairs != 0;
    }
    from = walks ? TSR_UNIT_REF | link : from;
    walks = walks && walk_is_unit(link);
  }
  return to;
}

/* Empties the slots from `to` on, takes the units behind it off the list and releases them; returns how many. */
TSR_INLINE uint32_t link_cut(const tsr_ctx *c, link_end to) {
  uint32_t buckets = 0, walks = c->active;
  TSR_NO_UNROLL
  while (tsr_warp_any(c, walks)) { /* bounded by the list */
    TSR_NO_UNROLL
    for (uint32_t clears; tsr_warp_any(c, clears = walks && to.slot < TSR_FACT(c, bucket_slots)); to.slot += clears) {
      tsr_key key = TSR_EMPTY_KEY;
      tsr_payload payload = (tsr_payload) ~(tsr_payload)0;
      tsr_ctx clearing = tsr_masked(c, clears);
      layout_exchange(&clearing, to.ref, clears ? to.slot : 0, &key, &payload);
    }
    tsr_ctx walking = tsr_masked(c, walks);
    uint32_t link = layout_relink(&walking, to.ref, TSR_NO_HANDLE, TSR_NO_HANDLE);
    tsr_ctx cutting = tsr_masked(c, walks && link != TSR_NO_HANDLE);
    layout_relink(&cutting, to.ref, link, TSR_NO_HANDLE);
    tsr_ctx releasing = tsr_masked(c, walks && buckets > 0);
    allocator_release(&releasing, (uint32_t)to.ref, 1);
    buckets += walks;
    to.ref = walks ? TSR_UNIT_REF | link : to.ref;
    to.slot = walks ? 0 : to.slot;
    walks = walks && walk_is_unit(link);
  }
  return buckets ? buckets - 1 : 0;
}

/* Packs the list that begins at bucket `head`; returns how many units it has released (SlabHash IV-C4, which only
 * sketches it). Collective; nothing else may work on the table. */
TSR_INLINE uint32_t link_flush(const tsr_ctx *c, uint64_t head) { return link_cut(c, link_pack(c, head)); }

#endif

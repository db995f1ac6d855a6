/* SPDX-License-Identifier: Apache-2.0
 *
 * allocator free_list: released units are kept in stacks, and the last one given back is the next one given out (Treiber,
 * "Systems programming: coping with parallelism", 1986). Units that nobody has had yet come from a counter, so that a pool
 * begins without lists, and a longer one has nothing to link. Allocating costs the same however full the pool is.
 *
 * A stack is one word of 64 bits: the unit on top, and how often a unit was taken off. Without that count a caller that
 * read top A and its successor B, and slept while A and B were taken and A came back, would swap A for B, which is in use
 * (the ABA problem). A unit comes back only after it was taken, so a count that grows with each take shows it. It has 32
 * bits: only a caller that sleeps over exactly a multiple of 2^32 takes of one stack, between two instructions, is
 * deceived. Successors are in a region of their own: of a unit in use not a byte is read or written here.
 */
#define TSR_PARAMETERS(P)                                                                                              \
  P(uint32_t, unit_bytes, 0, 0, 4096,                                                                                  \
    "Bytes per unit, a multiple of 16. 0: as many as a bucket of a layout that links, otherwise 128.")                 \
  P(uint32_t, stacks, 1024, 1, 65536, "Stacks of released units, among which the threads are spread.")

#include "plugins/allocator.cuh"

enum { FREE_LIST_TOPS, FREE_LIST_AFTER, FREE_LIST_NEXT, FREE_LIST_UNITS }; /* regions */
enum { FREE_LIST_LIMIT };                                                  /* state word: units in all */
enum { FREE_LIST_HANDED_OUT = 0xFFFFFFFFu, FREE_LIST_LAST = 0xFFFFFFFEu }; /* instead of a successor */

TSR_INLINE uint64_t *free_list_top(const tsr_ctx *c, uint32_t stack) {
  return (uint64_t *)TSR_REGION(c, FREE_LIST_TOPS) + stack;
}
TSR_INLINE uint32_t *free_list_after(const tsr_ctx *c, uint32_t unit) {
  return (uint32_t *)TSR_REGION(c, FREE_LIST_AFTER) + unit;
}

/* Of the lane that `takes`: the unit on top of the stack, or TSR_NO_HANDLE if it is empty. */
TSR_INLINE uint32_t free_list_pop(const tsr_ctx *c, uint32_t stack, uint32_t takes) {
  uint32_t taken = TSR_NO_HANDLE;
  TSR_NO_UNROLL
  while (tsr_warp_any(c, takes)) { /* bounded: each turn but the last is another thread's success */
    /* acquire: the successor and what the last owner wrote into the unit came before the release that put it here. The
     * swap needs no order of its own: it succeeds only on what was acquired. */
    uint64_t top = takes ? tsr_load64_acquire(free_list_top(c, stack)) : FREE_LIST_LAST;
    uint32_t unit = (uint32_t)top, tries = unit < FREE_LIST_LAST;
    /* relaxed: whoever changes it meanwhile has changed the count as well, and the swap fails */
    uint64_t rest = tries ? tsr_load32(free_list_after(c, unit), 1) : 0, found = ~top;
    if (tries) found = tsr_cas64(free_list_top(c, stack), top, (((top >> 32) + 1) << 32) | rest);
    taken = found == top ? unit : taken;
    takes = tries && found != top;
  }
  /* relaxed: it is the owner's now, and tells the truth only while nothing allocates */
  if (taken != TSR_NO_HANDLE) tsr_store32(free_list_after(c, taken), FREE_LIST_HANDED_OUT);
  return taken;
}

TSR_INLINE uint32_t free_list_stack(const tsr_ctx *c, uint32_t spread) {
  return (uint32_t)((uint64_t)(spread * 0x9E3779B1u) * TSR_PARAMETER(c, stacks) >> 32);
}

TSR_DEVICE uint32_t TSR_PART(allocate)(const tsr_ctx *c, uint32_t spread, uint32_t units) {
  uint32_t stack = free_list_stack(c, spread), wants = c->lane == 0 && c->active && units == 1;
  uint32_t unit = free_list_pop(c, stack, wants);
  wants = wants && unit == TSR_NO_HANDLE;
  if (tsr_warp_any(c, wants)) {
    uint32_t taken =
        tsr_count_take(c, (uint64_t *)TSR_REGION(c, FREE_LIST_NEXT), TSR_WORD(c, FREE_LIST_LIMIT), 1, wants);
    unit = wants ? taken : unit;
    wants = wants && unit == TSR_NO_HANDLE;
  }
  uint32_t looked = 1;
  wants = wants && TSR_PARAMETER(c, stacks) > 1;
  TSR_NO_UNROLL
  while (tsr_warp_any(c, wants)) { /* bounded by the stacks */
    stack = stack + 1 < TSR_PARAMETER(c, stacks) ? stack + 1 : 0;
    uint32_t taken = free_list_pop(c, stack, wants);
    unit = wants ? taken : unit;
    TSR_COUNT_WHERE(c, changes, wants);
    looked++;
    wants = wants && unit == TSR_NO_HANDLE && looked < TSR_PARAMETER(c, stacks);
  }
  unit = tsr_shuffle32(c, unit, 0);
  tsr_join_lanes(c); /* the other lanes' writes come after the first one's acquire */
  return unit;
}

TSR_DEVICE void TSR_PART(release)(const tsr_ctx *c, uint32_t handle, uint32_t units) {
  tsr_join_lanes(c); /* all lanes have written what they had to */
  uint32_t gives = c->lane == 0 && c->active && units == 1, stack = gives ? free_list_stack(c, handle) : 0;
  /* relaxed: an old top only means another turn */
  uint64_t top = gives ? tsr_load64(free_list_top(c, stack), 1) : 0;
  TSR_NO_UNROLL
  while (tsr_warp_any(c, gives)) { /* bounded: each turn but the last is another thread's success */
    uint32_t below = (uint32_t)top < FREE_LIST_LAST ? (uint32_t)top : FREE_LIST_LAST;
    uint64_t found = top;
    if (gives) tsr_store32(free_list_after(c, handle), below); /* relaxed: who acquires the top below sees it */
    /* release: the successor, and what the unit's owner wrote, come before it is on top. The count stays: a unit that
     * returns has been counted when it was taken. */
    if (gives) found = tsr_cas64_release(free_list_top(c, stack), top, top >> 32 << 32 | handle);
    gives = found != top;
    top = found;
  }
}

TSR_DEVICE void *TSR_PART(address)(const tsr_ctx *c, uint32_t handle) {
  return (char *)TSR_REGION(c, FREE_LIST_UNITS) + (uint64_t)handle * TSR_FACT(c, unit_bytes);
}

TSR_DEVICE uint32_t TSR_PART(used)(const tsr_ctx *c, uint64_t unit) {
  if (unit >= tsr_load64((const uint64_t *)TSR_REGION(c, FREE_LIST_NEXT), 1)) return TSR_NO_HANDLE;
  return tsr_load32(free_list_after(c, (uint32_t)unit), 1) == FREE_LIST_HANDED_OUT ? (uint32_t)unit : TSR_NO_HANDLE;
}

TSR_PART_FUNCTIONS(.allocate = TSR_PART(allocate), .release = TSR_PART(release), .address = TSR_PART(address),
                   .used = TSR_PART(used));

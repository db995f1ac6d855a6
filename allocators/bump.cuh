/* SPDX-License-Identifier: Apache-2.0
 *
 * allocator bump: a counter. Units are handed out in order and never again: release does nothing, and only clearing the
 * pool starts anew. Any number of units at once.
 */
#define TSR_PARAMETERS(P)                                                                                              \
  P(uint32_t, unit_bytes, 0, 0, 4096, "Bytes of a unit, a multiple of 16; 0 = those of a linked bucket, or 128.")

#include "plugins/allocator.cuh"

enum { BUMP_NEXT, BUMP_UNITS }; /* regions: the number of units handed out, and they */
enum { BUMP_LIMIT };            /* state word: units in all */

/* Relaxed atomics: the counter's value is all that callers learn from each other, for a unit has one owner. */
TSR_DEVICE uint32_t TSR_PART(allocate)(const tsr_ctx *c, uint32_t spread, uint32_t units) {
  uint64_t *next = (uint64_t *)TSR_REGION(c, BUMP_NEXT), limit = TSR_WORD(c, BUMP_LIMIT), first = limit;
  uint32_t takes = c->lane == 0 && !c->idle && units > 0;
  (void)spread;
  if (takes) first = tsr_load64(next, 1); /* a full pool costs a load, and the counter stays */
  takes = takes && first + units <= limit;
  if (takes) first = tsr_add64(next, units);
  uint64_t seen = first + units;
  uint32_t is_high = takes && seen > limit, handle = takes && !is_high ? (uint32_t)first : TSR_NO_HANDLE;
  /* Others were faster and the counter is too high; back to the limit, not by what was added: that would hand out units
   * twice. Bounded: each failure is another thread's addition or its way back. */
  TSR_NO_UNROLL
  while (tsr_warp_any(c, is_high)) {
    uint64_t found = seen;
    if (is_high) found = tsr_cas64(next, seen, limit);
    is_high = (found != seen) & (found > limit);
    seen = found;
  }
  return tsr_shuffle32(c, handle, 0);
}

TSR_DEVICE void TSR_PART(release)(const tsr_ctx *c, uint32_t handle, uint32_t units) {
  (void)c;
  (void)handle;
  (void)units;
}

TSR_DEVICE void *TSR_PART(address)(const tsr_ctx *c, uint32_t handle) {
  return (char *)TSR_REGION(c, BUMP_UNITS) + (uint64_t)handle * TSR_FACT(c, unit_bytes);
}

TSR_DEVICE uint32_t TSR_PART(used)(const tsr_ctx *c, uint64_t unit) {
  return unit < tsr_load64((const uint64_t *)TSR_REGION(c, BUMP_NEXT), 1) ? (uint32_t)unit : TSR_NO_HANDLE;
}

TSR_PART_FUNCTIONS(.allocate = TSR_PART(allocate), .release = TSR_PART(release), .address = TSR_PART(address),
                   .used = TSR_PART(used));

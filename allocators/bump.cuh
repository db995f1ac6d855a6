/* SPDX-License-Identifier: Apache-2.0
 *
 * allocator bump: a counter. Units are handed out in order and never again: release does nothing, and only clearing the
 * pool starts anew. Any number of units at once.
 */
#define TSR_PARAMETERS(P)                                                                                              \
  P(uint32_t, unit_bytes, 0, 0, 4096,                                                                                  \
    "Bytes per unit, a multiple of 16. 0: as many as a bucket of a layout that links, otherwise 128.")

#include "plugins/allocator.cuh"

enum { BUMP_NEXT, BUMP_UNITS }; /* regions: the number of units handed out, and they */
enum { BUMP_LIMIT };            /* state word: units in all */

TSR_DEVICE uint32_t TSR_PART(allocate)(const tsr_ctx *c, uint32_t spread, uint32_t units) {
  const uint32_t takes = c->lane == 0 && c->active && units > 0;
  (void)spread;
  return tsr_shuffle32(
      c, tsr_count_take(c, (uint64_t *)TSR_REGION(c, BUMP_NEXT), TSR_WORD(c, BUMP_LIMIT), units, takes), 0);
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

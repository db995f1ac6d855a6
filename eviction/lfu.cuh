/* SPDX-License-Identifier: Apache-2.0
 *
 * eviction lfu: the upper half of a score is the number of uses since the pair was inserted, up to the largest number. The
 * lower half is the clock at the last use, in ticks: of equally many uses the oldest goes first. Age is counted modulo the
 * half, so beyond that it is no longer told apart.
 */
#define TSR_PARAMETERS(P)                                                                                              \
  P(uint32_t, score_bits, 32, 8, 32, "Bits of a score: 8, 16 or 32. Half of them count uses.")                         \
  P(uint32_t, tick, 1, 1, 1u << 30, "Clock units per tick.")

#include "plugins/eviction.cuh"

/* A use, as the upper half counts it; less 1: the lower half. */
TSR_INLINE uint32_t TSR_PART(one)(const tsr_ctx *c) { return 1u << TSR_PARAMETER(c, score_bits) / 2; }

TSR_INLINE uint32_t TSR_PART(ticks)(const tsr_ctx *c, uint32_t now) {
  return now / TSR_PARAMETER(c, tick) & (TSR_PART(one)(c) - 1);
}

TSR_DEVICE uint32_t TSR_PART(inserted)(const tsr_ctx *c, uint32_t now, uint32_t given) {
  (void)given;
  return TSR_PART(one)(c) | TSR_PART(ticks)(c, now);
}

TSR_DEVICE uint32_t TSR_PART(found)(const tsr_ctx *c, uint32_t score, uint32_t now, uint32_t given) {
  const uint32_t one = TSR_PART(one)(c), uses = score / one;
  (void)given;
  return (uses < one - 1 ? uses + 1 : uses) * one | TSR_PART(ticks)(c, now);
}

TSR_DEVICE uint32_t TSR_PART(worth)(const tsr_ctx *c, uint32_t score, uint32_t now) {
  const uint32_t one = TSR_PART(one)(c), age = (TSR_PART(ticks)(c, now) - score) & (one - 1);
  const uint32_t worth = score / one * one | (one - 1 - age);
  return worth ? worth : 1;
}

TSR_PART_FUNCTIONS(.inserted = TSR_PART(inserted), .found = TSR_PART(found), .worth = TSR_PART(worth));

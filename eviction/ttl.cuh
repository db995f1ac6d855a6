/* SPDX-License-Identifier: Apache-2.0
 *
 * eviction ttl: a score is the clock at which the pair expires. Nobody finds it from then on, and it goes first. The
 * clock and the score of an item have one unit, such as seconds.
 */
#define TSR_PARAMETERS(P)                                                                                              \
  P(uint32_t, lifetime, 3600, 1, 1u << 31,                                                                             \
    "Clock units until a pair expires, where the caller gives no score for it.")                                       \
  P(uint32_t, renews, 1, 0, 1,                                                                                         \
    "What a use does. 1: the pair lives for at least its lifetime from then on. 0: nothing, unless a score is given.")

#include "plugins/eviction.cuh"

TSR_DEVICE uint32_t TSR_PART(inserted)(const tsr_ctx *c, uint32_t now, uint32_t given) {
  const uint32_t left = given ? given : TSR_PARAMETER(c, lifetime);
  return left < 0xFFFFFFFFu - now ? now + left : 0xFFFFFFFFu;
}

TSR_DEVICE uint32_t TSR_PART(found)(const tsr_ctx *c, uint32_t score, uint32_t now, uint32_t given) {
  const uint32_t fresh = TSR_PART(inserted)(c, now, given);
  return given || (TSR_PARAMETER(c, renews) && fresh > score) ? fresh : score;
}

TSR_DEVICE uint32_t TSR_PART(worth)(const tsr_ctx *c, uint32_t score, uint32_t now) {
  (void)c;
  return score > now ? score - now : 0;
}

TSR_PART_FUNCTIONS(.inserted = TSR_PART(inserted), .found = TSR_PART(found), .worth = TSR_PART(worth));

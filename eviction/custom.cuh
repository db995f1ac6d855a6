/* SPDX-License-Identifier: Apache-2.0
 *
 * eviction custom: a score is what the caller gave for the key last, cut to the largest score.
 */
#define TSR_PARAMETERS(P) P(uint32_t, score_bits, 32, 8, 32, "Bits of a score: 8, 16 or 32.")

#include "plugins/eviction.cuh"

TSR_DEVICE uint32_t TSR_PART(inserted)(const tsr_ctx *c, uint32_t now, uint32_t given) {
  const uint32_t max = tsr_score_max(TSR_PARAMETER(c, score_bits));
  (void)now;
  return given < max ? given : max;
}

TSR_DEVICE uint32_t TSR_PART(found)(const tsr_ctx *c, uint32_t score, uint32_t now, uint32_t given) {
  return given ? TSR_PART(inserted)(c, now, given) : score;
}

TSR_DEVICE uint32_t TSR_PART(worth)(const tsr_ctx *c, uint32_t score, uint32_t now) {
  (void)c, (void)now;
  return score < 0xFFFFFFFFu ? score + 1 : score;
}

TSR_PART_FUNCTIONS(.inserted = TSR_PART(inserted), .found = TSR_PART(found), .worth = TSR_PART(worth));

/* SPDX-License-Identifier: Apache-2.0
 *
 * eviction lfu: a score is the number of uses since the pair was inserted, up to the largest score.
 */
#define TSR_PARAMETERS(P) P(uint32_t, score_bits, 32, 8, 32, "Bits of a score: 8, 16 or 32.")

#include "plugins/eviction.cuh"

TSR_DEVICE uint32_t TSR_PART(inserted)(const tsr_ctx *c, uint32_t now, uint32_t given) {
  (void)c, (void)now, (void)given;
  return 1;
}

TSR_DEVICE uint32_t TSR_PART(found)(const tsr_ctx *c, uint32_t score, uint32_t now, uint32_t given) {
  (void)now, (void)given;
  return score < tsr_score_max(TSR_PARAMETER(c, score_bits)) ? score + 1 : score;
}

TSR_DEVICE uint32_t TSR_PART(worth)(const tsr_ctx *c, uint32_t score, uint32_t now) {
  (void)c, (void)now;
  return score ? score : 1;
}

TSR_PART_FUNCTIONS(.inserted = TSR_PART(inserted), .found = TSR_PART(found), .worth = TSR_PART(worth));

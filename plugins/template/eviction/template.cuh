/* SPDX-License-Identifier: Apache-2.0
 *
 * eviction template: a score is the clock at the last use. Law kept: worth is 0 for no pair, so none expires.
 */
#define TSR_PARAMETERS(P) P(uint32_t, score_bits, 32, 8, 32, "Bits of a score: 8, 16 or 32.")

#include "plugins/eviction.cuh"

TSR_DEVICE uint32_t TSR_PART(inserted)(const tsr_ctx *c, uint32_t now, uint32_t given) {
  (void)given;
  return now & tsr_score_max(TSR_PARAMETER(c, score_bits));
}

TSR_DEVICE uint32_t TSR_PART(found)(const tsr_ctx *c, uint32_t score, uint32_t now, uint32_t given) {
  (void)score;
  return TSR_PART(inserted)(c, now, given);
}

TSR_DEVICE uint32_t TSR_PART(worth)(const tsr_ctx *c, uint32_t score, uint32_t now) {
  const uint32_t max = tsr_score_max(TSR_PARAMETER(c, score_bits)), age = (now - score) & max;
  return age < max ? max - age : 1;
}

TSR_PART_FUNCTIONS(.inserted = TSR_PART(inserted), .found = TSR_PART(found), .worth = TSR_PART(worth));

/* SPDX-License-Identifier: Apache-2.0
 *
 * hasher identity: the key itself, turned by an odd constant for each further member and by the seed. For keys that are
 * random already. Buckets are chosen by the top bits: small numbers all land in the first ones.
 */
#define TSR_PARAMETERS(P)

#include "plugins/hasher.cuh"

TSR_DEVICE tsr_hash TSR_PART(hash)(const tsr_ctx *c, tsr_key key, uint32_t i) {
  return (tsr_hash)(key + (tsr_hash)TSR_WORD(c, 0) + i * (tsr_hash)0x9E3779B97F4A7C15u);
}

TSR_PART_FUNCTIONS(.hash = TSR_PART(hash));

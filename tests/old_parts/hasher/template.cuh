/* SPDX-License-Identifier: Apache-2.0
 *
 * hasher template: two rounds of xor-shift and multiply, each after a half of the member's constant came in, so that
 * two members are not one function of shifted keys. Each step can be undone: different keys have different hashes.
 */
#define TSR_PARAMETERS(P)

#include "plugins/hasher.cuh"

enum { TEMPLATE_SEED }; /* state word */

TSR_DEVICE tsr_hash TSR_PART(hash)(const tsr_ctx *c, tsr_key key, uint32_t i) {
  uint64_t member = TSR_WORD(c, TEMPLATE_SEED) + (i + 1u) * 0xD1342543DE82EF95u;
#if TSR_KEY_BITS == 64
  tsr_hash h = key + member;
  h ^= h >> 30;
  h *= 0xBF58476D1CE4E5B9u;
  h ^= member >> 32;
  h ^= h >> 27;
  h *= 0x94D049BB133111EBu;
  return h ^ h >> 31;
#else
  tsr_hash h = key + (uint32_t)member;
  h ^= h >> 16;
  h *= 0x21F0AAADu;
  h ^= (uint32_t)(member >> 32);
  h ^= h >> 15;
  h *= 0x735A2D97u;
  return h ^ h >> 15;
#endif
}

TSR_PART_FUNCTIONS(.hash = TSR_PART(hash));

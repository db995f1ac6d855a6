/* SPDX-License-Identifier: Apache-2.0
 *
 * hasher mueller: T. Mueller's mix for 32-bit integers, and the one that he recommends for 64 bits, the finalizer of
 * SplitMix64 (Steele, Lea and Flood, OOPSLA 2014; D. Stafford's Mix13), over the key xor a member's constant. Member 0
 * of a zero word is the published function. WarpCore's name; its code has the 32 bits alone.
 */
#define TSR_PARAMETERS(P)

#include "plugins/hasher.cuh"

TSR_DEVICE tsr_hash TSR_PART(hash)(const tsr_ctx *c, tsr_key key, uint32_t i) {
  uint64_t seed = TSR_WORD(c, 0);
#if TSR_KEY_BITS == 64
  tsr_hash h = key ^ (seed + i * 0x9E3779B97F4A7C15u);
  h ^= h >> 30;
  h *= 0xBF58476D1CE4E5B9u;
  h ^= h >> 27;
  h *= 0x94D049BB133111EBu;
  return h ^ h >> 31;
#else
  tsr_hash h = key ^ ((uint32_t)seed + i * 0x9E3779B9u);
  h ^= h >> 16;
  h *= 0x045D9F3Bu;
  h ^= h >> 16;
  h *= 0x045D9F3Bu;
  return h ^ h >> 16;
#endif
}

/* Backwards, as in murmur3: here each shift is less than half of the width, or half of it. */
TSR_DEVICE tsr_key TSR_PART(unhash)(const tsr_ctx *c, tsr_hash h) {
#if TSR_KEY_BITS == 64
  h ^= h >> 31 ^ h >> 62;
  h *= 0x319642B2D24D8EC3u;
  h ^= h >> 27 ^ h >> 54;
  h *= 0x96DE1B173F119089u;
  return h ^ h >> 30 ^ h >> 60 ^ TSR_WORD(c, 0);
#else
  h ^= h >> 16;
  h *= 0x119DE1F3u;
  h ^= h >> 16;
  h *= 0x119DE1F3u;
  return h ^ h >> 16 ^ (uint32_t)TSR_WORD(c, 0);
#endif
}

TSR_PART_FUNCTIONS(.hash = TSR_PART(hash), .unhash = TSR_PART(unhash));

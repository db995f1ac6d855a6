/* SPDX-License-Identifier: Apache-2.0
 *
 * hasher murmur3: the finalizer of MurmurHash3 (fmix32, fmix64; A. Appleby, public domain) over the key xor a member's
 * constant. WarpCore's and BGHT's default. Of 128-bit keys: of the upper half, and then of that hash xor the lower one.
 */
#define TSR_PARAMETERS(P)

#define TSR_KEYS_128 0

#include "plugins/hasher.cuh"

#if TSR_KEY_BITS == 128

TSR_INLINE uint64_t murmur3_finalize(uint64_t h) {
  h ^= h >> 33;
  h *= 0xFF51AFD7ED558CCDu;
  h ^= h >> 33;
  h *= 0xC4CEB9FE1A85EC53u;
  return h ^ h >> 33;
}

TSR_DEVICE tsr_hash TSR_PART(hash)(const tsr_ctx *c, tsr_key key, uint32_t i) {
  const uint64_t high = (uint64_t)(key >> 64) ^ (TSR_WORD(c, 0) + i * 0x9E3779B97F4A7C15u);
  return murmur3_finalize(murmur3_finalize(high) ^ (uint64_t)key);
}

TSR_PART_FUNCTIONS(.hash = TSR_PART(hash));

#else

TSR_DEVICE tsr_hash TSR_PART(hash)(const tsr_ctx *c, tsr_key key, uint32_t i) {
  uint64_t seed = TSR_WORD(c, 0);
#if TSR_KEY_BITS == 64
  tsr_hash h = key ^ (seed + i * 0x9E3779B97F4A7C15u);
  h ^= h >> 33;
  h *= 0xFF51AFD7ED558CCDu;
  h ^= h >> 33;
  h *= 0xC4CEB9FE1A85EC53u;
  return h ^ h >> 33;
#else
  tsr_hash h = key ^ ((uint32_t)seed + i * 0x9E3779B9u);
  h ^= h >> 16;
  h *= 0x85EBCA6Bu;
  h ^= h >> 13;
  h *= 0xC2B2AE35u;
  return h ^ h >> 16;
#endif
}

/* Backwards: x ^= x >> s undoes itself where 2 s is no less than the width, and an odd factor has an inverse. */
TSR_DEVICE tsr_key TSR_PART(unhash)(const tsr_ctx *c, tsr_hash h) {
#if TSR_KEY_BITS == 64
  h ^= h >> 33;
  h *= 0x9CB4B2F8129337DBu;
  h ^= h >> 33;
  h *= 0x4F74430C22A54005u;
  return h ^ h >> 33 ^ TSR_WORD(c, 0);
#else
  h ^= h >> 16;
  h *= 0x7ED1B41Du;
  h ^= h >> 13 ^ h >> 26;
  h *= 0xA5CB9243u;
  return h ^ h >> 16 ^ (uint32_t)TSR_WORD(c, 0);
#endif
}

TSR_PART_FUNCTIONS(.hash = TSR_PART(hash), .unhash = TSR_PART(unhash));

#endif

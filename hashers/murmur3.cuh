/* SPDX-License-Identifier: Apache-2.0
 *
 * hasher murmur3: the finalizer of MurmurHash3 (fmix32, fmix64; A. Appleby, public domain) over the key xor a member's
 * constant. WarpCore's and BGHT's default.
 */
#define TSR_PARAMETERS(P)

#include "plugins/hasher.cuh"

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

TSR_PART_FUNCTIONS(.hash = TSR_PART(hash));

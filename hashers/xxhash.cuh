/* SPDX-License-Identifier: Apache-2.0
 *
 * hasher xxhash: xxHash (Y. Collet, "xxHash fast digest algorithm", the specification) of the key's bytes, low byte
 * first: XXH32 for 32-bit keys, XXH64 for 64-bit keys. Member i has the seed word + i times the golden ratio, so member
 * 0 of a word s is the published function with seed s.
 */
#define TSR_PARAMETERS(P)

#include "plugins/hasher.cuh"

#if TSR_KEY_BITS == 64

#define XXHASH_PRIME_1 0x9E3779B185EBCA87u
#define XXHASH_PRIME_2 0xC2B2AE3D27D4EB4Fu
#define XXHASH_PRIME_3 0x165667B19E3779F9u
#define XXHASH_PRIME_4 0x85EBCA77C2B2AE63u
#define XXHASH_PRIME_5 0x27D4EB2F165667C5u

TSR_DEVICE tsr_hash TSR_PART(hash)(const tsr_ctx *c, tsr_key key, uint32_t i) {
  uint64_t lane = key * XXHASH_PRIME_2;
  lane = (lane << 31 | lane >> 33) * XXHASH_PRIME_1;
  uint64_t h = (TSR_WORD(c, 0) + i * 0x9E3779B97F4A7C15u + XXHASH_PRIME_5 + sizeof key) ^ lane;
  h = (h << 27 | h >> 37) * XXHASH_PRIME_1 + XXHASH_PRIME_4;
  h ^= h >> 33;
  h *= XXHASH_PRIME_2;
  h ^= h >> 29;
  h *= XXHASH_PRIME_3;
  return h ^ h >> 32;
}

#else

#define XXHASH_PRIME_2 0x85EBCA77u
#define XXHASH_PRIME_3 0xC2B2AE3Du
#define XXHASH_PRIME_4 0x27D4EB2Fu
#define XXHASH_PRIME_5 0x165667B1u

TSR_DEVICE tsr_hash TSR_PART(hash)(const tsr_ctx *c, tsr_key key, uint32_t i) {
  uint32_t h = (uint32_t)TSR_WORD(c, 0) + i * 0x9E3779B9u + XXHASH_PRIME_5 + (uint32_t)sizeof key;
  h += key * XXHASH_PRIME_3;
  h = (h << 17 | h >> 15) * XXHASH_PRIME_4;
  h ^= h >> 15;
  h *= XXHASH_PRIME_2;
  h ^= h >> 13;
  h *= XXHASH_PRIME_3;
  return h ^ h >> 16;
}

#endif

TSR_PART_FUNCTIONS(.hash = TSR_PART(hash));

/* SPDX-License-Identifier: Apache-2.0
 *
 * hasher xxhash: xxHash (Y. Collet, "xxHash fast digest algorithm", the specification) of the key's bytes, low byte
 * first: XXH32 for 32-bit keys, XXH64 for 64- and 128-bit keys. Member i has the seed word + i times the golden ratio, so member
 * 0 of a word s is the published function with seed s.
 */
#define TSR_PARAMETERS(P)

#define TSR_KEYS_128 0

#include "plugins/hasher.cuh"

#if TSR_KEY_BITS >= 64

#define XXHASH_PRIME_1 0x9E3779B185EBCA87u
#define XXHASH_PRIME_2 0xC2B2AE3D27D4EB4Fu
#define XXHASH_PRIME_3 0x165667B19E3779F9u
#define XXHASH_PRIME_4 0x85EBCA77C2B2AE63u
#define XXHASH_PRIME_5 0x27D4EB2F165667C5u

/* The hash so far, and the next 8 bytes. */
TSR_INLINE uint64_t xxhash_round(uint64_t h, uint64_t bytes) {
  uint64_t lane = bytes * XXHASH_PRIME_2;
  h ^= (lane << 31 | lane >> 33) * XXHASH_PRIME_1;
  return (h << 27 | h >> 37) * XXHASH_PRIME_1 + XXHASH_PRIME_4;
}

TSR_DEVICE tsr_hash TSR_PART(hash)(const tsr_ctx *c, tsr_key key, uint32_t i) {
  uint64_t h = TSR_WORD(c, 0) + i * 0x9E3779B97F4A7C15u + XXHASH_PRIME_5 + sizeof key;
  h = xxhash_round(h, (uint64_t)key);
#if TSR_KEY_BITS == 128
  h = xxhash_round(h, (uint64_t)(key >> 64));
#endif
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

/* SPDX-License-Identifier: Apache-2.0
 *
 * hasher murmur3_full: MurmurHash3 (A. Appleby, public domain) of the key's 4, 8 or 16 bytes, low byte first. Member i has
 * the seed word + i times the golden ratio, so member 0 of a word s below 2^32 is the published function with seed s.
 * 32-bit keys: x86_32, HashGraph's function. Wider keys: the first half of x64_128, because 32 hash bits name too few
 * buckets (HashGraph's code casts such keys to 32 bits). murmur3 is the finalizer alone: cheaper, and it mixes as well.
 */
#define TSR_PARAMETERS(P)

#define TSR_KEYS_128 0

#include "plugins/hasher.cuh"

#if TSR_KEY_BITS >= 64

TSR_INLINE uint64_t murmur3_full_finalize(uint64_t h) {
  h ^= h >> 33;
  h *= 0xFF51AFD7ED558CCDu;
  h ^= h >> 33;
  h *= 0xC4CEB9FE1A85EC53u;
  return h ^ h >> 33;
}

TSR_DEVICE tsr_hash TSR_PART(hash)(const tsr_ctx *c, tsr_key key, uint32_t i) {
  uint64_t seed = TSR_WORD(c, 0) + i * 0x9E3779B97F4A7C15u, block = (uint64_t)key * 0x87C37B91114253D5u;
  block = (block << 31 | block >> 33) * 0x4CF5AD432745937Fu;
#if TSR_KEY_BITS == 128 /* a whole block, which the published function mixes into both halves */
  uint64_t other = (uint64_t)(key >> 64) * 0x4CF5AD432745937Fu, first = seed ^ block, second = seed;
  other = (other << 33 | other >> 31) * 0x87C37B91114253D5u;
  first = ((first << 27 | first >> 37) + second) * 5 + 0x52DCE729u;
  second ^= other;
  second = ((second << 31 | second >> 33) + first) * 5 + 0x38495AB5u;
  first ^= sizeof key;
  second ^= sizeof key;
#else
  uint64_t first = seed ^ block ^ sizeof key, second = seed ^ sizeof key;
#endif
  first += second;
  second += first;
  return murmur3_full_finalize(first) + murmur3_full_finalize(second);
}

#else

TSR_DEVICE tsr_hash TSR_PART(hash)(const tsr_ctx *c, tsr_key key, uint32_t i) {
  uint32_t block = key * 0xCC9E2D51u;
  block = (block << 15 | block >> 17) * 0x1B873593u;
  uint32_t h = ((uint32_t)TSR_WORD(c, 0) + i * 0x9E3779B9u) ^ block;
  h = (h << 13 | h >> 19) * 5 + 0xE6546B64u;
  h ^= (uint32_t)sizeof key;
  h ^= h >> 16;
  h *= 0x85EBCA6Bu;
  h ^= h >> 13;
  h *= 0xC2B2AE35u;
  return h ^ h >> 16;
}

#endif

TSR_PART_FUNCTIONS(.hash = TSR_PART(hash));

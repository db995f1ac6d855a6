/* SPDX-License-Identifier: Apache-2.0
 *
 * hasher universal: ((a k + b) mod p), the 2-universal family of Carter and Wegman that BGHT 7 and SlabHash III-C name,
 * with p = 2^32 - 5 for 32-bit keys. For 64-bit keys the two halves have a multiplier each and p = 2^61 - 1, shifted to
 * the top. A member is a line, not a mixer: neighbouring keys land at a fixed distance.
 * (The papers' repositories compute (k xor a) + b instead, which is another function.)
 */
#define TSR_PARAMETERS(P)

#include "plugins/hasher.cuh"

enum { UNIVERSAL_A, UNIVERSAL_A_HIGH, UNIVERSAL_B }; /* state words, random; member i adds i times an odd number */

#if TSR_KEY_BITS == 64

#define UNIVERSAL_P 0x1FFFFFFFFFFFFFFFu

/* x mod p for x < 2^128, given as two words: 2^61 = 1 (mod p) */
TSR_INLINE uint64_t universal_modulo(uint64_t high, uint64_t low) {
  uint64_t sum = (low & UNIVERSAL_P) + ((low >> 61 | high << 3) & UNIVERSAL_P) + (high >> 58);
  sum = (sum & UNIVERSAL_P) + (sum >> 61);
  return sum >= UNIVERSAL_P ? sum - UNIVERSAL_P : sum;
}

TSR_INLINE uint64_t universal_multiply(uint64_t a, uint64_t x) {
  return universal_modulo(tsr_reduce(a, x), a * x); /* tsr_reduce is the high word of a product */
}

TSR_DEVICE tsr_hash TSR_PART(hash)(const tsr_ctx *c, tsr_key key, uint32_t i) {
  uint64_t shift = i * 0x9E3779B97F4A7C15u;
  uint64_t low = universal_multiply(((TSR_WORD(c, UNIVERSAL_A) + shift) >> 4) + 1, key & 0xFFFFFFFFu);
  uint64_t high = universal_multiply(((TSR_WORD(c, UNIVERSAL_A_HIGH) + shift) >> 4) + 1, key >> 32);
  return universal_modulo(0, low + high + ((TSR_WORD(c, UNIVERSAL_B) + shift) >> 4)) << 3;
}

#else

TSR_DEVICE tsr_hash TSR_PART(hash)(const tsr_ctx *c, tsr_key key, uint32_t i) {
  const uint32_t p = 4294967291u;
  uint32_t a = (uint32_t)(TSR_WORD(c, UNIVERSAL_A) >> 32) + i * 0x9E3779B9u;
  uint32_t b = (uint32_t)(TSR_WORD(c, UNIVERSAL_B) >> 32) + i * 0x85EBCA6Bu;
  if (a == 0 || a >= p) a = 1;
  return (tsr_hash)(((uint64_t)a * key + b) % p);
}

#endif

TSR_PART_FUNCTIONS(.hash = TSR_PART(hash));

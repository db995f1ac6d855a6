/* SPDX-License-Identifier: Apache-2.0
 *
 * hasher xor_add: ((k xor a) + b) mod p, the sum modulo 2^32 or 2^64 first. It is what the code of BGHT and SlabHash
 * computes, with p = 2^32 - 5, where the papers print (a k + b) mod p (hasher universal); for 64-bit keys p = 2^64 -
 * 59, again the largest prime below. For keys that are random already: their code takes the remainder by the number of
 * buckets, which spreads neighbouring keys; tsr_reduce takes the top bits, and they stay neighbours.
 */
#define TSR_PARAMETERS(P)

#include "plugins/hasher.cuh"

enum { XOR_ADD_A, XOR_ADD_B }; /* state words, random; member i adds i times an odd number */

TSR_DEVICE tsr_hash TSR_PART(hash)(const tsr_ctx *c, tsr_key key, uint32_t i) {
  const tsr_hash p = (tsr_hash) - (TSR_KEY_BITS == 64 ? 59 : 5);
  tsr_hash a = (tsr_hash)(TSR_WORD(c, XOR_ADD_A) + i * 0x9E3779B97F4A7C15u);
  tsr_hash b = (tsr_hash)(TSR_WORD(c, XOR_ADD_B) + i * 0xD1342543DE82EF95u);
  tsr_hash sum = (key ^ a) + b;
  return sum < p ? sum : sum - p;
}

TSR_PART_FUNCTIONS(.hash = TSR_PART(hash));

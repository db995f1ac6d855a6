/* SPDX-License-Identifier: Apache-2.0
 *
 * hasher multiply_shift: a k + b modulo 2^32 or 2^64 with odd a, of which tsr_reduce takes the top bits: the universal
 * family of Dietzfelbinger, Hagerup, Katajainen and Penttonen (A Reliable Randomized Algorithm for the Closest-Pair
 * Problem, 1997), where b is 0. Two keys share one of m buckets with probability at most 2 / m over the seeds. A member
 * is a line, not a mixer: neighbouring keys land at a fixed distance, and cuckoo hashing of dense keys may fail
 * (Dietzfelbinger and Schellbach, SODA 2009).
 */
#define TSR_PARAMETERS(P)

#include "plugins/hasher.cuh"

enum { MULTIPLY_SHIFT_A, MULTIPLY_SHIFT_B }; /* state words, random; member i adds i times an even and an odd number */

TSR_DEVICE tsr_hash TSR_PART(hash)(const tsr_ctx *c, tsr_key key, uint32_t i) {
  tsr_hash a = (tsr_hash)(TSR_WORD(c, MULTIPLY_SHIFT_A) + i * 0x9E3779B97F4A7C16u);
  tsr_hash b = (tsr_hash)(TSR_WORD(c, MULTIPLY_SHIFT_B) + i * 0xD1342543DE82EF95u);
  return (a | 1u) * key + b;
}

TSR_PART_FUNCTIONS(.hash = TSR_PART(hash));

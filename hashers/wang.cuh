/* SPDX-License-Identifier: Apache-2.0
 *
 * hasher wang: the mixes of T. Wang's page "Integer Hash Function" (1997 to 2007) that need no product, over the key
 * xor a member's constant: R. Jenkins's six shifts for 32-bit keys (WarpCore's NvidiaHash), Wang's own for 64-bit keys.
 * Member 0 of a zero word is the published function. The top bits of a key do not mix well: bit 31 of a 32-bit key
 * flips hash bit 4 in 73 of 100 cases, and keys that differ in their top bits alone fill buckets unevenly.
 */
#define TSR_PARAMETERS(P)

#include "plugins/hasher.cuh"

TSR_DEVICE tsr_hash TSR_PART(hash)(const tsr_ctx *c, tsr_key key, uint32_t i) {
  uint64_t seed = TSR_WORD(c, 0);
#if TSR_KEY_BITS == 64
  tsr_hash h = key ^ (seed + i * 0x9E3779B97F4A7C15u);
  h = ~h + (h << 21);
  h ^= h >> 24;
  h += (h << 3) + (h << 8);
  h ^= h >> 14;
  h += (h << 2) + (h << 4);
  h ^= h >> 28;
  return h + (h << 31);
#else
  tsr_hash h = key ^ ((uint32_t)seed + i * 0x9E3779B9u);
  h += (h << 12) + 0x7ED55D16u;
  h ^= h >> 19 ^ 0xC761C23Cu;
  h += (h << 5) + 0x165667B1u;
  h = (h + 0xD3A2646Cu) ^ h << 9;
  h += (h << 3) + 0xFD7046C5u;
  return h ^ h >> 16 ^ 0xB55A4F09u;
#endif
}

TSR_PART_FUNCTIONS(.hash = TSR_PART(hash));

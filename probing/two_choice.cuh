/* SPDX-License-Identifier: Apache-2.0
 *
 * probing two_choice: the power of two choices (BGHT 3.2, 4.3, its P2BHT; Azar et al., "Balanced allocations", SIAM J.
 * Comput. 29, 1999). A new pair goes to the less loaded of its two buckets, to the first of two equal ones, and stays:
 * that is the fact choices = 2 in two_choice.c.
 * No law ends a find early: the second bucket may hold a key while the first has room.
 */
#define TSR_PARAMETERS(P)

#define TSR_KEYS_128 0, 32, 64

#include "plugins/probing.cuh"

TSR_INLINE uint64_t two_choice_bucket(const tsr_ctx *c, tsr_key key, uint32_t i) { return tsr_bucket_of(c, key, i); }

TSR_DEVICE bool TSR_PART(next)(const tsr_ctx *c, tsr_key key, tsr_probe *probe) {
  if (probe->visited >= 2) return false;
  probe->ref = two_choice_bucket(c, key, probe->visited);
  return true;
}

TSR_PART_FUNCTIONS(.next = TSR_PART(next));

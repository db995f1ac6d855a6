/* SPDX-License-Identifier: Apache-2.0
 *
 * probing two_choice: the power of two choices (BGHT 3.2, 4.3, its P2BHT; Azar et al., "Balanced allocations", SIAM J.
 * Comput. 29, 1999). A new pair goes to the less loaded of its two buckets, to the first of two equal ones, and stays.
 * No law ends a find early: the second bucket may hold a key while the first has room.
 */
#define TSR_PARAMETERS(P)

#include "plugins/probing.cuh"

TSR_INLINE uint64_t two_choice_bucket(const tsr_ctx *c, tsr_key key, uint32_t i) {
  return tsr_reduce(hasher_hash(c, key, i), c->t->buckets);
}

TSR_DEVICE bool TSR_PART(next)(const tsr_ctx *c, tsr_key key, tsr_probe *probe) {
  if (probe->visited >= 2) return false;
  probe->ref = two_choice_bucket(c, key, probe->visited);
  return true;
}

TSR_DEVICE bool TSR_PART(place)(const tsr_ctx *c, tsr_key *key, tsr_cell *cell) {
  for (uint32_t retry = 0;; retry = 1) { /* bounded: a lost claim is another thread's success */
    tsr_bucket b;
    TSR_NO_UNROLL
    for (uint32_t i = 0; i < 2; i++) tsr_look_less_loaded(c, two_choice_bucket(c, *key, i), i, retry, &b);
    uint32_t vacant = layout_vacant(c, &b);
    if (!vacant) return false;
    if (tsr_claim(c, &b, tsr_lowest(vacant), *key, *cell)) return true;
  }
}

TSR_PART_FUNCTIONS(.next = TSR_PART(next), .place = TSR_PART(place));

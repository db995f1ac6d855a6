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

TSR_DEVICE uint32_t TSR_PART(place)(const tsr_ctx *c, tsr_key *key, tsr_payload *payload, tsr_probe *probe) {
  tsr_bucket b;
  uint32_t least = 0;
  TSR_NO_UNROLL
  for (uint32_t i = 0; i < 2; i++) tsr_look_less_loaded(c, two_choice_bucket(c, *key, i), probe->visited, &least, &b);
  uint32_t vacant = layout_vacant(c, &b);
  tsr_ctx work = tsr_work_ctx(c, vacant && !c->idle);
  probe->visited = 1; /* a lost claim is another thread's success: look again, fresh */
  if (tsr_claim(&work, &b, vacant ? tsr_lowest(vacant) : 0, *key, *payload)) return TSR_PLACED;
  return vacant ? TSR_PLACING : TSR_UNPLACED;
}

TSR_PART_FUNCTIONS(.next = TSR_PART(next), .place = TSR_PART(place));

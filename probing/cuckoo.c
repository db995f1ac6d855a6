/* SPDX-License-Identifier: Apache-2.0
 *
 * probing cuckoo: descriptor and plan. What it does: cuckoo.cuh.
 */
#include "cuckoo.cuh"

static tsr_status cuckoo_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  const tsr_config *own = config;
  if (!shape->can_exchange)
    return tsr_fail(error, TSR_INCOMPATIBLE,
                    "probing = cuckoo moves pairs, and this layout cannot swap a key together with its value: use "
                    "layout = packed, or a scheme that moves nothing");
  if (own->neighbours && own->hash_functions < 3)
    return tsr_fail(error, TSR_INCOMPATIBLE,
                    "[probing] neighbours = 1 with hash_functions = 2: a pair could go to its neighbour and nowhere "
                    "else: use hash_functions = 3 or 4, or neighbours = 0");
  if (own->neighbours) plan->probing.buckets += plan->probing.buckets % 2;
  plan->probing.moves_pairs = 1;
  plan->probing.asks_for_room = 1;
  plan->probing.counts_slots = !own->least_loaded;
  plan->probing.ends_at_empty = !own->least_loaded;
  plan->probing.choices = own->least_loaded ? own->hash_functions : 0;
  plan->probing.walk_max = own->hash_functions;
  plan->probing.first_slots = own->least_loaded ? 0 : shape->bucket_slots;
  uint64_t chain = 0; /* 7 log2(slots) */
  for (uint64_t slots = plan->probing.buckets * shape->bucket_slots; slots > 1; slots >>= 1) chain += 7;
  plan->state[CUCKOO_MAX_CHAIN] = own->max_chain ? own->max_chain : chain < 64 ? 64 : chain;
  return own->least_loaded ? tsr_plan_two_buckets(shape, "cuckoo", error) : TSR_OK;
}

TSR_PLUGIN(cuckoo_plan,
           "Bucketed cuckoo hashing: a key has 2 to 4 buckets, and a full bucket evicts a pair, which goes to another "
           "of its own. A find reads at most that many buckets, at loads up to 0.95 and beyond. Needs a layout that "
           "can exchange pairs.",
           "BGHT 3.1, 4.3, 5.2; Alcantara et al. 2011");

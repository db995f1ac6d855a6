/* SPDX-License-Identifier: Apache-2.0
 *
 * probing template: descriptor and plan. What it does: template.cuh.
 */
#include "template.cuh"

/* The facts are promises: the core cuts walks short by them and chooses how a key is kept unique, and the conformance kit
 * tests each of them. */
static tsr_status template_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  (void)config; /* any max_chain will do */
  if (!shape->can_exchange)
    return tsr_fail(error, TSR_INCOMPATIBLE,
                    "probing = template moves pairs, and this layout cannot swap a key together with its value: use "
                    "layout = packed, or a scheme that moves nothing");
  plan->probing.moves_pairs = 1;                   /* place() evicts */
  plan->probing.asks_for_room = 1;                 /* of a bucket it reads has_room alone, and looks at no resident */
  plan->probing.ends_at_empty = 1;                 /* a pair leaves only full buckets */
  plan->probing.first_slots = shape->bucket_slots; /* and its first bucket only when all of its slots are taken */
  return TSR_OK;
}

TSR_PLUGIN(template_plan, "Cuckoo hashing with two buckets a key; a random resident makes room.", "own");

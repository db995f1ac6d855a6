/* SPDX-License-Identifier: Apache-2.0
 *
 * probing two_choice: descriptor and plan. What it does: two_choice.cuh.
 */
#include "two_choice.cuh"

static tsr_status two_choice_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  (void)config, (void)plan; /* works with every layout, promises nothing */
  plan->probing.walk_max = 2;
  plan->probing.choices = 2;
  return tsr_plan_two_buckets(shape, "two_choice", error);
}

TSR_PLUGIN(two_choice_plan,
           "Two buckets per key; a new pair goes to the less loaded one and never moves. A find reads at most two. It "
           "reaches lower loads than cuckoo hashing: `tessera check` prints how high.",
           "BGHT 3.2, 4.3; Azar et al. 1999");

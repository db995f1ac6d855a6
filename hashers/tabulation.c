/* SPDX-License-Identifier: Apache-2.0
 *
 * hasher tabulation: descriptor and plan. What it does: tabulation.cuh.
 */
#include "tabulation.cuh"

static tsr_status tabulation_plan(const void *config, const tsr_shape *shape, tsr_plan *plan, tsr_error *error) {
  (void)config;
  (void)error;
  uint64_t seed = shape->seed;
  const uint64_t words = (uint64_t)shape->key_bits / 8 * TABULATION_VALUES * TABULATION_MEMBERS;
  plan->regions[TABULATION_TABLES] =
      (tsr_region){.name = "tables", .bytes = words * sizeof(uint64_t), .draws = tsr_draw(&seed) | 1};
  return TSR_OK;
}

TSR_PLUGIN(
    tabulation_plan,
    "Simple tabulation: each byte of a key names a random word, and the hash is their exclusive or. It mixes over "
    "seeds: for one seed a bit of the key flips fixed bits. 3-independent; with proofs for linear probing and cuckoo "
    "hashing.",
    "Patrascu and Thorup 2012");

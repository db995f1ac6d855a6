/* SPDX-License-Identifier: Apache-2.0
 *
 * The functions of the roles (entries.h), from the lists that declare the contract.
 */
#include "core/compose/entries.h"

#include <string.h>

#include "core/compose/registry.h"
#include "plugins/allocator.cuh"
#include "plugins/eviction.cuh"
#include "plugins/probing.cuh"

#define ENTRY_F(role, result, verb, parameters, arguments)                                                             \
  {TSR_ROLE_OF_##role, #result, #verb, #parameters, #arguments, NULL, offsetof(tsr_##role##_functions, verb)},
#define ENTRY_O(role, result, verb, parameters, arguments, absent)                                                     \
  {TSR_ROLE_OF_##role, #result, #verb, #parameters, #arguments, #absent, offsetof(tsr_##role##_functions, verb)},
const tsr_entry tsr_entries[] = {TSR_HASHER_FUNCTIONS(ENTRY_F, ENTRY_O) TSR_LAYOUT_FUNCTIONS(ENTRY_F, ENTRY_O)
                                     TSR_ALLOCATOR_FUNCTIONS(ENTRY_F, ENTRY_O) TSR_PROBING_FUNCTIONS(ENTRY_F, ENTRY_O)
                                         TSR_EVICTION_FUNCTIONS(ENTRY_F, ENTRY_O)};
const size_t tsr_entry_count = sizeof tsr_entries / sizeof tsr_entries[0];

bool tsr_entry_is_there(const tsr_image *image, const tsr_entry *f) {
  const void *function;
  memcpy(&function, (const char *)image->functions + f->slot, sizeof function);
  return function != NULL;
}

const char *tsr_entry_missing(uint32_t role, const tsr_image *image) {
  for (size_t i = 0; i < tsr_entry_count; i++)
    if (tsr_entries[i].role == role && !tsr_entries[i].absent && !tsr_entry_is_there(image, &tsr_entries[i]))
      return tsr_entries[i].verb;
  return NULL;
}

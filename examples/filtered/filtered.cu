/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds keys in a table behind a filter: only those that the filter lets through are looked for in the table. Read next:
 * filtered.c.
 */
#include "tessera.cuh"

TSR_TABLE(seen, finds)
TSR_TABLE(pairs, finds)

TSR_KERNEL(filtered,
           (tsr_table_ref seen, tsr_table_ref pairs, const uint32_t *keys, uint32_t *found, uint32_t missing)) {
  const uint64_t i = tsr_item();
  const uint32_t mine = i < tsr_items();
  const uint32_t key = mine ? keys[i] : 0;
  uint64_t value = missing;
  const uint32_t may_be = tsr_contains(seen, mine, key);
  if_any(may_be) tsr_find(pairs, may_be, key, &value);
  if (mine) found[i] = (uint32_t)value;
}

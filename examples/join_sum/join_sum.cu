/* SPDX-License-Identifier: Apache-2.0
 *
 * A hash join and an aggregate in one kernel: each row's key is looked up in one table, and what the row has is added to
 * the sum of the group that was found there, in another. No row is written in between. Read next: join_sum.c, README.md.
 */
#include "tessera.cuh"

TSR_TABLE(groups, finds)
TSR_TABLE(sums, inserts)

TSR_KERNEL(join_sum, (tsr_table_ref groups, tsr_table_ref sums, const uint32_t *keys, const uint32_t *amounts)) {
  const uint64_t i = tsr_item();
  const uint32_t is_row = i < tsr_items();
  uint64_t group = 0;
  const uint32_t is_found = tsr_find(groups, is_row, is_row ? keys[i] : 0, &group);
  if_any(is_found) tsr_insert(sums, is_found, group, is_found ? amounts[i] : 0);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The number of each end of an edge, and a new number for a node that has none: one call, from a kernel.
 */
#include "tessera.cuh"

TSR_TABLE(nodes, inserts)

TSR_KERNEL(relabel, (tsr_table_ref nodes, const uint64_t *ends, uint32_t *numbers)) {
  const uint64_t i = tsr_item();
  const uint32_t is_end = i < tsr_items();
  uint64_t number = 0xFFFFFFFF;
  tsr_number(nodes, is_end, is_end ? ends[i] : 0, &number);
  if (is_end) numbers[i] = (uint32_t)number;
}

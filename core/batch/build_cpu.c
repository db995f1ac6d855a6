/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory of a scheme that is built from whole batches on the CPU: a thread builds a page at a time (lists.h).
 */
#include "core/batch/steps.h"
#include "core/batch/steps_cpu.h"
#include "core/cpu/bulk.h"

void tsr_build_make(const tsr_cpu_table *table, const void *argument, uint64_t begin, uint64_t end) {
  const tsr_build_step *p = argument;
  for (uint64_t page = begin; page < end; page++)
    table->bulk->build(table->cpu, &p->bulk.state, p->bulk.keys, p->pages.begins[page], p->pages.begins[page + 1],
                       page);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps of lists that are made in bulk (steps.h) on the CPU: a thread makes those of a page at a time.
 */
#ifndef TSR_BATCH_LISTS_CPU_H
#define TSR_BATCH_LISTS_CPU_H

#include "core/batch/steps.h"
#include "core/cpu/bulk.h"

/* lists, any_count, any_begin or any_place; others have nothing to do here. n as for tsr_backend's page. */
void tsr_cpu_lists(const tsr_cpu *cpu, const tsr_cpu_bulk *bulk, uint32_t step, const tsr_pages *pages, uint64_t n);

#endif

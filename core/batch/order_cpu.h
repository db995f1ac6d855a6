/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps of a partition on the CPU (steps.h): a thread works on a tile at a time.
 */
#ifndef TSR_BATCH_ORDER_CPU_H
#define TSR_BATCH_ORDER_CPU_H

#include "core/batch/steps.h"
#include "core/cpu/bulk.h"

enum { TSR_CPU_TILE_ITEMS = 1 << 16 };

/* count, tiles, scatter or answer; n as for tsr_backend's page. */
void tsr_cpu_partition(const tsr_cpu *cpu, const tsr_cpu_bulk *bulk, uint32_t step, const tsr_pages *pages, uint64_t n);

#endif

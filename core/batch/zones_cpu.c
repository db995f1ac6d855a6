/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps of zones.h by the threads of the CPU.
 */
#include "core/batch/runs_cpu.h"
#include "core/batch/zones.h"
#include "core/cpu/bulk.h"

typedef struct zoned {
  const tsr_cpu_table *table;
  const tsr_zone_step *step;
} zoned;

static void zones_of(const void *how, uint64_t begin, uint64_t end, uint32_t *zones) {
  const zoned *z = how;
  z->table->bulk->pages(z->table->cpu, &z->step->bulk.state, z->step->pages, z->step->bulk.keys, begin, end, zones);
  for (uint64_t i = 0; i < end - begin; i++) zones[i] >>= z->step->shift;
}

void tsr_zone_count(const tsr_cpu_table *table, const void *argument, uint64_t begin, uint64_t end) {
  const tsr_zone_step *p = argument;
  for (uint64_t tile = begin; tile < end; tile++) tsr_runs_count(&p->runs, tile, zones_of, &(zoned){table, p});
}

void tsr_zone_scatter(const tsr_cpu_table *table, const void *argument, uint64_t begin, uint64_t end) {
  const tsr_zone_step *p = argument;
  const tsr_runs_column keys = {(void *)(uintptr_t)p->bulk.keys, &p->keys, table->bulk->key_bits / 8};
  for (uint64_t tile = begin; tile < end; tile++)
    tsr_runs_scatter(&p->runs, tile, zones_of, &(zoned){table, p}, &keys, 1);
}

void tsr_zone_gather(const tsr_cpu_table *table, const void *argument, uint64_t begin, uint64_t end) {
  const tsr_zone_step *p = argument;
  void *const column = (void *)(uintptr_t)p->column;
  (void)table;
  for (uint64_t tile = begin; tile < end; tile++)
    tsr_runs_gather(&p->runs, tile, &(tsr_runs_column){p->answers, &column, p->column_bytes}, NULL, 0);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps of zones.h by the threads of the CPU.
 */
#include <string.h>

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
  for (uint32_t zone = 0; p->begins && begin == 0 && zone <= p->runs.bins; zone++)
    p->begins[zone] = p->runs.counts[zone * p->runs.tiles];
}

void tsr_zone_gather(const tsr_cpu_table *table, const void *argument, uint64_t begin, uint64_t end) {
  const tsr_zone_step *p = argument;
  void *const column = (void *)(uintptr_t)p->column;
  (void)table;
  for (uint64_t tile = begin; tile < end; tile++)
    tsr_runs_gather(&p->runs, tile, &(tsr_runs_column){p->answers, &column, p->column_bytes}, NULL, 0);
}

static void put(void *to, uint64_t at, const void *from, uint64_t i, uint32_t bytes) {
  if (to && from) memcpy((char *)to + at * bytes, (const char *)from + i * bytes, bytes);
}

static void move_tile(const tsr_zone_step *p, uint64_t tile) {
  tsr_tile_runs runs;
  tsr_runs_find(&p->runs, tile, &runs);
  for (uint64_t i = tile * TSR_RUNS_TILE; i < tsr_runs_end(&p->runs, tile); i++) {
    uint32_t zone;
    put(p->answers, tsr_runs_number(&p->runs, &runs, i, &zone), p->column, i, p->column_bytes);
  }
}

void tsr_zone_move(const tsr_cpu_table *table, const void *argument, uint64_t begin, uint64_t end) {
  (void)table;
  for (uint64_t tile = begin; tile < end; tile++) move_tile(argument, tile);
}

static void tell_tile(const tsr_cpu_table *table, const tsr_zone_step *p, uint64_t tile) {
  const uint8_t *results = p->column;
  tsr_tile_runs runs;
  tsr_runs_find(&p->runs, tile, &runs);
  for (uint64_t i = tile * TSR_RUNS_TILE; i < tsr_runs_end(&p->runs, tile); i++) {
    uint32_t zone;
    const uint64_t number = tsr_runs_number(&p->runs, &runs, i, &zone);
    if (p->bulk.results) p->bulk.results[i] = results[number];
    if (results[number] != TSR_RESULT_NOT_PLACED) continue;
    put(p->bulk.unplaced_keys, i, p->keys, number, table->bulk->key_bits / 8);
    put(p->bulk.unplaced_values, i, p->values, number, table->bulk->payload_bits / 8);
  }
}

void tsr_zone_tell(const tsr_cpu_table *table, const void *argument, uint64_t begin, uint64_t end) {
  for (uint64_t tile = begin; tile < end; tile++) tell_tile(table, argument, tile);
}

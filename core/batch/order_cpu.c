/* SPDX-License-Identifier: Apache-2.0
 *
 * The partition on the CPU (steps.h). Bins are reserved by an atomic addition per tile, so tiles are in no particular
 * order in them, as on a GPU.
 */
#include "core/batch/steps_cpu.h"

#include <string.h>

#include "core/batch/steps.h"
#include "core/cpu/bulk.h"
#include "core/kernels/facts.h"

typedef struct partition_job {
  const tsr_cpu *cpu;
  const tsr_cpu_bulk *bulk;
  const tsr_order_step *pages;
  uint32_t step;
} partition_job;

/* Items from `begin` to before `end`, all of one segment. */
typedef struct tile {
  uint64_t begin, end, first_bin;
} tile;

/* False: there are fewer tiles. */
static bool tile_of(const tsr_order_step *p, uint64_t at, tile *t) {
  uint64_t segment = 0, end = p->bulk.n;
  t->begin = 0;
  if (p->segments.begins) {
    if (at >= p->segments.tiles[p->segments.count]) return false;
    for (uint64_t after = p->segments.count; after - segment > 1;) { /* the last one with no more tiles before it */
      const uint64_t middle = (segment + after) / 2;
      if (p->segments.tiles[middle] <= at)
        segment = middle;
      else
        after = middle;
    }
    at -= p->segments.tiles[segment];
    t->begin = p->segments.begins[segment];
    end = p->segments.begins[segment + 1];
  }
  t->begin += at * p->tile_items;
  t->end = end - t->begin > p->tile_items ? t->begin + p->tile_items : end;
  t->first_bin = segment << p->fan_log2;
  return true;
}

enum { BINS = 1 << TSR_PAGES_FAN_LOG2, CHUNK = 512 };

/* The items' bins in the tile's segment, for at most CHUNK items. */
static void bins_of(const partition_job *job, const tile *t, uint64_t begin, uint64_t end, uint32_t *bins) {
  const tsr_order_step *p = job->pages;
  job->bulk->pages(job->cpu, &p->bulk.state, p->pages, p->bulk.keys, begin, end, bins);
  for (uint64_t i = 0; i < end - begin; i++) bins[i] = (uint32_t)((bins[i] >> p->shift) - t->first_bin);
}

static void count_tile(const partition_job *job, const tile *t, uint64_t *counts) {
  uint32_t bins[CHUNK];
  memset(counts, 0, BINS * sizeof *counts);
  for (uint64_t begin = t->begin, end; begin < t->end; begin = end) {
    end = t->end - begin > CHUNK ? begin + CHUNK : t->end;
    bins_of(job, t, begin, end, bins);
    for (uint64_t i = 0; i < end - begin; i++) counts[bins[i]]++;
  }
}

static void move_item(void *to, uint64_t at, const void *from, uint64_t i, uint32_t bytes) {
  if (bytes == 8)
    ((uint64_t *)to)[at] = ((const uint64_t *)from)[i];
  else if (bytes == 4)
    ((uint32_t *)to)[at] = ((const uint32_t *)from)[i];
}

static void move_tile(const partition_job *job, const tile *t, uint64_t *cursors) {
  const tsr_order_step *p = job->pages;
  const uint32_t key_bytes = job->bulk->key_bits / 8, value_bytes = job->bulk->payload_bits / 8;
  uint32_t bins[CHUNK];
  for (uint64_t begin = t->begin, end; begin < t->end; begin = end) {
    end = t->end - begin > CHUNK ? begin + CHUNK : t->end;
    bins_of(job, t, begin, end, bins);
    for (uint64_t i = begin; i < end; i++) {
      const uint64_t at = cursors[bins[i - begin]]++;
      move_item(p->to.keys, at, p->bulk.keys, i, key_bytes);
      if (p->to.values) move_item(p->to.values, at, p->bulk.values, i, value_bytes);
      if (p->to.places) p->to.places[at] = p->places ? p->places[i] : (uint32_t)i;
    }
  }
}

/* Relaxed, like all here: counts order nothing, and the team's join comes before they are used. */
static void work_tile(const partition_job *job, uint64_t at) {
  const tsr_order_step *p = job->pages;
  uint64_t counts[BINS];
  tile t;
  if (!tile_of(p, at, &t)) return;
  count_tile(job, &t, counts);
  uint64_t *shared = (job->step == TSR_PAGES_count ? p->counts : p->cursors) + t.first_bin;
  for (uint32_t bin = 0; bin < BINS; bin++)
    if (counts[bin]) counts[bin] = __atomic_fetch_add(&shared[bin], counts[bin], __ATOMIC_RELAXED);
  if (job->step == TSR_PAGES_scatter) move_tile(job, &t, counts);
}

static void work_tiles(const tsr_cpu_table *table, const void *argument, uint32_t step, uint64_t begin, uint64_t end) {
  const partition_job job = {table->cpu, table->bulk, argument, step};
  for (uint64_t at = begin; at < end; at++) work_tile(&job, at);
}

void tsr_order_count(const tsr_cpu_table *table, const void *argument, uint64_t begin, uint64_t end) {
  work_tiles(table, argument, TSR_PAGES_count, begin, end);
}

void tsr_order_scatter(const tsr_cpu_table *table, const void *argument, uint64_t begin, uint64_t end) {
  work_tiles(table, argument, TSR_PAGES_scatter, begin, end);
}

void tsr_order_tiles(const tsr_cpu_table *table, const void *argument, uint64_t begin, uint64_t end) {
  const tsr_tiles_step *p = argument;
  (void)table;
  for (uint64_t i = begin; i < end; i++)
    p->segments.tiles[i] = (p->segments.begins[i + 1] - p->segments.begins[i] + p->tile_items - 1) / p->tile_items;
}

void tsr_order_answer(const tsr_cpu_table *table, const void *argument, uint64_t begin, uint64_t end) {
  const tsr_answer_step *p = argument;
  for (uint64_t i = begin; i < end; i++) {
    const uint32_t place = p->places[i];
    if (p->bulk.results[i] == TSR_RESULT_INSERTED) continue;
    if (p->results) p->results[place] = p->bulk.results[i];
    if (p->bulk.results[i] != TSR_RESULT_NOT_PLACED) continue;
    if (p->unplaced_keys) move_item(p->unplaced_keys, place, p->bulk.keys, i, table->bulk->key_bits / 8);
    if (p->unplaced_values)
      move_item(p->unplaced_values, place, p->bulk.unplaced_values, i, table->bulk->payload_bits / 8);
  }
}

void tsr_place_insert(const tsr_cpu_table *table, const void *argument, uint64_t n) {
  const tsr_place_step *p = argument;
  (void)n;
  table->launch(table->program, TSR_BULK_insert, &p->bulk);
  if (table->cpu->core->combines_later) table->launch(table->program, TSR_BULK_combine, &p->bulk);
}

void tsr_mark_all(const tsr_cpu_table *table, const void *argument, uint64_t n) {
  const tsr_mark_step *p = argument;
  (void)n;
  table->launch(table->program, table->cpu->core->is_filter ? TSR_BULK_insert : TSR_BULK_mark, &p->bulk);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps of zones.h by the threads of the CPU. A tile's items keep their order in a zone.
 */
#include "core/batch/zones.h"

#include <string.h>

#include "core/cpu/bulk.h"

enum { CHUNK = 512 };

static uint64_t end_of(const tsr_zone_step *p, uint64_t tile) {
  const uint64_t end = (tile + 1) * TSR_ZONE_TILE;
  return end < p->bulk.n ? end : p->bulk.n;
}

/* The zones of a chunk's items, from `begin` on; returns where the chunk ends. */
static uint64_t zones_of(const tsr_cpu_table *table, const tsr_zone_step *p, uint64_t begin, uint64_t end,
                         uint32_t *zones) {
  if (end - begin > CHUNK) end = begin + CHUNK;
  table->bulk->pages(table->cpu, &p->bulk.state, p->pages, p->bulk.keys, begin, end, zones);
  for (uint64_t i = 0; i < end - begin; i++) zones[i] >>= p->shift;
  return end;
}

static void count_tile(const tsr_cpu_table *table, const tsr_zone_step *p, uint64_t tile) {
  uint64_t counts[TSR_ZONE_ROOM] = {0};
  uint32_t zones[CHUNK];
  for (uint64_t begin = tile * TSR_ZONE_TILE, end; begin < end_of(p, tile); begin = end) {
    end = zones_of(table, p, begin, end_of(p, tile), zones);
    for (uint64_t i = 0; i < end - begin; i++) counts[zones[i]]++;
  }
  for (uint32_t zone = 0; zone < p->zones; zone++) p->counts[zone * p->tiles + tile] = counts[zone];
}

/* The tile's runs: where each begins in the tile's own order, and how much later it is in the batch. */
static void find_runs(const tsr_zone_step *p, uint64_t tile, uint32_t *begins, uint64_t *shifts) {
  begins[0] = 0;
  for (uint32_t zone = 0; zone < p->zones; zone++) {
    const uint64_t *cell = &p->counts[zone * p->tiles + tile];
    shifts[zone] = cell[0] - begins[zone];
    begins[zone + 1] = begins[zone] + (uint32_t)(cell[1] - cell[0]);
  }
}

static void put(void *to, uint64_t at, const void *from, uint64_t i, uint32_t bytes) {
  memcpy((char *)to + at * bytes, (const char *)from + i * bytes, bytes);
}

static void scatter_tile(const tsr_cpu_table *table, const tsr_zone_step *p, uint64_t tile) {
  uint32_t begins[TSR_ZONE_ROOM + 1], zones[CHUNK];
  uint64_t shifts[TSR_ZONE_ROOM];
  find_runs(p, tile, begins, shifts);
  for (uint64_t begin = tile * TSR_ZONE_TILE, end; begin < end_of(p, tile); begin = end) {
    end = zones_of(table, p, begin, end_of(p, tile), zones);
    for (uint64_t i = begin; i < end; i++) {
      const uint32_t zone = zones[i - begin], place = begins[zone]++;
      put(p->keys, shifts[zone] + place, p->bulk.keys, i, table->bulk->key_bits / 8);
      if (p->places) p->places[i] = (uint16_t)place;
    }
  }
}

static void gather_tile(const tsr_zone_step *p, uint64_t tile) {
  uint32_t begins[TSR_ZONE_ROOM + 1];
  uint64_t shifts[TSR_ZONE_ROOM], room[TSR_ZONE_TILE];
  find_runs(p, tile, begins, shifts);
  for (uint32_t zone = 0; zone < p->zones; zone++)
    memcpy((char *)room + (uint64_t)begins[zone] * p->column_bytes,
           (const char *)p->column + (shifts[zone] + begins[zone]) * p->column_bytes,
           (uint64_t)(begins[zone + 1] - begins[zone]) * p->column_bytes);
  for (uint64_t i = tile * TSR_ZONE_TILE; i < end_of(p, tile); i++)
    put(p->answers, i, room, p->places[i], p->column_bytes);
}

void tsr_zone_count(const tsr_cpu_table *table, const void *argument, uint64_t begin, uint64_t end) {
  for (uint64_t tile = begin; tile < end; tile++) count_tile(table, argument, tile);
}

void tsr_zone_scatter(const tsr_cpu_table *table, const void *argument, uint64_t begin, uint64_t end) {
  for (uint64_t tile = begin; tile < end; tile++) scatter_tile(table, argument, tile);
}

void tsr_zone_gather(const tsr_cpu_table *table, const void *argument, uint64_t begin, uint64_t end) {
  (void)table;
  for (uint64_t tile = begin; tile < end; tile++) gather_tile(argument, tile);
}

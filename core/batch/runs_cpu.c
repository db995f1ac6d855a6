/* SPDX-License-Identifier: Apache-2.0
 *
 * Tiles of a batch in few bins, on the CPU (runs_cpu.h).
 */
#include "core/batch/runs_cpu.h"

#include <string.h>

void tsr_runs_find(const tsr_runs *r, uint64_t tile, tsr_tile_runs *found) {
  found->begins[0] = 0;
  for (uint32_t bin = 0; bin < r->bins; bin++) {
    const uint64_t *own = &r->counts[bin * r->tiles], *cell = own + tile;
    found->firsts[bin] = cell[0] - (r->are_apart ? own[0] : 0);
    found->begins[bin + 1] = found->begins[bin] + (uint32_t)(cell[1] - cell[0]);
  }
}

uint64_t tsr_runs_number(const tsr_runs *r, const tsr_tile_runs *found, uint64_t i, uint32_t *bin) {
  const uint32_t place = r->places[i];
  *bin = 0;
  for (uint32_t after = r->bins; after - *bin > 1;) { /* the last one that begins at the place or before */
    const uint32_t middle = (*bin + after) / 2;
    if (found->begins[middle] <= place)
      *bin = middle;
    else
      after = middle;
  }
  return found->firsts[*bin] + (place - found->begins[*bin]);
}

/* The bins of a chunk's items, from `begin` on; returns where the chunk ends. */
static uint64_t chunk_of(uint64_t begin, uint64_t end, tsr_runs_bins *bins_of, const void *how, uint32_t *bins) {
  if (end - begin > TSR_RUNS_CHUNK) end = begin + TSR_RUNS_CHUNK;
  bins_of(how, begin, end, bins);
  return end;
}

void tsr_runs_count(const tsr_runs *r, uint64_t tile, tsr_runs_bins *bins_of, const void *how) {
  uint64_t counts[TSR_RUNS_BINS] = {0};
  uint32_t bins[TSR_RUNS_CHUNK];
  for (uint64_t begin = tile * TSR_RUNS_TILE, end; begin < tsr_runs_end(r, tile); begin = end) {
    end = chunk_of(begin, tsr_runs_end(r, tile), bins_of, how, bins);
    for (uint64_t i = 0; i < end - begin; i++) counts[bins[i]]++;
  }
  for (uint32_t bin = 0; bin < r->bins; bin++) r->counts[bin * r->tiles + tile] = counts[bin];
}

static void put(void *to, uint64_t at, const void *from, uint64_t i, uint32_t bytes) {
  char *const target = (char *)to + at * bytes;
  const char *const source = (const char *)from + i * bytes;
  switch (bytes) { /* sizes that the compiler knows */
  case 1:
    *target = *source;
    break;
  case 4:
    memcpy(target, source, 4);
    break;
  case 8:
    memcpy(target, source, 8);
    break;
  default:
    memcpy(target, source, bytes);
  }
}

static void *column_at(const tsr_runs *r, const tsr_runs_column *column, uint32_t bin) {
  return column->binned[r->are_apart ? bin : 0];
}

void tsr_runs_scatter(const tsr_runs *r, uint64_t tile, tsr_runs_bins *bins_of, const void *how,
                      const tsr_runs_column *columns, uint32_t count) {
  uint32_t next[TSR_RUNS_BINS], bins[TSR_RUNS_CHUNK];
  tsr_tile_runs runs;
  tsr_runs_find(r, tile, &runs);
  memcpy(next, runs.begins, sizeof next);
  for (uint64_t begin = tile * TSR_RUNS_TILE, end; begin < tsr_runs_end(r, tile); begin = end) {
    end = chunk_of(begin, tsr_runs_end(r, tile), bins_of, how, bins);
    for (uint64_t i = begin; i < end; i++) {
      const uint32_t bin = bins[i - begin], place = next[bin]++;
      const uint64_t at = runs.firsts[bin] + (place - runs.begins[bin]);
      for (uint32_t c = 0; c < count; c++)
        if (columns[c].items) put(column_at(r, &columns[c], bin), at, columns[c].items, i, columns[c].bytes);
      if (r->places) r->places[i] = (uint16_t)place;
    }
  }
}

void tsr_runs_gather(const tsr_runs *r, uint64_t tile, const tsr_runs_column *column, const uint8_t *only,
                     uint8_t code) {
  uint8_t bin_at[TSR_RUNS_TILE]; /* of each place */
  tsr_tile_runs runs;
  tsr_runs_find(r, tile, &runs);
  for (uint32_t bin = 0; bin < r->bins; bin++)
    memset(bin_at + runs.begins[bin], (int)bin, runs.begins[bin + 1] - runs.begins[bin]);
  for (uint64_t i = tile * TSR_RUNS_TILE; i < tsr_runs_end(r, tile); i++) {
    const uint32_t place = r->places[i], bin = bin_at[place];
    if (!only || only[i] == code)
      put(column->items, i, column_at(r, column, bin), runs.firsts[bin] + (place - runs.begins[bin]), column->bytes);
  }
}

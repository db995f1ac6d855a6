/* SPDX-License-Identifier: Apache-2.0
 *
 * What a thread of the CPU does with a tile of runs.h. A tile's items keep their order in a bin. Read next: zones_cpu.c,
 * split.c.
 */
#ifndef TSR_BATCH_RUNS_CPU_H
#define TSR_BATCH_RUNS_CPU_H

#include <stdbool.h>
#include <stdint.h>

#include "core/batch/runs.h"

/* The bins of items `begin` to before `end`, at most TSR_RUNS_CHUNK. */
typedef void tsr_runs_bins(const void *how, uint64_t begin, uint64_t end, uint32_t *bins);
enum { TSR_RUNS_CHUNK = 512 };

/* A column of a batch: in the caller's order, and in the order of bins, one for each bin if these are apart. */
typedef struct tsr_runs_column {
  void *items, *const *binned;
  uint32_t bytes; /* of an item */
} tsr_runs_column;

/* A tile's runs: where each begins in the tile's own order, and in its column. */
typedef struct tsr_tile_runs {
  uint32_t begins[TSR_RUNS_BINS + 1];
  uint64_t firsts[TSR_RUNS_BINS];
} tsr_tile_runs;

void tsr_runs_find(const tsr_runs *runs, uint64_t tile, tsr_tile_runs *found);
/* Where item i of the tile is: its number in its column, and its bin. */
uint64_t tsr_runs_number(const tsr_runs *runs, const tsr_tile_runs *found, uint64_t i, uint32_t *bin);
/* The end of a tile's items. */
static inline uint64_t tsr_runs_end(const tsr_runs *runs, uint64_t tile) {
  return tile * TSR_RUNS_TILE + tsr_runs_items(runs, tile);
}

void tsr_runs_count(const tsr_runs *runs, uint64_t tile, tsr_runs_bins *bins_of, const void *how);
/* Moves all columns of a tile; the places are noted. Columns without items are left out. */
void tsr_runs_scatter(const tsr_runs *runs, uint64_t tile, tsr_runs_bins *bins_of, const void *how,
                      const tsr_runs_column *columns, uint32_t count);
/* Brings a column back; only the items with this code in `only`, if that is not NULL. */
void tsr_runs_gather(const tsr_runs *runs, uint64_t tile, const tsr_runs_column *column, const uint8_t *only,
                     uint8_t code);

#endif

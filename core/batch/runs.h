/* SPDX-License-Identifier: Apache-2.0
 *
 * A batch in the order of few bins, whose answers go back to the caller's order: what finds by zones (zones.h) and the
 * split among shards (split.h) have in common. A batch is cut into tiles, and a block of threads works on a tile. In the
 * order of bins the items of a tile are a run in each bin. So an item finds its answer by its place in its tile, which
 * takes 2 bytes; and moving a tile to the bins and back reads and writes in lines. Read next: runs.cuh, runs_cpu.h.
 *
 * The other partition (order.h) has up to 2^36 bins in several passes. It keeps no tiles: a table of runs would be as
 * large as the batch.
 */
#ifndef TSR_BATCH_RUNS_H
#define TSR_BATCH_RUNS_H

#include <stdint.h>

enum {
  TSR_RUNS_THREADS = 512,
  TSR_RUNS_TILE = 16 * TSR_RUNS_THREADS, /* items; places have 16 bits */
  TSR_RUNS_BINS = 256                    /* the most: more would make runs shorter than a line of the cache */
};
#define TSR_RUNS_TILES(n) (((n) + TSR_RUNS_TILE - 1) / TSR_RUNS_TILE)

typedef struct tsr_runs {
  uint64_t n, tiles;
  uint32_t bins;
  uint32_t are_apart; /* 1: each bin has columns of its own; 0: bins follow each other in one column */
  uint64_t *counts;   /* bins * tiles + 1, a bin's together: how many items; then their prefix sum: where runs begin */
  uint16_t *places;   /* n: of each item, its place in its tile in the order of bins; NULL: nobody wants to know */
} tsr_runs;

#endif

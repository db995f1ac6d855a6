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

#include "core/kernels/steps.h"

enum {
  TSR_RUNS_THREADS = 512,
  TSR_RUNS_TILE = 16 * TSR_RUNS_THREADS, /* items; places have 16 bits */
  TSR_RUNS_BINS = 256,                   /* the most: more would make runs shorter than a line of the cache */
  TSR_RUNS_SPAN_TILES = 2,               /* of a span whose items were folded (fold.h) */
  TSR_RUNS_SPAN = TSR_RUNS_SPAN_TILES * TSR_RUNS_TILE
};
#define TSR_RUNS_TILES(n) (((n) + TSR_RUNS_TILE - 1) / TSR_RUNS_TILE)

typedef struct tsr_runs {
  uint64_t n, tiles;
  uint32_t bins;
  uint32_t are_apart; /* 1: each bin has columns of its own; 0: bins follow each other in one column */
  uint64_t *counts;   /* bins * tiles + 1, a bin's together: how many items; then their prefix sum: where runs begin */
  uint16_t *places;   /* n: of each item, its place in its tile in the order of bins; NULL: nobody wants to know */
  const uint32_t
      *made; /* how many items were made of each span (fold.h): they have its first places; NULL: n as they came */
} tsr_runs;

/* How many items a tile has. */
TSR_STEP_FUNCTION uint32_t tsr_runs_items(const tsr_runs *r, uint64_t tile) {
  const uint64_t before = tile * TSR_RUNS_TILE % TSR_RUNS_SPAN, left = r->n - tile * TSR_RUNS_TILE;
  const uint64_t items = !r->made                                       ? left
                         : r->made[tile / TSR_RUNS_SPAN_TILES] > before ? r->made[tile / TSR_RUNS_SPAN_TILES] - before
                                                                        : 0;
  return items < TSR_RUNS_TILE ? (uint32_t)items : (uint32_t)TSR_RUNS_TILE;
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds in the order of zones. A zone is a run of neighbouring pages that fits the device's L2 cache. One pass moves
 * the keys alone into the order of the zones; the ordinary operation works on them in this order; then the answers go
 * back to the caller's order. Why: ../design/0032-zones.md. Read next: zones.c, zones.cu.
 */
#ifndef TSR_BATCH_ZONES_H
#define TSR_BATCH_ZONES_H

#include "core/kernels/bulk.h"
#include "core/kernels/steps.h"

/* A batch is cut into tiles, and a block of threads works on a tile. In the order of zones the items of a tile are a run
 * in each zone; so an item finds its answer by its place in its tile, which takes 2 bytes.
 * count    how many items of each tile are in each zone; their prefix sum is where the runs begin
 * scatter  moves the keys there, and keeps each item's place in its tile
 * gather   brings a column of answers back, tile by tile */
#define TSR_ZONE_STEPS(F)                                                                                              \
  F(count, .range = tsr_zone_count, .grid = {.threads = TSR_ZONE_THREADS, .block_items = 1})                           \
  F(scatter, .range = tsr_zone_scatter, .grid = {.threads = TSR_ZONE_THREADS, .block_items = 1}, .fit = fit_keys)      \
  F(gather, .range = tsr_zone_gather, .grid = {.threads = TSR_ZONE_THREADS, .block_items = 1}, .fit = fit_column)
#define TSR_ZONE_ENUM(step, ...) TSR_ZONE_##step,
enum { TSR_ZONE_STEPS(TSR_ZONE_ENUM) TSR_ZONE_STEP_COUNT };

enum {
  TSR_ZONE_THREADS = 512,
  TSR_ZONE_TILE = 16 * TSR_ZONE_THREADS, /* items; their places have 16 bits */
  TSR_ZONE_ROOM = 256 /* the most zones: more would make a tile's runs shorter than a line of the cache */
};

typedef struct tsr_zone_step {
  tsr_bulk bulk;         /* the batch as it came: its keys and n */
  uint64_t pages;        /* of page_of_item */
  uint32_t zones, shift; /* a key's zone is its page >> shift */
  uint64_t tiles;        /* of the batch */
  uint64_t *counts;      /* zones * tiles + 1, a zone's together */
  void *keys;            /* scatter: in the order of zones */
  uint16_t *places;      /* of each item, its place in its tile; scatter: NULL: nobody wants to know */
  const void *column;    /* gather: answers in the order of zones, */
  void *answers;         /* ... and in the caller's */
  uint32_t column_bytes; /* gather: of an answer: 1, 4 or 8 */
} tsr_zone_step;

TSR_STEPS(tsr_zone_steps)

#ifndef __CUDACC__
#include "core/batch/work.h"

/* Enqueues an operation in the order of zones. *began: false where there was no memory for it, and nothing was done. */
tsr_status tsr_zones_work(const tsr_work *work, uint32_t op, const tsr_bulk *bulk, bool *began) TSR_MUST_CHECK;

/* The CPU's part: a thread works on a tile at a time. */
tsr_step_range tsr_zone_count, tsr_zone_scatter, tsr_zone_gather;
#endif
#endif

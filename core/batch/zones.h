/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds in the order of zones. A zone is a run of neighbouring pages that fits the device's L2 cache. One pass moves
 * the keys alone into the order of the zones; the ordinary operation works on them in this order; then the answers go
 * back to the caller's order. An index writes its numbers so; these move too, and nothing goes back.
 * Why: ../design/0032-zones.md. Read next: zones.c, zones.cu.
 */
#ifndef TSR_BATCH_ZONES_H
#define TSR_BATCH_ZONES_H

#include "core/batch/runs.h"
#include "core/kernels/bulk.h"
#include "core/kernels/steps.h"

/* The steps of a batch in runs (runs.h), whose bins are the zones, or the bins of the first pass of order.h:
 * count    how many items of each tile are in each zone
 * scatter  moves the keys to the order of zones
 * move     moves another column there
 * gather   brings a column of answers back
 * tell     brings results back, and what came back for items without a place */
#define TSR_ZONE_STEPS(F)                                                                                              \
  F(count, .range = tsr_zone_count, .grid = {.threads = TSR_RUNS_THREADS, .block_items = 1})                           \
  F(scatter, .range = tsr_zone_scatter, .grid = {.threads = TSR_RUNS_THREADS, .block_items = 1}, .fit = fit_keys)      \
  F(move, .range = tsr_zone_move, .grid = {.threads = TSR_RUNS_THREADS, .block_items = 1}, .fit = fit_column)          \
  F(gather, .range = tsr_zone_gather, .grid = {.threads = TSR_RUNS_THREADS, .block_items = 1}, .fit = fit_column)      \
  F(tell, .range = tsr_zone_tell, .grid = {.threads = TSR_RUNS_THREADS, .block_items = 1}, .fit = fit_column)
#define TSR_ZONE_ENUM(step, ...) TSR_ZONE_##step,
enum { TSR_ZONE_STEPS(TSR_ZONE_ENUM) TSR_ZONE_STEP_COUNT };

typedef struct tsr_zone_step {
  tsr_runs runs;
  tsr_bulk bulk;         /* the batch as it came: keys; tell: its arrays for answers */
  uint64_t pages;        /* of page_of_item */
  uint32_t shift;        /* a key's zone is its page >> shift */
  uint32_t column_bytes; /* of an item: move, gather: 1, 4 or 8; tell: 1 */
  void *keys, *values;   /* in the order of zones; tell: what came back for each item */
  uint64_t *begins;      /* scatter: NULL, or zones + 1: where each begins */
  const void *column;    /* answers in the order of zones; move: a column in the caller's */
  void *answers;         /* gather: answers in the caller's order; move: the column in that of zones */
  const uint32_t *idle;  /* as in tsr_segments (steps.h) */
} tsr_zone_step;

TSR_STEPS(tsr_zone_steps)

#ifndef __CUDACC__
#include "core/batch/work.h"

/* Enqueues a step. */
tsr_status tsr_zone_work(const tsr_work *work, uint32_t step, const tsr_zone_step *argument) TSR_MUST_CHECK;
/* Enqueues an operation in the order of zones. *began: false where there was no memory for it, and nothing was done. */
tsr_status tsr_zones_work(const tsr_work *work, uint32_t op, const tsr_bulk *bulk, bool *began) TSR_MUST_CHECK;

/* The CPU's part: a thread works on a tile at a time. */
tsr_step_range tsr_zone_count, tsr_zone_scatter, tsr_zone_move, tsr_zone_gather, tsr_zone_tell;
#endif
#endif

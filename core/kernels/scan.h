/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps of a prefix sum. Numbers are worked through in tiles, which are the items. totals sums each tile; the
 * prefix sum of these, made the same way, is where each tile begins; tiles sums inside the tiles.
 *
 * Read next: steps.h, ../batch/sum.h.
 */
#ifndef TSR_SCAN_H
#define TSR_SCAN_H

#include "core/kernels/steps.h"

#define TSR_SCAN_STEPS(F) F(totals) F(tiles)
#define TSR_SCAN_ENUM(step) TSR_SCAN_##step,
enum { TSR_SCAN_STEPS(TSR_SCAN_ENUM) TSR_SCAN_STEP_COUNT };

enum { TSR_SCAN_THREAD_NUMBERS = 8, TSR_SCAN_TILE = TSR_BLOCK_THREADS * TSR_SCAN_THREAD_NUMBERS };

typedef struct tsr_scan {
  uint64_t *numbers; /* n, and for tsr_scan_tiles a place for the sum of all */
  uint64_t *tiles;   /* one per tile: totals out, or where each tile begins in; NULL: the one tile begins at 0 */
  uint64_t n;
} tsr_scan;

TSR_STEPS(tsr_scan_steps)

#endif

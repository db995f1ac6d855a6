/* SPDX-License-Identifier: Apache-2.0
 *
 * The prefix sum on a GPU as the host sees it: two kernels and their argument. Numbers are worked through in tiles, one
 * a block: tsr_scan_totals sums each tile; their prefix sum, made the same way, is where each tile begins;
 * tsr_scan_tiles sums up inside the tiles. Shared by scan.cu and ../cuda/scan.c; compiles as C11 and CUDA C.
 */
#ifndef TSR_SCAN_H
#define TSR_SCAN_H

#include "plugins/table.h"

enum { TSR_SCAN_THREAD_NUMBERS = 8, TSR_SCAN_TILE = TSR_BLOCK_THREADS * TSR_SCAN_THREAD_NUMBERS };

typedef struct tsr_scan {
  uint64_t *numbers; /* n, and for tsr_scan_tiles a place for the sum of all */
  uint64_t *tiles;   /* one a tile: totals out, or where each tile begins in; NULL: the one tile begins at 0 */
  uint64_t n;
} tsr_scan;

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps of scan.h as data, and what the CPU does: a thread works on a tile as a block does on a GPU.
 */
#include "core/kernels/scan.h"

static void totals_item(const tsr_scan *s, uint64_t tile) {
  const uint64_t first = tile * TSR_SCAN_TILE;
  uint64_t sum = 0;
  for (uint64_t i = first; i < s->n && i < first + TSR_SCAN_TILE; i++) sum += s->numbers[i];
  s->tiles[tile] = sum;
}

static void tiles_item(const tsr_scan *s, uint64_t tile) {
  const uint64_t first = tile * TSR_SCAN_TILE;
  uint64_t sum = s->tiles ? s->tiles[tile] : 0;
  for (uint64_t i = first; i <= s->n && i < first + TSR_SCAN_TILE; i++) {
    const uint64_t number = i < s->n ? s->numbers[i] : 0;
    s->numbers[i] = sum;
    sum += number;
  }
}

#define RANGE(step) TSR_STEP_RANGE(step##_range, tsr_scan, step##_item)
TSR_SCAN_STEPS(RANGE)

#define ROW(name)                                                                                                      \
  {.set = &tsr_scan_steps, .kernel = "tsr_scan_" #name, .range = name##_range, .grid = {.block_items = 1}},
static const tsr_step steps[] = {TSR_SCAN_STEPS(ROW)};
extern const tsr_image tsr_scan_images[];
const tsr_steps tsr_scan_steps = {.images = tsr_scan_images, .step = steps, .count = TSR_SCAN_STEP_COUNT};

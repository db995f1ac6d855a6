/* SPDX-License-Identifier: Apache-2.0
 *
 * Prefix sums (sum.h). The numbers are cut into tiles, whose totals are summed first, in the same way one level
 * higher. Then each tile knows where it begins, and is summed by itself. 2^39 numbers make four levels.
 */
#include "core/batch/sum.h"

#include "core/kernels/scan.h"

enum { LEVELS_MAX = 6 };

/* The sum of all has a place behind the numbers, so there is a tile for that place as well. */
static uint64_t tiles_of(const tsr_scan *level) { return (level->n + 1 + TSR_SCAN_TILE - 1) / TSR_SCAN_TILE; }

/* levels[0] are the caller's numbers, levels[i + 1] the totals of the tiles of levels[i]. */
static tsr_status sum_up(tsr_device *device, const tsr_scan *levels, uint32_t count, void *stream, tsr_error *error) {
  const tsr_step *totals = &tsr_scan_steps.step[TSR_SCAN_totals], *tiles = &tsr_scan_steps.step[TSR_SCAN_tiles];
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; status == TSR_OK && i + 1 < count; i++)
    status = device->backend->step(device, NULL, totals, &levels[i], levels[i + 1].n, stream, error);
  for (uint32_t i = count; status == TSR_OK && i-- > 0;)
    status = device->backend->step(device, NULL, tiles, &levels[i], tiles_of(&levels[i]), stream, error);
  return status;
}

tsr_status tsr_prefix_sum(tsr_device *device, uint64_t *numbers, uint64_t n, void *stream, tsr_error *error) {
  tsr_scan levels[LEVELS_MAX] = {{numbers, NULL, n}};
  uint32_t count = 1;
  uint64_t higher = 0; /* numbers of the levels above the first, each with a place for its sum */
  void *memory = NULL;
  tsr_status status = TSR_OK;
  for (; tiles_of(&levels[count - 1]) > 1; count++) {
    levels[count].n = tiles_of(&levels[count - 1]);
    higher += levels[count].n + 1;
  }
  if (higher) status = device->backend->allocate_in(device, higher * sizeof *numbers, stream, &memory, error);
  if (status) return status;
  uint64_t *next = memory;
  for (uint32_t i = 1; i < count; i++) {
    levels[i - 1].tiles = levels[i].numbers = next;
    next += levels[i].n + 1;
  }
  status = sum_up(device, levels, count, stream, error);
  if (!memory) return status;
  tsr_status freed = device->backend->free_in(device, memory, stream, status ? NULL : error);
  return status ? status : freed;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Prefix sums (scan.h). The numbers are cut into tiles, whose totals are added up first, in the same way one level
 * higher; then each tile knows where it begins, and is summed up by itself. 2^39 numbers make four levels.
 */
#include "core/cuda/scan.h"

#include "core/cuda/link.h"
#include "core/kernels/scan.h"

enum { LEVELS_MAX = 6 };

extern const tsr_image tsr_scan_images[]; /* built by core/BUILD from kernels/scan.cu; only its end without nvcc */

enum { TOTALS, TILES, KERNELS };
static const tsr_step steps[] = {[TOTALS] = {.kernel = "tsr_scan_totals"}, [TILES] = {.kernel = "tsr_scan_tiles"}};
static const tsr_steps set = {.images = tsr_scan_images, .step = steps, .count = KERNELS};

static uint64_t tiles_of(uint64_t numbers) { return (numbers + TSR_SCAN_TILE - 1) / TSR_SCAN_TILE; }

static cu_result launch(const cu_driver *driver, cu_function function, tsr_scan level, uint64_t blocks, void *stream) {
  void *parameters[] = {&level};
  return driver->launch(function, (unsigned)blocks, 1, 1, TSR_BLOCK_THREADS, 1, 1, 0, stream, parameters, NULL);
}

/* levels[0] are the caller's numbers, levels[i + 1] the totals of the tiles of levels[i]. */
static tsr_status sum_up(const tsr_cuda_module *scan, const cu_driver *driver, const tsr_scan *levels, uint32_t count,
                         void *stream, tsr_error *error) {
  cu_result result = 0;
  for (uint32_t i = 0; !result && i + 1 < count; i++)
    result = launch(driver, scan->kernel[TOTALS], levels[i], levels[i + 1].n, stream);
  for (uint32_t i = count; !result && i-- > 0;)
    result = launch(driver, scan->kernel[TILES], levels[i], tiles_of(levels[i].n + 1), stream);
  return tsr_cuda_check(result, "cuLaunchKernel", error);
}

tsr_status tsr_cuda_scan_load(tsr_cuda_module *scan, const cu_driver *driver, uint32_t sm, tsr_error *error) {
  return tsr_cuda_module_load(scan, driver, &set, sm, error);
}

tsr_status tsr_cuda_scan_run(tsr_cuda_module *scan, const cu_driver *driver, cu_pool pool, uint32_t sm,
                             uint64_t *numbers, uint64_t n, void *stream, tsr_error *error) {
  tsr_scan levels[LEVELS_MAX] = {{numbers, NULL, n}};
  uint32_t count = 1;
  uint64_t higher = 0; /* numbers of the levels above the first, each with a place for its sum */
  cu_pointer memory = 0;
  /* The sum of all has a place behind the numbers, so there is a tile for that place too. */
  for (; tiles_of(levels[count - 1].n + 1) > 1; count++) {
    levels[count].n = tiles_of(levels[count - 1].n + 1);
    higher += levels[count].n + 1;
  }
  tsr_status status = tsr_cuda_scan_load(scan, driver, sm, error);
  if (status == TSR_OK && higher)
    status = tsr_cuda_check(driver->allocate_async(&memory, higher * sizeof *numbers, pool, stream),
                            "cuMemAllocFromPoolAsync", error);
  if (status) return status;
  uint64_t *next = (uint64_t *)(uintptr_t)memory;
  for (uint32_t i = 1; i < count; i++) {
    levels[i - 1].tiles = levels[i].numbers = next;
    next += levels[i].n + 1;
  }
  status = sum_up(scan, driver, levels, count, stream, error);
  if (!memory) return status;
  tsr_status freed = tsr_cuda_check(driver->free_async(memory, stream), "cuMemFreeAsync", status ? NULL : error);
  return status ? status : freed;
}

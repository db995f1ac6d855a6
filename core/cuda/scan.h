/* SPDX-License-Identifier: Apache-2.0
 *
 * Prefix sums on a GPU: the kernels of ../kernels/scan.h, linked when first used.
 */
#ifndef TSR_CUDA_SCAN_H
#define TSR_CUDA_SCAN_H

#include "core/cuda/driver.h"

typedef struct tsr_cuda_scan { /* all zero: not loaded yet */
  cu_module module;
  cu_function totals, tiles;
} tsr_cuda_scan;

/* Enqueues what tsr_backend.prefix_sum says. pre: the device's context is current. */
tsr_status tsr_cuda_scan_run(tsr_cuda_scan *scan, const cu_driver *driver, cu_pool pool, uint32_t sm, uint64_t *numbers,
                             uint64_t n, void *stream, tsr_error *error) TSR_MUST_CHECK;
void tsr_cuda_scan_unload(tsr_cuda_scan *scan, const cu_driver *driver);

#endif

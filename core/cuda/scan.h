/* SPDX-License-Identifier: Apache-2.0
 *
 * Prefix sums on a GPU: the kernels of ../kernels/scan.h, linked when first used.
 */
#ifndef TSR_CUDA_SCAN_H
#define TSR_CUDA_SCAN_H

#include "core/cuda/module.h"

/* Makes its kernels now. pre: the device's context is current. */
tsr_status tsr_cuda_scan_load(tsr_cuda_module *scan, const cu_driver *driver, uint32_t sm, tsr_error *error)
    TSR_MUST_CHECK;

/* Enqueues what tsr_backend.prefix_sum says. pre: the device's context is current. */
tsr_status tsr_cuda_scan_run(tsr_cuda_module *scan, const cu_driver *driver, cu_pool pool, uint32_t sm,
                             uint64_t *numbers, uint64_t n, void *stream, tsr_error *error) TSR_MUST_CHECK;

#endif

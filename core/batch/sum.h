/* SPDX-License-Identifier: Apache-2.0
 *
 * Prefix sums, by the steps of ../kernels/scan.h.
 */
#ifndef TSR_BATCH_SUM_H
#define TSR_BATCH_SUM_H

#include "core/compose/backend.h"

/* Enqueues: numbers[i], for i = 0 .. n, becomes the sum of the n first ones before i. numbers: n + 1 items. */
tsr_status tsr_prefix_sum(tsr_device *device, uint64_t *numbers, uint64_t n, void *stream, tsr_error *error)
    TSR_MUST_CHECK;

#endif

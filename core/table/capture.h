/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls whose stream is captured into a CUDA graph (core/design/0025-graphs.md).
 */
#ifndef TSR_TABLE_CAPTURE_H
#define TSR_TABLE_CAPTURE_H

#include "core/table/stage.h"

/* Whether such a call can be recorded, after tsr_table_enter: its code is there, its arrays are the device's, and it
 * allocates nothing. */
tsr_status tsr_capture_check(const tsr_table *table, const tsr_request *request, const tsr_array *arrays,
                             uint32_t count, tsr_error *error) TSR_MUST_CHECK;

/* For what waits for the device: fails if the stream is captured. why: "CALL does so and so". */
tsr_status tsr_capture_refuse(const tsr_table *table, void *stream, const char *why, tsr_error *error) TSR_MUST_CHECK;

#endif

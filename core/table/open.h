/* SPDX-License-Identifier: Apache-2.0
 *
 * Which backend a spec gets, and how many devices it has. Read next: compose/backend.h, what a backend is.
 */
#ifndef TSR_OPEN_H
#define TSR_OPEN_H

#include "core/compose/backend.h"

/* Opens what the settings name. With backend = auto that is CUDA where it can be used; *reason says why this one was
 * chosen. The caller closes *device. */
tsr_status tsr_device_open(const tsr_settings *settings, tsr_device **device, char *reason, size_t reason_bytes,
                           tsr_error *error) TSR_MUST_CHECK;

/* How many devices [table] devices = all names: the GPUs that can be used, 1 on the CPU. */
uint32_t tsr_device_count(const tsr_backend *backend);

#endif

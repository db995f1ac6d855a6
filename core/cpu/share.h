/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of the cpu backend that other processes of this host can map (tsr_extents). A file without a folder holds it. Its
 * name is the number of the process, and its place in that process's file. Read next: share.c; ../devices/reach.h.
 */
#ifndef TSR_CPU_SHARE_H
#define TSR_CPU_SHARE_H

#include "core/compose/backend.h"

/* The functions of tsr_cpu_backend.extents. */
tsr_status tsr_cpu_share(tsr_device *device, uint64_t bytes, void **memory, uint8_t *name, tsr_error *error);
void tsr_cpu_unshare(tsr_device *device, void *memory);
tsr_status tsr_cpu_open_shared(tsr_device *device, const uint8_t *name, void **memory, tsr_error *error);
void tsr_cpu_close_shared(tsr_device *device, void *memory);

#endif

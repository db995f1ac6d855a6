/* SPDX-License-Identifier: Apache-2.0
 *
 * Which backend a spec gets (open.h). Read next: cpu/backend.c, cuda/backend.c.
 */
#include "core/table/open.h"

#include <stdio.h>

tsr_status tsr_device_open(const tsr_settings *settings, tsr_device **device, char *reason, size_t reason_bytes,
                           tsr_error *error) {
  if (settings->target.backend != TSR_BACKEND_CPU) {
    tsr_error why = {TSR_OK, ""};
    tsr_status status = tsr_cuda_backend.open((int)settings->target.device, device, &why);
    if (status == TSR_OK) {
      if (settings->target.backend == TSR_BACKEND_AUTO) snprintf(reason, reason_bytes, "CUDA can be used");
      return TSR_OK;
    }
    if (settings->target.backend == TSR_BACKEND_CUDA) {
      if (error) *error = why;
      return status;
    }
    snprintf(reason, reason_bytes, "%.250s", why.message);
  }
  return tsr_cpu_backend.open((int)settings->target.device, device, error);
}

uint32_t tsr_device_count(const tsr_backend *backend) {
  tsr_device_info info = {0};
  uint32_t count = 1; /* the one that is open */
  if (backend == &tsr_cpu_backend) return count;
  while (count < TSR_DEVICES_MAX && tsr_device_describe((int)count, &info, NULL) == TSR_OK) count++;
  return count;
}

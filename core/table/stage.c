/* SPDX-License-Identifier: Apache-2.0
 *
 * Staging (stage.h): host arrays on a device that cannot see them.
 */
#include "core/table/stage.h"

tsr_status tsr_stage_in(const tsr_table *t, tsr_array *a, void *stream, tsr_error *error) {
  a->devices = a->users;
  if (!a->users || !a->bytes || t->backend->is_device_memory(t->device, a->users)) return TSR_OK;
  tsr_status status = t->backend->allocate_in(t->device, a->bytes, stream, &a->devices, error);
  if (status) {
    a->devices = NULL;
    return status;
  }
  a->staged = true;
  if (a->use == TSR_ARRAY_WRITTEN) return TSR_OK;
  return t->backend->copy(t->device, a->devices, a->users, a->bytes, stream, error);
}

tsr_status tsr_stage_out(const tsr_table *t, tsr_array *a, void *stream, bool failed, tsr_error *error) {
  tsr_status status = TSR_OK;
  if (!a->staged) return status;
  if (a->use != TSR_ARRAY_READ && !failed)
    status = t->backend->copy(t->device, a->users, a->devices, a->bytes, stream, error);
  tsr_status freed = t->backend->free_in(t->device, a->devices, stream, status ? NULL : error);
  return status ? status : freed;
}

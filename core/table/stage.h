/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays of an operation that lie in host memory: copied to the device before it, and back after it.
 */
#ifndef TSR_TABLE_STAGE_H
#define TSR_TABLE_STAGE_H

#include "core/table/handle.h"

/* What an operation does with an array. Where it leaves some items as they are, the caller's must lie on the device
 * too. */
typedef enum tsr_array_use { TSR_ARRAY_READ, TSR_ARRAY_WRITTEN, TSR_ARRAY_PARTLY_WRITTEN } tsr_array_use;

/* Where the caller has an array and where the device sees it. */
typedef struct tsr_array {
  void *users;
  void *devices;
  uint64_t bytes;
  bool staged;
  tsr_array_use use;
} tsr_array;

/* Enqueue; in: devices = users where that is device memory already. out: frees the copy, and copies outputs back unless
 * the operation failed. */
tsr_status tsr_stage_in(const tsr_table *table, tsr_array *array, void *stream, tsr_error *error) TSR_MUST_CHECK;
tsr_status tsr_stage_out(const tsr_table *table, tsr_array *array, void *stream, bool failed, tsr_error *error)
    TSR_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays of an operation that are in host memory: copied to the device before it, and back after it.
 */
#ifndef TSR_TABLE_STAGE_H
#define TSR_TABLE_STAGE_H

#include "core/table/table_struct.h"

/* What an operation does with an array. Where it leaves some items as they are, the caller's are copied to the device
 * too. */
typedef enum tsr_array_use { TSR_ARRAY_READ, TSR_ARRAY_WRITTEN, TSR_ARRAY_PARTLY_WRITTEN } tsr_array_use;

/* Where the caller has an array and where the device sees it. */
typedef struct tsr_array {
  const void *callers; /* written where `use` says so */
  uint64_t bytes;
  uint32_t word; /* what the device reads and writes at once: it needs an address that is a multiple of it; 0: any */
  tsr_array_use use;
  void *devices; /* of tsr_stage_in: callers, or a copy in device memory */
  bool is_staged;
} tsr_array;

/* Whether the device can work on the caller's own array: it sees it, and words are where words may be. */
bool tsr_array_is_reached(const tsr_table *table, const tsr_array *array);
/* Enqueues copies of those arrays on which it cannot. */
tsr_status tsr_stage_in(const tsr_table *table, tsr_array *arrays, uint32_t count, void *stream, tsr_error *error)
    TSR_MUST_CHECK;
/* Frees the copies, on failure of tsr_stage_in too. Copies outputs back first, if `status`, what became of the operation, is
 * TSR_OK. Waits where there were copies, so that the caller's arrays are free again. Returns the first failure. */
tsr_status tsr_stage_out(const tsr_table *table, tsr_array *arrays, uint32_t count, void *stream, tsr_status status,
                         tsr_error *error) TSR_MUST_CHECK;

/* The `word` of an array of values. */
uint32_t tsr_value_word(uint64_t value_bytes);
/* The arrays of a request. */
enum { TSR_REQUEST_ARRAYS = 10 };
void tsr_request_arrays(const tsr_table *table, const tsr_request *request, tsr_array arrays[TSR_REQUEST_ARRAYS]);

/* What works on a request. */
typedef tsr_status tsr_operation(tsr_table *table, const tsr_request *request, tsr_error *error);
/* Does `operation` with the request's arrays on the device. */
tsr_status tsr_operate_staged(tsr_table *table, const tsr_request *request, tsr_operation *operation, tsr_error *error)
    TSR_MUST_CHECK;

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows at the numbers of an index (number_rows.h): the public calls. Read next: ../kernels/wide.h, whose steps copy rows.
 */
#include "core/table/number_rows.h"

#include "core/kernels/wide.h"
#include "core/sized.h"
#include "core/table/call.h"
#include "core/table/filter.h"
#include "core/table/hold.h"
#include "core/table/operate.h"
#include "core/table/order.h"
#include "core/table/stage.h"

static uint64_t row_bytes_of(const tsr_table *t) { return t->store.composition->settings.numbers.row_bytes; }

static tsr_status step(const tsr_table *t, uint32_t which, const tsr_wide_run *run, void *stream, tsr_error *error) {
  tsr_wide_run whole = *run;
  whole.rows = tsr_rows_in(t, t->numbering.all, t->numbering.room);
  whole.row_count = t->numbering.room;
  whole.row_bytes = (uint32_t)row_bytes_of(t);
  whole.word_bytes = tsr_wide_word(whole.row_bytes, whole.rows, run->values);
  return t->backend->step(t->device, NULL, &tsr_wide_steps.step[which], &whole, run->n, stream, error);
}

/* Arrays of a call on rows, in device memory; writes: to the table's rows. */
typedef struct rows_call {
  uint64_t n;
  const uint32_t *numbers;
  void *rows;
  bool writes;
  tsr_call call;
} rows_call;

/* Of items with one number the one that remains writes all of the row, as with duplicates = replace (wide.c). */
static tsr_status write_rows(tsr_table *t, const rows_call *asked, tsr_error *error) {
  void *const stream = asked->call.stream;
  const uint64_t bytes = asked->n * sizeof *asked->numbers;
  void *numbers = NULL;
  tsr_status status = t->backend->allocate_in(t->device, bytes, stream, &numbers, error);
  if (status) return status;
  const tsr_wide_run run = {.n = asked->n, .numbers = numbers, .values = asked->rows};
  status = t->backend->copy(t->device, numbers, asked->numbers, bytes, stream, error);
  if (status == TSR_OK) status = step(t, TSR_WIDE_claim, &run, stream, error);
  if (status == TSR_OK) status = step(t, TSR_WIDE_judge, &run, stream, error);
  if (status == TSR_OK) status = step(t, TSR_WIDE_put, &run, stream, error);
  const tsr_status freed = t->backend->free_in(t->device, numbers, stream, status ? NULL : error);
  return status ? status : freed;
}

static tsr_status read_rows(tsr_table *t, const rows_call *asked, tsr_error *error) {
  const tsr_wide_run run = {.n = asked->n,
                            .numbers = (uint32_t *)(uintptr_t)asked->numbers,
                            .values = asked->rows,
                            .missing = asked->call.missing};
  return step(t, TSR_WIDE_get, &run, asked->call.stream, error);
}

static tsr_status work_on_rows(tsr_table *t, const rows_call *asked, tsr_error *error) {
  void *const stream = asked->call.stream;
  tsr_status status = tsr_table_enter(t, asked->writes ? TSR_PHASE_ALONE : TSR_PHASE_FIND, stream, error);
  if (status) return status;
  status = asked->writes ? write_rows(t, asked, error) : read_rows(t, asked, error);
  const tsr_status left = tsr_table_leave(t, stream, status ? NULL : error);
  return status ? status : left;
}

/* With arrays that may be in host memory. */
static tsr_status work_staged(tsr_table *t, const rows_call *asked, tsr_error *error) {
  const uint64_t row_bytes = row_bytes_of(t);
  tsr_array arrays[] = {{.callers = asked->numbers,
                         .bytes = asked->n * sizeof *asked->numbers,
                         .word = sizeof *asked->numbers,
                         .use = TSR_ARRAY_READ},
                        {.callers = asked->rows,
                         .bytes = asked->n * row_bytes,
                         .word = tsr_value_word(row_bytes),
                         .use = asked->writes ? TSR_ARRAY_READ : TSR_ARRAY_WRITTEN}};
  rows_call reached = *asked;
  tsr_status status = tsr_stage_in(t, arrays, 2, asked->call.stream, error);
  reached.numbers = arrays[0].devices;
  reached.rows = arrays[1].devices;
  if (status == TSR_OK) status = work_on_rows(t, &reached, error);
  return tsr_stage_out(t, arrays, 2, asked->call.stream, status, error);
}

static tsr_status begin(tsr_table *t, void *stream, tsr_error *error) {
  tsr_request r = {.op = TSR_CALL_NUMBER_ROWS, .call.stream = stream};
  const tsr_status status = tsr_call_begin(t, &r, error);
  return status ? status : tsr_numbering_check(t, error);
}

static tsr_status call_rows(tsr_table *t, const char *name, rows_call *asked, const tsr_call *call, tsr_error *error) {
  tsr_status status = t ? TSR_OK : tsr_fail(error, TSR_BAD_ARGUMENT, "%s: the table is NULL", name);
  if (status == TSR_OK) status = tsr_table_admits(t, TSR_HAS_CALL_ROWS, name, error);
  if (status == TSR_OK) status = tsr_take_over(name, &asked->call, call, sizeof asked->call, error);
  if (status == TSR_OK) status = begin(t, asked->call.stream, error);
  if (status || !asked->n) return status;
  if (!asked->numbers || !asked->rows)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: %s is NULL, but n = %llu", name, asked->numbers ? "rows" : "numbers",
                    (unsigned long long)asked->n);
  return work_staged(t, asked, error);
}

tsr_status tsr_read_rows(tsr_table *t, uint64_t n, const uint32_t *numbers, void *rows, const tsr_call *call,
                         tsr_error *error) {
  TSR_WRITES(t);
  rows_call asked = {.n = n, .numbers = numbers, .rows = rows};
  return call_rows(t, "tsr_read_rows", &asked, call, error);
}

tsr_status tsr_write_rows(tsr_table *t, uint64_t n, const uint32_t *numbers, const void *rows, const tsr_call *call,
                          tsr_error *error) {
  TSR_WRITES(t);
  rows_call asked = {.n = n, .numbers = numbers, .rows = (void *)(uintptr_t)rows, .writes = true};
  return call_rows(t, "tsr_write_rows", &asked, call, error);
}

tsr_status tsr_number_rows_insert(tsr_table *t, uint64_t n, const void *keys, const void *rows, const tsr_call *call,
                                  tsr_error *error) {
  void *numbers = NULL;
  tsr_request request = tsr_inserting(t, TSR_BULK_find_or_insert, n, keys, NULL, call);
  tsr_status status = begin(t, call->stream, error);
  if (status || n == 0) return status;
  status = t->backend->allocate_in(t->device, n * sizeof(uint32_t), call->stream, &numbers, error);
  if (status) return status;
  request.values_out = numbers;
  request.missing = TSR_NUMBER_NONE;
  status = t->methods->operate(t, &request, error);
  rows_call asked = {
      .n = n, .numbers = numbers, .rows = (void *)(uintptr_t)rows, .writes = true, .call.stream = call->stream};
  if (status == TSR_OK) status = work_staged(t, &asked, error);
  const tsr_status freed = t->backend->free_in(t->device, numbers, call->stream, status ? NULL : error);
  return status ? status : freed;
}

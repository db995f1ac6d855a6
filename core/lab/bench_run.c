/* SPDX-License-Identifier: Apache-2.0
 *
 * Timing and checking one operation; bench_run.h says what counts as right.
 */
#include "core/lab/bench_run.h"

#include <stdlib.h>

#define MISSING 0x6E6F742068657265ull /* what finds write for absent keys; cut to the value's width */

typedef unsigned long long llu; /* for printf */

/* ---- Arrays ---------------------------------------------------------------------------------- */

static uint64_t key_bytes(const tsr_bench_arrays *a) { return a->model.n * (a->model.key_bits / 8); }
static uint64_t value_bytes(const tsr_bench_arrays *a) { return a->model.n * (a->model.value_bits / 8); }
static uint64_t out_bytes(const tsr_bench_arrays *a) { return a->model.n * (a->out_bits / 8); }

static tsr_status allocate(tsr_bench_arrays *a, tsr_error *error) {
  a->host_queries = malloc(key_bytes(a));
  a->host_out = malloc(out_bytes(a));
  if (!a->host_queries || !a->host_out)
    return tsr_fail(error, TSR_NO_MEMORY, "bench: no memory for %llu keys and their answers: use a smaller --n",
                    (llu)a->model.n);
  tsr_status status = tsr_memory_allocate(a->owner, key_bytes(a), &a->keys, error);
  if (status == TSR_OK) status = tsr_memory_allocate(a->owner, key_bytes(a), &a->queries, error);
  if (status == TSR_OK) status = tsr_memory_allocate(a->owner, out_bytes(a), &a->out, error);
  if (status == TSR_OK && a->model.value_bits)
    status = tsr_memory_allocate(a->owner, value_bytes(a), &a->values, error);
  return status;
}

tsr_status tsr_bench_arrays_create(tsr_table *owner, const tsr_keys *model, tsr_bench_arrays *a, tsr_error *error) {
  *a = (tsr_bench_arrays){.owner = owner, .model = *model, .out_bits = model->value_bits ? model->value_bits : 8};
  tsr_status status = allocate(a, error);
  if (status) return status;
  tsr_keys_fill(model, a->host_queries);
  status = tsr_memory_copy(owner, a->keys, a->host_queries, key_bytes(a), error);
  if (status || !model->value_bits) return status;
  tsr_keys_fill_values(model, a->host_out);
  return tsr_memory_copy(owner, a->values, a->host_out, value_bytes(a), error);
}

void tsr_bench_arrays_free(tsr_bench_arrays *a) {
  void *const device[] = {a->keys, a->values, a->queries, a->out};
  for (size_t i = 0; i < sizeof device / sizeof device[0]; i++)
    if (device[i]) tsr_memory_free(a->owner, device[i]);
  free(a->host_queries);
  free(a->host_out);
  *a = (tsr_bench_arrays){.owner = NULL};
}

tsr_status tsr_bench_prepare(tsr_bench_arrays *a, tsr_bench_op op, tsr_error *error) {
  if (op == TSR_BENCH_INSERT) return TSR_OK;
  a->absent = op == TSR_BENCH_FIND0 ? TSR_ABSENT_ALL : op == TSR_BENCH_FIND50 ? TSR_ABSENT_HALF : TSR_ABSENT_NONE;
  tsr_keys_fill_queries(&a->model, a->absent, a->host_queries);
  return tsr_memory_copy(a->owner, a->queries, a->host_queries, key_bytes(a), error);
}

/* Overwrites the answers of the former run with keys, so that an operation that writes nothing is found out. */
static tsr_status spoil_answers(tsr_bench_arrays *a, tsr_error *error) {
  tsr_status status = TSR_OK;
  for (uint64_t at = 0; status == TSR_OK && at < out_bytes(a); at += key_bytes(a)) {
    uint64_t rest = out_bytes(a) - at;
    status = tsr_memory_copy(a->owner, (char *)a->out + at, a->keys, rest < key_bytes(a) ? rest : key_bytes(a), error);
  }
  return status;
}

/* ---- Operations ------------------------------------------------------------------------------ */

static tsr_status start(const tsr_bench_arrays *a, tsr_table *table, tsr_bench_op op, tsr_error *error) {
  uint64_t n = a->model.n;
  if (op == TSR_BENCH_INSERT) return tsr_insert(table, n, a->keys, a->values, NULL, error);
  if (op == TSR_BENCH_ERASE) return tsr_erase(table, n, a->queries, NULL, error);
  if (a->model.value_bits == 0) return tsr_contains(table, n, a->queries, a->out, NULL, error);
  return tsr_find(table, n, a->queries, a->out, &(tsr_call){.missing = MISSING}, error);
}

static tsr_status clear(tsr_table *table, tsr_error *error) {
  tsr_status status = tsr_clear(table, NULL, error);
  return status ? status : tsr_table_report_reset(table, error);
}

/* Exactly the operation lies between the two events. */
static tsr_status run_timed(const tsr_bench_arrays *a, tsr_table *table, tsr_bench_op op, tsr_bench_result *result,
                            tsr_error *error) {
  tsr_status status = tsr_timer_start(table, NULL, error);
  if (status == TSR_OK) status = start(a, table, op, error);
  return status ? status : tsr_timer_stop(table, NULL, &result->milliseconds, error);
}

/* ---- Insert and erase ------------------------------------------------------------------------ */

#define COMPLAIN(result, ...) snprintf((result)->complaint, sizeof(result)->complaint, __VA_ARGS__)

static bool loses_keys(const tsr_bench_arrays *a, const tsr_report *report, tsr_bench_result *result) {
  if (report->inserted + report->not_placed == a->model.n) return false;
  COMPLAIN(result, "of %llu keys %llu were inserted and %llu handed back", (llu)a->model.n, (llu)report->inserted,
           (llu)report->not_placed);
  return true;
}

static tsr_status check_insert(const tsr_bench_arrays *a, tsr_table *table, tsr_bench_result *result,
                               tsr_report *report, tsr_error *error) {
  uint64_t size;
  tsr_status status = tsr_table_report(table, report, error);
  if (status == TSR_OK) status = tsr_size(table, &size, error);
  if (status || loses_keys(a, report, result)) return status;
  if (size != report->inserted) {
    COMPLAIN(result, "%llu keys were inserted, but the table holds %llu", (llu)report->inserted, (llu)size);
  } else if (report->not_placed) {
    COMPLAIN(result, "%llu of %llu keys found no place and were handed back", (llu)report->not_placed, (llu)a->model.n);
  }
  return TSR_OK;
}

static tsr_status measure_insert(tsr_bench_arrays *a, tsr_table *table, tsr_bench_result *result, tsr_error *error) {
  tsr_report report;
  tsr_status status = clear(table, error);
  if (status == TSR_OK) status = run_timed(a, table, TSR_BENCH_INSERT, result, error);
  return status ? status : check_insert(a, table, result, &report, error);
}

/* Keys without a place do not count against the erase: it has to remove what is there. */
static tsr_status measure_erase(tsr_bench_arrays *a, tsr_table *table, tsr_bench_result *result, tsr_error *error) {
  tsr_report report;
  uint64_t size;
  tsr_status status = clear(table, error);
  if (status == TSR_OK) status = start(a, table, TSR_BENCH_INSERT, error);
  if (status == TSR_OK) status = run_timed(a, table, TSR_BENCH_ERASE, result, error);
  if (status == TSR_OK) status = tsr_table_report(table, &report, error);
  if (status == TSR_OK) status = tsr_size(table, &size, error);
  if (status || loses_keys(a, &report, result)) return status;
  if (report.erased != report.inserted || size != 0)
    COMPLAIN(result, "of %llu keys in the table %llu were erased, and it still holds %llu", (llu)report.inserted,
             (llu)report.erased, (llu)size);
  return TSR_OK;
}

static int compare_keys(const void *left, const void *right) {
  uint64_t l = *(const uint64_t *)left, r = *(const uint64_t *)right;
  return (l > r) - (l < r);
}

/* Lists the keys at the indices of TSR_NOT_PLACED; host_out has the codes, host_queries the keys. */
static tsr_status collect_homeless(const tsr_bench_arrays *a, tsr_bench_subject *subject, tsr_error *error) {
  const uint8_t *codes = a->host_out;
  uint64_t count = 0;
  for (uint64_t i = 0; i < a->model.n; i++) count += codes[i] == TSR_NOT_PLACED;
  free(subject->homeless);
  subject->homeless_count = 0;
  subject->homeless = malloc((count + 1) * sizeof *subject->homeless);
  if (!subject->homeless)
    return tsr_fail(error, TSR_NO_MEMORY, "bench: no memory for %llu keys without a place", (llu)count);
  for (uint64_t i = 0; i < a->model.n; i++)
    if (codes[i] == TSR_NOT_PLACED)
      subject->homeless[subject->homeless_count++] = tsr_keys_load(a->host_queries, a->model.key_bits, i);
  qsort(subject->homeless, count, sizeof *subject->homeless, compare_keys);
  return TSR_OK;
}

/* The timed inserts ask for no codes, which would cost time; this one does. */
tsr_status tsr_bench_fill(tsr_bench_arrays *a, tsr_bench_subject *subject, tsr_bench_result *result, tsr_error *error) {
  tsr_call call = {.results = a->out, .homeless_keys = a->queries};
  tsr_report report;
  *result = (tsr_bench_result){.milliseconds = 0};
  tsr_status status = clear(subject->table, error);
  if (status == TSR_OK) status = spoil_answers(a, error);
  if (status == TSR_OK) status = tsr_insert(subject->table, a->model.n, a->keys, a->values, &call, error);
  if (status == TSR_OK) status = check_insert(a, subject->table, result, &report, error);
  if (status == TSR_OK) status = tsr_memory_copy(a->owner, a->host_out, a->out, a->model.n, error);
  if (status == TSR_OK) status = tsr_memory_copy(a->owner, a->host_queries, a->queries, key_bytes(a), error);
  if (status == TSR_OK) status = collect_homeless(a, subject, error);
  if (status) return status;
  if (subject->homeless_count != report.not_placed)
    COMPLAIN(result, "%llu keys found no place, but %llu were handed back", (llu)report.not_placed,
             (llu)subject->homeless_count);
  return TSR_OK;
}

void tsr_bench_subject_free(tsr_bench_subject *subject) {
  tsr_table_destroy(subject->table);
  free(subject->homeless);
  *subject = (tsr_bench_subject){.table = NULL};
}

/* ---- Find ------------------------------------------------------------------------------------ */

static bool is_homeless(const tsr_bench_subject *subject, uint64_t key) {
  return subject->homeless_count > 0 &&
         bsearch(&key, subject->homeless, subject->homeless_count, sizeof *subject->homeless, compare_keys) != NULL;
}

static tsr_status measure_find(tsr_bench_arrays *a, const tsr_bench_subject *subject, tsr_bench_op op,
                               tsr_bench_result *result, tsr_error *error) {
  const tsr_keys *model = &a->model;
  uint64_t missing = model->value_bits == 0 ? 0 : MISSING & UINT64_MAX >> (64 - model->value_bits);
  uint64_t wrong = 0, present = 0;
  tsr_report report;
  tsr_status status = spoil_answers(a, error);
  if (status == TSR_OK) status = tsr_table_report_reset(subject->table, error);
  if (status == TSR_OK) status = run_timed(a, subject->table, op, result, error);
  if (status == TSR_OK) status = tsr_table_report(subject->table, &report, error);
  if (status == TSR_OK) status = tsr_memory_copy(a->owner, a->host_out, a->out, out_bytes(a), error);
  if (status) return status;
#ifndef TSR_PTHREADS
#pragma omp parallel for schedule(static) reduction(+ : wrong, present)
#endif
  for (uint64_t i = 0; i < model->n; i++) {
    uint64_t key = tsr_keys_load(a->host_queries, model->key_bits, i), expected = missing;
    if (!tsr_keys_is_absent(a->absent, tsr_keys_order(model, i)) && !is_homeless(subject, key)) {
      expected = model->value_bits == 0 ? 1 : tsr_keys_value(model, key);
      present++;
    }
    wrong += tsr_keys_load(a->host_out, a->out_bits, i) != expected;
  }
  if (wrong) {
    COMPLAIN(result, "%llu of %llu answers are wrong", (llu)wrong, (llu)model->n);
  } else if (report.found != present) {
    COMPLAIN(result, "%llu keys were found, but the report says %llu", (llu)present, (llu)report.found);
  }
  return TSR_OK;
}

tsr_status tsr_bench_measure(tsr_bench_arrays *a, const tsr_bench_subject *subject, tsr_bench_op op,
                             tsr_bench_result *result, tsr_error *error) {
  *result = (tsr_bench_result){.milliseconds = 0};
  if (op == TSR_BENCH_INSERT) return measure_insert(a, subject->table, result, error);
  if (op == TSR_BENCH_ERASE) return measure_erase(a, subject->table, result, error);
  return measure_find(a, subject, op, result, error);
}

tsr_status tsr_bench_probes(const tsr_bench_arrays *a, tsr_table *table, tsr_bench_op op, double *probes,
                            tsr_error *error) {
  tsr_report report;
  tsr_status status = start(a, table, TSR_BENCH_INSERT, error);
  if (status == TSR_OK && op != TSR_BENCH_INSERT) status = start(a, table, op, error);
  if (status == TSR_OK) status = tsr_table_report(table, &report, error);
  if (status) return status;
  uint64_t sum = op == TSR_BENCH_INSERT  ? report.insert_probes
                 : op == TSR_BENCH_ERASE ? report.erase_probes
                                         : report.find_probes;
  *probes = (double)sum / (double)a->model.n;
  return TSR_OK;
}

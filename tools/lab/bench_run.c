/* SPDX-License-Identifier: Apache-2.0
 *
 * Driving one operation (bench_operation.h) and filling tables; bench_run.h says what counts as right.
 */
#include "tools/lab/bench_run.h"

#ifndef TSR_PTHREADS
#include <omp.h>
#endif
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "core/tessera_tools.h"
#include "tools/lab/bench_operation.h"

typedef unsigned long long llu; /* for printf */

enum {
  SMALL_PART = 1000,  /* a table that is to grow is made for that many times fewer pairs */
  WARP_LANES = 32,    /* of a GPU */
  WARP_KEYS = 1 << 14 /* asked for one by one, at most */
};

static const tsr_bench_operation *const operations[TSR_BENCH_TABLE_OPS] = {
    [TSR_BENCH_INSERT] = &tsr_bench_insert,
    [TSR_BENCH_INCREMENTAL] = &tsr_bench_incremental,
    [TSR_BENCH_REBUILD] = &tsr_bench_rebuild,
    [TSR_BENCH_FIND100] = &tsr_bench_find100,
    [TSR_BENCH_FIND50] = &tsr_bench_find50,
    [TSR_BENCH_FIND0] = &tsr_bench_find0,
    [TSR_BENCH_FIND_ALL] = &tsr_bench_find_all,
    [TSR_BENCH_COUNT_ALL] = &tsr_bench_count_all,
    [TSR_BENCH_JOIN] = &tsr_bench_join,
    [TSR_BENCH_ERASE] = &tsr_bench_erase,
    [TSR_BENCH_MIXED] = &tsr_bench_mixed,
    [TSR_BENCH_APPLY] = &tsr_bench_apply,
    [TSR_BENCH_GROW] = &tsr_bench_grow,
    [TSR_BENCH_NUMBER] = &tsr_bench_number,
    [TSR_BENCH_UNIQUE] = &tsr_bench_unique,
    [TSR_BENCH_UNIQUE_COUNTS] = &tsr_bench_unique_counts,
    [TSR_BENCH_UNIQUE_INVERSE] = &tsr_bench_unique_inverse,
    [TSR_BENCH_HITS] = &tsr_bench_hits};

bool tsr_bench_needs_fill(tsr_bench_op op) { return operations[op]->before == TSR_BENCH_ON_FILLED; }
const char *tsr_bench_limit(tsr_bench_op op) { return operations[op]->limit; }

const char *tsr_bench_bus_limit(tsr_bench_op op, uint32_t *times) {
  const uint32_t before = operations[op]->before;
  const bool writes = before != TSR_BENCH_ON_FILLED;
  *times = before == TSR_BENCH_ON_FULL ? 2 : 1;
  if (!operations[op]->limit) return NULL;
  return *times == 2 ? "both_ways" : writes ? "from_device" : "to_device";
}

uint32_t tsr_bench_calls(tsr_bench_op op, bool has_values) {
  const uint32_t calls = operations[op]->calls;
  return calls == TSR_PREPARE_FIND && !has_values ? TSR_PREPARE_CONTAINS : calls;
}

uint32_t tsr_bench_other_calls(tsr_bench_op op, bool is_filter) {
  const uint32_t before = operations[op]->before;
  const bool fills = before == TSR_BENCH_ON_FULL || before == TSR_BENCH_ON_FILLED;
  if (operations[op]->of_index || operations[op]->of_cache) return 0;
  return (fills ? TSR_PREPARE_INSERT : 0) | (is_filter ? 0 : TSR_PREPARE_SIZE);
}

tsr_status tsr_bench_prepare(tsr_bench_arrays *a, tsr_bench_op op, tsr_error *error) {
  return operations[op]->prepare ? operations[op]->prepare(a, error) : TSR_OK;
}

/* ---- Complaints ------------------------------------------------------------------------------ */

void tsr_bench_complain(tsr_bench_result *result, const char *format, ...) {
  va_list arguments;
  if (result->complaint[0] && !result->is_full) return;
  result->is_full = false; /* what is said now is worse */
  va_start(arguments, format);
  vsnprintf(result->complaint, sizeof result->complaint, format, arguments);
  va_end(arguments);
}

static bool is_kind(const tsr_contender *on, const char *kind) {
  const char *its = tsr_spec_get(on->table ? tsr_table_spec(on->table) : on->spec, "table", "kind");
  return its && strcmp(its, kind) == 0;
}

const void *tsr_bench_values(const tsr_bench_arrays *a, const tsr_contender *on) {
  return is_kind(on, "counter") ? NULL : a->values;
}

bool tsr_bench_is_filter(const tsr_contender *on) { return is_kind(on, "filter"); }

bool tsr_bench_has_rivals(tsr_bench_op op) { return operations[op]->has_rivals; }

bool tsr_bench_is_of_index(tsr_bench_op op) { return operations[op]->of_index; }
bool tsr_bench_is_of_cache(tsr_bench_op op) { return operations[op]->of_cache; }

bool tsr_bench_merges(const tsr_bench_arrays *a, const tsr_bench_subject *subject) {
  return subject->merge != TSR_MERGE_NONE && a->model.n < a->model.pairs;
}

/* How many of the keys are there if some were handed back depends on the order in which they came; so does how many of
 * the first ones are distinct. */
static void check_merged(const tsr_bench_arrays *a, const tsr_report *report, uint64_t offered,
                         tsr_bench_result *result) {
  if (report->insert_keys != offered)
    tsr_bench_complain(result, "of %llu pairs the report has %llu", (llu)offered, (llu)report->insert_keys);
  if (offered == a->model.pairs && !report->not_placed && report->inserted != a->model.n)
    tsr_bench_complain(result, "%llu pairs have %llu keys, but %llu were inserted", (llu)offered, (llu)a->model.n,
                       (llu)report->inserted);
}

void tsr_bench_check_offered(const tsr_bench_arrays *a, const tsr_bench_subject *subject, const tsr_report *report,
                             uint64_t offered, tsr_bench_result *result) {
  if (tsr_bench_merges(a, subject)) {
    check_merged(a, report, offered, result);
  } else if (report->inserted + report->not_placed != offered) {
    tsr_bench_complain(result, "of %llu keys %llu were inserted and %llu handed back", (llu)offered,
                       (llu)report->inserted, (llu)report->not_placed);
  }
}

tsr_status tsr_bench_check_inserted(const tsr_bench_arrays *a, const tsr_bench_subject *subject,
                                    const tsr_report *report, uint64_t offered, tsr_bench_result *result,
                                    tsr_error *error) {
  const bool merges = tsr_bench_merges(a, subject);
  if (tsr_bench_is_filter(&subject->on)) {
    if (report->insert_keys != offered || report->not_placed || report->inserted > offered)
      tsr_bench_complain(result, "of %llu keys the report has %llu, %llu of them inserted", (llu)offered,
                         (llu)report->insert_keys, (llu)report->inserted);
    return TSR_OK;
  }
  uint64_t size, pairs = merges ? a->model.n : a->model.pairs;
  tsr_status status = tsr_contender_size(&subject->on, &size, error);
  if (status) return status;
  tsr_bench_check_offered(a, subject, report, offered, result);
  if (report->not_placed && !merges && offered == pairs && size + report->not_placed != pairs) {
    tsr_bench_complain(result, "of %llu keys the table holds %llu and handed back %llu: the others are lost or doubled",
                       (llu)pairs, (llu)size, (llu)report->not_placed);
  } else if (report->not_placed) {
    const bool is_all = !result->complaint[0];
    tsr_bench_complain(result, "%llu of %llu keys found no room and were handed back", (llu)report->not_placed,
                       (llu)offered);
    result->is_full = is_all;
  } else if (size != pairs) {
    tsr_bench_complain(result, "%llu keys were inserted, but the table holds %llu", (llu)pairs, (llu)size);
  }
  return TSR_OK;
}

void tsr_bench_check_codes(const tsr_bench_turn *turn, uint64_t n, uint8_t code, uint64_t reported) {
  const uint8_t *codes = turn->arrays->host_results;
  uint64_t count = 0;
  if (!turn->arrays->codes || turn->subject->on.foreign) return;
  for (uint64_t i = 0; i < n; i++) count += codes[i] == code;
  if (count != reported)
    tsr_bench_complain(turn->result, "%llu result codes are %u, but the report has %llu such keys", (llu)count, code,
                       (llu)reported);
}

tsr_bench_tally tsr_bench_judge(const tsr_bench_turn *turn, uint64_t count,
                                tsr_bench_tally (*judge)(const tsr_bench_turn *turn, uint64_t i)) {
  uint64_t wrong = 0, found = 0;
#ifndef TSR_PTHREADS
#pragma omp parallel for schedule(static) reduction(+ : wrong, found)
#endif
  for (uint64_t i = 0; i < count; i++) {
    tsr_bench_tally one = judge(turn, i);
    wrong += one.wrong;
    found += one.found;
  }
  return (tsr_bench_tally){wrong, found};
}

/* ---- One operation --------------------------------------------------------------------------- */

/* Makes an empty table small, and lets it grow. */
static tsr_status make_small(const tsr_bench_arrays *a, tsr_table *table, tsr_error *error) {
  const uint64_t capacity = a->model.pairs / SMALL_PART;
  tsr_rehash_options options = {.capacity = capacity ? capacity : 1};
  tsr_spec *spec = NULL;
  tsr_status status = tsr_spec_copy(tsr_table_spec(table), &spec, error);
  if (status == TSR_OK) status = tsr_spec_set(spec, "table.growth=double", error);
  options.spec = spec;
  if (status == TSR_OK) status = tsr_rehash(table, &options, error);
  tsr_spec_free(spec);
  return status;
}

/* Brings the table to where the operation starts. */
static tsr_status set_up(tsr_bench_turn *turn, const tsr_bench_operation *operation, tsr_error *error) {
  const tsr_bench_arrays *a = turn->arrays;
  const tsr_contender *on = &turn->subject->on;
  if (operation->before == TSR_BENCH_ON_FILLED) return TSR_OK;
  tsr_status status = tsr_contender_clear(on, error);
  if (status == TSR_OK && operation->before == TSR_BENCH_ON_SMALL) status = make_small(a, on->table, error);
  if (status || operation->before != TSR_BENCH_ON_FULL) return status;
  status = tsr_contender_report_reset(on, error);
  if (status == TSR_OK)
    status = tsr_contender_insert(on, a->model.pairs, a->keys, tsr_bench_values(a, on), NULL, error);
  if (status == TSR_OK) status = tsr_contender_report(on, &turn->report, error);
  if (status) return status;
  tsr_bench_check_offered(a, turn->subject, &turn->report, a->model.pairs, turn->result);
  turn->present = turn->report.inserted;
  turn->unplaced = turn->report.not_placed;
  return TSR_OK;
}

tsr_status tsr_bench_measure(tsr_bench_arrays *a, const tsr_bench_subject *subject, tsr_bench_op op,
                             tsr_bench_result *result, tsr_error *error) {
  const tsr_bench_operation *operation = operations[op];
  const tsr_contender *on = &subject->on;
  tsr_table *clock = on->table ? on->table : a->owner;
  tsr_bench_turn turn = {.arrays = a, .subject = subject, .result = result};
  *result = (tsr_bench_result){.milliseconds = 0};
  tsr_status status = set_up(&turn, operation, error);
  if (status == TSR_OK) status = tsr_bench_arrays_spoil(a, operation->answers, error);
  if (status == TSR_OK) status = tsr_contender_report_reset(on, error);
  if (status == TSR_OK) status = tsr_timer_start(clock, NULL, error);
  if (status == TSR_OK) status = operation->start(a, on, error);
  if (status == TSR_OK) status = tsr_timer_stop(clock, NULL, &result->milliseconds, error);
  if (status == TSR_OK) status = tsr_contender_report(on, &turn.report, error);
  result->not_placed =
      operation->before == TSR_BENCH_ON_FILLED ? subject->unplaced_count : turn.unplaced + turn.report.not_placed;
  if (status == TSR_OK) status = tsr_bench_arrays_fetch(a, operation->answers, error);
  return status ? status : operation->check(&turn, error);
}

static uint64_t probes_of(const tsr_report *r) {
  return r->insert_probes + r->find_probes + r->erase_probes + r->apply_probes;
}

/* Calls of one key each have nothing for a team of threads. Returns how many there were; 0: teams of plain threads have one
 * size. */
static int set_threads(int threads) {
#ifndef TSR_PTHREADS
  const int before = omp_get_max_threads();
  if (threads) omp_set_num_threads(threads);
  return before;
#else
  (void)threads;
  return 0;
#endif
}

/* The most buckets looked at for one of the keys of a warp, which are asked for one by one. */
static tsr_status count_warp(const tsr_bench_arrays *a, const tsr_contender *on, const tsr_bench_operation *operation,
                             uint64_t from, uint64_t *most, tsr_error *error) {
  tsr_status status = TSR_OK;
  *most = 0;
  for (uint64_t i = from; status == TSR_OK && i < from + WARP_LANES; i++) {
    tsr_report r = {0};
    status = tsr_table_report_reset(on->table, error);
    if (status == TSR_OK) status = operation->start_some(a, on, i, 1, error);
    if (status == TSR_OK) status = tsr_table_report(on->table, &r, error);
    if (probes_of(&r) > *most) *most = probes_of(&r);
  }
  return status;
}

/* What a warp waits for whose lanes have a key each, on average of every eighth warp; the others' inserts only fill the table.
 * Only on the host, and of inserts only where the table is small. */
static tsr_status count_warps(const tsr_bench_arrays *a, const tsr_contender *on, const tsr_bench_operation *operation,
                              double *warp_probes, tsr_error *error) {
  const bool fills = operation->before == TSR_BENCH_ON_EMPTY;
  const uint64_t count = fills ? a->model.pairs : tsr_keys_query_count(&a->model, a->asked);
  const uint64_t end = count <= WARP_KEYS ? count : fills ? 0 : WARP_KEYS, others = count < 1024 ? 0 : 7 * WARP_LANES;
  tsr_table_info info = {0};
  uint64_t sum = 0, most = 0, warps = 0;
  *warp_probes = -1;
  tsr_table_describe(on->table, &info);
  if (!operation->start_some || strcmp(info.backend, "cpu") != 0) return TSR_OK;
  const int threads = set_threads(1);
  tsr_status status = fills ? tsr_clear(on->table, NULL, error) : TSR_OK;
  for (uint64_t i = 0; status == TSR_OK && i + others + WARP_LANES <= end; i += others + WARP_LANES) {
    if (fills && others) status = operation->start_some(a, on, i, others, error);
    if (status == TSR_OK) status = count_warp(a, on, operation, i + others, &most, error);
    sum += most;
    warps++;
  }
  set_threads(threads);
  if (status == TSR_OK && warps) *warp_probes = (double)sum / (double)warps;
  return status;
}

tsr_status tsr_bench_count(const tsr_bench_arrays *a, tsr_table *table, tsr_bench_op op, tsr_bench_counts *counts,
                           tsr_error *error) {
  const tsr_contender on = {.table = table};
  const uint32_t before = operations[op]->before;
  const bool fills = before == TSR_BENCH_ON_EMPTY || before == TSR_BENCH_ON_SMALL;
  tsr_report r = {0};
  tsr_usage usage = {0};
  const bool has_usage = !tsr_bench_is_filter(&on);
  tsr_status status = before == TSR_BENCH_ON_SMALL ? make_small(a, table, error) : TSR_OK;
  if (status == TSR_OK && !fills) {
    status = tsr_insert(table, a->model.pairs, a->keys, tsr_bench_values(a, &on), NULL, error);
    if (status == TSR_OK && has_usage) status = tsr_table_usage(table, &usage, error);
    if (status == TSR_OK) status = tsr_table_report_reset(table, error);
  }
  if (status == TSR_OK) status = operations[op]->start(a, &on, error);
  if (status == TSR_OK) status = tsr_table_report(table, &r, error);
  if (status == TSR_OK && fills && has_usage) status = tsr_table_usage(table, &usage, error);
  if (status) return status;
  const uint64_t keys = r.insert_keys + r.find_keys + r.erase_keys;
  *counts =
      (tsr_bench_counts){.probes = keys ? (double)probes_of(&r) / (double)keys : 0, .utilization = usage.utilization};
  return count_warps(a, &on, operations[op], &counts->warp_probes, error);
}

/* ---- Filling --------------------------------------------------------------------------------- */

static int compare_keys(const void *left, const void *right) {
  uint64_t l = *(const uint64_t *)left, r = *(const uint64_t *)right;
  return (l > r) - (l < r);
}

/* Lists the keys at the indices of TSR_NOT_PLACED; host_out has the codes, host_queries the keys. */
static tsr_status collect_unplaced(const tsr_bench_arrays *a, tsr_bench_subject *subject, tsr_error *error) {
  const uint8_t *codes = a->host_out;
  uint64_t count = 0;
  for (uint64_t i = 0; i < a->model.pairs; i++) count += codes[i] == TSR_NOT_PLACED;
  free(subject->unplaced);
  subject->unplaced_count = 0;
  subject->unplaced = malloc((count + 1) * sizeof *subject->unplaced);
  if (!subject->unplaced)
    return tsr_fail(error, TSR_NO_MEMORY, "bench: no memory for %llu keys without a place", (llu)count);
  for (uint64_t i = 0; i < a->model.pairs; i++)
    if (codes[i] == TSR_NOT_PLACED)
      subject->unplaced[subject->unplaced_count++] = tsr_keys_load(a->host_queries, a->model.key_bits, i);
  qsort(subject->unplaced, count, sizeof *subject->unplaced, compare_keys);
  return TSR_OK;
}

/* The timed inserts ask for no codes, which would cost time; this one does. */
tsr_status tsr_bench_fill(tsr_bench_arrays *a, tsr_bench_subject *subject, tsr_bench_result *result, tsr_error *error) {
  const uint64_t pairs = a->model.pairs;
  tsr_call call = {.results = a->out, .unplaced_keys = a->queries};
  const tsr_contender *on = &subject->on;
  tsr_report report = {0};
  *result = (tsr_bench_result){.milliseconds = 0};
  tsr_status status = tsr_contender_clear(on, error);
  if (status == TSR_OK) status = tsr_contender_report_reset(on, error);
  if (status == TSR_OK) status = tsr_bench_arrays_spoil(a, TSR_BENCH_OUT, error);
  if (status == TSR_OK) status = tsr_contender_insert(on, pairs, a->keys, tsr_bench_values(a, on), &call, error);
  if (status == TSR_OK) status = tsr_contender_report(on, &report, error);
  if (status == TSR_OK) status = tsr_bench_check_inserted(a, subject, &report, pairs, result, error);
  if (on->foreign) return status; /* it hands no pair back: one without a place is lost */
  if (status == TSR_OK) status = tsr_memory_copy(a->owner, a->host_out, a->out, pairs, error);
  if (status == TSR_OK)
    status = tsr_memory_copy(a->owner, a->host_queries, a->queries, pairs * (a->model.key_bits / 8), error);
  if (status == TSR_OK) status = collect_unplaced(a, subject, error);
  if (status == TSR_OK && subject->unplaced_count != report.not_placed)
    tsr_bench_complain(result, "%llu keys found no room, but %llu were handed back", (llu)report.not_placed,
                       (llu)subject->unplaced_count);
  return status;
}

void tsr_bench_subject_free(tsr_bench_subject *subject) {
  tsr_contender_close(&subject->on);
  free(subject->unplaced);
  *subject = (tsr_bench_subject){.unplaced = NULL};
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Asking a filled table for keys: for one value of each, for all of them, or how many there are.
 */
#include <math.h>
#include <stdlib.h>

#include "core/tessera_tools.h"
#include "tools/lab/bench_operation.h"

typedef unsigned long long llu; /* for printf */

/* ---- What is in the table -------------------------------------------------------------------- */

/* The first of the unplaced keys that is not below `key`. */
static uint64_t lower_bound(const tsr_bench_subject *subject, uint64_t key) {
  uint64_t low = 0, high = subject->unplaced_count;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (subject->unplaced[middle] < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* Query i: its key, how many pairs were offered for it, and how many of them the table has. Where pairs of one key were
 * merged and one was handed back, it may have none or one of any value. */
typedef struct query {
  uint64_t key, offered, least, most;
} query;

static query query_at(const tsr_bench_turn *turn, uint64_t i) {
  const tsr_bench_arrays *a = turn->arrays;
  const tsr_bench_subject *subject = turn->subject;
  const uint64_t index = tsr_keys_asked(&a->model, a->asked, i);
  query q = {.key = tsr_keys_load(a->host_queries, a->model.key_bits, i)};
  uint64_t unplaced = 0;
  if (index >= a->model.n) return q;
  for (uint64_t at = lower_bound(subject, q.key); at < subject->unplaced_count && subject->unplaced[at] == q.key; at++)
    unplaced++;
  q.offered = tsr_keys_pairs_of(&a->model, index);
  if (tsr_bench_merges(a, subject)) {
    q.least = unplaced == 0;
    q.most = 1;
  } else {
    q.least = q.most = q.offered - unplaced;
  }
  return q;
}

static tsr_status ask_each(tsr_bench_arrays *a, tsr_error *error) {
  return tsr_bench_arrays_ask(a, (tsr_queries){.of_pairs = false}, error);
}
static tsr_status ask_present(tsr_bench_arrays *a, tsr_error *error) {
  return tsr_bench_arrays_ask(a, (tsr_queries){.of_pairs = true, .absent = TSR_ABSENT_NONE}, error);
}
static tsr_status ask_half(tsr_bench_arrays *a, tsr_error *error) {
  return tsr_bench_arrays_ask(a, (tsr_queries){.of_pairs = true, .absent = TSR_ABSENT_HALF}, error);
}
static tsr_status ask_absent(tsr_bench_arrays *a, tsr_error *error) {
  return tsr_bench_arrays_ask(a, (tsr_queries){.of_pairs = true, .absent = TSR_ABSENT_ALL}, error);
}

static void check_found(const tsr_bench_turn *turn, uint64_t found) {
  if (turn->subject->on.table && turn->report.found != found)
    tsr_bench_complain(turn->result, "%llu keys were found, but the report says %llu", (llu)found,
                       (llu)turn->report.found);
}

/* ---- Find ------------------------------------------------------------------------------------ */

static tsr_status find(const tsr_bench_arrays *a, const tsr_contender *on, uint64_t from, uint64_t count,
                       uint8_t *codes, tsr_error *error) {
  const void *queries = (const char *)a->queries + from * (a->model.key_bits / 8);
  if (a->model.value_bits == 0) return tsr_contender_contains(on, count, queries, a->out, error);
  const tsr_call call = {.missing = TSR_BENCH_MISSING, .results = codes};
  return tsr_contender_find(on, count, queries, a->out, &call, error);
}

static uint64_t query_count(const tsr_bench_arrays *a) { return tsr_keys_query_count(&a->model, a->asked); }

static tsr_status start_find(const tsr_bench_arrays *a, const tsr_contender *on, tsr_error *error) {
  return find(a, on, 0, query_count(a), a->codes, error);
}

static tsr_status start_find_of(const tsr_bench_arrays *a, const tsr_contender *on, uint64_t from, uint64_t count,
                                tsr_error *error) {
  return find(a, on, from, count, a->codes, error);
}

static bool is_value(const tsr_bench_turn *turn, const query *q, uint64_t answer) {
  const tsr_keys *model = &turn->arrays->model;
  if (model->value_bits == 0) return answer == 1;
  if (q->least < q->most) return answer != (TSR_BENCH_MISSING & tsr_keys_mask(model->value_bits));
  const uint64_t most = turn->subject->count_max;
  if (most) return answer == (q->offered < most ? q->offered : most);
  return tsr_keys_is_value(model, turn->subject->merge, q->key, q->offered, answer);
}

static bool is_missing(const tsr_bench_turn *turn, uint64_t answer) {
  const uint32_t bits = turn->arrays->model.value_bits;
  return answer == (bits ? TSR_BENCH_MISSING & tsr_keys_mask(bits) : 0);
}

static tsr_bench_tally judge_value(const tsr_bench_turn *turn, uint64_t i) {
  const query q = query_at(turn, i);
  const uint64_t answer = tsr_keys_load(turn->arrays->host_out, turn->arrays->out_bits, i);
  const bool is_found = q.most > 0 && is_value(turn, &q, answer);
  const bool is_right = is_found || (q.least == 0 && is_missing(turn, answer));
  return (tsr_bench_tally){.wrong = !is_right, .found = is_right ? is_found : q.least > 0};
}

static tsr_bench_tally judge_find(const tsr_bench_turn *turn, uint64_t i) {
  tsr_bench_tally tally = judge_value(turn, i);
  if (turn->arrays->codes && turn->subject->on.table && turn->arrays->model.value_bits)
    tally.wrong |= tsr_keys_load(turn->arrays->host_results, 8, i) != (tally.found ? TSR_FOUND : TSR_MISSING);
  return tally;
}

static tsr_bench_tally judge_filter(const tsr_bench_turn *turn, uint64_t i) {
  const bool is_there = query_at(turn, i).least > 0, answer = tsr_keys_load(turn->arrays->host_out, 8, i) != 0;
  return (tsr_bench_tally){.wrong = is_there && !answer, .found = answer && !is_there};
}

/* Every key that was inserted is found, and of the others about as many as the filter says: 6 standard deviations more
 * are met once in 10^9 runs. */
static tsr_status check_filter(tsr_bench_turn *turn, uint64_t count, tsr_error *error) {
  const tsr_bench_tally sums = tsr_bench_judge(turn, count, judge_filter);
  const uint64_t present = turn->report.found - sums.found;
  tsr_filter_info info = {0};
  tsr_status status = tsr_filter_describe(turn->subject->on.table, &info, error);
  if (status) return status;
  const double expected = info.rate * (double)(count - present);
  if (sums.wrong) tsr_bench_complain(turn->result, "%llu keys that were inserted are missing", (llu)sums.wrong);
  if ((double)sums.found > expected + 6 * sqrt(expected) + 6)
    tsr_bench_complain(turn->result, "%llu absent keys seem present, and the filter says %.0f", (llu)sums.found,
                       expected);
  return TSR_OK;
}

static tsr_status check_find(tsr_bench_turn *turn, tsr_error *error) {
  const uint64_t count = tsr_keys_query_count(&turn->arrays->model, turn->arrays->asked);
  turn->result->done = count;
  if (tsr_bench_is_filter(&turn->subject->on)) return check_filter(turn, count, error);
  const tsr_bench_tally sums = tsr_bench_judge(turn, count, judge_find);
  if (sums.wrong) tsr_bench_complain(turn->result, "%llu of %llu answers are wrong", (llu)sums.wrong, (llu)count);
  check_found(turn, sums.found);
  return TSR_OK;
}

tsr_status tsr_bench_check_values(tsr_bench_turn *turn, tsr_error *error) {
  tsr_bench_arrays *a = turn->arrays;
  tsr_status status = ask_each(a, error);
  if (status == TSR_OK) status = tsr_bench_arrays_spoil(a, TSR_BENCH_OUT, error);
  if (status == TSR_OK) status = find(a, &turn->subject->on, 0, query_count(a), NULL, error);
  if (status == TSR_OK) status = tsr_bench_arrays_fetch(a, TSR_BENCH_OUT, error);
  if (status) return status;
  const uint64_t wrong = tsr_bench_judge(turn, a->model.n, judge_value).wrong;
  if (wrong)
    tsr_bench_complain(turn->result, "%llu of %llu keys have another value than their pairs make", (llu)wrong,
                       (llu)a->model.n);
  return TSR_OK;
}

#define FIND_OPERATION(ask)                                                                                            \
  {                                                                                                                    \
    .before = TSR_BENCH_ON_FILLED, .calls = TSR_PREPARE_FIND, .answers = TSR_BENCH_OUT | TSR_BENCH_RESULTS,            \
    .limit = "read", .has_rivals = true, .prepare = (ask), .start = start_find, .start_some = start_find_of,           \
    .check = check_find                                                                                                \
  }
const tsr_bench_operation tsr_bench_find100 = FIND_OPERATION(ask_present);
const tsr_bench_operation tsr_bench_find50 = FIND_OPERATION(ask_half);
const tsr_bench_operation tsr_bench_find0 = FIND_OPERATION(ask_absent);

/* ---- Find all -------------------------------------------------------------------------------- */

static tsr_status start_find_all(const tsr_bench_arrays *a, const tsr_contender *on, tsr_error *error) {
  const tsr_call call = {.missing = TSR_BENCH_MISSING};
  return tsr_contender_find_all(on, a->model.n, a->queries, a->offsets, a->model.pairs, a->out, &call, error);
}

static tsr_bench_tally judge_offsets(const tsr_bench_turn *turn, uint64_t i) {
  const uint64_t *offsets = turn->arrays->host_offsets, present = query_at(turn, i).least;
  const bool is_right =
      (i > 0 || offsets[0] == 0) && offsets[i] <= offsets[i + 1] && offsets[i + 1] - offsets[i] == present;
  return (tsr_bench_tally){.wrong = !is_right, .found = present > 0};
}

static int compare_64(const void *left, const void *right) {
  uint64_t l = *(const uint64_t *)left, r = *(const uint64_t *)right;
  return (l > r) - (l < r);
}

static int compare_32(const void *left, const void *right) {
  uint32_t l = *(const uint32_t *)left, r = *(const uint32_t *)right;
  return (l > r) - (l < r);
}

/* The values of a key are right if their ranks are distinct and those of its pairs: as many as are there, which the
 * offsets have shown, can be no others, unless pairs were handed back. The ranks are sorted where the values are. */
static tsr_bench_tally judge_values(const tsr_bench_turn *turn, uint64_t i) {
  const tsr_bench_arrays *a = turn->arrays;
  const uint64_t *offsets = a->host_offsets, count = offsets[i + 1] - offsets[i];
  const uint32_t bits = a->model.value_bits;
  const query q = query_at(turn, i);
  char *values = (char *)a->host_out + offsets[i] * (bits / 8);
  for (uint64_t k = 0; k < count; k++)
    tsr_keys_store(values, bits, k, tsr_keys_rank(&a->model, q.key, tsr_keys_load(values, bits, k)));
  qsort(values, count, bits / 8, bits == 32 ? compare_32 : compare_64);
  bool is_right = count == 0 || tsr_keys_load(values, bits, count - 1) < q.offered;
  for (uint64_t k = 1; k < count; k++)
    is_right = is_right && tsr_keys_load(values, bits, k - 1) < tsr_keys_load(values, bits, k);
  return (tsr_bench_tally){.wrong = !is_right};
}

static tsr_status check_find_all(tsr_bench_turn *turn, tsr_error *error) {
  const llu keys = turn->arrays->model.n;
  const tsr_bench_tally counts = tsr_bench_judge(turn, turn->arrays->model.n, judge_offsets);
  (void)error;
  turn->result->done = turn->arrays->model.pairs - turn->subject->unplaced_count;
  if (counts.wrong) {
    tsr_bench_complain(turn->result, "%llu of %llu keys have a wrong number of values", (llu)counts.wrong, keys);
    return TSR_OK;
  }
  const tsr_bench_tally values = tsr_bench_judge(turn, turn->arrays->model.n, judge_values);
  if (values.wrong)
    tsr_bench_complain(turn->result, "the values of %llu of %llu keys are wrong", (llu)values.wrong, keys);
  check_found(turn, counts.found);
  return TSR_OK;
}

const tsr_bench_operation tsr_bench_find_all = {.before = TSR_BENCH_ON_FILLED,
                                                .calls = TSR_PREPARE_FIND_ALL,
                                                .answers = TSR_BENCH_OUT | TSR_BENCH_OFFSETS,
                                                .has_rivals = true,
                                                .prepare = ask_each,
                                                .start = start_find_all,
                                                .check = check_find_all};

/* ---- Count all ------------------------------------------------------------------------------- */

static tsr_status start_count_all(const tsr_bench_arrays *a, const tsr_contender *on, tsr_error *error) {
  return tsr_count_all(on->table, a->model.n, a->queries, a->offsets, NULL, error);
}

static tsr_bench_tally judge_count(const tsr_bench_turn *turn, uint64_t i) {
  const uint64_t count = ((const uint64_t *)turn->arrays->host_offsets)[i];
  const query q = query_at(turn, i);
  return (tsr_bench_tally){.wrong = count < q.least || count > q.most, .found = count > 0};
}

static tsr_status check_count_all(tsr_bench_turn *turn, tsr_error *error) {
  const tsr_bench_tally sums = tsr_bench_judge(turn, turn->arrays->model.n, judge_count);
  (void)error;
  turn->result->done = turn->arrays->model.n;
  if (sums.wrong)
    tsr_bench_complain(turn->result, "%llu of %llu keys are counted wrongly", (llu)sums.wrong,
                       (llu)turn->arrays->model.n);
  check_found(turn, sums.found);
  return TSR_OK;
}

const tsr_bench_operation tsr_bench_count_all = {.before = TSR_BENCH_ON_FILLED,
                                                 .calls = TSR_PREPARE_COUNT_ALL,
                                                 .answers = TSR_BENCH_OFFSETS,
                                                 .prepare = ask_each,
                                                 .start = start_count_all,
                                                 .check = check_count_all};

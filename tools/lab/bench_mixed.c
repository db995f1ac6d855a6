/* SPDX-License-Identifier: Apache-2.0
 *
 * One batch of inserts, erases and finds, shuffled: each names a key of its own, so that what it does is determined.
 */
#include "tools/lab/bench_operation.h"

typedef unsigned long long llu; /* for printf */

static tsr_status start_mixed(const tsr_bench_arrays *a, const tsr_contender *on, tsr_error *error) {
  const tsr_call call = {.results = a->results, .missing = TSR_BENCH_MISSING};
  return tsr_apply(on->table, a->model.n, a->operations, a->queries, tsr_bench_values(a, on) ? a->operands : NULL,
                   a->model.value_bits ? a->out : NULL, &call, error);
}

static tsr_bench_tally judge_mixed(const tsr_bench_turn *turn, uint64_t i) {
  static const uint8_t codes[TSR_MIXED_KINDS] = {[TSR_MIXED_INSERT] = TSR_INSERTED,
                                                 [TSR_MIXED_ERASE] = TSR_ERASED,
                                                 [TSR_MIXED_FIND] = TSR_FOUND,
                                                 [TSR_MIXED_ABSENT] = TSR_MISSING};
  const tsr_bench_arrays *a = turn->arrays;
  const tsr_keys *model = &a->model;
  uint64_t index;
  const tsr_mixed kind = tsr_keys_mixed(model, a->counts, i, &index);
  bool is_right = tsr_keys_load(a->host_results, 8, i) == codes[kind];
  if (model->value_bits && (kind == TSR_MIXED_FIND || kind == TSR_MIXED_ABSENT)) {
    const uint64_t value = kind == TSR_MIXED_FIND
                               ? turn->subject->count_max ? 1 : tsr_keys_value(model, tsr_keys_at(model, index))
                               : TSR_BENCH_MISSING & tsr_keys_mask(model->value_bits);
    is_right = is_right && tsr_keys_load(a->host_out, model->value_bits, i) == value;
  }
  return (tsr_bench_tally){.wrong = !is_right};
}

static tsr_status check_mixed(tsr_bench_turn *turn, tsr_error *error) {
  const uint64_t n = turn->arrays->model.n, *counts = turn->arrays->counts;
  const uint64_t expected = n + counts[TSR_MIXED_INSERT] - counts[TSR_MIXED_ERASE];
  const tsr_report *report = &turn->report;
  uint64_t size;
  turn->result->done = n;
  tsr_status status = tsr_contender_size(&turn->subject->on, &size, error);
  if (status) return status;
  if (turn->present != n)
    tsr_bench_complain(turn->result, "of %llu keys to start with %llu found no room", (llu)n, (llu)(n - turn->present));
  const uint64_t wrong = tsr_bench_judge(turn, n, judge_mixed).wrong;
  if (wrong) tsr_bench_complain(turn->result, "%llu of %llu operations have a wrong result", (llu)wrong, (llu)n);
  if (size != expected)
    tsr_bench_complain(turn->result, "the table should hold %llu keys then, but holds %llu", (llu)expected, (llu)size);
  if (report->inserted != counts[TSR_MIXED_INSERT] || report->erased != counts[TSR_MIXED_ERASE] ||
      report->found != counts[TSR_MIXED_FIND])
    tsr_bench_complain(turn->result,
                       "the results are right, but the report says %llu inserted, %llu erased, %llu found",
                       (llu)report->inserted, (llu)report->erased, (llu)report->found);
  return TSR_OK;
}

const tsr_bench_operation tsr_bench_mixed = {.before = TSR_BENCH_ON_FULL,
                                             .calls = TSR_PREPARE_APPLY,
                                             .answers = TSR_BENCH_OUT | TSR_BENCH_RESULTS,
                                             .prepare = tsr_bench_arrays_mix,
                                             .start = start_mixed,
                                             .check = check_mixed};

/* SPDX-License-Identifier: Apache-2.0
 *
 * Inserting all pairs at once, in batches, again from scratch with each batch, into a small table that grows, or by
 * tsr_apply; and erasing them.
 */
#include "tools/lab/bench_operation.h"

typedef unsigned long long llu; /* for printf */

static tsr_status insert_range(const tsr_bench_arrays *a, const tsr_contender *on, uint64_t from, uint64_t to,
                               tsr_error *error) {
  const char *keys = a->keys, *values = tsr_bench_values(a, on);
  keys += from * (a->model.key_bits / 8);
  if (values) values += from * (a->model.value_bits / 8);
  const tsr_call call = {.results = a->codes ? a->codes + from : NULL};
  return tsr_contender_insert(on, to - from, keys, values, &call, error);
}

static uint64_t batch_end(const tsr_bench_arrays *a, uint64_t from) {
  const uint64_t rest = a->model.pairs - from;
  return from + (a->options->batch < rest ? a->options->batch : rest);
}

static tsr_status check_inserts(tsr_bench_turn *turn, uint64_t offered, tsr_error *error) {
  turn->result->done = turn->arrays->model.pairs;
  return tsr_bench_check_inserted(turn->arrays, turn->subject, &turn->report, offered, turn->result, error);
}

static tsr_status check_all_once(tsr_bench_turn *turn, tsr_error *error) {
  const tsr_report *report = &turn->report;
  const uint64_t pairs = turn->arrays->model.pairs;
  const bool merges = tsr_bench_merges(turn->arrays, turn->subject);
  tsr_bench_check_codes(turn, pairs, TSR_INSERTED, report->inserted);
  if (merges) tsr_bench_check_codes(turn, pairs, turn->subject->again, pairs - report->inserted - report->not_placed);
  tsr_status status = check_inserts(turn, pairs, error);
  /* of a pair that was handed back nobody knows which of its key's values it has taken with it */
  if (status == TSR_OK && merges && !report->not_placed) status = tsr_bench_check_values(turn, error);
  return status;
}

/* ---- Insert and incremental ------------------------------------------------------------------ */

static tsr_status start_insert(const tsr_bench_arrays *a, const tsr_contender *on, tsr_error *error) {
  return insert_range(a, on, 0, a->model.pairs, error);
}

static tsr_status start_insert_of(const tsr_bench_arrays *a, const tsr_contender *on, uint64_t from, uint64_t count,
                                  tsr_error *error) {
  return insert_range(a, on, from, from + count, error);
}

const tsr_bench_operation tsr_bench_insert = {.before = TSR_BENCH_ON_EMPTY,
                                              .calls = TSR_PREPARE_INSERT,
                                              .answers = TSR_BENCH_RESULTS,
                                              .limit = "read+cas",
                                              .has_rivals = true,
                                              .start = start_insert,
                                              .start_some = start_insert_of,
                                              .check = check_all_once};

static tsr_status start_incremental(const tsr_bench_arrays *a, const tsr_contender *on, tsr_error *error) {
  tsr_status status = TSR_OK;
  for (uint64_t from = 0; status == TSR_OK && from < a->model.pairs; from = batch_end(a, from))
    status = insert_range(a, on, from, batch_end(a, from), error);
  return status;
}

const tsr_bench_operation tsr_bench_incremental = {.before = TSR_BENCH_ON_EMPTY,
                                                   .calls = TSR_PREPARE_INSERT,
                                                   .answers = TSR_BENCH_RESULTS,
                                                   .limit = "read+cas",
                                                   .has_rivals = true,
                                                   .start = start_incremental,
                                                   .check = check_all_once};

/* ---- Rebuild --------------------------------------------------------------------------------- */

static tsr_status start_rebuild(const tsr_bench_arrays *a, const tsr_contender *on, tsr_error *error) {
  tsr_status status = TSR_OK;
  for (uint64_t end = 0; status == TSR_OK && end < a->model.pairs;) {
    end = batch_end(a, end);
    status = tsr_contender_clear(on, error);
    if (status == TSR_OK) status = insert_range(a, on, 0, end, error);
  }
  return status;
}

static tsr_status check_rebuild(tsr_bench_turn *turn, tsr_error *error) {
  uint64_t offered = 0;
  for (uint64_t end = 0; end < turn->arrays->model.pairs; offered += end) end = batch_end(turn->arrays, end);
  return check_inserts(turn, offered, error);
}

const tsr_bench_operation tsr_bench_rebuild = {
    .before = TSR_BENCH_ON_EMPTY, .calls = TSR_PREPARE_INSERT, .start = start_rebuild, .check = check_rebuild};

/* ---- Grow ------------------------------------------------------------------------------------ */

/* The operations before it had the table at its size; none comes after it. */
const tsr_bench_operation tsr_bench_grow = {.before = TSR_BENCH_ON_SMALL,
                                            .calls = TSR_PREPARE_INSERT,
                                            .answers = TSR_BENCH_RESULTS,
                                            .start = start_insert,
                                            .check = check_all_once};

/* ---- Apply ----------------------------------------------------------------------------------- */

static tsr_status start_apply(const tsr_bench_arrays *a, const tsr_contender *on, tsr_error *error) {
  const tsr_call call = {.results = a->codes};
  void *found = a->model.value_bits ? a->out : NULL; /* which nothing is written to: no operation finds */
  return tsr_apply(on->table, a->model.pairs, a->operations, a->keys, tsr_bench_values(a, on), found, &call, error);
}

const tsr_bench_operation tsr_bench_apply = {.before = TSR_BENCH_ON_EMPTY,
                                             .calls = TSR_PREPARE_APPLY,
                                             .answers = TSR_BENCH_RESULTS,
                                             .prepare = tsr_bench_arrays_insert,
                                             .start = start_apply,
                                             .check = check_all_once};

/* ---- Erase ----------------------------------------------------------------------------------- */

static tsr_status prepare_erase(tsr_bench_arrays *a, tsr_error *error) {
  return tsr_bench_arrays_ask(a, (tsr_queries){.of_pairs = false}, error);
}

static tsr_status start_erase(const tsr_bench_arrays *a, const tsr_contender *on, tsr_error *error) {
  return tsr_contender_erase(on, a->model.n, a->queries, &(tsr_call){.results = a->codes}, error);
}

/* Keys without a place do not count against the erase: it has to remove what is there. Its rate is of pairs, as that of
 * the insert that it undoes. */
static tsr_status check_erase(tsr_bench_turn *turn, tsr_error *error) {
  uint64_t size, erased = turn->report.erased;
  turn->result->done = erased;
  if (turn->arrays->model.n == turn->arrays->model.pairs)
    tsr_bench_check_codes(turn, turn->arrays->model.n, TSR_ERASED, erased);
  tsr_status status = tsr_contender_size(&turn->subject->on, &size, error);
  if (status == TSR_OK && (erased != turn->present || size != 0))
    tsr_bench_complain(turn->result, "of %llu keys in the table %llu were erased, and it still holds %llu",
                       (llu)turn->present, (llu)erased, (llu)size);
  return status;
}

const tsr_bench_operation tsr_bench_erase = {.before = TSR_BENCH_ON_FULL,
                                             .calls = TSR_PREPARE_ERASE,
                                             .answers = TSR_BENCH_RESULTS,
                                             .limit = "read+cas",
                                             .has_rivals = true,
                                             .prepare = prepare_erase,
                                             .start = start_erase,
                                             .check = check_erase};

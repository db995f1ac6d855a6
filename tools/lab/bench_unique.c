/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbering the keys of a batch, by an index or without a table: the distinct keys, how often each comes, which one each key
 * is. Distinct keys come in any order, so they are checked by sums of hashes.
 */
#include <string.h>

#include "core/tessera_tools.h"
#include "tools/lab/bench_operation.h"

typedef unsigned long long llu; /* for printf */

/* What the calls write: distinct keys to `queries`, counts to `offsets`, the number of each key to `out`. */
static tsr_status prepare(tsr_bench_arrays *a, tsr_error *error) {
  const uint64_t bytes = a->model.pairs * (a->model.key_bits / 8);
  memset(a->host_queries, 0xa5, bytes); /* what a former run wrote is no answer */
  return tsr_memory_copy(a->owner, a->queries, a->host_queries, bytes, error);
}

static tsr_status start_number(const tsr_bench_arrays *a, const tsr_contender *on, tsr_error *error) {
  return tsr_number(on->table, a->model.pairs, a->keys, a->out, NULL, error);
}

static tsr_status unique(const tsr_bench_arrays *a, const tsr_contender *on, bool counts, bool inverse,
                         tsr_error *error) {
  const tsr_unique_arrays arrays = {
      .keys = a->queries, .counts = counts ? a->offsets : NULL, .inverse = inverse ? a->out : NULL, .room = a->model.n};
  *a->total = 0;
  return tsr_contender_unique(on, a->model.pairs, a->keys, &arrays, a->total, error);
}

static tsr_status start_unique(const tsr_bench_arrays *a, const tsr_contender *on, tsr_error *error) {
  return unique(a, on, false, false, error);
}
static tsr_status start_counts(const tsr_bench_arrays *a, const tsr_contender *on, tsr_error *error) {
  return unique(a, on, true, false, error);
}
static tsr_status start_inverse(const tsr_bench_arrays *a, const tsr_contender *on, tsr_error *error) {
  return unique(a, on, false, true, error);
}

/* ---- Checks ---------------------------------------------------------------------------------- */

/* A number that stands for a key and how often it comes. Equal sums of them are, but for one chance in 2^64, of equal keys. */
static uint64_t mark_of(uint64_t key, uint64_t count) { return tsr_keys_mix(64, tsr_keys_mix(64, key) + count); }

/* host_queries has the distinct keys. counts: NULL: not asked for. */
static void check_distinct(const tsr_bench_turn *turn, uint64_t distinct, const uint64_t *counts) {
  const tsr_bench_arrays *a = turn->arrays;
  const tsr_keys *model = &a->model;
  uint64_t there = 0, wanted = 0;
  if (distinct != model->n) {
    tsr_bench_complain(turn->result, "%llu keys have %llu distinct ones, and it says %llu", (llu)model->pairs,
                       (llu)model->n, (llu)distinct);
    return;
  }
#ifndef TSR_PTHREADS
#pragma omp parallel for schedule(static) reduction(+ : there, wanted)
#endif
  for (uint64_t i = 0; i < model->n; i++) {
    there += mark_of(tsr_keys_load(a->host_queries, model->key_bits, i), counts ? counts[i] : 0);
    wanted += mark_of(tsr_keys_at(model, i), counts ? tsr_keys_pairs_of(model, i) : 0);
  }
  if (there != wanted)
    tsr_bench_complain(turn->result, "the %llu distinct keys are others than those of the batch%s", (llu)distinct,
                       counts ? ", or their counts are wrong" : "");
}

/* Whether key i of the batch is the distinct key that its number names. host_out has the numbers, offsets the batch. */
static tsr_bench_tally judge_number(const tsr_bench_turn *turn, uint64_t i) {
  const tsr_bench_arrays *a = turn->arrays;
  const uint32_t bits = a->model.key_bits;
  const uint64_t number = ((const uint32_t *)a->host_out)[i];
  const bool is_right =
      number < a->model.n && tsr_keys_load(a->host_queries, bits, number) == tsr_keys_load(a->host_batch, bits, i);
  return (tsr_bench_tally){.wrong = !is_right};
}

/* distinct: how many keys `queries` has. */
static tsr_status check(tsr_bench_turn *turn, uint64_t distinct, bool counts, bool inverse, tsr_error *error) {
  const tsr_bench_arrays *a = turn->arrays;
  const uint64_t bytes = a->model.pairs * (a->model.key_bits / 8);
  turn->result->done = a->model.pairs;
  tsr_status status = tsr_memory_copy(a->owner, a->host_queries, a->queries, bytes, error);
  if (status) return status;
  check_distinct(turn, distinct, counts ? a->host_offsets : NULL);
  if (inverse) {
    const tsr_bench_tally sums = tsr_bench_judge(turn, a->model.pairs, judge_number);
    if (sums.wrong)
      tsr_bench_complain(turn->result, "%llu of %llu keys have a wrong number", (llu)sums.wrong, (llu)a->model.pairs);
  }
  return prepare(turn->arrays, error);
}

static tsr_status check_number(tsr_bench_turn *turn, tsr_error *error) {
  const tsr_bench_arrays *a = turn->arrays;
  tsr_table *table = turn->subject->on.table;
  uint64_t given = 0;
  tsr_status status = tsr_numbers_given(table, &given, error);
  if (status == TSR_OK && given == a->model.n) status = tsr_keys_by_number(table, 0, given, a->queries, NULL, error);
  return status ? status : check(turn, given, false, true, error);
}
static tsr_status check_unique(tsr_bench_turn *turn, tsr_error *error) {
  return check(turn, *turn->arrays->total, false, false, error);
}
static tsr_status check_counts(tsr_bench_turn *turn, tsr_error *error) {
  return check(turn, *turn->arrays->total, true, false, error);
}
static tsr_status check_inverse(tsr_bench_turn *turn, tsr_error *error) {
  return check(turn, *turn->arrays->total, false, true, error);
}

/* ---- The operations -------------------------------------------------------------------------- */

const tsr_bench_operation tsr_bench_number = {.before = TSR_BENCH_ON_EMPTY,
                                              .calls = TSR_PREPARE_FIND_OR_INSERT,
                                              .answers = TSR_BENCH_OUT,
                                              .of_index = true,
                                              .prepare = prepare,
                                              .start = start_number,
                                              .check = check_number};
const tsr_bench_operation tsr_bench_unique = {.before = TSR_BENCH_ON_EMPTY,
                                              .calls = TSR_PREPARE_FIND_OR_INSERT,
                                              .of_index = true,
                                              .has_rivals = true,
                                              .prepare = prepare,
                                              .start = start_unique,
                                              .check = check_unique};
const tsr_bench_operation tsr_bench_unique_counts = {.before = TSR_BENCH_ON_EMPTY,
                                                     .calls = TSR_PREPARE_FIND_OR_INSERT,
                                                     .answers = TSR_BENCH_OFFSETS,
                                                     .of_index = true,
                                                     .has_rivals = true,
                                                     .prepare = prepare,
                                                     .start = start_counts,
                                                     .check = check_counts};
const tsr_bench_operation tsr_bench_unique_inverse = {.before = TSR_BENCH_ON_EMPTY,
                                                      .calls = TSR_PREPARE_FIND_OR_INSERT,
                                                      .answers = TSR_BENCH_OUT,
                                                      .of_index = true,
                                                      .has_rivals = true,
                                                      .prepare = prepare,
                                                      .start = start_inverse,
                                                      .check = check_inverse};

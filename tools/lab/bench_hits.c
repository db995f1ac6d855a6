/* SPDX-License-Identifier: Apache-2.0
 *
 * How many keys of a stream a cache holds when they come: each is found or inserted, in calls of --batch keys. Hits are counted
 * in the second half, when the cache is full.
 */
#include "core/tessera_tools.h"
#include "tools/lab/bench_operation.h"

typedef unsigned long long llu; /* for printf */

static tsr_status start(const tsr_bench_arrays *a, const tsr_contender *on, tsr_error *error) {
  const uint64_t key_bytes = a->model.key_bits / 8, value_bytes = a->model.value_bits / 8, batch = a->options->batch;
  tsr_status status = TSR_OK;
  for (uint64_t from = 0; status == TSR_OK && from < a->model.pairs; from += batch) {
    const uint64_t rest = a->model.pairs - from, count = rest < batch ? rest : batch;
    const char *values = value_bytes ? (const char *)a->values + from * value_bytes : NULL;
    char *out = value_bytes ? (char *)a->out + from * value_bytes : NULL;
    const tsr_call call = {.results = (uint8_t *)a->results + from};
    status = tsr_find_or_insert(on->table, count, (const char *)a->keys + from * key_bytes, values, out, &call, error);
  }
  return status;
}

/* Whether the value of key i of the stream is one of its own; found: a hit of the second half. */
static tsr_bench_tally judge(const tsr_bench_turn *turn, uint64_t i) {
  const tsr_bench_arrays *a = turn->arrays;
  const uint64_t key = tsr_keys_load(a->host_batch, a->model.key_bits, i);
  const uint8_t code = ((const uint8_t *)a->host_results)[i];
  const bool is_new = code == TSR_INSERTED || code == TSR_EVICTED;
  bool is_right = is_new || code == TSR_FOUND || code == TSR_NOT_PLACED;
  if (is_right && code != TSR_NOT_PLACED && a->model.value_bits)
    is_right = tsr_keys_is_value(&a->model, TSR_MERGE_ANY, key, a->model.pairs,
                                 tsr_keys_load(a->host_out, a->model.value_bits, i));
  return (tsr_bench_tally){.wrong = !is_right, .found = code == TSR_FOUND && i >= a->model.pairs / 2};
}

static tsr_status check(tsr_bench_turn *turn, tsr_error *error) {
  const tsr_bench_arrays *a = turn->arrays;
  const tsr_report *r = &turn->report;
  const uint64_t pairs = a->model.pairs, half = pairs - pairs / 2;
  const tsr_bench_tally sums = tsr_bench_judge(turn, pairs, judge);
  uint64_t size = 0;
  tsr_status status = tsr_size(turn->subject->on.table, &size, error);
  turn->result->done = pairs;
  turn->result->hit_rate = half ? (double)sums.found / (double)half : 0;
  if (sums.wrong)
    tsr_bench_complain(turn->result, "%llu of %llu keys have another key's value", (llu)sums.wrong, (llu)pairs);
  if (status == TSR_OK &&
      size + r->evicted > r->inserted) /* pairs that had expired are inserted again in their slots */
    tsr_bench_complain(turn->result, "%llu keys were inserted and %llu given up, but the cache holds %llu",
                       (llu)r->inserted, (llu)r->evicted, (llu)size);
  return status;
}

const tsr_bench_operation tsr_bench_hits = {.before = TSR_BENCH_ON_EMPTY,
                                            .calls = TSR_PREPARE_FIND_OR_INSERT,
                                            .answers = TSR_BENCH_OUT | TSR_BENCH_RESULTS,
                                            .of_cache = true,
                                            .start = start,
                                            .check = check};

/* SPDX-License-Identifier: Apache-2.0
 *
 * Allocating, filling and fetching the arrays of a benchmark; bench_arrays.h says what each holds.
 */
#include "tools/lab/bench_arrays.h"
#include "core/tessera_tools.h"

#include <stdlib.h>
#include <string.h>

enum { ARRAYS = 8 };

typedef struct array {
  void **device, **host; /* host: NULL = none */
  uint64_t bytes;        /* 0 = not needed */
  uint32_t answer;       /* which, or 0 */
} array;

static void list(tsr_bench_arrays *a, array arrays[ARRAYS]) {
  const bool *ops = a->options->ops;
  const uint64_t pairs = a->model.pairs, n = a->model.n, key = a->model.key_bits / 8, value = a->model.value_bits / 8;
  const bool counts = ops[TSR_BENCH_FIND_ALL] || ops[TSR_BENCH_COUNT_ALL] || ops[TSR_BENCH_UNIQUE_COUNTS];
  const bool is_mixed = ops[TSR_BENCH_MIXED], hits = ops[TSR_BENCH_HITS];
  const bool is_compared = ops[TSR_BENCH_NUMBER] || ops[TSR_BENCH_UNIQUE_INVERSE] || hits;
  const uint64_t operations = ops[TSR_BENCH_APPLY] ? pairs : is_mixed ? n : 0;
  const array all[ARRAYS] = {
      {&a->keys, is_compared ? &a->host_batch : NULL, pairs * key, 0},
      {&a->values, NULL, pairs * value, 0},
      {&a->queries, &a->host_queries, pairs * key, 0},
      {&a->out, &a->host_out, pairs * (a->out_bits / 8), TSR_BENCH_OUT},
      {&a->offsets, &a->host_offsets, counts ? (n + 1) * sizeof(uint64_t) : 0, TSR_BENCH_OFFSETS},
      {&a->results, &a->host_results, a->options->codes || hits ? pairs : operations, TSR_BENCH_RESULTS},
      {&a->operations, NULL, operations, 0},
      {&a->operands, NULL, is_mixed ? n * value : 0, 0},
  };
  for (size_t i = 0; i < ARRAYS; i++) arrays[i] = all[i];
}

static tsr_status allocate(tsr_bench_arrays *a, const array *it, tsr_error *error) {
  if (!it->bytes) return TSR_OK;
  if (it->host && !(*it->host = malloc(it->bytes)))
    return tsr_fail(error, TSR_NO_MEMORY, "bench: no memory for %llu keys and their answers: use a smaller --n",
                    (unsigned long long)a->model.pairs);
  return tsr_memory_allocate(a->owner, it->bytes, it->device, error);
}

tsr_status tsr_bench_arrays_create(tsr_table *owner, const tsr_keys *model, const tsr_bench_options *options,
                                   tsr_bench_arrays *a, tsr_error *error) {
  array arrays[ARRAYS];
  tsr_status status = TSR_OK;
  *a = (tsr_bench_arrays){
      .owner = owner, .options = options, .model = *model, .out_bits = model->value_bits ? model->value_bits : 8};
  list(a, arrays);
  if (!(a->total = malloc(sizeof *a->total))) status = tsr_fail(error, TSR_NO_MEMORY, "bench: no memory for a number");
  for (size_t i = 0; status == TSR_OK && i < ARRAYS; i++) status = allocate(a, &arrays[i], error);
  if (status) return status;
  if (options->codes) a->codes = a->results;
  tsr_keys_fill(model, a->host_queries);
  if (a->host_batch) memcpy(a->host_batch, a->host_queries, model->pairs * (model->key_bits / 8));
  status = tsr_memory_copy(owner, a->keys, a->host_queries, model->pairs * (model->key_bits / 8), error);
  if (status || !model->value_bits) return status;
  tsr_keys_fill_values(model, a->host_out);
  return tsr_memory_copy(owner, a->values, a->host_out, model->pairs * (model->value_bits / 8), error);
}

void tsr_bench_arrays_free(tsr_bench_arrays *a) {
  array arrays[ARRAYS];
  if (!a->owner) return;
  list(a, arrays);
  free(a->total);
  for (size_t i = 0; i < ARRAYS; i++) {
    if (*arrays[i].device) tsr_memory_free(a->owner, *arrays[i].device);
    if (arrays[i].host) free(*arrays[i].host);
  }
  *a = (tsr_bench_arrays){.owner = NULL};
}

tsr_status tsr_bench_arrays_ask(tsr_bench_arrays *a, tsr_queries queries, tsr_error *error) {
  a->asked = queries;
  tsr_keys_fill_queries(&a->model, queries, a->host_queries);
  const uint64_t bytes = tsr_keys_query_count(&a->model, queries) * (a->model.key_bits / 8);
  return tsr_memory_copy(a->owner, a->queries, a->host_queries, bytes, error);
}

tsr_status tsr_bench_arrays_mix(tsr_bench_arrays *a, tsr_error *error) {
  static const uint8_t codes[TSR_MIXED_KINDS] = {[TSR_MIXED_INSERT] = TSR_OP_INSERT,
                                                 [TSR_MIXED_ERASE] = TSR_OP_ERASE,
                                                 [TSR_MIXED_FIND] = TSR_OP_FIND,
                                                 [TSR_MIXED_ABSENT] = TSR_OP_FIND};
  const uint64_t n = a->model.n;
  tsr_keys_cut(n, a->options->mix, a->counts);
  tsr_keys_fill_mixed(&a->model, a->counts, codes, a->host_results, a->host_queries, a->host_out);
  tsr_status status = tsr_memory_copy(a->owner, a->operations, a->host_results, n, error);
  if (status == TSR_OK)
    status = tsr_memory_copy(a->owner, a->queries, a->host_queries, n * (a->model.key_bits / 8), error);
  if (status == TSR_OK && a->operands)
    status = tsr_memory_copy(a->owner, a->operands, a->host_out, n * (a->model.value_bits / 8), error);
  return status;
}

tsr_status tsr_bench_arrays_insert(tsr_bench_arrays *a, tsr_error *error) {
  memset(a->host_results, TSR_OP_INSERT, a->model.pairs);
  return tsr_memory_copy(a->owner, a->operations, a->host_results, a->model.pairs, error);
}

static tsr_status spoil(const tsr_bench_arrays *a, const array *it, tsr_error *error) {
  const uint64_t step = a->model.pairs * (a->model.key_bits / 8);
  tsr_status status = TSR_OK;
  for (uint64_t at = 0; status == TSR_OK && at < it->bytes; at += step) {
    uint64_t rest = it->bytes - at;
    status = tsr_memory_copy(a->owner, (char *)*it->device + at, a->keys, rest < step ? rest : step, error);
  }
  return status;
}

tsr_status tsr_bench_arrays_spoil(tsr_bench_arrays *a, uint32_t answers, tsr_error *error) {
  array arrays[ARRAYS];
  tsr_status status = TSR_OK;
  list(a, arrays);
  for (size_t i = 0; status == TSR_OK && i < ARRAYS; i++)
    if (arrays[i].answer & answers) status = spoil(a, &arrays[i], error);
  return status;
}

tsr_status tsr_bench_arrays_fetch(tsr_bench_arrays *a, uint32_t answers, tsr_error *error) {
  array arrays[ARRAYS];
  tsr_status status = TSR_OK;
  list(a, arrays);
  for (size_t i = 0; status == TSR_OK && i < ARRAYS; i++)
    if (arrays[i].answer & answers && arrays[i].bytes)
      status = tsr_memory_copy(a->owner, *arrays[i].host, *arrays[i].device, arrays[i].bytes, error);
  return status;
}

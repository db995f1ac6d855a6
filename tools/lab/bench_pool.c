/* SPDX-License-Identifier: Apache-2.0
 *
 * Measuring pools (bench_pool.h).
 */
#include "tools/lab/bench_pool.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/tessera_tools.h"
#include "tools/lab/status_line.h"

/* One pool of one load: a spec's, or malloc's. */
typedef struct subject {
  const char *name; /* of the row */
  tsr_pool *pool;
  double *times; /* repeat for each operation */
  double probes[TSR_BENCH_OPS];
  uint64_t done[TSR_BENCH_OPS]; /* places given, or given back */
  bool right[TSR_BENCH_OPS];
} subject;

typedef struct bench {
  const tsr_bench_options *options;
  tsr_spec *const *specs;
  tsr_bench_output *output;
  subject *subjects; /* one for each spec, then malloc */
  size_t count;
  bool all_right;
} bench;

static int operation_of(tsr_bench_op op) {
  return op == TSR_BENCH_ALLOCATE ? TSR_POOL_ALLOCATE : op == TSR_BENCH_RELEASE ? TSR_POOL_RELEASE : TSR_POOL_CHURN;
}

/* ---- Pools ----------------------------------------------------------------------------------- */

static tsr_status create_pool(const bench *b, size_t i, const char *load, bool statistics, tsr_pool **pool,
                              tsr_error *error) {
  const tsr_bench_options *o = b->options;
  const bool is_malloc = i == o->spec_count;
  tsr_spec *copy = NULL;
  tsr_pool_options options = {.plugins = o->plugins,
                              .units = (uint64_t)((double)(o->n * o->pools.units) / tsr_bench_load(load) + 0.999),
                              .items = o->n,
                              .units_each = (uint32_t)o->pools.units,
                              .tile_lanes = (uint32_t)o->pools.tile_lanes,
                              .system = is_malloc};
  tsr_status status = tsr_spec_copy(b->specs[is_malloc ? 0 : i], &copy, error);
  if (status == TSR_OK && statistics) status = tsr_spec_set(copy, "table.statistics=yes", error);
  if (status == TSR_OK) status = tsr_pool_create(copy, &options, pool, error);
  tsr_spec_free(copy);
  return status;
}

static void destroy_pools(bench *b) {
  for (size_t i = 0; i < b->count; i++) {
    tsr_pool_destroy(b->subjects[i].pool);
    b->subjects[i].pool = NULL;
  }
}

static tsr_status create_pools(bench *b, const char *load, tsr_error *error) {
  tsr_status status = TSR_OK;
  for (size_t i = 0; status == TSR_OK && i < b->count; i++)
    status = create_pool(b, i, load, false, &b->subjects[i].pool, error);
  return status;
}

/* ---- Measuring ------------------------------------------------------------------------------- */

static void judge(bench *b, subject *s, const char *load, tsr_bench_op op, const tsr_pool_result *result) {
  if (!result->complaint[0] || !s->right[op]) return; /* one sentence will do */
  tsr_status_line_clear();
  fprintf(stderr, "tessera: %s at load %s: %s: %s\n", s->name, load, tsr_bench_op_name(op), result->complaint);
  s->right[op] = b->all_right = false;
}

/* What has to come before an operation, untimed: allocate starts with a cleared pool, the others with all places taken.
 */
static tsr_status prepare(subject *s, tsr_bench_op op, tsr_error *error) {
  tsr_pool_result filled = {0};
  tsr_status status = tsr_pool_clear(s->pool, error);
  if (status == TSR_OK && op != TSR_BENCH_ALLOCATE)
    status = tsr_pool_operate(s->pool, TSR_POOL_ALLOCATE, false, &filled, error);
  return status;
}

static tsr_status measure_turn(bench *b, subject *s, const char *load, tsr_bench_op op, uint64_t turn,
                               tsr_error *error) {
  tsr_pool_result result = {0};
  tsr_status status = prepare(s, op, error);
  if (status == TSR_OK) status = tsr_pool_operate(s->pool, operation_of(op), turn == 0, &result, error);
  if (status) return status;
  if (turn > 0) s->times[op * b->options->repeat + turn - 1] = result.milliseconds;
  s->done[op] = op == TSR_BENCH_RELEASE ? result.released : result.allocated;
  judge(b, s, load, op, &result);
  if (op != TSR_BENCH_RELEASE && result.exhausted && turn == 0)
    fprintf(stderr, "tessera: %s at load %s: %s: %llu allocations found the pool exhausted\n", s->name, load,
            tsr_bench_op_name(op), (unsigned long long)result.exhausted);
  return TSR_OK;
}

/* Memory blocks looked at for an allocation, by a pool that counts them. */
static tsr_status count_probes(const bench *b, size_t i, const char *load, tsr_bench_op op, tsr_error *error) {
  subject counting = {.pool = NULL};
  tsr_pool_result result = {0};
  tsr_status status = create_pool(b, i, load, true, &counting.pool, error);
  if (status == TSR_OK) status = prepare(&counting, op, error);
  if (status == TSR_OK) status = tsr_pool_operate(counting.pool, operation_of(op), false, &result, error);
  tsr_pool_destroy(counting.pool);
  if (status) return status;
  uint64_t asked = result.allocated + result.exhausted;
  b->subjects[i].probes[op] = asked ? (double)(result.allocated + result.changes) / (double)asked : 0;
  return TSR_OK;
}

static double median_of(bench *b, size_t i, tsr_bench_op op) {
  return tsr_bench_median(b->subjects[i].times + op * b->options->repeat, b->options->repeat);
}

static void print_row(bench *b, size_t i, const char *load, tsr_bench_op op) {
  const tsr_bench_options *o = b->options;
  const subject *s = &b->subjects[i];
  const double thousands = (double)s->done[op] / 1e3, *times = s->times + op * o->repeat;
  const double milliseconds = median_of(b, i, op); /* sorts them */
  tsr_pool_info info = {0};
  tsr_pool_describe(s->pool, &info);
  tsr_origin origin = {.seed = o->seed ? o->seed : 1, .repeat = o->repeat};
  tsr_bench_options_told(o, op, origin.options, sizeof origin.options);
  tsr_origin_begin(&origin, info.backend);
  tsr_origin_measured(&origin, info.backend, 0);
  tsr_status_line_clear();
  tsr_bench_output_row(b->output, &(tsr_bench_row){.spec = s->name,
                                                   .backend = info.backend,
                                                   .device = info.device,
                                                   .op = tsr_bench_op_name(op),
                                                   .n = o->n,
                                                   .load = tsr_bench_load(load),
                                                   .mops = thousands / milliseconds,
                                                   .mops_min = thousands / times[o->repeat - 1],
                                                   .mops_max = thousands / times[0],
                                                   .probes = s->probes[op],
                                                   .not_placed = TSR_BENCH_UNKNOWN,
                                                   .bytes = info.bytes,
                                                   .origin = origin,
                                                   .verdict = s->right[op] ? TSR_BENCH_RIGHT : TSR_BENCH_WRONG});
}

/* Pools take turns. Statistics, and thereby a second pool, only where there is an allocator of ours. */
static tsr_status measure_op(bench *b, const char *load, tsr_bench_op op, tsr_error *error) {
  tsr_status status = TSR_OK;
  for (size_t i = 0; i < b->count; i++) {
    b->subjects[i].right[op] = true;
    b->subjects[i].probes[op] = 0;
  }
  for (uint64_t turn = 0; status == TSR_OK && turn <= b->options->repeat; turn++) {
    tsr_status_line("%s at load %s, turn %llu of %llu", tsr_bench_op_name(op), load, (unsigned long long)turn + 1,
                    (unsigned long long)b->options->repeat + 1);
    for (size_t i = 0; status == TSR_OK && i < b->count; i++)
      status = measure_turn(b, &b->subjects[i], load, op, turn, error);
  }
  for (size_t i = 0; status == TSR_OK && i < b->count; i++) {
    if (i < b->options->spec_count && op != TSR_BENCH_RELEASE) status = count_probes(b, i, load, op, error);
    if (status == TSR_OK) print_row(b, i, load, op);
  }
  return status;
}

/* How many times as fast the first spec is as each other one. */
static void print_ratios(bench *b, const char *load) {
  for (size_t op = 0; op < TSR_BENCH_OPS; op++)
    for (size_t i = 1; b->options->ops[op] && i < b->count; i++)
      tsr_bench_output_note(b->output, "ratio %s/%s: %s at load %s: %.3f", b->subjects[0].name, b->subjects[i].name,
                            tsr_bench_op_name((tsr_bench_op)op), load,
                            median_of(b, i, (tsr_bench_op)op) / median_of(b, 0, (tsr_bench_op)op));
}

static tsr_status measure_load(bench *b, const char *load, tsr_error *error) {
  tsr_status status = create_pools(b, load, error);
  for (size_t op = TSR_BENCH_ALLOCATE; status == TSR_OK && op < TSR_BENCH_OPS; op++)
    if (b->options->ops[op]) status = measure_op(b, load, (tsr_bench_op)op, error);
  if (status == TSR_OK) print_ratios(b, load);
  destroy_pools(b);
  return status;
}

tsr_status tsr_bench_pools(const tsr_bench_options *options, tsr_spec *const *specs, tsr_bench_output *output,
                           bool *all_right, tsr_error *error) {
  size_t count = options->spec_count + 1, times = TSR_BENCH_OPS * options->repeat;
  bench b = {.options = options, .specs = specs, .output = output, .count = count, .all_right = true};
  b.subjects = calloc(count, sizeof *b.subjects);
  double *all_times = calloc(count * times, sizeof *all_times);
  tsr_status status = TSR_OK;
  if (!b.subjects || !all_times) status = tsr_fail(error, TSR_NO_MEMORY, "bench: no memory for the results of pools");
  for (size_t i = 0; status == TSR_OK && i < count; i++) {
    b.subjects[i].name = i < options->spec_count ? options->specs[i] : "malloc";
    b.subjects[i].times = all_times + i * times;
  }
  for (size_t i = 0; status == TSR_OK && i < options->loads.count; i++)
    status = measure_load(&b, options->loads.each[i], error);
  if (status == TSR_OK && !b.all_right) *all_right = false;
  free(b.subjects);
  free(all_times);
  return status;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * `tessera bench`: which table runs what, in which order, and how it is written down. What one measurement is:
 * bench_run.c.
 */
#define _POSIX_C_SOURCE 200809L /* stat */
#include "core/lab/bench.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/lab/bench_limits.h"
#include "core/lab/bench_pool.h"
#include "core/lab/bench_rows.h"
#include "core/lab/bench_run.h"
#include "core/lab/words.h"
#include "core/spec/number.h"

enum { ANCHOR_CAPACITY = 1 << 16 };

typedef struct bench {
  tsr_bench_options options;
  FILE *csv;
  tsr_spec **specs;
  tsr_table *anchor;   /* a small table whose memory holds the arrays while others come and go */
  tsr_table_info info; /* the anchor's */
  tsr_bench_arrays arrays;
  tsr_bench_subject *subjects; /* one for each spec; of the current load */
  tsr_bench_limits *limits;
  double *times;   /* milliseconds: repeat of them for each spec */
  double *medians; /* for each load, operation and spec */
  uint64_t *done;  /* for each spec: what the current operation's mops count */
  bool *right;     /* for each spec: no answer of the current operation was wrong */
  bool all_right;
} bench;

/* ---- Tables ---------------------------------------------------------------------------------- */

/* load: as written. */
static tsr_status create_table(const bench *b, size_t spec, const char *load, bool statistics, uint64_t capacity,
                               tsr_table **table, tsr_error *error) {
  char assignment[64];
  tsr_spec *copy = NULL;
  tsr_options options = {.plugins = b->options.plugins, .capacity = capacity, .seed = b->options.seed};
  tsr_status status = tsr_spec_copy(b->specs[spec], &copy, error);
  snprintf(assignment, sizeof assignment, "table.load_factor=%s", load);
  if (status == TSR_OK) status = tsr_spec_set(copy, assignment, error);
  if (status == TSR_OK && statistics) status = tsr_spec_set(copy, "table.statistics=yes", error);
  if (status == TSR_OK) status = tsr_table_create(copy, &options, table, error);
  tsr_spec_free(copy);
  return status;
}

/* The table of n pairs at a load. A mixed batch inserts before it has erased, and lists do not use erased slots again: so
 * where most pairs lie in units (a load above 1), there are units for what it inserts, too. */
static tsr_status create_subject(const bench *b, size_t spec, size_t load, bool statistics, tsr_table **table,
                                 tsr_error *error) {
  const tsr_bench_options *o = &b->options;
  uint64_t counts[TSR_MIXED_KINDS];
  const double written = tsr_bench_load(o->loads[load]);
  char more[32];
  if (!o->ops[TSR_BENCH_MIXED] || written <= 1)
    return create_table(b, spec, o->loads[load], statistics, o->n, table, error);
  tsr_keys_cut(o->n, o->mix, counts);
  const uint64_t capacity = o->n + counts[TSR_MIXED_INSERT];
  snprintf(more, sizeof more, "%.9g", written * (double)capacity / (double)o->n);
  return create_table(b, spec, more, statistics, capacity, table, error);
}

static int device_number(const bench *b) {
  const char *text = tsr_spec_get(b->specs[0], "table", "device");
  uint64_t number = 0;
  return text && tsr_parse_u64(text, &number) ? (int)number : 0;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static double *median_at(const bench *b, size_t load, tsr_bench_op op, size_t spec) {
  return &b->medians[(load * TSR_BENCH_OPS + op) * b->options.spec_count + spec];
}

static void print_row(const bench *b, size_t load, tsr_bench_op op, size_t spec, const tsr_bench_counts *counts) {
  const tsr_bench_options *o = &b->options;
  tsr_table_info info = {0};
  tsr_table_describe(b->subjects[spec].table, &info);
  tsr_bench_print_row(b->csv,
                      &(tsr_bench_row){.spec = o->specs[spec],
                                       .backend = info.backend,
                                       .device = info.device,
                                       .op = op,
                                       .key_bits = info.key_bits,
                                       .value_bits = info.value_bits,
                                       .n = o->n,
                                       .load = tsr_bench_load(o->loads[load]),
                                       .mops = (double)b->done[spec] / *median_at(b, load, op, spec) / 1e3,
                                       .probes = counts->probes,
                                       .limit_mops = 1e3 * tsr_bench_limits_of(b->limits, &info, tsr_bench_limit(op)),
                                       .right = b->right[spec],
                                       .utilization = counts->utilization});
}

/* How many times as fast the first spec is as each other one. */
static void print_ratios(const bench *b) {
  const tsr_bench_options *o = &b->options;
  for (size_t load = 0; load < o->load_count; load++)
    for (size_t op = 0; op < TSR_BENCH_TABLE_OPS; op++)
      for (size_t spec = 1; o->ops[op] && spec < o->spec_count; spec++)
        fprintf(b->csv, "# ratio %s/%s: %s at load %g: %.3f\n", o->specs[0], o->specs[spec],
                tsr_bench_op_name((tsr_bench_op)op), tsr_bench_load(o->loads[load]),
                *median_at(b, load, (tsr_bench_op)op, spec) / *median_at(b, load, (tsr_bench_op)op, 0));
}

/* ---- Measuring ------------------------------------------------------------------------------- */

static bool is_right(bench *b, size_t load, const char *what, size_t spec, const tsr_bench_result *result) {
  if (!result->complaint[0]) return true;
  fprintf(stderr, "tessera: %s at load %g: %s: %s\n", b->options.specs[spec], tsr_bench_load(b->options.loads[load]),
          what, result->complaint);
  b->all_right = false;
  return false;
}

static tsr_status finish_op(bench *b, size_t load, tsr_bench_op op, size_t spec, tsr_error *error) {
  const tsr_bench_options *o = &b->options;
  tsr_table *counting = NULL;
  tsr_bench_counts counts;
  *median_at(b, load, op, spec) = tsr_bench_median(b->times + spec * o->repeat, o->repeat);
  tsr_status status = create_subject(b, spec, load, true, &counting, error);
  if (status == TSR_OK) status = tsr_bench_count(&b->arrays, counting, op, &counts, error);
  tsr_table_destroy(counting);
  if (status == TSR_OK) print_row(b, load, op, spec, &counts);
  return status;
}

static tsr_status measure_op(bench *b, size_t load, tsr_bench_op op, tsr_error *error) {
  const tsr_bench_options *o = &b->options;
  for (size_t spec = 0; spec < o->spec_count; spec++) b->right[spec] = true;
  tsr_status status = tsr_bench_prepare(&b->arrays, op, error);
  for (uint64_t turn = 0; status == TSR_OK && turn <= o->repeat; turn++)
    for (size_t spec = 0; status == TSR_OK && spec < o->spec_count; spec++) {
      tsr_bench_result result;
      status = tsr_bench_measure(&b->arrays, &b->subjects[spec], op, &result, error);
      if (status) break;
      if (turn > 0) b->times[spec * o->repeat + turn - 1] = result.milliseconds;
      b->done[spec] = result.done;
      /* one sentence will do, but a wrong answer in any turn counts */
      if (b->right[spec]) b->right[spec] = is_right(b, load, tsr_bench_op_name(op), spec, &result);
    }
  for (size_t spec = 0; status == TSR_OK && spec < o->spec_count; spec++) status = finish_op(b, load, op, spec, error);
  return status;
}

static tsr_status fill_tables(bench *b, size_t load, tsr_error *error) {
  tsr_status status = TSR_OK;
  for (size_t spec = 0; status == TSR_OK && spec < b->options.spec_count; spec++) {
    tsr_bench_result result;
    status = tsr_bench_fill(&b->arrays, &b->subjects[spec], &result, error);
    if (status == TSR_OK) (void)is_right(b, load, "filling the table", spec, &result);
  }
  return status;
}

static void free_subjects(bench *b) {
  for (size_t spec = 0; b->subjects && spec < b->options.spec_count; spec++) tsr_bench_subject_free(&b->subjects[spec]);
}

static tsr_status measure_load(bench *b, size_t load, tsr_error *error) {
  const tsr_bench_options *o = &b->options;
  tsr_status status = TSR_OK;
  for (size_t spec = 0; status == TSR_OK && spec < o->spec_count; spec++) {
    status = create_subject(b, spec, load, false, &b->subjects[spec].table, error);
    if (status || strcmp(b->info.backend, "cuda") != 0) continue;
    tsr_table_info info = {0};
    tsr_table_describe(b->subjects[spec].table, &info);
    tsr_bench_limits_measure(b->limits, device_number(b), &info);
  }
  bool is_filled = false;
  for (size_t op = 0; status == TSR_OK && op < TSR_BENCH_TABLE_OPS; op++) {
    if (!o->ops[op]) continue;
    if (tsr_bench_needs_fill((tsr_bench_op)op) && !is_filled) {
      status = fill_tables(b, load, error);
      is_filled = true;
    }
    if (status == TSR_OK) status = measure_op(b, load, (tsr_bench_op)op, error);
  }
  free_subjects(b);
  return status;
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

static tsr_status read_specs(bench *b, tsr_error *error) {
  const tsr_bench_options *o = &b->options;
  size_t results = o->load_count * o->spec_count;
  b->specs = calloc(o->spec_count, sizeof(tsr_spec *));
  b->subjects = calloc(o->spec_count, sizeof *b->subjects);
  b->limits = tsr_bench_limits_create(results);
  b->done = calloc(o->spec_count, sizeof *b->done);
  b->right = calloc(o->spec_count, sizeof *b->right);
  b->times = calloc(o->spec_count * o->repeat, sizeof *b->times);
  b->medians = calloc(results * TSR_BENCH_OPS, sizeof *b->medians);
  if (!b->specs || !b->subjects || !b->limits || !b->done || !b->right || !b->times || !b->medians)
    return tsr_fail(error, TSR_NO_MEMORY, "bench: no memory for the results of %zu specs", o->spec_count);
  tsr_status status = TSR_OK;
  for (size_t spec = 0; status == TSR_OK && spec < o->spec_count; spec++) {
    status = tsr_spec_read(o->specs[spec], &b->specs[spec], error);
    for (size_t i = 0; status == TSR_OK && i < o->set_count; i++)
      status = tsr_spec_set(b->specs[spec], o->sets[i], error);
  }
  return status;
}

/* Specs share the arrays, so their tables must want the same ones. */
static tsr_status check_alike(const bench *b, size_t spec, const tsr_table_info *info, tsr_error *error) {
  const char *const *names = b->options.specs;
  if (info->key_bits != b->info.key_bits || info->value_bits != b->info.value_bits)
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "bench: %s has key_bits = %u and value_bits = %u, but %s has %u and %u: compare tables of the same "
                    "widths, or run bench for each",
                    names[spec], info->key_bits, info->value_bits, names[0], b->info.key_bits, b->info.value_bits);
  if (strcmp(info->backend, b->info.backend) != 0 || strcmp(info->device, b->info.device) != 0)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "bench: %s runs on %s (%s), but %s on %s (%s): run bench for each",
                    names[spec], info->backend, info->device, names[0], b->info.backend, b->info.device);
  return TSR_OK;
}

/* pre: the spec's table could be made. */
static tsr_status check_kind(const bench *b, size_t spec, tsr_error *error) {
  const tsr_bench_options *o = &b->options;
  const char *kind = tsr_spec_get(b->specs[spec], "table", "kind");
  if (o->ops[TSR_BENCH_FIND_ALL] && strcmp(kind, "multimap") != 0)
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "bench: --ops find_all: %s has kind = %s, and only a multimap has several values of a key to find: "
                    "use kind = multimap, or find100",
                    o->specs[spec], kind);
  if (o->multiplicity > 1 && strncmp(kind, "multi", 5) != 0)
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "bench: --multiplicity %llu: %s has kind = %s, which keeps one pair of a key: use kind = multimap "
                    "or multiset",
                    (unsigned long long)o->multiplicity, o->specs[spec], kind);
  return TSR_OK;
}

/* Small tables of all specs and loads tell what cannot be before anything is measured; the first of them stays. */
static tsr_status open_anchor(bench *b, tsr_error *error) {
  const tsr_bench_options *o = &b->options;
  const uint64_t capacity = o->n < ANCHOR_CAPACITY ? o->n : ANCHOR_CAPACITY;
  tsr_status status = create_table(b, 0, o->loads[0], false, capacity, &b->anchor, error);
  if (status) return status;
  tsr_table_describe(b->anchor, &b->info);
  if (b->info.backend_reason[0]) fprintf(stderr, "tessera: backend %s: %s\n", b->info.backend, b->info.backend_reason);
  for (size_t spec = 0; status == TSR_OK && spec < o->spec_count; spec++) {
    for (size_t load = 0; status == TSR_OK && load < o->load_count; load++) {
      tsr_table *other = NULL;
      tsr_table_info info = {0};
      status = create_table(b, spec, o->loads[load], false, capacity, &other, error);
      if (status) return status;
      tsr_table_describe(other, &info);
      status = check_alike(b, spec, &info, error);
      tsr_table_destroy(other);
    }
    if (status == TSR_OK) status = check_kind(b, spec, error);
  }
  return status;
}

static tsr_status make_arrays(bench *b, tsr_error *error) {
  const tsr_bench_options *o = &b->options;
  const uint64_t keys = o->n / o->multiplicity;
  const bool names_absent = o->ops[TSR_BENCH_FIND50] || o->ops[TSR_BENCH_FIND0] || o->ops[TSR_BENCH_MIXED];
  if (b->info.key_bits == 32 && keys > (names_absent ? 1ull << 31 : 1ull << 32))
    return tsr_fail(
        error, TSR_BAD_ARGUMENT,
        "bench: --n %llu: there are only 2^32 keys of 32 bits, and find50, find0 and mixed need as many absent ones "
        "as are inserted: use a smaller --n or key_bits = 64",
        (unsigned long long)o->n);
  tsr_keys model = {b->info.key_bits, b->info.value_bits, keys, o->seed ? o->seed : 1, o->n};
  return tsr_bench_arrays_create(b->anchor, &model, o, &b->arrays, error);
}

static tsr_status measure_tables(bench *b, tsr_error *error) {
  tsr_status status = TSR_OK;
  for (size_t load = 0; status == TSR_OK && load < b->options.load_count; load++) status = measure_load(b, load, error);
  if (status == TSR_OK) print_ratios(b);
  return status;
}

/* By whatever path or link. */
static bool is_a_spec(const tsr_bench_options *o, const char *path) {
  struct stat file, spec;
  for (size_t i = 0; i < o->spec_count; i++)
    if (stat(path, &file) == 0 && stat(o->specs[i], &spec) == 0 && file.st_dev == spec.st_dev &&
        file.st_ino == spec.st_ino)
      return true;
  return false;
}

static tsr_status run(bench *b, tsr_error *error) {
  const tsr_bench_options *o = &b->options;
  const bool pools = tsr_bench_wants_pools(o);
  if (o->csv && is_a_spec(o, o->csv))
    return tsr_fail(error, TSR_BAD_ARGUMENT, "bench: --csv %s: is one of the specs and would replace it", o->csv);
  tsr_status status = read_specs(b, error);
  if (status == TSR_OK && !pools) status = open_anchor(b, error);
  if (status == TSR_OK && !pools) status = make_arrays(b, error);
  if (status) return status;
  b->csv = o->csv ? fopen(o->csv, "w") : stdout;
  if (!b->csv) return tsr_fail(error, TSR_IO, "bench: --csv %s: cannot be written: %s", o->csv, strerror(errno));
  fprintf(b->csv, TSR_BENCH_COLUMNS "\n");
  status = pools ? tsr_bench_pools(o, b->specs, b->csv, &b->all_right, error) : measure_tables(b, error);
  bool is_written = !fflush(b->csv) && !ferror(b->csv);
  if (o->csv && fclose(b->csv)) is_written = false;
  if (status == TSR_OK && !is_written)
    status = tsr_fail(error, TSR_IO, "bench: writing the results to %s failed", o->csv ? o->csv : "standard output");
  return status;
}

static void clean_up(bench *b) {
  free_subjects(b);
  tsr_bench_arrays_free(&b->arrays);
  tsr_table_destroy(b->anchor);
  for (size_t spec = 0; b->specs && spec < b->options.spec_count; spec++) tsr_spec_free(b->specs[spec]);
  free(b->specs);
  free(b->subjects);
  tsr_bench_limits_free(b->limits);
  free(b->done);
  free(b->right);
  free(b->times);
  free(b->medians);
  tsr_bench_options_free(&b->options);
}

/* A request that cannot be met differs from one that failed. */
static int exit_status(tsr_status status) {
  switch (status) {
  case TSR_OK:
    return 0;
  case TSR_BAD_ARGUMENT:
  case TSR_BAD_SPEC:
  case TSR_NOT_FOUND:
  case TSR_INCOMPATIBLE:
  case TSR_UNSUPPORTED:
    return 2;
  default:
    return 1;
  }
}

static const char help[] =
    "usage: tessera bench SPEC... [OPTIONS]\n\n"
    "Measures operations, verifies every result and prints CSV; several specs take turns and are compared.\n\n"
    "  --n N                    Keys to insert and to ask for; 2^24.\n"
    "  --loads L,L...           How full the tables get; .8.\n"
    "  --ops OP,OP...           Of " TSR_BENCH_OP_LIST ";\n"
    "                           " TSR_BENCH_OPS_INITIAL ".\n"
    "                           Or of a spec's allocator, beside malloc: " TSR_BENCH_POOL_OP_LIST ".\n"
    "  --batch B                Keys of a batch of incremental (inserted) and rebuild (all so far, from scratch); "
    "32Ki.\n"
    "  --multiplicity M         Of a multimap: N pairs with N / M keys; 1.\n"
    "  --mix A,B,C,D            Of mixed: shares of inserts of new keys, erases, finds of present and of absent keys;\n"
    "                           .2,.2,.3,.3.\n"
    "  --units N                Units of an allocation; 1.\n"
    "  --tile-lanes N           Lanes that allocate together; 1.\n"
    "  --codes yes|no           Whether inserts, finds and erases write a result code for each key, all verified; no.\n"
    "  --repeat N               Measurements, of which the median counts, after one to warm up; 5.\n"
    "  --set SECTION.KEY=VALUE  Sets an entry of all specs, over what their files say; repeatable.\n"
    "  --plugins DIRS           Where plugins lie, colon-separated; else $TESSERA_PLUGINS, else beside the library.\n"
    "  --seed N                 Of the keys and of the tables.\n"
    "  --csv FILE               Where the rows go, instead of standard output.\n";

int tsr_bench_command(int argc, char **argv) {
  if (tsr_words_want_help(argc, argv)) {
    fputs(help, stdout);
    return 0;
  }
  bench b = {.all_right = true};
  tsr_error error;
  tsr_status status = tsr_bench_options_read(argc, argv, &b.options, &error);
  if (status == TSR_OK) status = run(&b, &error);
  if (status) fprintf(stderr, "tessera: %s\n", error.message);
  clean_up(&b);
  return status ? exit_status(status) : b.all_right ? 0 : 1;
}

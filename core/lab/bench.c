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
  tsr_table *anchor;           /* a small table whose memory holds the arrays while others come and go */
  tsr_table_info info;         /* the anchor's */
  tsr_keys *models;            /* one for each distribution of keys */
  size_t model;                /* the current one */
  tsr_bench_arrays arrays;     /* of it */
  tsr_bench_subject *subjects; /* one for each spec; of the current load */
  tsr_bench_limits *limits;
  double *times;  /* milliseconds: repeat of them for each spec */
  double *mops;   /* for each distribution, load, operation and spec: by the median of the times */
  uint64_t *done; /* for each spec: what the current operation's mops count */
  bool *right;    /* for each spec: no answer of the current operation was wrong */
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

/* What a spec's table makes of keys that come again. */
typedef struct policy {
  const char *duplicates; /* NULL = whatever a multiset or multimap has, which keep every pair */
  tsr_merge merge;
  uint8_t again;
} policy;

/* pre: the spec's table could be made. */
static policy policy_of(const bench *b, size_t spec) {
  static const policy policies[] = {
      {"first", TSR_MERGE_ANY, TSR_PRESENT},    {"promise_unique", TSR_MERGE_ANY, TSR_PRESENT},
      {"replace", TSR_MERGE_ANY, TSR_REPLACED}, {"add", TSR_MERGE_ADD, TSR_COMBINED},
      {"min", TSR_MERGE_MIN, TSR_COMBINED},     {"max", TSR_MERGE_MAX, TSR_COMBINED}};
  const char *duplicates = tsr_spec_get(b->specs[spec], "table", "duplicates");
  if (strncmp(tsr_spec_get(b->specs[spec], "table", "kind"), "multi", 5) == 0)
    return (policy){NULL, TSR_MERGE_NONE, TSR_PRESENT};
  for (size_t i = 0; duplicates && i < sizeof policies / sizeof policies[0]; i++)
    if (strcmp(duplicates, policies[i].duplicates) == 0) return policies[i];
  return policies[0];
}

/* The table that the pairs fill to a load: pairs of one key that it merges take one slot. A mixed batch inserts before it has erased, and lists do not use erased slots again: so
 * where most pairs lie in units (a load above 1), there are units for what it inserts, too. */
static tsr_status create_subject(const bench *b, size_t spec, size_t load, bool statistics, tsr_table **table,
                                 tsr_error *error) {
  const tsr_bench_options *o = &b->options;
  const tsr_keys *model = &b->models[b->model];
  const uint64_t kept = policy_of(b, spec).merge == TSR_MERGE_NONE ? model->pairs : model->n;
  uint64_t counts[TSR_MIXED_KINDS];
  const double written = tsr_bench_load(o->loads[load]);
  char more[32];
  if (!o->ops[TSR_BENCH_MIXED] || written <= 1)
    return create_table(b, spec, o->loads[load], statistics, kept, table, error);
  tsr_keys_cut(kept, o->mix, counts);
  const uint64_t capacity = kept + counts[TSR_MIXED_INSERT];
  snprintf(more, sizeof more, "%.9g", written * (double)capacity / (double)kept);
  return create_table(b, spec, more, statistics, capacity, table, error);
}

static int device_number(const bench *b) {
  const char *text = tsr_spec_get(b->specs[0], "table", "device");
  uint64_t number = 0;
  return text && tsr_parse_u64(text, &number) ? (int)number : 0;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static double *mops_at(const bench *b, size_t model, size_t load, tsr_bench_op op, size_t spec) {
  const tsr_bench_options *o = &b->options;
  return &b->mops[((model * o->load_count + load) * TSR_BENCH_OPS + op) * o->spec_count + spec];
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
                                       .n = b->models[b->model].pairs,
                                       .load = tsr_bench_load(o->loads[load]),
                                       .mops = *mops_at(b, b->model, load, op, spec),
                                       .probes = counts->probes,
                                       .limit_mops = 1e3 * tsr_bench_limits_of(b->limits, &info, tsr_bench_limit(op)),
                                       .right = b->right[spec],
                                       .utilization = counts->utilization,
                                       .keys = o->keys[b->model].text,
                                       .distinct = b->models[b->model].n});
}

/* How many times as fast the first spec is as each other one. */
static void print_ratios_of_specs(const bench *b, size_t load, tsr_bench_op op) {
  const tsr_bench_options *o = &b->options;
  for (size_t model = 0; model < o->key_count; model++)
    for (size_t spec = 1; spec < o->spec_count; spec++) {
      fprintf(b->csv, "# ratio %s/%s: %s at load %g", o->specs[0], o->specs[spec], tsr_bench_op_name(op),
              tsr_bench_load(o->loads[load]));
      if (o->key_count > 1) fprintf(b->csv, " with keys %s", o->keys[model].text);
      fprintf(b->csv, ": %.3f\n", *mops_at(b, model, load, op, 0) / *mops_at(b, model, load, op, spec));
    }
}

/* How many times as fast each further distribution of keys is as the first. */
static void print_ratios_of_keys(const bench *b, size_t load, tsr_bench_op op) {
  const tsr_bench_options *o = &b->options;
  for (size_t spec = 0; spec < o->spec_count; spec++)
    for (size_t model = 1; model < o->key_count; model++)
      fprintf(b->csv, "# ratio keys %s/%s: %s: %s at load %g: %.3f\n", o->keys[model].text, o->keys[0].text,
              o->specs[spec], tsr_bench_op_name(op), tsr_bench_load(o->loads[load]),
              *mops_at(b, model, load, op, spec) / *mops_at(b, 0, load, op, spec));
}

static void print_ratios(const bench *b) {
  for (size_t load = 0; load < b->options.load_count; load++)
    for (size_t op = 0; op < TSR_BENCH_TABLE_OPS; op++) {
      if (!b->options.ops[op]) continue;
      print_ratios_of_specs(b, load, (tsr_bench_op)op);
      print_ratios_of_keys(b, load, (tsr_bench_op)op);
    }
}

/* ---- Measuring ------------------------------------------------------------------------------- */

static bool is_right(bench *b, size_t load, const char *what, size_t spec, const tsr_bench_result *result) {
  if (!result->complaint[0]) return true;
  fprintf(stderr, "tessera: %s at load %g with keys %s: %s: %s\n", b->options.specs[spec],
          tsr_bench_load(b->options.loads[load]), b->options.keys[b->model].text, what, result->complaint);
  b->all_right = false;
  return false;
}

static tsr_status finish_op(bench *b, size_t load, tsr_bench_op op, size_t spec, tsr_error *error) {
  const tsr_bench_options *o = &b->options;
  tsr_table *counting = NULL;
  tsr_bench_counts counts;
  const double milliseconds = tsr_bench_median(b->times + spec * o->repeat, o->repeat);
  *mops_at(b, b->model, load, op, spec) = (double)b->done[spec] / milliseconds / 1e3;
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
    const policy made = policy_of(b, spec);
    b->subjects[spec] = (tsr_bench_subject){.merge = made.merge, .again = made.again};
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
  size_t results = o->key_count * o->load_count * o->spec_count;
  b->specs = calloc(o->spec_count, sizeof(tsr_spec *));
  b->subjects = calloc(o->spec_count, sizeof *b->subjects);
  b->models = calloc(o->key_count, sizeof *b->models);
  b->limits = tsr_bench_limits_create(results);
  b->done = calloc(o->spec_count, sizeof *b->done);
  b->right = calloc(o->spec_count, sizeof *b->right);
  b->times = calloc(o->spec_count * o->repeat, sizeof *b->times);
  b->mops = calloc(results * TSR_BENCH_OPS, sizeof *b->mops);
  if (!b->specs || !b->subjects || !b->models || !b->limits || !b->done || !b->right || !b->times || !b->mops)
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

/* Whether the tables and operations can take keys that come again. */
static tsr_status check_repeated(const bench *b, size_t model, tsr_error *error) {
  const tsr_bench_options *o = &b->options;
  const char *keys = o->keys[model].text;
  if (b->models[model].n == b->models[model].pairs) return TSR_OK;
  if (o->ops[TSR_BENCH_MIXED])
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "bench: --keys %s: a mixed batch names each key once, so that every result is known: leave out the "
                    "one or the other",
                    keys);
  for (size_t spec = 0; spec < o->spec_count; spec++) {
    const char *duplicates = policy_of(b, spec).duplicates;
    if (duplicates && strcmp(duplicates, "promise_unique") == 0)
      return tsr_fail(error, TSR_BAD_ARGUMENT,
                      "bench: --keys %s: %s has duplicates = promise_unique, which trusts that no key comes again: add "
                      "--set table.duplicates=first, or another policy",
                      keys, o->specs[spec]);
  }
  return TSR_OK;
}

static tsr_status draw_keys(bench *b, tsr_error *error) {
  const tsr_bench_options *o = &b->options;
  const bool needs_absent = o->ops[TSR_BENCH_FIND50] || o->ops[TSR_BENCH_FIND0] || o->ops[TSR_BENCH_MIXED];
  tsr_status status = TSR_OK;
  for (size_t model = 0; status == TSR_OK && model < o->key_count; model++) {
    const bool takes_all = o->keys[model].kind == TSR_KEYS_FILE && !o->n_is_given;
    b->models[model] = (tsr_keys){.key_bits = b->info.key_bits,
                                  .value_bits = b->info.value_bits,
                                  .seed = o->seed ? o->seed : 1,
                                  .pairs = takes_all ? 0 : o->n};
    status = tsr_distribution_draw(&o->keys[model], needs_absent, &b->models[model], error);
    if (status == TSR_OK) status = check_repeated(b, model, error);
  }
  return status;
}

static tsr_status measure_model(bench *b, tsr_error *error) {
  tsr_status status = tsr_bench_arrays_create(b->anchor, &b->models[b->model], &b->options, &b->arrays, error);
  for (size_t load = 0; status == TSR_OK && load < b->options.load_count; load++) status = measure_load(b, load, error);
  tsr_bench_arrays_free(&b->arrays);
  return status;
}

static tsr_status measure_tables(bench *b, tsr_error *error) {
  tsr_status status = TSR_OK;
  for (b->model = 0; status == TSR_OK && b->model < b->options.key_count; b->model++) status = measure_model(b, error);
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
  if (status == TSR_OK && !pools) status = draw_keys(b, error);
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
  tsr_table_destroy(b->anchor);
  for (size_t model = 0; b->models && model < b->options.key_count; model++) tsr_keys_free(&b->models[model]);
  free(b->models);
  for (size_t spec = 0; b->specs && spec < b->options.spec_count; spec++) tsr_spec_free(b->specs[spec]);
  free(b->specs);
  free(b->subjects);
  tsr_bench_limits_free(b->limits);
  free(b->done);
  free(b->right);
  free(b->times);
  free(b->mops);
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
    "  --keys K,K...            Distributions of the keys, one after the other; compared with the first. distinct.\n"
    "      distinct             Each key once.\n"
    "      repeat:R             Each key R times, in no order. Of a multimap: R values of a key.\n"
    "      equal                One key.\n"
    "      zipf:S[:IDS]         Number k of 1 to IDS (else N) with a probability proportional to 1 / k^S; zipf:0: all\n"
    "                           alike.\n"
    "      sequential           0, 1, 2, ...; strided:K: 0, K, 2 K, ...; low_bits:B: the lowest B bits are 0. "
    "Distinct.\n"
    "      file:PATH            Of a file: raw little-endian numbers of the key's width; all, or the first --n.\n"
    "                           The table is sized for the distinct keys, of a multimap for all pairs; finds ask for\n"
    "                           keys as often as they were inserted, find_all, count_all and erase for each once.\n"
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

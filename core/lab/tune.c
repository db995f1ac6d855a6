/* SPDX-License-Identifier: Apache-2.0
 *
 * The search (tune.h): successive halving over the points of a plan. A stage is the same plan with other options of bench,
 * without the points that a stage before has left behind.
 */
#define _GNU_SOURCE /* open_memstream, asprintf, access */
#include "core/lab/tune.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/lab/sweep_run.h"
#include "core/spec/file.h"
#include "core/spec/number.h"

enum { INSERT, FIND, FIND_ABSENT, ERASE, SHARES };
static const struct {
  const char *key, *op;
} shares[SHARES] = {{"insert", "insert"}, {"find", "find100"}, {"find_absent", "find0"}, {"erase", "erase"}};

/* The model counts probes with so many pairs less; a stage between has so many less. Of each the best share goes on, but
 * not fewer than so many. */
typedef struct stage {
  const char *what;
  uint64_t part, repeat, least_pairs;
  bool is_model;
  size_t share, least; /* that goes on: 1 / share, at least `least` */
} stage;
static const stage stages[] = {{"by the sectors that its operations touch", 64, 1, 2000, true, 3, 16},
                               {"by time, with an eighth of the pairs", 8, 3, 2000, false, 4, 6},
                               {"by time, with all pairs", 1, 5, 1, false, 0, 1}};
enum { STAGES = sizeof stages / sizeof stages[0] };

typedef struct workload {
  uint64_t n, memory; /* 0: no bound */
  double share[SHARES];
  const char *keys, *loads;
} workload;

/* A point's figures in one stage. */
typedef struct score {
  size_t point;
  double cost; /* of an operation: sectors, or nanoseconds; 0: it has none */
  double mops[SHARES], probes[SHARES];
} score;

typedef struct tuner {
  const tsr_tune_options *options;
  FILE *to;
  tsr_spec *file, *space;
  workload work;
  char *ops;
  char **kept; /* labels that go on; NULL: all */
  size_t kept_count;
} tuner;

static tsr_status no_memory(tsr_error *error) { return tsr_fail(error, TSR_NO_MEMORY, "tune: no memory"); }

/* ---- The workload ---------------------------------------------------------------------------- */

static tsr_status bad(const tuner *t, const char *key, const char *value, const char *rule, tsr_error *error) {
  return tsr_fail(error, TSR_BAD_SPEC, "%s: [workload] %s = %s: must be %s", t->options->path, key, value, rule);
}

static tsr_status read_entry(tuner *t, const tsr_spec_item *item, tsr_error *error) {
  workload *w = &t->work;
  for (size_t i = 0; i < SHARES; i++)
    if (strcmp(item->key, shares[i].key) == 0)
      return tsr_parse_double(item->value, &w->share[i]) ? TSR_OK
                                                         : bad(t, item->key, item->value, "a share, such as .2", error);
  if (strcmp(item->key, "n") == 0)
    return tsr_parse_u64(item->value, &w->n) && w->n ? TSR_OK : bad(t, "n", item->value, "a number of pairs", error);
  if (strcmp(item->key, "memory") == 0)
    return tsr_parse_u64(item->value, &w->memory) && w->memory
               ? TSR_OK
               : bad(t, "memory", item->value, "a number of bytes", error);
  if (strcmp(item->key, "keys") == 0)
    w->keys = item->value;
  else if (strcmp(item->key, "loads") == 0)
    w->loads = item->value;
  else
    return tsr_fail(
        error, TSR_BAD_SPEC,
        "%s: [workload] %s: is no entry: they are n, insert, find, find_absent, erase, keys, loads and memory",
        t->options->path, item->key);
  return TSR_OK;
}

static tsr_status read_workload(tuner *t, tsr_error *error) {
  tsr_spec_item item;
  double sum = 0;
  size_t bytes = 0;
  t->work = (workload){.keys = "distinct", .loads = ".5, .6, .7, .8, .9"};
  tsr_status status = TSR_OK;
  for (size_t i = 0; status == TSR_OK && tsr_spec_get_at(t->file, i, &item); i++)
    if (strcmp(item.section, "workload") == 0) status = read_entry(t, &item, error);
  if (status) return status;
  FILE *out = open_memstream(&t->ops, &bytes);
  if (!out) return no_memory(error);
  for (size_t i = 0; i < SHARES; i++) {
    if (t->work.share[i] > 0) fprintf(out, "%s%s", sum > 0 ? "," : "", shares[i].op);
    sum += t->work.share[i];
  }
  if (fclose(out) != 0) return no_memory(error);
  if (!t->work.n || sum <= 0)
    return tsr_fail(
        error, TSR_BAD_SPEC,
        "%s: a workload is a section [workload] with n and at least one of insert, find, find_absent and erase",
        t->options->path);
  for (size_t i = 0; i < SHARES; i++) t->work.share[i] /= sum;
  return TSR_OK;
}

/* The space, with an axis of loads. */
static tsr_status read_space(tuner *t, tsr_error *error) {
  tsr_spec_item item;
  bool is_own = false;
  char word[256];
  for (size_t i = 0; tsr_spec_get_at(t->file, i, &item); i++)
    is_own = is_own || strcmp(item.section, "sweep") == 0 || strcmp(item.section, "variants") == 0;
  tsr_status status =
      is_own ? tsr_spec_copy(t->file, &t->space, error) : tsr_spec_read(t->options->space, &t->space, error);
  snprintf(word, sizeof word, "sweep.bench.loads=%s", t->work.loads);
  return status ? status : tsr_spec_set(t->space, word, error);
}

/* ---- A stage --------------------------------------------------------------------------------- */

/* The plan with so many pairs, of the points that are kept. */
static tsr_status read_plan(const tuner *t, uint64_t n, uint64_t repeat, tsr_plan *plan, tsr_error *error) {
  char *words[4] = {NULL};
  int written = asprintf(&words[0], "--n=%llu", (unsigned long long)n);
  if (written > 0) written = asprintf(&words[1], "--repeat=%llu", (unsigned long long)repeat);
  if (written > 0) written = asprintf(&words[2], "--ops=%s", t->ops);
  if (written > 0) written = asprintf(&words[3], "--keys=%s", t->work.keys);
  const tsr_plan_options of_plan = {.plugins = t->options->plugins,
                                    .sets = t->options->sets,
                                    .set_count = t->options->set_count,
                                    .bench = (const char *const *)words,
                                    .bench_count = 4,
                                    .space = t->space};
  tsr_status status = written > 0 ? tsr_plan_read(t->options->path, &of_plan, plan, error) : no_memory(error);
  for (size_t i = 0; i < 4; i++) free(words[i]);
  if (status || !t->kept) return status;
  bool *is_kept = calloc(plan->count + 1, sizeof *is_kept);
  for (size_t i = 0; is_kept && i < plan->count; i++)
    for (size_t k = 0; !is_kept[i] && k < t->kept_count; k++)
      is_kept[i] = strcmp(plan->points[i].label, t->kept[k]) == 0;
  if (is_kept) tsr_plan_keep(plan, is_kept);
  free(is_kept);
  return is_kept ? TSR_OK : no_memory(error);
}

static void free_kept(tuner *t) {
  for (size_t i = 0; t->kept && i < t->kept_count; i++) free(t->kept[i]);
  free(t->kept);
  t->kept = NULL;
  t->kept_count = 0;
}

static tsr_status add_kept(tuner *t, const char *label, tsr_error *error) {
  t->kept[t->kept_count] = strdup(label);
  return t->kept[t->kept_count++] ? TSR_OK : no_memory(error);
}

static double number_of(const tsr_results *r, size_t row, const char *column) {
  double number = 0;
  const size_t at = tsr_results_column(r, column);
  return at < r->column_count && tsr_results_number(r, row, at, &number) ? number : 0;
}

static const char *text_of(const tsr_results *r, size_t row, const char *column) {
  const size_t at = tsr_results_column(r, column);
  return at < r->column_count ? tsr_results_field(r, row, at) : "";
}

/* What an operation of the workload costs at a point: in sectors, or in nanoseconds. A point with a wrong answer, or a key
 * without a place, has no cost. */
static score score_of(const tuner *t, const tsr_plan *plan, size_t i, const tsr_results *r, bool is_model) {
  enum { SECTOR_BYTES = 32 };
  const tsr_point *point = &plan->points[i];
  const double sectors = point->bucket_bytes > SECTOR_BYTES ? (double)point->bucket_bytes / SECTOR_BYTES : 1;
  score s = {.point = i};
  for (size_t row = 0; row < r->row_count; row++) {
    if (!tsr_point_has_row(point, r, row)) continue;
    if (strcmp(text_of(r, row, "ok"), "yes") != 0) return (score){.point = i};
    for (size_t k = 0; k < SHARES; k++)
      if (strcmp(text_of(r, row, "op"), shares[k].op) == 0) {
        s.mops[k] = number_of(r, row, "mops");
        s.probes[k] = number_of(r, row, "probes");
      }
  }
  for (size_t k = 0; k < SHARES; k++) {
    if (t->work.share[k] <= 0) continue;
    if (s.mops[k] <= 0) return (score){.point = i};
    s.cost += t->work.share[k] * (is_model ? s.probes[k] * sectors : 1e3 / s.mops[k]);
  }
  return s;
}

static int compare_scores(const void *left, const void *right) {
  const score *l = left, *r = right;
  return (l->cost > r->cost) - (l->cost < r->cost);
}

/* Measures the points, and puts those with a cost in order. The caller frees *scores. */
static tsr_status measure(const tuner *t, const tsr_plan *plan, bool is_model, score **scores, size_t *count,
                          tsr_error *error) {
  tsr_results results = {0};
  bool all_right = true;
  *count = 0;
  *scores = calloc(plan->count + 1, sizeof **scores);
  tsr_status status = *scores ? tsr_plan_measure(plan, t->options->csv, &all_right, error) : no_memory(error);
  if (status == TSR_OK) status = tsr_results_read(t->options->csv, &results, error);
  for (size_t i = 0; status == TSR_OK && i < plan->count; i++) {
    const score s = score_of(t, plan, i, &results, is_model);
    if (s.cost > 0) (*scores)[(*count)++] = s;
  }
  tsr_results_free(&results);
  if (status) {
    free(*scores);
    *scores = NULL;
    return status;
  }
  qsort(*scores, *count, sizeof **scores, compare_scores);
  return TSR_OK;
}

/* ---- The winner ------------------------------------------------------------------------------ */

/* Lines of a spec are short: TSR_SPEC_LINE_MAX of spec.h. */
static void print_comment(FILE *out, const tuner *t, const tsr_plan *plan, const score *scores, size_t count) {
  enum { SHOWN = 5 };
  const tsr_point *best = &plan->points[scores[0].point];
  fprintf(out, "; The best table that `tessera tune` found for %llu pairs, keys %.50s:", (unsigned long long)t->work.n,
          t->work.keys);
  for (size_t k = 0; k < SHARES; k++)
    if (t->work.share[k] > 0) fprintf(out, " %s %.3g", shares[k].key, t->work.share[k]);
  fprintf(out, ".\n; %.3f ns an operation, %.2f bytes a pair. In M/s:\n", scores[0].cost,
          (double)best->bytes / (double)t->work.n);
  for (size_t i = 0; i < count && i < SHOWN; i++) {
    fprintf(out, ";  ");
    for (size_t k = 0; k < SHARES; k++)
      if (t->work.share[k] > 0) fprintf(out, " %s %.1f", shares[k].op, scores[i].mops[k]);
    fprintf(out, " %s%.90s\n", i ? "next: " : "this: ", plan->points[scores[i].point].label);
  }
}

/* The spec's entries by section, with the size and the load. */
static void print_spec(FILE *out, const tuner *t, const tsr_point *point) {
  static const char *const sections[] = {"table",  "devices", "values", "filter",
                                         "layout", "probing", "hasher", "allocator"};
  tsr_spec_item item;
  for (size_t s = 0; s < sizeof sections / sizeof sections[0]; s++) {
    bool is_open = false;
    for (size_t i = 0; tsr_spec_get_at(point->spec, i, &item); i++) {
      if (strcmp(item.section, sections[s]) != 0) continue;
      if (strcmp(item.key, "capacity") == 0 || strcmp(item.key, "load_factor") == 0) continue;
      if (!is_open) fprintf(out, "[%s]\n", item.section);
      if (!is_open && s == 0)
        fprintf(out, "capacity = %llu\nload_factor = %s\n", (unsigned long long)t->work.n, point->options.loads[0]);
      is_open = true;
      fprintf(out, "%s = %s\n", item.key, item.value);
    }
  }
}

static tsr_status write_winner(const tuner *t, const tsr_plan *plan, const score *scores, size_t count,
                               tsr_error *error) {
  char *text = NULL;
  size_t bytes = 0;
  tsr_file file;
  FILE *out = open_memstream(&text, &bytes);
  if (!out) return no_memory(error);
  print_comment(out, t, plan, scores, count);
  print_spec(out, t, &plan->points[scores[0].point]);
  if (fclose(out) != 0) {
    free(text);
    return no_memory(error);
  }
  int failure = tsr_file_begin_output(&file, t->options->out);
  if (!failure) failure = tsr_file_end(&file, tsr_file_write(&file, text, bytes));
  free(text);
  if (failure) return tsr_fail(error, TSR_IO, "%s: cannot be written: %s", t->options->out, strerror(failure));
  return TSR_OK;
}

/* ---- The search ------------------------------------------------------------------------------ */

static tsr_status nothing_left(const tuner *t, const char *why, tsr_error *error) {
  return tsr_fail(error, TSR_INCOMPATIBLE, "%s: no table %s: allow more memory, lower loads, or a larger space",
                  t->options->path, why);
}

/* Which tables there are, and which of them fit into memory. */
static tsr_status begin(tuner *t, tsr_error *error) {
  tsr_plan plan = {0};
  tsr_status status = read_plan(t, t->work.n, 1, &plan, error);
  if (status) return status;
  tsr_plan_tell(&plan);
  t->kept = calloc(plan.count + 1, sizeof *t->kept);
  if (!t->kept) status = no_memory(error);
  for (size_t i = 0; status == TSR_OK && i < plan.count; i++)
    if (!t->work.memory || plan.points[i].bytes <= t->work.memory) status = add_kept(t, plan.points[i].label, error);
  if (status == TSR_OK) {
    fprintf(t->to, "%zu tables", plan.count);
    if (t->work.memory)
      fprintf(t->to, ", of which %zu fit into %llu bytes", t->kept_count, (unsigned long long)t->work.memory);
    fprintf(t->to, "\n");
    if (t->kept_count == 0) status = nothing_left(t, "is small enough", error);
  }
  tsr_plan_free(&plan);
  return status;
}

/* The last stage writes the winner. */
static tsr_status pass(tuner *t, const stage *st, tsr_error *error) {
  uint64_t n = t->work.n / st->part;
  if (n < st->least_pairs) n = st->least_pairs < t->work.n ? st->least_pairs : t->work.n;
  tsr_plan plan = {0};
  score *scores = NULL;
  size_t count = 0;
  tsr_status status = read_plan(t, n, st->repeat, &plan, error);
  if (status == TSR_OK) status = measure(t, &plan, st->is_model, &scores, &count, error);
  if (status == TSR_OK && count == 0) status = nothing_left(t, "holds its pairs and answers right", error);
  if (status == TSR_OK) {
    size_t stay = st->share ? (count + st->share - 1) / st->share : 1;
    if (stay < st->least) stay = st->least < count ? st->least : count;
    fprintf(t->to, "%zu compared %s (%llu pairs), %zu of them hold all their pairs, %zu stay; the best: %s\n",
            plan.count, st->what, (unsigned long long)n, count, stay, plan.points[scores[0].point].label);
    fflush(t->to);
    free_kept(t);
    t->kept = calloc(stay + 1, sizeof *t->kept);
    if (!t->kept) status = no_memory(error);
    for (size_t i = 0; status == TSR_OK && i < stay; i++)
      status = add_kept(t, plan.points[scores[i].point].label, error);
    if (status == TSR_OK && !st->share) status = write_winner(t, &plan, scores, count, error);
  }
  free(scores);
  tsr_plan_free(&plan);
  return status;
}

tsr_status tsr_tune(FILE *to, const tsr_tune_options *options, tsr_error *error) {
  tuner t = {.options = options, .to = to};
  if (access(options->out, F_OK) == 0)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: is there already: name another file by --out", options->out);
  const int failure = tsr_file_check_output(options->out);
  if (failure) return tsr_fail(error, TSR_IO, "%s: cannot be written: %s", options->out, strerror(failure));
  tsr_status status = tsr_spec_read(options->path, &t.file, error);
  if (status == TSR_OK) status = read_workload(&t, error);
  if (status == TSR_OK) status = read_space(&t, error);
  if (status == TSR_OK) status = begin(&t, error);
  for (size_t i = 0; status == TSR_OK && i < STAGES; i++) status = pass(&t, &stages[i], error);
  free_kept(&t);
  free(t.ops);
  tsr_spec_free(t.file);
  tsr_spec_free(t.space);
  return status;
}

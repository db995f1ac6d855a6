/* SPDX-License-Identifier: Apache-2.0
 *
 * The search (tune.h): successive halving over the points of a plan. A stage is the same plan with other options of bench,
 * without the points that a stage before has left behind, the best first.
 */
#define _GNU_SOURCE /* open_memstream, asprintf, clock_gettime, access */
#include "tools/lab/tune.h"

#include <math.h>
#ifndef TSR_PTHREADS
#include <omp.h>
#endif
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/spec/file.h"
#include "core/spec/number.h"
#include "tools/lab/bench_session.h"
#include "tools/lab/forecast.h"
#include "tools/lab/sweep_run.h"

enum { INSERT, FIND, FIND_ALL, FIND_ABSENT, ERASE, HITS, NUMBER, SHARES };
static const struct {
  const char *key, *op;
  tsr_bench_op which;
} shares[SHARES] = {{"insert", "insert", TSR_BENCH_INSERT},       {"find", "find100", TSR_BENCH_FIND100},
                    {"find_all", "find_all", TSR_BENCH_FIND_ALL}, {"find_absent", "find0", TSR_BENCH_FIND0},
                    {"erase", "erase", TSR_BENCH_ERASE},          {"hits", "hits", TSR_BENCH_HITS},
                    {"number", "number", TSR_BENCH_NUMBER}};

/* The model counts probes on the processors, where nothing has to be linked; a stage between has that many pairs less. So
 * many go on. until: the share of the time after which a stage begins no further table. */
typedef struct stage {
  const char *what, *unit;
  uint64_t part, repeat, least_pairs, most_pairs;
  size_t stay;
  double until;
} stage;
static const stage model = {"by how often its operations go to memory", "accesses", 64, 0, 2000, 1 << 13, 24, .4};
static const stage predicted = {"by predicted time", "ns", 64, 0, 2000, 1 << 13, 24, .4}; /* in place of it, on a GPU */
static const stage stages[] = {{"by time, with a quarter of the pairs", "ns", 4, 3, 2000, UINT64_MAX, 6, .7},
                               {"by time, with all pairs", "ns", 1, 5, 1, UINT64_MAX, 1, 1}};
enum { STAGES = sizeof stages / sizeof stages[0] };
/* Hit rates need no model and no clock. */
static const stage hit_stages[STAGES] = {
    {"by hits, with a quarter of the keys", "misses", 4, 1, 2000, UINT64_MAX, 6, .7},
    {"by hits, with all keys", "misses", 1, 1, 1, UINT64_MAX, 1, 1}};
static const char first_words[] = "; The best table that `tessera tune` found for";

typedef struct workload {
  uint64_t n, memory; /* 0: no bound */
  double share[SHARES];
  const char *keys, *loads;
  bool by_hits; /* objective = hit_rate */
} workload;

/* A point's figures in one stage. */
typedef struct score {
  size_t point;
  double cost; /* of an operation: accesses, or nanoseconds; HUGE_VAL: none */
  double hit_rate;
  double mops[SHARES], probes[SHARES]; /* of an item; probes: -1: not counted; mops of the model: predicted */
  size_t turn;
} score;

typedef struct tuner {
  const tsr_tune_options *options;
  FILE *to;
  tsr_spec *file, *space;
  workload work;
  char *ops;
  char **kept; /* labels that go on, the best first; NULL: all */
  size_t kept_count;
  char stages_told[512]; /* comments of the INI: how many tables each stage has compared */
  char *winner;          /* the INI by the last stage that has measured anything */
  tsr_card card;         /* all zero: not known */
  bool only_predicts;    /* there is no GPU to measure on */
  struct prediction {
    char *label;
    double mops[SHARES];
  } * predictions; /* of prediction_count tables */
  size_t prediction_count;
  struct timespec began;
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
  if (strcmp(item->key, "objective") == 0) {
    w->by_hits = strcmp(item->value, "hit_rate") == 0;
    return w->by_hits || strcmp(item->value, "time") == 0 ? TSR_OK
                                                          : bad(t, "objective", item->value, "time or hit_rate", error);
  }
  if (strcmp(item->key, "keys") == 0)
    w->keys = item->value;
  else if (strcmp(item->key, "loads") == 0)
    w->loads = item->value;
  else
    return tsr_fail(error, TSR_BAD_SPEC,
                    "%s: [workload] %s: is no entry: they are n, insert, find, find_all, find_absent, erase, hits, "
                    "number, objective, keys, loads and memory",
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
    return tsr_fail(error, TSR_BAD_SPEC,
                    "%s: a workload is a section [workload] with n and at least one of insert, find, find_all, "
                    "find_absent, erase, hits and number",
                    t->options->path);
  const char *kind = tsr_spec_get(t->file, "table", "kind");
  const bool is_cache = kind && strcmp(kind, "cache") == 0, has_hits = t->work.share[HITS] > 0;
  if (is_cache != has_hits || (has_hits && sum > t->work.share[HITS]) || (t->work.by_hits && !has_hits))
    return tsr_fail(error, TSR_BAD_SPEC,
                    "%s: [workload]: hits is the share of a cache, which has no other, and objective = hit_rate needs "
                    "it: use kind = cache and hits = 1",
                    t->options->path);
  if ((kind && strcmp(kind, "index") == 0) != (t->work.share[NUMBER] > 0) ||
      (t->work.share[NUMBER] > 0 && sum > t->work.share[NUMBER]))
    return tsr_fail(error, TSR_BAD_SPEC,
                    "%s: [workload]: number is the share of an index, which has no other: use kind = index and "
                    "number = 1",
                    t->options->path);
  if (t->work.share[FIND_ALL] > 0 && kind && strcmp(kind, "multimap") != 0)
    return tsr_fail(error, TSR_BAD_SPEC,
                    "%s: [workload] find_all: only a multimap has several values of a key, and this is a %s: say find",
                    t->options->path, kind);
  for (size_t i = 0; i < SHARES; i++) t->work.share[i] /= sum;
  return TSR_OK;
}

/* The space, with an axis of loads. */
static tsr_status read_space(tuner *t, tsr_error *error) {
  tsr_spec_item item;
  bool is_own = false;
  char word[256];
  for (size_t i = 0; !t->options->space_is_given && tsr_spec_get_at(t->file, i, &item); i++)
    is_own = is_own || strcmp(item.section, "sweep") == 0 || strcmp(item.section, "variants") == 0;
  tsr_status status =
      is_own ? tsr_spec_copy(t->file, &t->space, error) : tsr_spec_read(t->options->space, &t->space, error);
  snprintf(word, sizeof word, "sweep.bench.loads=%s", t->work.loads);
  return status ? status : tsr_spec_set(t->space, word, error);
}

/* ---- A stage --------------------------------------------------------------------------------- */

/* The plan with that many pairs, and the code that the workload's table will have. backend: NULL: what the specs say. */
static tsr_status read_plan(const tuner *t, uint64_t n, uint64_t repeat, const char *backend, tsr_plan *plan,
                            tsr_error *error) {
  enum { WORDS = 6, COMPILED_PAIRS = 1 << 18 };
  char *words[WORDS] = {NULL};
  const bool compiles = repeat && t->work.n >= COMPILED_PAIRS;
  const char **sets = calloc(t->options->set_count + 1, sizeof *sets);
  size_t set_count = t->options->set_count;
  int written = sets ? asprintf(&words[0], "--n=%llu", (unsigned long long)n) : -1;
  if (written > 0) written = asprintf(&words[1], "--repeat=%llu", (unsigned long long)repeat);
  if (written > 0) written = asprintf(&words[2], "--ops=%s", t->ops);
  if (written > 0) written = asprintf(&words[3], "--keys=%s", t->work.keys);
  if (written > 0) written = asprintf(&words[4], "--probes=%s", repeat ? "no" : "yes");
  if (written > 0) written = asprintf(&words[5], "--compile=%s", compiles ? "yes" : "no");
  for (size_t i = 0; sets && i < set_count; i++) sets[i] = t->options->sets[i];
  if (sets && backend) sets[set_count++] = backend;
  const tsr_plan_options of_plan = {.plugins = t->options->plugins,
                                    .sets = sets,
                                    .set_count = set_count,
                                    .bench = (const char *const *)words,
                                    .bench_count = WORDS,
                                    .space = t->space};
  tsr_status status = written > 0 ? tsr_plan_read(t->options->path, &of_plan, plan, error) : no_memory(error);
  for (size_t i = 0; i < WORDS; i++) free(words[i]);
  free(sets);
  if (status == TSR_OK && t->kept) tsr_plan_choose(plan, (const char *const *)t->kept, t->kept_count);
  return status;
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

static uint64_t bits_of(const tsr_point *point, const char *key) {
  const char *text = tsr_spec_get(point->spec, "table", key);
  uint64_t bits = 0;
  return text && tsr_parse_u64(text, &bits) ? bits : 0;
}

static bool is_in_pages(const tsr_point *point) {
  const char *pages = tsr_spec_get(point->spec, "table", "page_bytes");
  return pages && strcmp(pages, "0") != 0;
}

/* How many times an operation that looks at that many buckets goes to memory, which a GPU reads by 64 bytes: for buckets, for
 * a value that is not in them, and to write. Inserts of batches that are put in order go through memory in its
 * order, and look at no bucket or at those of a page: as once. */
static double accesses_of(const tsr_point *point, size_t share, double probes) {
  enum { LINE_BYTES = 64 };
  tsr_key_parts keys = {.size = sizeof keys};
  const tsr_status status = tsr_spec_key_parts(point->spec, &keys, NULL);
  const uint64_t pair_bits = (status ? 0 : keys.key_bits) + bits_of(point, "value_bits");
  const bool is_apart = 8ull * point->bucket_bytes < point->bucket_slots * pair_bits;
  if (share == INSERT && (probes <= 0 || is_in_pages(point))) return 1;
  return probes * (double)((point->bucket_bytes + LINE_BYTES - 1) / LINE_BYTES) + (is_apart && share != FIND_ABSENT) +
         (share == INSERT || share == ERASE);
}

/* What an operation costs by the model: accesses to memory, or predicted nanoseconds. */
static double model_cost(const tuner *t, const tsr_point *shape, size_t share, double probes, double warp_probes) {
  const tsr_resolution r = {.bytes = shape->bytes,
                            .bucket_slots = shape->bucket_slots,
                            .bucket_bytes = shape->bucket_bytes,
                            .tile_lanes = shape->tile_lanes,
                            .page_batch = shape->page_batch,
                            .zone_batch = shape->zone_batch};
  tsr_work work;
  if (!t->card.count) return accesses_of(shape, share, probes);
  tsr_forecast_work(shape->spec, &r, shares[share].which, t->work.n, &work); /* the nearest that the model knows */
  work.probes = probes;
  work.warp_probes = warp_probes > probes ? warp_probes : probes;
  return 1 / tsr_predict(&t->card, &work);
}

/* What an operation of the workload costs at a point, as the results say: in nanoseconds, or with `shape`, the table that the
 * point is a small one of, by the model. A point with a wrong answer, or a key without a place, has no cost. */
static score score_of(const tuner *t, const tsr_point *point, const tsr_results *r, const tsr_point *shape) {
  score s = {.point = 0};
  double warp_probes[SHARES] = {0};
  for (size_t k = 0; k < SHARES; k++) s.probes[k] = -1;
  for (size_t row = 0; row < r->row_count; row++) {
    if (!tsr_point_has_row(point, r, row)) continue;
    if (strcmp(text_of(r, row, "ok"), "yes") != 0) return (score){.point = 0};
    for (size_t k = 0; k < SHARES; k++)
      if (strcmp(text_of(r, row, "op"), shares[k].op) == 0) {
        s.mops[k] = number_of(r, row, "mops");
        if (strcmp(text_of(r, row, "probes"), "-") != 0) s.probes[k] = number_of(r, row, "probes");
        warp_probes[k] = number_of(r, row, "warp_probes");
        s.hit_rate = number_of(r, row, "hit_rate");
        if (k == FIND_ALL) s.probes[k] *= number_of(r, row, "distinct") / number_of(r, row, "n"); /* was of a key */
      }
  }
  for (size_t k = 0; k < SHARES; k++) {
    if (t->work.share[k] <= 0) continue;
    if (t->work.by_hits) {
      s.cost = 1.000001 - s.hit_rate; /* a point without a cost is none */
      continue;
    }
    if (shape ? s.probes[k] < 0 : s.mops[k] <= 0) return (score){.point = 0};
    const double cost = shape ? model_cost(t, shape, k, s.probes[k], warp_probes[k]) : 1e3 / s.mops[k];
    if (shape) s.mops[k] = t->card.count ? 1e3 / cost : 0;
    s.cost += t->work.share[k] * cost;
  }
  return s;
}

static int compare_scores(const void *left, const void *right) {
  const score *l = left, *r = right;
  if (l->turn != r->turn) return l->turn > r->turn ? 1 : -1;
  return (l->cost > r->cost) - (l->cost < r->cost);
}

/* The time after which a stage begins nothing; NULL: there is none. */
static const struct timespec *end_of(const tuner *t, const stage *st, struct timespec *until) {
  if (t->options->seconds <= 0) return NULL;
  const double seconds = t->options->seconds * st->until;
  *until = t->began;
  until->tv_sec += (time_t)seconds;
  until->tv_nsec += (long)(1e9 * (seconds - (double)(time_t)seconds));
  if (until->tv_nsec >= 1000000000) {
    until->tv_nsec -= 1000000000;
    until->tv_sec++;
  }
  return until;
}

/* Measures the points. The caller frees *results. */
static tsr_status measure(const tuner *t, const stage *st, const tsr_plan *plan, tsr_results *results,
                          tsr_error *error) {
  struct timespec until;
  bool all_right = true;
  tsr_status status = tsr_plan_measure(plan, t->options->csv, end_of(t, st, &until), &all_right, error);
  if (status || access(t->options->csv, F_OK) != 0) return status; /* nothing was measured */
  return tsr_results_read(t->options->csv, results, error);
}

/* ---- The winner ------------------------------------------------------------------------------ */

/* 0: none was made. */
static double predicted_mops(const tuner *t, const char *label, size_t share) {
  for (size_t i = 0; i < t->prediction_count; i++)
    if (strcmp(t->predictions[i].label, label) == 0) return t->predictions[i].mops[share];
  return 0;
}

/* Lines of a spec are short: TSR_SPEC_LINE_MAX of spec.h. */
static void print_comment(FILE *out, const tuner *t, const stage *st, const tsr_plan *plan, const score *scores,
                          size_t count) {
  enum { SHOWN = 5 };
  const tsr_point *best = &plan->points[scores[0].point];
  fprintf(out, "%s %llu pairs, keys %.50s:", first_words, (unsigned long long)t->work.n, t->work.keys);
  for (size_t k = 0; k < SHARES; k++)
    if (t->work.share[k] > 0) fprintf(out, " %s %.3g", shares[k].key, t->work.share[k]);
  fprintf(out, ".\n");
  if (t->only_predicts)
    fprintf(out, "; Nothing was timed: there is no GPU, and this is %s, by %s.\n", st->what, t->options->card);
  else if (st->part > 1)
    fprintf(out, "; Its time was up: this is %s.\n", st->what);
  fputs(t->stages_told, out);
  if (t->prediction_count)
    fprintf(out, "; Median error of predictions on other tables: finds %d %%, inserts %d %%, page by page %d %%.\n",
            TSR_PREDICT_ERROR_FINDS, TSR_PREDICT_ERROR_INSERTS, TSR_PREDICT_ERROR_PAGES);
  const bool are_rates = st != &model;
  fprintf(out, "; %.3f %s an operation, %.2f bytes a pair. In %s%s:\n", scores[0].cost, st->unit,
          (double)best->bytes / (double)best->options.n, are_rates ? "M/s" : "buckets",
          t->prediction_count && st->repeat ? ", with n pairs as predicted in brackets" : "");
  for (size_t i = 0; i < count && i < SHOWN; i++) {
    fprintf(out, ";  ");
    for (size_t k = 0; k < SHARES; k++) {
      if (t->work.share[k] <= 0) continue;
      const double guess = st->repeat ? predicted_mops(t, plan->points[scores[i].point].label, k) : 0;
      fprintf(out, " %s %.1f", shares[k].op, are_rates ? scores[i].mops[k] : scores[i].probes[k]);
      if (guess > 0) fprintf(out, " [%.0f]", guess);
    }
    fprintf(out, " %s%.90s\n", i ? "next: " : "this: ", plan->points[scores[i].point].label);
  }
}

/* The spec's entries by section, with the size and the load. */
static void print_spec(FILE *out, const tuner *t, const tsr_point *point) {
  const char *load = point->options.loads.each[0];
  const uint64_t capacity = tsr_bench_capacity(point->spec, load, t->work.n);
  tsr_spec_item item;
  const char *section;
  for (size_t s = 0; (section = tsr_plan_table_section(s)); s++) {
    bool is_open = false;
    for (size_t i = 0; tsr_spec_get_at(point->spec, i, &item); i++) {
      if (strcmp(item.section, section) != 0) continue;
      if (strcmp(item.key, "capacity") == 0 || strcmp(item.key, "load_factor") == 0) continue;
      if (!is_open) fprintf(out, "[%s]\n", item.section);
      if (!is_open && s == 0) fprintf(out, "capacity = %llu\n", (unsigned long long)capacity);
      if (!is_open && s == 0 && tsr_bench_fills_slots(point->spec)) fprintf(out, "load_factor = %s\n", load);
      is_open = true;
      fprintf(out, "%s = %s\n", item.key, item.value);
    }
  }
}

static tsr_status note_winner(tuner *t, const stage *st, const tsr_plan *plan, const score *scores, size_t count,
                              tsr_error *error) {
  size_t bytes = 0;
  free(t->winner);
  t->winner = NULL;
  FILE *out = open_memstream(&t->winner, &bytes);
  if (!out) return no_memory(error);
  print_comment(out, t, st, plan, scores, count);
  print_spec(out, t, &plan->points[scores[0].point]);
  return fclose(out) == 0 ? TSR_OK : no_memory(error);
}

static tsr_status write_winner(const tuner *t, tsr_error *error) {
  tsr_file file;
  int failure = tsr_file_begin_output(&file, t->options->out);
  if (!failure) failure = tsr_file_end(&file, tsr_file_write(&file, t->winner, strlen(t->winner)));
  if (failure) return tsr_fail(error, TSR_IO, "%s: cannot be written: %s", t->options->out, strerror(failure));
  return TSR_OK;
}

/* A file that is there is replaced only if it is the winner of a search. */
static tsr_status check_out(const char *path, tsr_error *error) {
  char words[sizeof first_words] = "";
  FILE *file = fopen(path, "r");
  const bool is_winner =
      file && fread(words, 1, sizeof words - 1, file) == sizeof words - 1 && strcmp(words, first_words) == 0;
  if (file) fclose(file);
  if (file && !is_winner)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: is there already: name another file by --out", path);
  const int failure = tsr_file_check_output(path);
  return failure ? tsr_fail(error, TSR_IO, "%s: cannot be written: %s", path, strerror(failure)) : TSR_OK;
}

/* ---- The search ------------------------------------------------------------------------------ */

static tsr_status nothing_left(const tuner *t, const char *why, tsr_error *error) {
  return tsr_fail(error, TSR_INCOMPATIBLE, "%s: no table %s: allow more memory, lower loads, or a larger space",
                  t->options->path, why);
}

/* The limits of the GPU. Where they cannot be measured, accesses are counted. */
static tsr_status find_card(tuner *t, const tsr_plan *plan, tsr_error *error) {
  const char *device = tsr_spec_get(plan->points[0].spec, "table", "device");
  uint64_t number = 0, bytes = 0;
  tsr_error why;
  if (!plan->points[0].sm) return TSR_OK;
  if (t->options->card) return tsr_card_read(t->options->card, &t->card, error);
  for (size_t i = 0; i < plan->count; i++) bytes = plan->points[i].bytes > bytes ? plan->points[i].bytes : bytes;
  if (device && !tsr_parse_u64(device, &number)) number = 0;
  if (t->options->link_sm || tsr_card_measure((int)number, bytes, &t->card, &why)) t->card = (tsr_card){NULL, 0};
  return TSR_OK;
}

/* Which tables there are, and which of them fit into memory. */
static tsr_status begin(tuner *t, tsr_plan *plan, tsr_error *error) {
  const bool is_elsewhere = t->options->link_sm || t->only_predicts;
  tsr_status status = read_plan(t, t->work.n, 1, is_elsewhere ? "table.backend=cuda" : NULL, plan, error);
  if (status) return status;
  tsr_plan_tell(plan);
  if (plan->count == 0)
    return tsr_fail(error, TSR_BAD_SPEC, "%s: every combination is refused: there is nothing to measure",
                    t->options->path);
  t->kept = calloc(plan->count + 1, sizeof *t->kept);
  if (!t->kept) return no_memory(error);
  for (size_t i = 0; status == TSR_OK && i < plan->count; i++)
    if (!t->work.memory || plan->points[i].bytes <= t->work.memory) status = add_kept(t, plan->points[i].label, error);
  if (status) return status;
  fprintf(t->to, "%zu tables", plan->count);
  if (t->work.memory)
    fprintf(t->to, ", of which %zu fit into %llu bytes", t->kept_count, (unsigned long long)t->work.memory);
  fprintf(t->to, "\n");
  tsr_plan_choose(plan, (const char *const *)t->kept, t->kept_count);
  return t->kept_count ? find_card(t, plan, error) : nothing_left(t, "is small enough", error);
}

static uint64_t pairs_of(const tuner *t, const stage *st) {
  uint64_t n = t->work.n / st->part;
  if (n < st->least_pairs) n = st->least_pairs;
  if (n > st->most_pairs) n = st->most_pairs;
  return n < t->work.n ? n : t->work.n;
}

/* The model does not know what an insert page by page costs beside others: the best of both go on. */
static void take_turns(const tsr_plan *plan, score *scores, size_t count) {
  size_t turns[2] = {0};
  for (size_t i = 0; i < count; i++) {
    const bool has_cost = scores[i].cost < HUGE_VAL;
    scores[i].turn = has_cost ? turns[is_in_pages(&plan->points[scores[i].point])]++ : SIZE_MAX;
  }
  qsort(scores, count, sizeof *scores, compare_scores);
}

/* Puts those with a cost in order, tells, and lets the best go on. is_there: how many were compared. */
static tsr_status judge(tuner *t, const stage *st, const tsr_plan *plan, score *scores, size_t count,
                        tsr_error *error) {
  qsort(scores, count, sizeof *scores, compare_scores);
  if (st == &model) take_turns(plan, scores, count); /* predictions know pages */
  size_t held = 0;
  while (held < count && scores[held].cost < HUGE_VAL) held++;
  if (held == 0) return TSR_OK;
  const size_t stay = st->stay < held ? st->stay : held;
  fprintf(t->to, "%zu compared %s (%llu pairs): %zu answered right and hold all their pairs, %zu stay; the best: %s\n",
          count, st->what, (unsigned long long)pairs_of(t, st), held, stay, plan->points[scores[0].point].label);
  fflush(t->to);
  const size_t told = strlen(t->stages_told);
  const int letters = snprintf(t->stages_told + told, sizeof t->stages_told - told,
                               "; Compared %s: %zu of %zu tables.\n", st->what, held, count);
  if (letters > 0 && st == &predicted && held > stay)
    snprintf(t->stages_told + told + letters, sizeof t->stages_told - told - (size_t)letters,
             "; Skipped: %zu. The best of them is predicted to take %.2f times as long as the best.\n", held - stay,
             scores[stay].cost / scores[0].cost);
  free_kept(t);
  t->kept = calloc(stay + 1, sizeof *t->kept);
  tsr_status status = t->kept ? note_winner(t, st, plan, scores, held, error) : no_memory(error);
  for (size_t i = 0; status == TSR_OK && i < stay; i++)
    status = add_kept(t, plan->points[scores[i].point].label, error);
  return status;
}

/* The point of the small plan that has a table's composition on processors, where tiles have one lane. */
static tsr_status find_partner(const tsr_point *point, const tsr_plan *small, size_t *partner, tsr_error *error) {
  const char *load = point->options.loads.each[0];
  tsr_spec *spec = NULL;
  tsr_resolution resolution = {0};
  const tsr_options options = {.plugins = point->options.plugins,
                               .capacity = tsr_bench_capacity(point->spec, load, point->options.n)};
  *partner = small->count;
  tsr_status status = tsr_spec_copy(point->spec, &spec, error);
  if (status == TSR_OK) status = tsr_bench_set_load(spec, load, error);
  if (status == TSR_OK) status = tsr_spec_set(spec, "table.backend=cpu", error);
  if (status == TSR_OK && tsr_spec_resolve(spec, &options, &resolution, NULL) == TSR_OK) {
    for (size_t i = 0; i < small->count; i++)
      if (strcmp(small->points[i].composition, resolution.text) == 0 &&
          strcmp(small->points[i].options.loads.each[0], load) == 0)
        *partner = i;
    tsr_resolution_free(&resolution);
  }
  tsr_spec_free(spec);
  return status;
}

/* Keeps those of the small plan that are a table's partner. */
static tsr_status choose_partners(const tsr_plan *plan, tsr_plan *small, tsr_error *error) {
  const char **labels = calloc(plan->count + 1, sizeof *labels);
  size_t count = 0, partner;
  tsr_status status = labels ? TSR_OK : no_memory(error);
  for (size_t i = 0; status == TSR_OK && i < plan->count; i++) {
    status = find_partner(&plan->points[i], small, &partner, error);
    if (status == TSR_OK && partner < small->count) labels[count++] = small->points[partner].label;
  }
  if (status == TSR_OK) tsr_plan_choose(small, labels, count);
  free(labels);
  return status;
}

#ifndef TSR_PTHREADS
static void set_threads(int threads) { omp_set_num_threads(threads); }

/* So few pairs are done before all threads of a large machine are awake. Returns how many there were. */
static int few_threads(void) {
  enum { MODEL_THREADS = 4 };
  const int threads = omp_get_max_threads();
  if (threads > MODEL_THREADS) set_threads(MODEL_THREADS);
  return threads;
}
#else /* teams of plain threads have one size */
static void set_threads(int threads) { (void)threads; }
static int few_threads(void) { return 0; }
#endif

/* What was predicted is told next to what is measured. */
static tsr_status note_predictions(tuner *t, const tsr_plan *plan, const score *scores, size_t count,
                                   tsr_error *error) {
  t->predictions = calloc(count + 1, sizeof *t->predictions);
  if (!t->predictions) return no_memory(error);
  for (size_t i = 0; i < count; i++) {
    struct prediction *p = &t->predictions[t->prediction_count];
    if (scores[i].cost >= HUGE_VAL) continue;
    if (!(p->label = strdup(plan->points[scores[i].point].label))) return no_memory(error);
    memcpy(p->mops, scores[i].mops, sizeof p->mops);
    t->prediction_count++;
  }
  return TSR_OK;
}

/* Counts the probes of all tables, with few pairs: how many buckets are looked at is the same on processors. */
static tsr_status pass_model(tuner *t, const tsr_plan *plan, tsr_error *error) {
  const stage *st = t->card.count ? &predicted : &model;
  tsr_plan small = {0};
  tsr_results results = {0};
  score *scores = calloc(plan->count + 1, sizeof *scores);
  char **kept = t->kept;
  t->kept = NULL; /* of the small plan all, since another label may stand for the same composition */
  tsr_status status = scores ? read_plan(t, pairs_of(t, st), 0, "table.backend=cpu", &small, error) : no_memory(error);
  t->kept = kept;
  if (status == TSR_OK) status = choose_partners(plan, &small, error);
  const int threads = few_threads();
  if (status == TSR_OK) status = measure(t, st, &small, &results, error);
  set_threads(threads);
  for (size_t i = 0; status == TSR_OK && i < plan->count; i++) {
    size_t partner;
    status = find_partner(&plan->points[i], &small, &partner, error);
    scores[i] = (score){.cost = HUGE_VAL};
    if (status == TSR_OK && partner < small.count)
      scores[i] = score_of(t, &small.points[partner], &results, &plan->points[i]);
    /* what is not known is measured, and without a GPU is left out */
    if (scores[i].cost <= 0 || (t->only_predicts && plan->points[i].is_built)) scores[i].cost = HUGE_VAL;
    scores[i].point = i;
  }
  if (status == TSR_OK && t->card.count) status = note_predictions(t, plan, scores, plan->count, error);
  if (status == TSR_OK) status = judge(t, st, plan, scores, plan->count, error);
  free(scores);
  tsr_results_free(&results);
  tsr_plan_free(&small);
  return status;
}

static tsr_status pass(tuner *t, const stage *st, tsr_error *error) {
  tsr_plan plan = {0};
  tsr_results results = {0};
  tsr_status status = read_plan(t, pairs_of(t, st), st->repeat, NULL, &plan, error);
  score *scores = status == TSR_OK ? calloc(plan.count + 1, sizeof *scores) : NULL;
  if (status == TSR_OK && !scores) status = no_memory(error);
  if (status == TSR_OK) status = measure(t, st, &plan, &results, error);
  for (size_t i = 0; status == TSR_OK && i < plan.count; i++) {
    scores[i] = score_of(t, &plan.points[i], &results, NULL);
    if (scores[i].cost <= 0) scores[i].cost = HUGE_VAL;
    scores[i].point = i;
  }
  if (status == TSR_OK) status = judge(t, st, &plan, scores, plan.count, error);
  free(scores);
  tsr_results_free(&results);
  tsr_plan_free(&plan);
  return status;
}

/* Links the code of the tables that the model lets go on. */
static tsr_status link_kept(tuner *t, tsr_error *error) {
  tsr_plan plan = {0};
  tsr_status status = read_plan(t, pairs_of(t, &stages[0]), 1, "table.backend=cuda", &plan, error);
  if (status == TSR_OK) status = tsr_plan_link(t->to, &plan, t->options->link_sm, error);
  tsr_plan_free(&plan);
  return status;
}

/* The model knows neither hit rates nor the passes of an index. */
static bool has_model(const tuner *t) { return !t->work.by_hits && t->work.share[NUMBER] <= 0; }

/* A card is given, and no GPU is here. */
static bool only_predicts(const tuner *t) {
  const char *backend = tsr_spec_get(t->file, "table", "backend");
  tsr_device_info info = {0};
  tsr_error why;
  return t->options->card && has_model(t) && !t->options->link_sm && !(backend && strcmp(backend, "cpu") == 0) &&
         tsr_device_describe(0, &info, &why) != TSR_OK;
}

static tsr_status search(tuner *t, tsr_error *error) {
  tsr_plan plan = {0};
  t->only_predicts = only_predicts(t);
  tsr_status status = begin(t, &plan, error);
  if (status == TSR_OK && has_model(t)) status = pass_model(t, &plan, error);
  tsr_plan_free(&plan);
  if (status == TSR_OK && t->options->link_sm) return link_kept(t, error);
  for (size_t i = 0; status == TSR_OK && !t->only_predicts && i < STAGES; i++)
    status = pass(t, t->work.by_hits ? &hit_stages[i] : &stages[i], error);
  if (status == TSR_OK && !t->winner && t->options->seconds > 0)
    status =
        tsr_fail(error, TSR_INCOMPATIBLE,
                 "%s: the time was up before anything was measured, or nothing holds its pairs: allow more seconds",
                 t->options->path);
  if (status == TSR_OK && !t->winner) status = nothing_left(t, "holds its pairs and answers right", error);
  return status ? status : write_winner(t, error);
}

tsr_status tsr_tune(FILE *to, const tsr_tune_options *options, tsr_error *error) {
  tuner t = {.options = options, .to = to};
  clock_gettime(CLOCK_MONOTONIC, &t.began);
  tsr_status status = check_out(options->out, error);
  if (status == TSR_OK) status = tsr_spec_read(options->path, &t.file, error);
  if (status == TSR_OK) status = read_workload(&t, error);
  if (status == TSR_OK) status = read_space(&t, error);
  if (status == TSR_OK) status = search(&t, error);
  free_kept(&t);
  for (size_t i = 0; i < t.prediction_count; i++) free(t.predictions[i].label);
  free(t.predictions);
  tsr_card_free(&t.card);
  free(t.winner);
  free(t.ops);
  tsr_spec_free(t.file);
  tsr_spec_free(t.space);
  return status;
}

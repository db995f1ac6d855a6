/* SPDX-License-Identifier: Apache-2.0
 *
 * Running experiments, and setting ours beside the papers' (experiment.h).
 */
#define _GNU_SOURCE /* asprintf, open_memstream */
#include "tools/lab/experiment.h"

#include <stdlib.h>
#include <string.h>

#include "core/spec/file.h"
#include "core/spec/number.h"
#include "tools/lab/bench_rows.h"
#include "tools/lab/duels.h"
#include "tools/lab/plot_gnuplot.h"
#include "tools/lab/sweep_run.h"

enum { WORDS_MAX = 24, WORD_MAX = 128 };

/* One line of [paper], cut into words. */
typedef struct headline {
  const char *name;
  char names[WORDS_MAX][WORD_MAX], values[WORDS_MAX][WORD_MAX];
  size_t count;
  const char *metric; /* of what, and the paper's number */
  double paper;
  bool picks_most;
} headline;

/* ---- Reading --------------------------------------------------------------------------------- */

static bool is_metric(const char *name) {
  static const char *const metrics[] = {"mops", "probes", "pct_limit", "utilization", "full_load", "ratio"};
  for (size_t i = 0; i < sizeof metrics / sizeof metrics[0]; i++)
    if (strcmp(name, metrics[i]) == 0) return true;
  return false;
}

static tsr_status read_headline(const tsr_spec_item *item, headline *h, tsr_error *error) {
  *h = (headline){.name = item->key};
  for (const char *at = item->value; *at; at += strspn(at, " \t")) {
    const size_t letters = strcspn(at, " \t");
    const char *equals = memchr(at, '=', letters);
    if (!equals || letters >= WORD_MAX || h->count == WORDS_MAX)
      return tsr_fail(error, TSR_BAD_SPEC, "[paper] %s: '%.*s' is no word NAME=VALUE", item->key, (int)letters, at);
    char *name = h->names[h->count], *value = h->values[h->count];
    snprintf(name, WORD_MAX, "%.*s", (int)(equals - at), at);
    snprintf(value, WORD_MAX, "%.*s", (int)(letters - (size_t)(equals - at) - 1), equals + 1);
    at += letters;
    if (strcmp(name, "pick") == 0) {
      h->picks_most = strcmp(value, "max") == 0;
    } else if (!is_metric(name)) {
      h->count++;
    } else if (!h->metric && tsr_parse_double(value, &h->paper)) {
      h->metric = h->names[h->count++]; /* chooses nothing: see matches() */
    } else {
      return tsr_fail(error, TSR_BAD_SPEC, "[paper] %s: %s=%s: one number is what the paper found", item->key, name,
                      value);
    }
  }
  if (h->metric) return TSR_OK;
  return tsr_fail(error, TSR_BAD_SPEC, "[paper] %s = %s: has no number, such as mops=1000", item->key, item->value);
}

/* ---- Choosing rows --------------------------------------------------------------------------- */

/* Whether a label, of words with blanks between, has this one. */
static bool has_word(const char *label, const char *name, const char *value) {
  const size_t first = strlen(name), second = strlen(value);
  for (const char *at = label; *at; at += strcspn(at, " "), at += *at == ' ')
    if (strncmp(at, name, first) == 0 && at[first] == '=' && strncmp(at + first + 1, value, second) == 0 &&
        (at[first + 1 + second] == ' ' || !at[first + 1 + second]))
      return true;
  return false;
}

/* Numbers are the same however they are written. */
static bool is_same(const char *left, const char *right) {
  double l, r;
  uint64_t whole;
  if (strcmp(left, right) == 0) return true;
  if (tsr_parse_u64(right, &whole) && tsr_parse_double(left, &l)) return l == (double)whole;
  return tsr_parse_double(left, &l) && tsr_parse_double(right, &r) && l == r;
}

/* The value that the headline asks of a name: with `over`, that of over.NAME if there is one. */
static const char *wanted(const headline *h, size_t word, bool over) {
  for (size_t i = 0; over && i < h->count; i++)
    if (strncmp(h->names[i], "over.", 5) == 0 && strcmp(h->names[i] + 5, h->names[word]) == 0) return h->values[i];
  return h->values[word];
}

static bool has_name(const headline *h, const char *name) {
  for (size_t i = 0; i < h->count; i++)
    if (strcmp(h->names[i], name) == 0) return true;
  return false;
}

static bool word_matches(const tsr_results *r, size_t row, const char *name, const char *value) {
  const char *label = tsr_results_field(r, row, tsr_results_column(r, "spec"));
  const size_t column = tsr_results_column(r, name);
  if (strcmp(name, "variant") == 0)
    return strncmp(label, value, strlen(value)) == 0 && (label[strlen(value)] == ' ' || !label[strlen(value)]);
  if (column < r->column_count) return is_same(tsr_results_field(r, row, column), value);
  return has_word(label, name, value);
}

static bool matches(const tsr_results *r, size_t row, const headline *h, bool over) {
  for (size_t i = 0; i < h->count; i++) {
    const char *name = h->names[i];
    if (name == h->metric) continue;
    if (strncmp(name, "over.", 5) != 0) {
      if (!word_matches(r, row, name, wanted(h, i, over))) return false;
    } else if (over && !has_name(h, name + 5)) {
      if (!word_matches(r, row, name + 5, h->values[i])) return false;
    }
  }
  return true;
}

/* ---- Ours ------------------------------------------------------------------------------------ */

/* Rows of the plan, which those of former runs with other sizes are not. */
typedef struct measured {
  const tsr_results *results;
  bool *is_its;
} measured;

static bool number_at(const tsr_results *r, size_t row, const char *column, double *number) {
  const size_t at = tsr_results_column(r, column);
  return at < r->column_count && tsr_results_number(r, row, at, number);
}

/* The mean or the largest of a column; 0: no row has it. */
static double of_column(const measured *m, const headline *h, const char *column, bool over) {
  double sum = 0, most = 0, number;
  size_t count = 0;
  for (size_t row = 0; row < m->results->row_count; row++) {
    if (!m->is_its[row] || !matches(m->results, row, h, over) || !number_at(m->results, row, column, &number)) continue;
    sum += number;
    most = number > most ? number : most;
    count++;
  }
  return !count ? 0 : h->picks_most ? most : sum / (double)count;
}

static double full_load(const measured *m, const headline *h) {
  double best = 0, load, unplaced;
  for (size_t row = 0; row < m->results->row_count; row++)
    if (m->is_its[row] && matches(m->results, row, h, false) && number_at(m->results, row, "load", &load) &&
        number_at(m->results, row, "not_placed", &unplaced) && unplaced == 0 && load > best)
      best = load;
  return best;
}

static double ours(const measured *m, const headline *h) {
  if (strcmp(h->metric, "full_load") == 0) return full_load(m, h);
  if (strcmp(h->metric, "ratio") != 0) return of_column(m, h, h->metric, false);
  const double other = of_column(m, h, "mops", true);
  return other > 0 ? of_column(m, h, "mops", false) / other : 0;
}

/* ---- Printing -------------------------------------------------------------------------------- */

static const char *said(const tsr_spec *file, const char *key) {
  const char *text = tsr_spec_get(file, "experiment", key);
  return text ? text : "";
}

static const char *unit_of(const char *metric) {
  static const char *const units[][2] = {{"mops", "M/s"},
                                         {"probes", "buckets a key"},
                                         {"pct_limit", "% of the limit"},
                                         {"utilization", "of the memory"},
                                         {"full_load", "load, all placed"},
                                         {"ratio", "times"}};
  for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
    if (strcmp(metric, units[i][0]) == 0) return units[i][1];
  return "";
}

/* A line of NAME.paper.csv; 0 is unknown. */
static void print_figure(FILE *csv, const headline *h, const char *set, double value, double ratio,
                         const char *device) {
  const double numbers[] = {value, ratio};
  fprintf(csv, "%s,%s,%s", h->name, set, h->metric);
  for (size_t i = 0; i < 2; i++) {
    if (numbers[i] > 0)
      fprintf(csv, ",%.6g", numbers[i]);
    else
      fputs(",-", csv);
  }
  fputc(',', csv);
  tsr_bench_print_text(csv, *device ? device : "-");
  fputc('\n', csv);
}

/* A rate of few keys is noise; what is counted is not. */
static bool is_rate(const char *metric) {
  return strcmp(metric, "mops") == 0 || strcmp(metric, "pct_limit") == 0 || strcmp(metric, "ratio") == 0;
}

static tsr_status print_headlines(FILE *out, FILE *csv, const tsr_experiment_options *options, const tsr_plan *plan,
                                  const measured *m, tsr_error *error) {
  const size_t device = tsr_results_column(m->results, "device");
  const char *here = m->results->row_count ? tsr_results_field(m->results, 0, device) : "";
  tsr_spec_item item;
  fprintf(out, "\n%s  %s: %s\n", options->name, said(plan->file, "paper"), said(plan->file, "title"));
  if (*said(plan->file, "device")) {
    fprintf(out, "  %-28s %12s %12s  %s\n", "", "ours", "the paper's", "");
    fprintf(out, "  %-28s %12.12s %12.12s\n", "", here, said(plan->file, "device"));
  }
  fputs("name,set,metric,value,ratio,device\n", csv);
  for (size_t i = 0; tsr_spec_get_at(plan->file, i, &item); i++) {
    headline h;
    if (strcmp(item.section, "paper") != 0) continue;
    tsr_status status = read_headline(&item, &h, error);
    if (status) return status;
    const bool is_noise = options->is_small && is_rate(h.metric);
    const double value = is_noise ? 0 : ours(m, &h);
    print_figure(csv, &h, "ours", value, value / h.paper, here);
    print_figure(csv, &h, "paper", h.paper, 0, said(plan->file, "device"));
    if (value > 0)
      fprintf(out, "  %-28s %12.4g %12.4g  %s, %.3g of the paper's\n", h.name, value, h.paper, unit_of(h.metric),
              value / h.paper);
    else
      fprintf(out, "  %-28s %12s %12.4g  %s%s\n", h.name, "-", h.paper, unit_of(h.metric),
              is_noise ? ", which takes all keys: without --small" : "; no row of ours was measured so");
  }
  return TSR_OK;
}

/* What comes beside NAME.csv, as NAME and this ending. */
static tsr_status write_beside(const char *csv, const char *ending, const char *text, size_t bytes, tsr_error *error) {
  const size_t letters = strlen(csv), old = strlen(".csv");
  const bool has_old = letters > old && strcmp(csv + letters - old, ".csv") == 0;
  char *path = NULL;
  tsr_file file;
  if (asprintf(&path, "%.*s%s", (int)(has_old ? letters - old : letters), csv, ending) < 0)
    return tsr_fail(error, TSR_NO_MEMORY, "no memory for the name of a file");
  int failure = tsr_file_begin_output(&file, path);
  if (!failure) failure = tsr_file_end(&file, tsr_file_write(&file, text, bytes));
  const tsr_status status =
      failure ? tsr_fail(error, TSR_IO, "%s: cannot be written: %s", path, strerror(failure)) : TSR_OK;
  free(path);
  return status;
}

/* The rows of the plan alone; its fields are the caller's to free. */
static bool only_its(const measured *m, tsr_results *its) {
  const size_t columns = m->results->column_count;
  *its = *m->results;
  its->row_count = 0;
  its->fields = malloc((m->results->row_count * columns + 1) * sizeof *its->fields);
  for (size_t row = 0; its->fields && row < m->results->row_count; row++)
    if (m->is_its[row])
      memcpy(its->fields + its->row_count++ * columns, m->results->fields + row * columns,
             columns * sizeof *its->fields);
  return its->fields;
}

/* NAME.svg. What cannot be drawn, for want of gnuplot or of rows, is said and fails nothing: the figures are there. */
static tsr_status draw_rows(const tsr_experiment_options *options, const measured *m, tsr_error *error) {
  const tsr_plot_request request = {.most_lines = TSR_PLOT_LINES_MAX};
  tsr_results its;
  tsr_chart chart = {0};
  tsr_error why;
  char *drawn = NULL;
  size_t bytes = 0;
  if (!only_its(m, &its)) return tsr_fail(error, TSR_NO_MEMORY, "no memory for the rows of %s", options->csv);
  tsr_status status =
      its.row_count ? tsr_chart_make(&its, &request, &chart, &why) : tsr_fail(&why, TSR_IO, "nothing was measured");
  if (status == TSR_OK) {
    const tsr_picture picture = {0, chart.panel_count, TSR_PLOT_SVG, chart.title, "plot"};
    status = tsr_plot_draw(&chart, &picture, &drawn, &bytes, &why);
    tsr_chart_free(&chart);
  }
  free(its.fields);
  if (status) fprintf(stderr, "tessera: %s: no picture: %s\n", options->name, why.message);
  status = status ? TSR_OK : write_beside(options->csv, ".svg", drawn, bytes, error);
  free(drawn);
  return status;
}

/* NAME.peers.csv, where the file asks for it and rivals were measured. */
static tsr_status write_peers(const tsr_experiment_options *options, const tsr_plan *plan, const measured *m,
                              bool *has_peers, tsr_error *error) {
  tsr_results its;
  char *text = NULL;
  size_t bytes = 0;
  *has_peers = false;
  if (!tsr_duels_are_asked(plan->file)) return TSR_OK;
  FILE *csv = open_memstream(&text, &bytes);
  if (!csv) return tsr_fail(error, TSR_NO_MEMORY, "no memory for the rows of %s", options->csv);
  const bool is_chosen = only_its(m, &its);
  if (is_chosen) *has_peers = tsr_duels_write(csv, plan->file, &its) > 0;
  if (is_chosen) free(its.fields);
  const bool is_written = fclose(csv) == 0 && is_chosen;
  tsr_status status =
      is_written ? TSR_OK : tsr_fail(error, TSR_NO_MEMORY, "no memory for the rows of %s", options->csv);
  if (status == TSR_OK && *has_peers) status = write_beside(options->csv, ".peers.csv", text, bytes, error);
  if (status == TSR_OK && !*has_peers && options->plan.bench_count)
    fprintf(stderr,
            "tessera: %s: %s has no row of another library that did what a table did. If a run without --beside wrote "
            "it, name another folder by --out: what was measured is not measured again\n",
            options->name, options->csv);
  free(text);
  return status;
}

static tsr_status compare(FILE *out, const tsr_experiment_options *options, const tsr_plan *plan, bool *has_peers,
                          tsr_error *error) {
  tsr_results results = {0};
  tsr_status status = tsr_results_read(options->csv, &results, error);
  if (status) return status;
  measured m = {.results = &results, .is_its = calloc(results.row_count + 1, sizeof *m.is_its)};
  if (!m.is_its) status = tsr_fail(error, TSR_NO_MEMORY, "no memory for the rows of %s", options->csv);
  for (size_t row = 0; status == TSR_OK && row < results.row_count; row++)
    for (size_t i = 0; !m.is_its[row] && i < plan->count; i++)
      m.is_its[row] = tsr_point_has_row(&plan->points[i], &results, row);
  char *text = NULL;
  size_t bytes = 0;
  FILE *csv = open_memstream(&text, &bytes);
  if (status == TSR_OK && !csv) status = tsr_fail(error, TSR_NO_MEMORY, "no memory for %s", options->name);
  if (status == TSR_OK) status = print_headlines(out, csv, options, plan, &m, error);
  if (csv && fclose(csv) && status == TSR_OK)
    status = tsr_fail(error, TSR_NO_MEMORY, "no memory for %s", options->name);
  if (status == TSR_OK) status = write_beside(options->csv, ".paper.csv", text, bytes, error);
  if (status == TSR_OK) status = write_peers(options, plan, &m, has_peers, error);
  if (status == TSR_OK && !*has_peers) status = draw_rows(options, &m, error);
  free(text);
  free(m.is_its);
  tsr_results_free(&results);
  return status;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static tsr_status check_sections(const char *path, const tsr_spec *file, tsr_error *error) {
  tsr_spec_item item;
  if (!*said(file, "paper") || !*said(file, "title"))
    return tsr_fail(error, TSR_BAD_SPEC, "%s: is no experiment: it needs [experiment] paper and title", path);
  for (size_t i = 0; tsr_spec_get_at(file, i, &item); i++) {
    headline h;
    if (strcmp(item.section, "paper") != 0) continue;
    tsr_status status = read_headline(&item, &h, error);
    if (status) return status;
  }
  return TSR_OK;
}

bool tsr_experiment_is_one(const char *path) {
  tsr_spec *file = NULL;
  tsr_error error;
  const bool is_one = tsr_spec_read(path, &file, &error) == TSR_OK && tsr_spec_get(file, "experiment", "title");
  tsr_spec_free(file);
  return is_one;
}

tsr_status tsr_experiment_list(FILE *out, const char *path, const char *name, tsr_error *error) {
  tsr_spec *file = NULL;
  tsr_status status = tsr_spec_read(path, &file, error);
  if (status) return status;
  if (tsr_spec_get(file, "experiment", "title"))
    fprintf(out, "%-6s %s: %s\n", name, said(file, "paper"), said(file, "title"));
  tsr_spec_free(file);
  return TSR_OK;
}

static void free_words(char **words, size_t count) {
  for (size_t i = 0; words && i < count; i++) free(words[i]);
  free(words);
}

/* [small] as words of bench's command line. The caller frees them. */
static tsr_status small_words(const char *path, char ***words, size_t *count, tsr_error *error) {
  tsr_spec *file = NULL;
  tsr_spec_item item;
  size_t entries = 0;
  tsr_status status = tsr_spec_read(path, &file, error);
  if (status) return status;
  while (tsr_spec_get_at(file, entries, &item)) entries++;
  char **made = calloc(entries + 1, sizeof *made);
  *count = 0;
  for (size_t i = 0; made && i < entries && tsr_spec_get_at(file, i, &item); i++) {
    char value[256], *to = value;
    if (strcmp(item.section, "small") != 0) continue;
    for (const char *from = item.value; *from; from++)
      if (*from != ' ' && *from != '\t') *to++ = *from;
    *to = 0;
    if (asprintf(&made[*count], "--%s=%s", item.key, value) < 0) break;
    ++*count;
  }
  tsr_spec_free(file);
  if (!made) return tsr_fail(error, TSR_NO_MEMORY, "no memory for an experiment");
  *words = made;
  return TSR_OK;
}

/* Copies of more of them. */
static tsr_status add_words(const char *const *more, size_t more_count, char ***words, size_t *count,
                            tsr_error *error) {
  char **longer = realloc(*words, (*count + more_count + 1) * sizeof *longer);
  if (longer) *words = longer;
  for (size_t i = 0; longer && i < more_count; i++)
    if ((longer[*count] = strdup(more[i]))) ++*count;
  return longer ? TSR_OK : tsr_fail(error, TSR_NO_MEMORY, "no memory for an experiment");
}

tsr_status tsr_experiment_run(FILE *out, const tsr_experiment_options *options, bool *all_right, bool *has_peers,
                              tsr_error *error) {
  tsr_plan_options of_plan = options->plan;
  tsr_plan plan = {0};
  char **words = NULL;
  size_t count = 0;
  tsr_status status = options->is_small ? small_words(options->path, &words, &count, error) : TSR_OK;
  if (status == TSR_OK) status = add_words(options->plan.bench, options->plan.bench_count, &words, &count, error);
  of_plan.bench = (const char *const *)words;
  of_plan.bench_count = count;
  if (status == TSR_OK) status = tsr_plan_read(options->path, &of_plan, &plan, error);
  if (status == TSR_OK) status = check_sections(options->path, plan.file, error);
  if (status == TSR_OK && plan.count == 0)
    status = tsr_fail(error, TSR_BAD_SPEC, "%s: every table is refused, the first one because: %s", options->path,
                      plan.refusals[0].sentence);
  if (status == TSR_OK && plan.refusal_count) tsr_plan_tell(&plan);
  if (status == TSR_OK) status = tsr_plan_measure(&plan, options->csv, NULL, all_right, error);
  if (status == TSR_OK) status = compare(out, options, &plan, has_peers, error);
  tsr_plan_free(&plan);
  free_words(words, count);
  return status;
}

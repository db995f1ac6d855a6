/* SPDX-License-Identifier: Apache-2.0
 *
 * tessera plot: a figure of the results in a CSV of `tessera bench`, `sweep` or `experiment`. What it shows is chosen
 * from the data (tools/lab/plot_chart.h) unless options say it; gnuplot draws it. Read next: report_command.c.
 */
#include <stdlib.h>
#include <string.h>

#include "core/spec/file.h"
#include "core/spec/number.h"
#include "tools/cli/command.h"
#include "tools/lab/outputs.h"
#include "tools/lab/plot_gnuplot.h"

typedef struct plot_job {
  const char *in;
  char out[PATH_MAX];
  tsr_plot_format format;
  tsr_plot_request request;
  const char **where;
  bool is_quiet;
} plot_job;

static const tsr_option options[] = {
    {"--out", "FILE", false, "The picture: NAME.svg or NAME.png; FILE.svg beside the CSV, else. '-', as SVG."},
    {"--x", "COLUMN", false, "What the x axis is; else what varies most: load, n, a parameter, or keys, or the spec."},
    {"--y", "COLUMN", false, "What is drawn; mops, else, or probes where nothing was timed."},
    {"--lines", "COLUMNS", false,
     "Columns, with commas between, that tell the lines apart, or none; else all conditions that vary."},
    {"--panels", "COLUMN", false, "A panel for each value of it, or none; op or metric, else."},
    {"--where", "COLUMN=VALUES", true, "Only rows that have one of these values, with commas between."},
    {"--most", "N", false, "Lines in a panel; of more of them those with the greatest values are drawn; 8."},
    {"--quiet", NULL, false, "Says nothing but errors."},
    TSR_OPTION_END};

/* ---- The command line ------------------------------------------------------------------------ */

static bool ends_with(const char *text, const char *end) {
  const size_t letters = strlen(text), needed = strlen(end);
  return letters > needed && strcmp(text + letters - needed, end) == 0;
}

/* NAME.svg for NAME.csv. */
static tsr_exit choose_out(const char *in, plot_job *job) {
  size_t letters = strlen(in) - (ends_with(in, ".csv") ? strlen(".csv") : 0);
  if (strcmp(in, "-") == 0) return tsr_say_usage("FILE -: standard input has no name: say --out NAME.svg or NAME.png");
  const int needed = snprintf(job->out, sizeof job->out, "%.*s.svg", (int)letters, in);
  if (needed >= (int)sizeof job->out) return tsr_say_usage("%s: is too long a path", in);
  return TSR_EXIT_OK;
}

static tsr_exit read_out(const tsr_arguments *arguments, plot_job *job) {
  const char *out = tsr_arguments_value(arguments, "--out");
  if (!out) return choose_out(job->in, job);
  if (ends_with(out, ".png")) {
    job->format = TSR_PLOT_PNG;
  } else if (!ends_with(out, ".svg") && strcmp(out, "-") != 0) {
    return tsr_say_usage("--out %s: must end in .svg or .png", out);
  }
  if (snprintf(job->out, sizeof job->out, "%s", out) >= (int)sizeof job->out)
    return tsr_say_usage("--out %s: is too long a path", out);
  return TSR_EXIT_OK;
}

static tsr_exit read_arguments(const tsr_arguments *arguments, plot_job *job) {
  const char *most = tsr_arguments_value(arguments, "--most");
  uint64_t lines = TSR_PLOT_LINES;
  job->in = arguments->operands[0];
  job->is_quiet = tsr_arguments_has(arguments, "--quiet");
  if (most && (!tsr_parse_u64(most, &lines) || lines < 1 || lines > TSR_PLOT_LINES_MAX))
    return tsr_say_usage("--most %s: must be a number from 1 to %d", most, TSR_PLOT_LINES_MAX);
  job->request = (tsr_plot_request){.x = tsr_arguments_value(arguments, "--x"),
                                    .y = tsr_arguments_value(arguments, "--y"),
                                    .lines = tsr_arguments_value(arguments, "--lines"),
                                    .panels = tsr_arguments_value(arguments, "--panels"),
                                    .where = job->where,
                                    .most_lines = (size_t)lines};
  for (size_t i = 0; i < arguments->given_count; i++)
    if (strcmp(arguments->given[i].name, "--where") == 0)
      job->where[job->request.where_count++] = arguments->given[i].value;
  return read_out(arguments, job);
}

/* ---- The picture ----------------------------------------------------------------------------- */

static tsr_status write_picture(const char *path, const char *picture, size_t bytes, tsr_error *error) {
  tsr_file file;
  int failure = tsr_file_begin_output(&file, path);
  if (!failure) failure = tsr_file_end(&file, tsr_file_write(&file, picture, bytes));
  return failure ? tsr_fail(error, TSR_IO, "--out %s: cannot be written: %s", path, strerror(failure)) : TSR_OK;
}

/* What a reader of the picture cannot see in it. */
static void say_what(const plot_job *job, const tsr_chart *chart) {
  size_t lines = 0, left_out = 0;
  for (size_t i = 0; i < chart->panel_count; i++) {
    lines += chart->panels[i].line_count;
    left_out += chart->panels[i].left_out;
  }
  tsr_say("%s: %zu %s, %zu %s", job->out, chart->panel_count, chart->panel_count == 1 ? "panel" : "panels", lines,
          lines == 1 ? "line" : "lines");
  if (left_out) tsr_say("%zu lines with lesser values are left out: --most, --where and --lines choose", left_out);
  if (chart->repeated)
    tsr_say("%zu rows are measured again by later ones of the same conditions, which count", chart->repeated);
  if (chart->wrong) tsr_say("%zu rows that bench found wrong (ok = no) are left out", chart->wrong);
  if (chart->missing) tsr_say("%zu rows without a measurement are left out", chart->missing);
}

static tsr_status draw(const plot_job *job, const tsr_results *results, tsr_error *error) {
  tsr_chart chart;
  char *drawn = NULL;
  size_t bytes = 0;
  tsr_status status = tsr_chart_make(results, &job->request, &chart, error);
  if (status) return status;
  const tsr_picture picture = {0, chart.panel_count, job->format, chart.conditions, "plot"};
  status = tsr_plot_draw(&chart, &picture, &drawn, &bytes, error);
  if (status == TSR_OK) status = write_picture(job->out, drawn, bytes, error);
  if (status == TSR_OK && !job->is_quiet) say_what(job, &chart);
  free(drawn);
  tsr_chart_free(&chart);
  return status;
}

static tsr_exit run_job(const tsr_arguments *arguments, plot_job *job) {
  tsr_results results;
  tsr_error error;
  tsr_exit failed = read_arguments(arguments, job);
  if (failed) return failed;
  const tsr_named_path out = {"--out", job->out}, in = {"FILE", job->in};
  tsr_status status = tsr_outputs_check(&out, 1, &in, 1, &error);
  if (status == TSR_OK) status = tsr_results_read(job->in, &results, &error);
  if (status) return tsr_say_error(status, &error);
  status = draw(job, &results, &error);
  tsr_results_free(&results);
  return status ? tsr_say_error(status, &error) : TSR_EXIT_OK;
}

static tsr_exit run_plot(const tsr_arguments *arguments) {
  plot_job job = {.where = calloc(arguments->given_count + 1, sizeof *job.where)};
  if (!job.where) {
    tsr_say("no memory for the command line");
    return TSR_EXIT_FAILED;
  }
  tsr_exit status = run_job(arguments, &job);
  free(job.where);
  return status;
}

const tsr_command tsr_plot_command = {
    {"plot", "FILE", "Draws the results in a CSV of bench, sweep or experiment as SVG or PNG, by gnuplot.", options},
    run_plot};

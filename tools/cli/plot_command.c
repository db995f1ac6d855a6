/* SPDX-License-Identifier: Apache-2.0
 *
 * tessera plot: a figure of the results in a CSV of `tessera bench`, `sweep` or `experiment`. What it shows is chosen
 * from the data (tools/lab/plot_chart.h) unless options say it, on the command line or in a note of the file; gnuplot
 * draws it. Read next: plot_request.h, report_command.c.
 */
#define _GNU_SOURCE /* open_memstream */
#include <stdlib.h>
#include <string.h>

#include "core/spec/file.h"
#include "tools/cli/command.h"
#include "tools/cli/plot_request.h"
#include "tools/lab/outputs.h"
#include "tools/lab/plot_gnuplot.h"
#include "tools/lab/plot_table.h"

typedef struct plot_job {
  const char *in;
  char out[PATH_MAX];
  tsr_plot_format format;
  bool is_markdown, is_quiet;
} plot_job;

static const tsr_option options[] = {
    {"--out", "FILE", false,
     "The picture: NAME.svg or NAME.png, or NAME.gp for gnuplot's script. Otherwise FILE.svg next to the CSV. '-' is "
     "standard output, as SVG."},
    {"--x", "COLUMNS", false,
     "The x axis: one column, or several as one. Otherwise what varies most: load, n, a parameter, keys or the spec."},
    {"--y", "COLUMNS", false,
     "What is drawn: one column, or several as lines. Otherwise mops, or probes where nothing was timed."},
    {"--lines", "COLUMNS", false,
     "Columns, separated by commas, that distinguish the lines, or none. Otherwise all conditions that vary."},
    {"--panels", "COLUMN", false, "One panel per value of this column, or none. Otherwise op or metric."},
    {"--where", "COLUMN=VALUES", true, "Only rows with one of these values, separated by commas."},
    {"--label", "COLUMN", false, "The text behind each bar, after its number."},
    {"--across", "N", false, "Panels per row. Otherwise at most three."},
    {"--most", "N", false, "Lines per panel at most; those with the greatest values are drawn. 8."},
    {"--markdown", NULL, false, "Prints the figure's numbers as a Markdown table instead of drawing."},
    {"--quiet", NULL, false, "Prints errors only."},
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
  } else if (ends_with(out, ".gp")) {
    job->format = TSR_PLOT_SCRIPT;
  } else if (!ends_with(out, ".svg") && strcmp(out, "-") != 0) {
    return tsr_say_usage("--out %s: must end in .svg, .png or .gp", out);
  }
  if (snprintf(job->out, sizeof job->out, "%s", out) >= (int)sizeof job->out)
    return tsr_say_usage("--out %s: is too long a path", out);
  return TSR_EXIT_OK;
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
  if (chart->unsteady)
    tsr_say(
        "%zu points are unsteady: their fastest repetition took at most half as long as the slowest. The machine was "
        "busy, or --n is small",
        chart->unsteady);
  if (chart->wrong) tsr_say("%zu rows that bench found wrong (ok = no) are left out", chart->wrong);
  if (chart->missing) tsr_say("%zu rows without a measurement are left out", chart->missing);
}

static tsr_status write_script(const tsr_chart *chart, char **text, size_t *bytes, tsr_error *error) {
  FILE *out = open_memstream(text, bytes);
  if (!out) return tsr_fail(error, TSR_NO_MEMORY, "no memory for a script");
  tsr_plot_write_script(out, chart, 0, chart->panel_count, TSR_PLOT_SCRIPT);
  return fclose(out) == 0 ? TSR_OK : tsr_fail(error, TSR_NO_MEMORY, "no memory for a script");
}

static tsr_status draw(const plot_job *job, const tsr_results *results, const tsr_plot_request *request,
                       tsr_error *error) {
  tsr_chart chart;
  char *drawn = NULL;
  size_t bytes = 0;
  tsr_status status = tsr_chart_make(results, request, &chart, error);
  if (status) return status;
  if (job->is_markdown) {
    tsr_plot_write_table(stdout, &chart);
    tsr_chart_free(&chart);
    return TSR_OK;
  }
  const tsr_picture picture = {0, chart.panel_count, job->format, chart.title, "plot"};
  status = job->format == TSR_PLOT_SCRIPT ? write_script(&chart, &drawn, &bytes, error)
                                          : tsr_plot_draw(&chart, &picture, &drawn, &bytes, error);
  if (status == TSR_OK) status = write_picture(job->out, drawn, bytes, error);
  if (status == TSR_OK && !job->is_quiet) say_what(job, &chart);
  free(drawn);
  tsr_chart_free(&chart);
  return status;
}

static tsr_exit plot_results(const tsr_arguments *arguments, const plot_job *job) {
  tsr_results results;
  tsr_figure_request figure;
  tsr_error error;
  tsr_status status = tsr_results_read(job->in, &results, &error);
  if (status) return tsr_say_error(status, &error);
  tsr_exit failed = tsr_figure_request_read(arguments, &results, &figure);
  if (!failed) {
    status = draw(job, &results, &figure.request, &error);
    if (status) failed = tsr_say_error(status, &error);
    tsr_figure_request_free(&figure);
  }
  tsr_results_free(&results);
  return failed;
}

tsr_exit tsr_plot_file(const char *csv, const char *svg) {
  plot_job job = {.in = csv, .is_quiet = true};
  if (snprintf(job.out, sizeof job.out, "%s", svg) >= (int)sizeof job.out)
    return tsr_say_usage("%s: is too long a path", svg);
  return plot_results(NULL, &job);
}

static tsr_exit run_plot(const tsr_arguments *arguments) {
  plot_job job = {.in = arguments->operands[0],
                  .is_markdown = tsr_arguments_has(arguments, "--markdown"),
                  .is_quiet = tsr_arguments_has(arguments, "--quiet")};
  tsr_error error;
  const tsr_exit failed = job.is_markdown ? TSR_EXIT_OK : read_out(arguments, &job);
  if (failed) return failed;
  const tsr_named_path out = {"--out", job.out}, in = {"FILE", job.in};
  tsr_status status = tsr_outputs_check(&out, !job.is_markdown, &in, 1, &error);
  return status ? tsr_say_error(status, &error) : plot_results(arguments, &job);
}

const tsr_command tsr_plot_command = {
    {"plot", "FILE", "Draws the results in a CSV of bench, sweep or experiment as SVG or PNG, by gnuplot.", options,
     NULL},
    run_plot};

/* SPDX-License-Identifier: Apache-2.0
 *
 * tessera report: one HTML page about the results in CSVs of `tessera bench`, `sweep` and `experiment`
 * (tools/lab/report_page.h). Read next: plot_command.c, for one figure.
 */
#include <stdlib.h>
#include <string.h>

#include "core/spec/file.h"
#include "tools/cli/command.h"
#include "tools/cli/plot_request.h"
#include "tools/lab/outputs.h"
#include "tools/lab/report_page.h"

static const tsr_option options[] = {
    {"--out", "FILE", false, "The page. Otherwise report.html. '-' is standard output."},
    {"--quiet", NULL, false, "Prints errors only."},
    TSR_OPTION_END};

static tsr_status check_paths(const tsr_arguments *arguments, const char *out, tsr_error *error) {
  const tsr_named_path output = {"--out", out};
  tsr_named_path *inputs = calloc(arguments->operand_count, sizeof *inputs);
  if (!inputs) return tsr_fail(error, TSR_NO_MEMORY, "no memory for the command line");
  for (size_t i = 0; i < arguments->operand_count; i++) inputs[i] = (tsr_named_path){"FILE", arguments->operands[i]};
  tsr_status status = tsr_outputs_check(&output, 1, inputs, arguments->operand_count, error);
  free(inputs);
  return status;
}

static tsr_status write_page(const char *path, const char *page, size_t bytes, tsr_error *error) {
  tsr_file file;
  int failure = tsr_file_begin_output(&file, path);
  if (!failure) failure = tsr_file_end(&file, tsr_file_write(&file, page, bytes));
  return failure ? tsr_fail(error, TSR_IO, "--out %s: cannot be written: %s", path, strerror(failure)) : TSR_OK;
}

typedef struct report_source {
  tsr_results results;
  tsr_figure_request figure;
} report_source;

/* Reads file after file; *read is how many are there, to be freed. */
static tsr_exit read_files(const tsr_arguments *arguments, report_source *sources, tsr_report_file *files,
                           size_t *read) {
  for (*read = 0; *read < arguments->operand_count; (*read)++) {
    report_source *source = &sources[*read];
    const char *path = arguments->operands[*read];
    tsr_error error;
    tsr_status status = tsr_results_read(path, &source->results, &error);
    if (status) return tsr_say_error(status, &error);
    tsr_exit failed = tsr_figure_request_read(NULL, &source->results, &source->figure);
    if (failed) {
      tsr_results_free(&source->results);
      return failed;
    }
    files[*read] = (tsr_report_file){path, &source->results, &source->figure.request};
  }
  return TSR_EXIT_OK;
}

static tsr_exit make_report(const tsr_arguments *arguments, const char *out, const tsr_report_file *files) {
  const size_t count = arguments->operand_count;
  char *page = NULL;
  size_t bytes = 0;
  tsr_error error;
  tsr_status status = tsr_report_make(files, count, &page, &bytes, &error);
  if (status == TSR_OK) status = write_page(out, page, bytes, &error);
  free(page);
  if (status) return tsr_say_error(status, &error);
  if (!tsr_arguments_has(arguments, "--quiet"))
    tsr_say("%s: %zu %s of results", out, count, count == 1 ? "file" : "files");
  return TSR_EXIT_OK;
}

static tsr_exit run_report(const tsr_arguments *arguments) {
  const size_t count = arguments->operand_count;
  const char *given = tsr_arguments_value(arguments, "--out"), *out = given ? given : "report.html";
  report_source *sources = calloc(count, sizeof *sources);
  tsr_report_file *files = calloc(count, sizeof *files);
  size_t read = 0;
  tsr_error error;
  tsr_status status = sources && files ? check_paths(arguments, out, &error)
                                       : tsr_fail(&error, TSR_NO_MEMORY, "no memory for %zu files of results", count);
  tsr_exit failed = status ? tsr_say_error(status, &error) : read_files(arguments, sources, files, &read);
  if (!failed) failed = make_report(arguments, out, files);
  for (size_t i = 0; i < read; i++) {
    tsr_figure_request_free(&sources[i].figure);
    tsr_results_free(&sources[i].results);
  }
  free(sources);
  free(files);
  return failed;
}

const tsr_command tsr_report_command = {
    {"report", "FILE...", "Makes one HTML page of figures and tables from CSVs of bench, sweep and experiment.",
     options, NULL},
    run_report};

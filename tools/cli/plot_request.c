/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading what a figure is to show (plot_request.h): the note of the file, the options, the columns that they ask for.
 */
#define _POSIX_C_SOURCE 200809L /* strdup */
#include "tools/cli/plot_request.h"

#include <stdlib.h>
#include <string.h>

#include "core/spec/number.h"
#include "tools/lab/reshape.h"

enum { NOTED_WORDS = 32, ACROSS_MAX = 8 };

/* An option of the command line, or otherwise of the file. */
static const char *value_of(const tsr_arguments *arguments, const tsr_figure_request *figure, const char *name) {
  const char *value = arguments ? tsr_arguments_value(arguments, name) : NULL;
  return value ? value : tsr_arguments_value(&figure->noted, name);
}

static tsr_exit read_number(const tsr_arguments *arguments, const tsr_figure_request *figure, const char *name,
                            uint64_t most, size_t *number) {
  const char *word = value_of(arguments, figure, name);
  uint64_t read;
  if (!word) return TSR_EXIT_OK;
  if (!tsr_parse_u64(word, &read) || read < 1 || read > most)
    return tsr_say_usage("%s %s: must be a number from 1 to %d", name, word, (int)most);
  *number = (size_t)read;
  return TSR_EXIT_OK;
}

static void add_where(const tsr_arguments *arguments, tsr_figure_request *figure) {
  for (size_t i = 0; i < arguments->given_count; i++)
    if (strcmp(arguments->given[i].name, "--where") == 0)
      figure->where[figure->request.where_count++] = arguments->given[i].value;
}

static tsr_exit read_options(const tsr_arguments *arguments, tsr_figure_request *figure) {
  const size_t given = arguments ? arguments->given_count : 0;
  figure->where = calloc(given + figure->noted.given_count + 1, sizeof *figure->where);
  if (!figure->where) {
    tsr_say("no memory for the command line");
    return TSR_EXIT_FAILED;
  }
  figure->request = (tsr_plot_request){.x = value_of(arguments, figure, "--x"),
                                       .y = value_of(arguments, figure, "--y"),
                                       .lines = value_of(arguments, figure, "--lines"),
                                       .panels = value_of(arguments, figure, "--panels"),
                                       .where = figure->where,
                                       .label = value_of(arguments, figure, "--label"),
                                       .most_lines = TSR_PLOT_LINES};
  add_where(&figure->noted, figure);
  if (arguments) add_where(arguments, figure);
  tsr_exit failed = read_number(arguments, figure, "--most", TSR_PLOT_LINES_MAX, &figure->request.most_lines);
  return failed ? failed : read_number(arguments, figure, "--across", ACROSS_MAX, &figure->request.across);
}

/* The words of a note `plot: --x a,b --where op=insert find`: a value may hold blanks, and ends before the next option. */
static tsr_exit read_noted(const tsr_synopsis *synopsis, char *words, tsr_arguments *noted) {
  char *argv[NOTED_WORDS] = {NULL, "FILE"};
  int argc = 2;
  for (char *at = words; at && argc + 2 <= NOTED_WORDS;) {
    char *next = strstr(at, " --"), *value;
    if (next) *next++ = '\0';
    value = strchr(at, ' ');
    if (value) *value++ = '\0';
    argv[argc++] = at;
    if (value) argv[argc++] = value;
    at = next;
  }
  return tsr_arguments_read(synopsis, argc, argv, noted);
}

/* Several columns as one axis, and several measurements as lines. */
static tsr_status reshape(tsr_plot_request *request, tsr_results *results, tsr_error *error) {
  tsr_status status = TSR_OK;
  if (request->x && strchr(request->x, ',')) status = tsr_results_join(results, "--x", request->x, error);
  if (status || !request->y || !strchr(request->y, ',')) return status;
  status = tsr_results_stack(results, "--y", request->y, error);
  request->y = "value";
  if (!request->lines) request->lines = "measurement";
  return status;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static tsr_exit read_note(const tsr_results *results, tsr_figure_request *figure) {
  const char *note = tsr_results_note(results, "plot");
  if (!note) return TSR_EXIT_OK;
  figure->words = strdup(note);
  if (figure->words) return read_noted(&tsr_plot_command.synopsis, figure->words, &figure->noted);
  tsr_say("no memory for what the file says of its figure");
  return TSR_EXIT_FAILED;
}

tsr_exit tsr_figure_request_read(const tsr_arguments *arguments, tsr_results *results, tsr_figure_request *figure) {
  tsr_figure_request read = {.where = NULL};
  tsr_error error;
  tsr_exit failed = read_note(results, &read);
  if (!failed) failed = read_options(arguments, &read);
  if (!failed) {
    tsr_status status = reshape(&read.request, results, &error);
    if (status) failed = tsr_say_error(status, &error);
  }
  if (failed) {
    tsr_figure_request_free(&read);
  } else {
    *figure = read;
  }
  return failed;
}

void tsr_figure_request_free(tsr_figure_request *figure) {
  if (figure->words) tsr_arguments_free(&figure->noted);
  free(figure->words);
  free(figure->where);
  *figure = (tsr_figure_request){.where = NULL};
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * What a figure of a file of results is to show: the options of `tessera plot`, and those that the file's own note
 * `# plot: OPTIONS` has. Read next: plot_command.c and report_command.c.
 */
#ifndef TSR_PLOT_REQUEST_H
#define TSR_PLOT_REQUEST_H

#include "tools/cli/command.h"
#include "tools/lab/plot_chart.h"

typedef struct tsr_figure_request {
  tsr_plot_request request; /* its texts are those of the members below, and of the arguments */
  const char **where;
  char *words;         /* of the note; NULL: there is none */
  tsr_arguments noted; /* the options in it */
} tsr_figure_request;

/* Reads the options and the note, and gives the results the columns that they ask for. An option of `arguments`, which may
 * be NULL, counts more than one of the note. A failure is said, and *figure holds nothing. The caller frees it with
 * tsr_figure_request_free. */
TSR_MUST_CHECK tsr_exit tsr_figure_request_read(const tsr_arguments *arguments, tsr_results *results,
                                                tsr_figure_request *figure);
/* Draws a file of results as `tessera plot FILE --out SVG --quiet` does. A failure is said. */
TSR_MUST_CHECK tsr_exit tsr_plot_file(const char *csv, const char *svg);
void tsr_figure_request_free(tsr_figure_request *figure);

#endif

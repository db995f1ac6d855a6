/* SPDX-License-Identifier: Apache-2.0
 *
 * A page about results: one HTML file that needs nothing else, no script and no network. For each file of results it has
 * what was measured and on what, the figures, the best of each line with its share of the memory's limit, and all rows.
 */
#ifndef TSR_REPORT_PAGE_H
#define TSR_REPORT_PAGE_H

#include "tools/lab/plot_chart.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_report_file {
  const char *path; /* that the results were read from */
  const tsr_results *results;
  const tsr_plot_request *request; /* what its figures show */
} tsr_report_file;

/* Makes the page of `count` files. The caller frees *page, of *bytes bytes. Fails as plot_chart.h and plot_gnuplot.h do;
 * then the sentence begins with the path. */
TSR_MUST_CHECK tsr_status tsr_report_make(const tsr_report_file *files, size_t count, char **page, size_t *bytes,
                                          tsr_error *error);

#ifdef __cplusplus
}
#endif
#endif

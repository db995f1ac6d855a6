/* SPDX-License-Identifier: Apache-2.0
 *
 * A page about results: one HTML file that needs nothing else, no script and no network. For each file of results it has
 * what was measured and on what, the figures, the best of each line with its share of the memory's limit, and all rows.
 */
#ifndef TSR_REPORT_PAGE_H
#define TSR_REPORT_PAGE_H

#include "tools/lab/results.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the page of `count` results, which were read from `paths`. The caller frees *page, of *bytes bytes. Fails as
 * plot_chart.h and plot_gnuplot.h do; then the sentence begins with the path. */
TSR_MUST_CHECK tsr_status tsr_report_make(const tsr_results *results, const char *const *paths, size_t count,
                                          char **page, size_t *bytes, tsr_error *error);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * The numbers of a figure as a table in Markdown: a row for each bar's name, or for each line; for pages that show both.
 */
#ifndef TSR_PLOT_TABLE_H
#define TSR_PLOT_TABLE_H

#include <stdio.h>

#include "tools/lab/plot_chart.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Failures are left in out's error flag. */
void tsr_plot_write_table(FILE *out, const tsr_chart *chart);

#ifdef __cplusplus
}
#endif
#endif

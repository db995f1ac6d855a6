/* SPDX-License-Identifier: Apache-2.0
 *
 * Figures as scripts of gnuplot. A title, where the rows come from, and one legend stand above a grid of panels. Okabe
 * and Ito's colours, which colour-blind eyes tell apart, go with a shape of point each; dashes are the memory limit. All texts of the data are quoted, so that none of them is read as a command. Read next: plot_gnuplot.h, which runs it.
 */
#ifndef TSR_PLOT_SCRIPT_H
#define TSR_PLOT_SCRIPT_H

#include <stdio.h>

#include "tools/lab/plot_chart.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tsr_plot_format {
  TSR_PLOT_SVG,
  TSR_PLOT_PNG,   /* twice as many pixels each way */
  TSR_PLOT_PAGE,  /* SVG on a transparent ground, without heading */
  TSR_PLOT_SCRIPT /* what gnuplot makes the SVG of */
} tsr_plot_format;

/* Writes the script of panels first .. first + count - 1 of the chart. Failures are left in out's error flag. */
void tsr_plot_write_script(FILE *out, const tsr_chart *chart, size_t first, size_t count, tsr_plot_format format);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs gnuplot, which is found in PATH: a child process without a shell, which reads its script and writes the picture.
 */
#ifndef TSR_PLOT_GNUPLOT_H
#define TSR_PLOT_GNUPLOT_H

#include "tools/lab/plot_script.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Draws panels first .. first + count - 1. The caller frees *picture, of *bytes bytes and a 0 behind them. `title`, UTF-8,
 * is what an SVG is called, and `name`, letters and digits, what the names of its parts begin with, so that several can
 * stand in one page. TSR_NOT_FOUND: there is no gnuplot, and the sentence says which package has it; TSR_IO. */
TSR_MUST_CHECK tsr_status tsr_plot_draw(const tsr_chart *chart, size_t first, size_t count, tsr_plot_format format,
                                        const char *title, const char *name, char **picture, size_t *bytes,
                                        tsr_error *error);

/* Writes text as XML and HTML show it, in an attribute, too. */
void tsr_plot_print_escaped(FILE *out, const char *text);

#ifdef __cplusplus
}
#endif
#endif

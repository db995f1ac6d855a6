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

/* What is drawn of a chart, and how. */
typedef struct tsr_picture {
  size_t first, count; /* panels */
  tsr_plot_format format;
  const char *title; /* what an SVG is called, UTF-8 */
  const char
      *name; /* letters and digits: the names of an SVG's parts begin with it, so that several stand in one page */
} tsr_picture;

/* The caller frees *drawn, of *bytes bytes and a 0 behind them. TSR_NOT_FOUND: there is no gnuplot; the sentence says which
 * package has it. TSR_IO. */
TSR_MUST_CHECK tsr_status tsr_plot_draw(const tsr_chart *chart, const tsr_picture *picture, char **drawn, size_t *bytes,
                                        tsr_error *error);

/* Writes text as XML and HTML show it, in an attribute as well. */
void tsr_plot_print_escaped(FILE *out, const char *text);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * What a figure of results shows: panels of lines, chosen from the data. A column is a condition (what was measured: the
 * spec, the load, a parameter) or a measurement. Of the conditions that vary one is the x axis, `op` or else `metric` divides
 * the figure into panels, and the others tell the lines apart; those that do not vary are named below the title. Notes of
 * the file give words: `# title: ...`, `# subtitle: ...`, `# device: ...`, `# date: ...`, `# commit: ...`, and for a column or
 * a value `# NAME: ...`. Read next: plot_script.h, which draws it.
 */
#ifndef TSR_PLOT_CHART_H
#define TSR_PLOT_CHART_H

#include "tools/lab/results.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TSR_PLOT_LINES = 8, TSR_PLOT_LINES_MAX = 64 };

typedef struct tsr_plot_request {
  const char *x, *y;        /* columns; NULL: chosen */
  const char *panels;       /* a column, or "none"; NULL: chosen */
  const char *lines;        /* columns with commas between, or "none"; NULL: chosen */
  const char *const *where; /* where_count times COLUMN=VALUE,VALUE: only rows with one of the values */
  size_t where_count;
  const char *label; /* a column whose text stands behind each bar, or NULL */
  size_t across;     /* panels side by side; 0: chosen */
  size_t most_lines; /* 1 .. TSR_PLOT_LINES_MAX: of more lines in a panel those with the greatest values stay */
} tsr_plot_request;

typedef struct tsr_plot_point {
  double x, y;      /* x: the number, or that of a category, from 0; y in the units of y_title */
  double low, high; /* of repetitions; y where they are not known */
  double limit;     /* what the memory allows, in units of y; 0: unknown */
  size_t row;       /* of the results */
  const char *text; /* behind the value of a bar, or NULL; of the results */
} tsr_plot_point;

typedef struct tsr_plot_line {
  char *label;
  tsr_plot_point *points; /* point_count, ordered by x, each x once */
  size_t point_count, room;
  size_t number; /* of all labels of the chart: lines of one label have one colour in all panels */
} tsr_plot_line;

typedef struct tsr_plot_panel {
  const char *title;    /* "" where there is one panel only; of the results */
  tsr_plot_line *lines; /* line_count, in the order of the rows */
  size_t line_count, room;
  size_t left_out;         /* lines beyond most_lines */
  const char **categories; /* category_count, of the results; where x is a text */
  size_t category_count;
} tsr_plot_panel;

typedef struct tsr_chart {
  const char *x_title, *y_title;
  char *title, *subtitle; /* subtitle: conditions that do not vary, device, date, commit, " · " between; "" for none */
  size_t x;               /* a column */
  size_t ignored;         /* a column that would be a condition, but says what others do; SIZE_MAX: none */
  bool x_is_category, x_is_spec;
  bool has_short_names; /* of specs: no two are the same without folders and .ini */
  tsr_plot_panel *panels;
  size_t panel_count;
  const char **labels; /* label_count, each once, of the lines */
  char **twins;        /* what some of them point to */
  size_t label_count;
  size_t across;   /* panels side by side, at least 1 */
  size_t unsteady; /* points whose fastest repetition took at most half as long as the slowest */
  size_t repeated; /* rows that were measured again by a later one, which counts */
  size_t wrong;    /* rows whose answers were wrong: not drawn */
  size_t missing;  /* rows without a measurement, such as of refused specs: not drawn */
} tsr_chart;

/* Chooses and gathers. TSR_BAD_ARGUMENT: the request names what is not there, or too much for a figure; TSR_IO: there is
 * nothing to draw. `results` must outlive *chart, which the caller frees with tsr_chart_free. */
TSR_MUST_CHECK tsr_status tsr_chart_make(const tsr_results *results, const tsr_plot_request *request, tsr_chart *chart,
                                         tsr_error *error);
void tsr_chart_free(tsr_chart *chart);

/* Whether a column of the chart's results says what was measured. */
bool tsr_chart_is_condition(const tsr_chart *chart, const tsr_results *results, size_t column);
enum { TSR_PLOT_NAME_BYTES = 96 };
/* A category as a figure shows it: a spec without folders and .ini, where that tells it apart. May point into text. */
const char *tsr_chart_category(const tsr_chart *chart, const tsr_plot_panel *panel, size_t category,
                               char text[TSR_PLOT_NAME_BYTES]);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing tables (plot_table.h). Of bars a row has the category and a cell for each line; of lines a row has the line and a
 * cell for each panel and x.
 */
#include "tools/lab/plot_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Nothing ends a cell but the next one. */
static void print_cell(FILE *out, const char *text) {
  fputs("| ", out);
  for (; *text; text++) {
    if (*text == '|') fputc('\\', out);
    fputc(*text, out);
  }
  fputc(' ', out);
}

/* Three digits, as behind a bar. */
static void print_number(FILE *out, const tsr_plot_point *point) {
  const double y = point ? point->y : 0;
  if (!point) {
    fputs("| - ", out);
  } else if (y < 0.9995) {
    fprintf(out, "| %.3g ", y);
  } else {
    fprintf(out, "| %.*f ", y >= 99.95 ? 0 : y >= 9.995 ? 1 : 2, y);
  }
  if (point && point->text) fprintf(out, "%s ", point->text);
}

static void print_rule(FILE *out, size_t texts, size_t numbers) {
  fputs("|\n", out);
  for (size_t i = 0; i < texts; i++) fputs("|---", out);
  for (size_t i = 0; i < numbers; i++) fputs("|---:", out);
  fputs("|\n", out);
}

static const tsr_plot_point *find_point(const tsr_plot_panel *panel, size_t number, double x) {
  for (size_t i = 0; i < panel->line_count; i++)
    for (size_t k = 0; panel->lines[i].number == number && k < panel->lines[i].point_count; k++)
      if (fabs(panel->lines[i].points[k].x - x) <= 1e-9 * fabs(x)) return &panel->lines[i].points[k];
  return NULL;
}

/* ---- Bars ------------------------------------------------------------------------------------ */

static void write_bars(FILE *out, const tsr_chart *chart) {
  char name[TSR_PLOT_NAME_BYTES];
  const bool has_panels = *chart->panels[0].title;
  if (has_panels) print_cell(out, "");
  print_cell(out, chart->label_count == 1 ? "" : chart->y_title);
  for (size_t i = 0; i < chart->label_count; i++)
    print_cell(out, chart->label_count == 1 ? chart->y_title : chart->labels[i]);
  print_rule(out, 1 + has_panels, chart->label_count);
  for (size_t p = 0; p < chart->panel_count; p++) {
    const tsr_plot_panel *panel = &chart->panels[p];
    for (size_t i = 0; i < panel->category_count; i++) {
      if (has_panels) print_cell(out, i ? "" : panel->title);
      print_cell(out, tsr_chart_category(chart, panel, i, name));
      for (size_t k = 0; k < chart->label_count; k++) print_number(out, find_point(panel, k, (double)i));
      fputs("|\n", out);
    }
  }
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static int compare_numbers(const void *left, const void *right) {
  const double l = *(const double *)left, r = *(const double *)right;
  return (l > r) - (l < r);
}

/* All x of a panel, each once; the caller frees them. */
static double *list_x(const tsr_plot_panel *panel, size_t *count) {
  size_t points = 0;
  *count = 0;
  for (size_t i = 0; i < panel->line_count; i++) points += panel->lines[i].point_count;
  double *xs = malloc((points + 1) * sizeof *xs);
  if (!xs) return NULL;
  points = 0;
  for (size_t i = 0; i < panel->line_count; i++)
    for (size_t k = 0; k < panel->lines[i].point_count; k++) xs[points++] = panel->lines[i].points[k].x;
  qsort(xs, points, sizeof *xs, compare_numbers);
  for (size_t i = 0; i < points; i++)
    if (*count == 0 || xs[i] > xs[*count - 1]) xs[(*count)++] = xs[i];
  return xs;
}

static void print_x(FILE *out, const char *title, double x) {
  int exponent;
  fputs("| ", out);
  if (*title) fprintf(out, "%s, ", title);
  const double tens = x > 0 ? log10(x) : 0;
  if (x >= 1024 && frexp(x, &exponent) <= 0.5) {
    fprintf(out, "2^%d ", exponent - 1);
  } else if (tens >= 5 && fabs(tens - round(tens)) < 1e-12) {
    fprintf(out, "10^%.0f ", tens);
  } else {
    fprintf(out, "%.6g ", x);
  }
}

static void write_lines(FILE *out, const tsr_chart *chart) {
  size_t columns = 0;
  fprintf(out, "| %s by %s ", chart->y_title, chart->x_title);
  for (size_t p = 0; p < chart->panel_count; p++) {
    size_t count;
    double *xs = list_x(&chart->panels[p], &count);
    for (size_t i = 0; xs && i < count; i++) print_x(out, chart->panels[p].title, xs[i]);
    columns += xs ? count : 0;
    free(xs);
  }
  print_rule(out, 1, columns);
  for (size_t k = 0; k < chart->label_count; k++) {
    print_cell(out, chart->labels[k]);
    for (size_t p = 0; p < chart->panel_count; p++) {
      size_t count;
      double *xs = list_x(&chart->panels[p], &count);
      for (size_t i = 0; xs && i < count; i++) print_number(out, find_point(&chart->panels[p], k, xs[i]));
      free(xs);
    }
    fputs("|\n", out);
  }
}

void tsr_plot_write_table(FILE *out, const tsr_chart *chart) {
  if (chart->x_is_category) {
    write_bars(out, chart);
  } else {
    write_lines(out, chart);
  }
}

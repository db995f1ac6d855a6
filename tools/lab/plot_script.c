/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing scripts for gnuplot (plot_script.h): sizes first, then data blocks, then what draws them.
 */
#include "tools/lab/plot_script.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sizes in pixels of a figure, whose letters a phone shows in full size. */
enum {
  WIDTH = 460,
  PLOT_WIDTH = 345, /* about what axes leave */
  PLOT_HEIGHT = 290,
  AROUND_HEIGHT = 115, /* title, tics and the axis' name */
  KEY_ROW_HEIGHT = 23,
  HEADING_ROW_HEIGHT = 17,
  CATEGORY_HEIGHT = 26,
  BAR_HEIGHT = 18,
  TICS_APART = 46,
  LABEL_LETTERS_MAX = 46,
  LARGE_LETTERS_MAX = 34, /* of a label in the font of the rest */
  FONT = 15,
  SMALL_FONT = 12,
  NARROW_LETTERS_MAX = 14, /* two columns of the key have room for such labels */
  TICS_MAX = 16
};

/* Limits that differ by less are one: they are computed from shares that are rounded. The greatest share is the least
 * rounded, so its limit counts, and those of shares below a part of it do not. */
#define COARSE_SHARE 0.25
#define OUTLIER 1.3 /* a repetition that was faster than this does not make the others small */
#define SAME_LIMIT 1.1

static const char *const colours[] = {"#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#000000"};
enum { COLOURS = sizeof colours / sizeof colours[0] };
static const int shapes[] = {7, 5, 9, 13, 11, 15, 6, 4, 8, 12, 10, 14}; /* filled, then open */
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

/* ---- Texts ----------------------------------------------------------------------------------- */

static bool is_first_byte(char c) { return ((unsigned char)c & 0xc0) != 0x80; }

static size_t count_letters(const char *text) {
  size_t letters = 0;
  for (; *text; text++) letters += is_first_byte(*text);
  return letters;
}

/* Between single quotes gnuplot replaces nothing. A quote in the text is shown as an apostrophe: doubled, as gnuplot has it,
 * it would end the text where it stands first. What is longer than `most` letters loses its
 * middle. */
static void print_text(FILE *out, const char *text, size_t most) {
  const size_t letters = count_letters(text), head = letters > most ? most / 2 : letters;
  const size_t tail = letters > most ? letters - (most - head - 1) : letters;
  size_t letter = 0;
  fputc('\'', out);
  for (const char *c = text; *c; c++) {
    letter += is_first_byte(*c);
    if (letter > head && letter <= tail) {
      if (letter == head + 1 && is_first_byte(*c)) fputs("…", out);
      continue;
    }
    if (*c == '\'') {
      fputs("’", out);
    } else {
      fputc(*c == '\t' ? ' ' : *c, out);
    }
  }
  fputc('\'', out);
}

static void print_superscript(FILE *out, int number) {
  static const char *const digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  if (number >= 10) print_superscript(out, number / 10);
  fputs(digits[number % 10], out);
}

/* A quantity at an axis: 0.8, 2²⁷, 100M. */
static void print_quantity(FILE *out, double number) {
  static const struct {
    double unit;
    const char *name;
  } units[] = {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e4, NULL}};
  int exponent;
  size_t i = 0;
  if (number >= 1024 && frexp(number, &exponent) <= 0.5) {
    fputc('2', out);
    print_superscript(out, exponent - 1);
    return;
  }
  while (i < 3 && number < units[i].unit) i++;
  if (i < 3) {
    fprintf(out, "%.4g%s", number / units[i].unit, units[i].name);
  } else {
    fprintf(out, "%.6g", number);
  }
}

/* The conditions, cut into lines at their points; out = NULL only counts the lines. */
static size_t wrap_conditions(FILE *out, const char *text) {
  static const char point[] = " · ";
  size_t lines = 1, used = 0;
  while (*text) {
    const char *end = strstr(text, point);
    char item[256];
    size_t bytes = end ? (size_t)(end - text) : strlen(text);
    if (bytes >= sizeof item) bytes = sizeof item - 1;
    while (bytes > 0 && !is_first_byte(text[bytes])) bytes--;
    memcpy(item, text, bytes);
    item[bytes] = '\0';
    const size_t letters = count_letters(item);
    if (used > 0 && used + letters + 3 > LABEL_LETTERS_MAX) {
      if (out) fputs(".\"\\n\".", out);
      lines++;
      used = 0;
    } else if (used > 0) {
      if (out) fprintf(out, ".'%s'.", point);
      used += 3;
    }
    if (out) print_text(out, item, LABEL_LETTERS_MAX);
    used += letters;
    text = end ? end + strlen(point) : "";
  }
  return lines;
}

/* ---- What a panel holds ---------------------------------------------------------------------- */

/* Of a line, or of a panel's lines. */
typedef struct extent {
  double x_min, x_max, y_max;  /* y_max with limits and spread */
  double limit_min, limit_max; /* limit_max = 0: there are none */
  double limit;                /* that of the greatest share of it */
  bool has_spread;
} extent;

static extent measure_line(const tsr_plot_line *line) {
  extent e = {.x_min = INFINITY, .x_max = -INFINITY, .limit_min = INFINITY};
  double share = 0;
  for (size_t i = 0; i < line->point_count; i++) {
    const tsr_plot_point *p = &line->points[i];
    e.x_min = fmin(e.x_min, p->x);
    e.x_max = fmax(e.x_max, p->x);
    e.y_max = fmax(e.y_max, fmax(fmin(p->high, OUTLIER * p->y), p->limit));
    e.has_spread = e.has_spread || p->low < p->y || p->high > p->y;
    if (p->limit <= 0 || p->y < share * p->limit) continue;
    share = p->y / p->limit;
    e.limit = p->limit;
  }
  for (size_t i = 0; i < line->point_count; i++) {
    const tsr_plot_point *p = &line->points[i];
    if (p->limit <= 0 || p->y < COARSE_SHARE * share * p->limit) continue;
    e.limit_min = fmin(e.limit_min, p->limit);
    e.limit_max = fmax(e.limit_max, p->limit);
  }
  return e;
}

static bool has_one_limit(const extent *e) { return e->limit_max > 0 && e->limit_max <= SAME_LIMIT * e->limit_min; }

static extent measure_panel(const tsr_plot_panel *panel) {
  extent e = {.x_min = INFINITY, .x_max = -INFINITY, .limit_min = INFINITY};
  for (size_t i = 0; i < panel->line_count; i++) {
    const extent own = measure_line(&panel->lines[i]);
    const bool is_one = has_one_limit(&own);
    e.x_min = fmin(e.x_min, own.x_min);
    e.x_max = fmax(e.x_max, own.x_max);
    e.y_max = fmax(e.y_max, own.y_max);
    e.limit_min = fmin(e.limit_min, is_one ? own.limit : own.limit_min);
    e.limit_max = fmax(e.limit_max, is_one ? own.limit : own.limit_max);
    e.has_spread = e.has_spread || own.has_spread;
  }
  if (e.y_max <= 0) e.y_max = 1;
  return e;
}

static size_t longest_label(const tsr_plot_panel *panel) {
  size_t longest = 0;
  for (size_t i = 0; i < panel->line_count; i++) {
    const size_t letters = count_letters(panel->lines[i].label);
    if (letters > longest) longest = letters;
  }
  return longest;
}

static size_t key_columns(const tsr_plot_panel *panel) { return longest_label(panel) > NARROW_LETTERS_MAX ? 1 : 2; }

static size_t key_rows(const tsr_plot_panel *panel) {
  const extent e = measure_panel(panel);
  const size_t entries = panel->line_count + (e.limit_max > 0), columns = key_columns(panel);
  return entries > 1 ? (entries + columns - 1) / columns : 0;
}

static size_t category_height(const tsr_plot_panel *panel) { return CATEGORY_HEIGHT + BAR_HEIGHT * panel->line_count; }

static size_t panel_height(const tsr_chart *chart, const tsr_plot_panel *panel) {
  const size_t plot = chart->x_is_category ? chart->category_count * category_height(panel) : PLOT_HEIGHT;
  return plot + AROUND_HEIGHT + key_rows(panel) * KEY_ROW_HEIGHT;
}

/* ---- Data blocks ----------------------------------------------------------------------------- */

/* How far from the top of its category, whose height is 1, a line's bar is. */
static double bar_offset(const tsr_plot_panel *panel, size_t line) {
  return (CATEGORY_HEIGHT + BAR_HEIGHT * ((double)line + 0.5)) / (double)category_height(panel) - 0.5;
}

/* $pN holds x, y, low, high and limit of line N, of numbers or of bars. */
static void print_data(FILE *out, const tsr_chart *chart, const tsr_plot_panel *panel) {
  for (size_t i = 0; i < panel->line_count; i++) {
    const tsr_plot_line *line = &panel->lines[i];
    fprintf(out, "$p%zu << END\n", i);
    for (size_t k = 0; k < line->point_count; k++) {
      const tsr_plot_point *p = &line->points[k];
      const double x = chart->x_is_category ? p->x + bar_offset(panel, i) : p->x;
      fprintf(out, "%.9g %.9g %.9g %.9g ", x, p->y, p->low, p->high);
      fprintf(out, p->limit > 0 ? "%.9g\n" : "NaN\n", p->limit);
    }
    fputs("END\n", out);
  }
}

/* ---- Lines over a quantity ------------------------------------------------------------------- */

static int compare_numbers(const void *left, const void *right) {
  const double l = *(const double *)left, r = *(const double *)right;
  return (l > r) - (l < r);
}

/* Tics where something was measured, as far as their texts have room. */
static void print_tics(FILE *out, const tsr_plot_panel *panel, double from, double to, bool is_log) {
  double last = -INFINITY;
  size_t count = 0;
  for (size_t i = 0; i < panel->line_count; i++) count += panel->lines[i].point_count;
  double *xs = malloc(count * sizeof *xs);
  if (!xs) return; /* gnuplot's own tics will do */
  count = 0;
  for (size_t i = 0; i < panel->line_count; i++)
    for (size_t k = 0; k < panel->lines[i].point_count; k++) xs[count++] = panel->lines[i].points[k].x;
  qsort(xs, count, sizeof *xs, compare_numbers);
  fputs("set xtics (", out);
  for (size_t i = 0; i < count; i++) {
    const double share = is_log ? log(xs[i] / from) / log(to / from) : (xs[i] - from) / (to - from);
    if (share * PLOT_WIDTH - last < TICS_APART) continue;
    if (last >= 0) fputs(", ", out);
    last = share * PLOT_WIDTH;
    fputc('\'', out);
    print_quantity(out, xs[i]);
    fprintf(out, "' %.9g", xs[i]);
  }
  fputs(")\n", out);
  free(xs);
}

/* One line for all, or one for each in its colour. */
static void print_limits(FILE *out, const tsr_plot_panel *panel, const extent *e) {
  if (e->limit_max <= 0) return;
  if (has_one_limit(e)) {
    fprintf(out, ", \\\n  %.9g with lines lc rgb '#777777' dt 2 title 'memory limit'",
            (e->limit_min + e->limit_max) / 2);
    return;
  }
  for (size_t i = 0; i < panel->line_count; i++) {
    const extent own = measure_line(&panel->lines[i]);
    if (own.limit_max <= 0) continue;
    fprintf(out, ", \\\n  $p%zu using 1:", i);
    fprintf(out, has_one_limit(&own) ? "(%.9g)" : "5", own.limit);
    fprintf(out, " with linespoints pt 2 ps 0.5 lc rgb '%s' dt 2 notitle", colours[i % COLOURS]);
  }
  fputs(", \\\n  NaN with linespoints pt 2 ps 0.5 lc rgb '#777777' dt 2 title 'memory limit'", out);
}

static void print_lines(FILE *out, const tsr_chart *chart, const tsr_plot_panel *panel) {
  const extent e = measure_panel(panel);
  const bool is_log = e.x_min >= 1 && e.x_max >= 20 * e.x_min;
  const double beside = is_log ? pow(e.x_max / e.x_min, 0.04) : fmax((e.x_max - e.x_min) * 0.04, e.x_max * 0.01);
  const double from = is_log ? e.x_min / beside : e.x_min - beside, to = is_log ? e.x_max * beside : e.x_max + beside;
  fprintf(out, is_log ? "set logscale x\n" : "unset logscale x\n");
  fprintf(out, "set xrange [%.9g:%.9g]\nset yrange [0:%.9g]\nset ytics auto\nset border 3\nset grid ytics noxtics\n",
          from, to > from ? to : from + 1, 1.06 * e.y_max);
  print_tics(out, panel, from, to > from ? to : from + 1, is_log);
  fputs("set xlabel ", out);
  print_text(out, chart->x_title, LABEL_LETTERS_MAX);
  fputs(".\"\\n\" offset 0,0.5\nset ylabel ", out);
  print_text(out, chart->y_title, LABEL_LETTERS_MAX);
  fputs("\nplot ", out);
  for (size_t i = 0; e.has_spread && i < panel->line_count; i++)
    fprintf(out, "$p%zu using 1:2:3:4 with yerrorbars lc rgb '%s' pt 0 lw 0.8 notitle, \\\n  ", i,
            colours[i % COLOURS]);
  for (size_t i = 0; i < panel->line_count; i++) {
    fprintf(out, "%s$p%zu using 1:2 with linespoints lc rgb '%s' pt %d title ", i ? ", \\\n  " : "", i,
            colours[i % COLOURS], shapes[i % SHAPES]);
    print_text(out, panel->lines[i].label, LABEL_LETTERS_MAX);
  }
  print_limits(out, panel, &e);
  fputc('\n', out);
}

/* ---- Bars of categories, which lie, so that names have room ---------------------------------- */

static void print_bars(FILE *out, const tsr_chart *chart, const tsr_plot_panel *panel) {
  char name[TSR_PLOT_NAME_BYTES];
  const extent e = measure_panel(panel);
  const double tick = 0.4 * BAR_HEIGHT / (double)category_height(panel);
  const double above = 0.5 - 0.5 * CATEGORY_HEIGHT / (double)category_height(panel);
  fprintf(out, "unset logscale x\nset xrange [0:%.9g]\nset yrange [%zu.5:-0.5]\nset xtics auto\nunset ytics\n",
          1.16 * e.y_max, chart->category_count - 1);
  fputs("set border 1\nset grid xtics noytics\nunset ylabel\nset xlabel ", out);
  print_text(out, chart->y_title, LABEL_LETTERS_MAX);
  fputs(".\"\\n\" offset 0,0.5\n", out);
  for (size_t i = 0; i < chart->category_count; i++) {
    fprintf(out, "set label %zu ", i + 2);
    print_text(out, tsr_chart_category(chart, i, name), LABEL_LETTERS_MAX);
    fprintf(out, " at 0,%.9g left offset 0.4,0 noenhanced\n", (double)i - above);
  }
  fputs("plot ", out);
  for (size_t i = 0; i < panel->line_count; i++) {
    const char *colour = colours[i % COLOURS];
    fprintf(out, "%s$p%zu using (0):1:2:(0) with vectors nohead lw 3 lc rgb '%s' notitle, \\\n", i ? ", \\\n  " : "", i,
            colour);
    fprintf(out, "  $p%zu using 2:1 with points lc rgb '%s' pt %d title ", i, colour, shapes[i % SHAPES]);
    print_text(out, panel->lines[i].label, LABEL_LETTERS_MAX);
    fprintf(out, ", \\\n  $p%zu using 2:1:(sprintf('%%.3g', $2)) with labels left offset 1,0 notitle", i);
    if (e.limit_max > 0)
      fprintf(out,
              ", \\\n  $p%zu using 5:($1 - %.3f):(0):(%.3f) with vectors nohead lw 1.5 dt 2 lc rgb '#777777' notitle",
              i, tick, 2 * tick);
  }
  if (e.limit_max > 0) fputs(", \\\n  NaN with lines lw 1.5 dt 2 lc rgb '#777777' title 'memory limit'", out);
  fputc('\n', out);
  for (size_t i = 0; i < chart->category_count; i++) fprintf(out, "unset label %zu\n", i + 2);
}

/* ---- The whole ------------------------------------------------------------------------------- */

static void print_terminal(FILE *out, size_t width, size_t height, tsr_plot_format format) {
  static const char font[] = "DejaVu Sans,Helvetica,sans-serif";
  if (format == TSR_PLOT_PNG) {
    fprintf(out,
            "set terminal pngcairo noenhanced size %zu,%zu font 'DejaVu Sans,11' fontscale 2 linewidth 3 pointscale 2 "
            "background '#ffffff'\n",
            2 * width, 2 * height);
  } else {
    fprintf(out, "set terminal svg noenhanced size %zu,%zu %s font '%s,15' linewidth 1.6%s\n", width, height,
            format == TSR_PLOT_PAGE ? "dynamic" : "fixed", font,
            format == TSR_PLOT_PAGE ? "" : " background '#ffffff'");
  }
}

static void print_style(FILE *out) {
  fputs("set encoding utf8\nset datafile separator whitespace\nset datafile missing NaN\n"
        "set border 3 lc rgb '#444444'\nset tics nomirror out scale 0.6 textcolor rgb '#222222'\n"
        "set grid ytics lc rgb '#dddddd' lt 1 lw 0.6\nset pointsize 0.9\nset bars 0.5\n",
        out);
}

/* The height of the row of panels that begins with this one. */
static size_t row_height(const tsr_chart *chart, size_t first, size_t end) {
  size_t most = 0;
  for (size_t i = first; i < end && i < first + chart->across; i++) {
    const size_t own = panel_height(chart, &chart->panels[i]);
    if (own > most) most = own;
  }
  return most;
}

static void print_panel(FILE *out, const tsr_chart *chart, const tsr_plot_panel *panel, tsr_plot_format format) {
  const size_t rows = key_rows(panel);
  print_data(out, chart, panel);
  fputs("set title ", out);
  print_text(out, panel->title, LABEL_LETTERS_MAX);
  if (rows) {
    const bool is_small = longest_label(panel) > LARGE_LETTERS_MAX;
    fprintf(out, "\nset key below left Left reverse vertical samplen 2 maxrows %zu font ',%d'\n", rows,
            (is_small ? SMALL_FONT : FONT) * (format == TSR_PLOT_PNG ? 3 : 4) / 4);
  } else {
    fputs("\nunset key\n", out);
  }
  if (chart->x_is_category) {
    print_bars(out, chart, panel);
  } else {
    print_lines(out, chart, panel);
  }
}

void tsr_plot_write_script(FILE *out, const tsr_chart *chart, size_t first, size_t count, tsr_plot_format format) {
  const bool has_heading = format != TSR_PLOT_PAGE && *chart->conditions;
  const size_t heading = has_heading ? wrap_conditions(NULL, chart->conditions) * HEADING_ROW_HEIGHT : 0;
  const size_t across = chart->across < count ? chart->across : count, end = first + count;
  size_t height = heading, above = heading;
  for (size_t i = first; i < end; i += across) height += row_height(chart, i, end);
  print_terminal(out, across * WIDTH, height, format);
  print_style(out);
  fputs("set multiplot\n", out);
  if (has_heading) {
    fputs("set label 1 ", out);
    wrap_conditions(out, chart->conditions);
    fprintf(out, " at screen 0.5,%.6f center font ',%d'\n", 1 - 0.8 * HEADING_ROW_HEIGHT / (double)height,
            SMALL_FONT * (format == TSR_PLOT_PNG ? 3 : 4) / 4);
  }
  for (size_t i = first; i < end; i++) {
    const size_t column = (i - first) % across, own = panel_height(chart, &chart->panels[i]);
    fprintf(out, "set origin %.6f,%.6f\nset size %.6f,%.6f\n", (double)column / (double)across,
            1 - (double)(above + own) / (double)height, 1 / (double)across, (double)own / (double)height);
    print_panel(out, chart, &chart->panels[i], format);
    fputs("unset label 1\n", out);
    if (column + 1 == across) above += row_height(chart, i + 1 - across, end);
  }
  fputs("unset multiplot\n", out);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing scripts for gnuplot (plot_script.h): sizes first, then data blocks, then what draws them; heading and legend last.
 */
#include "tools/lab/plot_script.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sizes in pixels. */
enum {
  PANEL_WIDTH = 380,
  LONE_WIDTH = 620, /* of a figure of one panel */
  LEFT = 52,        /* of the axis, for its tics */
  AXIS_NAME = 24,   /* left of it, for the name, in the first column */
  RIGHT = 16,
  EDGE = 8, /* left of the heading and the legend */
  PLOT_HEIGHT = 230,
  PANEL_TOP = 32,    /* the panel's title */
  PANEL_BOTTOM = 60, /* tics and the axis' name */
  TITLE_ROW = 22,
  SUBTITLE_ROW = 17,
  LEGEND_ROW = 20,
  LEGEND_SAMPLE = 40, /* left of an entry's text */
  CATEGORY_HEIGHT = 24,
  BAR_HEIGHT = 16,
  TICS_APART = 40,
  FONT = 13,
  TITLE_FONT = 16,
  SMALL_FONT = 12,
  LEAST_FONT = 9,
  LABEL_LETTERS_MAX = 60,
  LEAST_LETTERS = 12
};

/* Pixels of a letter per pixel of its font, of a text that has some wide ones. */
#define LETTER 0.58

/* Limits that differ by less are one: they are computed from shares that are rounded. The greatest share is the least
 * rounded, so its limit counts, and those of shares below a part of it do not. */
#define COARSE_SHARE 0.25
#define OUTLIER 1.3 /* a repetition that was faster than this does not make the others small */
#define SAME_LIMIT 1.1
#define LOG_RANGE 60 /* values that differ by more stand on a logarithmic axis */
#define BAR_LOG_RANGE 300

static const char *const colours[] = {"#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#000000"};
enum { COLOURS = sizeof colours / sizeof colours[0], ENTRIES_MAX = 64 };
static const int shapes[] = {7, 5, 9, 13, 11, 15, 6, 4, 8, 12, 10, 14}; /* filled, then open */
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static const char *colour_of(const tsr_plot_line *line) { return colours[line->number % COLOURS]; }
static int shape_of(const tsr_plot_line *line) { return shapes[line->number % SHAPES]; }

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

/* Cuts the next line off, of at most `most` letters unless a word has more; false: there is none. */
static bool next_line(const char **text, size_t most, char *line, size_t room) {
  size_t used = 0, bytes = 0;
  const char *at = *text + strspn(*text, " ");
  while (*at) {
    const size_t word = strcspn(at + strspn(at, " "), " ") + strspn(at, " ");
    size_t letters = 0;
    for (size_t i = 0; i < word; i++) letters += is_first_byte(at[i]);
    if (bytes > 0 && (used + letters > most || bytes + word >= room)) break;
    const size_t taken = word < room ? word : room - 1;
    memcpy(line + bytes, at, taken);
    bytes += taken;
    used += letters;
    at += word;
  }
  line[bytes] = '\0';
  *text = at;
  return bytes > 0;
}

enum { LINE_BYTES = 512 };

static size_t count_lines(const char *text, size_t most) {
  char line[LINE_BYTES];
  size_t lines = 0;
  while (next_line(&text, most, line, sizeof line)) lines++;
  return lines;
}

static size_t letters_in(size_t pixels, double per_letter) {
  const size_t letters = (size_t)((double)pixels / per_letter);
  return letters > LEAST_LETTERS ? letters : LEAST_LETTERS;
}

/* ---- What a panel holds ---------------------------------------------------------------------- */

/* Of a line, or of a panel's lines. */
typedef struct extent {
  double x_min, x_max, y_max;  /* y_max with limits and spread */
  double y_min;                /* the least value */
  double limit_min, limit_max; /* limit_max = 0: there are none */
  double limit;                /* that of the greatest share of it */
  bool has_spread;
} extent;

static extent measure_line(const tsr_plot_line *line) {
  extent e = {.x_min = INFINITY, .x_max = -INFINITY, .limit_min = INFINITY, .y_min = INFINITY};
  double share = 0;
  for (size_t i = 0; i < line->point_count; i++) {
    const tsr_plot_point *p = &line->points[i];
    e.x_min = fmin(e.x_min, p->x);
    e.x_max = fmax(e.x_max, p->x);
    e.y_min = fmin(e.y_min, p->y);
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
  extent e = {.x_min = INFINITY, .x_max = -INFINITY, .limit_min = INFINITY, .y_min = INFINITY};
  for (size_t i = 0; i < panel->line_count; i++) {
    const extent own = measure_line(&panel->lines[i]);
    const bool is_one = has_one_limit(&own);
    e.x_min = fmin(e.x_min, own.x_min);
    e.x_max = fmax(e.x_max, own.x_max);
    e.y_min = fmin(e.y_min, own.y_min);
    e.y_max = fmax(e.y_max, own.y_max);
    e.limit_min = fmin(e.limit_min, is_one ? own.limit : own.limit_min);
    e.limit_max = fmax(e.limit_max, is_one ? own.limit : own.limit_max);
    e.has_spread = e.has_spread || own.has_spread;
  }
  if (e.y_max <= 0) e.y_max = 1;
  return e;
}

static size_t category_height(const tsr_plot_panel *panel) { return CATEGORY_HEIGHT + BAR_HEIGHT * panel->line_count; }

/* ---- The figure as a whole ------------------------------------------------------------------- */

/* What is drawn of a chart, and where: all panels of it have one size in a row, and the legend stands once above them. */
typedef struct figure {
  FILE *out;
  const tsr_chart *chart;
  size_t first, end, across; /* panels */
  tsr_plot_format format;
  size_t width, height, panel_width;
  size_t heading, legend; /* heights */
  int legend_font;
  size_t entries, entry, legend_columns; /* of the legend, and the width of one; 0 entries: it has none */
  bool has_limit, is_used[ENTRIES_MAX];  /* labels */
} figure;

/* Points per pixel: a PNG has twice as many pixels, and counts its fonts in points. */
static int font_of(const figure *f, int pixels) { return f->format == TSR_PLOT_PNG ? (pixels * 3 + 2) / 4 : pixels; }

static size_t panel_height(const tsr_chart *chart, const tsr_plot_panel *panel) {
  const size_t plot = chart->x_is_category ? panel->category_count * category_height(panel) : PLOT_HEIGHT;
  return plot + PANEL_TOP + PANEL_BOTTOM;
}

/* The height of the row of panels that begins with this one. */
static size_t row_height(const figure *f, size_t first) {
  size_t most = 0;
  for (size_t i = first; i < f->end && i < first + f->across; i++) {
    const size_t own = panel_height(f->chart, &f->chart->panels[i]);
    if (own > most) most = own;
  }
  return most;
}

/* Where a logarithmic axis begins; 0: the axis is linear. Bars, which show quotients, are linear for longer. */
static double least_y(const figure *f, const tsr_plot_panel *panel) {
  const extent e = measure_panel(panel);
  const double range = f->chart->x_is_category ? BAR_LOG_RANGE : LOG_RANGE;
  return e.y_min > 0 && e.y_max > range * e.y_min ? pow(10, floor(log10(e.y_min))) : 0;
}

static size_t entry_width(const figure *f, size_t letters) {
  return LEGEND_SAMPLE + (size_t)((double)(letters + 2) * f->legend_font * LETTER);
}

static void plan_legend(figure *f) {
  size_t longest = 0;
  for (size_t i = f->first; i < f->end; i++) {
    const tsr_plot_panel *panel = &f->chart->panels[i];
    for (size_t k = 0; k < panel->line_count; k++) {
      const tsr_plot_line *line = &panel->lines[k];
      if (line->number < ENTRIES_MAX) f->is_used[line->number] = true;
      const size_t letters = count_letters(line->label);
      if (letters > longest) longest = letters;
    }
    f->has_limit = f->has_limit || measure_panel(panel).limit_max > 0;
  }
  for (size_t i = 0; i < f->chart->label_count && i < ENTRIES_MAX; i++) f->entries += f->is_used[i];
  f->entries += f->has_limit;
  if (f->entries < 2) f->entries = 0;
  f->legend_font = FONT;
  while (f->legend_font > LEAST_FONT && entry_width(f, longest) > f->width) f->legend_font--;
  f->entry = entry_width(f, longest);
  f->legend_columns = f->width > f->entry ? f->width / f->entry : 1;
  if (f->legend_columns > f->entries && f->entries) f->legend_columns = f->entries;
  f->legend = f->entries ? (f->entries + f->legend_columns - 1) / f->legend_columns * LEGEND_ROW + 6 : 0;
}

static figure plan_figure(FILE *out, const tsr_chart *chart, size_t first, size_t count, tsr_plot_format format) {
  figure f = {.out = out, .chart = chart, .first = first, .end = first + count, .format = format};
  f.across = chart->across < count ? chart->across : count;
  f.panel_width = count == 1 && format != TSR_PLOT_PAGE ? LONE_WIDTH : PANEL_WIDTH;
  f.width = f.across * f.panel_width + AXIS_NAME;
  if (format != TSR_PLOT_PAGE)
    f.heading = 8 + TITLE_ROW * count_lines(chart->title, letters_in(f.width - 2 * EDGE, LETTER * TITLE_FONT)) +
                SUBTITLE_ROW * count_lines(chart->subtitle, letters_in(f.width - 2 * EDGE, LETTER * SMALL_FONT));
  plan_legend(&f);
  f.height = f.heading + f.legend;
  for (size_t i = first; i < f.end; i += f.across) f.height += row_height(&f, i);
  return f;
}

/* ---- Data blocks ----------------------------------------------------------------------------- */

/* How far from the top of its category, whose height is 1, a line's bar is. */
static double bar_offset(const tsr_plot_panel *panel, size_t line) {
  return (CATEGORY_HEIGHT + BAR_HEIGHT * ((double)line + 0.5)) / (double)category_height(panel) - 0.5;
}

/* $pN holds x, y, low, high and limit of line N, and `top` where high is above it. */
static void print_data(const figure *f, const tsr_plot_panel *panel, double top) {
  for (size_t i = 0; i < panel->line_count; i++) {
    const tsr_plot_line *line = &panel->lines[i];
    fprintf(f->out, "$p%zu << END\n", i);
    for (size_t k = 0; k < line->point_count; k++) {
      const tsr_plot_point *p = &line->points[k];
      const double x = f->chart->x_is_category ? p->x + bar_offset(panel, i) : p->x;
      fprintf(f->out, "%.9g %.9g %.9g %.9g ", x, p->y, fmax(p->low, least_y(f, panel)), fmin(p->high, top));
      fprintf(f->out, p->limit > 0 ? "%.9g " : "NaN ", p->limit);
      fprintf(f->out, p->high > top ? "%.9g\n" : "NaN\n", top);
    }
    fputs("END\n", f->out);
  }
}

/* ---- Lines over a quantity ------------------------------------------------------------------- */

static int compare_numbers(const void *left, const void *right) {
  const double l = *(const double *)left, r = *(const double *)right;
  return (l > r) - (l < r);
}

/* Tics where something was measured, as far as their texts have room. */
static void print_tics(const figure *f, const tsr_plot_panel *panel, double from, double to, bool is_log) {
  FILE *out = f->out;
  const double pixels = (double)(f->panel_width - LEFT - RIGHT);
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
    if (share * pixels - last < TICS_APART) continue;
    if (last >= 0) fputs(", ", out);
    last = share * pixels;
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
    fprintf(out, ", \\\n  %.9g with lines lc rgb '#777777' dt 2 notitle", (e->limit_min + e->limit_max) / 2);
    return;
  }
  for (size_t i = 0; i < panel->line_count; i++) {
    const extent own = measure_line(&panel->lines[i]);
    if (own.limit_max <= 0) continue;
    fprintf(out, ", \\\n  $p%zu using 1:", i);
    fprintf(out, has_one_limit(&own) ? "(%.9g)" : "5", own.limit);
    fprintf(out, " with linespoints pt 2 ps 0.5 lc rgb '%s' dt 2 notitle", colour_of(&panel->lines[i]));
  }
}

/* Powers of two stand as far from each other as their exponents. */
static bool are_powers(const tsr_plot_panel *panel) {
  int exponent;
  for (size_t i = 0; i < panel->line_count; i++)
    for (size_t k = 0; k < panel->lines[i].point_count; k++)
      if (frexp(panel->lines[i].points[k].x, &exponent) < 0.5 || frexp(panel->lines[i].points[k].x, &exponent) > 0.5)
        return false;
  return true;
}

static void print_x_axis(const figure *f, const tsr_plot_panel *panel, const extent *e) {
  const bool is_log = e->x_min > 0 && (e->x_max >= 20 * e->x_min || (e->x_max >= 4 * e->x_min && are_powers(panel)));
  const double beside = is_log ? pow(e->x_max / e->x_min, 0.04) : fmax((e->x_max - e->x_min) * 0.04, e->x_max * 0.01);
  const double from = is_log ? e->x_min / beside : e->x_min - beside;
  const double to = is_log ? e->x_max * beside : e->x_max + beside, end = to > from ? to : from + 1;
  fprintf(f->out, is_log ? "set logscale x 2\n" : "unset logscale x\n");
  fprintf(f->out, "set xrange [%.9g:%.9g]\n", from, end);
  print_tics(f, panel, from, end, is_log);
  fputs("set xlabel ", f->out);
  print_text(f->out, f->chart->x_title, LABEL_LETTERS_MAX);
  fputs(" offset 0,0.6\n", f->out);
}

static void print_y_axis(const figure *f, const tsr_plot_panel *panel, double top) {
  if (least_y(f, panel) > 0) {
    fprintf(f->out, "set logscale y\nset yrange [%.9g:%.9g]\nset format y '%%g'\n", least_y(f, panel), top);
  } else {
    fprintf(f->out, "unset logscale y\nset yrange [0:%.9g]\n", top);
  }
  fputs("set ytics auto\nset border 3\nset grid ytics noxtics\n", f->out);
}

static void print_lines(const figure *f, const tsr_plot_panel *panel) {
  FILE *out = f->out;
  const extent e = measure_panel(panel);
  const double top = least_y(f, panel) > 0 ? 1.3 * e.y_max : 1.06 * e.y_max;
  bool is_clipped = false;
  print_data(f, panel, top);
  print_x_axis(f, panel, &e);
  print_y_axis(f, panel, top);
  for (size_t i = 0; i < panel->line_count; i++)
    for (size_t k = 0; k < panel->lines[i].point_count; k++)
      is_clipped = is_clipped || panel->lines[i].points[k].high > top;
  fputs("plot ", out);
  for (size_t i = 0; e.has_spread && i < panel->line_count; i++)
    fprintf(out, "$p%zu using 1:2:3:4 with yerrorbars lc rgb '%s' pt 0 lw 0.8 notitle, \\\n  ", i,
            colour_of(&panel->lines[i]));
  for (size_t i = 0; is_clipped && i < panel->line_count; i++)
    fprintf(out, "$p%zu using 1:6 with points lc rgb '%s' pt 8 notitle, \\\n  ", i, colour_of(&panel->lines[i]));
  for (size_t i = 0; i < panel->line_count; i++)
    fprintf(out, "%s$p%zu using 1:2 with linespoints lc rgb '%s' pt %d notitle", i ? ", \\\n  " : "", i,
            colour_of(&panel->lines[i]), shape_of(&panel->lines[i]));
  print_limits(out, panel, &e);
  fputc('\n', out);
}

/* ---- Bars of categories, which lie, so that names have room ---------------------------------- */

/* The number behind a bar in three digits, and what the file says of it. */
static void make_bar_text(const tsr_plot_point *point, char *text, size_t room) {
  const int decimals = point->y >= 99.95 ? 0 : point->y >= 9.995 ? 1 : 2;
  const char *between = point->text ? "  " : "", *behind = point->text ? point->text : "";
  if (point->y < 0.9995) {
    snprintf(text, room, "%.3g%s%s", point->y, between, behind);
  } else {
    snprintf(text, room, "%.*f%s%s", decimals, point->y, between, behind);
  }
}

/* Where that text begins: behind the mark of the limit, if it is near. */
static double bar_text_at(const tsr_plot_point *point) {
  return point->limit > point->y && point->limit < OUTLIER * point->y ? point->limit : point->y;
}

/* Where the axis ends, so that all texts behind bars have room. */
static double end_of_bars(const figure *f, const tsr_plot_panel *panel, const extent *e) {
  const double pixels = (double)(f->panel_width - RIGHT - AXIS_NAME);
  double end = e->y_max;
  char text[2 * TSR_PLOT_NAME_BYTES];
  for (size_t i = 0; i < panel->line_count; i++)
    for (size_t k = 0; k < panel->lines[i].point_count; k++) {
      const tsr_plot_point *p = &panel->lines[i].points[k];
      make_bar_text(p, text, sizeof text);
      const double taken = fmin(14 + LETTER * FONT * (double)count_letters(text), 0.7 * pixels);
      const double share = 1 - taken / pixels;
      end = fmax(end, least_y(f, panel) > 0 ? least_y(f, panel) * pow(bar_text_at(p) / least_y(f, panel), 1 / share)
                                            : bar_text_at(p) / share);
    }
  return 1.02 * end;
}

/* The names above the bars, and the numbers behind them; returns how many there are. */
static size_t print_bar_texts(const figure *f, const tsr_plot_panel *panel) {
  char text[2 * TSR_PLOT_NAME_BYTES];
  const double above = 0.5 - 0.5 * CATEGORY_HEIGHT / (double)category_height(panel);
  size_t count = 0;
  for (size_t i = 0; i < panel->category_count; i++) {
    fprintf(f->out, "set label %zu ", ++count);
    print_text(f->out, tsr_chart_category(f->chart, panel, i, text), LABEL_LETTERS_MAX);
    fprintf(f->out, " at %.9g,%.9g left offset 0.4,0 noenhanced\n", least_y(f, panel), (double)i - above);
  }
  for (size_t i = 0; i < panel->line_count; i++)
    for (size_t k = 0; k < panel->lines[i].point_count; k++) {
      const tsr_plot_point *p = &panel->lines[i].points[k];
      make_bar_text(p, text, sizeof text);
      fprintf(f->out, "set label %zu ", ++count);
      print_text(f->out, text, LABEL_LETTERS_MAX);
      fprintf(f->out, " at %.9g,%.9g left offset 1,0 noenhanced\n", bar_text_at(p), p->x + bar_offset(panel, i));
    }
  return count;
}

static void print_bars(const figure *f, const tsr_plot_panel *panel) {
  FILE *out = f->out;
  const extent e = measure_panel(panel);
  const double tick = 0.4 * BAR_HEIGHT / (double)category_height(panel), end = end_of_bars(f, panel, &e);
  print_data(f, panel, INFINITY);
  fprintf(out, "%sset logscale x\nset xrange [%.9g:%.9g]\nset yrange [%zu.5:-0.5]\nset xtics auto\nunset ytics\n",
          least_y(f, panel) > 0 ? "" : "un", least_y(f, panel), end, panel->category_count - 1);
  fputs("set border 1\nset grid xtics noytics\nset xlabel ", out);
  print_text(out, f->chart->y_title, LABEL_LETTERS_MAX);
  fputs(" offset 0,0.6\n", out);
  const size_t texts = print_bar_texts(f, panel);
  fputs("plot ", out);
  for (size_t i = 0; i < panel->line_count; i++) {
    const char *colour = colour_of(&panel->lines[i]);
    fprintf(out, "%s$p%zu using (%.9g):1:($2-%.9g):(0) with vectors nohead lw 3 lc rgb '%s' notitle, \\\n",
            i ? ", \\\n  " : "", i, least_y(f, panel), least_y(f, panel), colour);
    fprintf(out, "  $p%zu using 2:1 with points lc rgb '%s' pt %d notitle", i, colour, shape_of(&panel->lines[i]));
    if (e.limit_max > 0)
      fprintf(out,
              ", \\\n  $p%zu using 5:($1 - %.3f):(0):(%.3f) with vectors nohead lw 1.5 dt 2 lc rgb '#777777' notitle",
              i, tick, 2 * tick);
  }
  fputc('\n', out);
  for (size_t i = 1; i <= texts; i++) fprintf(out, "unset label %zu\n", i);
}

/* ---- Heading and legend ---------------------------------------------------------------------- */

/* A text on the whole figure, whose axes are pixels from its upper left corner. */
static void place_text(const figure *f, const char *text, double x, double y, const char *font, int pixels) {
  fputs("set label ", f->out);
  print_text(f->out, text, letters_in((size_t)((double)f->width - x), LETTER * pixels));
  fprintf(f->out, " at first %.9g,%.9g left noenhanced font '%s,%d'\n", x, y, font, font_of(f, pixels));
}

static void print_heading(const figure *f) {
  char line[LINE_BYTES];
  double y = 0.5 * TITLE_ROW + 4;
  if (!f->heading) return;
  const char *rest = f->chart->title;
  for (; next_line(&rest, letters_in(f->width - 2 * EDGE, LETTER * TITLE_FONT), line, sizeof line); y += TITLE_ROW)
    place_text(f, line, EDGE, y, "DejaVu Sans", TITLE_FONT);
  y += 0.5 * (SUBTITLE_ROW - TITLE_ROW);
  rest = f->chart->subtitle;
  for (; next_line(&rest, letters_in(f->width - 2 * EDGE, LETTER * SMALL_FONT), line, sizeof line); y += SUBTITLE_ROW)
    place_text(f, line, EDGE, y, "DejaVu Sans", SMALL_FONT);
}

/* The entries one after the other, row by row. */
static void print_legend(const figure *f) {
  const size_t rows = f->entries ? (f->entries + f->legend_columns - 1) / f->legend_columns : 0;
  size_t place = 0;
  for (size_t i = 0; f->entries && i <= f->chart->label_count; i++) {
    const bool is_limit = i == f->chart->label_count;
    if (is_limit ? !f->has_limit : i >= ENTRIES_MAX || !f->is_used[i]) continue;
    const double x = (double)(EDGE + f->entry * (place / rows));
    const double y = (double)f->heading + LEGEND_ROW * ((double)(place % rows) + 0.5);
    const char *colour = is_limit ? "#777777" : colours[i % COLOURS];
    fprintf(f->out, "set arrow from first %.9g,%.9g to first %.9g,%.9g nohead lc rgb '%s'%s\n", x, y, x + 28, y, colour,
            is_limit ? " dt 2" : "");
    if (!is_limit)
      fprintf(f->out, "set label '' at first %.9g,%.9g point pt %d lc rgb '%s'\n", x + 14, y, shapes[i % SHAPES],
              colour);
    place_text(f, is_limit ? "memory limit" : f->chart->labels[i], x + 34, y, "DejaVu Sans", f->legend_font);
    place++;
  }
}

/* The name of the y axis, once in each row of panels. */
static void print_axis_names(const figure *f) {
  size_t above = f->heading + f->legend;
  for (size_t i = f->first; i < f->end && !f->chart->x_is_category; i += f->across) {
    fputs("set label ", f->out);
    print_text(f->out, f->chart->y_title, LABEL_LETTERS_MAX);
    fprintf(f->out, " at first 12,%.9g center rotate by 90\n", (double)above + PANEL_TOP + 0.5 * PLOT_HEIGHT);
    above += row_height(f, i);
  }
}

/* Labels and arrows are drawn with a plot: one of nothing. */
static void print_frame(const figure *f) {
  fputs("unset title\nunset xlabel\nunset border\nunset xtics\nunset ytics\nunset grid\nunset logscale\n"
        "set lmargin at screen 0\nset rmargin at screen 1\nset tmargin at screen 1\nset bmargin at screen 0\n",
        f->out);
  fprintf(f->out, "set xrange [0:%zu]\nset yrange [%zu:0]\n", f->width, f->height);
  print_heading(f);
  print_legend(f);
  print_axis_names(f);
  fputs("plot -1 notitle\n", f->out);
}

/* ---- The whole ------------------------------------------------------------------------------- */

static void print_terminal(const figure *f) {
  static const char fonts[] = "DejaVu Sans,Helvetica,sans-serif";
  if (f->format == TSR_PLOT_PNG) {
    fprintf(f->out,
            "set terminal pngcairo noenhanced size %zu,%zu font 'DejaVu Sans,%d' fontscale 2 linewidth 3 pointscale 2 "
            "background '#ffffff'\n",
            2 * f->width, 2 * f->height, font_of(f, FONT));
  } else {
    const bool is_page = f->format == TSR_PLOT_PAGE;
    fprintf(f->out, "set terminal svg noenhanced size %zu,%zu %s font '%s,%d' linewidth 1.6%s\n", f->width, f->height,
            is_page ? "dynamic" : "fixed", fonts, FONT, is_page ? "" : " background '#ffffff'");
  }
}

static void print_style(const figure *f) {
  fprintf(f->out,
          "set encoding utf8\nset datafile separator whitespace\nset datafile missing NaN\n"
          "set border 3 lc rgb '#444444'\nset tics nomirror out scale 0.6 textcolor rgb '#222222' font ',%d'\n"
          "set xtics offset 0,0.3\nset grid ytics lc rgb '#dddddd' lt 1 lw 0.6\nset pointsize 0.8\nset bars 0.5\nunset "
          "key\n",
          font_of(f, SMALL_FONT));
}

/* A panel `above` pixels from the top, in the column `column`. */
static void print_panel(const figure *f, const tsr_plot_panel *panel, size_t column, size_t above) {
  const double width = (double)f->width, height = (double)f->height;
  const size_t x = AXIS_NAME + column * f->panel_width, left = f->chart->x_is_category ? 0 : LEFT;
  const size_t bottom = above + panel_height(f->chart, panel) - PANEL_BOTTOM;
  fprintf(f->out, "set lmargin at screen %.6f\nset rmargin at screen %.6f\n", (double)(x + left) / width,
          (double)(x + f->panel_width - RIGHT) / width);
  fprintf(f->out, "set tmargin at screen %.6f\nset bmargin at screen %.6f\n", 1 - (double)(above + PANEL_TOP) / height,
          1 - (double)bottom / height);
  fputs("set title ", f->out);
  print_text(f->out, panel->title, letters_in(f->panel_width, LETTER * FONT));
  fputs(" offset 0,-0.4\n", f->out);
  if (f->chart->x_is_category) {
    print_bars(f, panel);
  } else {
    print_lines(f, panel);
  }
}

void tsr_plot_write_script(FILE *out, const tsr_chart *chart, size_t first, size_t count, tsr_plot_format format) {
  const figure f = plan_figure(out, chart, first, count, format);
  size_t above = f.heading + f.legend;
  print_terminal(&f);
  print_style(&f);
  fputs("set multiplot\n", out);
  for (size_t i = first; i < f.end; i++) {
    const size_t column = (i - first) % f.across;
    print_panel(&f, &chart->panels[i], column, above);
    if (column + 1 == f.across) above += row_height(&f, i + 1 - f.across);
  }
  print_frame(&f);
  fputs("unset multiplot\n", out);
}

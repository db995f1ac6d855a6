/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing the page (report_page.h): its style, then a section for each file.
 */
#define _POSIX_C_SOURCE 200809L /* open_memstream, gmtime_r */
#include "tools/lab/report_page.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/lab/plot_gnuplot.h"
#include "tools/lab/reshape.h"

/* Light and dark follow the reader's system. Of gnuplot's colours black and the greys follow as well; the others can be seen
 * on both grounds. */
static const char style[] =
    ":root{color-scheme:light dark;--ground:#fff;--card:#f6f7f8;--ink:#1c1e21;--faint:#5b6168;--line:#d5d9dd;"
    "--wrong:#b3261e}\n"
    "@media(prefers-color-scheme:dark){:root{--ground:#14171a;--card:#1d2125;--ink:#e8eaed;--faint:#a3abb3;"
    "--line:#3a4147;--wrong:#ff8a80}}\n"
    "*{box-sizing:border-box}\n"
    "body{margin:0 auto;padding:1rem;max-width:78rem;background:var(--ground);color:var(--ink);"
    "font:1rem/1.5 system-ui,sans-serif}\n"
    "body,li,td{overflow-wrap:anywhere}h1{font-size:1.6rem;line-height:1.2}h2{font-size:1.3rem;margin-top:2.5rem;"
    "overflow-wrap:anywhere}"
    "h3{font-size:1.05rem;margin:1.6rem 0 .5rem}\n"
    "p,li{max-width:45rem}.faint{color:var(--faint)}.wrong{color:var(--wrong);font-weight:600}\n"
    "a{color:inherit}\n"
    ".figures{display:grid;gap:1rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),1fr))}\n"
    "figure{margin:0;padding:.5rem;background:var(--card);border-radius:.5rem;max-width:44rem}\n"
    "figure svg{display:block;width:100%;height:auto}\n"
    "figure svg text{fill:var(--ink);font-family:system-ui,sans-serif}\n"
    "figcaption{color:var(--faint);font-size:.85rem;padding:0 .5rem}\n"
    "figure [stroke='rgb(  0,   0,   0)'],figure [stroke='black']{stroke:var(--ink)}"
    "figure [fill='rgb(  0,   0,   0)'],figure [fill='black']{fill:var(--ink)}"
    "figure [color='rgb(  0,   0,   0)'],figure [color='black']{color:var(--ink)}\n"
    "figure [stroke='rgb( 68,  68,  68)']{stroke:var(--faint)}"
    "figure [stroke='rgb(221, 221, 221)']{stroke:var(--line)}\n"
    ".scroll{overflow-x:auto}table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:.25rem .7rem .25rem 0;text-align:left;border-bottom:1px solid var(--line);vertical-align:top;"
    "white-space:nowrap}th,.best "
    "td{white-space:normal}th{color:var(--faint);font-weight:600}td.number{text-align:right}\n"
    "dl{display:grid;grid-template-columns:fit-content(45%) 1fr;gap:.15rem "
    "1rem;margin:0}dt{color:var(--faint);overflow-wrap:anywhere}"
    "dd{margin:0;overflow-wrap:anywhere}summary{cursor:pointer;margin:1rem 0 .5rem}\n"
    "@media(max-width:40rem){.rows,.rows tbody,.rows tr,.rows td{display:block}.rows th{display:none}"
    ".rows tr{padding:.5rem 0;border-bottom:2px solid var(--line)}.rows td,.rows td.number{white-space:normal;"
    "text-align:left;border:0;padding:0}.rows td::before{content:attr(data-name) \": \";color:var(--faint)}}\n";

static void print_head(FILE *out) {
  fprintf(out,
          "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
          "<title>Tessera: results</title>\n<style>\n%s</style>\n</head>\n<body>\n",
          style);
}

static void print_cell(FILE *out, const char *kind, const char *text) {
  fprintf(out, "<td%s>", kind);
  tsr_plot_print_escaped(out, text);
  fputs("</td>", out);
}

/* ---- What was measured ----------------------------------------------------------------------- */

/* The lines above the rows are what the file says of itself; ratios stand below them. */
static bool is_ratio(const char *note) { return strncmp(note, "ratio", 5) == 0; }

/* Whether a note is `NAME: ...`, which says how the figures are drawn or what they call a column or a value. */
static bool is_for_figures(const tsr_results *results, const char *note) {
  static const char *const names[] = {"plot", "title", "subtitle", "device", "date", "commit"};
  const char *colon = strstr(note, ": ");
  const size_t letters = colon ? (size_t)(colon - note) : 0;
  if (letters == 0) return false;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    if (strlen(names[i]) == letters && strncmp(note, names[i], letters) == 0) return true;
  for (size_t i = 0; i < results->column_count; i++)
    if (strlen(results->names[i]) == letters && strncmp(note, results->names[i], letters) == 0) return true;
  for (size_t i = 0; i < results->row_count * results->column_count; i++)
    if (strncmp(note, results->fields[i], letters) == 0 && !results->fields[i][letters]) return true;
  return false;
}

static void print_notes(FILE *out, const tsr_results *results) {
  bool is_open = false;
  for (size_t i = 0; i < results->note_count; i++) {
    if (is_ratio(results->notes[i]) || is_for_figures(results, results->notes[i])) continue;
    fputs(is_open ? "\n" : "<p>", out);
    is_open = true;
    tsr_plot_print_escaped(out, results->notes[i]);
  }
  if (is_open) fputs("</p>\n", out);
}

/* The letters of the longest spec that `text` begins with; 0: none. */
static size_t spec_at(const tsr_results *results, const char *text) {
  const size_t spec = tsr_results_column(results, "spec");
  size_t longest = 0;
  for (size_t row = 0; spec < results->column_count && row < results->row_count; row++) {
    const char *path = tsr_results_field(results, row, spec);
    const size_t letters = strlen(path);
    if (letters > longest && strncmp(text, path, letters) == 0) longest = letters;
  }
  return longest;
}

/* A ratio with the specs' names instead of their paths. */
static void print_ratio(FILE *out, const tsr_results *results, const char *note) {
  const char *at = note + strlen("ratio");
  char text[2] = "";
  for (at += strspn(at, " "); *at;) {
    const size_t letters = spec_at(results, at);
    const size_t ending = letters > 4 && strncmp(at + letters - 4, ".ini", 4) == 0 ? 4 : 0;
    size_t name = letters;
    while (name > 0 && at[name - 1] != '/') name--;
    for (size_t i = letters ? name : 0; i < (letters ? letters - ending : 1); i++) {
      text[0] = at[i];
      tsr_plot_print_escaped(out, text);
    }
    at += letters ? letters : 1;
  }
}

static void print_ratios(FILE *out, const tsr_results *results) {
  bool is_open = false;
  for (size_t i = 0; i < results->note_count; i++) {
    if (!is_ratio(results->notes[i])) continue;
    fputs(is_open ? "" : "<h3>Ratios</h3>\n<ul>\n", out);
    is_open = true;
    fputs("<li>", out);
    print_ratio(out, results, results->notes[i]);
    fputs("</li>\n", out);
  }
  if (is_open) fputs("</ul>\n", out);
}

/* The values of a condition, each once, in the order of the rows; nothing where none is recorded. */
static void print_values(FILE *out, const tsr_results *results, size_t column) {
  enum { VALUES_MAX = 12 };
  const char *values[VALUES_MAX];
  size_t count = 0;
  bool are_more = false;
  for (size_t row = 0; row < results->row_count; row++) {
    const char *value = tsr_results_field(results, row, column);
    size_t i = 0;
    while (i < count && strcmp(values[i], value) != 0) i++;
    if (i < count || !tsr_results_has(results, row, column)) continue;
    are_more = count == VALUES_MAX;
    if (are_more) break;
    values[count++] = value;
  }
  if (count == 0) return;
  fputs("<dt>", out);
  tsr_plot_print_escaped(out, results->names[column]);
  fputs("</dt><dd>", out);
  for (size_t i = 0; i < count; i++) {
    if (i) fputs(", ", out);
    tsr_plot_print_escaped(out, values[i]);
  }
  fputs(are_more ? ", ...</dd>\n" : "</dd>\n", out);
}

static void print_composition(FILE *out, const tsr_results *results, const tsr_chart *chart) {
  fputs("<h3>What was measured</h3>\n<dl>\n", out);
  for (size_t i = 0; i < results->column_count; i++)
    if (tsr_chart_is_condition(chart, results, i)) print_values(out, results, i);
  fputs("</dl>\n", out);
}

/* What the figures do not show. */
static void print_left_out(FILE *out, const tsr_chart *chart) {
  if (chart->unsteady)
    fprintf(out,
            "<p class=\"wrong\">%zu points are unsteady: their fastest repetition took at most half as long as the "
            "slowest. The machine was busy, or the batches are small.</p>\n",
            chart->unsteady);
  if (chart->wrong)
    fprintf(out, "<p class=\"wrong\">%zu rows that bench found wrong (ok = no) are in no figure.</p>\n", chart->wrong);
  if (chart->missing)
    fprintf(out, "<p>%zu rows have no measurement, such as those of specs that were refused.</p>\n", chart->missing);
  if (chart->repeated)
    fprintf(out, "<p>%zu rows were measured again by later ones of the same conditions, which count.</p>\n",
            chart->repeated);
}

/* ---- Figures --------------------------------------------------------------------------------- */

static bool has_limit(const tsr_chart *chart) {
  for (size_t i = 0; i < chart->panel_count; i++)
    for (size_t k = 0; k < chart->panels[i].line_count; k++)
      for (size_t p = 0; p < chart->panels[i].lines[k].point_count; p++)
        if (chart->panels[i].lines[k].points[p].limit > 0) return true;
  return false;
}

static tsr_status print_figure(FILE *out, const tsr_chart *chart, size_t file, size_t panel, tsr_error *error) {
  char name[48], *drawn = NULL, *title = NULL;
  size_t bytes = 0, title_bytes = 0;
  FILE *text = open_memstream(&title, &title_bytes);
  if (!text) return tsr_fail(error, TSR_NO_MEMORY, "no memory for a figure");
  fprintf(text, "%s%s%s by %s", chart->panels[panel].title, *chart->panels[panel].title ? ": " : "", chart->y_title,
          chart->x_title);
  if (fclose(text) != 0) {
    free(title);
    return tsr_fail(error, TSR_NO_MEMORY, "no memory for a figure");
  }
  snprintf(name, sizeof name, "f%zup%zu", file, panel);
  const tsr_picture picture = {panel, 1, TSR_PLOT_PAGE, title, name};
  tsr_status status = tsr_plot_draw(chart, &picture, &drawn, &bytes, error);
  if (status == TSR_OK) {
    fputs("<figure>\n", out);
    fwrite(drawn, 1, bytes, out);
    if (chart->panels[panel].left_out)
      fprintf(out, "<figcaption>%zu lines with lesser values are left out.</figcaption>\n",
              chart->panels[panel].left_out);
    fputs("</figure>\n", out);
  }
  free(drawn);
  free(title);
  return status;
}

static tsr_status print_figures(FILE *out, const tsr_chart *chart, size_t file, tsr_error *error) {
  tsr_status status = TSR_OK;
  fputs("<h3>Figures</h3>\n", out);
  if (has_limit(chart))
    fputs("<p>Dashed lines are the memory limit: what random access to the device's memory allows at most.</p>\n", out);
  fputs("<div class=\"figures\">\n", out);
  for (size_t i = 0; status == TSR_OK && i < chart->panel_count; i++) status = print_figure(out, chart, file, i, error);
  fputs("</div>\n", out);
  return status;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static void print_best_row(FILE *out, const tsr_results *results, const tsr_chart *chart, const tsr_plot_panel *panel,
                           const tsr_plot_line *line) {
  char number[48];
  size_t best = 0;
  for (size_t i = 1; i < line->point_count; i++)
    if (line->points[i].y > line->points[best].y) best = i;
  const tsr_plot_point *p = &line->points[best];
  fputs("<tr>", out);
  if (*panel->title) print_cell(out, "", panel->title);
  print_cell(out, "", line->label);
  snprintf(number, sizeof number, "%.4g", p->y);
  print_cell(out, " class=\"number\"", number);
  print_cell(out, "", tsr_results_field(results, p->row, chart->x));
  if (p->limit > 0) {
    snprintf(number, sizeof number, "%.0f %%", 100 * p->y / p->limit);
    print_cell(out, " class=\"number\"", number);
  } else if (has_limit(chart)) {
    print_cell(out, " class=\"number\"", "-");
  }
  fputs("</tr>\n", out);
}

static void print_best(FILE *out, const tsr_results *results, const tsr_chart *chart) {
  const bool is_limited = has_limit(chart);
  fprintf(out, "<h3>The greatest value of each line%s</h3>\n<div class=\"scroll\"><table class=\"best\">\n<tr>",
          is_limited ? ", and its share of the memory limit" : "");
  if (*chart->panels[0].title) fputs("<th>figure</th>", out);
  fputs("<th>line</th><th>", out);
  tsr_plot_print_escaped(out, chart->y_title);
  fputs("</th><th>at ", out);
  tsr_plot_print_escaped(out, chart->x_title);
  fputs(is_limited ? "</th><th>of the limit</th></tr>\n" : "</th></tr>\n", out);
  for (size_t i = 0; i < chart->panel_count; i++)
    for (size_t k = 0; k < chart->panels[i].line_count; k++)
      print_best_row(out, results, chart, &chart->panels[i], &chart->panels[i].lines[k]);
  fputs("</table></div>\n", out);
}

/* What all rows say in a column; NULL: they differ, or none says anything. */
static const char *common_field(const tsr_results *results, size_t column) {
  const char *first = tsr_results_field(results, 0, column);
  for (size_t row = 1; row < results->row_count; row++)
    if (strcmp(first, tsr_results_field(results, row, column)) != 0) return NULL;
  return first;
}

static bool is_in_table(const tsr_results *results, size_t column) {
  const bool is_first = column == 0; /* a row has a name, also where there is one alone */
  return is_first || !common_field(results, column);
}

/* What all rows have in common stands above: the table has the columns in which they differ. */
static void print_common(FILE *out, const tsr_results *results) {
  fputs("<dl class=\"common\">\n", out);
  for (size_t i = 0; i < results->column_count; i++) {
    const char *field = common_field(results, i);
    if (is_in_table(results, i) || !tsr_results_has(results, 0, i)) continue;
    fputs("<dt>", out);
    tsr_plot_print_escaped(out, results->names[i]);
    fputs("</dt><dd>", out);
    tsr_plot_print_escaped(out, field);
    fputs("</dd>\n", out);
  }
  fputs("</dl>\n", out);
}

/* A cell knows its column's name, which a narrow page shows in front of it. */
static void print_field(FILE *out, const tsr_results *results, size_t row, size_t column) {
  const char *field = tsr_results_field(results, row, column), *name = results->names[column];
  double number;
  const bool is_wrong = strcmp(name, "ok") == 0 && strcmp(field, "yes") != 0;
  fputs("<td data-name=\"", out);
  tsr_plot_print_escaped(out, name);
  fprintf(out, "\"%s>",
          is_wrong                                            ? " class=\"wrong\""
          : tsr_results_number(results, row, column, &number) ? " class=\"number\""
                                                              : "");
  tsr_plot_print_escaped(out, field);
  fputs("</td>", out);
}

static void print_rows(FILE *out, const tsr_results *results) {
  fprintf(out, "<details><summary>All %zu rows</summary>\n", results->row_count);
  print_common(out, results);
  fputs("<div class=\"scroll\"><table class=\"rows\">\n<tr>", out);
  for (size_t i = 0; i < results->column_count; i++) {
    if (!is_in_table(results, i)) continue;
    fputs("<th>", out);
    tsr_plot_print_escaped(out, results->names[i]);
    fputs("</th>", out);
  }
  fputs("</tr>\n", out);
  for (size_t row = 0; row < results->row_count; row++) {
    fputs("<tr>", out);
    for (size_t i = 0; i < results->column_count; i++)
      if (is_in_table(results, i)) print_field(out, results, row, i);
    fputs("</tr>\n", out);
  }
  fputs("</table></div></details>\n", out);
}

/* ---- The whole ------------------------------------------------------------------------------- */

/* The file's own title, or else its path, and where it comes from. */
static void print_section_head(FILE *out, const tsr_results *results, const tsr_chart *chart, const char *path,
                               size_t file) {
  const char *title = tsr_results_note(results, "title");
  fprintf(out, "<section id=\"file%zu\">\n<h2>", file);
  tsr_plot_print_escaped(out, title ? title : path);
  fputs("</h2>\n<p class=\"faint\">", out);
  tsr_plot_print_escaped(out, path);
  if (*chart->subtitle) fputs(" · ", out);
  tsr_plot_print_escaped(out, chart->subtitle);
  fputs("</p>\n", out);
}

static tsr_status print_section(FILE *out, const tsr_report_file *source, size_t file, tsr_error *error) {
  const tsr_results *results = source->results;
  tsr_chart chart;
  tsr_status status = tsr_chart_make(results, source->request, &chart, error);
  if (status) return status;
  print_section_head(out, results, &chart, source->path, file);
  print_notes(out, results);
  print_composition(out, results, &chart);
  print_left_out(out, &chart);
  status = print_figures(out, &chart, file, error);
  if (status == TSR_OK) {
    print_best(out, results, &chart);
    print_ratios(out, results);
    print_rows(out, results);
    fputs("</section>\n", out);
  }
  tsr_chart_free(&chart);
  return status;
}

static void print_contents(FILE *out, const tsr_report_file *files, size_t count) {
  if (count < 2) return;
  fputs("<nav>\n<ul>\n", out);
  for (size_t i = 0; i < count; i++) {
    const char *title = tsr_results_note(files[i].results, "title");
    fprintf(out, "<li><a href=\"#file%zu\">", i);
    tsr_plot_print_escaped(out, title ? title : files[i].path);
    fputs("</a></li>\n", out);
  }
  fputs("</ul>\n</nav>\n", out);
}

tsr_status tsr_report_make(const tsr_report_file *files, size_t count, char **page, size_t *bytes, tsr_error *error) {
  char *made = NULL, day[16] = "";
  const time_t now = time(NULL);
  struct tm parts;
  FILE *out = open_memstream(&made, bytes);
  if (!out) return tsr_fail(error, TSR_NO_MEMORY, "no memory for a page");
  if (gmtime_r(&now, &parts)) strftime(day, sizeof day, "%Y-%m-%d", &parts);
  print_head(out);
  fprintf(out, "<h1>Results</h1>\n<p class=\"faint\">Made by <code>tessera report</code>, version %s, on %s.</p>\n",
          tsr_version(), day);
  print_contents(out, files, count);
  tsr_status status = TSR_OK;
  for (size_t i = 0; status == TSR_OK && i < count; i++) {
    tsr_error cause;
    status = print_section(out, &files[i], i, &cause);
    if (status) tsr_fail(error, status, "%s: %s", files[i].path, cause.message);
  }
  fputs("</body>\n</html>\n", out);
  if (fclose(out) != 0 && status == TSR_OK) status = tsr_fail(error, TSR_NO_MEMORY, "no memory for a page");
  if (status) {
    free(made);
    return status;
  }
  *page = made;
  return TSR_OK;
}

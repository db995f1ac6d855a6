/* SPDX-License-Identifier: Apache-2.0
 *
 * Choosing and gathering what a figure shows (plot_chart.h): the rows that can be drawn, then the columns, then panels
 * and lines of points.
 */
#define _GNU_SOURCE /* asprintf, open_memstream, qsort_r */
#include "tools/lab/plot_chart.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/spec/number.h"
#include "tools/lab/reshape.h"

enum { PANELS_MAX = 24, CATEGORIES_MAX = 100, LINE_COLUMNS_MAX = 64, NONE = SIZE_MAX };

/* The conditions among the columns of bench, roofline and experiment, in the order in which they are tried; those of
 * parameters hold a point. */
static const char *const conditions[] = {"spec",       "load",  "n",       "keys",   "op",    "key_bits",
                                         "value_bits", "set",   "backend", "device", "batch", "mix",
                                         "name",       "lanes", "metric",  "line"};
enum { CONDITIONS = sizeof conditions / sizeof conditions[0] };

/* What a column is called at an axis, and what stands around its value in a sentence. */
static const struct {
  const char *column, *title, *before, *behind;
} columns_in_words[] = {{"load", "load factor", "load factor ", ""},
                        {"n", "keys", "", " keys"},
                        {"keys", "distribution of the keys", "", " keys"},
                        {"key_bits", "bits per key", "", "-bit keys"},
                        {"value_bits", "bits per value", "", "-bit values"},
                        {"lanes", "lanes per key", "", " lanes per key"},
                        {"batch", "keys per batch", "batches of ", ""},
                        {"op", "operation", "", ""},
                        {"spec", "recipe", "", ""},
                        {"probes", "buckets looked at per key", "", ""},
                        {"pct_limit", "% of the memory limit", "", ""},
                        {"utilization", "memory utilization", "", ""},
                        {"giga_per_second", "billion accesses per second", "", ""},
                        {"footprint_bytes", "bytes of memory that is accessed", "", ""}};

/* What the values of `op` are called: those of `bench --ops`. */
static const struct {
  const char *value, *words;
} values_in_words[] = {{"find100", "find (all present)"},          {"find50", "find (half present)"},
                       {"find0", "find (none present)"},           {"find_all", "find all values of a key"},
                       {"count_all", "count the values of a key"}, {"mixed", "mixed batch"},
                       {"grow", "insert into a growing table"}};

/* A file may say in a note what a column is. */
static const char *title_of(const tsr_results *results, const char *column) {
  const char *note = tsr_results_note(results, column);
  if (note) return note;
  for (size_t i = 0; i < sizeof columns_in_words / sizeof columns_in_words[0]; i++)
    if (strcmp(columns_in_words[i].column, column) == 0) return columns_in_words[i].title;
  return column;
}

/* And what a value is, of whatever column. */
static const char *words_of(const tsr_results *results, size_t row, size_t column) {
  const char *value = tsr_results_field(results, row, column), *note = tsr_results_note(results, value);
  if (note || strcmp(results->names[column], "op") != 0) return note ? note : value;
  for (size_t i = 0; i < sizeof values_in_words / sizeof values_in_words[0]; i++)
    if (strcmp(values_in_words[i].value, value) == 0) return values_in_words[i].words;
  return value;
}

bool tsr_chart_is_condition(const tsr_chart *chart, const tsr_results *results, size_t column) {
  const char *name = results->names[column];
  bool is_known = strchr(name, '.') != NULL;
  for (size_t i = 0; i < CONDITIONS; i++) is_known = is_known || strcmp(name, conditions[i]) == 0;
  return is_known && column != chart->ignored;
}

/* A spec's path without folders and .ini, as far as it has room. */
static char *short_name(const char *path, char text[TSR_PLOT_NAME_BYTES]) {
  const char *slash = strrchr(path, '/'), *name = slash && slash[1] ? slash + 1 : path;
  size_t letters = strlen(name);
  if (letters > 4 && strcmp(name + letters - 4, ".ini") == 0) letters -= 4;
  if (letters >= TSR_PLOT_NAME_BYTES) {
    letters = TSR_PLOT_NAME_BYTES - 1;
    while (letters > 0 && ((unsigned char)name[letters] & 0xc0) == 0x80) letters--; /* no character is cut in two */
  }
  memcpy(text, name, letters);
  text[letters] = '\0';
  return text;
}

typedef struct maker {
  const tsr_results *results;
  const tsr_plot_request *request;
  size_t *rows, *scratch; /* row_count rows that are drawn; as many of no meaning */
  size_t row_count;
  double y_max;
  size_t panels, lines[LINE_COLUMNS_MAX], line_columns; /* columns; panels: NONE, or one */
  size_t y, label;                                      /* columns; label: or NONE */
  double scale;                                         /* of y */
  tsr_chart chart;
} maker;

static tsr_status no_memory(tsr_error *error) { return tsr_fail(error, TSR_NO_MEMORY, "no memory for a figure"); }

/* ---- Columns and rows that were asked for ---------------------------------------------------- */

static tsr_status find_column(const maker *m, const char *option, const char *name, size_t *column, tsr_error *error) {
  *column = tsr_results_column(m->results, name);
  if (*column < m->results->column_count) return TSR_OK;
  const char *nearest = tsr_nearest(name, m->results->names, m->results->column_count);
  if (nearest)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: there is no column %s; did you mean %s?", option, name, nearest);
  return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: there is no column %s; the first line of the file names them", option,
                  name);
}

/* Whether `value` is one of the list, as a text or as a number. */
static bool is_in(const char *value, const char *list) {
  double number, other;
  const bool is_number = tsr_parse_double(value, &number);
  for (const char *item = list; item; item = strchr(item, ','), item = item ? item + 1 : NULL) {
    char word[256];
    const size_t letters = strcspn(item, ",");
    if (strlen(value) == letters && strncmp(value, item, letters) == 0) return true;
    if (!is_number || letters >= sizeof word) continue;
    memcpy(word, item, letters);
    word[letters] = '\0';
    if (tsr_parse_double(word, &other) && other <= number && other >= number) return true;
  }
  return false;
}

/* Keeps the rows that one --where lets through; *kept has a flag for each. */
static tsr_status apply_where(const maker *m, const char *where, bool *kept, tsr_error *error) {
  char name[128];
  size_t column, letters = strcspn(where, "="), found = 0;
  if (!where[letters] || letters == 0 || letters >= sizeof name)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "--where %s: must be COLUMN=VALUE, or values separated by commas", where);
  memcpy(name, where, letters);
  name[letters] = '\0';
  tsr_status status = find_column(m, "--where", name, &column, error);
  if (status) return status;
  for (size_t i = 0; i < m->results->row_count; i++) {
    const bool is_right = is_in(tsr_results_field(m->results, i, column), where + letters + 1);
    found += is_right;
    kept[i] = kept[i] && is_right;
  }
  if (found == 0)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "--where %s: no row has that %s; the first has %s", where, name,
                    tsr_results_field(m->results, 0, column));
  return TSR_OK;
}

static bool has_number(const tsr_results *results, size_t column) {
  double number;
  for (size_t row = 0; row < results->row_count; row++)
    if (tsr_results_number(results, row, column, &number)) return true;
  return false;
}

/* The first of the usual columns that has a number, since a run that times nothing has probes alone. */
static tsr_status choose_y(maker *m, tsr_error *error) {
  static const char *const usual[] = {"mops", "giga_per_second", "value", "y", "probes"};
  const size_t none = m->results->column_count;
  if (m->request->y) return find_column(m, "--y", m->request->y, &m->y, error);
  m->y = none;
  for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++) {
    const size_t column = tsr_results_column(m->results, usual[i]);
    if (column == none || (m->y != none && !has_number(m->results, column))) continue;
    m->y = column;
    if (has_number(m->results, column)) return TSR_OK;
  }
  if (m->y != none) return TSR_OK;
  return tsr_fail(error, TSR_BAD_ARGUMENT,
                  "there is no column mops, as `tessera bench` writes it: `tessera plot --y COLUMN` draws another one");
}

static tsr_status choose_rows(maker *m, tsr_error *error) {
  const tsr_results *results = m->results;
  const size_t ok = tsr_results_column(results, "ok");
  bool *kept = malloc(results->row_count * sizeof *kept);
  m->rows = malloc(results->row_count * sizeof *m->rows);
  m->scratch = malloc(results->row_count * sizeof *m->scratch);
  if (!kept || !m->rows || !m->scratch) {
    free(kept);
    return no_memory(error);
  }
  tsr_status status = TSR_OK;
  for (size_t i = 0; i < results->row_count; i++) kept[i] = true;
  for (size_t i = 0; status == TSR_OK && i < m->request->where_count; i++)
    status = apply_where(m, m->request->where[i], kept, error);
  for (size_t i = 0; status == TSR_OK && i < results->row_count; i++) {
    double y;
    if (!kept[i]) continue;
    if (ok < results->column_count && strcmp(tsr_results_field(results, i, ok), "no") == 0) {
      m->chart.wrong++;
    } else if (tsr_results_number(results, i, m->y, &y)) {
      m->rows[m->row_count++] = i;
      m->y_max = fmax(m->y_max, y);
    } else {
      m->chart.missing++;
    }
  }
  free(kept);
  if (status == TSR_OK && m->row_count == 0)
    status = tsr_fail(error, TSR_IO, "no row has a number in column %s%s", results->names[m->y],
                      m->request->where_count ? " and all that --where asks for"
                      : m->chart.wrong        ? " and right answers (ok = yes)"
                                              : "");
  return status;
}

/* ---- Columns that vary ----------------------------------------------------------------------- */

typedef struct order_key {
  const maker *maker;
  const size_t *columns;
  size_t count;
} order_key;

static int compare_rows(const void *left, const void *right, void *context) {
  const order_key *key = context;
  const tsr_results *results = key->maker->results;
  int order = 0;
  for (size_t i = 0; order == 0 && i < key->count; i++)
    order = strcmp(tsr_results_field(results, *(const size_t *)left, key->columns[i]),
                   tsr_results_field(results, *(const size_t *)right, key->columns[i]));
  return order;
}

/* How many combinations of values the rows have in these columns. */
static size_t count_combinations(maker *m, const size_t *columns, size_t count) {
  order_key key = {m, columns, count};
  size_t combinations = 1;
  memcpy(m->scratch, m->rows, m->row_count * sizeof *m->rows);
  qsort_r(m->scratch, m->row_count, sizeof *m->scratch, compare_rows, &key);
  for (size_t i = 1; i < m->row_count; i++) combinations += compare_rows(&m->scratch[i - 1], &m->scratch[i], &key) != 0;
  return combinations;
}

static size_t count_values(maker *m, size_t column) { return count_combinations(m, &column, 1); }

static bool is_numeric(const maker *m, size_t column) {
  double number;
  for (size_t i = 0; i < m->row_count; i++)
    if (!tsr_results_number(m->results, m->rows[i], column, &number)) return false;
  return true;
}

/* A sweep calls its tables by the words SECTION.KEY=VALUE in which they differ; their columns say the same one by one. */
static bool are_specs_words(const maker *m, size_t spec) {
  for (size_t i = 0; i < m->row_count; i++) {
    const char *name = tsr_results_field(m->results, m->rows[i], spec), *dot = strchr(name, '.');
    if (!dot || !strchr(dot, '=')) return false;
  }
  return true;
}

/* The columns of conditions, the known ones first; returns how many. */
static size_t list_conditions(const maker *m, size_t columns[LINE_COLUMNS_MAX]) {
  const tsr_results *results = m->results;
  size_t count = 0;
  for (size_t i = 0; i < CONDITIONS; i++) {
    const size_t column = tsr_results_column(results, conditions[i]);
    if (column < results->column_count && column != m->chart.ignored) columns[count++] = column;
  }
  for (size_t i = 0; i < results->column_count && count < LINE_COLUMNS_MAX; i++)
    if (strchr(results->names[i], '.')) columns[count++] = i;
  return count;
}

/* Leaves the specs' names out where they are words and the other conditions tell all rows apart that they do. */
static void choose_ignored(maker *m) {
  size_t columns[LINE_COLUMNS_MAX + 1];
  const size_t spec = tsr_results_column(m->results, "spec");
  m->chart.ignored = NONE;
  if (spec == m->results->column_count || !are_specs_words(m, spec)) return;
  m->chart.ignored = spec;
  const size_t count = list_conditions(m, columns);
  columns[count] = spec;
  if (count_combinations(m, columns, count) < count_combinations(m, columns, count + 1)) m->chart.ignored = NONE;
}

static bool is_called(const maker *m, size_t column, const char *name) {
  return column != NONE && strcmp(m->results->names[column], name) == 0;
}

/* Numbers that name a kind rather than a quantity are no axis, nor are parameters in which only the specs differ. */
static bool can_be_axis(maker *m, size_t column) {
  if (is_called(m, column, "key_bits") || is_called(m, column, "value_bits") || !is_numeric(m, column)) return false;
  const size_t spec = tsr_results_column(m->results, "spec"), both[] = {spec, column};
  const bool is_parameter =
      strchr(m->results->names[column], '.') && spec < m->results->column_count && spec != m->chart.ignored;
  return !is_parameter || count_combinations(m, both, 2) > count_values(m, spec);
}

/* The x axis: the quantity with the most values; if none varies, the condition that does. */
static void choose_x(maker *m) {
  static const char *const categories[] = {"keys", "spec", "name"};
  size_t columns[LINE_COLUMNS_MAX], most = 1;
  m->chart.x = tsr_results_column(m->results, "x"); /* as files call it that were made for a figure */
  if (m->chart.x < m->results->column_count) return;
  const size_t count = list_conditions(m, columns);
  m->chart.x = NONE;
  for (size_t i = 0; i < count; i++) {
    const size_t values = can_be_axis(m, columns[i]) ? count_values(m, columns[i]) : 0;
    if (values <= most) continue;
    most = values;
    m->chart.x = columns[i];
  }
  for (size_t i = 0; m->chart.x == NONE && i < sizeof categories / sizeof categories[0]; i++) {
    const size_t column = tsr_results_column(m->results, categories[i]);
    if (column < m->results->column_count && column != m->chart.ignored && count_values(m, column) > 1)
      m->chart.x = column;
  }
  for (size_t i = 0; m->chart.x == NONE && i < count; i++)
    if (count_values(m, columns[i]) > 1) m->chart.x = columns[i];
  if (m->chart.x == NONE) m->chart.x = count ? columns[0] : 0;
}

/* A condition tells lines apart if it divides the rows further than those before it do, and than x does: but for the
 * spec, since two specs may have been measured at different loads. */
static void choose_lines(maker *m) {
  size_t columns[LINE_COLUMNS_MAX], all[LINE_COLUMNS_MAX + 3], placed = 0;
  const size_t count = list_conditions(m, columns);
  if (m->panels != NONE) all[placed++] = m->panels;
  all[placed++] = m->chart.x;
  for (size_t i = 0; i < count && m->line_columns < LINE_COLUMNS_MAX; i++) {
    const size_t column = columns[i];
    if (column == m->chart.x || column == m->panels) continue;
    const size_t before = m->line_columns ? count_combinations(m, m->lines, m->line_columns) : 1;
    m->lines[m->line_columns] = column;
    if (count_combinations(m, m->lines, m->line_columns + 1) == before) continue;
    memcpy(all + placed, m->lines, (m->line_columns + 1) * sizeof *all);
    if (!is_called(m, column, "spec") && count_combinations(m, all, placed + m->line_columns + 1) ==
                                             count_combinations(m, all, placed + m->line_columns))
      continue;
    m->line_columns++;
  }
}

static tsr_status read_lines(maker *m, tsr_error *error) {
  const char *list = m->request->lines;
  tsr_status status = TSR_OK;
  if (strcmp(list, "none") == 0) return TSR_OK;
  for (const char *item = list; status == TSR_OK && item;) {
    char name[128];
    const size_t letters = strcspn(item, ",");
    if (letters >= sizeof name || m->line_columns == LINE_COLUMNS_MAX)
      return tsr_fail(error, TSR_BAD_ARGUMENT, "--lines %s: must be at most %d columns separated by commas", list,
                      LINE_COLUMNS_MAX);
    memcpy(name, item, letters);
    name[letters] = '\0';
    status = find_column(m, "--lines", name, &m->lines[m->line_columns++], error);
    item = item[letters] ? item + letters + 1 : NULL;
  }
  return status;
}

/* A panel an operation, or a metric: those of experiments have units of their own. */
static void choose_panels(maker *m) {
  static const char *const usual[] = {"op", "metric"};
  for (size_t i = 0; m->panels == NONE && i < sizeof usual / sizeof usual[0]; i++) {
    const size_t column = tsr_results_column(m->results, usual[i]);
    if (column < m->results->column_count && column != m->chart.x && count_values(m, column) > 1) m->panels = column;
  }
}

static tsr_status choose_columns(maker *m, tsr_error *error) {
  const tsr_plot_request *request = m->request;
  tsr_status status = TSR_OK;
  m->panels = m->label = NONE;
  choose_ignored(m);
  if (request->label) status = find_column(m, "--label", request->label, &m->label, error);
  if (status) return status;
  if (request->x) {
    status = find_column(m, "--x", request->x, &m->chart.x, error);
  } else {
    choose_x(m);
  }
  if (status) return status;
  m->chart.x_is_category = !is_numeric(m, m->chart.x);
  m->chart.x_is_spec = is_called(m, m->chart.x, "spec");
  if (!request->panels) {
    choose_panels(m);
  } else if (strcmp(request->panels, "none") != 0) {
    status = find_column(m, "--panels", request->panels, &m->panels, error);
  }
  if (status) return status;
  if (request->lines) return read_lines(m, error);
  choose_lines(m);
  return TSR_OK;
}

/* ---- Words ----------------------------------------------------------------------------------- */

/* Whether no two specs have one short name. */
static bool names_stay_different(maker *m, size_t spec) {
  char name[TSR_PLOT_NAME_BYTES], other[TSR_PLOT_NAME_BYTES];
  order_key key = {m, &spec, 1};
  size_t distinct = 1;
  memcpy(m->scratch, m->rows, m->row_count * sizeof *m->rows);
  qsort_r(m->scratch, m->row_count, sizeof *m->scratch, compare_rows, &key);
  for (size_t i = 1; i < m->row_count; i++)
    if (compare_rows(&m->scratch[i - 1], &m->scratch[i], &key) != 0) m->scratch[distinct++] = m->scratch[i];
  for (size_t i = 0; i < distinct; i++)
    for (size_t k = 0; k < i; k++)
      if (strcmp(short_name(tsr_results_field(m->results, m->scratch[i], spec), name),
                 short_name(tsr_results_field(m->results, m->scratch[k], spec), other)) == 0)
        return false;
  return true;
}

/* A number in words: "32-bit keys", "2^27 keys", "bucket_slots 4". */
static void print_number(FILE *out, const char *name, const char *value) {
  const char *dot = strrchr(name, '.'), *before = NULL, *behind = "";
  double number;
  int exponent;
  for (size_t i = 0; i < sizeof columns_in_words / sizeof columns_in_words[0]; i++)
    if (strcmp(columns_in_words[i].column, name) == 0) {
      before = columns_in_words[i].before;
      behind = columns_in_words[i].behind;
    }
  if (before) {
    fputs(before, out);
  } else {
    fprintf(out, "%s ", dot && dot[1] ? dot + 1 : name);
  }
  if (tsr_parse_double(value, &number) && number >= 1024 && frexp(number, &exponent) <= 0.5) {
    fprintf(out, "2^%d%s", exponent - 1, behind);
  } else {
    fprintf(out, "%s%s", *value ? value : "-", behind);
  }
}

/* A condition in words: texts speak for themselves, numbers need the column's name. */
static void print_condition(const maker *m, FILE *out, size_t row, size_t column) {
  const char *value = tsr_results_field(m->results, row, column), *name = m->results->names[column];
  const char *words = words_of(m->results, row, column);
  char text[TSR_PLOT_NAME_BYTES];
  double number;
  if (words != value) {
    fputs(words, out);
  } else if (strcmp(name, "spec") == 0) {
    fputs(m->chart.has_short_names ? short_name(value, text) : value, out);
  } else if (strcmp(name, "line") == 0) {
    fputs(value, out);
  } else if (tsr_parse_double(value, &number) || !tsr_results_has(m->results, row, column) || strchr(name, '.')) {
    print_number(out, name, value);
  } else {
    fputs(value, out);
  }
}

static char *make_label(const maker *m, size_t row) {
  char *label = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&label, &bytes);
  if (!out) return NULL;
  bool is_first = true;
  for (size_t i = 0; i < m->line_columns; i++) {
    const bool is_last_hope = is_first && i + 1 == m->line_columns;
    if (!tsr_results_has(m->results, row, m->lines[i]) && !is_last_hope) continue;
    if (!is_first) fputs(", ", out);
    print_condition(m, out, row, m->lines[i]);
    is_first = false;
  }
  if (m->line_columns == 0) fputs("measured", out);
  if (fclose(out) == 0) return label;
  free(label);
  return NULL;
}

static void print_item(FILE *out, bool *is_first, const char *text) {
  fprintf(out, "%s%s", *is_first ? "" : " · ", text);
  *is_first = false;
}

/* The least and the greatest value of a column of the rows that are drawn, in alphabetical order; false: none is recorded. */
static bool find_ends(const maker *m, size_t column, const char **least, const char **most) {
  *least = *most = NULL;
  for (size_t i = 0; i < m->row_count; i++) {
    const char *value = tsr_results_field(m->results, m->rows[i], column);
    if (!tsr_results_has(m->results, m->rows[i], column)) continue;
    if (!*least || strcmp(value, *least) < 0) *least = value;
    if (!*most || strcmp(value, *most) > 0) *most = value;
  }
  return *least != NULL;
}

/* Where the rows come from: what the file says in a note, or else the column of the rows that are drawn. */
static void print_origin(maker *m, FILE *out, bool *is_first) {
  static const struct {
    const char *name, *before;
  } origins[] = {{"device", ""}, {"date", ""}, {"commit", "commit "}, {"version", "version "}};
  for (size_t i = 0; i < sizeof origins / sizeof origins[0]; i++) {
    const char *note = tsr_results_note(m->results, origins[i].name), *least, *most;
    const size_t column = tsr_results_column(m->results, origins[i].name);
    if (!note && (column == m->results->column_count || !find_ends(m, column, &least, &most))) continue;
    print_item(out, is_first, origins[i].before);
    if (note) {
      fputs(note, out);
    } else {
      const bool is_date = i == 1; /* the day is enough */
      const int least_letters = (int)(is_date ? strcspn(least, "T") : strlen(least));
      const int most_letters = (int)(is_date ? strcspn(most, "T") : strlen(most));
      fprintf(out, "%.*s", least_letters, least);
      if (least_letters != most_letters || strncmp(least, most, (size_t)most_letters) != 0)
        fprintf(out, "%s%.*s", is_date ? " to " : count_values(m, column) > 2 ? " … " : ", ", most_letters, most);
    }
  }
}

static char *make_subtitle(maker *m) {
  size_t columns[LINE_COLUMNS_MAX], bytes = 0;
  const size_t count = list_conditions(m, columns);
  char *text = NULL;
  FILE *out = open_memstream(&text, &bytes);
  if (!out) return NULL;
  const char *note = tsr_results_note(m->results, "subtitle");
  bool is_first = true;
  if (note) print_item(out, &is_first, note);
  for (size_t i = 0; !note && i < count; i++) {
    if (!tsr_results_has(m->results, m->rows[0], columns[i]) || count_values(m, columns[i]) > 1) continue;
    if (strcmp(m->results->names[columns[i]], "device") == 0) continue;
    print_item(out, &is_first, "");
    print_condition(m, out, m->rows[0], columns[i]);
  }
  print_origin(m, out, &is_first);
  if (fclose(out) == 0) return text;
  free(text);
  return NULL;
}

/* The file's own title, or else "Y by X". */
static char *make_title(const maker *m) {
  const char *note = tsr_results_note(m->results, "title");
  char *text = NULL;
  size_t bytes = 0;
  FILE *out = open_memstream(&text, &bytes);
  if (!out) return NULL;
  if (note) {
    fputs(note, out);
  } else {
    fprintf(out, "%c%s by %s", toupper((unsigned char)m->chart.y_title[0]), m->chart.y_title + 1, m->chart.x_title);
  }
  if (fclose(out) == 0) return text;
  free(text);
  return NULL;
}

static void name_axes(maker *m) {
  const char *x = m->results->names[m->chart.x], *y = m->results->names[m->y];
  m->scale = 1;
  m->chart.x_title = title_of(m->results, x);
  m->chart.y_title = title_of(m->results, y);
  if (strcmp(y, "mops") != 0) return;
  const bool is_giga = m->y_max >= 1000;
  m->scale = is_giga ? 1e-3 : 1;
  m->chart.y_title = is_giga ? "billion operations per second" : "million operations per second";
}

/* ---- Panels, lines and points ---------------------------------------------------------------- */

static tsr_status find_panel(maker *m, size_t row, tsr_plot_panel **panel, tsr_error *error) {
  const char *title = m->panels == NONE ? "" : words_of(m->results, row, m->panels);
  tsr_chart *chart = &m->chart;
  for (size_t i = 0; i < chart->panel_count; i++) {
    *panel = &chart->panels[i];
    if (strcmp((*panel)->title, title) == 0) return TSR_OK;
  }
  if (chart->panel_count == PANELS_MAX)
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "column %s has more than %d values, a panel each: choose by --where, or by "
                    "--panels another column",
                    m->results->names[m->panels], PANELS_MAX);
  *panel = &chart->panels[chart->panel_count++];
  **panel = (tsr_plot_panel){.title = title};
  return TSR_OK;
}

static tsr_status find_line(maker *m, tsr_plot_panel *panel, size_t row, tsr_plot_line **line, tsr_error *error) {
  order_key key = {m, m->lines, m->line_columns};
  for (size_t i = 0; i < panel->line_count; i++) {
    *line = &panel->lines[i];
    if (compare_rows(&(*line)->points[0].row, &row, &key) == 0) return TSR_OK;
  }
  if (panel->line_count == panel->room) {
    const size_t room = panel->room ? 2 * panel->room : TSR_PLOT_LINES;
    tsr_plot_line *longer = realloc(panel->lines, room * sizeof *longer);
    if (!longer) return no_memory(error);
    panel->lines = longer;
    panel->room = room;
  }
  *line = &panel->lines[panel->line_count];
  **line = (tsr_plot_line){.label = make_label(m, row)};
  if (!(*line)->label) return no_memory(error);
  panel->line_count++;
  return TSR_OK;
}

const char *tsr_chart_category(const tsr_chart *chart, const tsr_plot_panel *panel, size_t category,
                               char text[TSR_PLOT_NAME_BYTES]) {
  const char *value = panel->categories[category];
  return chart->has_short_names && chart->x_is_spec ? short_name(value, text) : value;
}

static tsr_status find_category(maker *m, tsr_plot_panel *panel, size_t row, double *x, tsr_error *error) {
  const char *value = words_of(m->results, row, m->chart.x);
  size_t i = 0;
  if (!panel->categories) panel->categories = calloc(CATEGORIES_MAX, sizeof *panel->categories);
  if (!panel->categories) return no_memory(error);
  while (i < panel->category_count && strcmp(panel->categories[i], value) != 0) i++;
  if (i == CATEGORIES_MAX)
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "column %s has more than %d texts, too many for a figure: choose by --where, "
                    "or by --x another column",
                    m->results->names[m->chart.x], CATEGORIES_MAX);
  if (i == panel->category_count) panel->categories[panel->category_count++] = value;
  *x = (double)i;
  return TSR_OK;
}

/* What the column y_END says, such as mops_min, or `other`. */
static double bound(const maker *m, size_t row, const char *end, double other) {
  char name[128];
  double number = other;
  snprintf(name, sizeof name, "%s_%s", m->results->names[m->y], end);
  const size_t column = tsr_results_column(m->results, name);
  if (column < m->results->column_count) (void)tsr_results_number(m->results, row, column, &number);
  return number;
}

/* What the memory allows, in mops; earlier runs recorded only the share of it. 0: unknown. */
static double limit_of(const maker *m, size_t row, double y) {
  const tsr_results *results = m->results;
  const size_t limit = tsr_results_column(results, "limit_mops"), share = tsr_results_column(results, "pct_limit");
  double number = 0;
  if (strcmp(results->names[m->y], "mops") != 0) return 0;
  if (limit < results->column_count && tsr_results_number(results, row, limit, &number)) return number;
  if (share < results->column_count && tsr_results_number(results, row, share, &number) && number > 0)
    return y * 100 / number;
  return 0;
}

static tsr_status measure(maker *m, tsr_plot_panel *panel, size_t row, tsr_plot_point *point, tsr_error *error) {
  const tsr_results *results = m->results;
  double x = 0, y = 0;
  tsr_status status = TSR_OK;
  if (m->chart.x_is_category) {
    status = find_category(m, panel, row, &x, error);
  } else {
    (void)tsr_results_number(results, row, m->chart.x, &x);
  }
  (void)tsr_results_number(results, row, m->y, &y);
  *point = (tsr_plot_point){.x = x,
                            .y = y * m->scale,
                            .low = bound(m, row, "min", y) * m->scale,
                            .high = bound(m, row, "max", y) * m->scale,
                            .limit = limit_of(m, row, y) * m->scale,
                            .row = row,
                            .text = m->label == NONE || !tsr_results_has(results, row, m->label)
                                        ? NULL
                                        : tsr_results_field(results, row, m->label)};
  return status;
}

/* Into its place by x; a later row of the same conditions replaces an earlier one. */
static tsr_status add_point(maker *m, tsr_plot_line *line, const tsr_plot_point *point, tsr_error *error) {
  size_t at = line->point_count;
  while (at > 0 && line->points[at - 1].x > point->x) at--;
  if (at > 0 && line->points[at - 1].x >= point->x) {
    line->points[at - 1] = *point;
    m->chart.repeated++;
    return TSR_OK;
  }
  if (line->point_count == line->room) {
    const size_t room = line->room ? 2 * line->room : 8;
    tsr_plot_point *longer = realloc(line->points, room * sizeof *longer);
    if (!longer) return no_memory(error);
    line->points = longer;
    line->room = room;
  }
  memmove(line->points + at + 1, line->points + at, (line->point_count - at) * sizeof *line->points);
  line->points[at] = *point;
  line->point_count++;
  return TSR_OK;
}

static tsr_status add_row(maker *m, size_t row, tsr_error *error) {
  tsr_plot_panel *panel = NULL;
  tsr_plot_line *line = NULL;
  tsr_plot_point point;
  tsr_status status = find_panel(m, row, &panel, error);
  if (status == TSR_OK) status = measure(m, panel, row, &point, error);
  if (status == TSR_OK) status = find_line(m, panel, row, &line, error);
  if (status == TSR_OK) status = add_point(m, line, &point, error);
  return status;
}

static double greatest(const tsr_plot_line *line) {
  double most = 0;
  for (size_t i = 0; i < line->point_count; i++) most = fmax(most, line->points[i].y);
  return most;
}

static void free_line(tsr_plot_line *line) {
  free(line->label);
  free(line->points);
}

/* Leaves the lines with the greatest values, in their order. */
static void drop_lines(tsr_plot_panel *panel, size_t most) {
  while (panel->line_count > most) {
    size_t least = 0;
    for (size_t i = 1; i < panel->line_count; i++)
      if (greatest(&panel->lines[i]) < greatest(&panel->lines[least])) least = i;
    free_line(&panel->lines[least]);
    panel->line_count--;
    panel->left_out++;
    memmove(panel->lines + least, panel->lines + least + 1, (panel->line_count - least) * sizeof *panel->lines);
  }
}

/* Whether two lines are one in a figure: wherever both have a point, it is the same, and they have as many. */
static bool is_same_line(const tsr_plot_line *a, const tsr_plot_line *b) {
  if (a->point_count != b->point_count) return false;
  for (size_t i = 0; i < a->point_count; i++)
    if (a->points[i].x != b->points[i].x || a->points[i].y != b->points[i].y) return false;
  return a->point_count > 1;
}

static const tsr_plot_line *numbered_line(const tsr_plot_panel *panel, size_t number) {
  for (size_t i = 0; i < panel->line_count; i++)
    if (panel->lines[i].number == number) return &panel->lines[i];
  return NULL;
}

/* The first label whose lines hide those of this one in every panel; the label itself: there is none. */
static size_t find_twin(const tsr_chart *chart, size_t number) {
  for (size_t other = 0; other < number; other++) {
    bool is_twin = true;
    for (size_t i = 0; is_twin && i < chart->panel_count; i++) {
      const tsr_plot_line *own = numbered_line(&chart->panels[i], number),
                          *its = numbered_line(&chart->panels[i], other);
      is_twin = !own || (its && is_same_line(own, its));
    }
    if (is_twin) return other;
  }
  return number;
}

/* A line that another hides says so in the legend. */
static tsr_status name_twins(tsr_chart *chart, tsr_error *error) {
  chart->twins = calloc(chart->label_count + 1, sizeof *chart->twins);
  if (!chart->twins) return no_memory(error);
  for (size_t i = 1; !chart->x_is_category && i < chart->label_count; i++) {
    const size_t twin = find_twin(chart, i);
    if (twin == i) continue;
    if (asprintf(&chart->twins[i], "%s (the same as %s)", chart->labels[i], chart->labels[twin]) < 0)
      return no_memory(error);
    chart->labels[i] = chart->twins[i];
  }
  return TSR_OK;
}

/* Numbers the labels, and counts the points that repetitions do not agree on. */
static tsr_status number_lines(tsr_chart *chart, tsr_error *error) {
  size_t lines = 0;
  for (size_t i = 0; i < chart->panel_count; i++) lines += chart->panels[i].line_count;
  chart->labels = calloc(lines + 1, sizeof *chart->labels);
  if (!chart->labels) return no_memory(error);
  for (size_t i = 0; i < chart->panel_count; i++)
    for (size_t k = 0; k < chart->panels[i].line_count; k++) {
      tsr_plot_line *line = &chart->panels[i].lines[k];
      size_t at = 0;
      while (at < chart->label_count && strcmp(chart->labels[at], line->label) != 0) at++;
      if (at == chart->label_count) chart->labels[chart->label_count++] = line->label;
      line->number = at;
      for (size_t p = 0; p < line->point_count; p++)
        chart->unsteady += line->points[p].low > 0 && line->points[p].high >= 2 * line->points[p].low;
    }
  return TSR_OK;
}

/* At most three panels side by side, and no row with one panel alone where another division is as good. */
static size_t choose_across(size_t panels) { return panels <= 3 ? panels : panels == 4 ? 2 : 3; }

/* ---- The whole ------------------------------------------------------------------------------- */

static tsr_status make(maker *m, tsr_error *error) {
  tsr_chart *chart = &m->chart;
  tsr_status status = choose_y(m, error);
  if (status == TSR_OK) status = choose_rows(m, error);
  if (status == TSR_OK) status = choose_columns(m, error);
  if (status) return status;
  const size_t spec = tsr_results_column(m->results, "spec");
  m->chart.has_short_names = spec < m->results->column_count && names_stay_different(m, spec);
  name_axes(m);
  chart->title = make_title(m);
  chart->subtitle = make_subtitle(m);
  chart->panels = calloc(PANELS_MAX, sizeof *chart->panels);
  if (!chart->title || !chart->subtitle || !chart->panels) return no_memory(error);
  for (size_t i = 0; status == TSR_OK && i < m->row_count; i++) status = add_row(m, m->rows[i], error);
  for (size_t i = 0; i < chart->panel_count; i++) drop_lines(&chart->panels[i], m->request->most_lines);
  chart->across = m->request->across ? m->request->across : choose_across(chart->panel_count);
  if (status == TSR_OK) status = number_lines(chart, error);
  return status ? status : name_twins(chart, error);
}

tsr_status tsr_chart_make(const tsr_results *results, const tsr_plot_request *request, tsr_chart *chart,
                          tsr_error *error) {
  maker m = {.results = results, .request = request};
  tsr_status status = make(&m, error);
  free(m.rows);
  free(m.scratch);
  if (status) {
    tsr_chart_free(&m.chart);
    return status;
  }
  *chart = m.chart;
  return TSR_OK;
}

void tsr_chart_free(tsr_chart *chart) {
  for (size_t i = 0; i < chart->panel_count; i++) {
    for (size_t k = 0; k < chart->panels[i].line_count; k++) free_line(&chart->panels[i].lines[k]);
    free(chart->panels[i].lines);
    free(chart->panels[i].categories);
  }
  free(chart->panels);
  for (size_t i = 0; chart->twins && i < chart->label_count; i++) free(chart->twins[i]);
  free(chart->twins);
  free(chart->labels);
  free(chart->title);
  free(chart->subtitle);
  *chart = (tsr_chart){.panel_count = 0};
}

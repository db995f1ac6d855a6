/* SPDX-License-Identifier: Apache-2.0
 *
 * Printing rows as a table (bench_table.h).
 */
#define _POSIX_C_SOURCE 200809L /* strdup */
#include "tools/lab/bench_table.h"

#include <stdlib.h>
#include <string.h>

bool tsr_bench_table_add(tsr_bench_table *table, const char *const *texts) {
  if (table->rows == table->room) {
    const size_t room = 2 * table->room + 16;
    char **cells = realloc(table->cells, room * table->columns * sizeof *cells);
    if (!cells) return false;
    table->cells = cells;
    table->room = room;
  }
  char **row = &table->cells[table->rows * table->columns];
  bool is_whole = true;
  for (size_t i = 0; i < table->columns; i++) is_whole = (row[i] = strdup(texts[i])) != NULL && is_whole;
  table->rows++;
  return is_whole;
}

static const char *cell(const tsr_bench_table *t, size_t row, size_t column) {
  const char *text = t->cells[row * t->columns + column];
  return text ? text : "-";
}

static bool is_used(const tsr_bench_table *t, size_t column) {
  for (size_t row = 0; row < t->rows; row++)
    if (strcmp(cell(t, row, column), "-") != 0) return true;
  return false;
}

static bool is_common(const tsr_bench_table *t, size_t column) {
  for (size_t row = 1; row < t->rows; row++)
    if (strcmp(cell(t, row, column), cell(t, 0, column)) != 0) return false;
  return t->shapes[column] != TSR_BENCH_STAYS;
}

static bool is_number(const char *text) { return text[strspn(text, "0123456789.e+-")] == '\0'; }

static int width_of(const tsr_bench_table *t, size_t column) {
  size_t width = strlen(t->names[column]);
  for (size_t row = 0; row < t->rows; row++) {
    const size_t letters = strlen(cell(t, row, column));
    if (letters > width) width = letters;
  }
  return (int)width;
}

/* Numbers end together, words begin together. */
static void print_line(const tsr_bench_table *t, FILE *out, const int *widths, size_t row, bool is_head) {
  int blanks = 0; /* before the next column */
  for (size_t i = 0; i < t->columns; i++) {
    if (!widths[i]) continue;
    const char *text = is_head ? t->names[i] : cell(t, row, i);
    const int rest = widths[i] - (int)strlen(text);
    const bool ends_together = is_number(cell(t, 0, i)) || is_number(cell(t, t->rows - 1, i));
    fprintf(out, "%*s%s", ends_together ? blanks + rest : blanks, "", text);
    blanks = 2 + (ends_together ? 0 : rest);
  }
  fputc('\n', out);
}

void tsr_bench_table_print(const tsr_bench_table *t, FILE *out) {
  int *widths = calloc(t->columns, sizeof *widths); /* 0: is no column */
  for (size_t i = 0; widths && t->rows && i < t->columns; i++) {
    const bool common = is_common(t, i);
    if (is_used(t, i) && common)
      fprintf(out, "%-12s %s\n", t->names[i], cell(t, 0, i));
    else if (is_used(t, i) && t->shapes[i] != TSR_BENCH_ABOVE)
      widths[i] = width_of(t, i);
  }
  if (widths && t->rows) {
    fputc('\n', out);
    print_line(t, out, widths, 0, true);
    for (size_t row = 0; row < t->rows; row++) print_line(t, out, widths, row, false);
  }
  free(widths);
}

void tsr_bench_table_free(tsr_bench_table *table) {
  for (size_t i = 0; i < table->rows * table->columns; i++) free(table->cells[i]);
  free(table->cells);
  *table = (tsr_bench_table){.rows = 0};
}

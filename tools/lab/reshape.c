/* SPDX-License-Identifier: Apache-2.0
 *
 * Other shapes of results (reshape.h): each makes new arrays of names and fields, whose texts stay where they are.
 */
#include "tools/lab/reshape.h"

#include <stdlib.h>
#include <string.h>

#include "core/spec/number.h"

enum { LIST_MAX = 16 };

static tsr_status no_memory(tsr_error *error) { return tsr_fail(error, TSR_NO_MEMORY, "no memory for a figure"); }

static tsr_status read_list(const tsr_results *results, const char *option, const char *list, size_t *columns,
                            size_t *count, tsr_error *error) {
  *count = 0;
  for (const char *item = list; item;) {
    char name[128];
    const size_t letters = strcspn(item, ",");
    if (letters >= sizeof name || *count == LIST_MAX)
      return tsr_fail(error, TSR_BAD_ARGUMENT, "%s %s: must be at most %d columns separated by commas", option, list,
                      LIST_MAX);
    snprintf(name, sizeof name, "%.*s", (int)letters, item);
    const size_t column = tsr_results_column(results, name);
    if (column == results->column_count) {
      const char *nearest = tsr_nearest(name, results->names, results->column_count);
      return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: there is no column %s%s%s%s", option, name,
                      nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
    }
    columns[(*count)++] = column;
    item = item[letters] ? item + letters + 1 : NULL;
  }
  return TSR_OK;
}

/* Arrays of that many columns and rows; the old columns' names are there. */
static bool make_arrays(const tsr_results *results, size_t columns, size_t rows, const char ***names,
                        const char ***fields) {
  *names = malloc(columns * sizeof **names);
  *fields = malloc(columns * rows * sizeof **fields);
  if (*names && *fields) {
    memcpy(*names, results->names, results->column_count * sizeof **names);
    return true;
  }
  free(*names);
  free(*fields);
  return false;
}

static void take_arrays(tsr_results *results, const char **names, const char **fields, size_t columns, size_t rows) {
  free(results->names);
  free(results->fields);
  results->names = names;
  results->fields = fields;
  results->column_count = columns;
  results->row_count = rows;
}

static char *print_joined(const tsr_results *results, size_t row, const size_t *columns, size_t count, char *to) {
  char *const begin = to;
  for (size_t i = 0; i < count; i++) {
    if (!tsr_results_has(results, row, columns[i])) continue;
    const char *text = tsr_results_field(results, row, columns[i]);
    const size_t letters = strlen(text);
    if (to > begin) *to++ = ' ';
    memcpy(to, text, letters);
    to += letters;
  }
  *to = '\0';
  return to + 1;
}

tsr_status tsr_results_join(tsr_results *results, const char *option, const char *list, tsr_error *error) {
  size_t columns[LIST_MAX], count, bytes = strlen(list) + 1;
  const size_t old = results->column_count, rows = results->row_count;
  const char **names, **fields;
  tsr_status status = read_list(results, option, list, columns, &count, error);
  if (status) return status;
  for (size_t row = 0; row < rows; row++)
    for (size_t i = 0; i < count; i++) bytes += strlen(tsr_results_field(results, row, columns[i])) + 1;
  char *joined = malloc(bytes), *at = joined;
  if (!joined || results->joined || !make_arrays(results, old + 1, rows, &names, &fields)) {
    free(joined);
    return no_memory(error);
  }
  names[old] = strcpy(at, list);
  at += strlen(list) + 1;
  for (size_t row = 0; row < rows; row++) {
    memcpy(fields + row * (old + 1), results->fields + row * old, old * sizeof *fields);
    fields[row * (old + 1) + old] = at;
    at = print_joined(results, row, columns, count, at);
  }
  results->joined = joined;
  take_arrays(results, names, fields, old + 1, rows);
  return TSR_OK;
}

tsr_status tsr_results_stack(tsr_results *results, const char *option, const char *list, tsr_error *error) {
  size_t columns[LIST_MAX], count;
  const size_t old = results->column_count, rows = results->row_count, width = old + 2;
  const char **names, **fields;
  tsr_status status = read_list(results, option, list, columns, &count, error);
  if (status) return status;
  if (!make_arrays(results, width, rows * count, &names, &fields)) return no_memory(error);
  names[old] = "value";
  names[old + 1] = "measurement";
  for (size_t row = 0; row < rows; row++)
    for (size_t i = 0; i < count; i++) {
      const char **to = fields + (row * count + i) * width;
      memcpy(to, results->fields + row * old, old * sizeof *to);
      to[old] = tsr_results_field(results, row, columns[i]);
      to[old + 1] = results->names[columns[i]];
    }
  take_arrays(results, names, fields, width, rows * count);
  return TSR_OK;
}

const char *tsr_results_note(const tsr_results *results, const char *name) {
  const size_t letters = strlen(name);
  for (size_t i = 0; i < results->note_count; i++)
    if (strncmp(results->notes[i], name, letters) == 0 && strncmp(results->notes[i] + letters, ": ", 2) == 0)
      return results->notes[i] + letters + 2;
  return NULL;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading results (results.h): the file as a whole, its bytes checked once, then cut into fields in place.
 */
#define _POSIX_C_SOURCE 200809L /* strtok_r */
#include "tools/lab/results.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/spec/number.h"

#define BEYOND 1e30 /* nothing that is measured is as large, and a figure cannot show it */
enum { FILE_BYTES_MAX = 64 << 20, COLUMNS_MAX = 256 };

/* ---- Bytes ----------------------------------------------------------------------------------- */

static tsr_status read_stream(FILE *file, const char *path, char **text, size_t *bytes, tsr_error *error) {
  size_t room = 1 << 16, used = 0;
  char *read = NULL;
  for (;;) {
    char *longer = realloc(read, room + 1);
    if (!longer) {
      free(read);
      return tsr_fail(error, TSR_NO_MEMORY, "%s: no memory to read it", path);
    }
    read = longer;
    used += fread(read + used, 1, room - used, file);
    if (used < room || room > FILE_BYTES_MAX) break;
    room *= 2;
  }
  if (ferror(file) || used > FILE_BYTES_MAX) {
    free(read);
    if (used > FILE_BYTES_MAX)
      return tsr_fail(error, TSR_IO, "%s: is larger than %d MiB, and no file of results", path, FILE_BYTES_MAX >> 20);
    return tsr_fail(error, TSR_IO, "%s: cannot be read: %s", path, strerror(errno));
  }
  read[used] = '\0';
  *text = read;
  *bytes = used;
  return TSR_OK;
}

static tsr_status read_file(const char *path, char **text, size_t *bytes, tsr_error *error) {
  if (strcmp(path, "-") == 0) return read_stream(stdin, "standard input", text, bytes, error);
  FILE *file = fopen(path, "rb");
  if (!file) return tsr_fail(error, TSR_NOT_FOUND, "%s: cannot be read: %s", path, strerror(errno));
  tsr_status status = read_stream(file, path, text, bytes, error);
  fclose(file);
  return status;
}

/* The bytes of the character at `text`, or 0 if that is none which XML and a page can hold. The text ends with a 0. */
static size_t character_bytes(const unsigned char *text) {
  const unsigned char first = *text;
  if (first < 0x80) return first >= ' ' && first != 0x7f ? 1 : first == '\t' || first == '\r' || first == '\n';
  const size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return 0;
  uint32_t code = first & (0x7fu >> bytes);
  for (size_t i = 1; i < bytes; i++) {
    if ((text[i] & 0xc0) != 0x80) return 0;
    code = code << 6 | (text[i] & 0x3fu);
  }
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xd800 && code < 0xe000;
  return code < least[bytes] || code > 0x10ffff || code < 0xa0 || is_surrogate || (code & 0xfffe) == 0xfffe ? 0 : bytes;
}

static tsr_status check_characters(const char *path, const char *text, size_t bytes, tsr_error *error) {
  size_t line = 1;
  for (size_t i = 0; i < bytes;) {
    const size_t count = character_bytes((const unsigned char *)text + i);
    if (count == 0)
      return tsr_fail(error, TSR_IO, "%s:%zu: the byte 0x%02x is no text: results are UTF-8 without control characters",
                      path, line, (unsigned char)text[i]);
    line += text[i] == '\n';
    i += count;
  }
  return TSR_OK;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

typedef struct reader {
  const char *path;
  char *at; /* the first byte of a line */
  size_t line;
  const char *fields[COLUMNS_MAX]; /* of the last row */
  size_t field_count;
  tsr_results *results;
  size_t row_room, note_room;
} reader;

/* Cuts one field off at `at`, in place. *end is what ended it: ',', '\n', 0, or '"' where its quotation mark is not
 * closed in the line. Returns what follows. */
static char *cut_field(char *at, char *end) {
  char *const first = at, *out = at;
  bool is_quoted = *at == '"';
  if (is_quoted) at++;
  while (*at && *at != '\n' && (is_quoted || *at != ',')) {
    if (is_quoted && *at == '"' && *++at != '"') {
      is_quoted = false;
    } else {
      *out++ = *at++;
    }
  }
  char *const next = at + (*at != '\0');
  *end = is_quoted ? '"' : *at;
  if (*end != ',' && out > first && out[-1] == '\r') out--;
  *out = '\0';
  return next;
}

static tsr_status cut_row(reader *r, tsr_error *error) {
  char end = ',';
  r->field_count = 0;
  while (end == ',') {
    if (r->field_count == COLUMNS_MAX)
      return tsr_fail(error, TSR_IO, "%s:%zu: has more than %d fields", r->path, r->line, COLUMNS_MAX);
    r->fields[r->field_count++] = r->at;
    r->at = cut_field(r->at, &end);
  }
  if (end == '"')
    return tsr_fail(error, TSR_IO, "%s:%zu: a field opens with \" and does not end in its line", r->path, r->line);
  return TSR_OK;
}

static bool grow(const char ***list, size_t *room, size_t needed) {
  if (needed <= *room) return true;
  size_t more = *room * 2 > needed ? *room * 2 : needed;
  const char **longer = realloc(*list, more * sizeof *longer);
  if (!longer) return false;
  *list = longer;
  *room = more;
  return true;
}

static tsr_status no_memory(const reader *r, tsr_error *error) {
  return tsr_fail(error, TSR_NO_MEMORY, "%s: no memory to read it", r->path);
}

static tsr_status add_note(reader *r, tsr_error *error) {
  tsr_results *results = r->results;
  char *text = r->at + 1, *end = text + strcspn(text, "\n");
  r->at = *end ? end + 1 : end;
  if (end > text && end[-1] == '\r') end[-1] = '\0';
  *end = '\0';
  if (!grow(&results->notes, &r->note_room, results->note_count + 1)) return no_memory(r, error);
  results->notes[results->note_count++] = text + (*text == ' ');
  return TSR_OK;
}

static tsr_status add_names(reader *r, tsr_error *error) {
  tsr_results *results = r->results;
  results->names = malloc(r->field_count * sizeof *results->names);
  if (!results->names) return no_memory(r, error);
  for (size_t i = 0; i < r->field_count; i++) {
    if (!*r->fields[i])
      return tsr_fail(error, TSR_IO, "%s:%zu: column %zu has no name: the first line names the columns", r->path,
                      r->line, i + 1);
    if (tsr_results_column(results, r->fields[i]) < results->column_count)
      return tsr_fail(error, TSR_IO, "%s:%zu: two columns are called %s", r->path, r->line, r->fields[i]);
    results->names[results->column_count++] = r->fields[i];
  }
  return TSR_OK;
}

static tsr_status add_row(reader *r, tsr_error *error) {
  tsr_results *results = r->results;
  if (r->field_count != results->column_count)
    return tsr_fail(error, TSR_IO, "%s:%zu: has %zu fields, the first line names %zu columns", r->path, r->line,
                    r->field_count, results->column_count);
  size_t used = results->row_count * results->column_count, i = 0;
  while (i < r->field_count && strcmp(r->fields[i], results->names[i]) == 0) i++;
  if (i == r->field_count) return TSR_OK;
  if (!grow(&results->fields, &r->row_room, used + r->field_count)) return no_memory(r, error);
  memcpy(results->fields + used, r->fields, r->field_count * sizeof *r->fields);
  results->row_count++;
  return TSR_OK;
}

static tsr_status read_lines(reader *r, tsr_error *error) {
  tsr_status status = TSR_OK;
  for (; status == TSR_OK && *r->at; r->line++) {
    if (*r->at == '#') {
      status = add_note(r, error);
    } else if (*r->at == '\n' || (*r->at == '\r' && r->at[1] == '\n')) {
      r->at += 1 + (*r->at == '\r');
    } else {
      status = cut_row(r, error);
      if (status == TSR_OK) status = r->results->names ? add_row(r, error) : add_names(r, error);
    }
  }
  return status;
}

/* ---- Compositions ---------------------------------------------------------------------------- */

/* The next word SECTION.KEY=VALUE of a composition, cut into name and value in place; NULL behind the last one. */
static char *next_word(char **at, char **value) {
  for (char *word = strtok_r(*at, " ", at); word; word = strtok_r(NULL, " ", at)) {
    *value = strchr(word, '=');
    if (!*value) continue;
    *(*value)++ = '\0';
    if (strchr(word, '.')) return word;
  }
  return NULL;
}

/* The column of that name among the new ones, which begin at `first`; a new one if there is none. NULL: too many. */
static const char **find_part(const char **names, const char **fields, size_t first, size_t *count, const char *name) {
  size_t i = first;
  while (i < *count && strcmp(names[i], name) != 0) i++;
  if (i == COLUMNS_MAX) return NULL;
  if (i == *count) names[(*count)++] = name;
  return &fields[i];
}

/* Replaces the column `composition` by one for each of its parameters. */
static tsr_status expand(reader *r, size_t composition, tsr_error *error) {
  tsr_results *results = r->results;
  const size_t columns = results->column_count - 1, rows = results->row_count;
  size_t count = columns;
  const char **names = malloc(COLUMNS_MAX * sizeof *names);
  const char **fields = malloc(rows * COLUMNS_MAX * sizeof *fields);
  if (!names || !fields) {
    free(names);
    free(fields);
    return no_memory(r, error);
  }
  tsr_status status = TSR_OK;
  for (size_t i = 0; i < columns; i++) names[i] = results->names[i + (i >= composition)];
  for (size_t row = 0; status == TSR_OK && row < rows; row++) {
    const char **from = results->fields + row * (columns + 1), **to = fields + row * COLUMNS_MAX;
    char *at = r->results->text + (from[composition] - r->results->text), *value;
    for (size_t i = 0; i < COLUMNS_MAX; i++) to[i] = i < columns ? from[i + (i >= composition)] : "-";
    for (char *name = next_word(&at, &value); status == TSR_OK && name; name = next_word(&at, &value)) {
      const char **field = find_part(names, to, columns, &count, name);
      if (field) {
        *field = value;
      } else {
        status = tsr_fail(error, TSR_IO, "%s: its compositions have more than %d columns and parameters", r->path,
                          COLUMNS_MAX);
      }
    }
  }
  for (size_t row = 0; row < rows; row++)
    memmove(fields + row * count, fields + row * COLUMNS_MAX, count * sizeof *fields);
  free(results->names);
  free(results->fields);
  results->names = names;
  results->fields = fields;
  results->column_count = count;
  return status;
}

tsr_status tsr_results_read(const char *path, tsr_results *results, tsr_error *error) {
  tsr_results read = {.text = NULL};
  size_t bytes = 0;
  reader r = {.path = strcmp(path, "-") == 0 ? "standard input" : path, .line = 1, .results = &read};
  tsr_status status = read_file(path, &read.text, &bytes, error);
  if (status == TSR_OK) status = check_characters(r.path, read.text, bytes, error);
  r.at = read.text;
  if (status == TSR_OK) status = read_lines(&r, error);
  if (status == TSR_OK && read.row_count == 0)
    status = tsr_fail(error, TSR_IO,
                      "%s: holds no row: it must be a CSV of `tessera bench`, whose first line names columns", r.path);
  const size_t composition = status ? 0 : tsr_results_column(&read, "composition");
  if (status == TSR_OK && composition < read.column_count) status = expand(&r, composition, error);
  if (status) {
    tsr_results_free(&read);
    return status;
  }
  *results = read;
  return TSR_OK;
}

void tsr_results_free(tsr_results *results) {
  free(results->text);
  free(results->joined);
  free(results->names);
  free(results->fields);
  free(results->notes);
  *results = (tsr_results){.text = NULL};
}

/* ---- What was read --------------------------------------------------------------------------- */

size_t tsr_results_column(const tsr_results *results, const char *name) {
  size_t i = 0;
  while (i < results->column_count && strcmp(results->names[i], name) != 0) i++;
  return i;
}

const char *tsr_results_field(const tsr_results *results, size_t row, size_t column) {
  return results->fields[row * results->column_count + column];
}

bool tsr_results_number(const tsr_results *results, size_t row, size_t column, double *number) {
  double read;
  if (!tsr_parse_double(tsr_results_field(results, row, column), &read)) return false;
  if (read > BEYOND || (read > 0 && read < 1 / BEYOND)) return false;
  *number = read;
  return true;
}

bool tsr_results_has(const tsr_results *results, size_t row, size_t column) {
  const char *field = tsr_results_field(results, row, column);
  return *field && strcmp(field, "-") != 0;
}

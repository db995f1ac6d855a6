/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of text (tsv.h). Three layers: the block gives lines, a row is cut into fields, and the first row says which of them
 * are the key and the value. A field is a place in the block, so that nothing is copied; quotes are taken off in place.
 */
#include "tools/cli/tsv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/spec/number.h"
#include "tools/cli/texts.h"

#ifdef TSR_SMALL_BLOCKS
enum { TSR_FIELD_SHOWN = 40, TSR_BLOCK_BYTES = 1 << 8, TSR_ROW_BYTES_MAX = 1 << 12 };
#else
enum { TSR_FIELD_SHOWN = 40, TSR_BLOCK_BYTES = 1 << 16, TSR_ROW_BYTES_MAX = 1 << 20 };
#endif

/* Bytes of the row, from its begin on. */
typedef struct field {
  size_t begin, end;
} field;

/* The text read ahead; the row begins at `at`. */
typedef struct block {
  char *bytes;
  size_t room, at, end;
  bool is_last; /* the file ends with it */
} block;

/* How rows are cut into fields. */
typedef struct cut {
  char separator; /* ' ': any number of blanks; 0: the first row tells */
  bool is_either; /* separator = '\t', and a row without a tab is cut at blanks */
  bool has_tabs;  /* rows so far */
} cut;

/* Where the key and the value are, as the first row and the options say. */
typedef struct columns {
  bool is_known;
  bool is_chosen; /* by the options */
  bool has_value;
  uint32_t key_count;
  size_t key[TSR_KEY_PARTS_MAX], value;
  size_t width; /* columns of every row; 0: one or two */
} columns;

/* Where the row is, and where those begin that are read. */
typedef struct place {
  uint64_t line, lines; /* line: from where reading began */
  uint64_t offset;      /* in the file */
  tsr_range range;
} place;

/* The keys of a call that are texts, one behind the other. */
typedef struct pending {
  char *bytes;
  uint64_t *offsets;
  size_t used, room;
} pending;

struct tsr_tsv {
  tsr_text *source;
  const char *path;
  const tsr_dataset_options *options;
  tsr_error *error; /* of the call that runs, as are the next three */
  void *keys, *values;
  uint64_t count;
  uint64_t before; /* keys of earlier calls */
  bool is_at_end;
  block block;
  size_t line_bytes; /* of the row, without the line end; in quotes it may have several lines */
  size_t content;    /* of these, bytes that hold fields */
  place place;
  cut cut;
  field *fields;
  size_t field_count, field_room;
  columns columns;
  pending pending;
  tsr_tsv_facts facts;
};

static char *row_of(const tsr_tsv *t) { return t->block.bytes + t->block.at; }

/* The row's line, for a sentence. */
static unsigned long long line_of(const tsr_tsv *t) { return t->place.line + tsr_text_lines_before(t->source); }

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

/* Among rows that are cut at commas or the like, '#' may begin a field: there, comments come before the first row. */
static bool is_comment(const tsr_tsv *t) {
  return *row_of(t) == '#' && (t->cut.is_either || t->cut.separator == ' ' || !t->columns.is_known);
}

static tsr_status no_memory(const tsr_tsv *t) {
  return tsr_fail(t->error, TSR_NO_MEMORY, "%s: no memory to read it", t->path);
}

/* ---- Lines ----------------------------------------------------------------------------------- */

/* Reads on behind what the block holds of the row. Of a comment nothing but its first byte is kept. */
static tsr_status read_on(tsr_tsv *t) {
  block *b = &t->block;
  const size_t bytes = b->end - b->at;
  if (b->bytes) memmove(b->bytes, row_of(t), bytes);
  b->at = 0;
  b->end = bytes && is_comment(t) ? 1 : bytes;
  if (b->end == b->room) {
    const size_t room = b->room ? 2 * b->room : TSR_BLOCK_BYTES;
    if (room > TSR_ROW_BYTES_MAX)
      return tsr_fail(t->error, TSR_IO, "%s:%llu: this row has more than %d bytes: rows of numbers are shorter",
                      t->path, line_of(t), TSR_ROW_BYTES_MAX);
    char *more = realloc(b->bytes, room);
    if (!more) return no_memory(t);
    b->bytes = more;
    b->room = room;
  }
  size_t got = 0;
  tsr_status status = tsr_text_read(t->source, (unsigned char *)b->bytes + b->end, b->room - b->end, &got, t->error);
  b->end += status == TSR_OK ? got : 0;
  b->is_last = status == TSR_OK && got == 0;
  return status;
}

/* Finds the end of the line that goes on `from` bytes behind the row's begin: line_bytes. */
static tsr_status find_line_end(tsr_tsv *t, size_t from) {
  block *b = &t->block;
  for (;;) {
    const size_t bytes = b->end - b->at;
    const char *newline = from < bytes ? memchr(row_of(t) + from, '\n', bytes - from) : NULL;
    t->line_bytes = newline ? (size_t)(newline - row_of(t)) : bytes;
    if (newline || b->is_last) return TSR_OK;
    tsr_status status = read_on(t);
    if (status) return status;
    from = bytes && is_comment(t) ? 1 : bytes;
  }
}

/* The next row, which may be a comment or empty; *has_row is false at the end of the file. */
static tsr_status next_row(tsr_tsv *t, bool *has_row) {
  block *b = &t->block;
  b->at += t->line_bytes;
  if (t->place.lines && b->at < b->end) b->at++; /* the line end */
  t->place.line += t->place.lines ? t->place.lines : 1;
  t->place.lines = 1;
  t->place.offset = tsr_text_at(t->source) - (b->end - b->at);
  tsr_status status = find_line_end(t, 0);
  *has_row = b->at < b->end;
  for (; t->line_bytes && *row_of(t) == ' '; b->at++) t->line_bytes--; /* before a comment as well */
  return status;
}

/* ---- Fields ---------------------------------------------------------------------------------- */

static tsr_status add_field(tsr_tsv *t, field one) {
  if (t->field_count == t->field_room) {
    const size_t room = t->field_room ? 2 * t->field_room : 16;
    field *more = realloc(t->fields, room * sizeof *more);
    if (!more) return no_memory(t);
    t->fields = more;
    t->field_room = room;
  }
  t->fields[t->field_count++] = one;
  return TSR_OK;
}

/* Blanks separate nothing where they end a row that they separate; nor does the '\r' before a line end. */
static void measure_content(tsr_tsv *t, char separator) {
  const char *row = row_of(t);
  t->content = t->line_bytes;
  if (t->content && row[t->content - 1] == '\r') t->content--;
  while (separator == ' ' && t->content && is_blank(row[t->content - 1])) t->content--;
}

/* A line end in quotes ends no row. */
static tsr_status join_line(tsr_tsv *t) {
  if (t->block.at + t->line_bytes == t->block.end)
    return tsr_fail(t->error, TSR_IO, "%s:%llu: a field begins with a quote and does not end", t->path, line_of(t));
  t->place.lines++;
  return find_line_end(t, t->line_bytes + 1);
}

/* A field in quotes, as of RFC 4180: it may hold separators and line ends, and a quote in it is written twice. *at is its
 * first byte, and then the one behind it. */
static tsr_status take_quoted(tsr_tsv *t, size_t *at, field *taken) {
  size_t from = *at + 1, to = from;
  taken->begin = from;
  for (;; row_of(t)[to++] = row_of(t)[from++]) {
    tsr_status status = from == t->line_bytes ? join_line(t) : TSR_OK;
    if (status) return status;
    const char *row = row_of(t);
    if (row[from] != '"') continue;
    if (from + 1 == t->line_bytes || row[from + 1] != '"') break;
    from++;
  }
  taken->end = to;
  *at = from + 1;
  return TSR_OK;
}

/* One field from *at to the separator behind it, or the row's end. Blanks around it are no part of it. */
static tsr_status take_field(tsr_tsv *t, char separator, size_t *at) {
  const char *row = row_of(t);
  field taken;
  while (*at < t->content && is_blank(row[*at]) && (row[*at] != separator || separator == ' ')) ++*at;
  if (*at < t->content && row[*at] == '"') {
    tsr_status status = take_quoted(t, at, &taken);
    if (status) return status;
    measure_content(t, separator);
    row = row_of(t);
    while (*at < t->content && is_blank(row[*at]) && row[*at] != separator) ++*at;
    if (*at < t->content && row[*at] != separator)
      return tsr_fail(t->error, TSR_IO, "%s:%llu: text follows a field in quotes: a quote within one is written twice",
                      t->path, line_of(t));
  } else {
    const char *next = *at < t->content ? memchr(row + *at, separator, t->content - *at) : NULL;
    taken = (field){*at, next ? (size_t)(next - row) : t->content};
    *at = taken.end;
    while (taken.end > taken.begin && is_blank(row[taken.end - 1])) taken.end--;
  }
  return add_field(t, taken);
}

/* What separates the fields of this row. One that begins with a field in quotes may have its first tab in its second
 * line. */
static char separator_of(tsr_tsv *t) {
  cut *c = &t->cut;
  const bool has_tab = memchr(row_of(t), '\t', t->line_bytes), has_quote = memchr(row_of(t), '"', t->line_bytes);
  if (!c->separator) {
    c->separator = !has_tab && memchr(row_of(t), ',', t->line_bytes) ? ',' : '\t';
    c->is_either = c->separator == '\t';
  }
  if (!c->is_either) return c->separator;
  c->has_tabs = c->has_tabs || has_tab;
  return has_tab || (has_quote && c->has_tabs) ? '\t' : ' ';
}

/* Cuts the row into fields; an empty row has none. */
static tsr_status split(tsr_tsv *t) {
  const char separator = separator_of(t);
  tsr_status status = TSR_OK;
  t->field_count = 0;
  measure_content(t, separator);
  for (size_t at = 0; status == TSR_OK && t->content && at <= t->content; at++) status = take_field(t, separator, &at);
  return status;
}

/* ---- Sentences ------------------------------------------------------------------------------- */

/* Text of a file as a sentence shows it: it may be anything, even binary. */
static const char *show(const tsr_tsv *t, field f, char shown[TSR_FIELD_SHOWN + 4]) {
  const size_t length = f.end - f.begin, bytes = length < TSR_FIELD_SHOWN ? length : TSR_FIELD_SHOWN;
  const char *text = row_of(t) + f.begin;
  for (size_t i = 0; i < bytes; i++) shown[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
  snprintf(shown + bytes, 4, "%s", bytes < length ? "..." : "");
  return shown;
}

/* Nothing else, as far as it is shown. */
static bool is_all_of(const char *text, const char *bytes) {
  const char *rest = text + strspn(text, bytes);
  return rest > text && (!*rest || strcmp(rest, "...") == 0);
}

static bool begins_a_name(char c) {
  return c == '_' || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || (unsigned char)c >= 0x80;
}

/* What helps where a field is no number of `bits` bits. */
static void advise(const tsr_tsv *t, const char *what, const char *shown, uint32_t bits, bool is_signed, char *advice,
                   size_t room) {
  const uint64_t limit = UINT64_MAX >> (64 - bits);
  const char *other = shown + strcspn(shown, ",;|");
  uint64_t meant;
  if (is_signed && is_all_of(shown, "-0123456789"))
    snprintf(advice, room, "with --signed they are -2^%u to 2^%u - 1", bits - 1, bits - 1);
  else if (shown[0] == '+' && is_all_of(shown + 1, "0123456789"))
    snprintf(advice, room, "write %s", shown + 1);
  else if (shown[0] == '-' && is_all_of(shown, "-0123456789"))
    snprintf(advice, room, "%s",
             t->options->signed_keys ? "values that a table counts, adds up or compares are not below 0"
                                     : "numbers below 0 are read with --signed");
  else if ((tsr_parse_u64(shown, &meant) || tsr_guess_u64(shown, &meant)) && meant <= limit)
    snprintf(advice, room, "write %llu", (unsigned long long)meant);
  else if (tsr_parse_u64(shown, &meant) || tsr_guess_u64(shown, &meant))
    snprintf(advice, room, "it fits %s_bits = 64", what);
  else if (*other && *other != t->cut.separator)
    snprintf(advice, room, "columns separated by '%c' are read with --separator '%c'", *other, *other);
  else if (is_all_of(shown, "0123456789"))
    snprintf(advice, room, "the largest is 2^%u - 1", bits);
  else if (is_all_of(shown, "0123456789abcdefABCDEF"))
    snprintf(advice, room, "if it is hexadecimal, write 0x%s", shown);
  else
    snprintf(advice, room, "%ss are whole numbers, in decimal or as 0x..", what);
}

/* Lines of old Macs are one row here, which is wrong in its columns, its names or its numbers. False: they are not such. */
static bool is_refused_for_cr(const tsr_tsv *t) {
  if (!memchr(row_of(t), '\r', t->content)) return false;
  tsr_fail(t->error, TSR_IO, "%s:%llu: its lines end with CR alone: convert them: tr '\\r' '\\n' <FILE", t->path,
           line_of(t));
  return true;
}

static tsr_status bad_number(const tsr_tsv *t, const char *what, field f, uint32_t bits, bool is_signed) {
  if (is_refused_for_cr(t)) return TSR_IO;
  char shown[TSR_FIELD_SHOWN + 4], advice[2 * TSR_FIELD_SHOWN];
  show(t, f, shown);
  if (bits > 64)
    return tsr_fail(
        t->error, TSR_IO,
        "%s:%llu: the key '%s' is no key of 128 bits: such are written as a UUID, as 32 hexadecimal digits, "
        "as 0x.., or as a decimal number below 2^64",
        t->path, line_of(t), shown);
  const bool may_be_name = !t->columns.is_known && begins_a_name(shown[0]) && !strchr(shown, '?');
  const char *names = may_be_name ? "; or, if this row names the columns, choose one by --key NAME" : "";
  advise(t, what, shown, bits, is_signed, advice, sizeof advice);
  return tsr_fail(t->error, TSR_IO, "%s:%llu: the %s '%s' is no whole number of %u bits: %s%s", t->path, line_of(t),
                  what, shown, bits, advice, names);
}

/* ---- Columns --------------------------------------------------------------------------------- */

static bool says(const tsr_tsv *t, field f, const char *text) {
  return f.end - f.begin == strlen(text) && memcmp(row_of(t) + f.begin, text, f.end - f.begin) == 0;
}

/* Nothing, NULL as PostgreSQL and MySQL write it, or a missing value as this program does. */
static bool is_null(const tsr_tsv *t, field f) { return f.begin == f.end || says(t, f, "\\N") || says(t, f, "-"); }

/* What names a column and is no number, not even one written carelessly, nor a missing one. Letters beyond ASCII are
 * letters. */
static bool is_name(const tsr_tsv *t, field f) {
  static const char *const others[] = {"null", "none", "na", "nan", "inf", "infinity", "true", "false"};
  char text[TSR_FIELD_SHOWN + 4];
  const unsigned char *bytes = (const unsigned char *)row_of(t) + f.begin;
  const size_t length = f.end - f.begin;
  if (!length || !begins_a_name((char)bytes[0])) return false;
  for (size_t i = 0; i < length; i++)
    if (bytes[i] < ' ' || bytes[i] == 0x7f) return false;
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
    if (length == strlen(others[i]) && strncasecmp((const char *)bytes, others[i], length) == 0) return false;
  show(t, f, text);
  if (t->options->key_bits > 64 && length == 36 && is_all_of(text, "-0123456789abcdefABCDEF"))
    return false; /* a UUID */
  return !is_all_of(text, "0123456789abcdefABCDEF");
}

/* The number of a column that is not given by name; 0: it is. */
static uint64_t number_of(const char *column) {
  const char *digits = column + (*column == '@');
  uint64_t number;
  return is_all_of(digits, "0123456789") && tsr_parse_u64(digits, &number) ? number : 0;
}

/* A row of names has nothing else, but columns may lack one. A key that is a text says nothing of that. */
static bool has_names(const tsr_tsv *t) {
  const uint64_t said = t->options->key_column ? number_of(t->options->key_column) : 1;
  const size_t passed_over = tsr_form_texts(t->options->form) && said ? (size_t)said - 1 : SIZE_MAX;
  bool is_named = false;
  for (size_t i = 0; i < t->field_count; i++) {
    if (i == passed_over) continue;
    const bool is_empty = t->fields[i].begin == t->fields[i].end;
    if (!is_empty && !is_name(t, t->fields[i])) return false;
    is_named = is_named || !is_empty;
  }
  return is_named;
}

/* Finds a column by name, and then *is_named, or by number. */
static tsr_status find_column(const tsr_tsv *t, const char *option, const char *column, size_t *at, bool *is_named) {
  const uint64_t number = number_of(column);
  size_t found = 0;
  for (size_t i = 0; !number && i < t->field_count; i++)
    if (says(t, t->fields[i], column) && found++ == 0) *at = i;
  *is_named = *is_named || found;
  if (found == 1) return TSR_OK;
  if (found)
    return tsr_fail(t->error, TSR_IO, "%s:%llu: %s %s: %zu columns have this name: choose one by its number, as @2",
                    t->path, line_of(t), option, column, found);
  if (number && number <= t->field_count) {
    *at = (size_t)number - 1;
    return TSR_OK;
  }
  if (is_refused_for_cr(t)) return TSR_IO;
  char shown[TSR_FIELD_SHOWN + 4];
  return tsr_fail(t->error, TSR_IO, "%s:%llu: %s %s: there is no such column: the first row has %zu, the first is '%s'",
                  t->path, line_of(t), option, column, t->field_count, show(t, t->fields[0], shown));
}

static void copy_name(const tsr_tsv *t, size_t column, char *name, size_t bytes) {
  const field f = t->fields[column];
  snprintf(name, bytes, "%.*s", (int)(f.end - f.begin), row_of(t) + f.begin);
}

static void copy_key_names(tsr_tsv *t, const columns *c) {
  char *const names = t->facts.names.key;
  size_t used = 0;
  for (uint32_t i = 0; i < c->key_count && used + 1 < sizeof t->facts.names.key; i++) {
    if (i) names[used++] = ',';
    copy_name(t, c->key[i], names + used, sizeof t->facts.names.key - used);
    used += strlen(names + used);
  }
}

/* Finds the columns of the key. Of a key of one column a comma is a part of the name. */
static tsr_status find_key(const tsr_tsv *t, columns *c, bool *is_named) {
  const char *said = t->options->key_column, *at = said;
  char name[TSR_NAME_BYTES];
  for (uint32_t i = 0; i < c->key_count; i++) {
    const size_t length = c->key_count > 1 ? strcspn(at, ",") : strlen(at);
    const bool is_last = !at[length];
    if (is_last != (i + 1 == c->key_count))
      return tsr_fail(t->error, TSR_BAD_ARGUMENT,
                      "--key %s: must name %u columns with commas between, as key_columns has", said, c->key_count);
    snprintf(name, sizeof name, "%.*s", (int)length, at);
    const tsr_status status = find_column(t, "--key", c->key_count > 1 ? name : said, &c->key[i], is_named);
    if (status) return status;
    at += length + !is_last;
  }
  return TSR_OK;
}

static bool is_of_key(const columns *c, size_t column) {
  bool is = false;
  for (uint32_t i = 0; i < c->key_count; i++) is = is || c->key[i] == column;
  return is;
}

/* The first column that is none of the key's. */
static size_t other_column(const columns *c) {
  size_t column = 0;
  while (is_of_key(c, column)) column++;
  return column;
}

static bool is_given_a_value(const tsr_tsv *t) {
  const tsr_value_rule rule = t->options->value_rule;
  return rule == TSR_VALUE_ORDINAL || rule == TSR_VALUE_CONSTANT || t->facts.keys_alone;
}

/* Chooses the columns by the first row; *is_header: it names them, and holds no key. */
static tsr_status choose_columns(tsr_tsv *t, bool *is_header) {
  const tsr_dataset_options *o = t->options;
  const uint32_t keys = tsr_form_columns(o->form);
  columns c = {.is_chosen = o->key_column || o->value_column, .has_value = true, .key_count = keys, .value = keys};
  tsr_status status = TSR_OK;
  for (uint32_t i = 0; i < keys; i++) c.key[i] = i;
  *is_header = has_names(t);
  t->facts.keys_alone = o->value_rule == TSR_VALUE_OPTIONAL && t->field_count == keys && !o->value_column;
  if (o->key_column) status = find_key(t, &c, is_header);
  if (status == TSR_OK && o->value_column && o->want_values)
    status = find_column(t, "--value", o->value_column, &c.value, is_header);
  else if (status == TSR_OK && c.is_chosen) { /* the other one of two */
    c.has_value = o->want_values && t->field_count == keys + 1 && !is_given_a_value(t);
    c.value = other_column(&c);
  }
  if (status == TSR_OK && c.has_value && c.is_chosen && is_of_key(&c, c.value))
    return tsr_fail(t->error, TSR_IO,
                    "%s: its column %zu would be both key and value: choose another by --key or --value", t->path,
                    c.value + 1);
  if (status == TSR_OK && c.is_chosen && o->want_values && !c.has_value && t->field_count > keys &&
      !is_given_a_value(t))
    return tsr_fail(t->error, TSR_IO, "%s: has %zu columns: choose that of the values by --value", t->path,
                    t->field_count);
  c.width = c.is_chosen || *is_header || o->value_rule == TSR_VALUE_OPTIONAL ? t->field_count : 0;
  if (status == TSR_OK && *is_header) copy_key_names(t, &c);
  if (status == TSR_OK && *is_header && c.has_value && c.value < t->field_count)
    copy_name(t, c.value, t->facts.names.value, sizeof t->facts.names.value);
  t->columns = c;
  return status;
}

static tsr_status check_width(const tsr_tsv *t) {
  const size_t width = t->columns.width;
  const bool is_wide = !t->columns.is_chosen && t->field_count > t->columns.key_count + 1;
  const bool is_narrow = t->field_count < t->columns.key_count;
  if ((is_wide || (width && t->field_count != width)) && is_refused_for_cr(t)) return TSR_IO;
  if (is_narrow)
    return tsr_fail(t->error, TSR_IO, "%s:%llu: the row has %zu column%s, and a key has %u", t->path, line_of(t),
                    t->field_count, t->field_count == 1 ? "" : "s", t->columns.key_count);
  if (is_wide && t->columns.key_count > 1)
    return tsr_fail(t->error, TSR_IO,
                    "%s:%llu: the row has %zu columns, and a key of %u and a value are fewer: choose them "
                    "by --key and --value",
                    t->path, line_of(t), t->field_count, t->columns.key_count);
  if (is_wide)
    return tsr_fail(t->error, TSR_IO,
                    "%s:%llu: the row has more than two columns, a key and a value: choose among %zu by --key and "
                    "--value",
                    t->path, line_of(t), t->field_count);
  if (width && t->field_count != width)
    return tsr_fail(t->error, TSR_IO, "%s:%llu: the row has %zu column%s, and the first row has %zu: write all of them",
                    t->path, line_of(t), t->field_count, t->field_count == 1 ? "" : "s", width);
  return TSR_OK;
}

/* ---- Numbers --------------------------------------------------------------------------------- */

static int digit_of(char c) {
  const char lower = (char)(c | 0x20);
  return c >= '0' && c <= '9' ? c - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* Decimal or 0x hexadecimal digits that fill the field, within `bits` bits; with a sign less, and two's complement. */
static bool parse_number(const char *text, size_t length, uint32_t bits, bool is_signed, uint64_t *out) {
  const bool is_negative = is_signed && length > 1 && text[0] == '-';
  const uint64_t all = UINT64_MAX >> (64 - bits), limit = is_signed ? all / 2 + is_negative : all;
  if (is_negative) {
    text++;
    length--;
  }
  const bool is_hex = length > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  const uint64_t base = is_hex ? 16 : 10;
  uint64_t value = 0;
  for (size_t i = is_hex ? 2 : 0; i < length; i++) {
    const int digit = digit_of(text[i]);
    if (digit < 0 || (uint64_t)digit >= base || (uint64_t)digit > limit || value > (limit - (uint64_t)digit) / base)
      return false;
    value = value * base + (uint64_t)digit;
  }
  *out = (is_negative ? 0 - value : value) & all;
  return length > 0;
}

/* The field without the dashes of a UUID, or as it is. */
static size_t without_dashes(const char *text, size_t length, char digits[33]) {
  static const size_t ends[] = {8, 13, 18, 23, 36};
  size_t count = 0;
  for (size_t part = 0, i = 0; length == 36 && part < sizeof ends / sizeof ends[0]; part++, i++) {
    for (; i < ends[part]; i++) digits[count++] = text[i];
    if (i < length && text[i] != '-') return 0;
  }
  if (length == 32) memcpy(digits, text, count = length);
  return count;
}

/* A key of 128 bits: a UUID, 32 hexadecimal digits, 0x and at most as many, or a decimal number of 64 bits. */
static bool parse_wide_key(const char *text, size_t length, tsr_any_key *out) {
  char digits[33];
  const bool has_prefix = length > 2 && length <= 34 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  const size_t count = has_prefix ? length - 2 : without_dashes(text, length, digits);
  const char *from = has_prefix ? text + 2 : digits;
  uint64_t number = 0;
  if (!count) {
    const bool is_number = length < 32 && parse_number(text, length, 64, false, &number);
    *out = number;
    return is_number;
  }
  *out = 0;
  for (size_t i = 0; i < count; i++) {
    if (digit_of(from[i]) < 0) return false;
    *out = (tsr_any_key)(*out << 4) | (tsr_any_key)digit_of(from[i]);
  }
  return true;
}

/* The key of several columns; the sentence is about the first that is wrong. */
static tsr_status parse_parts(const tsr_tsv *t, tsr_any_key *key) {
  const tsr_key_parts *parts = &t->options->form->parts;
  *key = 0;
  for (uint32_t i = 0; i < parts->count; i++) {
    const tsr_key_part *part = &parts->part[i];
    const field f = t->fields[t->columns.key[i]];
    const uint32_t bits = 8 * part->bytes;
    uint64_t number = 0;
    if (!parse_number(row_of(t) + f.begin, f.end - f.begin, bits, part->is_signed, &number))
      return bad_number(t, "key", f, bits, part->is_signed);
    *key = tsr_part_put(*key, part, number);
  }
  return TSR_OK;
}

static bool parse_one(const tsr_tsv *t, field f, tsr_any_key *key) {
  const uint32_t bits = t->options->key_bits;
  uint64_t number = 0;
  if (bits > 64) return parse_wide_key(row_of(t) + f.begin, f.end - f.begin, key);
  const bool is_number = parse_number(row_of(t) + f.begin, f.end - f.begin, bits, t->options->signed_keys, &number);
  *key = number;
  return is_number;
}

/* A value that is no number. */
static tsr_status add_bytes(const tsr_tsv *t, field f) {
  const size_t bytes = t->options->value_bits / 8, length = f.end - f.begin;
  const char *text = row_of(t) + f.begin;
  for (size_t i = 0; i < length; i++)
    if (digit_of(text[i]) < 0)
      return tsr_fail(t->error, TSR_IO,
                      "%s:%llu: character %zu of the value is no hexadecimal digit: with value_bytes = %zu it is %zu "
                      "hexadecimal digits",
                      t->path, line_of(t), i + 1, bytes, 2 * bytes);
  if (length != 2 * bytes)
    return tsr_fail(
        t->error, TSR_IO,
        "%s:%llu: the value has %zu characters: with value_bytes = %zu it is %zu hexadecimal digits, the first "
        "byte first",
        t->path, line_of(t), length, bytes, 2 * bytes);
  for (size_t i = 0; t->options->want_values && i < bytes; i++)
    ((unsigned char *)t->values)[t->count * bytes + i] =
        (unsigned char)(digit_of(text[2 * i]) * 16 + digit_of(text[2 * i + 1]));
  return TSR_OK;
}

/* The value of a key that has none in its row. */
static tsr_status give_value(const tsr_tsv *t) {
  const uint64_t ordinal = t->before + t->count;
  const uint32_t bits = t->options->value_bits;
  if (!is_given_a_value(t))
    return tsr_fail(t->error, TSR_IO, "%s:%llu: has a key but no value: %s", t->path, line_of(t),
                    t->field_count > 1
                        ? "leave such rows out by --null skip"
                        : "write `key value`, or set the value of such keys by --value of `tessera run`");
  if (t->options->value_rule == TSR_VALUE_ORDINAL && bits == 32 && ordinal > UINT32_MAX)
    return tsr_refuse_ordinal(t->path, t->error);
  const uint64_t constant = t->facts.keys_alone ? 0 : t->options->value;
  if (bits > 64)
    memset((char *)t->values + t->count * (bits / 8), 0, bits / 8);
  else
    tsr_number_put(t->values, bits, t->count, t->options->value_rule == TSR_VALUE_ORDINAL ? ordinal : constant);
  return TSR_OK;
}

static tsr_status add_value(const tsr_tsv *t, field f) {
  const bool is_wanted = t->options->want_values;
  const uint32_t bits = t->options->value_bits;
  uint64_t value = 0;
  if (is_null(t, f) && !is_wanted) return TSR_OK;
  if (bits > 64 && !(is_null(t, f) && is_given_a_value(t))) return add_bytes(t, f);
  if (is_null(t, f)) return give_value(t);
  if (!parse_number(row_of(t) + f.begin, f.end - f.begin, is_wanted ? bits : 64, t->options->signed_values, &value))
    return bad_number(t, "value", f, is_wanted ? bits : 64, t->options->signed_values);
  if (is_wanted) tsr_number_put(t->values, bits, t->count, value);
  return TSR_OK;
}

/* The keys are made of all texts of a call at once. */
static tsr_status take_text(tsr_tsv *t, field f) {
  pending *p = &t->pending;
  const size_t length = f.end - f.begin;
  if (p->room - p->used < length || !p->bytes) {
    const size_t room = 2 * p->room + length + TSR_BLOCK_BYTES;
    char *more = realloc(p->bytes, room);
    if (!more) return no_memory(t);
    p->bytes = more;
    p->room = room;
  }
  memcpy(p->bytes + p->used, row_of(t) + f.begin, length);
  p->used += length;
  p->offsets[t->count + 1] = p->used;
  return TSR_OK;
}

static tsr_status parse_key(tsr_tsv *t, tsr_any_key *key) {
  if (tsr_form_texts(t->options->form)) {
    *key = 0;
    return take_text(t, t->fields[t->columns.key[0]]);
  }
  const field f = t->fields[t->columns.key[0]];
  if (t->options->form && t->options->form->parts.count) return parse_parts(t, key);
  return parse_one(t, f, key) ? TSR_OK : bad_number(t, "key", f, t->options->key_bits, t->options->signed_keys);
}

static bool lacks_key(const tsr_tsv *t) {
  bool lacks = false;
  const field first = t->fields[t->columns.key[0]];
  if (tsr_form_texts(t->options->form)) return first.begin == first.end || says(t, first, "\\N");
  for (uint32_t i = 0; i < t->columns.key_count; i++) lacks = lacks || is_null(t, t->fields[t->columns.key[i]]);
  return lacks;
}

static tsr_status add_row(tsr_tsv *t) {
  const columns *c = &t->columns;
  const uint32_t bits = t->options->key_bits;
  const bool has_value = c->has_value && c->value < t->field_count;
  const field none = {0, 0}, value = has_value ? t->fields[c->value] : none;
  tsr_any_key number;
  const bool no_key = lacks_key(t);
  const bool has_null = no_key || (has_value && t->options->want_values && is_null(t, value));
  if (has_null && t->options->skips_null) {
    t->facts.rows_skipped++;
    return TSR_OK;
  }
  if (no_key)
    return tsr_fail(t->error, TSR_IO, "%s:%llu: has no key: leave such rows out by --null skip", t->path, line_of(t));
  tsr_status status = parse_key(t, &number);
  if (status == TSR_OK && (has_value || t->options->want_values)) status = add_value(t, value);
  if (status) return status;
  tsr_key_put(t->keys, bits, t->count++, number);
  return TSR_OK;
}

/* ---- The whole ------------------------------------------------------------------------------- */

/* Goes on near the begin of the range, once the first row has said what columns there are. */
static tsr_status go_to_range(tsr_tsv *t) {
  uint64_t at = 0;
  tsr_status status = tsr_cut_rows(t->source, t->place.range.from, TSR_ROW_BYTES_MAX, &at, t->error);
  if (status || at <= t->place.offset + t->line_bytes) return status;
  t->block.at = t->block.end = 0;
  t->block.is_last = false;
  t->line_bytes = t->place.lines = t->place.line = 0;
  return tsr_text_seek(t->source, at, t->error);
}

/* A row that another part has: it only matters where it ends. */
static tsr_status pass_row(tsr_tsv *t) {
  bool is_header;
  if (t->columns.is_known) return memchr(row_of(t), '"', t->line_bytes) ? split(t) : TSR_OK;
  tsr_status status = split(t);
  if (status || !t->field_count) return status;
  status = choose_columns(t, &is_header);
  t->columns.is_known = true;
  return status == TSR_OK ? go_to_range(t) : status;
}

/* A row that was read: passes over comments and empty ones, and takes the first for names if it is such. */
static tsr_status take_row(tsr_tsv *t) {
  bool is_header = false;
  if (!t->line_bytes || is_comment(t)) return TSR_OK;
  if (t->place.offset < t->place.range.from) return pass_row(t);
  tsr_status status = split(t);
  if (status || !t->field_count) return status;
  if (!t->columns.is_known) status = choose_columns(t, &is_header);
  if (status == TSR_OK) status = check_width(t);
  if (status == TSR_OK && !is_header) status = add_row(t);
  t->columns.is_known = true;
  return status;
}

tsr_status tsr_tsv_begin(tsr_text *text, const char *path, char separator, tsr_range range,
                         const tsr_dataset_options *options, tsr_tsv **tsv, tsr_error *error) {
  tsr_tsv *t = calloc(1, sizeof *t);
  if (!t) return tsr_fail(error, TSR_NO_MEMORY, "%s: no memory to read it", path);
  t->source = text;
  t->path = path;
  t->cut = (cut){.separator = options->separator ? options->separator : separator,
                 .is_either = !options->separator && separator == '\t'};
  t->options = options;
  t->place.range = range;
  *tsv = t;
  return TSR_OK;
}

static tsr_status begin_texts(tsr_tsv *t, uint64_t room) {
  uint64_t *offsets = realloc(t->pending.offsets, (room + 1) * sizeof *offsets);
  if (!offsets) return no_memory(t);
  offsets[0] = 0;
  t->pending.offsets = offsets;
  t->pending.used = 0;
  return TSR_OK;
}

tsr_status tsr_tsv_next(tsr_tsv *tsv, uint64_t room, void *keys, void *values, uint64_t *count, tsr_error *error) {
  tsr_tsv *t = tsv;
  tsr_status status = TSR_OK;
  t->error = error;
  t->keys = keys;
  t->values = values;
  t->count = 0;
  tsr_texts *texts = tsr_form_texts(t->options->form);
  if (texts) status = begin_texts(t, room);
  while (status == TSR_OK && !t->is_at_end && t->count < room) {
    bool has_row = false;
    status = next_row(t, &has_row);
    t->is_at_end = !has_row || t->place.offset >= t->place.range.to;
    if (status == TSR_OK && !t->is_at_end) status = take_row(t);
  }
  if (status == TSR_OK && texts)
    status = tsr_texts_add(texts, t->count, t->pending.bytes, t->pending.offsets, keys, error);
  t->before += t->count;
  *count = t->count;
  return status;
}

tsr_tsv_facts tsr_tsv_describe(const tsr_tsv *tsv) { return tsv->facts; }

void tsr_tsv_free(tsr_tsv *tsv) {
  if (!tsv) return;
  free(tsv->block.bytes);
  free(tsv->fields);
  free(tsv->pending.bytes);
  free(tsv->pending.offsets);
  free(tsv);
}

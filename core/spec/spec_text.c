/* SPDX-License-Identifier: Apache-2.0
 *
 * The grammar of specs (spec.h): INI texts, read with inih through a line reader that makes inih strict, and
 * assignments of --set.
 *
 * inih as distributions build it is too lax. It gives its handler no line number, takes an indented key for a second
 * value of the key above, cuts long section names, takes ':' for '=', and splits long lines. The line reader counts,
 * strips, checks and classifies each line before inih sees it, so that inih gets lines that have one reading only.
 * After the first error it reports the end of the file.
 */
#include "core/spec/spec_text.h"

#include <ini.h>
#include <string.h>

/* ---- What texts and assignments share -------------------------------------------------------- */

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

/* Cuts blanks off both ends of the range [*begin, *end). */
static void trim(const char **begin, const char **end) {
  while (*begin < *end && is_blank(**begin)) {
    (*begin)++;
  }
  while (*end > *begin && is_blank((*end)[-1])) {
    (*end)--;
  }
}

/* The sentence about a line or a --set: `place` is file:line or the --set itself. */
TSR_PRINTF(3, 4)
static tsr_status refuse(tsr_error *error, const char *place, const char *format, ...) {
  char sentence[TSR_MESSAGE_BYTES];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);
  return tsr_fail(error, TSR_BAD_SPEC, "%s: %s", place, sentence);
}

/* Checks the name of a section or key ("what") and copies it to `out`, of TSR_SPEC_NAME_MAX + 1. A key may name an entry of
 * another section, with a point between. */
static tsr_status take_name(const char *place, const char *what, const char *begin, const char *end, char *out,
                            tsr_error *error) {
  int length = (int)(end - begin);
  if (length == 0) {
    return refuse(error, place, "the %s has no name: write one made of a-z, 0-9 and _", what);
  }
  if (length > TSR_SPEC_NAME_MAX) {
    return refuse(error, place, "the %s name %.*s has %d letters: up to %d are allowed", what, length, begin, length,
                  TSR_SPEC_NAME_MAX);
  }
  for (const char *at = begin; at < end; at++) {
    const bool is_point = *at == '.' && at > begin && at + 1 < end && strcmp(what, "key") == 0;
    if (!((*at >= 'a' && *at <= 'z') || (*at >= '0' && *at <= '9') || *at == '_' || is_point)) {
      return refuse(error, place, "the %s name '%.*s' has a '%c' in it: names are made of a-z, 0-9 and _", what, length,
                    begin, *at);
    }
  }
  memcpy(out, begin, (size_t)length);
  out[length] = 0;
  return TSR_OK;
}

/* Refuses bytes that are no text, and letters outside ASCII where they would be part of a name or a value. A pasted
 * no-break space or typographic dash cannot be seen in an editor. */
static tsr_status check_bytes(const char *place, const char *text, size_t length, size_t comment, tsr_error *error) {
  for (size_t i = 0; i < length; i++) {
    unsigned char byte = (unsigned char)text[i];
    if (byte == '\r') {
      return refuse(error, place, "column %zu has a carriage return alone: lines end with a line feed", i + 1);
    }
    if ((byte < 0x20 && byte != '\t') || byte == 0x7f) {
      return refuse(error, place, "byte 0x%02x in column %zu is not text: a spec is a plain text file", byte, i + 1);
    }
    if (byte >= 0x80 && i < comment) {
      return refuse(error, place, "byte 0x%02x in column %zu is not ASCII, which is allowed in comments only", byte,
                    i + 1);
    }
  }
  return TSR_OK;
}

/* ---- The line reader ------------------------------------------------------------------------- */

typedef struct tsr_spec_reader {
  const char *text; /* what is not read yet, and its end */
  const char *end;
  uint64_t line;
  char place[TSR_MESSAGE_BYTES / 2]; /* file:line, the beginning of each sentence */
  tsr_spec *spec;
  tsr_status status; /* of the first error */
  tsr_error *error;
} tsr_spec_reader;

/* The offset where a comment starts: a ';' or '#' that opens the line or a ';' behind a blank. */
static size_t find_comment(const char *text, size_t length) {
  size_t first = 0;
  while (first < length && is_blank(text[first])) {
    first++;
  }
  if (first < length && text[first] == '#') {
    return first;
  }
  for (size_t i = first; i < length; i++) {
    if (text[i] == ';' && (i == first || is_blank(text[i - 1]))) {
      return i;
    }
  }
  return length;
}

/* pre: *begin is '['. */
static tsr_status read_section(tsr_spec_reader *r, const char *begin, const char *end) {
  const char *close = memchr(begin, ']', (size_t)(end - begin));
  if (!close) {
    return refuse(r->error, r->place, "'%.*s' has no closing bracket: write [section]", (int)(end - begin), begin);
  }
  if (close + 1 != end) {
    return refuse(r->error, r->place, "'%.*s' follows the section's bracket: put it on a line of its own",
                  (int)(end - close - 1), close + 1);
  }
  char name[TSR_SPEC_NAME_MAX + 1];
  tsr_status status = take_name(r->place, "section", begin + 1, close, name, r->error);
  if (status != TSR_OK) {
    return status;
  }
  const tsr_spec_section *before = tsr_spec_find_section(r->spec, name);
  if (before) {
    return refuse(r->error, r->place, "[%s] was opened in line %llu already: put all its keys there", name,
                  (unsigned long long)before->line);
  }
  if (tsr_spec_section_count(r->spec) == TSR_SPEC_KEYS_MAX) {
    return refuse(r->error, r->place, "[%s] is one section too many: a spec holds up to %d", name, TSR_SPEC_KEYS_MAX);
  }
  return tsr_spec_add_section(r->spec, name, r->line, r->error);
}

/* What the name and the value between the first '=' and the comment must look like. */
static tsr_status check_pair(const tsr_spec_reader *r, const char *begin, const char *end) {
  const char *equals = memchr(begin, '=', (size_t)(end - begin));
  const char *colon = memchr(begin, ':', (size_t)(end - begin));
  if (colon && (!equals || colon < equals)) {
    return refuse(r->error, r->place, "'%.*s' uses ':': write key = value", (int)(end - begin), begin);
  }
  if (!equals) {
    return refuse(r->error, r->place, "'%.*s' has no '=': write key = value", (int)(end - begin), begin);
  }
  char name[TSR_SPEC_NAME_MAX + 1];
  const char *name_end = equals;
  trim(&begin, &name_end);
  tsr_status status = take_name(r->place, "key", begin, name_end, name, r->error);
  if (status != TSR_OK) {
    return status;
  }
  if (tsr_spec_section_count(r->spec) == 0) {
    return refuse(r->error, r->place, "%s stands before any section: open one above it, such as [table]", name);
  }
  for (const char *at = equals + 1; at < end; at++) {
    if (*at == '#' && is_blank(at[-1])) {
      return refuse(r->error, r->place,
                    "the value of %s has a '#' behind a blank: a comment behind a value "
                    "starts with ';'",
                    name);
    }
  }
  return TSR_OK;
}

/* Takes the next line off the text, without its line end and without the marks (BOM) that some
 * editors put before the first line. */
static void take_line(tsr_spec_reader *r, const char **begin, const char **end) {
  const char *newline = memchr(r->text, '\n', (size_t)(r->end - r->text));
  *begin = r->text;
  *end = newline ? newline : r->end;
  r->text = newline ? newline + 1 : r->end;
  if (*end > *begin && (*end)[-1] == '\r') {
    (*end)--;
  }
  r->line++;
  while (r->line == 1 && *end - *begin >= 3 && memcmp(*begin, "\xEF\xBB\xBF", 3) == 0) {
    *begin += 3;
  }
  snprintf(r->place, sizeof r->place, "%s:%llu", tsr_spec_name(r->spec), (unsigned long long)r->line);
}

/* The ini_reader: writes the next line, checked, without indentation and comment, or returns NULL.
 */
static char *next_line(char *buffer, int buffer_bytes, void *stream) {
  tsr_spec_reader *r = stream;
  if (r->status != TSR_OK || r->text == r->end) {
    return NULL;
  }
  const char *begin;
  const char *end;
  take_line(r, &begin, &end);
  size_t length = (size_t)(end - begin);
  size_t comment = find_comment(begin, length);
  r->status = check_bytes(r->place, begin, length, comment, r->error);
  end = begin + comment;
  trim(&begin, &end);
  length = (size_t)(end - begin);
  if (r->status == TSR_OK && (length > TSR_SPEC_LINE_MAX || length + 2 > (size_t)buffer_bytes)) {
    r->status = refuse(r->error, r->place, "the line has %zu bytes: up to %d are allowed, a comment apart", length,
                       TSR_SPEC_LINE_MAX);
  }
  if (r->status == TSR_OK && begin < end) {
    r->status = *begin == '[' ? read_section(r, begin, end) : check_pair(r, begin, end);
  }
  if (r->status != TSR_OK) {
    return NULL;
  }
  snprintf(buffer, (size_t)buffer_bytes, "%.*s\n", (int)(end - begin), begin);
  return buffer;
}

/* The ini_handler: r->line is still the line of this pair, because inih reads one line at a time.
 */
static int take_pair(void *user, const char *section, const char *key, const char *value) {
  tsr_spec_reader *r = user;
  const tsr_spec_entry *before = tsr_spec_find(r->spec, section, key);
  if (*value == '\0') {
    r->status = refuse(r->error, r->place, "[%s] %s has no value: write one, or remove the line to get the default",
                       section, key);
  } else if (before) {
    r->status = refuse(r->error, r->place, "[%s] %s was given in line %llu already: keep one of the two", section, key,
                       (unsigned long long)before->line);
  } else if (tsr_spec_count(r->spec) == TSR_SPEC_KEYS_MAX) {
    r->status = refuse(r->error, r->place, "[%s] %s is one key too many: a spec holds up to %d", section, key,
                       TSR_SPEC_KEYS_MAX);
  } else {
    r->status = tsr_spec_add_entry(r->spec, section, key, value, r->line, r->error);
  }
  return r->status == TSR_OK;
}

/* Every second byte of plain letters is 0 there. */
static bool is_utf16(const char *text, size_t bytes) {
  return bytes >= 2 && (memcmp(text, "\xFF\xFE", 2) == 0 || memcmp(text, "\xFE\xFF", 2) == 0 || !text[0] != !text[1]);
}

tsr_status tsr_spec_take_text(tsr_spec *spec, const char *text, size_t bytes, tsr_error *error) {
  if (is_utf16(text, bytes))
    return tsr_fail(error, TSR_BAD_SPEC, "%s: is a text in UTF-16: save it as UTF-8", tsr_spec_name(spec));
  tsr_spec_reader r = {.text = text, .end = text + bytes, .spec = spec, .error = error};
  int refused = ini_parse_stream(next_line, &r, take_pair, &r);
  if (refused && r.status == TSR_OK) {
    r.status = tsr_fail(error, TSR_BAD_SPEC, "%s: inih refuses a line that is legal here", r.place);
  }
  return r.status;
}

/* ---- One assignment -------------------------------------------------------------------------- */

tsr_status tsr_assignment_split(const char *text, tsr_assignment *out, tsr_error *error) {
  char place[TSR_SPEC_LINE_MAX + 16];
  size_t length = strlen(text);
  tsr_status status = check_bytes("--set", text, length, length, error);
  if (status != TSR_OK) {
    return status;
  }
  if (length > TSR_SPEC_LINE_MAX) {
    return tsr_fail(error, TSR_BAD_SPEC, "--set %.40s...: has %zu bytes: up to %d are allowed", text, length,
                    TSR_SPEC_LINE_MAX);
  }
  snprintf(place, sizeof place, "--set %s", text);
  const char *equals = strchr(text, '=');
  const char *dot = strchr(text, '.');
  if (!equals || !dot || dot > equals) {
    return refuse(error, place, "is no assignment: write section.key=value");
  }
  const char *parts[] = {text, dot, dot + 1, equals, equals + 1, text + length};
  for (size_t i = 0; i < 6; i += 2) {
    trim(&parts[i], &parts[i + 1]);
  }
  status = take_name(place, "section", parts[0], parts[1], out->section, error);
  if (status == TSR_OK) {
    status = take_name(place, "key", parts[2], parts[3], out->key, error);
  }
  snprintf(out->value, sizeof out->value, "%.*s", (int)(parts[5] - parts[4]), parts[4]);
  return status;
}

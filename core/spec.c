/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads specs with inih, through a line reader that makes inih strict; spec.h says what is
 * accepted.
 *
 * inih alone (as distributions build it) gives its handler no line number, takes an indented key
 * for a second value of the key above, cuts long section names, takes ':' for '=', and splits long
 * lines. The line reader counts, strips, checks and classifies each line before inih sees it, so
 * that inih is left with lines that have one reading only. After the first error it reports the end
 * of the file.
 */
#define _POSIX_C_SOURCE 200809L /* open, fstat, strdup */

#include "core/spec.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TSR_SPEC_FILE_MAX = 1 << 20 };

struct tsr_spec {
  char *name;
  tsr_spec_entry *entries;
  size_t entry_count;
  tsr_spec_section *sections;
  size_t section_count;
};

/* ---- The lists ------------------------------------------------------------------------------- */

/* Makes room for one more element where the array has just been filled up: capacities are powers of
 * two from 8, so the count alone tells. Returns the array, or NULL without memory. */
static void *grow(void *array, size_t count, size_t element_bytes) {
  bool is_full = count == 0 || (count >= 8 && (count & (count - 1)) == 0);
  return is_full ? realloc(array, (count ? 2 * count : 8) * element_bytes) : array;
}

static const tsr_spec_section *find_section(const tsr_spec *spec, const char *name) {
  for (size_t i = 0; i < spec->section_count; i++) {
    if (strcmp(spec->sections[i].name, name) == 0) {
      return &spec->sections[i];
    }
  }
  return NULL;
}

static tsr_spec_entry *find_entry(const tsr_spec *spec, const char *section, const char *key) {
  for (size_t i = 0; i < spec->entry_count; i++) {
    tsr_spec_entry *entry = &spec->entries[i];
    if (strcmp(entry->key, key) == 0 && strcmp(entry->section, section) == 0) {
      return entry;
    }
  }
  return NULL;
}

/* pre: `name` is a legal name that is not in the list, and the list is not full. */
static bool add_section(tsr_spec *spec, const char *name, const char *file, uint64_t line) {
  tsr_spec_section *sections = grow(spec->sections, spec->section_count, sizeof *sections);
  if (!sections) {
    return false;
  }
  spec->sections = sections;
  tsr_spec_section *section = &sections[spec->section_count++];
  *section = (tsr_spec_section){.file = file, .line = line};
  snprintf(section->name, sizeof section->name, "%s", name);
  return true;
}

/* The next entry, with its names set and counted; NULL without memory. Preconditions as above. */
static tsr_spec_entry *add_entry(tsr_spec *spec, const char *section, const char *key) {
  tsr_spec_entry *entries = grow(spec->entries, spec->entry_count, sizeof *entries);
  if (!entries) {
    return NULL;
  }
  spec->entries = entries;
  tsr_spec_entry *entry = &entries[spec->entry_count++];
  *entry = (tsr_spec_entry){.line = 0};
  snprintf(entry->section, sizeof entry->section, "%s", section);
  snprintf(entry->key, sizeof entry->key, "%s", key);
  return entry;
}

/* ---- The grammar, shared by files and --set -------------------------------------------------- */

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

static tsr_status no_memory(const char *name, tsr_error *error) {
  return tsr_fail(error, TSR_NO_MEMORY, "%s: no memory for the spec: free some and retry", name);
}

/* Checks the name of a section or key ("what") and copies it to `out`, of TSR_SPEC_NAME_MAX + 1. */
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
    if (!((*at >= 'a' && *at <= 'z') || (*at >= '0' && *at <= '9') || *at == '_')) {
      return refuse(error, place, "the %s name '%.*s' has a '%c' in it: names are made of a-z, 0-9 and _", what, length,
                    begin, *at);
    }
  }
  memcpy(out, begin, (size_t)length);
  out[length] = 0;
  return TSR_OK;
}

/* Refuses bytes that are no text, and letters outside ASCII where they would be part of a name or a
 * value: a pasted no-break space or typographic dash cannot be seen in an editor. */
static tsr_status check_bytes(const char *place, const char *text, size_t length, size_t comment, tsr_error *error) {
  for (size_t i = 0; i < length; i++) {
    unsigned char byte = (unsigned char)text[i];
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
  const tsr_spec_section *before = find_section(r->spec, name);
  if (before) {
    return refuse(r->error, r->place, "[%s] was opened in line %llu already: put all its keys there", name,
                  (unsigned long long)before->line);
  }
  if (r->spec->section_count == TSR_SPEC_KEYS_MAX) {
    return refuse(r->error, r->place, "[%s] is one section too many: a spec holds up to %d", name, TSR_SPEC_KEYS_MAX);
  }
  return add_section(r->spec, name, r->spec->name, r->line) ? TSR_OK : no_memory(r->spec->name, r->error);
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
  if (r->spec->section_count == 0) {
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

/* Takes the next line off the text, without its line end and without the mark (BOM) that some
 * editors put before the first line. */
static void take_line(tsr_spec_reader *r, const char **begin, const char **end) {
  const char *newline = memchr(r->text, '\n', (size_t)(r->end - r->text));
  *begin = r->text;
  *end = newline ? newline : r->end;
  r->text = newline ? newline + 1 : r->end;
  if (*end > *begin && (*end)[-1] == '\r') {
    (*end)--;
  }
  if (++r->line == 1 && *end - *begin >= 3 && memcmp(*begin, "\xEF\xBB\xBF", 3) == 0) {
    *begin += 3;
  }
  snprintf(r->place, sizeof r->place, "%s:%llu", r->spec->name, (unsigned long long)r->line);
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
  if (length > TSR_SPEC_LINE_MAX || length + 2 > (size_t)buffer_bytes) {
    r->status = refuse(r->error, r->place, "the line has %zu bytes: up to %d are allowed", length, TSR_SPEC_LINE_MAX);
    return NULL;
  }
  size_t comment = find_comment(begin, length);
  r->status = check_bytes(r->place, begin, length, comment, r->error);
  end = begin + comment;
  trim(&begin, &end);
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
  const tsr_spec_entry *before = find_entry(r->spec, section, key);
  if (*value == '\0') {
    r->status = refuse(r->error, r->place, "[%s] %s has no value: write one, or remove the line to get the default",
                       section, key);
  } else if (before) {
    r->status = refuse(r->error, r->place, "[%s] %s was given in line %llu already: keep one of the two", section, key,
                       (unsigned long long)before->line);
  } else if (r->spec->entry_count == TSR_SPEC_KEYS_MAX) {
    r->status = refuse(r->error, r->place, "[%s] %s is one key too many: a spec holds up to %d", section, key,
                       TSR_SPEC_KEYS_MAX);
  } else {
    tsr_spec_entry *entry = add_entry(r->spec, section, key);
    if (!entry) {
      r->status = no_memory(r->spec->name, r->error);
      return 0;
    }
    snprintf(entry->value, sizeof entry->value, "%s", value);
    entry->file = r->spec->name;
    entry->line = r->line;
  }
  return r->status == TSR_OK;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static tsr_spec *create(const char *name) {
  tsr_spec *spec = calloc(1, sizeof *spec);
  if (spec && !(spec->name = strdup(name))) {
    free(spec);
    return NULL;
  }
  return spec;
}

static tsr_status parse_bytes(const char *text, size_t bytes, const char *name, tsr_spec **out, tsr_error *error) {
  tsr_spec *spec = create(name);
  if (!spec) {
    return no_memory(name, error);
  }
  tsr_spec_reader r = {.text = text, .end = text + bytes, .spec = spec, .error = error};
  int refused = ini_parse_stream(next_line, &r, take_pair, &r);
  if (refused && r.status == TSR_OK) {
    r.status = tsr_fail(error, TSR_BAD_SPEC, "%s: inih refuses a line that is legal here", r.place);
  }
  if (r.status != TSR_OK) {
    tsr_spec_free(spec);
    return r.status;
  }
  *out = spec;
  return TSR_OK;
}

tsr_status tsr_spec_parse(const char *text, const char *name, tsr_spec **spec, tsr_error *error) {
  if (!text || !name || !spec) {
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_spec_parse: text, name and spec must not be NULL");
  }
  return parse_bytes(text, strlen(text), name, spec, error);
}

/* Reads all of an open file; a file that grows meanwhile is refused like one that was too large. */
static tsr_status read_all(int file, const char *path, char *text, size_t *bytes, tsr_error *error) {
  *bytes = 0;
  while (*bytes <= TSR_SPEC_FILE_MAX) {
    ssize_t got = read(file, text + *bytes, TSR_SPEC_FILE_MAX + 1 - *bytes);
    if (got == 0) {
      return TSR_OK;
    }
    if (got < 0 && errno != EINTR) {
      return tsr_fail(error, TSR_IO, "%s: cannot be read: %s", path, strerror(errno));
    }
    *bytes += got > 0 ? (size_t)got : 0;
  }
  return tsr_fail(error, TSR_IO, "%s: has more than %d bytes: a spec holds up to 1 MiB", path, TSR_SPEC_FILE_MAX);
}

static tsr_status read_file(int file, const char *path, tsr_spec **spec, tsr_error *error) {
  struct stat facts;
  if (fstat(file, &facts) != 0) {
    return tsr_fail(error, TSR_IO, "%s: cannot be read: %s", path, strerror(errno));
  }
  if (!S_ISREG(facts.st_mode)) {
    return tsr_fail(error, TSR_IO, "%s: is %s: a spec must be a regular file", path,
                    S_ISDIR(facts.st_mode) ? "a directory" : "a pipe or a device");
  }
  char *text = malloc(TSR_SPEC_FILE_MAX + 1);
  if (!text) {
    return no_memory(path, error);
  }
  size_t bytes = 0;
  tsr_status status = read_all(file, path, text, &bytes, error);
  if (status == TSR_OK) {
    status = parse_bytes(text, bytes, path, spec, error);
  }
  free(text);
  return status;
}

tsr_status tsr_spec_read(const char *path, tsr_spec **spec, tsr_error *error) {
  if (!path || !spec) {
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_spec_read: path and spec must not be NULL");
  }
  /* Without O_NONBLOCK, opening a FIFO that nobody writes would wait for ever. */
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    bool is_missing = errno == ENOENT || errno == ENOTDIR;
    return tsr_fail(error, is_missing ? TSR_NOT_FOUND : TSR_IO, "'%s': cannot be opened as a spec: %s", path,
                    strerror(errno));
  }
  tsr_status status = read_file(file, path, spec, error);
  close(file);
  return status;
}

/* ---- Changing, copying, finding -------------------------------------------------------------- */

/* One --set, cut into its three parts. */
typedef struct tsr_assignment {
  char section[TSR_SPEC_NAME_MAX + 1];
  char key[TSR_SPEC_NAME_MAX + 1];
  const char *value;
  int value_bytes;
} tsr_assignment;

static tsr_status split(const char *text, tsr_assignment *out, tsr_error *error) {
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
  if (status == TSR_OK && parts[4] == parts[5]) {
    status = refuse(error, place, "has no value: write one behind the '='");
  }
  out->value = parts[4];
  out->value_bytes = (int)(parts[5] - parts[4]);
  return status;
}

tsr_status tsr_spec_set(tsr_spec *spec, const char *text, tsr_error *error) {
  if (!spec || !text) {
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_spec_set: spec and assignment must not be NULL");
  }
  tsr_assignment parts = {.value = ""};
  tsr_status status = split(text, &parts, error);
  if (status != TSR_OK) {
    return status;
  }
  tsr_spec_entry *entry = find_entry(spec, parts.section, parts.key);
  if (!entry) {
    bool is_new_section = !find_section(spec, parts.section);
    if (spec->entry_count == TSR_SPEC_KEYS_MAX || (is_new_section && spec->section_count == TSR_SPEC_KEYS_MAX)) {
      return tsr_fail(error, TSR_BAD_SPEC, "--set %s: is one key too many: a spec holds up to %d", text,
                      TSR_SPEC_KEYS_MAX);
    }
    entry = add_entry(spec, parts.section, parts.key);
    if (!entry) {
      return no_memory(spec->name, error);
    }
    if (is_new_section && !add_section(spec, parts.section, NULL, 0)) {
      spec->entry_count--;
      return no_memory(spec->name, error);
    }
  }
  snprintf(entry->value, sizeof entry->value, "%.*s", parts.value_bytes, parts.value);
  entry->file = NULL;
  entry->line = 0;
  return TSR_OK;
}

tsr_status tsr_spec_copy(const tsr_spec *spec, tsr_spec **copy, tsr_error *error) {
  if (!spec || !copy) {
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_spec_copy: spec and copy must not be NULL");
  }
  tsr_spec *made = create(spec->name);
  if (!made) {
    return no_memory(spec->name, error);
  }
  bool is_whole = true;
  for (size_t i = 0; is_whole && i < spec->section_count; i++) {
    const tsr_spec_section *from = &spec->sections[i];
    is_whole = add_section(made, from->name, from->file ? made->name : NULL, from->line);
  }
  for (size_t i = 0; is_whole && i < spec->entry_count; i++) {
    const tsr_spec_entry *from = &spec->entries[i];
    tsr_spec_entry *entry = add_entry(made, from->section, from->key);
    is_whole = entry != NULL;
    if (entry) {
      *entry = *from;
      entry->file = from->file ? made->name : NULL;
    }
  }
  if (!is_whole) {
    tsr_spec_free(made);
    return no_memory(spec->name, error);
  }
  *copy = made;
  return TSR_OK;
}

void tsr_spec_free(tsr_spec *spec) {
  if (spec) {
    free(spec->entries);
    free(spec->sections);
    free(spec->name);
    free(spec);
  }
}

const char *tsr_spec_name(const tsr_spec *spec) { return spec->name; }

const tsr_spec_entry *tsr_spec_find(const tsr_spec *spec, const char *section, const char *key) {
  return find_entry(spec, section, key);
}

const char *tsr_spec_get(const tsr_spec *spec, const char *section, const char *key) {
  const tsr_spec_entry *entry = find_entry(spec, section, key);
  return entry ? entry->value : NULL;
}

size_t tsr_spec_count(const tsr_spec *spec) { return spec->entry_count; }

const tsr_spec_entry *tsr_spec_at(const tsr_spec *spec, size_t i) {
  assert(i < spec->entry_count);
  return &spec->entries[i];
}

size_t tsr_spec_section_count(const tsr_spec *spec) { return spec->section_count; }

const tsr_spec_section *tsr_spec_section_at(const tsr_spec *spec, size_t i) {
  assert(i < spec->section_count);
  return &spec->sections[i];
}

void tsr_spec_where(const tsr_spec_entry *entry, char *buffer, size_t bytes) {
  if (entry->file) {
    snprintf(buffer, bytes, "%s:%llu: [%s] %s = %s", entry->file, (unsigned long long)entry->line, entry->section,
             entry->key, entry->value);
  } else {
    snprintf(buffer, bytes, "--set %s.%s=%s", entry->section, entry->key, entry->value);
  }
}

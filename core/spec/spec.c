/* SPDX-License-Identifier: Apache-2.0
 *
 * What a spec says, as lists of sections and entries: filled from a text, a file, another spec or --set, and looked up.
 * Read next: spec_text.c, which reads the texts.
 */
#define _POSIX_C_SOURCE 200809L /* open, fstat, strdup */

#include "core/spec/spec.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/spec/spec_text.h"

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

static tsr_status no_memory(const char *name, tsr_error *error) {
  return tsr_fail(error, TSR_NO_MEMORY, "%s: no memory for the spec: free some and retry", name);
}

const tsr_spec_section *tsr_spec_find_section(const tsr_spec *spec, const char *name) {
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

tsr_status tsr_spec_add_section(tsr_spec *spec, const char *name, uint64_t line, tsr_error *error) {
  tsr_spec_section *sections = grow(spec->sections, spec->section_count, sizeof *sections);
  if (!sections) {
    return no_memory(spec->name, error);
  }
  spec->sections = sections;
  tsr_spec_section *section = &sections[spec->section_count++];
  *section = (tsr_spec_section){.file = line ? spec->name : NULL, .line = line};
  snprintf(section->name, sizeof section->name, "%s", name);
  return TSR_OK;
}

tsr_status tsr_spec_add_entry(tsr_spec *spec, const char *section, const char *key, const char *value, uint64_t line,
                              tsr_error *error) {
  tsr_spec_entry *entries = grow(spec->entries, spec->entry_count, sizeof *entries);
  if (!entries) {
    return no_memory(spec->name, error);
  }
  spec->entries = entries;
  tsr_spec_entry *entry = &entries[spec->entry_count++];
  *entry = (tsr_spec_entry){.file = line ? spec->name : NULL, .line = line};
  snprintf(entry->section, sizeof entry->section, "%s", section);
  snprintf(entry->key, sizeof entry->key, "%s", key);
  snprintf(entry->value, sizeof entry->value, "%s", value);
  return TSR_OK;
}

/* ---- Making ---------------------------------------------------------------------------------- */

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
  tsr_status status = tsr_spec_take_text(spec, text, bytes, error);
  if (status != TSR_OK) {
    tsr_spec_free(spec);
    return status;
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

tsr_status tsr_spec_copy(const tsr_spec *spec, tsr_spec **copy, tsr_error *error) {
  if (!spec || !copy) {
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_spec_copy: spec and copy must not be NULL");
  }
  tsr_spec *made = create(spec->name);
  if (!made) {
    return no_memory(spec->name, error);
  }
  tsr_status status = TSR_OK;
  for (size_t i = 0; status == TSR_OK && i < spec->section_count; i++) {
    const tsr_spec_section *from = &spec->sections[i];
    status = tsr_spec_add_section(made, from->name, from->line, error);
  }
  for (size_t i = 0; status == TSR_OK && i < spec->entry_count; i++) {
    const tsr_spec_entry *from = &spec->entries[i];
    status = tsr_spec_add_entry(made, from->section, from->key, from->value, from->line, error);
  }
  if (status != TSR_OK) {
    tsr_spec_free(made);
    return status;
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

/* ---- Changing and finding --------------------------------------------------------------------- */

tsr_status tsr_spec_set(tsr_spec *spec, const char *text, tsr_error *error) {
  if (!spec || !text) {
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_spec_set: spec and assignment must not be NULL");
  }
  tsr_assignment parts;
  tsr_status status = tsr_assignment_split(text, &parts, error);
  if (status != TSR_OK) {
    return status;
  }
  tsr_spec_entry *entry = find_entry(spec, parts.section, parts.key);
  if (entry) {
    snprintf(entry->value, sizeof entry->value, "%s", parts.value);
    entry->file = NULL;
    entry->line = 0;
    return TSR_OK;
  }
  bool is_new_section = !tsr_spec_find_section(spec, parts.section);
  if (spec->entry_count == TSR_SPEC_KEYS_MAX || (is_new_section && spec->section_count == TSR_SPEC_KEYS_MAX)) {
    return tsr_fail(error, TSR_BAD_SPEC, "--set %s: is one key too many: a spec holds up to %d", text,
                    TSR_SPEC_KEYS_MAX);
  }
  status = tsr_spec_add_entry(spec, parts.section, parts.key, parts.value, 0, error);
  if (status == TSR_OK && is_new_section) {
    status = tsr_spec_add_section(spec, parts.section, 0, error);
    spec->entry_count -= status == TSR_OK ? 0 : 1;
  }
  return status;
}

const char *tsr_spec_name(const tsr_spec *spec) { return spec->name; }

const tsr_spec_entry *tsr_spec_find(const tsr_spec *spec, const char *section, const char *key) {
  return find_entry(spec, section, key);
}

const char *tsr_spec_get(const tsr_spec *spec, const char *section, const char *key) {
  if (!spec || !section || !key) return NULL;
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

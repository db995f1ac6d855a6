/* SPDX-License-Identifier: Apache-2.0
 *
 * What a spec says, as lists of sections and entries, and looking it up. Read next: spec_text.c, which reads texts.
 */
#define _POSIX_C_SOURCE 200809L /* strdup */

#include "core/spec/spec.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/tessera_tools.h"

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

tsr_spec *tsr_spec_new(const char *name) {
  tsr_spec *spec = calloc(1, sizeof *spec);
  if (spec && !(spec->name = strdup(name))) {
    free(spec);
    return NULL;
  }
  return spec;
}

tsr_status tsr_spec_copy(const tsr_spec *spec, tsr_spec **copy, tsr_error *error) {
  if (!spec || !copy) {
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_spec_copy: spec and copy must not be NULL");
  }
  tsr_spec *made = tsr_spec_new(spec->name);
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

tsr_status tsr_spec_put(tsr_spec *spec, const char *section, const char *key, const char *value, tsr_error *error) {
  tsr_spec_entry *entry = find_entry(spec, section, key);
  if (entry) {
    snprintf(entry->value, sizeof entry->value, "%s", value);
    entry->file = NULL;
    entry->line = 0;
    return TSR_OK;
  }
  bool is_new_section = !tsr_spec_find_section(spec, section);
  if (spec->entry_count == TSR_SPEC_KEYS_MAX || (is_new_section && spec->section_count == TSR_SPEC_KEYS_MAX)) {
    return tsr_fail(error, TSR_BAD_SPEC, "--set %s.%s=%s: is one key too many: a spec holds up to %d", section, key,
                    value, TSR_SPEC_KEYS_MAX);
  }
  tsr_status status = tsr_spec_add_entry(spec, section, key, value, 0, error);
  if (status == TSR_OK && is_new_section) {
    status = tsr_spec_add_section(spec, section, 0, error);
    spec->entry_count -= status == TSR_OK ? 0 : 1;
  }
  return status;
}

void tsr_spec_take_out(tsr_spec *spec, const char *section, const char *key) {
  tsr_spec_entry *entry = find_entry(spec, section, key);
  if (!entry) {
    return;
  }
  const size_t behind = spec->entry_count - (size_t)(entry - spec->entries) - 1;
  memmove(entry, entry + 1, behind * sizeof *entry);
  spec->entry_count--;
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

bool tsr_spec_get_at(const tsr_spec *spec, size_t i, tsr_spec_item *entry) {
  if (!spec || !entry || i >= spec->entry_count) return false;
  *entry = (tsr_spec_item){spec->entries[i].section, spec->entries[i].key, spec->entries[i].value};
  return true;
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

tsr_status tsr_spec_refuse(const tsr_spec *spec, const char *section, const char *key, tsr_error *error,
                           const char *format, ...) {
  char where[512], sentence[TSR_MESSAGE_BYTES];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(sentence, sizeof sentence, format, arguments);
  va_end(arguments);
  tsr_spec_where(tsr_spec_find(spec, section, key), where, sizeof where);
  return tsr_fail(error, TSR_INCOMPATIBLE, "%s: %s", where, sentence);
}

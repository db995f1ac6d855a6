/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes specs of files and texts, and changes them by --set (tessera.h). Read next: spec_text.c, the grammar.
 */
#define _POSIX_C_SOURCE 200809L /* open, fstat */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/spec/recipes.h"
#include "core/spec/spec_text.h"

enum { TSR_SPEC_FILE_MAX = 1 << 20 };

static tsr_status no_memory(const char *name, tsr_error *error) {
  return tsr_fail(error, TSR_NO_MEMORY, "%s: no memory for the spec: free some and retry", name);
}

static tsr_status parse_bytes(const char *text, size_t bytes, const char *name, tsr_spec **out, tsr_error *error) {
  tsr_spec *spec = tsr_spec_new(name);
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
  return tsr_fail(error, TSR_BAD_SPEC, "%s: has more than %d bytes: a spec holds up to 1 MiB", path, TSR_SPEC_FILE_MAX);
}

static tsr_status read_file(int file, const char *path, tsr_spec **spec, tsr_error *error) {
  struct stat facts;
  if (fstat(file, &facts) != 0) {
    return tsr_fail(error, TSR_IO, "%s: cannot be read: %s", path, strerror(errno));
  }
  if (!S_ISREG(facts.st_mode)) {
    return tsr_fail(error, TSR_BAD_SPEC, "%s: is %s: a spec must be a regular file", path,
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

tsr_status tsr_spec_read(const char *name, tsr_spec **spec, tsr_error *error) {
  char recipe[PATH_MAX];
  if (!name || !spec) {
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_spec_read: name and spec must not be NULL");
  }
  const char *path = tsr_recipe_seek(name, recipe) ? recipe : name;
  /* Without O_NONBLOCK, opening a FIFO that nobody writes would wait for ever. */
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) {
    if (errno == ENOENT) return tsr_recipe_refuse(name, true, error);
    return tsr_fail(error, TSR_NOT_FOUND, "'%s': cannot be opened as a spec: %s", path, strerror(errno));
  }
  tsr_status status = read_file(file, path, spec, error);
  close(file);
  return status;
}

tsr_status tsr_spec_set(tsr_spec *spec, const char *text, tsr_error *error) {
  if (!spec || !text) {
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_spec_set: spec and assignment must not be NULL");
  }
  tsr_assignment parts;
  tsr_status status = tsr_assignment_split(text, &parts, error);
  if (status == TSR_OK && !parts.value[0]) {
    tsr_spec_take_out(spec, parts.section, parts.key);
    return TSR_OK;
  }
  return status ? status : tsr_spec_put(spec, parts.section, parts.key, parts.value, error);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Outputs that would destroy something (outputs.h).
 */
#define _POSIX_C_SOURCE 200809L /* stat, readlink */
#include "tools/lab/outputs.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/spec/file.h"
#include "core/tessera_tools.h"

/* What a path leads to: a file that is there, or a name in a folder. */
typedef struct place {
  bool is_there, is_stream; /* stream: a pipe or a device */
  dev_t device;
  ino_t inode;             /* of the file, or of the folder */
  char name[NAME_MAX + 1]; /* in the folder; empty for a file that is there */
} place;

/* links: that many more are followed, for those to nothing may lead to one another. */
static bool find_place(const char *path, uint32_t links, place *found) {
  char folder[2 * PATH_MAX], to[PATH_MAX];
  struct stat facts;
  if (stat(path, &facts) == 0) {
    *found = (place){.is_there = true,
                     .is_stream = !S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode),
                     .device = facts.st_dev,
                     .inode = facts.st_ino};
    return true;
  }
  const char *slash = strrchr(path, '/');
  const size_t length = slash ? (size_t)(slash - path) + 1 : 0;
  if (length >= PATH_MAX) return false;
  memcpy(folder, path, length);
  folder[length] = '\0';
  const ssize_t bytes = readlink(path, to, sizeof to - 1);
  if (bytes > 0) { /* a link to what is not there yet */
    to[bytes] = '\0';
    memcpy(folder + (to[0] == '/' ? 0 : length), to, (size_t)bytes + 1);
    return links && find_place(folder, links - 1, found);
  }
  if (strlen(path + length) > NAME_MAX || stat(length ? folder : ".", &facts) != 0) return false;
  *found = (place){.device = facts.st_dev, .inode = facts.st_ino};
  strcpy(found->name, path + length);
  return true;
}

static bool is_standard(const char *path) { return strcmp(path, "-") == 0; }

static bool is_same(const char *one, const char *other) {
  enum { LINKS = 8 };
  place a, b;
  if (!find_place(one, LINKS, &a) || !find_place(other, LINKS, &b) || a.is_stream || b.is_stream) return false;
  return a.is_there == b.is_there && a.device == b.device && a.inode == b.inode && strcmp(a.name, b.name) == 0;
}

/* A spec may be a recipe, by its name. */
static bool is_same_spec(const char *path, const char *spec) {
  char *recipe = NULL;
  const bool is_recipe = tsr_recipe_path(spec, &recipe, NULL) == TSR_OK;
  const bool same = is_same(path, is_recipe ? recipe : spec);
  free(recipe);
  return same;
}

static tsr_status check_output(const tsr_named_path *output, const tsr_named_path *others, size_t count,
                               const char *what, tsr_error *error) {
  for (size_t i = 0; i < count; i++)
    if (others[i].path && !is_standard(others[i].path) &&
        (strcmp(others[i].option, "SPEC") == 0 ? is_same_spec : is_same)(output->path, others[i].path))
      return tsr_fail(error, TSR_BAD_ARGUMENT, "%s %s and %s %s are one file: %s", output->option, output->path,
                      others[i].option, others[i].path, what);
  return TSR_OK;
}

tsr_status tsr_outputs_check(const tsr_named_path *outputs, size_t output_count, const tsr_named_path *inputs,
                             size_t input_count, tsr_error *error) {
  const tsr_named_path *standard = NULL;
  tsr_status status = TSR_OK;
  for (size_t i = 0; status == TSR_OK && i < output_count; i++) {
    const tsr_named_path *output = &outputs[i];
    if (!output->path) continue;
    if (is_standard(output->path)) {
      if (standard)
        status = tsr_fail(error, TSR_BAD_ARGUMENT, "%s - and %s -: each output needs a place of its own",
                          standard->option, output->option);
      standard = output;
      continue;
    }
    status = check_output(output, outputs, i, "each output needs a place of its own", error);
    if (status == TSR_OK)
      status = check_output(output, inputs, input_count, "the output would replace what is read", error);
    int failure = status ? 0 : tsr_file_check_output(output->path);
    if (failure)
      status = tsr_fail(error, TSR_IO, "%s %s: cannot be written: %s", output->option, output->path, strerror(failure));
  }
  return status;
}

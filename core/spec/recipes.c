/* SPDX-License-Identifier: Apache-2.0
 *
 * Finding and listing recipes (recipes.h).
 */
#define _GNU_SOURCE /* glob, secure_getenv, strndup */

#include "core/spec/recipes.h"

#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/spec/home.h"
#include "core/spec/number.h"

enum { NAME_BYTES = 64 };

static const char ending[] = ".ini";
static const char name_letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_/";

/* ---- Where they are -------------------------------------------------------------------------- */

/* $TESSERA_SPECS, otherwise share/tessera/specs of the installed copy that this library is a part of. */
static bool find_folder(char folder[PATH_MAX]) {
  const char *given = secure_getenv("TESSERA_SPECS");
  if (!given || !*given) return tsr_home_path("../share/tessera/specs", folder);
  const int written = snprintf(folder, PATH_MAX, "%s", given);
  return written > 0 && written < PATH_MAX;
}

static bool is_file(const char *path) {
  struct stat facts;
  return stat(path, &facts) == 0 && S_ISREG(facts.st_mode);
}

bool tsr_recipe_seek(const char *word, char path[PATH_MAX]) {
  char folder[PATH_MAX];
  if (!*word || *word == '/' || word[strspn(word, name_letters)] || !find_folder(folder)) return false;
  const int written = snprintf(path, PATH_MAX, "%s/%s%s", folder, word, ending);
  return written > 0 && written < PATH_MAX && is_file(path);
}

/* ---- The list -------------------------------------------------------------------------------- */

/* The first sentence of the comment that a file begins with. Empty: it begins with none. The caller frees it. */
static char *read_summary(const char *path) {
  char text[1024], *line = NULL;
  size_t letters = 0, room = 0;
  ssize_t length;
  FILE *file = fopen(path, "r");
  while (file && (length = getline(&line, &room, file)) > 0 && (line[0] == ';' || line[0] == '#')) {
    const char *words = line + 1 + strspn(line + 1, " ");
    const int written = snprintf(text + letters, sizeof text - letters, "%s%.*s", letters ? " " : "",
                                 (int)strcspn(words, "\r\n"), words);
    if (written < 0 || (letters += (size_t)written) >= sizeof text) break;
  }
  if (file) fclose(file);
  free(line);
  text[letters < sizeof text ? letters : sizeof text - 1] = '\0';
  const char *end = strstr(text, ". ");
  return strndup(text, end ? (size_t)(end - text) + 1 : strlen(text));
}

static bool take_file(const char *path, size_t folder_letters, tsr_recipe_info *recipe) {
  const char *name = path + folder_letters + 1;
  *recipe = (tsr_recipe_info){
      .name = strndup(name, strlen(name) - strlen(ending)), .summary = read_summary(path), .path = strdup(path)};
  return recipe->name && recipe->summary && recipe->path;
}

/* Those of the folder itself come first. */
static int find_files(const char *folder, glob_t *files) {
  static const char *const patterns[] = {"%s/*%s", "%s/*/*%s"};
  char pattern[PATH_MAX];
  int failure = 0;
  for (size_t i = 0; i < 2 && (!failure || failure == GLOB_NOMATCH); i++) {
    const int written = snprintf(pattern, sizeof pattern, patterns[i], folder, ending);
    if (written < 0 || written >= (int)sizeof pattern) return GLOB_ABORTED;
    failure = glob(pattern, i ? GLOB_APPEND : 0, NULL, files);
  }
  return files->gl_pathc ? 0 : failure;
}

tsr_status tsr_recipes_list(const tsr_recipe_info **list, size_t *count, tsr_error *error) {
  char folder[PATH_MAX] = "";
  glob_t files = {.gl_pathc = 0};
  if (!list || !count) return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_recipes_list: list and count must not be NULL");
  if (!find_folder(folder) || find_files(folder, &files)) {
    globfree(&files);
    return tsr_fail(error, TSR_NOT_FOUND,
                    "'%s': holds no recipes: set TESSERA_SPECS to the folder of the recipes, specs/ of a checkout",
                    folder);
  }
  tsr_recipe_info *found = calloc(files.gl_pathc, sizeof *found);
  bool is_whole = found != NULL;
  for (size_t i = 0; is_whole && i < files.gl_pathc; i++)
    is_whole = take_file(files.gl_pathv[i], strlen(folder), &found[i]);
  if (is_whole) {
    *list = found;
    *count = files.gl_pathc;
  } else if (found) {
    tsr_recipes_free(found, files.gl_pathc);
  }
  globfree(&files);
  return is_whole ? TSR_OK : tsr_fail(error, TSR_NO_MEMORY, "no memory for the list of recipes");
}

void tsr_recipes_free(const tsr_recipe_info *list, size_t count) {
  for (size_t i = 0; list && i < count; i++) {
    free((char *)list[i].name);
    free((char *)list[i].summary);
    free((char *)list[i].path);
  }
  free((tsr_recipe_info *)list);
}

/* ---- One of them ----------------------------------------------------------------------------- */

/* The name without ".ini", where a recipe has that name. */
static bool seek_without_ending(const char *word, char bare[NAME_BYTES], char path[PATH_MAX]) {
  const size_t letters = strlen(word), own = strlen(ending);
  if (letters <= own || letters - own >= NAME_BYTES || strcmp(word + letters - own, ending) != 0) return false;
  snprintf(bare, NAME_BYTES, "%.*s", (int)(letters - own), word);
  return tsr_recipe_seek(bare, path);
}

static void find_nearest(const char *word, char nearest[NAME_BYTES]) {
  const tsr_recipe_info *list = NULL;
  size_t count = 0;
  nearest[0] = '\0';
  if (tsr_recipes_list(&list, &count, NULL) != TSR_OK) return;
  const char **names = calloc(count, sizeof *names);
  for (size_t i = 0; names && i < count; i++) names[i] = list[i].name;
  const char *found = names ? tsr_nearest(word, names, count) : NULL;
  if (found) snprintf(nearest, NAME_BYTES, "%s", found);
  free(names);
  tsr_recipes_free(list, count);
}

tsr_status tsr_recipe_refuse(const char *word, bool or_file, tsr_error *error) {
  const char *what = or_file ? "is neither a recipe nor a file" : "there is no such recipe";
  char near[NAME_BYTES], path[PATH_MAX];
  if (seek_without_ending(word, near, path))
    return tsr_fail(error, TSR_NOT_FOUND, "'%s': there is no such file; the recipe of this name is called %s", word,
                    near);
  if (or_file && (!*word || word[strspn(word, name_letters)]))
    return tsr_fail(error, TSR_NOT_FOUND, "'%s': cannot be opened as a spec: %s", word, strerror(ENOENT));
  find_nearest(word, near);
  if (*near) return tsr_fail(error, TSR_NOT_FOUND, "'%s': %s; did you mean %s?", word, what, near);
  return tsr_fail(error, TSR_NOT_FOUND, "'%s': %s; `tessera list recipes` lists the recipes", word, what);
}

tsr_status tsr_recipe_path(const char *name, char **path, tsr_error *error) {
  char found[PATH_MAX];
  if (!name || !path) return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_recipe_path: name and path must not be NULL");
  if (!tsr_recipe_seek(name, found)) return tsr_recipe_refuse(name, false, error);
  char *copy = strdup(found);
  if (!copy) return tsr_fail(error, TSR_NO_MEMORY, "%s: no memory for its path", found);
  *path = copy;
  return TSR_OK;
}

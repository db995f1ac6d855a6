/* SPDX-License-Identifier: Apache-2.0
 *
 * tessera new: the two files of a new plugin, from a folder of plugins/template/. They are a working plugin as they are,
 * so that its author starts from something that runs.
 */
#define _GNU_SOURCE /* mkdir */

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/spec/number.h"
#include "tools/cli/command.h"
#include "tools/cli/places.h"

enum { NAME_MAX_LETTERS = 24 };

typedef struct role {
  const char *name, *folder, *widths;
  const char *recipe;   /* one that the template fits in */
  const char *template; /* its folder */
} role;

static const role roles[] = {{"layout", "layouts", "key_payload", "u64_map.ini", "layout"},
                             {"probing", "probing", "key_payload", "quickstart.ini", "probing"},
                             {"hasher", "hashers", "key", "quickstart.ini", "hasher"},
                             {"allocator", "allocators", "none", "slab_hash.ini", "allocator"},
                             {"eviction", "eviction", "none", "cache.ini", "eviction"}};
enum { ROLES = sizeof roles / sizeof roles[0] };
static const role evicting = {"probing", "probing", "key_payload", "quickstart.ini", "evicting"}; /* --evicts */

/* ---- What was asked for ---------------------------------------------------------------------- */

static tsr_exit check_role(const char *word, const role **found) {
  const char *names[ROLES];
  for (size_t i = 0; i < ROLES; i++) {
    names[i] = roles[i].name;
    if (strcmp(word, roles[i].name) != 0) continue;
    *found = &roles[i];
    return TSR_EXIT_OK;
  }
  const char *nearest = tsr_nearest(word, names, ROLES);
  return tsr_say_usage("there is no role %s: the roles are layout, probing, hasher, allocator and eviction%s%s%s", word,
                       nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

/* Only a scheme can evict; there is a template of one that does. */
static tsr_exit check_evicts(const tsr_arguments *arguments, const role **found) {
  if (!tsr_arguments_has(arguments, "--evicts")) return TSR_EXIT_OK;
  if (strcmp((*found)->name, evicting.name) != 0)
    return tsr_say_usage("--evicts: only a %s scheme evicts pairs: leave it out for a %s", evicting.name,
                         (*found)->name);
  *found = &evicting;
  return TSR_EXIT_OK;
}

static tsr_exit check_name(const char *name) {
  size_t length = strlen(name);
  if (length < 1 || length > NAME_MAX_LETTERS || strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != length ||
      !islower((unsigned char)name[0]))
    return tsr_say_usage("%s: a plugin's name is 1 to %d of a-z, 0-9 and _, and starts with a letter", name,
                         NAME_MAX_LETTERS);
  bool is_taken = strcmp(name, "tsr") == 0; /* the name begins those of the plugin's own functions */
  for (size_t i = 0; i < ROLES; i++) is_taken = is_taken || strcmp(name, roles[i].name) == 0;
  if (is_taken) return tsr_say_usage("%s: is a word of the plugin contract: choose another name", name);
  return TSR_EXIT_OK;
}

/* ---- Files ----------------------------------------------------------------------------------- */

/* Reads a whole text file; the caller frees it. NULL, with errno, if it cannot be read. */
static char *read_text(const char *path) {
  FILE *file = fopen(path, "r");
  char *text = NULL;
  size_t used = 0, room = 0;
  while (file && !feof(file) && !ferror(file)) {
    char *more = realloc(text, room + 4096 + 1);
    if (!more) break;
    text = more;
    room += 4096;
    used += fread(text + used, 1, room - used, file);
    text[used] = '\0';
  }
  bool is_whole = file && feof(file);
  if (file) fclose(file);
  if (is_whole) return text;
  free(text);
  return NULL;
}

/* Writes the text, with NAME for every `TEMPLATE` and name for every `template` unless name is NULL. */
static void write_named(FILE *file, const char *text, const char *name) {
  static const char lower[] = "template", upper[] = "TEMPLATE";
  while (*text) {
    bool is_lower = name && strncmp(text, lower, sizeof lower - 1) == 0;
    if (is_lower || (name && strncmp(text, upper, sizeof upper - 1) == 0)) {
      for (const char *at = name; *at; at++) fputc(is_lower ? *at : toupper((unsigned char)*at), file);
      text += sizeof lower - 1;
    } else {
      fputc(*text++, file);
    }
  }
}

/* Writes a file that must not exist yet. */
static tsr_status write_new(const char *path, const char *text, const char *name, tsr_error *error) {
  FILE *file = fopen(path, "wx");
  if (!file && errno == EEXIST)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "%s exists and is left alone: choose another name", path);
  if (!file) return tsr_fail(error, TSR_IO, "%s: cannot be made: %s", path, strerror(errno));
  write_named(file, text, name);
  bool failed = ferror(file);
  if (fclose(file) != 0 || failed) {
    tsr_status status = tsr_fail(error, TSR_IO, "%s: cannot be written: %s", path, strerror(errno));
    unlink(path);
    return status;
  }
  return TSR_OK;
}

static tsr_status too_long(const char *folder, tsr_error *error) {
  return tsr_fail(error, TSR_BAD_ARGUMENT, "%s: is too long a path", folder);
}

/* Makes <folder>/<name><ending> from the template; *path is its path. */
static tsr_status instantiate(const char *sdk, const role *role, const char *folder, const char *name,
                              const char *ending, char path[TSR_PLACE_BYTES], tsr_error *error) {
  char file[64], from[TSR_PLACE_BYTES];
  snprintf(file, sizeof file, "plugins/template/%s/template%s", role->template, ending);
  if (!tsr_place_join(sdk, file, from)) return too_long(sdk, error);
  snprintf(file, sizeof file, "%s%s", name, ending);
  if (!tsr_place_join(folder, file, path)) return too_long(folder, error);
  char *text = read_text(from);
  if (!text) return tsr_fail(error, TSR_NOT_FOUND, "%s: the template cannot be read: %s", from, strerror(errno));
  tsr_status status = write_new(path, text, name, error);
  free(text);
  return status;
}

/* ---- The BUILD file -------------------------------------------------------------------------- */

static bool has_build_file(const char *folder) {
  char path[TSR_PLACE_BYTES];
  return (tsr_place_join(folder, "BUILD", path) && access(path, F_OK) == 0) ||
         (tsr_place_join(folder, "BUILD.bazel", path) && access(path, F_OK) == 0);
}

/* The rule of a plugin; in Tessera's own workspace labels have no repository. */
static void print_rule(char *text, size_t bytes, const char *folder, const role *role, const char *name) {
  char checkout[TSR_PLACE_BYTES];
  const char *repository = tsr_place_checkout(folder, checkout) ? "" : "@tessera";
  snprintf(text, bytes,
           "load(\"%s//plugins:plugin.bzl\", \"tsr_plugin\")\n\n"
           "tsr_plugin(\n    name = \"%s\",\n    role = \"%s\",\n    visibility = [\"//visibility:public\"],\n"
           "    widths = \"%s\",\n)\n",
           repository, name, role->name, role->widths);
}

/* Makes a BUILD file with the plugin's rule; one that is there is its owner's, who is told the rule. */
static tsr_status add_rule(const char *folder, const role *role, const char *name, tsr_error *error) {
  char build[TSR_PLACE_BYTES], rule[1024];
  print_rule(rule, sizeof rule, folder, role, name);
  if (has_build_file(folder)) {
    printf("%s has a BUILD file; unless that builds all plugins of its folder, it needs\n%s", folder, rule);
    return TSR_OK;
  }
  if (!tsr_place_join(folder, "BUILD", build)) return too_long(folder, error);
  tsr_status status = write_new(build, rule, NULL, error);
  if (status == TSR_OK) printf("made %s\n", build);
  return status;
}

/* ---- new ------------------------------------------------------------------------------------- */

/* The folder for the files: --at, made if it is missing, or the role's folder. */
static tsr_status choose_folder(const char *at, const role *role, char folder[TSR_PLACE_BYTES], tsr_error *error) {
  if (at) {
    int written = snprintf(folder, TSR_PLACE_BYTES, "%s", at);
    if (written >= TSR_PLACE_BYTES) return too_long(at, error);
    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
      return tsr_fail(error, TSR_IO, "%s: the folder cannot be made: %s", folder, strerror(errno));
    return TSR_OK;
  }
  if (!tsr_place_checkout(".", folder))
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "this folder is in no Tessera checkout: say with --at DIR where the files go");
  return tsr_place_join(folder, role->folder, folder) ? TSR_OK : too_long(folder, error);
}

/* In a folder of parts the BUILD file names no plugin, and ./tessera builds all of them. */
static void print_next_steps_in_room(const role *role, const char *name) {
  printf("it is a working plugin as it is; in the top folder of the checkout:\n"
         "  ./tessera describe %s/%s\n"
         "  ./tessera bench specs/%s --set table.%s=%s\n"
         "  tests/docs/update_tables.sh      # its rows in %s/README.md\n",
         role->name, name, role->recipe, role->name, name, role->folder);
}

static void print_next_steps(const char *sdk, const char *folder, const role *role, const char *name) {
  printf("it is a working plugin as it is; with Bazel (BUILD) or without:\n"
         "  TSR_NVCC=$(command -v nvcc) bash %s/plugins/build_plugin.sh --role %s --name %s --widths %s --out "
         "%s/%s_%s.so %s/%s.c %s/%s.cuh\n"
         "  tessera describe %s/%s --plugins %s\n"
         "A spec names it by `%s = %s`; --plugins then lists its folder and those of the other parts.\n",
         sdk, role->name, name, role->widths, folder, role->name, name, folder, name, folder, name, role->name, name,
         folder, role->name, name);
}

static tsr_exit make(const role *role, const char *name, const char *at) {
  char folder[TSR_PLACE_BYTES], sdk[TSR_PLACE_BYTES], host[TSR_PLACE_BYTES], device[TSR_PLACE_BYTES];
  tsr_error error;
  tsr_status status = tsr_place_sdk(sdk, &error);
  if (status == TSR_OK) status = choose_folder(at, role, folder, &error);
  if (status == TSR_OK) status = instantiate(sdk, role, folder, name, ".c", host, &error);
  if (status) return tsr_say_error(status, &error);
  status = instantiate(sdk, role, folder, name, ".cuh", device, &error);
  if (status) {
    unlink(host); /* one file alone is no plugin */
    return tsr_say_error(status, &error);
  }
  printf("made %s\nmade %s\n", host, device);
  if (!at) {
    print_next_steps_in_room(role, name);
    return TSR_EXIT_OK;
  }
  status = add_rule(folder, role, name, &error);
  if (status) return tsr_say_error(status, &error);
  print_next_steps(sdk, folder, role, name);
  return TSR_EXIT_OK;
}

static tsr_exit run_new(const tsr_arguments *arguments) {
  const role *role = NULL;
  tsr_exit failed = check_role(arguments->operands[0], &role);
  if (failed == TSR_EXIT_OK) failed = check_evicts(arguments, &role);
  if (failed == TSR_EXIT_OK) failed = check_name(arguments->operands[1]);
  return failed ? failed : make(role, arguments->operands[1], tsr_arguments_value(arguments, "--at"));
}

static const tsr_option options[] = {
    {"--evicts", NULL, false, "A probing scheme that moves pairs to make room for others."},
    {"--at", "DIR", false, "Where the files go. Otherwise the role's folder in the checkout around this folder."},
    TSR_OPTION_END};

const tsr_command tsr_new_command = {
    {"new", "ROLE NAME", "Makes the two files of a plugin of your own, which work and are there to be changed.",
     options, NULL},
    run_new};

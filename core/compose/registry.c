/* SPDX-License-Identifier: Apache-2.0
 *
 * Loading and listing plugins (registry.h). The rules it checks are numbered in plugins/README.md.
 */
#define _GNU_SOURCE /* asprintf, secure_getenv */
#include "core/compose/registry.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/spec/home.h"
#include "core/spec/number.h"
#include "core/tessera_tools.h"

const char *const tsr_role_names[TSR_ROLES] = {
    [TSR_ROLE_HASHER] = "hasher",   [TSR_ROLE_LAYOUT] = "layout",     [TSR_ROLE_ALLOCATOR] = "allocator",
    [TSR_ROLE_PROBING] = "probing", [TSR_ROLE_EVICTION] = "eviction",
};

static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER; /* over dlopen and its dlerror */

/* ---- Where plugins are ----------------------------------------------------------------------- */

/* Copies the next directory of a colon-separated list; returns what follows it, NULL at the end. */
static const char *next_directory(const char *list, char *directory, size_t bytes) {
  while (*list == ':') list++;
  if (!*list) return NULL;
  size_t length = strcspn(list, ":");
  snprintf(directory, bytes, "%.*s", (int)length, list);
  return list + length;
}

/* A folder that the caller named and that cannot be read is a mistake; one of the environment holds nothing. */
static tsr_status check_directories(const char *directories, tsr_error *error) {
  char directory[PATH_MAX];
  for (const char *rest = directories; (rest = next_directory(rest, directory, sizeof directory));) {
    DIR *open = opendir(directory);
    if (!open)
      return tsr_fail(
          error, TSR_BAD_ARGUMENT,
          "'%s': cannot be searched for plugins: %s: --plugins (tsr_options.plugins) names folders, with ':' "
          "between them",
          directory, strerror(errno));
    closedir(open);
  }
  return TSR_OK;
}

/* The caller's directories, then the environment's, then the library's own, as one list. The caller frees *path. */
static tsr_status search_path(const char *directories, char **path, tsr_error *error) {
  const char *environment = secure_getenv("TESSERA_PLUGINS"); /* code comes from there */
  char beside[PATH_MAX];
  tsr_status status = check_directories(directories ? directories : "", error);
  if (status) return status;
  if (!tsr_home_path("tessera", beside)) beside[0] = '\0'; /* where an installed copy keeps them */
  const char *own = directories ? directories : "", *others = environment ? environment : "";
  if (asprintf(path, "%s%s%s%s%s", own, *own ? ":" : "", others, *others ? ":" : "", beside) >= 0) return TSR_OK;
  return tsr_fail(error, TSR_NO_MEMORY, "no memory for the plugins' search path");
}

bool tsr_registry_seek(const char *name, char path[PATH_MAX]) {
  char directory[PATH_MAX], *search;
  bool found = false;
  if (search_path(NULL, &search, NULL)) return false;
  for (const char *rest = search; !found && (rest = next_directory(rest, directory, sizeof directory));) {
    const int length = snprintf(path, PATH_MAX, "%s/%s", directory, name);
    found = length > 0 && length < PATH_MAX && access(path, R_OK) == 0;
  }
  free(search);
  return found;
}

/* ---- One file -------------------------------------------------------------------------------- */

static bool is_plugin_name(const char *name) {
  size_t length = strlen(name);
  return length >= 1 && length <= 24 && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == length &&
         strchr("abcdefghijklmnopqrstuvwxyz", name[0]) != NULL;
}

/* Why dlopen must not see this file, or NULL. It trusts the sizes that a file tells: one that was cut short ends the
 * process, and a pipe makes it wait. What is no ELF file it refuses itself. */
static const char *unsafe_to_open(const char *path) {
  ElfW(Ehdr) head;
  ElfW(Phdr) segment;
  struct stat facts;
  const char *reason = NULL;
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return NULL;
  if (fstat(file, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    reason = "it is no regular file: only a plugin may have such a name";
  } else if (pread(file, &head, sizeof head, 0) == (ssize_t)sizeof head && memcmp(head.e_ident, ELFMAG, SELFMAG) == 0 &&
             head.e_phentsize == sizeof segment) {
    uint64_t size = (uint64_t)facts.st_size;
    for (uint32_t i = 0; !reason && i < head.e_phnum; i++) {
      bool is_there =
          pread(file, &segment, sizeof segment, (off_t)(head.e_phoff + i * sizeof segment)) == (ssize_t)sizeof segment;
      if (!is_there || segment.p_offset > size || segment.p_filesz > size - segment.p_offset)
        reason = "it was cut short: build or copy it again";
    }
  }
  close(file);
  return reason;
}

/* What a required member of the descriptor is called that is not there, or NULL. */
static const char *missing_member(const tsr_plugin *plugin) {
  if (!plugin->summary) return "summary";
  if (!plugin->source) return "source";
  if (!plugin->parameters) return "parameters";
  if (!plugin->plan) return "plan";
  if (!plugin->images) return "images";
  if (!plugin->text) return "text";
  return plugin->images[0].functions ? NULL : "images with functions";
}

/* What is wrong with a parameter, or NULL. */
static const char *broken_row(const tsr_plugin *plugin, const tsr_parameter *row) {
  uint64_t bytes = row->type == TSR_PARAMETER_U32 ? sizeof(uint32_t) : sizeof(uint64_t);
  if (row->type != TSR_PARAMETER_U32 && row->type != TSR_PARAMETER_U64) return "has no known type";
  if (!row->doc || !*row->doc) return "has no doc";
  if (row->initial < row->minimum || row->initial > row->maximum) return "has a default outside its range";
  if (row->type == TSR_PARAMETER_U32 && row->maximum > UINT32_MAX) return "has a range beyond its type";
  if (row->offset % bytes || row->offset + bytes > plugin->config_bytes) return "is outside the config struct";
  for (const tsr_parameter *other = plugin->parameters; other < row; other++)
    if (strcmp(other->name, row->name) == 0) return "is there twice";
  return NULL;
}

static tsr_status check_parameters(const char *path, const tsr_plugin *plugin, tsr_error *error) {
  for (const tsr_parameter *row = plugin->parameters; row->name; row++) {
    const char *wrong = broken_row(plugin, row);
    if (wrong)
      return tsr_fail(error, TSR_BAD_PLUGIN,
                      "%s: P-11: its parameter %s (default %llu, range %llu .. %llu) %s: correct its line of "
                      "TSR_PARAMETERS",
                      path, row->name, (unsigned long long)row->initial, (unsigned long long)row->minimum,
                      (unsigned long long)row->maximum, wrong);
  }
  return TSR_OK;
}

static tsr_status check_plugin(const char *path, const tsr_plugin *plugin, tsr_error *error) {
  if (plugin->abi != tsr_sdk_abi)
    return tsr_fail(
        error, TSR_BAD_PLUGIN,
        "%s: P-02: built from other SDK headers (ABI %08x) than this library (%08x): build it again with the "
        "SDK that came with this library",
        path, plugin->abi, tsr_sdk_abi);
  if (plugin->size != sizeof(tsr_plugin))
    return tsr_fail(error, TSR_BAD_PLUGIN, "%s: P-03: its descriptor has %u bytes, this library's %zu: build it again",
                    path, plugin->size, sizeof(tsr_plugin));
  if (plugin->role >= TSR_ROLES)
    return tsr_fail(error, TSR_BAD_PLUGIN,
                    "%s: P-04: its role is %u, roles are numbered 0 to %d: end it with TSR_PLUGIN", path, plugin->role,
                    TSR_ROLES - 1);
  if (!plugin->name || !is_plugin_name(plugin->name))
    return tsr_fail(error, TSR_BAD_PLUGIN,
                    "%s: P-05: its name is '%.40s': must be 1 to 24 letters a-z, digits and _, a letter first", path,
                    plugin->name ? plugin->name : "");
  const char *missing = missing_member(plugin);
  if (missing)
    return tsr_fail(error, TSR_BAD_PLUGIN, "%s: P-06: its descriptor has no %s: end it with TSR_PLUGIN", path, missing);
  char expected[64];
  snprintf(expected, sizeof expected, "%s_%s.so", tsr_role_names[plugin->role], plugin->name);
  const char *slash = strrchr(path, '/');
  if (strcmp(slash ? slash + 1 : path, expected) != 0)
    return tsr_fail(error, TSR_BAD_PLUGIN, "%s: P-07: it holds %s/%s, so the file must be called %s", path,
                    tsr_role_names[plugin->role], plugin->name, expected);
  return check_parameters(path, plugin, error);
}

tsr_status tsr_registry_load(const char *path, const tsr_plugin **plugin, tsr_error *error) {
  const char *unsafe = unsafe_to_open(path);
  if (unsafe) return tsr_fail(error, TSR_BAD_PLUGIN, "%s: P-01: cannot be loaded: %s", path, unsafe);
  pthread_mutex_lock(&registry_lock);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  const char *reason = library ? NULL : dlerror();
  const tsr_plugin *found = library ? dlsym(library, "tsr_plugin_entry") : NULL;
  pthread_mutex_unlock(&registry_lock);
  if (!library) return tsr_fail(error, TSR_BAD_PLUGIN, "%s: P-01: cannot be loaded: %s: build it again", path, reason);
  if (!found)
    return tsr_fail(error, TSR_BAD_PLUGIN, "%s: P-01: exports no data symbol tsr_plugin_entry: end it with TSR_PLUGIN",
                    path);
  tsr_status status = check_plugin(path, found, error);
  if (status == TSR_OK) *plugin = found;
  return status;
}

/* ---- Names in directories -------------------------------------------------------------------- */

/* Splits "<role>_<name>.so"; returns the role or TSR_ROLES. */
static uint32_t split_file_name(const char *file, char *name, size_t bytes) {
  size_t length = strlen(file);
  if (length < 4 || strcmp(file + length - 3, ".so") != 0) return TSR_ROLES;
  for (uint32_t role = 0; role < TSR_ROLES; role++) {
    size_t prefix = strlen(tsr_role_names[role]);
    if (strncmp(file, tsr_role_names[role], prefix) != 0 || file[prefix] != '_') continue;
    snprintf(name, bytes, "%.*s", (int)(length - prefix - 4), file + prefix + 1);
    return role;
  }
  return TSR_ROLES;
}

typedef struct found_file {
  uint32_t role;
  char name[32];
  char path[PATH_MAX];
} found_file;

static int by_role_and_name(const void *left, const void *right) {
  const found_file *a = left, *b = right;
  return a->role != b->role ? (a->role < b->role ? -1 : 1) : strcmp(a->name, b->name);
}

/* All plugin files on the path, sorted; of two with one name the first directory's is kept. Caller frees. */
static tsr_status find_files(const char *directories, found_file **files, size_t *count, tsr_error *error) {
  char directory[PATH_MAX];
  *files = NULL;
  *count = 0;
  char *path;
  tsr_status status = search_path(directories, &path, error);
  if (status) return status;
  for (const char *rest = path; (rest = next_directory(rest, directory, sizeof directory));) {
    DIR *open = opendir(directory);
    if (!open) continue; /* a missing directory holds no plugin; what is missing is reported by name */
    for (struct dirent *entry; (entry = readdir(open));) {
      found_file file;
      file.role = split_file_name(entry->d_name, file.name, sizeof file.name);
      if (file.role == TSR_ROLES) continue;
      bool known = false;
      for (size_t i = 0; i < *count && !known; i++)
        known = (*files)[i].role == file.role && strcmp((*files)[i].name, file.name) == 0;
      if (known) continue;
      int written = snprintf(file.path, sizeof file.path, "%s/%s", directory, entry->d_name);
      found_file *more = written < (int)sizeof file.path ? realloc(*files, (*count + 1) * sizeof **files) : NULL;
      if (!more) {
        closedir(open);
        free(*files);
        free(path);
        return tsr_fail(error, TSR_NO_MEMORY, "%s: no memory for the list of plugins", directory);
      }
      *files = more;
      more[(*count)++] = file;
    }
    closedir(open);
  }
  free(path);
  if (*count) qsort(*files, *count, sizeof **files, by_role_and_name);
  return TSR_OK;
}

static tsr_status not_found(const char *path, const char *directories, uint32_t role, const char *name,
                            tsr_error *error) {
  found_file *files;
  size_t count, names_count = 0;
  tsr_status status = find_files(directories, &files, &count, error);
  if (status) return status;
  const char **names = calloc(count + 1, sizeof *names);
  for (size_t i = 0; names && i < count; i++)
    if (files[i].role == role) names[names_count++] = files[i].name;
  const char *nearest = names ? tsr_nearest(name, names, names_count) : NULL;
  if (nearest)
    status = tsr_fail(error, TSR_NOT_FOUND, "there is no such %s; did you mean %s?", tsr_role_names[role], nearest);
  else if (!is_plugin_name(name))
    status = tsr_fail(error, TSR_BAD_SPEC,
                      "a plugin's name is 1 to 24 letters a-z, digits and _, a letter first; see `tessera list %s`",
                      tsr_role_names[role]);
  else
    status = tsr_fail(error, TSR_NOT_FOUND,
                      "there is no %s_%s.so in %s; see `tessera list %s`, --plugins and TESSERA_PLUGINS",
                      tsr_role_names[role], name, path, tsr_role_names[role]);
  free(names);
  free(files);
  return status;
}

/* What was found stays loaded, so it is found again without a look at the folders. A growing table, a sweep and a
 * test of many compositions ask for the same few plugins thousands of times, and looking takes most of the time of
 * composing. */
typedef struct known_plugin {
  struct known_plugin *next;
  const tsr_plugin *plugin;
  uint32_t role;
  char words[]; /* the name and where it was looked for, as tell_apart writes them */
} known_plugin;

static known_plugin *known_plugins; /* guarded by registry_lock; as long as the process */

/* Two requests with the same words look in the same folders. The caller frees *words. */
static tsr_status tell_apart(const char *directories, const char *name, char **words, tsr_error *error) {
  const char *environment = secure_getenv("TESSERA_PLUGINS");
  if (asprintf(words, "%s\n%s\n%s", name, directories ? directories : "", environment ? environment : "") >= 0)
    return TSR_OK;
  return tsr_fail(error, TSR_NO_MEMORY, "no memory for the plugins' search path");
}

static const tsr_plugin *recall(uint32_t role, const char *words) {
  const tsr_plugin *plugin = NULL;
  pthread_mutex_lock(&registry_lock);
  for (const known_plugin *k = known_plugins; !plugin && k; k = k->next)
    if (k->role == role && strcmp(k->words, words) == 0) plugin = k->plugin;
  pthread_mutex_unlock(&registry_lock);
  return plugin;
}

/* Without memory for it the next one looks again. */
static void remember(uint32_t role, const char *words, const tsr_plugin *plugin) {
  const size_t bytes = strlen(words) + 1;
  known_plugin *k = malloc(sizeof *k + bytes);
  if (!k) return;
  k->role = role;
  k->plugin = plugin;
  memcpy(k->words, words, bytes);
  pthread_mutex_lock(&registry_lock);
  k->next = known_plugins;
  known_plugins = k;
  pthread_mutex_unlock(&registry_lock);
}

static tsr_status look_for(const char *directories, uint32_t role, const char *name, const tsr_plugin **plugin,
                           tsr_error *error) {
  char directory[PATH_MAX], path[PATH_MAX + 64], *search;
  struct stat facts;
  bool found = false;
  tsr_status status = search_path(directories, &search, error);
  if (status) return status;
  for (const char *rest = search;
       !found && is_plugin_name(name) && (rest = next_directory(rest, directory, sizeof directory));) {
    snprintf(path, sizeof path, "%s/%s_%s.so", directory, tsr_role_names[role], name);
    found = lstat(path, &facts) == 0; /* a link to nothing is found, and fails to load */
  }
  status = found ? tsr_registry_load(path, plugin, error) : not_found(search, directories, role, name, error);
  free(search);
  return status;
}

tsr_status tsr_registry_find(const char *directories, uint32_t role, const char *name, const tsr_plugin **plugin,
                             tsr_error *error) {
  char *words;
  tsr_status status = tell_apart(directories, name, &words, error);
  if (status) return status;
  const tsr_plugin *known = recall(role, words);
  if (known)
    *plugin = known;
  else
    status = look_for(directories, role, name, plugin, error);
  if (status == TSR_OK && !known) remember(role, words, *plugin);
  free(words);
  return status;
}

/* ---- The public list ------------------------------------------------------------------------- */

static tsr_status describe_plugin(const char *path, const tsr_plugin *plugin, tsr_plugin_info *info, tsr_error *error) {
  size_t count = 0;
  while (plugin->parameters[count].name) count++;
  tsr_parameter_info *rows = calloc(count + 1, sizeof *rows);
  char *own_path = strdup(path);
  if (!rows || !own_path) {
    free(rows);
    free(own_path);
    return tsr_fail(error, TSR_NO_MEMORY, "%s: no memory to describe it", path);
  }
  for (size_t i = 0; i < count; i++) {
    const tsr_parameter *row = &plugin->parameters[i];
    rows[i] = (tsr_parameter_info){
        row->name, row->type == TSR_PARAMETER_U32 ? "u32" : "u64", row->doc, row->initial, row->minimum, row->maximum};
  }
  *info = (tsr_plugin_info){.role = tsr_role_names[plugin->role],
                            .name = plugin->name,
                            .summary = plugin->summary,
                            .source = plugin->source,
                            .path = own_path,
                            .has_device_code = plugin->images[0].device != NULL,
                            .parameters = rows,
                            .parameter_count = count};
  return TSR_OK;
}

tsr_status tsr_plugins_list(const char *plugins, const tsr_plugin_info **list, size_t *count, tsr_error *error) {
  if (!list || !count)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "tsr_plugins_list needs places for the list and its length");
  found_file *files;
  size_t files_count;
  tsr_status status = find_files(plugins, &files, &files_count, error);
  if (status) return status;
  tsr_plugin_info *infos = calloc(files_count + 1, sizeof *infos);
  if (!infos) status = tsr_fail(error, TSR_NO_MEMORY, "no memory for the list of plugins");
  for (size_t i = 0; status == TSR_OK && i < files_count; i++) {
    const tsr_plugin *plugin;
    status = tsr_registry_load(files[i].path, &plugin, error);
    if (status == TSR_OK) status = describe_plugin(files[i].path, plugin, &infos[i], error);
  }
  free(files);
  if (status) {
    tsr_plugins_free(infos, infos ? files_count : 0);
    return status;
  }
  *list = infos;
  *count = files_count;
  return TSR_OK;
}

void tsr_plugins_free(const tsr_plugin_info *list, size_t count) {
  if (!list) return;
  for (size_t i = 0; i < count; i++) { /* entries past a failed one are zero */
    free((void *)(uintptr_t)list[i].parameters);
    free((void *)(uintptr_t)list[i].path);
  }
  free((void *)(uintptr_t)list);
}

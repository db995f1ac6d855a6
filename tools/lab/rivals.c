/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening files of rivals (rivals.h).
 */
#include "tools/lab/rivals.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef const tsr_rival *list_function(uint32_t interface, uint32_t *count);

static tsr_status check_rival(const char *path, const tsr_rival *rival, tsr_error *error) {
  const char *missing = !rival->name      ? "name"
                        : !rival->about   ? "about"
                        : !rival->create  ? "create"
                        : !rival->destroy ? "destroy"
                        : !rival->clear   ? "clear"
                        : !rival->insert  ? "insert"
                        : !rival->find    ? "find"
                        : !rival->count   ? "count"
                                          : NULL;
  if (!missing) return TSR_OK;
  return tsr_fail(error, TSR_BAD_ARGUMENT, "--beside %s: its rival %s has no %s, and every rival needs one", path,
                  rival->name ? rival->name : "without a name", missing);
}

/* A path without a slash would be looked for among the system's libraries. */
static void *open_file(const char *path) {
  char here[4096];
  if (strchr(path, '/')) return dlopen(path, RTLD_NOW | RTLD_LOCAL);
  snprintf(here, sizeof here, "./%s", path);
  return dlopen(here, RTLD_NOW | RTLD_LOCAL);
}

static tsr_status list_file(const char *path, const tsr_rival **list, uint32_t *count, tsr_error *error) {
  list_function *function = NULL;
  void *library = open_file(path);
  if (!library) return tsr_fail(error, TSR_NOT_FOUND, "--beside %s: cannot be opened: %s", path, dlerror());
  void *address = dlsym(library, "tsr_rival_list");
  if (!address)
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "--beside %s: does not export tsr_rival_list, as a rival does: see tessera_rival.h", path);
  memcpy(&function, &address, sizeof address); /* ISO C converts no pointer to a function */
  *list = function(TSR_RIVAL_INTERFACE, count);
  if (*list && *count) return TSR_OK;
  return tsr_fail(error, TSR_BAD_ARGUMENT,
                  "--beside %s: has no rival of interface %d: compile it with this version's tessera_rival.h", path,
                  TSR_RIVAL_INTERFACE);
}

static tsr_status open_one(const char *path, tsr_rivals *rivals, tsr_error *error) {
  const tsr_rival *list = NULL;
  uint32_t count = 0;
  tsr_status status = list_file(path, &list, &count, error);
  if (status) return status;
  const tsr_rival **each = realloc(rivals->each, (rivals->count + count) * sizeof *each);
  if (each) rivals->each = each;
  const char **files = realloc(rivals->files, (rivals->count + count) * sizeof *files);
  if (files) rivals->files = files;
  if (!each || !files) return tsr_fail(error, TSR_NO_MEMORY, "no memory for rivals");
  for (uint32_t i = 0; status == TSR_OK && i < count; i++) {
    status = check_rival(path, &list[i], error);
    rivals->each[rivals->count] = &list[i];
    rivals->files[rivals->count] = path;
    rivals->count += status == TSR_OK;
  }
  return status;
}

tsr_status tsr_rivals_open(const char *const *paths, size_t count, tsr_rivals *rivals, tsr_error *error) {
  tsr_status status = TSR_OK;
  *rivals = (tsr_rivals){.count = 0};
  for (size_t i = 0; status == TSR_OK && i < count; i++) status = open_one(paths[i], rivals, error);
  return status;
}

void tsr_rivals_free(tsr_rivals *rivals) {
  free(rivals->each);
  free(rivals->files);
  *rivals = (tsr_rivals){.count = 0};
}

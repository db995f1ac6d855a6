/* SPDX-License-Identifier: Apache-2.0
 *
 * Kinds that a scheme carries (kinds.h).
 */
#define _POSIX_C_SOURCE 200809L /* fork, pipe */
#include "tools/cli/kinds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SECONDS_MAX = 20 }; /* that plan() of all parts may take together */

/* A kind, what else [table] says of it, and how it is called. */
typedef struct kind {
  const char *kind, *entries, *name;
} kind;

static const kind kinds[] = {
    {"set", "", "set"},
    {"set", "duplicates = promise_unique\n", "set of distinct keys"},
    {"map", "value_bits = 32\n", "map"},
    {"map", "value_bits = 32\nduplicates = promise_unique\n", "map of distinct keys"},
    {"counter", "value_bits = 32\n", "counter"},
    {"index", "", "index"},
    {"multiset", "", "multiset"},
    {"multimap", "value_bits = 32\n", "multimap"},
    {"multimap", "value_bits = 32\nvalues = buckets\n", "multimap with values = buckets"},
    {"map", "value_bytes = 64\n", "map with value_bytes"},
    {"multimap", "value_bytes = 64\n", "multimap with value_bytes"},
    {"filter", "", "filter"},
};

/* The parts that a scheme needs beside it. */
typedef struct parts {
  const char *scheme, *layout, *hasher, *allocator;
} parts;

static bool composes(const kind *k, parts p, const char *folders) {
  char text[1024], *told = NULL;
  tsr_spec *spec = NULL;
  const tsr_options options = {.plugins = folders};
  snprintf(text, sizeof text,
           "[table]\nkind = %s\nkey_bits = 32\ncapacity = 1000\nbackend = cpu\nprobing = %s\nlayout = %s\nhasher = %s\n"
           "%s%s\n%s",
           k->kind, p.scheme, p.layout, p.hasher, p.allocator ? "allocator = " : "", p.allocator ? p.allocator : "",
           k->entries);
  const bool is_right =
      tsr_spec_parse(text, "kinds", &spec, NULL) == TSR_OK && tsr_spec_check(spec, &options, &told, NULL) == TSR_OK;
  free(told);
  tsr_spec_free(spec);
  return is_right;
}

/* The next plugin of a role from number *at on; NULL: there is no more. */
static const char *next_of(const char *role, const tsr_plugin_info *plugins, size_t count, size_t *at) {
  while (*at < count && strcmp(plugins[*at].role, role) != 0) ++*at;
  return *at < count ? plugins[(*at)++].name : NULL;
}

/* Whether any layout carries it with this hasher, with any allocator or none. */
static bool is_carried_with(const kind *k, parts p, const tsr_plugin_info *plugins, size_t count, const char *folders) {
  size_t layout = 0;
  while ((p.layout = next_of("layout", plugins, count, &layout))) {
    size_t allocator = 0;
    p.allocator = NULL;
    do
      if (composes(k, p, folders)) return true;
    while ((p.allocator = next_of("allocator", plugins, count, &allocator)));
  }
  return false;
}

/* All hashers carry what one does, but for filters, whose fingerprints some cannot undo. */
static bool is_carried(const kind *k, const char *scheme, const tsr_plugin_info *plugins, size_t count,
                       const char *folders) {
  size_t hasher = 0;
  parts p = {.scheme = scheme};
  while ((p.hasher = next_of("hasher", plugins, count, &hasher))) {
    if (is_carried_with(k, p, plugins, count, folders)) return true;
    if (strcmp(k->kind, "filter") != 0) return false;
  }
  return false;
}

static void list_kinds(const tsr_plugin_info *scheme, const tsr_plugin_info *plugins, size_t count, const char *folders,
                       char text[TSR_KINDS_BYTES]) {
  const char *carried = ""; /* the last one: where it looks for keys, it carries distinct ones too */
  size_t used = 0;
  text[0] = '\0';
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
    const bool is_weaker = strcmp(carried, kinds[i].kind) == 0 && strstr(kinds[i].entries, "promise_unique");
    if (is_weaker || !is_carried(&kinds[i], scheme->name, plugins, count, folders)) continue;
    used += (size_t)snprintf(text + used, TSR_KINDS_BYTES - used, "%s%s", used ? ", " : "", kinds[i].name);
    carried = kinds[i].kind;
  }
}

void tsr_kinds_of(const tsr_plugin_info *scheme, const tsr_plugin_info *plugins, size_t count, const char *folders,
                  char text[TSR_KINDS_BYTES]) {
  int ends[2];
  snprintf(text, TSR_KINDS_BYTES, "unknown, as plan() of a part ended");
  if (fflush(stdout) || pipe(ends)) return;
  const pid_t child = fork();
  if (child == 0) {
    char list[TSR_KINDS_BYTES];
    alarm(SECONDS_MAX);
    list_kinds(scheme, plugins, count, folders, list);
    _exit(write(ends[1], list, sizeof list) != (ssize_t)sizeof list);
  }
  close(ends[1]);
  char list[TSR_KINDS_BYTES];
  const bool is_whole = child > 0 && read(ends[0], list, sizeof list) == (ssize_t)sizeof list;
  if (child > 0) waitpid(child, NULL, 0);
  if (is_whole) memcpy(text, list, sizeof list);
  close(ends[0]);
}

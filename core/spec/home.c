/* SPDX-License-Identifier: Apache-2.0
 *
 * Where this code was loaded from (home.h).
 */
#define _GNU_SOURCE /* dladdr */

#include "core/spec/home.h"

#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

/* Whether that is the program itself: then the name is what the program was called by, perhaps a bare word. */
static bool is_the_program(const Dl_info *library) {
  Dl_info program;
  return dladdr((const void *)getauxval(AT_PHDR), &program) && program.dli_fbase == library->dli_fbase;
}

bool tsr_home_path(const char *name, char path[PATH_MAX]) {
  static const char here = 0; /* an address within this library */
  Dl_info info;
  if (!dladdr(&here, &info) || !info.dli_fname) return false;
  char *resolved = realpath(is_the_program(&info) ? "/proc/self/exe" : info.dli_fname, NULL);
  if (!resolved) return false;
  char *slash = strrchr(resolved, '/');
  if (slash) *slash = 0;
  const int written = snprintf(path, PATH_MAX, "%s/%s", resolved, name);
  free(resolved);
  return written > 0 && written < PATH_MAX;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Where NVIDIA's libraries are found (library.h).
 */
#define _GNU_SOURCE /* secure_getenv */
#include "core/cuda/library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/spec/home.h"

/* The packages of pip that are installed where Tessera's is: site-packages/tessera/dist/lib is this library's folder, and dist/bin
 * the program's. */
static void *open_of_pip(const char *name, const char *release) {
  static const char *const folders[] = {"cu13", "nccl"};
  char path[PATH_MAX], inside[512];
  void *library = NULL;
  for (size_t i = 0; !library && i < sizeof folders / sizeof folders[0]; i++) {
    snprintf(inside, sizeof inside, "../../../nvidia/%s/lib/%s.%s", folders[i], name, release);
    if (tsr_home_path(inside, path)) library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  }
  return library;
}

/* secure_getenv, because a program that has more rights than its caller must not load code from a folder that the caller
 * names. */
void *tsr_cuda_library(const char *name, const char *release) {
  static const char *const roots[] = {"CUDA_PATH", "CUDA_HOME", NULL};
  char path[4096];
  snprintf(path, sizeof path, "%s.%s", name, release);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  for (size_t i = 0; !library && i < sizeof roots / sizeof roots[0]; i++) {
    const char *root = roots[i] ? secure_getenv(roots[i]) : "/usr/local/cuda";
    if (!root || !*root) continue;
    snprintf(path, sizeof path, "%s/lib64/%s", root, name);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library) break;
    snprintf(path, sizeof path, "%s/lib64/%s.%s", root, name, release);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  }
  return library ? library : open_of_pip(name, release);
}

/* Copies the address, because ISO C has no conversion from void * to a pointer to a function. */
bool tsr_cuda_symbol(void *library, const char *symbol, void *function, size_t bytes) {
  void *address = dlsym(library, symbol);
  if (address) memcpy(function, &address, bytes);
  return address != NULL;
}

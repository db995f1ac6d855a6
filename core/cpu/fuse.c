/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuses an operation for the CPU (fuse.h).
 */
#define _GNU_SOURCE /* access */
#include "core/cpu/fuse.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/compose/cache.h"
#include "core/compose/glue.h"
#include "core/compose/registry.h"
#include "core/cpu/compiler.h"
#include "core/spec/file.h"
#include "core/spec/number.h"

static const char entry_name[] = "tsr_fused_range";

static tsr_status use(const void *code, size_t bytes, tsr_fused *fused, tsr_error *error) {
  void *function;
  tsr_status status = tsr_compiler_open(code, bytes, entry_name, &fused->library, &function, error);
  if (status == TSR_OK) memcpy(&fused->range, &function, sizeof fused->range);
  return status;
}

static tsr_status fuse_text(const char *text, const char *version, tsr_fused *fused, tsr_error *error) {
  tsr_cache_key key = tsr_cache_key_start(tsr_sdk_abi);
  void *code = NULL;
  size_t bytes = 0;
  tsr_cache_key_add(&key, version, strlen(version));
  tsr_cache_key_add(&key, text, strlen(text));
  fused->cached = tsr_cache_get(&key, &code, &bytes) && use(code, bytes, fused, NULL) == TSR_OK;
  tsr_status status = TSR_OK;
  if (!fused->cached) {
    free(code);
    code = NULL;
    status = tsr_compiler_run(&text, 1, TSR_CODE_OWN, &code, &bytes, error);
    if (status == TSR_OK) status = use(code, bytes, fused, error);
    if (status == TSR_OK) tsr_cache_put(&key, code, bytes);
  }
  free(code);
  return status;
}

/* ---- Compiled ahead -------------------------------------------------------------------------- */

enum { AHEAD_NAME_BYTES = 48 };

/* What code of a text that was compiled ahead is called; its name is all that vouches for it, as a plugin's. */
static void name_ahead(const char *text, char name[AHEAD_NAME_BYTES]) {
  tsr_cache_key key = tsr_cache_key_start(tsr_sdk_abi);
  tsr_cache_key_add(&key, text, strlen(text));
  snprintf(name, AHEAD_NAME_BYTES, "fused/%016llx%016llx.so", (unsigned long long)key.half[0],
           (unsigned long long)key.half[1]);
}

/* Each file is one library, so that the loader may have it under its name. */
static bool use_ahead(const char *text, tsr_fused *fused) {
  char name[AHEAD_NAME_BYTES], path[PATH_MAX];
  name_ahead(text, name);
  if (!tsr_compiler_runs_common() || !tsr_registry_seek(name, path)) return false;
  fused->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void *function = fused->library ? dlsym(fused->library, entry_name) : NULL;
  if (!function) {
    tsr_fused_free(fused);
    return false;
  }
  memcpy(&fused->range, &function, sizeof fused->range);
  return fused->ahead = true;
}

/* Where one cannot be made, the file that is written next says why. */
static void make_folders(const char *folder) {
  char path[PATH_MAX];
  mkdir(folder, 0777);
  snprintf(path, sizeof path, "%s/fused", folder);
  mkdir(path, 0777);
}

tsr_status tsr_fuse_ahead(const tsr_composition *composition, uint32_t operation, const char *folder,
                          tsr_error *error) {
  char name[AHEAD_NAME_BYTES], path[PATH_MAX];
  void *code = NULL;
  size_t bytes = 0;
  tsr_file file;
  char *text = tsr_glue_unit(composition, operation);
  if (!text) return tsr_fail(error, TSR_NO_MEMORY, "no memory for the text of an operation");
  name_ahead(text, name);
  tsr_status status = TSR_OK;
  if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path)
    status = tsr_fail(error, TSR_BAD_ARGUMENT, "%s: is too long a path", folder);
  const bool is_there = access(path, R_OK) == 0; /* of another recipe */
  if (status == TSR_OK && !is_there)
    status = tsr_compiler_run((const char *const *)&text, 1, TSR_CODE_COMMON, &code, &bytes, error);
  if (status == TSR_OK && !is_there) {
    make_folders(folder);
    int failure = tsr_file_begin_output(&file, path);
    if (!failure) failure = tsr_file_end(&file, tsr_file_write(&file, code, bytes));
    if (failure) status = tsr_fail(error, TSR_IO, "%s: cannot be written: %s", path, strerror(failure));
  }
  free(code);
  free(text);
  return status;
}

/* ---- An operation ---------------------------------------------------------------------------- */

tsr_status tsr_fuse(const tsr_composition *composition, uint32_t operation, tsr_fused *fused, tsr_error *error) {
  const char *version;
  tsr_fused made = {.library = NULL};
#ifdef TSR_IS_SANITIZED_
  return tsr_fail(error, TSR_UNSUPPORTED, "a sanitizer looks at this build, and would not see what is compiled apart");
#endif
  char *text = tsr_glue_unit(composition, operation);
  if (!text) return tsr_fail(error, TSR_NO_MEMORY, "no memory for the text of an operation");
  tsr_status status = TSR_OK;
  if (!use_ahead(text, &made)) {
    status = tsr_compiler_version(&version, error);
    if (status == TSR_OK) status = fuse_text(text, version, &made, error);
  }
  free(text);
  if (status == TSR_OK) *fused = made;
  return status;
}

void tsr_fused_free(tsr_fused *fused) {
  if (fused->library) dlclose(fused->library);
  *fused = (tsr_fused){.library = NULL};
}

uint64_t tsr_fuse_items(void) {
  enum { ITEMS = 1 << 18 }; /* 0.2 to 0.4 s, as long as a compiler takes */
  const char *named = getenv("TESSERA_CC_ITEMS");
  uint64_t items;
  return named && tsr_parse_u64(named, &items) ? items : (uint64_t)ITEMS;
}

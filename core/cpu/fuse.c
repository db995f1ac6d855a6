/* SPDX-License-Identifier: Apache-2.0
 *
 * Fuses an operation for the CPU (fuse.h).
 */
#define _GNU_SOURCE /* access */
#include "core/cpu/fuse.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/compose/cache.h"
#include "core/compose/glue.h"
#include "core/compose/registry.h"
#include "core/cpu/compiler.h"
#include "core/spec/file.h"
#include "core/spec/leftover.h"
#include "core/spec/number.h"

static const char entry_name[] = "tsr_fused_range";

static tsr_status use(const void *code, size_t bytes, tsr_fused *fused, tsr_error *error) {
  void *function;
  tsr_status status = tsr_compiler_open(code, bytes, entry_name, &fused->library, &function, error);
  if (status == TSR_OK) memcpy(&fused->range, &function, sizeof fused->range);
  return status;
}

static tsr_cache_key key_of(const char *text, const char *version) {
  tsr_cache_key key = tsr_cache_key_start(tsr_sdk_abi);
  tsr_cache_key_add(&key, version, strlen(version));
  tsr_cache_key_add(&key, text, strlen(text));
  return key;
}

static bool use_cached(const char *text, const char *version, tsr_fused *fused) {
  const tsr_cache_key key = key_of(text, version);
  void *code = NULL;
  size_t bytes = 0;
  fused->cached = tsr_cache_get(&key, &code, &bytes) && use(code, bytes, fused, NULL) == TSR_OK;
  free(code);
  return fused->cached;
}

static tsr_status compile(const char *text, const char *version, tsr_fused *fused, tsr_error *error) {
  const tsr_cache_key key = key_of(text, version);
  void *code = NULL;
  size_t bytes = 0;
  tsr_status status = tsr_compiler_run(&text, 1, TSR_CODE_OWN, &code, &bytes, error);
  if (status == TSR_OK) status = use(code, bytes, fused, error);
  if (status == TSR_OK) tsr_cache_put(&key, code, bytes);
  free(code);
  return status;
}

/* ---- Compiled ahead -------------------------------------------------------------------------- */

enum { AHEAD_NAME_BYTES = 48 };
static const char *const ahead_folders[TSR_CODE_TARGETS] = {[TSR_CODE_V3] = "fused", [TSR_CODE_V2] = "fused/v2"};

/* What code of a text that was compiled ahead is called; its name is all that vouches for it, as a plugin's. */
static void name_ahead(const char *text, tsr_code_target target, char name[AHEAD_NAME_BYTES]) {
  tsr_cache_key key = tsr_cache_key_start(tsr_sdk_abi);
  tsr_cache_key_add(&key, text, strlen(text));
  snprintf(name, AHEAD_NAME_BYTES, "%s/%016llx%016llx.so", ahead_folders[target], (unsigned long long)key.half[0],
           (unsigned long long)key.half[1]);
}

/* Each file is one library, so that the loader may have it under its name. */
static bool use_level(const char *text, tsr_code_target target, tsr_fused *fused) {
  char name[AHEAD_NAME_BYTES], path[PATH_MAX];
  if (!tsr_compiler_fits(target)) return false;
  name_ahead(text, target, name);
  if (!tsr_registry_seek(name, path)) return false;
  fused->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void *function = fused->library ? dlsym(fused->library, entry_name) : NULL;
  if (!function) {
    tsr_fused_free(fused);
    return false;
  }
  memcpy(&fused->range, &function, sizeof fused->range);
  return fused->ahead = true;
}

static bool use_ahead(const char *text, tsr_fused *fused) {
  return use_level(text, TSR_CODE_V3, fused) || use_level(text, TSR_CODE_V2, fused);
}

/* Where one cannot be made, the file that is written next says why. */
static void make_folders(const char *folder, tsr_code_target target) {
  char path[PATH_MAX];
  mkdir(folder, 0777);
  for (tsr_code_target t = TSR_CODE_V3; t <= target; t++) {
    snprintf(path, sizeof path, "%s/%s", folder, ahead_folders[t]);
    mkdir(path, 0777);
  }
}

tsr_status tsr_fuse_ahead(const tsr_composition *composition, uint32_t operation, tsr_code_target target,
                          const char *folder, tsr_error *error) {
  char name[AHEAD_NAME_BYTES], path[PATH_MAX];
  void *code = NULL;
  size_t bytes = 0;
  tsr_file file;
  char *text = tsr_glue_unit(composition, operation);
  if (!text) return tsr_fail(error, TSR_NO_MEMORY, "no memory for the text of an operation");
  name_ahead(text, target, name);
  tsr_status status = TSR_OK;
  if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path)
    status = tsr_fail(error, TSR_BAD_ARGUMENT, "%s: is too long a path", folder);
  const bool is_there = access(path, R_OK) == 0; /* of another recipe */
  if (status == TSR_OK && !is_there)
    status = tsr_compiler_run((const char *const *)&text, 1, target, &code, &bytes, error);
  if (status == TSR_OK && !is_there) {
    make_folders(folder, target);
    int failure = tsr_file_begin_output(&file, path);
    if (!failure) failure = tsr_file_end(&file, tsr_file_write(&file, code, bytes));
    if (failure) status = tsr_fail(error, TSR_IO, "%s: cannot be written: %s", path, strerror(failure));
  }
  free(code);
  free(text);
  return status;
}

/* ---- Compilers at work ------------------------------------------------------------------------ */

/* All compilers, and what they leave, are guarded by one lock. It is held for a few words at a time. */
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t one_ended = PTHREAD_COND_INITIALIZER;
static uint32_t at_work;

struct tsr_fusing {
  char *text;
  const char *version;
  pid_t process; /* whose thread it is */
  bool has_ended, is_left;
  tsr_status status;
  tsr_fused made;
  tsr_error why;
};

static void hold(void) { pthread_mutex_lock(&guard); }
static void release(void) { pthread_mutex_unlock(&guard); }

/* A child has none of its parent's threads. */
static void forget_all(void) {
  at_work = 0;
  release();
}

/* A compiler that outlived the process would leave its folder behind. */
static void wait_for_all(void) {
  enum { SECONDS = 5 };
  struct timespec limit;
  clock_gettime(CLOCK_REALTIME, &limit);
  limit.tv_sec += SECONDS;
  hold();
  while (at_work && pthread_cond_timedwait(&one_ended, &guard, &limit) == 0) {}
  const bool is_late = at_work != 0;
  release();
  if (is_late) tsr_leftover_clear();
}

static void watch_forks_and_exits(void) {
  pthread_atfork(hold, release, forget_all);
  atexit(wait_for_all);
}

static void fusing_free(tsr_fusing *fusing) {
  tsr_fused_free(&fusing->made);
  free(fusing->text);
  free(fusing);
}

static void *work(void *argument) {
  tsr_fusing *fusing = argument;
  fusing->status = compile(fusing->text, fusing->version, &fusing->made, &fusing->why);
  hold();
  fusing->has_ended = true;
  const bool is_left = fusing->is_left;
  if (fusing->process == getpid()) at_work--;
  pthread_cond_broadcast(&one_ended);
  release();
  if (is_left) fusing_free(fusing);
  return NULL;
}

/* In a thread of its own, or where none can be started at once. */
static void start(tsr_fusing *fusing) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_t thread;
  pthread_once(&once, watch_forks_and_exits);
  hold();
  at_work++;
  release();
  if (pthread_create(&thread, NULL, work, fusing) == 0)
    pthread_detach(thread);
  else
    work(fusing);
}

bool tsr_fuse_ended(tsr_fusing *fusing, bool waits) {
  hold();
  const bool is_own = fusing->process == getpid();
  while (is_own && waits && !fusing->has_ended) pthread_cond_wait(&one_ended, &guard);
  const bool has_ended = fusing->has_ended;
  release();
  if (is_own || has_ended || !waits) return has_ended;
  fusing->process = getpid();
  start(fusing);
  return tsr_fuse_ended(fusing, waits);
}

tsr_status tsr_fuse_take(tsr_fusing *fusing, tsr_fused *fused, tsr_error *error) {
  const tsr_status status = fusing->status;
  if (status && error) *error = fusing->why;
  if (status == TSR_OK) *fused = fusing->made;
  fusing->made = (tsr_fused){.library = NULL};
  fusing_free(fusing);
  return status;
}

void tsr_fuse_leave(tsr_fusing *fusing) {
  if (!fusing) return;
  hold();
  fusing->is_left = true;
  const bool is_over = fusing->has_ended || fusing->process != getpid();
  release();
  if (is_over) fusing_free(fusing);
}

/* ---- An operation ---------------------------------------------------------------------------- */

tsr_status tsr_fuse_begin(const tsr_composition *composition, uint32_t operation, tsr_fused *fused, tsr_fusing **fusing,
                          tsr_error *error) {
  const char *version;
  tsr_fused made = {.library = NULL};
  *fusing = NULL;
#ifdef TSR_IS_SANITIZED_
  return tsr_fail(error, TSR_UNSUPPORTED, "a sanitizer looks at this build, and would not see what is compiled apart");
#endif
  char *text = tsr_glue_unit(composition, operation);
  if (!text) return tsr_fail(error, TSR_NO_MEMORY, "no memory for the text of an operation");
  bool is_there = use_ahead(text, &made);
  tsr_status status = is_there ? TSR_OK : tsr_compiler_version(&version, error);
  if (status == TSR_OK && !is_there) is_there = use_cached(text, version, &made);
  if (status || is_there) {
    free(text);
    if (is_there) *fused = made;
    return status;
  }
  tsr_fusing *begun = calloc(1, sizeof *begun);
  if (!begun) {
    free(text);
    return tsr_fail(error, TSR_NO_MEMORY, "no memory for a compiler at work");
  }
  *begun = (tsr_fusing){.text = text, .version = version, .process = getpid()};
  start(begun);
  *fusing = begun;
  return TSR_OK;
}

bool tsr_fuse_find(const tsr_composition *composition, uint32_t operation, tsr_fused *fused) {
#ifdef TSR_IS_SANITIZED_
  (void)composition, (void)operation, (void)fused;
  return false;
#else
  const char *version;
  char *text = tsr_glue_unit(composition, operation);
  const bool is_there = text && (use_ahead(text, fused) ||
                                 (tsr_compiler_version(&version, NULL) == TSR_OK && use_cached(text, version, fused)));
  free(text);
  return is_there;
#endif
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

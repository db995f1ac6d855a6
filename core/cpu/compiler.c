/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs the C compiler (compiler.h).
 */
#define _GNU_SOURCE /* secure_getenv */
#include "core/cpu/compiler.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/spec/leftover.h"

enum {
  CODE_BYTES_MAX = 16 << 20,
  WORDS_BYTES_MAX = 1 << 16, /* kept of what the compiler says */
  FOLDER_TRIES = 8
};

/* An operation takes below a second on an idle machine. A table waits for its own code; nobody waits for what is compiled
 * ahead, perhaps on a busy machine. */
static const int seconds_max[] = {[TSR_CODE_OWN] = 20, [TSR_CODE_V3] = 600, [TSR_CODE_V2] = 600};

/* What is compiled for this machine alone stays here. -fno-strict-aliasing: a pair's word is swapped whole, and its
 * payload combined alone. */
static const char *const flags[] = {"-std=gnu11", "-O3",   "-fno-strict-aliasing", "-w", "-shared",
                                    "-s",         "-fPIC", "-fvisibility=hidden",  "-x", "c"};
enum { FLAGS = sizeof flags / sizeof flags[0] };
#if defined(__x86_64__)
static const char *const target_flags[TSR_CODE_TARGETS] = {
    [TSR_CODE_OWN] = "-march=native", [TSR_CODE_V3] = "-march=x86-64-v3", [TSR_CODE_V2] = "-march=x86-64-v2"};
#else /* one level is all of them */
static const char *const target_flags[TSR_CODE_TARGETS] = {
    [TSR_CODE_OWN] = "-march=native", [TSR_CODE_V3] = "-mtune=generic"};
#endif

/* ---- A folder of its own --------------------------------------------------------------------- */

/* Its name begins so. Whoever works in it holds a lock on it, which ends with the process: a folder without one is what a
 * killed process left. */
#define FOLDER_PREFIX "tessera-compiler-"
#define FOLDER_RANDOM "XXXXXX"

typedef struct folder {
  char path[512];
  tsr_leftover leftover; /* lists it while it is there */
  int lock;              /* the folder, open and locked; negative: it is not */
} folder;

static const char *const unit_files[COMPILER_FILES_MAX] = {"unit.c",  "unit1.c", "unit2.c", "unit3.c", "unit4.c",
                                                           "unit5.c", "unit6.c", "unit7.c", "unit8.c"};

static void path_in(const folder *f, const char *name, char *path, size_t bytes) {
  snprintf(path, bytes, "%s/%s", f->path, name);
}

static void folder_remove(folder *f) {
  tsr_leftover_hold();
  tsr_leftover_remove(f->path);
  tsr_leftover_drop(&f->leftover);
  tsr_leftover_release();
  if (f->lock >= 0) close(f->lock);
  f->lock = -1;
}

static const char *folder_base(void) {
  const char *base = secure_getenv("TMPDIR");
  return !base || base[0] != '/' || strlen(base) > 400 ? "/tmp" : base;
}

/* Opens a folder of this user's alone and locks it, if nobody else has; a negative number otherwise. */
static int lock_folder(const char *path, int how) {
  struct stat info;
  const int lock = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (lock < 0) return lock;
  if (fstat(lock, &info) == 0 && info.st_uid == geteuid() && !(info.st_mode & 077) && flock(lock, how) == 0)
    return lock;
  close(lock);
  return -1;
}

/* Removes what processes that were killed have left, once a process. */
static void remove_abandoned(void) {
  const char *base = folder_base();
  char path[700];
  DIR *files = opendir(base);
  for (const struct dirent *file; files && (file = readdir(files));) {
    if (strncmp(file->d_name, FOLDER_PREFIX, sizeof FOLDER_PREFIX - 1) != 0 ||
        strlen(file->d_name) != sizeof FOLDER_PREFIX FOLDER_RANDOM - 1)
      continue;
    snprintf(path, sizeof path, "%s/%s", base, file->d_name);
    const int lock = lock_folder(path, LOCK_EX | LOCK_NB);
    if (lock < 0) continue;
    tsr_leftover_remove(path);
    close(lock);
  }
  if (files) closedir(files);
}

static pthread_once_t abandoned_once = PTHREAD_ONCE_INIT;

/* mkdtemp makes it for this user alone. Between that and the lock another process may take it for abandoned. */
static bool folder_try(folder *f, const char *base, int *why) {
  struct stat info;
  snprintf(f->path, sizeof f->path, "%s/" FOLDER_PREFIX FOLDER_RANDOM, base);
  tsr_leftover_hold();
  const bool is_made = mkdtemp(f->path) != NULL;
  *why = errno;
  if (is_made) tsr_leftover_add(&f->leftover, f->path);
  tsr_leftover_release();
  if (!is_made) return false;
  f->lock = lock_folder(f->path, LOCK_EX); /* none where the file system has no locks: then nobody removes it either */
  if (stat(f->path, &info) == 0) return true;
  folder_remove(f);
  *why = EAGAIN;
  return false;
}

static tsr_status folder_make(folder *f, tsr_error *error) {
  const char *base = folder_base();
  int why = EAGAIN;
  *f = (folder){.path = "", .lock = -1};
  pthread_once(&abandoned_once, remove_abandoned);
  for (int tries = 0; tries < FOLDER_TRIES && why == EAGAIN; tries++)
    if (folder_try(f, base, &why)) return TSR_OK;
  return tsr_fail(error, TSR_NOT_FOUND, "no folder can be made in %s: %s; TMPDIR may name another", base,
                  strerror(why));
}

static tsr_status folder_write(const folder *f, const char *name, const void *data, size_t bytes, tsr_error *error) {
  char path[600];
  path_in(f, name, path, sizeof path);
  int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  size_t done = 0;
  while (file >= 0 && done < bytes) {
    ssize_t wrote = write(file, (const char *)data + done, bytes - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) break;
    done += (size_t)wrote;
  }
  int why = errno;
  if (file >= 0) close(file);
  if (file >= 0 && done == bytes) return TSR_OK;
  return tsr_fail(error, TSR_NOT_FOUND, "%s cannot be written: %s", path, strerror(why));
}

/* At most `most` bytes and a NUL behind them; NULL if there is no such file, or it is larger, or there is no memory. */
static char *folder_read(const folder *f, const char *name, size_t most, size_t *bytes) {
  char path[600];
  path_in(f, name, path, sizeof path);
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  struct stat info;
  char *data = NULL;
  *bytes = 0;
  if (file < 0) return NULL;
  if (fstat(file, &info) == 0 && S_ISREG(info.st_mode) && info.st_size >= 0 && (size_t)info.st_size <= most)
    data = malloc((size_t)info.st_size + 1);
  while (data && *bytes < (size_t)info.st_size) {
    ssize_t got = read(file, data + *bytes, (size_t)info.st_size - *bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    *bytes += (size_t)got;
  }
  close(file);
  if (data) data[*bytes] = 0;
  return data;
}

/* ---- A child process ------------------------------------------------------------------------- */

extern char **environ;

static int gave_up; /* an earlier call was killed: the process waits no second time */

/* The user's choice, or the system's; NULL if there is to be none. A program with more rights than its caller runs no
 * compiler, because that is the caller's to name. */
static const char *compiler_name(tsr_error *error) {
  const char *named = getenv("TESSERA_CC");
  if (named && !*named) {
    tsr_fail(error, TSR_NOT_FOUND, "TESSERA_CC is empty");
    return NULL;
  }
  if (__atomic_load_n(&gave_up, __ATOMIC_RELAXED)) { /* relaxed: it orders nothing */
    tsr_fail(error, TSR_NOT_FOUND, "an earlier call of the compiler took too long");
    return NULL;
  }
  if (!secure_getenv("PATH")) {
    tsr_fail(error, TSR_NOT_FOUND, "PATH is not set, or not this program's to follow");
    return NULL;
  }
  return named ? named : "cc";
}

/* One look at the child. While the folder lists its group, no other process can be that group. So it is taken from
 * the list in the same step in which the child is. */
static pid_t look(folder *f, pid_t child, int *status) {
  tsr_leftover_hold();
  const pid_t ended = waitpid(child, status, WNOHANG);
  const int why = errno;
  if (ended != 0) f->leftover.group = 0;
  tsr_leftover_release();
  errno = why;
  return ended;
}

/* Waits for it, and kills it with all that it started if that takes too long. The wait is in short sleeps because there
 * is no other one that leaves the signals of the program alone. Returns whether it ended by itself and well; a program
 * that ignores SIGCHLD never learns how, and then what the compiler has made must tell. */
static bool await(folder *f, pid_t child, int seconds, bool *in_time) {
  const struct timespec nap = {0, 2000000};
  struct timespec from, now;
  int status = 0;
  *in_time = true;
  clock_gettime(CLOCK_MONOTONIC, &from);
  for (;;) {
    const pid_t ended = look(f, child, &status);
    if (ended == child) return *in_time && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (ended < 0) return *in_time;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (*in_time && now.tv_sec - from.tv_sec >= seconds) {
      kill(-child, SIGKILL);
      __atomic_store_n(&gave_up, 1, __ATOMIC_RELAXED); /* relaxed: it orders nothing */
      *in_time = false;
    }
    nanosleep(&nap, NULL);
  }
}

/* This process's environment, but that temporary files are made in the folder; *own is the new string. Both are the
 * caller's to free. */
static char **environment_in(const folder *f, char **own) {
  size_t count = 0, used = 0;
  while (environ[count]) count++;
  char **all = calloc(count + 2, sizeof *all);
  *own = malloc(sizeof "TMPDIR=" + sizeof f->path);
  if (!all || !*own) {
    free(all);
    free(*own);
    return *own = NULL, NULL;
  }
  sprintf(*own, "TMPDIR=%s", f->path);
  for (size_t i = 0; i < count; i++)
    if (strncmp(environ[i], "TMPDIR=", 7) != 0) all[used++] = environ[i];
  all[used] = *own;
  return all;
}

/* Starts it in a process group of its own; what it says goes to the folder's file `words`. Returns 0 or an errno. */
static int start(folder *f, const char *const *arguments, pid_t *child) {
  char words[600], *own = NULL, **environment = environment_in(f, &own);
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  sigset_t none, defaults;
  if (!environment) return ENOMEM;
  path_in(f, "words", words, sizeof words);
  posix_spawn_file_actions_init(&files);
  posix_spawnattr_init(&attributes);
  sigemptyset(&none);
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  sigaddset(&defaults, SIGCHLD);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  int failure = posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  if (!failure) failure = posix_spawn_file_actions_addopen(&files, 1, words, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (!failure) failure = posix_spawn_file_actions_adddup2(&files, 1, 2);
  tsr_leftover_hold();
  if (!failure) failure = posix_spawnp(child, arguments[0], &files, &attributes, (char *const *)arguments, environment);
  if (!failure) f->leftover.group = *child;
  tsr_leftover_release();
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  free(environment);
  free(own);
  return failure;
}

static tsr_status run(folder *f, const char *const *arguments, int seconds, tsr_error *error) {
  pid_t child;
  bool in_time;
  const int failure = start(f, arguments, &child);
  if (failure == ENOMEM) return tsr_fail(error, TSR_NO_MEMORY, "no memory to run a compiler");
  if (failure) return tsr_fail(error, TSR_NOT_FOUND, "%s cannot be run: %s", arguments[0], strerror(failure));
  if (await(f, child, seconds, &in_time)) return TSR_OK;
  if (!in_time) return tsr_fail(error, TSR_LINK_FAILED, "%s took more than %d seconds", arguments[0], seconds);
  size_t bytes;
  char *said = folder_read(f, "words", WORDS_BYTES_MAX, &bytes);
  char *first = said ? strstr(said, "error:") : NULL; /* the line with it; other lines say where it is */
  while (first && first > said && first[-1] != '\n') first--;
  if (!first) first = said;
  if (first) first[strcspn(first, "\n")] = 0;
  tsr_status status =
      tsr_fail(error, TSR_LINK_FAILED, "%s failed: %s", arguments[0], first && *first ? first : "it did not say why");
  free(said);
  return status;
}

/* ---- What it is ------------------------------------------------------------------------------ */

static pthread_once_t version_once = PTHREAD_ONCE_INIT;
static tsr_error version_error;
static char *version_text, *line_text;

/* The lines of the first processor that tell what it can do. */
static void print_processor(FILE *out) {
  static const char *const names[] = {"vendor_id", "cpu family", "model", "stepping", "flags", "CPU", "Features"};
  char line[8192];
  FILE *in = fopen("/proc/cpuinfo", "re");
  while (in && fgets(line, sizeof line, in) && line[0] != '\n')
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
      if (strncmp(line, names[i], strlen(names[i])) == 0) {
        fputs(line, out);
        break;
      }
  if (in) fclose(in);
}

static void ask_version(void) {
  folder f;
  size_t bytes = 0, words_bytes = 0;
  char *words = NULL, *text = NULL;
  const char *name = compiler_name(&version_error);
  if (!name || folder_make(&f, &version_error)) return;
  const char *const arguments[] = {name, "--version", NULL};
  if (run(&f, arguments, seconds_max[TSR_CODE_OWN], &version_error) == TSR_OK)
    words = folder_read(&f, "words", WORDS_BYTES_MAX, &words_bytes);
  folder_remove(&f);
  if (version_error.status) return;
  FILE *out = words ? open_memstream(&text, &bytes) : NULL;
  if (out) {
    fprintf(out, "%s\n%s\n", name, words);
    for (size_t i = 0; i < FLAGS; i++) fprintf(out, "%s ", flags[i]);
    fputs(target_flags[TSR_CODE_OWN], out);
    print_processor(out);
    if (fclose(out) == 0) version_text = text;
  }
  out = words ? open_memstream(&line_text, &bytes) : NULL;
  if (out) {
    fprintf(out, "%.*s", (int)strcspn(words, "\n"), words);
    for (size_t i = 0; i < FLAGS; i++) fprintf(out, " %s", flags[i]);
    fprintf(out, " %s", target_flags[TSR_CODE_OWN]);
    fclose(out);
  }
  free(words);
  if (!version_text) tsr_fail(&version_error, TSR_NOT_FOUND, "%s --version cannot be read", name);
}

tsr_status tsr_compiler_version(const char **version, tsr_error *error) {
  pthread_once(&version_once, ask_version);
  if (!version_text) {
    if (error) *error = version_error;
    return version_error.status;
  }
  *version = version_text;
  return TSR_OK;
}

const char *tsr_compiler_line(void) {
  pthread_once(&version_once, ask_version);
  return line_text;
}

/* ---- What it makes --------------------------------------------------------------------------- */

bool tsr_compiler_knows(tsr_code_target target) { return target_flags[target] != NULL; }

bool tsr_compiler_fits(tsr_code_target target) {
#if defined(__x86_64__)
  const bool has_v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
  if (target == TSR_CODE_V3)
    return has_v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
           __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
  if (target == TSR_CODE_V2) return has_v2;
#endif
  return tsr_compiler_knows(target);
}

tsr_status tsr_compiler_run(const char *const *texts, size_t count, tsr_code_target target, void **code, size_t *bytes,
                            tsr_error *error) {
  folder f;
  char from[COMPILER_FILES_MAX][600], to[600];
  const char *arguments[FLAGS + COMPILER_FILES_MAX + 5] = {compiler_name(error)};
  size_t used = FLAGS + 2;
  if (!arguments[0]) return TSR_NOT_FOUND;
  tsr_status status = folder_make(&f, error);
  if (status) return status;
  memcpy(arguments + 1, flags, sizeof flags);
  arguments[FLAGS + 1] = target_flags[target];
  for (size_t i = 0; status == TSR_OK && i < count; i++) {
    path_in(&f, unit_files[i], from[i], sizeof from[i]);
    arguments[used++] = from[i];
    status = folder_write(&f, unit_files[i], texts[i], strlen(texts[i]), error);
  }
  path_in(&f, "unit.so", to, sizeof to);
  arguments[used++] = "-o";
  arguments[used] = to;
  if (status == TSR_OK) status = run(&f, arguments, seconds_max[target], error);
  if (status == TSR_OK) {
    *code = folder_read(&f, "unit.so", CODE_BYTES_MAX, bytes);
    if (!*code) status = tsr_fail(error, TSR_LINK_FAILED, "%s left no code behind", arguments[0]);
  }
  folder_remove(&f);
  return status;
}

/* By a file whose name is never used again: the loader takes one name for one library. */
tsr_status tsr_compiler_open(const void *code, size_t bytes, const char *symbol, void **library, void **function,
                             tsr_error *error) {
  folder f;
  char path[600];
  tsr_status status = folder_make(&f, error);
  if (status) return status;
  status = folder_write(&f, "unit.so", code, bytes, error);
  if (status == TSR_OK) {
    path_in(&f, "unit.so", path, sizeof path);
    *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    *function = *library ? dlsym(*library, symbol) : NULL;
    if (!*function) {
      const char *why = dlerror(),
                 *behind = why ? strstr(why, ".so: ") : NULL; /* the file is gone when one reads this */
      status = tsr_fail(error, TSR_LINK_FAILED, "what the compiler has made cannot be loaded: %s",
                        behind ? behind + 5
                        : why  ? why
                               : symbol);
      if (*library) dlclose(*library);
      *library = NULL;
    }
  }
  folder_remove(&f);
  return status;
}

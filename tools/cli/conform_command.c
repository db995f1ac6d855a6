/* SPDX-License-Identifier: Apache-2.0
 *
 * tessera conform: the conformance kit over one plugin. The kit is a program of its own (tests/conformance, installed
 * as tessera-conform beside this one), so that a plugin that crashes, hangs or ends its process fails the kit and not
 * its caller. It reads TSR_CONFORM, the plugin under test, TSR_CONFORM_LIST, a file with the paths of its companions,
 * and TSR_CONFORM_LEVEL, how much of it is to run; it writes the name of the test that runs to TSR_CONFORM_RUNNING.
 */
#define _GNU_SOURCE /* mkdtemp, realpath, setenv, usleep */

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/spec/leftover.h"
#include "core/spec/number.h"
#include "core/tessera_tools.h"
#include "tools/cli/command.h"
#include "tools/cli/places.h"

enum { SECONDS_DEFAULT = 600, SECONDS_MAX = 86400, POLL_MICROSECONDS = 10000, TEST_NAME_BYTES = 256 };
enum { NO_TEST_WAS_RUN = 3 }; /* the kit's exit status */
enum { STRESS_MIN = 1 << 10, STRESS_MAX = 1 << 30 };

#ifndef __has_feature
#define __has_feature(feature) 0 /* clang's word */
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define TSR_WITH_TSAN 1
#endif

typedef struct kit_run {
  const char *plugins;           /* as in tsr_options */
  char program[TSR_PLACE_BYTES]; /* the kit */
  char *file;                    /* the plugin, as an absolute path: dlopen would search for a bare name */
  const char *level;             /* quick, full, stress or tsan */
  const char *stress;            /* pairs, or NULL */
  uint64_t seconds;              /* of one test */
  char folder[TSR_PLACE_BYTES];  /* a new one, for the next three, and for what the kit makes */
  char list[TSR_PLACE_BYTES];    /* companions */
  char unfinished[TSR_PLACE_BYTES], running[TSR_PLACE_BYTES]; /* kept by the kit: the first while it runs */
  tsr_leftover leftover;                                      /* lists the folder, and the kit's process group */
} kit_run;

/* ---- What is run ----------------------------------------------------------------------------- */

/* What is no plugin at all does not break the contract. */
static bool is_shared_object(const char *path) {
  char head[SELFMAG] = "";
  FILE *file = fopen(path, "rb");
  bool is_elf = file && fread(head, 1, sizeof head, file) == sizeof head && memcmp(head, ELFMAG, SELFMAG) == 0;
  if (file) fclose(file);
  return is_elf;
}

/* ROLE_NAME.so: by its name the kit knows which laws a plugin has to keep. */
static bool has_plugins_name(const char *path) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  const size_t length = strlen(name), role = strcspn(name, "_");
  return tsr_is_role(name, role) && length > role + strlen("_.so") && strcmp(name + length - strlen(".so"), ".so") == 0;
}

static tsr_status find_file(const char *path, char **file, tsr_error *error) {
  struct stat facts;
  char *resolved = realpath(path, NULL);
  if (!resolved) return tsr_fail(error, TSR_NOT_FOUND, "'%s': cannot be opened: %s", path, strerror(errno));
  tsr_status status = TSR_OK;
  if (stat(resolved, &facts) != 0 || !S_ISREG(facts.st_mode))
    status = tsr_fail(error, TSR_BAD_ARGUMENT, "%s: is no regular file: name the .so of a plugin", path);
  else if (access(resolved, R_OK) != 0)
    status = tsr_fail(error, TSR_BAD_ARGUMENT, "%s: cannot be read: %s", path, strerror(errno));
  else if (!is_shared_object(resolved))
    status = tsr_fail(error, TSR_BAD_ARGUMENT,
                      "%s: is no shared object: conform tests the .so that is made of a plugin's sources", path);
  else if (!has_plugins_name(resolved))
    status = tsr_fail(
        error, TSR_BAD_ARGUMENT,
        "%s: is not called ROLE_NAME.so, as every plugin is (P-07), ROLE being hasher, layout, allocator, eviction or "
        "probing: name the .so of a plugin",
        resolved);
  else if (strchr(resolved, ':'))
    status = tsr_fail(error, TSR_BAD_ARGUMENT, "%s: has a ':' in its path, which separates plugins: move it", resolved);
  if (status) {
    free(resolved);
    return status;
  }
  *file = resolved;
  return TSR_OK;
}

static tsr_status make_folder(kit_run *run, tsr_error *error) {
  const char *base = getenv("TMPDIR");
  if (!base || !*base) base = "/tmp";
  tsr_leftover_hold();
  const bool is_made = tsr_place_join(base, "tessera.XXXXXX", run->folder) && mkdtemp(run->folder);
  const int why = errno;
  if (is_made) tsr_leftover_add(&run->leftover, run->folder);
  tsr_leftover_release();
  if (!is_made)
    return tsr_fail(error, TSR_IO, "%s: no temporary folder can be made there: %s: set TMPDIR to another one", base,
                    strerror(why));
  if (!tsr_place_join(run->folder, "list", run->list) || !tsr_place_join(run->folder, "unfinished", run->unfinished) ||
      !tsr_place_join(run->folder, "running", run->running))
    return tsr_fail(error, TSR_IO, "%s: is too long a path: set TMPDIR to another folder", run->folder);
  return TSR_OK;
}

static void remove_folder(kit_run *run) {
  if (!run->leftover.path) return;
  tsr_leftover_hold();
  tsr_leftover_remove(run->folder);
  tsr_leftover_drop(&run->leftover);
  tsr_leftover_release();
}

/* ---- The child ------------------------------------------------------------------------------- */

/* Listing plugins loads them: the one under test may be among them, which is why the child does it. */
static tsr_status write_list(const kit_run *run, tsr_error *error) {
  const tsr_plugin_info *plugins;
  size_t count;
  tsr_status status = tsr_plugins_list(run->plugins, &plugins, &count, error);
  if (status) return status;
  FILE *list = fopen(run->list, "w");
  for (size_t i = 0; list && i < count; i++) fprintf(list, "%s\n", plugins[i].path);
  tsr_plugins_free(plugins, count);
  if (!list || fclose(list) != 0)
    return tsr_fail(error, TSR_IO, "%s: cannot be written: %s", run->list, strerror(errno));
  return TSR_OK;
}

/* Of a shared object that is no plugin, sentences about rules would hide what is wrong. Loading it runs code of it,
 * which may end this process: until that is over, the file that tells so is there. */
static bool is_plugin(const kit_run *run) {
  const char *path = run->file;
  FILE *unfinished = fopen(run->unfinished, "w");
  if (unfinished) fclose(unfinished);
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  unlink(run->unfinished);
  if (!library)
    tsr_say("%s: cannot be loaded (P-01): %s", path, dlerror());
  else if (!dlsym(library, "tsr_plugin_entry"))
    tsr_say("%s: is no plugin: it exports no tsr_plugin_entry (P-01): a plugin's source ends with TSR_PLUGIN", path);
  else
    return true;
  return false;
}

/* One that was built from other headers would fail every test, the first ones without saying why. The list of a folder that
 * has it alone says so; what else is wrong with it is the matter of the kit. */
static bool has_our_headers(const kit_run *run) {
  const tsr_plugin_info *plugins;
  const char *why, *slash = strrchr(run->file, '/');
  char folder[TSR_PLACE_BYTES], link[TSR_PLACE_BYTES];
  size_t count;
  tsr_error error;
  if (!tsr_place_join(run->folder, "alone", folder) || !tsr_place_join(folder, slash ? slash + 1 : run->file, link) ||
      mkdir(folder, 0700) != 0 || symlink(run->file, link) != 0)
    return true;
  if (tsr_plugins_list(folder, &plugins, &count, &error) == TSR_OK) {
    tsr_plugins_free(plugins, count);
    return true;
  }
  why = strstr(error.message, "P-02");
  if (why) tsr_say("%s: %s", run->file, why);
  return !why;
}

static void become_the_kit(const kit_run *run) {
  tsr_error error;
  char *arguments[] = {(char *)(uintptr_t)run->program, (char[]){"--gtest_brief=1"}, NULL};
  prctl(PR_SET_PDEATHSIG, SIGKILL); /* a caller that is interrupted leaves nothing behind */
  if (!is_plugin(run) || !has_our_headers(run)) _exit(TSR_EXIT_USAGE);
  if (write_list(run, &error)) {
    tsr_say("%s", error.message);
    /* threads that wait actively stand in each other's way where the kit's own threads are more than the cores */
  } else if (setenv("OMP_WAIT_POLICY", "passive", 0) == 0 && setenv("TSR_CONFORM", run->file, 1) == 0 &&
             setenv("TMPDIR", run->folder, 1) == 0 && setenv("TSR_CONFORM_LIST", run->list, 1) == 0 &&
             setenv("TSR_CONFORM_LEVEL", run->level, 1) == 0 &&
             setenv("TSR_CONFORM_STRESS", run->stress ? run->stress : "", 1) == 0 &&
             setenv("TSR_CONFORM_RUNNING", run->running, 1) == 0 &&
             setenv("TEST_PREMATURE_EXIT_FILE", run->unfinished, 1) == 0) {
    execv(run->program, arguments);
    tsr_say("%s: cannot be run: %s", run->program, strerror(errno));
  }
  _exit(TSR_EXIT_FAILED);
}

/* ---- The parent ------------------------------------------------------------------------------ */

/* A test began or ended: the kit wrote its file. */
static bool has_moved(const kit_run *run, struct timespec *when) {
  struct stat facts;
  if (stat(run->running, &facts) != 0) return false;
  bool moved = facts.st_mtim.tv_sec != when->tv_sec || facts.st_mtim.tv_nsec != when->tv_nsec;
  *when = facts.st_mtim;
  return moved;
}

static uint64_t seconds_since(const struct timespec *start) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)(now.tv_sec - start->tv_sec);
}

/* What the kit was at: "in the test ...", or "between two tests". */
static void say_where(const kit_run *run, char *where, size_t bytes) {
  char name[TEST_NAME_BYTES] = "";
  FILE *file = fopen(run->running, "r");
  snprintf(where, bytes, file ? "between two tests" : "before the first test");
  if (file && fgets(name, sizeof name, file)) snprintf(where, bytes, "in the test %s", name);
  if (file) fclose(file);
}

/* Whether the child has ended. Its group is taken from the list in the same step: the number may then be another's. */
static bool has_ended(kit_run *run, pid_t child, int *end) {
  tsr_leftover_hold();
  const bool ended = waitpid(child, end, WNOHANG) != 0;
  if (ended) run->leftover.group = 0;
  tsr_leftover_release();
  return ended;
}

/* Waits for the child and says what its end means. The limit is that of one test, for a slow machine takes longer for
 * all of them, and the test that has no end is the one to name. */
static tsr_exit judge(kit_run *run, pid_t child) {
  struct timespec start, moved = {0, 0};
  int end = 0;
  bool was_late = false;
  char where[TEST_NAME_BYTES + 32];
  clock_gettime(CLOCK_MONOTONIC, &start);
  while (!has_ended(run, child, &end)) {
    if (has_moved(run, &moved)) clock_gettime(CLOCK_MONOTONIC, &start);
    if (!was_late && seconds_since(&start) >= run->seconds) {
      was_late = true;
      kill(child, SIGKILL);
    }
    usleep(POLL_MICROSECONDS);
  }
  say_where(run, where, sizeof where);
  if (was_late)
    tsr_say("%s: was not done after %llu seconds %s: a loop in it has no end (P-23). On a slow machine raise --timeout",
            run->file, (unsigned long long)run->seconds, where);
  else if (WIFSIGNALED(end))
    tsr_say("%s: crashed the kit %s: %s", run->file, where, strsignal(WTERMSIG(end)));
  else if (access(run->unfinished, F_OK) == 0)
    tsr_say("%s: ended the kit's process %s: a plugin returns its failures", run->file, where);
  else if (WEXITSTATUS(end) == TSR_EXIT_USAGE)
    return TSR_EXIT_USAGE; /* the child has said why */
  else if (WEXITSTATUS(end) == NO_TEST_WAS_RUN)
    tsr_say("%s: was not tested: --%s has no test for it. Try --full", run->file, run->level);
  else if (WEXITSTATUS(end) != 0)
    tsr_say("%s: breaks the contract: the tests that failed are named after its rules, see plugins/README.md",
            run->file);
  else {
    printf("%s: keeps the contract\n", run->file);
    if (strcmp(run->level, "quick") == 0) tsr_say("--full and --stress 2^22 look further, --tsan for races");
    return TSR_EXIT_OK;
  }
  return TSR_EXIT_FAILED;
}

static tsr_exit run_kit(kit_run *run) {
  fflush(stdout);      /* else the child would print it again */
  tsr_leftover_hold(); /* the kit is listed when it begins */
  pid_t child = fork();
  if (child >= 0) setpgid(child, child); /* both do, as either may be first */
  if (child > 0) run->leftover.group = child;
  tsr_leftover_release();
  if (child < 0) {
    tsr_say("no process for the kit can be made: %s", strerror(errno));
    return TSR_EXIT_FAILED;
  }
  if (child == 0) become_the_kit(run);
  return judge(run, child);
}

/* The level that the options ask for. */
static tsr_exit choose_level(const tsr_arguments *arguments, kit_run *run) {
  static const char *const names[] = {"--quick", "--full", "--stress", "--tsan"};
  static char pairs[24];
  char advice[TSR_ADVICE_BYTES];
  uint64_t number = 0;
  run->level = NULL;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (!tsr_arguments_has(arguments, names[i]) && !tsr_arguments_value(arguments, names[i])) continue;
    if (run->level) return tsr_say_usage("--%s and %s: one at a time", run->level, names[i]);
    run->level = names[i] + 2;
  }
  if (!run->level) run->level = "quick";
  const char *stress = tsr_arguments_value(arguments, "--stress");
  if (stress && (!tsr_parse_u64(stress, &number) || number < STRESS_MIN || number > STRESS_MAX))
    return tsr_say_usage("--stress %s: must be a number of pairs from 2^10 to 2^30%s", stress,
                         tsr_number_advice(stress, advice));
  if (stress) snprintf(pairs, sizeof pairs, "%llu", (unsigned long long)number);
  if (stress) run->stress = pairs;
#ifndef TSR_WITH_TSAN
  if (strcmp(run->level, "tsan") == 0)
    return tsr_say_usage("--tsan: this copy of Tessera was built without ThreadSanitizer: in a checkout, "
                         "./tessera conform --tsan FILE.so builds one with it; FILE.so is built by "
                         "plugins/build_plugin.sh --tsan");
#endif
  return TSR_EXIT_OK;
}

static tsr_exit run_conform(const tsr_arguments *arguments) {
  kit_run run = {.plugins = tsr_arguments_value(arguments, "--plugins"), .seconds = SECONDS_DEFAULT};
  const char *seconds = tsr_arguments_value(arguments, "--timeout");
  tsr_error error;
  if (seconds && (!tsr_parse_u64(seconds, &run.seconds) || run.seconds < 1 || run.seconds > SECONDS_MAX))
    return tsr_say_usage("--timeout %s: must be a whole number of seconds from 1 to %d", seconds, SECONDS_MAX);
  tsr_exit wrong = choose_level(arguments, &run);
  if (wrong) return wrong;
  tsr_status status = tsr_place_kit(run.program, &error);
  if (status == TSR_OK) status = find_file(arguments->operands[0], &run.file, &error);
  if (status == TSR_OK) status = make_folder(&run, &error);
  tsr_exit failed = status ? tsr_say_error(status, &error) : run_kit(&run);
  remove_folder(&run);
  free(run.file);
  return failed;
}

static const tsr_option options[] = {
    {"--quick", NULL, false, "The laws of the plugin's role, in about half a minute. The default."},
    {"--full", NULL, false, "Also all compositions, with every hasher, parameter and policy: minutes."},
    {"--stress", "N", false, "Counts and looks up N pairs, 2^22 or more, to find what goes wrong once in a million."},
    {"--tsan", NULL, false, "Under ThreadSanitizer, for a plugin built by plugins/build_plugin.sh --tsan."},
    {"--timeout", "SECONDS", false, "After how many seconds a test counts as one that hangs; 600."},
    TSR_OPTION_PLUGINS,
    TSR_OPTION_END};

const tsr_command tsr_conform_command = {
    {"conform", "FILE.so", "Tests a plugin against the contract, in a separate process.", options, NULL}, run_conform};

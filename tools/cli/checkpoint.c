/* SPDX-License-Identifier: Apache-2.0
 *
 * Checkpoints (checkpoint.h).
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime, opendir */
#include "tools/cli/checkpoint.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/cli/console.h"

enum { NUMBER_DIGITS = 20, SECONDS_PER_MINUTE = 60, SECONDS_PER_HOUR = 3600 };
static const char mark[] = ".at.";

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* ---- Options --------------------------------------------------------------------------------- */

/* "60s", "1.5m", "1h"; 0 if it is none. */
static double seconds_of(const char *word) {
  char *end;
  const double number = strtod(word, &end);
  const double unit = strcmp(end, "s") == 0   ? 1
                      : strcmp(end, "m") == 0 ? SECONDS_PER_MINUTE
                      : strcmp(end, "h") == 0 ? SECONDS_PER_HOUR
                                              : 0;
  return word[0] >= '0' && word[0] <= '9' && number > 0 && number < 1e6 ? number * unit : 0;
}

tsr_exit tsr_checkpoint_options(const tsr_arguments *arguments, tsr_checkpoint *checkpoint) {
  static const char *const rows[] = {"--out", "--unplaced"};
  const char *every = tsr_arguments_value(arguments, "--every");
  checkpoint->save = tsr_arguments_value(arguments, "--save");
  checkpoint->resumes = tsr_arguments_has(arguments, "--resume");
  if (every) checkpoint->every = seconds_of(every);
  if (every && checkpoint->every == 0) return tsr_say_usage("--every %s: must be a time such as 60s, 5m or 1h", every);
  if (!every && !checkpoint->resumes) return TSR_EXIT_OK;
  if (!checkpoint->save)
    return tsr_say_usage("%s is about the table that --save writes: give --save FILE", every ? "--every" : "--resume");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (tsr_arguments_has(arguments, rows[i]))
      return tsr_say_usage(
          "%s with %s: a job that resumes would write only the rows since the checkpoint: leave one out",
          every ? "--every" : "--resume", rows[i]);
  return TSR_EXIT_OK;
}

/* ---- Which is there -------------------------------------------------------------------------- */

/* Decimal digits and nothing else, up to `end`. */
static bool read_number(const char **at, char end, uint64_t *number) {
  const char *from = *at;
  char *to;
  *number = 0;
  const size_t digits = strspn(from, "0123456789");
  if (!digits || digits > NUMBER_DIGITS || from[digits] != end) return false;
  errno = 0;
  *number = strtoull(from, &to, 10);
  *at = to + 1;
  return errno == 0;
}

static bool is_further(const tsr_checkpoint *than, uint64_t step, uint64_t keys) {
  return !than->path[0] || step > than->step || (step == than->step && keys > than->keys);
}

/* Takes the file if it is a checkpoint that got further; removes one that did not: a newer one was whole when the job was
 * killed. */
static bool look_at(tsr_checkpoint *c, const char *folder, const char *name, const char *file) {
  const char *at = file + strlen(name) + strlen(mark);
  uint64_t step, keys;
  char path[PATH_MAX];
  if (strncmp(file, name, strlen(name)) != 0 || strncmp(file + strlen(name), mark, strlen(mark)) != 0) return true;
  if (!read_number(&at, '.', &step) || !read_number(&at, '\0', &keys)) return true;
  if (snprintf(path, sizeof path, "%s%s", folder, file) >= (int)sizeof path) return false;
  if (is_further(c, step, keys)) {
    if (c->path[0] && c->resumes) unlink(c->path);
    memcpy(c->path, path, sizeof path);
    c->step = step;
    c->keys = keys;
  } else if (c->resumes) {
    unlink(path);
  }
  return true;
}

tsr_status tsr_checkpoint_seek(tsr_checkpoint *c, tsr_error *error) {
  char folder[PATH_MAX] = "";
  if (c->every == 0 && !c->resumes) return TSR_OK;
  const char *slash = strrchr(c->save, '/'), *name = slash ? slash + 1 : c->save;
  if (strlen(c->save) + sizeof mark + 2 * NUMBER_DIGITS + 1 >= sizeof folder)
    return tsr_fail(error, TSR_BAD_ARGUMENT, "--save %s: the name is too long for checkpoints", c->save);
  memcpy(folder, c->save, (size_t)(name - c->save));
  DIR *files = opendir(folder[0] ? folder : ".");
  if (!files) return tsr_fail(error, TSR_IO, "--save %s: its folder cannot be read: %s", c->save, strerror(errno));
  bool is_well = true;
  for (const struct dirent *file; is_well && (file = readdir(files));) is_well = look_at(c, folder, name, file->d_name);
  closedir(files);
  if (c->path[0] && !c->resumes)
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "--every: %s is the checkpoint of a job that was not finished: add --resume to go on from it, or "
                    "remove it",
                    c->path);
  return TSR_OK;
}

/* ---- Making them ----------------------------------------------------------------------------- */

void tsr_checkpoint_begin(tsr_checkpoint *c) { c->made = now(); }

void tsr_checkpoint_pass(tsr_checkpoint *c, tsr_table *table, uint64_t step, uint64_t keys) {
  char path[PATH_MAX];
  tsr_error error;
  if (c->every == 0 || now() - c->made < c->every) return;
  if (step == c->step && keys == c->keys && c->path[0]) return;
  snprintf(path, sizeof path, "%s%s%" PRIu64 ".%" PRIu64, c->save, mark, step, keys);
  const tsr_status status = tsr_table_save(table, path, &error);
  c->made = now();
  if (status) {
    tsr_say("the job goes on without a checkpoint: %s", error.message);
    return;
  }
  if (c->path[0]) unlink(c->path);
  memcpy(c->path, path, sizeof path);
  c->step = step;
  c->keys = keys;
}

void tsr_checkpoint_end(tsr_checkpoint *c) {
  if (c->path[0]) unlink(c->path);
  c->path[0] = '\0';
}

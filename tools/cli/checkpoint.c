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
static const char mark[] = ".at.", unfinished[] = "tmp";

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
  char folder[PATH_MAX] = "", spare[PATH_MAX];
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
  snprintf(spare, sizeof spare, "%s%s%s", c->save, mark, unfinished);
  unlink(spare); /* of a job that was killed */
  if (c->path[0] && !c->resumes)
    return tsr_fail(error, TSR_BAD_ARGUMENT,
                    "--every: %s is the checkpoint of a job that was not finished: add --resume to go on from it, or "
                    "remove it",
                    c->path);
  return TSR_OK;
}

/* ---- Making them ----------------------------------------------------------------------------- */

void tsr_checkpoint_begin(tsr_checkpoint *c) { c->made = now(); }

static void name_one(const tsr_checkpoint *c, char path[PATH_MAX], uint64_t step, uint64_t keys) {
  snprintf(path, PATH_MAX, "%s%s%" PRIu64 ".%" PRIu64, c->save, mark, step, keys);
}

/* What became of the one under way. False while it is written. */
static bool is_over(tsr_checkpoint *c, bool waits) {
  tsr_saved saved = {.size = sizeof saved};
  tsr_error error;
  if (!c->is_under_way) return true;
  const tsr_status status = tsr_saver_end(c->saver, waits, &saved, &error);
  if (status == TSR_OK && !saved.is_done) return false;
  c->is_under_way = false;
  if (status) {
    tsr_say("the job goes on without a checkpoint: %s", error.message);
    return true;
  }
  if (c->count == 0 && c->path[0] && strcmp(c->path, saved.path) != 0) unlink(c->path); /* of the killed job */
  snprintf(c->path, sizeof c->path, "%s", saved.path);
  c->count++;
  c->bytes += saved.bytes;
  c->written_bytes += saved.written_bytes;
  return true;
}

void tsr_checkpoint_pass(tsr_checkpoint *c, tsr_table *table, uint64_t step, uint64_t keys) {
  char path[PATH_MAX], spare[PATH_MAX];
  tsr_error error;
  if (c->every == 0 || now() - c->made < c->every || !is_over(c, false)) return;
  if (step == c->step && keys == c->keys && c->path[0]) return;
  snprintf(spare, sizeof spare, "%s%s%s", c->save, mark, unfinished);
  name_one(c, path, step, keys);
  c->made = now();
  tsr_status status = c->saver ? TSR_OK : tsr_saver_create(spare, &c->saver, &error);
  if (status == TSR_OK) status = tsr_saver_begin(c->saver, table, path, &error);
  if (status) {
    tsr_say("the job goes on without a checkpoint: %s", error.message);
    return;
  }
  c->is_under_way = true;
  c->step = step;
  c->keys = keys;
}

void tsr_checkpoint_leave(tsr_checkpoint *c) {
  is_over(c, true);
  tsr_saver_destroy(c->saver);
  c->saver = NULL;
}

void tsr_checkpoint_end(tsr_checkpoint *c, bool is_quiet) {
  char path[PATH_MAX];
  is_over(c, false);
  tsr_saver_destroy(c->saver);
  c->saver = NULL;
  if (c->is_under_way) { /* it may be whole all the same */
    name_one(c, path, c->step, c->keys);
    unlink(path);
    c->is_under_way = false;
  }
  if (c->path[0]) unlink(c->path);
  c->path[0] = '\0';
  if (c->count && !is_quiet)
    tsr_say("%" PRIu64 " checkpoints, of %" PRIu64 " bytes in all: %" PRIu64 " had changed and were written", c->count,
            c->bytes, c->written_bytes);
}

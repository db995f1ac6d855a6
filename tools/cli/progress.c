/* SPDX-License-Identifier: Apache-2.0
 *
 * Progress (progress.h).
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime, isatty */

#include "tools/cli/progress.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define TERMINAL_SECONDS .25
#define LOG_SECONDS 10.

enum { BAR_LETTERS = 24 };

/* For tsr_progress_describe. */
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static struct {
  const char *what, *unit;
  uint64_t done;
} current; /* guarded by guard */

static void set_current(const char *what, const char *unit, uint64_t done) {
  pthread_mutex_lock(&guard);
  current.what = what;
  current.unit = unit;
  current.done = done;
  pthread_mutex_unlock(&guard);
}

void tsr_progress_describe(char *text, size_t bytes) {
  pthread_mutex_lock(&guard);
  text[0] = '\0';
  if (current.what) snprintf(text, bytes, "%s: %" PRIu64 " %s are done", current.what, current.done, current.unit);
  pthread_mutex_unlock(&guard);
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

void tsr_progress_begin(tsr_progress *progress, const char *what, const char *unit, bool is_quiet) {
  double begin = now();
  *progress = (tsr_progress){what, unit, is_quiet, isatty(STDERR_FILENO) == 1, begin, begin};
  set_current(what, unit, 0);
}

static void print_bar(double share) {
  char bar[BAR_LETTERS + 1] = {0};
  for (int i = 0; i < BAR_LETTERS; i++) bar[i] = (i + 1) <= share * BAR_LETTERS ? '#' : '.';
  fprintf(stderr, " [%s]", bar);
}

void tsr_progress_show(tsr_progress *progress, uint64_t done, uint64_t part, uint64_t whole) {
  double time = now(), passed = time - progress->began;
  set_current(progress->what, progress->unit, done);
  if (progress->is_quiet || time - progress->shown < (progress->is_terminal ? TERMINAL_SECONDS : LOG_SECONDS)) return;
  double share = whole ? (double)(part < whole ? part : whole) / (double)whole : 0;
  progress->shown = time;
  fprintf(stderr, progress->is_terminal ? "\r\033[K%s" : "tessera: %s", progress->what);
  if (whole && progress->is_terminal) print_bar(share);
  if (whole) fprintf(stderr, " %.0f %%", 100 * share);
  fprintf(stderr, ", %" PRIu64 " %s, %.1f M/s", done, progress->unit, (double)done / passed * 1e-6);
  if (share > 0) fprintf(stderr, ", %.0f s left", passed / share * (1 - share));
  fputs(progress->is_terminal ? "" : "\n", stderr);
  fflush(stderr);
}

double tsr_progress_end(tsr_progress *progress) {
  set_current(NULL, NULL, 0);
  if (!progress->is_quiet && progress->is_terminal && progress->shown > progress->began) fputs("\r\033[K", stderr);
  return now() - progress->began;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * How far a long work is, on standard error: on a terminal a line that is written over four times a second, elsewhere a
 * line every ten seconds, so that a log stays short. Read next: console.h.
 */
#ifndef TSR_PROGRESS_H
#define TSR_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tsr_progress {
  const char *what; /* "counting" */
  const char *unit; /* "k-mers" */
  bool is_quiet;
  bool is_terminal;
  double began, shown; /* seconds of a monotonic clock */
} tsr_progress;

/* Begins; what and unit live as long. */
void tsr_progress_begin(tsr_progress *progress, const char *what, const char *unit, bool is_quiet);
/* Says that `done` units are done, and `part` of `whole` in whatever measure is known: whole = 0 if none is. */
void tsr_progress_show(tsr_progress *progress, uint64_t done, uint64_t part, uint64_t whole);
/* Clears the line of a terminal; returns the seconds since the beginning. */
double tsr_progress_end(tsr_progress *progress);

/* "inserting: 1234 keys are done", of what began last and has not ended; "" where nothing has. From any thread. */
void tsr_progress_describe(char *text, size_t bytes);

#endif

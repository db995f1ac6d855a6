/* SPDX-License-Identifier: Apache-2.0
 *
 * What tessera tells its user besides results: progress and errors, on standard error as `tessera: <sentence>`, and the
 * exit status. Results go to standard output, by printf. Read next: arguments.h.
 */
#ifndef TSR_CONSOLE_H
#define TSR_CONSOLE_H

#include "core/tessera.h"

typedef enum tsr_exit {
  TSR_EXIT_OK = 0,
  TSR_EXIT_FAILED = 1, /* the job failed */
  TSR_EXIT_USAGE = 2,  /* the command line or the spec is wrong: nothing was tried */
  TSR_EXIT_UNPLACED =
      3, /* the job is done, and all is written; but some pairs found no room in the table, or some sums overflowed */
  TSR_EXIT_SIGNALLED = 128 /* and the number of the signal that ended it, as shells say it */
} tsr_exit;

/* Writes a sentence to standard error. */
void tsr_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Says what was wrong with the command line; returns TSR_EXIT_USAGE. */
tsr_exit tsr_say_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The exit status of a command that failed so. */
tsr_exit tsr_exit_of(tsr_status status);

/* Says the error's sentence; returns the exit status of `status`, so that a failing command ends with it. */
tsr_exit tsr_say_error(tsr_status status, const tsr_error *error);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * The line of a terminal (status_line.h).
 */
#define _POSIX_C_SOURCE 200809L /* isatty */

#include "tools/lab/status_line.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

void tsr_status_line(const char *format, ...) {
  va_list arguments;
  if (!isatty(STDERR_FILENO)) return;
  fputs("\r\033[K", stderr);
  va_start(arguments, format);
  vfprintf(stderr, format, arguments);
  va_end(arguments);
  fflush(stderr);
}

void tsr_status_line_clear(void) {
  if (isatty(STDERR_FILENO)) fputs("\r\033[K", stderr);
}

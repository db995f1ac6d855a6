/* SPDX-License-Identifier: Apache-2.0
 *
 * Sentences on standard error (console.h).
 */
#include "tools/cli/console.h"

#include <stdarg.h>
#include <stdio.h>

static void say(const char *format, va_list arguments) {
  fflush(stdout); /* keeps the order where both go to one terminal or file */
  fputs("tessera: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
}

void tsr_say(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  say(format, arguments);
  va_end(arguments);
}

tsr_exit tsr_say_usage(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  say(format, arguments);
  va_end(arguments);
  return TSR_EXIT_USAGE;
}

tsr_exit tsr_exit_of(tsr_status status) {
  switch (status) {
  case TSR_OK:
    return TSR_EXIT_OK;
  case TSR_BAD_ARGUMENT:
  case TSR_BAD_SPEC:
  case TSR_NOT_FOUND:
  case TSR_INCOMPATIBLE:
  case TSR_UNSUPPORTED:
    return TSR_EXIT_USAGE;
  default:
    return TSR_EXIT_FAILED;
  }
}

tsr_exit tsr_say_error(tsr_status status, const tsr_error *error) {
  tsr_say("%s", error->message);
  return tsr_exit_of(status);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Status and error of every fallible call, in the core, in plugins and in the public API.
 *
 * The first function that knows the cause writes the sentence (tsr_fail); its callers pass the error up
 * unchanged. A sentence names the thing, its value, the rule and the way out, for example
 *   users.ini:14: [layout] tile_lanes = 48: allowed are 1, 2, 4, 8, 16 and 32
 * An error belongs to its caller, needs no initialisation and may be NULL where only the status is wanted.
 * Read next: plugin.h (what a plugin is) or ../core/tessera.h (what a user calls).
 */
#ifndef TSR_ERROR_H
#define TSR_ERROR_H

#include <stdarg.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Values are pinned and never reused. */
typedef enum tsr_status {
  TSR_OK = 0,
  TSR_BAD_ARGUMENT = 1,  /* a call broke a rule of its declaration */
  TSR_BAD_SPEC = 2,      /* an INI file or a --set is wrong; the message starts with file:line */
  TSR_NOT_FOUND = 3,     /* a file, a plugin or a library is not there */
  TSR_BAD_PLUGIN = 4,    /* a .so breaks the contract of plugins/README.md */
  TSR_INCOMPATIBLE = 5,  /* the parts refuse each other, or the device */
  TSR_NO_MEMORY = 6,     /* host or device memory is exhausted; nothing was changed */
  TSR_NO_DEVICE = 7,     /* no usable GPU, driver or toolkit */
  TSR_LINK_FAILED = 8,   /* NVRTC or nvJitLink refused the composition */
  TSR_DEVICE_FAILED = 9, /* the driver reported an error while working; the table is lost */
  TSR_IO = 10,           /* reading or writing a file failed, or its content is malformed */
  TSR_UNSUPPORTED = 11   /* a legal request that this composition cannot promise */
} tsr_status;

enum { TSR_MESSAGE_BYTES = 1024 };

typedef struct tsr_error {
  tsr_status status;
  char message[TSR_MESSAGE_BYTES]; /* one sentence without a newline; cut, never overrun */
} tsr_error;

#if defined(__GNUC__)
#define TSR_PRINTF(text, first) __attribute__((format(printf, text, first), unused))
#define TSR_MUST_CHECK __attribute__((warn_unused_result))
#else
#define TSR_PRINTF(text, first)
#define TSR_MUST_CHECK
#endif

/* Writes the sentence and returns `status`, so that a failing function ends with `return tsr_fail(...)`. */
TSR_PRINTF(3, 4)
static tsr_status tsr_fail(tsr_error *error, tsr_status status, const char *format, ...) {
  if (error) {
    va_list arguments;
    va_start(arguments, format);
    error->status = status;
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
  }
  return status;
}

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of rivals (core/tessera_rival.h), opened. Read next: contender.h, which measures one.
 */
#ifndef TSR_RIVALS_H
#define TSR_RIVALS_H

#include <stddef.h>

#include "core/tessera.h"
#include "core/tessera_rival.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_rivals {
  const tsr_rival **each; /* `count` of them, of all files */
  const char **files;     /* the path of each one's file; the caller's */
  size_t count;
} tsr_rivals;

/* Opens the files; they stay open as long as the process. TSR_BAD_ARGUMENT, TSR_NOT_FOUND with a sentence; *rivals is freed by
 * tsr_rivals_free in any case. */
TSR_MUST_CHECK tsr_status tsr_rivals_open(const char *const *paths, size_t count, tsr_rivals *rivals, tsr_error *error);
void tsr_rivals_free(tsr_rivals *rivals); /* all zero is fine */

#ifdef __cplusplus
}
#endif
#endif

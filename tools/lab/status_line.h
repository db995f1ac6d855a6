/* SPDX-License-Identifier: Apache-2.0
 *
 * What a long measurement is at, on standard error where that is a terminal: one line, written over again and again. In
 * a pipe or a file there is none. Read next: bench_session.c, which uses it.
 */
#ifndef TSR_STATUS_LINE_H
#define TSR_STATUS_LINE_H

#include "core/tessera.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Shows the text in the place of the one before. */
TSR_PRINTF(1, 2)
void tsr_status_line(const char *format, ...);
/* Takes it away: before anything else is printed, and at the end. */
void tsr_status_line_clear(void);

#ifdef __cplusplus
}
#endif
#endif

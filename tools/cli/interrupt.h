/* SPDX-License-Identifier: Apache-2.0
 *
 * Ctrl-C and SIGTERM while a command reads and works: they are noticed between two chunks, so that the command can say
 * what was done, and a compiler that runs ends and leaves no scratch files. A second one ends the process at once. Read
 * next: job_run.c.
 */
#ifndef TSR_INTERRUPT_H
#define TSR_INTERRUPT_H

#include <stdbool.h>

#include "tools/cli/console.h"

void tsr_interrupt_watch(void);
bool tsr_interrupt_seen(void);
/* The exit status of a command that ended because of one. */
tsr_exit tsr_interrupt_exit(void);
/* From now on both end the process, as they do by default: files that are not ended leave nothing (file.h). */
void tsr_interrupt_leave(void);

#endif

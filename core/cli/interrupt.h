/* SPDX-License-Identifier: Apache-2.0
 *
 * Ctrl-C while a command reads and works: it is noticed between two chunks, so that the command can say what was done. A
 * second Ctrl-C ends the process at once. Read next: job_run.c.
 */
#ifndef TSR_INTERRUPT_H
#define TSR_INTERRUPT_H

#include <stdbool.h>

void tsr_interrupt_watch(void);
bool tsr_interrupt_seen(void);
/* From now on Ctrl-C ends the process, as it does by default: files that are not ended leave nothing (file.h). */
void tsr_interrupt_leave(void);

#endif

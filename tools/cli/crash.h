/* SPDX-License-Identifier: Apache-2.0
 *
 * A plugin's plan() runs in this process. If it crashes, hangs until somebody interrupts it, or ends the process, the
 * program says which plugin's it was. Ctrl-C
 * and SIGTERM go on to interrupt.h. Read next: conform_command.c, which tries a plugin in a process of its own.
 */
#ifndef TSR_CRASH_H
#define TSR_CRASH_H

/* Once, from the first thread. A crash elsewhere goes its usual way. */
void tsr_crash_watch(void);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Ctrl-C and SIGTERM end a command at once, wherever it is: nothing waits for the operation that runs. A thread that
 * sleeps meanwhile ends compilers, removes temporary files, says in a sentence how far the work was, and lets the signal
 * end the process as its default action does, so that a shell sees 130 or 143. Outputs take their names when they are
 * whole (core/spec/file.h), so none appears. A second signal does not wait for that. Read next: crash.c.
 */
#ifndef TSR_INTERRUPT_H
#define TSR_INTERRUPT_H

#include <stdbool.h>

/* Once, from the first thread: starts the thread that sleeps. */
void tsr_interrupt_watch(void);

/* For the handler of such a signal: wakes the thread. False in a process that has none: then the signal is to act as it
 * does by default. Async-signal-safe. */
bool tsr_interrupt_take(int number);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Ctrl-C (interrupt.h).
 */
#define _POSIX_C_SOURCE 200809L /* sigaction */

#include "core/cli/interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t is_seen;

static void see(int number) { is_seen = number; }

/* Where the caller's shell ignores it, as for commands in the background, it stays ignored. */
static void handle(void (*handler)(int)) {
  struct sigaction former;
  const struct sigaction action = {.sa_handler = handler, .sa_flags = (int)SA_RESETHAND};
  if (sigaction(SIGINT, NULL, &former) == 0 && former.sa_handler != SIG_IGN) sigaction(SIGINT, &action, NULL);
}

void tsr_interrupt_watch(void) { handle(see); }

bool tsr_interrupt_seen(void) { return is_seen != 0; }

void tsr_interrupt_leave(void) { handle(SIG_DFL); }

/* SPDX-License-Identifier: Apache-2.0
 *
 * Ctrl-C and SIGTERM (interrupt.h).
 */
#define _POSIX_C_SOURCE 200809L /* sigaction */

#include "tools/cli/interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t is_seen;

static void see(int number) { is_seen = number; }

/* What the caller's shell ignores, as Ctrl-C for commands in the background, stays ignored. */
static void handle(void (*handler)(int)) {
  static const int signals[] = {SIGINT, SIGTERM};
  struct sigaction former;
  const struct sigaction action = {.sa_handler = handler, .sa_flags = (int)SA_RESETHAND};
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
    if (sigaction(signals[i], NULL, &former) == 0 && former.sa_handler != SIG_IGN) sigaction(signals[i], &action, NULL);
}

void tsr_interrupt_watch(void) { handle(see); }

bool tsr_interrupt_seen(void) { return is_seen != 0; }

tsr_exit tsr_interrupt_exit(void) { return (tsr_exit)(TSR_EXIT_SIGNALLED + is_seen); }

void tsr_interrupt_leave(void) { handle(SIG_DFL); }

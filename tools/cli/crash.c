/* SPDX-License-Identifier: Apache-2.0
 *
 * Naming the plugin whose plan() ended the process (crash.h), and the way of Ctrl-C and SIGTERM to interrupt.c.
 */
#define _XOPEN_SOURCE 700 /* sigaltstack */
#include "tools/cli/crash.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/tessera_tools.h"
#include "tools/cli/console.h"
#include "tools/cli/interrupt.h"

static const struct {
  int number;
  const char *what;
} watched[] = {{SIGSEGV, "crashed (SIGSEGV)"},
               {SIGBUS, "crashed (SIGBUS)"},
               {SIGFPE, "crashed (SIGFPE)"},
               {SIGILL, "crashed (SIGILL)"},
               {SIGABRT, "called abort()"},
               {SIGINT, "had not ended when it was interrupted (SIGINT)"},
               {SIGTERM, "had not ended when it was terminated (SIGTERM)"}};
enum { WATCHED = sizeof watched / sizeof watched[0], STACK_BYTES = 1 << 16 };

static struct sigaction former[WATCHED]; /* a sanitizer's handlers, for example */
static char stack[STACK_BYTES];          /* a recursion without end has used up its own */

/* Only what is async-signal-safe. */
static void write_text(const char *text) {
  ssize_t written = write(STDERR_FILENO, text, strlen(text));
  (void)written; /* nobody is left to hear of it */
}

static bool blame(const char *what) {
  const char *role, *name;
  if (!tsr_plan_running(&role, &name)) return false;
  const char *texts[] = {"tessera: ", role, "/", name, ": its plan() ", what, ": leave it out, or mend it\n"};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) write_text(texts[i]);
  return true;
}

static void on_signal(int number) {
  size_t i = 0;
  while (watched[i].number != number) i++;
  const bool is_fault = number != SIGINT && number != SIGTERM;
  const bool is_blamed = blame(watched[i].what);
  sigaction(number, &former[i], NULL); /* a second one, or the fault when it happens again, goes its usual way */
  if (is_fault && is_blamed) _exit(TSR_EXIT_FAILED);
  if (!is_fault && !tsr_interrupt_take(number)) raise(number);
}

static void on_exit_called(void) {
  if (blame("called exit()")) _exit(TSR_EXIT_FAILED);
}

void tsr_crash_watch(void) {
  sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_RESTART};
  for (size_t i = 0; i < WATCHED; i++) {
    sigaction(watched[i].number, &action, &former[i]);
    if (former[i].sa_handler == SIG_IGN) sigaction(watched[i].number, &former[i], NULL); /* a job in the background */
  }
  atexit(on_exit_called);
}

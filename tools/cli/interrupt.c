/* SPDX-License-Identifier: Apache-2.0
 *
 * Ending at once (interrupt.h).
 */
#define _POSIX_C_SOURCE 200809L /* sigaction, getpid */

#include "tools/cli/interrupt.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/spec/leftover.h"
#include "tools/cli/progress.h"

enum { SENTENCE_BYTES = 512, WRITE_MILLISECONDS = 500 };

static sem_t taken;
static volatile sig_atomic_t signal_taken; /* the number, before `taken` is posted */
static pid_t watched;                      /* the process with the thread: a fork has none */

/* Writes to standard error without its lock, which a thread that waits for a full pipe may hold. */
static void say(int number) {
  char doing[SENTENCE_BYTES / 2], text[SENTENCE_BYTES];
  struct pollfd error = {STDERR_FILENO, POLLOUT, 0};
  tsr_progress_describe(doing, sizeof doing);
  const int length =
      snprintf(text, sizeof text, "%stessera: stopped by %s%s%s%s. Outputs that were not finished are not written.\n",
               isatty(STDERR_FILENO) ? "\r\033[K" : "", number == SIGINT ? "Ctrl-C" : "SIGTERM", doing[0] ? " (" : "",
               doing, doing[0] ? ")" : "");
  if (length < 0 || poll(&error, 1, WRITE_MILLISECONDS) <= 0) return;
  ssize_t written = write(STDERR_FILENO, text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
  (void)written; /* nobody is left to hear of it */
}

static void *wait_and_end(void *unused) {
  while (sem_wait(&taken) != 0 && errno == EINTR) {}
  const int number = signal_taken;
  tsr_leftover_clear();
  say(number);
  sigset_t only;
  sigemptyset(&only);
  sigaddset(&only, number);
  sigaction(number, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
  raise(number); /* this thread blocks all */
  pthread_sigmask(SIG_UNBLOCK, &only, NULL);
  return unused;
}

void tsr_interrupt_watch(void) {
  pthread_t thread;
  sigset_t all, former;
  if (sem_init(&taken, 0, 0) != 0) return;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &former); /* handlers are for threads that work */
  if (pthread_create(&thread, NULL, wait_and_end, NULL) == 0) {
    pthread_detach(thread);
    watched = getpid();
  }
  pthread_sigmask(SIG_SETMASK, &former, NULL);
}

bool tsr_interrupt_take(int number) {
  if (watched != getpid()) return false;
  signal_taken = number;
  return sem_post(&taken) == 0;
}

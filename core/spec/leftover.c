/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of what has to be removed before the process ends (leftover.h).
 */
#define _XOPEN_SOURCE 700 /* nftw */
#include "core/spec/leftover.h"

#include <errno.h>
#include <ftw.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { FOLDERS_OPEN = 8, TRIES = 100, NAP_NANOSECONDS = 10000000 };

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static tsr_leftover *first; /* guarded by held */

void tsr_leftover_hold(void) { pthread_mutex_lock(&held); }

void tsr_leftover_release(void) { pthread_mutex_unlock(&held); }

void tsr_leftover_add(tsr_leftover *leftover, const char *path) {
  *leftover = (tsr_leftover){.path = path, .next = first, .link = &first};
  if (first) first->link = &leftover->next;
  first = leftover;
}

void tsr_leftover_drop(tsr_leftover *leftover) {
  if (!leftover->link) return;
  *leftover->link = leftover->next;
  if (leftover->next) leftover->next->link = leftover->link;
  *leftover = (tsr_leftover){.path = NULL};
}

static int remove_one(const char *path, const struct stat *facts, int type, struct FTW *where) {
  (void)facts, (void)type, (void)where;
  remove(path); /* what stays is seen by anyone who looks for the folder */
  return 0;
}

void tsr_leftover_remove(const char *path) { nftw(path, remove_one, FOLDERS_OPEN, FTW_DEPTH | FTW_PHYS); }

static bool is_gone(const tsr_leftover *leftover) {
  tsr_leftover_remove(leftover->path);
  return access(leftover->path, F_OK) != 0 && errno == ENOENT;
}

void tsr_leftover_clear(void) {
  struct timespec nap = {0, NAP_NANOSECONDS}, limit;
  clock_gettime(CLOCK_REALTIME, &limit);
  limit.tv_sec++;
  if (pthread_mutex_timedlock(&held, &limit) != 0) return; /* a thread hangs in a file system */
  for (const tsr_leftover *s = first; s; s = s->next)
    if (s->group) kill(-s->group, SIGKILL);
  /* a process that was killed may still finish making a file: a folder that could be removed is the last of it */
  for (int tries = 0; first && tries < TRIES; tries++) {
    tsr_leftover *next;
    for (tsr_leftover *s = first; s; s = next) {
      next = s->next;
      if (is_gone(s)) tsr_leftover_drop(s);
    }
    if (first) nanosleep(&nap, NULL);
  }
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * parallel.h by OpenMP, or by plain threads where a build defines TSR_PTHREADS. ThreadSanitizer does not understand
 * the barriers of OpenMP's runtimes, and would report races that do not exist.
 */
#define _POSIX_C_SOURCE 200809L /* nanosleep */

#include "core/cpu/parallel.h"

/* Items a turn: long enough to hide the scheduling, and where there are many of them to meet a key again (range.cuh), short
 * enough to balance. */
enum { RANGE_MIN = 1 << 11, RANGE_MAX = 1 << 14, TURNS = 16 };

#ifndef TSR_PTHREADS

#include <limits.h>
#include <omp.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

/* Threads that may run at the same time. An OpenMP runtime ends the process where it cannot start one, so they are
 * tried before the first team is made; until then it is not known. */
static int threads_allowed;

static void *pass(void *gate) {
  pthread_mutex_lock(gate);
  pthread_mutex_unlock(gate);
  return NULL;
}

/* The threads of OpenMP's runtime do not come along into a process that is forked, where a team would wait for them for
 * ever. */
static void stay_alone(void) { __atomic_store_n(&threads_allowed, 1, __ATOMIC_RELAXED); /* relaxed: as below */ }

static void try_threads(void) {
  enum { SPARE = 8, REST_MILLISECONDS = 20 }; /* for threads that have ended and still count */
  if (omp_get_max_threads() == 1) return;     /* a team of one starts none */
  pthread_atfork(NULL, NULL, stay_alone);
  const int wanted = omp_get_max_threads() - 1 + SPARE;
  pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER; /* closed while threads are started, so that all run at once */
  pthread_t *threads = malloc((size_t)wanted * sizeof *threads);
  int started = 0;
  pthread_mutex_lock(&gate);
  while (threads && started < wanted && pthread_create(&threads[started], NULL, pass, &gate) == 0) started++;
  pthread_mutex_unlock(&gate);
  for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
  free(threads);
  const struct timespec rest = {0, REST_MILLISECONDS * 1000000L};
  if (started < wanted) nanosleep(&rest, NULL);
  const int allowed = started == wanted ? INT_MAX : started > SPARE ? 1 + started - SPARE : 1;
  /* relaxed: it is a number alone, and whoever does not see it asks pthread_once first */
  __atomic_store_n(&threads_allowed, allowed, __ATOMIC_RELAXED);
}

uint64_t tsr_parallel_threads(void) {
  const int most = omp_get_max_threads(), allowed = __atomic_load_n(&threads_allowed, __ATOMIC_RELAXED);
  return (uint64_t)(allowed && allowed < most ? allowed : most);
}

uint64_t tsr_parallel_refused(void) { return (uint64_t)omp_get_max_threads() - tsr_parallel_threads(); }

static void in_ranges(uint64_t n, uint64_t range, void (*body)(void *argument, uint64_t begin, uint64_t end),
                      void *argument) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  int64_t ranges = (int64_t)((n + range - 1) / range);
  if (ranges > 1) pthread_once(&once, try_threads);
  const int threads = ranges > 1 ? (int)tsr_parallel_threads() : 1; /* waking threads costs more than few items do */
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (int64_t i = 0; i < ranges; i++) {
    uint64_t begin = (uint64_t)i * range, end = begin + range < n ? begin + range : n;
    body(argument, begin, end);
  }
}

#else

#include <pthread.h>

enum { THREADS = 4 }; /* more than the cores of a small machine, so that threads also preempt each other */

uint64_t tsr_parallel_threads(void) { return THREADS; }

uint64_t tsr_parallel_refused(void) { return 0; }

typedef struct team {
  uint64_t n, range, next;
  void (*body)(void *argument, uint64_t begin, uint64_t end);
  void *argument;
} team;

static void *work(void *shared) {
  team *t = shared;
  for (;;) {
    /* relaxed: the ranges are independent; pthread_join orders their results */
    uint64_t begin = __atomic_fetch_add(&t->next, t->range, __ATOMIC_RELAXED);
    if (begin >= t->n) return NULL;
    t->body(t->argument, begin, begin + t->range < t->n ? begin + t->range : t->n);
  }
}

static void in_ranges(uint64_t n, uint64_t range, void (*body)(void *argument, uint64_t begin, uint64_t end),
                      void *argument) {
  team t = {n, range, 0, body, argument};
  pthread_t threads[THREADS - 1];
  const uint64_t ranges =
      n / range + (n % range != 0); /* no thread without one: a thread is dear where it is watched */
  int started = 0;
  while (started < THREADS - 1 && (uint64_t)started + 1 < ranges &&
         pthread_create(&threads[started], NULL, work, &t) == 0)
    started++;
  work(&t);
  for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
}

#endif

void tsr_parallel_for(uint64_t n, void (*body)(void *argument, uint64_t begin, uint64_t end), void *argument) {
  const uint64_t share = n / (tsr_parallel_threads() * TURNS);
  in_ranges(n, share < RANGE_MIN ? RANGE_MIN : share > RANGE_MAX ? RANGE_MAX : share, body, argument);
}

void tsr_parallel_each(uint64_t n, void (*body)(void *argument, uint64_t begin, uint64_t end), void *argument) {
  in_ranges(n, 1, body, argument);
}

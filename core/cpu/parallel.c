/* SPDX-License-Identifier: Apache-2.0
 *
 * parallel.h by OpenMP; by plain threads where a build defines TSR_PTHREADS, because ThreadSanitizer does not
 * understand the barriers of OpenMP's runtimes and would report races that are none.
 */
#include "core/cpu/parallel.h"

/* Items a turn: long enough to hide the scheduling, and where there are many of them to meet a key again (range.cuh), short
 * enough to balance. */
enum { RANGE_MIN = 1 << 11, RANGE_MAX = 1 << 14, TURNS = 16 };

#ifndef TSR_PTHREADS

#include <omp.h>

uint64_t tsr_parallel_threads(void) { return (uint64_t)omp_get_max_threads(); }

static void in_ranges(uint64_t n, uint64_t range, void (*body)(void *argument, uint64_t begin, uint64_t end),
                      void *argument) {
  int64_t ranges = (int64_t)((n + range - 1) / range);
#pragma omp parallel for schedule(dynamic, 1) if (ranges > 1) /* waking threads costs more than few items do */
  for (int64_t i = 0; i < ranges; i++) {
    uint64_t begin = (uint64_t)i * range, end = begin + range < n ? begin + range : n;
    body(argument, begin, end);
  }
}

#else

#include <pthread.h>

enum { THREADS = 4 }; /* more than the cores of a small machine, so that threads also preempt each other */

uint64_t tsr_parallel_threads(void) { return THREADS; }

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
  int started = 0;
  while (started < THREADS - 1 && pthread_create(&threads[started], NULL, work, &t) == 0) started++;
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

/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that link (links.h). Each takes the next point that nobody has, in their order.
 */
#define _GNU_SOURCE /* sched_getaffinity, pthread_condattr_setclock */
#include "tools/lab/links.h"

#ifndef TSR_PTHREADS
#include <omp.h>
#endif
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

typedef struct job {
  bool is_wanted, is_done;
  tsr_bench_cost costs[TSR_BENCH_TABLE_OPS];
} job;

struct tsr_links {
  const tsr_plan *plan;
  job *jobs; /* one for each point */
  size_t next;
  bool is_stopped;
  pthread_mutex_t mutex; /* of all that stands above */
  pthread_cond_t changed;
  pthread_t *threads;
  size_t thread_count;
};

static bool is_stopped(tsr_links *l) {
  pthread_mutex_lock(&l->mutex);
  const bool stopped = l->is_stopped;
  pthread_mutex_unlock(&l->mutex);
  return stopped;
}

static void link_point(tsr_links *l, const tsr_point *point, tsr_bench_cost *costs) {
  const bool has_values =
      tsr_spec_get(point->spec, "table", "value_bits") || tsr_spec_get(point->spec, "table", "value_bytes");
  uint32_t calls[TSR_BENCH_TABLE_OPS] = {0};
  for (size_t op = 0; op < TSR_BENCH_TABLE_OPS; op++) {
    tsr_error error;
    if (!point->options.ops[op] || is_stopped(l)) continue;
    calls[op] = tsr_bench_calls((tsr_bench_op)op, has_values);
    size_t same = 0; /* all finds have one code */
    while (calls[same] != calls[op]) same++;
    if (same < op) {
      costs[op] = costs[same];
    } else if (tsr_bench_link(&point->options, point->spec, point->options.loads.each[0], (tsr_bench_op)op, point->sm,
                              &costs[op], &error)) {
      costs[op] = (tsr_bench_cost){0};
    }
  }
}

static void *work(void *argument) {
  tsr_links *l = argument;
#ifndef TSR_PTHREADS
  omp_set_num_threads(1); /* a team for each of these threads would keep the measuring one from the processors */
#endif
  pthread_mutex_lock(&l->mutex);
  while (!l->is_stopped && l->next < l->plan->count) {
    const size_t i = l->next++;
    tsr_bench_cost costs[TSR_BENCH_TABLE_OPS] = {{0}};
    if (!l->jobs[i].is_wanted) continue;
    pthread_mutex_unlock(&l->mutex);
    link_point(l, &l->plan->points[i], costs);
    pthread_mutex_lock(&l->mutex);
    for (size_t op = 0; op < TSR_BENCH_TABLE_OPS; op++) l->jobs[i].costs[op] = costs[op];
    l->jobs[i].is_done = true;
    pthread_cond_broadcast(&l->changed);
  }
  pthread_mutex_unlock(&l->mutex);
  return NULL;
}

/* Those that this process may use, which can be fewer than the machine has. */
static size_t count_processors(void) {
  cpu_set_t cores;
  return sched_getaffinity(0, sizeof cores, &cores) == 0 ? (size_t)CPU_COUNT(&cores) : 1;
}

tsr_status tsr_links_start(const tsr_plan *plan, const bool *wanted, tsr_links **links, tsr_error *error) {
  size_t jobs = 0;
  tsr_links *l = calloc(1, sizeof *l);
  if (l) l->jobs = calloc(plan->count + 1, sizeof *l->jobs);
  for (size_t i = 0; l && l->jobs && i < plan->count; i++)
    jobs += l->jobs[i].is_wanted = wanted[i] && plan->points[i].sm;
  const size_t most = count_processors(), threads = jobs < most ? jobs : most;
  if (l) l->threads = calloc(threads + 1, sizeof *l->threads);
  if (!l || !l->jobs || !l->threads) {
    if (l) free(l->jobs);
    free(l);
    return tsr_fail(error, TSR_NO_MEMORY, "no memory to link the code of a plan");
  }
  l->plan = plan;
  pthread_mutex_init(&l->mutex, NULL);
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&l->changed, &monotonic);
  pthread_condattr_destroy(&monotonic);
  while (l->thread_count < threads && pthread_create(&l->threads[l->thread_count], NULL, work, l) == 0)
    l->thread_count++;
  *links = l;
  return TSR_OK;
}

bool tsr_links_wait(tsr_links *l, size_t point, const struct timespec *until, const tsr_bench_cost **costs) {
  *costs = NULL;
  if (!l->jobs[point].is_wanted || l->thread_count == 0) return true;
  int failure = 0;
  pthread_mutex_lock(&l->mutex);
  while (!l->jobs[point].is_done && !failure)
    failure = until ? pthread_cond_timedwait(&l->changed, &l->mutex, until) : pthread_cond_wait(&l->changed, &l->mutex);
  const bool is_done = l->jobs[point].is_done;
  pthread_mutex_unlock(&l->mutex);
  if (is_done) *costs = l->jobs[point].costs;
  return is_done;
}

void tsr_links_stop(tsr_links *l) {
  if (!l) return;
  pthread_mutex_lock(&l->mutex);
  l->is_stopped = true;
  pthread_mutex_unlock(&l->mutex);
  for (size_t i = 0; i < l->thread_count; i++) pthread_join(l->threads[i], NULL);
  pthread_cond_destroy(&l->changed);
  pthread_mutex_destroy(&l->mutex);
  free(l->threads);
  free(l->jobs);
  free(l);
}

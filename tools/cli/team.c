/* SPDX-License-Identifier: Apache-2.0
 *
 * A team of threads (team.h).
 */
#define _GNU_SOURCE /* sched_getaffinity */
#include "tools/cli/team.h"

#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>

typedef struct member {
  void (*work)(void *argument, uint32_t member);
  void *argument;
  uint32_t number;
} member;

uint32_t tsr_team_size(void) {
  cpu_set_t cores;
  const char *said = getenv("OMP_NUM_THREADS");
  const long mine = sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 1;
  const long wanted = said ? strtol(said, NULL, 10) : mine, size = wanted > 0 && wanted < mine ? wanted : mine;
  return (uint32_t)(size < TSR_TEAM_MAX ? size : TSR_TEAM_MAX);
}

static void *run_member(void *argument) {
  const member *m = argument;
  m->work(m->argument, m->number);
  return NULL;
}

void tsr_team_run(uint32_t members, void (*work)(void *argument, uint32_t member), void *argument) {
  pthread_t threads[TSR_TEAM_MAX];
  member all[TSR_TEAM_MAX];
  bool started[TSR_TEAM_MAX] = {false};
  int former;
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &former); /* what the others work on is the caller's */
  for (uint32_t i = 0; i < members; i++) all[i] = (member){work, argument, i};
  for (uint32_t i = 1; i < members; i++) started[i] = pthread_create(&threads[i], NULL, run_member, &all[i]) == 0;
  for (uint32_t i = 0; i < members; i++)
    if (!started[i]) work(argument, i);
  for (uint32_t i = 1; i < members; i++)
    if (started[i]) pthread_join(threads[i], NULL);
  pthread_setcancelstate(former, NULL);
}

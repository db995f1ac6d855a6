/* SPDX-License-Identifier: Apache-2.0
 *
 * A store of sessions that expire, in a cache (kind = cache, eviction = ttl). Each second users sign in, come back, or stay
 * away; every answer is compared with an array of deadlines.
 *
 *   sessions [--times N] [FOLDER]     N sessions; FOLDER holds sessions.ini
 */
#include "../example.h"

enum { SECONDS = 7200, STEP = 60, LIFETIME = 1800 };

typedef struct job {
  uint64_t n, kept; /* sessions; answers that were right */
  uint64_t *tokens, *users, *found, *lost;
  uint64_t *deadlines; /* the oracle's, of each session; 0: none */
  uint8_t *present, *results;
  uint32_t now;
  uint64_t state; /* of the random numbers */
} job;

/* An eighth of the users come, each with its token: the first time they sign in. */
static uint64_t choose(job *j, uint64_t *chosen) {
  uint64_t count = 0;
  for (uint64_t user = 0; user < j->n; user++)
    if (random_number(&j->state) % 8 == 0) chosen[count++] = user;
  for (uint64_t i = 0; i < count; i++) {
    j->tokens[i] = (chosen[i] + 1) * 0x9E3779B97F4A7C15u;
    j->users[i] = chosen[i];
  }
  return count;
}

/* Who has a session, as the table says; a look starts its lifetime again. Returns false if the oracle says otherwise. */
static bool look_up(job *j, tsr_table *sessions, const uint64_t *chosen, uint64_t count) {
  tsr_error error;
  const tsr_call call = {.present = j->present, .now = j->now};
  must(tsr_find(sessions, count, j->tokens, j->found, &call, &error), &error);
  for (uint64_t i = 0; i < count; i++) {
    const bool is_there = j->deadlines[chosen[i]] > j->now;
    if (j->present[i] != is_there || (is_there && j->found[i] != chosen[i])) return false;
    if (is_there) j->deadlines[chosen[i]] = j->now + LIFETIME;
    j->kept += is_there;
  }
  return true;
}

/* Those without one sign in. The pairs that the table gives up are sessions that have to be made again. */
static uint64_t sign_in(job *j, tsr_table *sessions, const uint64_t *chosen, uint64_t count) {
  tsr_error error;
  uint64_t signs_in = 0, evicted = 0;
  for (uint64_t i = 0; i < count; i++)
    if (!j->present[i]) {
      j->tokens[signs_in] = j->tokens[i];
      j->users[signs_in++] = chosen[i];
    }
  const tsr_call call = {.results = j->results, .unplaced_values = j->lost, .now = j->now};
  must(tsr_insert(sessions, signs_in, j->tokens, j->users, &call, &error), &error);
  for (uint64_t i = 0; i < signs_in; i++) j->deadlines[j->users[i]] = j->now + LIFETIME;
  for (uint64_t i = 0; i < signs_in; i++)
    if (j->results[i] == TSR_EVICTED) { /* of an expired session nothing changes */
      evicted += j->deadlines[j->lost[i]] > j->now;
      j->deadlines[j->lost[i]] = 0;
    }
  return evicted;
}

int main(int argc, char **argv) {
  const example_arguments arguments = read_arguments(argc, argv, "examples/sessions", 20000);
  const uint64_t n = arguments.items;
  job j = {.n = n, .state = 7, .now = 1};
  uint64_t *memory = calloc(6 * n, sizeof *memory), *chosen = memory, evicted = 0, erased = 0, all = 0;
  j.tokens = memory + n, j.users = memory + 2 * n, j.found = memory + 3 * n, j.lost = memory + 4 * n;
  j.deadlines = memory + 5 * n;
  j.present = calloc(2 * n, 1), j.results = j.present ? j.present + n : NULL;
  if (!memory || !j.present) return 1;
  tsr_table *sessions = make_table(arguments.folder, "sessions.ini", 2 * n);
  tsr_error error;
  bool agrees = true;
  for (; agrees && j.now < SECONDS; j.now += STEP) {
    const uint64_t count = choose(&j, chosen);
    agrees = look_up(&j, sessions, chosen, count);
    if (agrees) evicted += sign_in(&j, sessions, chosen, count);
    if (j.now % (10 * STEP) == 1) { /* memory that may stay: an expired session is absent anyway */
      const tsr_scored expired = {.highest = j.now};
      uint64_t some;
      must(tsr_erase_if(sessions, &expired, &some, &error), &error);
      erased += some;
    }
  }
  for (uint64_t i = 0; i < n; i++) all += j.deadlines[i] > j.now - STEP;
  const tsr_scored alive = {.lowest = j.now - STEP + 1, .highest = UINT32_MAX};
  uint64_t count;
  must(tsr_export_if(sessions, &alive, &count, &error), &error);
  printf("%llu looks found a session, %llu sessions expired and were erased, %llu were given up early\n",
         (unsigned long long)j.kept, (unsigned long long)erased, (unsigned long long)evicted);
  agrees = agrees && count == all;
  printf("%llu sessions at the end; the oracle %s\n", (unsigned long long)count, agrees ? "agrees" : "DISAGREES");
  tsr_table_destroy(sessions);
  free(memory);
  free(j.present);
  return !agrees;
}

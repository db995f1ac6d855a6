/* SPDX-License-Identifier: Apache-2.0
 *
 * Beats of a mesh (mesh.h): a byte to each other process, some times within the limit, from a thread of its own. A process
 * that is stopped, or whose machine is gone, sends none. A byte is sent whole or not at all, and one that finds no room is
 * left out: whoever does not read waits for nobody. Read next: mesh.c.
 */
#define _POSIX_C_SOURCE 200809L /* pthread_condattr_setclock */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "core/devices/mesh.h"

enum { BEATS_OF_LIMIT = 8, PAUSE_MS_MAX = 1000 };

static void beat_once(tsr_mesh *mesh) {
  static const char beat = TSR_BEAT;
  for (uint32_t i = 0; i < mesh->size; i++) {
    if (mesh->sockets[i] < 0) continue;
    const ssize_t sent = send(mesh->sockets[i], &beat, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)sent; /* the next exchange finds out what is wrong */
  }
}

static struct timespec after_ms(uint64_t ms) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  at.tv_sec += (time_t)(ms / 1000);
  at.tv_nsec += (long)(ms % 1000) * 1000000;
  if (at.tv_nsec >= 1000000000) {
    at.tv_nsec -= 1000000000;
    at.tv_sec++;
  }
  return at;
}

static void *run(void *context) {
  tsr_mesh *mesh = context;
  tsr_beat *beat = &mesh->beat;
  const double part_ms = mesh->limit_s * 1e3 / BEATS_OF_LIMIT;
  const uint64_t pause_ms = part_ms < 1 ? 1 : part_ms < PAUSE_MS_MAX ? (uint64_t)part_ms : PAUSE_MS_MAX;
  pthread_mutex_lock(&beat->lock);
  while (!beat->ends) {
    const struct timespec next = after_ms(pause_ms);
    while (!beat->ends && pthread_cond_timedwait(&beat->ends_now, &beat->lock, &next) != ETIMEDOUT) continue;
    if (!beat->ends && !beat->is_exchanging) beat_once(mesh);
  }
  pthread_mutex_unlock(&beat->lock);
  return NULL;
}

tsr_status tsr_beat_start(tsr_mesh *mesh, tsr_error *error) {
  tsr_beat *beat = &mesh->beat;
  pthread_condattr_t monotonic;
  sigset_t all, before;
  if (mesh->size == 1) return TSR_OK;
  pthread_mutex_init(&beat->lock, NULL);
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  pthread_cond_init(&beat->ends_now, &monotonic);
  pthread_condattr_destroy(&monotonic);
  sigfillset(&all); /* signals are for the threads of whoever uses the library */
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int failure = pthread_create(&beat->thread, NULL, run, mesh);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (failure)
    return tsr_fail(error, TSR_NO_MEMORY,
                    "a group needs a thread that tells the others it is alive: %s: allow more threads",
                    strerror(failure));
  beat->process = getpid();
  beat->is_running = true;
  return TSR_OK;
}

void tsr_beat_pause(tsr_mesh *mesh, bool is_exchanging) {
  if (!mesh->beat.is_running) return;
  pthread_mutex_lock(&mesh->beat.lock);
  mesh->beat.is_exchanging = is_exchanging;
  pthread_mutex_unlock(&mesh->beat.lock);
}

void tsr_beat_end(tsr_mesh *mesh) {
  tsr_beat *beat = &mesh->beat;
  if (!beat->is_running || beat->process != getpid()) return;
  beat->is_running = false;
  pthread_mutex_lock(&beat->lock);
  beat->ends = true;
  pthread_cond_signal(&beat->ends_now);
  pthread_mutex_unlock(&beat->lock);
  pthread_join(beat->thread, NULL);
}

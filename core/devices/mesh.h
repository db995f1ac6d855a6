/* SPDX-License-Identifier: Apache-2.0
 *
 * A mesh: processes, each connected with every other one by a socket, a Unix socket on one machine or TCP between
 * several. If one of them fails, dies or hangs, the others learn of it within the time limit.
 *
 * Read next: meet.c; beat.c; mesh.c; over.c; group.c (tables of such processes).
 */
#ifndef TSR_DEVICES_MESH_H
#define TSR_DEVICES_MESH_H

#include <pthread.h>

#include "core/devices/over.h"

/* The thread that tells the others, between messages, that this process is alive: one that compiles for long is not taken
 * for dead. */
typedef struct tsr_beat {
  pthread_t thread;
  pthread_mutex_t lock; /* over the two below, and while a beat is sent */
  pthread_cond_t ends_now;
  bool is_exchanging; /* a message is under way, which no beat may come into */
  bool ends;
  bool is_running;
  int process; /* a forked copy of it has no such thread */
} tsr_beat;

typedef struct tsr_mesh {
  uint32_t rank, size;
  int sockets[TSR_DEVICES_MAX]; /* of the others; -1: none */
  double limit_s;               /* without any sign of life */
  double late_s;                /* of a process that is alive, without its next message */
  tsr_beat beat;
  uint64_t messages;             /* so far: all processes count alike */
  tsr_over *over;                /* carries messages instead of sockets; NULL: sockets do */
  double heard[TSR_DEVICES_MAX]; /* when each other process last showed that it is alive */
  bool is_broken;                /* after a failure nothing more is sent */
  uint32_t failed;               /* the rank that `why` is about */
  tsr_error why;
} tsr_mesh;

/* What all processes do together: each sends a number of bytes to every other one, and knows how many come from
 * each. */
typedef tsr_wire_load tsr_mail;

/* Meets the others: at Unix sockets called ID.RANK, or, if id = tcp://HOST:PORT, at that address of rank 0's host,
 * where all learn the other addresses. late_s: 0: 10 times limit_s. *mesh stays where it is. The caller closes it, on
 * failure too. */
tsr_status tsr_mesh_open(tsr_mesh *mesh, uint32_t rank, uint32_t size, const char *id, double limit_s, double late_s,
                         tsr_error *error) TSR_MUST_CHECK;
void tsr_mesh_close(tsr_mesh *mesh);
tsr_status tsr_mesh_exchange(tsr_mesh *mesh, const tsr_mail *mail, tsr_error *error) TSR_MUST_CHECK;
/* For use while this process waits for something else that needs all of them, since the time `since`: fails when one has
 * gone, is silent for limit_s, or late_s have passed. Others may have sent already. */
tsr_status tsr_mesh_watch(tsr_mesh *mesh, double since, tsr_error *error) TSR_MUST_CHECK;
/* Ends the mesh for all. `why`, a failure of this process, is the answer of every further call, and its last words to the
 * others, whose calls fail with it. Returns its status. */
tsr_status tsr_mesh_break(tsr_mesh *mesh, const tsr_error *why);
/* Beats, from when the mesh is whole until its sockets are closed. */
enum { TSR_BEAT = 0 }; /* a byte; no envelope begins with it */
tsr_status tsr_beat_start(tsr_mesh *mesh, tsr_error *error) TSR_MUST_CHECK;
void tsr_beat_pause(tsr_mesh *mesh, bool is_exchanging);
void tsr_beat_end(tsr_mesh *mesh);
/* The time of a clock that is never set back; and how long until then, for poll. */
double tsr_mesh_now_s(void);
int tsr_mesh_left_ms(double until_s);

#endif

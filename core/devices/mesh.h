/* SPDX-License-Identifier: Apache-2.0
 *
 * A mesh: processes of which each two are connected by a socket, a Unix socket on one machine or TCP between several.
 * If one of them fails, dies or hangs, the others learn of it within the time limit.
 *
 * Read next: meet.c; mesh.c; group.c (tables of such processes).
 */
#ifndef TSR_DEVICES_MESH_H
#define TSR_DEVICES_MESH_H

#include "core/compose/backend.h"

typedef struct tsr_mesh {
  uint32_t rank, size;
  int sockets[TSR_DEVICES_MAX]; /* of the others; -1: none */
  double limit_s;               /* without any progress */
  uint64_t messages;            /* so far: all processes count alike */
  bool is_broken;               /* after a failure nothing more is sent */
  tsr_error why;
} tsr_mesh;

/* What all processes do together: each sends a number of bytes to every other one, and knows how many come from
 * each. */
typedef tsr_wire_load tsr_mail;

/* Meets the others: at Unix sockets called ID.RANK, or, if id = tcp://HOST:PORT, at that address of rank 0's host,
 * where all learn the other addresses. The caller closes *mesh, on failure too. */
tsr_status tsr_mesh_open(tsr_mesh *mesh, uint32_t rank, uint32_t size, const char *id, double limit_s, tsr_error *error)
    TSR_MUST_CHECK;
void tsr_mesh_close(tsr_mesh *mesh);
tsr_status tsr_mesh_exchange(tsr_mesh *mesh, const tsr_mail *mail, tsr_error *error) TSR_MUST_CHECK;
/* For use while this process waits for something else that needs all of them: fails when one has gone, or `until` is
 * past. Others may have sent already. */
tsr_status tsr_mesh_watch(tsr_mesh *mesh, double until, tsr_error *error) TSR_MUST_CHECK;
/* Ends the mesh for all: `why` is the answer of every further call. Returns its status. */
tsr_status tsr_mesh_break(tsr_mesh *mesh, const tsr_error *why);
/* The time of a clock that is never set back; and how long until then, for poll. */
double tsr_mesh_now_s(void);
int tsr_mesh_left_ms(double until_s);

#endif

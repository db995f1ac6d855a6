/* SPDX-License-Identifier: Apache-2.0
 *
 * A mesh: processes of one machine, each connected with each other by a Unix socket. Whatever one of them fails at, dies of
 * or forgets, the others hear of it within the time limit. Read next: mesh.c; group.c (tables of such processes).
 */
#ifndef TSR_DEVICES_MESH_H
#define TSR_DEVICES_MESH_H

#include "core/spec/settings.h"

typedef struct tsr_mesh {
  uint32_t rank, size;
  int sockets[TSR_DEVICES_MAX]; /* of the others; -1: none */
  double limit_s;               /* without any progress */
  uint64_t messages;            /* so far: all processes count alike */
  bool is_broken;               /* after a failure nothing more is sent */
  tsr_error why;
} tsr_mesh;

/* What all processes do together: each sends each other a number of bytes, and knows how many come from whom. */
typedef struct tsr_mail {
  const void *out[TSR_DEVICES_MAX];
  void *in[TSR_DEVICES_MAX];
  uint64_t out_bytes[TSR_DEVICES_MAX], in_bytes[TSR_DEVICES_MAX];
} tsr_mail;

/* Meets the others at sockets that are called ID.RANK. *mesh is closed by the caller, on failure too. */
tsr_status tsr_mesh_open(tsr_mesh *mesh, uint32_t rank, uint32_t size, const char *id, double limit_s, tsr_error *error)
    TSR_MUST_CHECK;
void tsr_mesh_close(tsr_mesh *mesh);
tsr_status tsr_mesh_exchange(tsr_mesh *mesh, const tsr_mail *mail, tsr_error *error) TSR_MUST_CHECK;
/* Ends it for all: `why` stays the answer of every further call. Returns its status. */
tsr_status tsr_mesh_break(tsr_mesh *mesh, const tsr_error *why);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Messages of a group over a communicator (tessera_devices.h) instead of sockets. Before each message all ranks learn what all want to send
 * and expect, so that processes at different calls, and one that has failed, are noticed by all at once. Read next: over.c.
 */
#ifndef TSR_DEVICES_OVER_H
#define TSR_DEVICES_OVER_H

#include "core/compose/backend.h"
#include "core/tessera_devices.h"

typedef struct tsr_over {
  tsr_communicator communicator;
  double late_s;     /* how long a message may take */
  uint64_t messages; /* so far: all processes count alike */
} tsr_over;

/* As tsr_mesh_exchange. */
tsr_status tsr_over_exchange(tsr_over *over, const tsr_wire_load *mail, tsr_error *why) TSR_MUST_CHECK;
/* Tells all ranks, with their next message, why this one sends no more. Waits for them. */
void tsr_over_say_why(tsr_over *over, const tsr_error *why);
/* Loads a transport and lets it make a communicator. */
tsr_status tsr_over_load(const char *transport, const void *handle, tsr_communicator *made, tsr_error *error)
    TSR_MUST_CHECK;

#endif

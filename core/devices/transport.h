/* SPDX-License-Identifier: Apache-2.0
 *
 * How the members of a table of several devices hear of each other: what a batch needs to go from where it was given to
 * the shards, and back. A member deals with a part of each batch and holds a shard. All members may be in one process
 * (local.c), or each in one of its own (group.c). Calls of one transport are made by one thread at a time, and by all
 * processes in the same order. Read next: batch.h.
 */
#ifndef TSR_DEVICES_TRANSPORT_H
#define TSR_DEVICES_TRANSPORT_H

#include "core/table/table_struct.h"

/* One column of items that goes from each member to each other. Arrays in the memory of the members' devices, one for
 * each member of this process; what goes to member j is behind what goes to j - 1, and arrives behind what came from
 * i - 1. What a member has for itself is there already: its place is kept, and nothing is copied. */
typedef struct tsr_parcels {
  const void *const *from;
  void *const *to;
  const uint64_t *sizes; /* sizes[i * members + j]: items from i to j */
  uint32_t item_bytes;
  void *const *streams; /* of the members that receive; the copies go in their order */
} tsr_parcels;

typedef struct tsr_transport tsr_transport;
struct tsr_transport {
  struct tsr_group *group;              /* of processes; NULL: all members are here */
  uint32_t members, first, here;        /* in all; the first of this process, and how many it has */
  tsr_device *devices[TSR_DEVICES_MAX]; /* of those here */
  bool is_direct; /* all members are here, and their kernels reach each other's memory: nothing has to be exchanged */
  /* rows: `words` numbers of each member; those of the members here are set, and the others' come. An error of another
   * process is one here as well. */
  tsr_status (*gather)(tsr_transport *transport, uint64_t *rows, uint32_t words, tsr_error *error);
  tsr_status (*exchange)(tsr_transport *transport, const tsr_parcels *parcels, tsr_error *error);
  /* What this process has come to; where any has failed, all have after it. */
  tsr_status (*agree)(tsr_transport *transport, tsr_status status, tsr_error *error);
};

/* Of members that are all in this process: copies between devices, if copies are asked for or their kernels do not reach
 * each other's memory. */
void tsr_local_transport(tsr_transport *transport, tsr_device *const *devices, uint32_t members, bool copies);

#endif

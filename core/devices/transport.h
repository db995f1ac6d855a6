/* SPDX-License-Identifier: Apache-2.0
 *
 * How the members of a table of several devices exchange data: what a batch needs to get from the caller to the
 * shards, and back. A member works on a part of each batch and holds a shard. All members may be in one process
 * (local.c), or each in one of its own (group.c). Calls of one transport are made by one thread at a time, and by all
 * processes in the same order.
 *
 * Read next: batch.h.
 */
#ifndef TSR_DEVICES_TRANSPORT_H
#define TSR_DEVICES_TRANSPORT_H

#include "core/table/table_struct.h"

/* One column of items that goes from each member to each other one. Arrays are in the memory of the members' devices,
 * one for each member of this process. The items for member j follow those for j - 1, and arrive behind those from i -
 * 1. A member's items for itself are there already: their place is kept, and nothing is copied. */
typedef struct tsr_parcels {
  const void *const *from;
  void *const *to;
  const uint64_t *sizes; /* sizes[i * members + j]: items from i to j */
  uint32_t item_bytes;
  void *const *streams; /* of the members that receive; the copies go in their order */
} tsr_parcels;
enum { TSR_PARCELS_MAX = 6 }; /* columns of one exchange */

typedef struct tsr_transport tsr_transport;
struct tsr_transport {
  struct tsr_group *group;              /* of processes; NULL: all members are here */
  uint32_t members, first, here;        /* in all; the first of this process, and how many it has */
  tsr_device *devices[TSR_DEVICES_MAX]; /* of those here */
  bool is_direct; /* the kernels of all members reach each other's memory: nothing has to be exchanged */
  /* That a process has no memory breaks nothing: `gather` and `agree` return TSR_NO_MEMORY in all processes. */
  bool forgives;
  double limit_s; /* how long a process of a group waits for another one */
  /* rows: `words` numbers of each member. The caller sets those of the members here; those of the others are filled in. It
   * gives this process's status as well: if any process has failed, all return a failure, and rows may be NULL. */
  tsr_status (*gather)(tsr_transport *transport, uint64_t *rows, uint32_t words, tsr_status status, tsr_error *error);
  /* All columns at once: what is sent waits for its turn once. */
  tsr_status (*exchange)(tsr_transport *transport, const tsr_parcels *parcels, uint32_t columns, tsr_error *error);
  /* The same without numbers. */
  tsr_status (*agree)(tsr_transport *transport, tsr_status status, tsr_error *error);
  /* Breaks the group, and tells the others why; they need not be in a call. */
  void (*give_up)(tsr_transport *transport, const tsr_error *why);
};

/* The transport of members that are all in this process: copies between devices, if copies are asked for or the kernels
 * do not reach each other's memory. */
void tsr_local_transport(tsr_transport *transport, tsr_device *const *devices, uint32_t members, bool copies);

#endif

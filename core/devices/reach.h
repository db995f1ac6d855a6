/* SPDX-License-Identifier: Apache-2.0
 *
 * Processes of one host that use each other's memory. A table of such a group works as one of a single process does: kernels
 * write items and answers to where they are needed. Buffers that others write to or read from are shared (tsr_extents).
 *
 * All processes ask for room with the same numbers, so all know which buffers grow. The others unmap these before their
 * owner frees them, and map what it makes in their place. No stream waits for another process, since that one may be
 * killed: its host says in a message that its device has done its work.
 *
 * A table's end needs no message, because a broken group sends none. Each process has a board in host memory, a word for each
 * other process, which writes there that it has unmapped this one's memory. The owner frees when all have, or have died.
 *
 * Read next: reach.c; task.h.
 */
#ifndef TSR_DEVICES_REACH_H
#define TSR_DEVICES_REACH_H

#include "core/devices/shards.h"

/* What each member needs of a buffer. */
typedef struct tsr_need {
  size_t buffer; /* its offset in a flight */
  uint64_t bytes[TSR_DEVICES_MAX];
} tsr_need;
enum { TSR_NEEDS_MAX = TSR_QUESTIONS + TSR_ANSWERS }; /* at once */

/* Finds out whether all processes reach each other's memory, and if so makes the transport direct. Each writes a number to
 * shared memory, which the others must find there, so those of another host are not taken for near. is_wanted: by this
 * process. */
tsr_status tsr_reach_meet(tsr_shards *shards, bool is_wanted, tsr_error *error) TSR_MUST_CHECK;
/* Room in the buffers of a flight, of all members here, whatever the transport. pre: no work on the flight is under way. */
tsr_status tsr_reach_room(tsr_shards *shards, uint32_t flight, const tsr_need *needs, uint32_t count, tsr_error *error)
    TSR_MUST_CHECK;
/* A member's flight, by its number among all: of one of another process only shared buffers are known. */
const tsr_flight *tsr_reach_flight(const tsr_shards *shards, uint32_t member, uint32_t flight);
/* Gives back the buffers of all flights, shared or not. All processes call it. */
tsr_status tsr_reach_drop(tsr_shards *shards, tsr_error *error) TSR_MUST_CHECK;
/* Waits for all work of the members here, as it is after a failure. */
void tsr_reach_finish(const tsr_shards *shards);
/* The end: unmaps what other processes own, and waits until none of them maps what this one owns. One that does not come within
 * limit_s is named, the group is broken, and the memory stays until this process ends. */
void tsr_reach_leave(tsr_shards *shards);

#endif

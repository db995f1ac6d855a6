/* SPDX-License-Identifier: Apache-2.0
 *
 * Room for inserts that erases overlap (concurrency = mixed, open addressing, nothing moves). Such an insert needs no
 * lock if it passes erased slots by (core/design/0004-uniqueness.md). So erased slots pile up, and before they make walks
 * long they have to go: the host knows how many slots can be in use at most, has them counted when that is not good
 * enough, and rebuilds the table when erased ones hold much of the room. Where even that gives no room, inserts take
 * erased slots again, with locks. Read next: room.c.
 */
#ifndef TSR_TABLE_ROOM_H
#define TSR_TABLE_ROOM_H

#include "core/table/handle.h"

/* Before a launch of n operations that may insert, of a table that passes erased slots by: *piece of them, 1 to n, are to
 * be launched next, and table->retakes says how. May wait, and may rebuild; enters and leaves TSR_PHASE_ALONE then. */
tsr_status tsr_room_take(tsr_table *table, uint64_t n, void *stream, uint64_t *piece, tsr_error *error) TSR_MUST_CHECK;
/* The same for a launch of nobody knows how many operations. */
void tsr_room_retake(tsr_table *table);
/* Reads the tallies before they are set to 0. The table is idle. */
tsr_status tsr_room_read(tsr_table *table, tsr_error *error) TSR_MUST_CHECK;

#endif

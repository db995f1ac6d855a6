/* SPDX-License-Identifier: Apache-2.0
 *
 * What helps where pairs found no room in a table, for the sentences of all commands that fill one. Read next: room.c.
 */
#ifndef TSR_ROOM_H
#define TSR_ROOM_H

#include "core/tessera.h"

enum { TSR_ROOM_ADVICE_BYTES = 768 };

/* "raise capacity (now 1000) or ...", by what the table is made of. grow: how this command lets it grow, as "let the table
 * grow: --on-full grow". Returns advice. */
const char *tsr_room_advice(const tsr_table *table, const char *grow, char advice[TSR_ROOM_ADVICE_BYTES]);

#endif

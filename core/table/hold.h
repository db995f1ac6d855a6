/* SPDX-License-Identifier: Apache-2.0
 *
 * Who may be inside calls of a table: one thread that may change it, or any number that only read it. Every public call
 * begins with one of the macros below, and lets the table go when it returns. A thread that holds a table to write may call
 * public functions on it again. Nothing here is about what the device does: that is order.h. Read next: order.h.
 */
#ifndef TSR_TABLE_HOLD_H
#define TSR_TABLE_HOLD_H

#include "core/table/table_struct.h"

tsr_status tsr_hold_open(tsr_table *table, tsr_error *error) TSR_MUST_CHECK;
void tsr_hold_close(tsr_table *table);

/* Wait until the table may be read, or changed; return it. NULL: nothing to hold. A table whose reading calls change what
 * the host knows of it, such as one on a GPU, is held to write by both. */
tsr_table *tsr_hold_to_read(const tsr_table *table);
tsr_table *tsr_hold_to_write(const tsr_table *table);
void tsr_let_go(tsr_table *table);

/* The end of a call, which the compiler adds. */
static inline void tsr_hold_end(tsr_table **held) { tsr_let_go(*held); }
#define TSR_HOLDS_(name, table) __attribute__((cleanup(tsr_hold_end), unused)) tsr_table *name = (table)
#define TSR_READS(table) TSR_HOLDS_(held_, tsr_hold_to_read(table))
#define TSR_WRITES(table) TSR_HOLDS_(held_, tsr_hold_to_write(table))
/* Two tables, which may be one. The order of their addresses keeps two calls from waiting for each other. */
#define TSR_WRITES_BOTH(a, b)                                                                                          \
  TSR_HOLDS_(first_, tsr_hold_to_write((uintptr_t)(a) < (uintptr_t)(b) ? (a) : (b)));                                  \
  TSR_HOLDS_(second_, tsr_hold_to_write((uintptr_t)(a) < (uintptr_t)(b) ? (b) : (a)))

#endif

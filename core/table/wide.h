/* SPDX-License-Identifier: Apache-2.0
 *
 * Values of [table] value_bytes, a layer above a table of 32-bit values. Each pair has a row, and the table stores
 * the row's number as its value.
 *
 * An insert offers for its items the next numbers of a list of spare rows, then writes the rows of those items whose
 * numbers may be in the table. Nothing gives a row back: not the key that was present, not an erased pair, not a
 * call that failed. When the list is short, one scan over the table marks the rows in use, and the others are listed
 * anew. So the table itself is the one source of which rows are spare, and the host knows their number without
 * asking the device.
 *
 * A cache gives rows back, since a full one takes and gives one for each new key. Its inserts write for each item the row that
 * is in no pair afterwards, and these are appended to the list, whose length is in device memory. There are more rows than
 * slots, so the list has at least the difference, unless pairs were erased since it was made. Read next: operate.c.
 */
#ifndef TSR_TABLE_WIDE_H
#define TSR_TABLE_WIDE_H

#include "core/kernels/wide.h"
#include "core/table/values.h"

/* Makes rows, so that there are as many as the store needs, and `count` at least; those that are there stay. Waits. */
tsr_status tsr_wide_reserve(tsr_table *table, uint64_t count, tsr_error *error) TSR_MUST_CHECK;
/* Lists the rows that no pair has. TSR_IO: two pairs have one row, or there is none of that number. Waits. */
tsr_status tsr_wide_collect(tsr_table *table, void *stream, tsr_error *error) TSR_MUST_CHECK;

/* The items of a call whose results say that they handed back a pair. */
typedef struct tsr_picked {
  uint64_t n;
  uint8_t *marks;  /* their results; overwritten */
  uint32_t *list;  /* of n: written */
  uint64_t *count; /* written */
} tsr_picked;
tsr_status tsr_pick_list(const tsr_table *table, const tsr_picked *items, void *stream, tsr_error *error)
    TSR_MUST_CHECK;
/* The listed items of an array of that many bytes each, one after another. */
tsr_status tsr_pick_items(const tsr_table *table, uint64_t count, uint32_t *list, void *array, uint32_t bytes, void *to,
                          void *stream, tsr_error *error) TSR_MUST_CHECK;

#endif

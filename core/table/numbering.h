/* SPDX-License-Identifier: Apache-2.0
 *
 * An index (kind = index), a layer above a table of 32-bit values: the value of each key is its number.
 *
 * A batch is inserted by find_or_insert, and each item offers a mark, which is the item's position. So the mark that a new
 * key has in the table says which item of the batch inserted it. One item of each new key is chosen, a prefix sum over the
 * chosen ones says which number each takes, and TSR_BULK_combine writes the numbers over the marks. Page by page the
 * batch is inserted with the least mark of each key, and its marks are found afterwards. All of this is enqueued. The host
 * never learns how many keys were new, unless some must go first (eviction.h). Which numbers are free is in device memory:
 * those from `given` on, and a list of those that came back from erased keys. Read next: operate.c.
 */
#ifndef TSR_TABLE_NUMBERING_H
#define TSR_TABLE_NUMBERING_H

#include "core/table/free_numbers.h"
#include "core/table/values.h"

bool tsr_is_index(const tsr_table *table);
/* Fails where a call has failed when keys had marks in place of numbers. */
tsr_status tsr_numbering_check(const tsr_table *table, tsr_error *error) TSR_MUST_CHECK;

/* The table is one of several shards, each of which gives every `shards`-th number. Before it gives any. */
void tsr_numbering_take_turns(tsr_table *table, uint32_t shard, uint32_t shards);
/* All numbers are below it when the table has given this many. */
uint64_t tsr_numbering_end(const tsr_table *table, uint64_t given);

#endif

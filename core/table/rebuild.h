/* SPDX-License-Identifier: Apache-2.0
 *
 * Moving all pairs of a table into another store. Read next: growth.h.
 */
#ifndef TSR_TABLE_REBUILD_H
#define TSR_TABLE_REBUILD_H

#include "core/table/table_struct.h"

/* What the new store holds besides the old one's pairs: it lacks some keys and has some more pairs. Arrays in device
 * memory of distinct keys; those added are not in the old store, or among the erased ones. */
typedef struct tsr_change {
  uint64_t erased;
  const void *erased_keys;
  uint64_t added;
  const void *added_keys, *added_values;
} tsr_change;

/* Moves all pairs to a new store, changed if `change` is not NULL, and swaps. In the order of `stream`, which has
 * entered TSR_PHASE_ALONE; waits, but where no pairs move. On failure the table is as it was. */
tsr_status tsr_rebuild(tsr_table *table, const tsr_spec *spec, uint64_t capacity, uint64_t seed,
                       const tsr_change *change, void *stream, tsr_error *error) TSR_MUST_CHECK;
/* Moves all pairs to a new store of the same seed, and copies that one's memory over the table's own. Addresses,
 * seed and code stay, so graphs and users' kernels stay right. TSR_UNSUPPORTED: not every pair found a place in this
 * order. Otherwise as tsr_rebuild. */
tsr_status tsr_rebuild_in_place(tsr_table *table, void *stream, tsr_error *error) TSR_MUST_CHECK;
/* What tsr_rehash refuses: another kind, other widths, sizes out of range. */
tsr_status tsr_rehash_check(const tsr_table *table, const tsr_spec *spec, const tsr_options *options, tsr_error *error)
    TSR_MUST_CHECK;

#endif

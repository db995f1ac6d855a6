/* SPDX-License-Identifier: Apache-2.0
 *
 * Moving all pairs of a table into another store. Read next: growth.h.
 */
#ifndef TSR_TABLE_REBUILD_H
#define TSR_TABLE_REBUILD_H

#include "core/table/handle.h"

/* Moves all pairs to a new store and swaps. In the order of `stream`, which has entered TSR_PHASE_ALONE; waits. */
tsr_status tsr_rebuild(tsr_table *table, const tsr_spec *spec, uint64_t capacity, uint64_t seed, void *stream,
                       tsr_error *error) TSR_MUST_CHECK;
/* The seed of the try-th build, from 1. */
uint64_t tsr_next_seed(uint64_t seed, uint32_t try);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Stores: a composition with its memory and its operations on the table's device. Read next: order.h.
 */
#ifndef TSR_TABLE_STORE_H
#define TSR_TABLE_STORE_H

#include "core/table/table_struct.h"

/* The seed of the try-th try, from 1. */
uint64_t tsr_next_seed(uint64_t seed, uint32_t try);
/* Composes for the table's device, which must have code for it, if need be with another seed; the caller frees
 * *composition. */
tsr_status tsr_store_compose(const tsr_table *table, const tsr_spec *spec, const tsr_options *options,
                             tsr_composition **composition, tsr_error *error) TSR_MUST_CHECK;
/* Gives a composed store memory, uncleared, and code, the table's own where that serves. The caller frees the store,
 * on failure too. */
tsr_status tsr_store_furnish(const tsr_table *table, tsr_store *store, tsr_error *error) TSR_MUST_CHECK;
/* Both at once, for a table that has a store; the memory is there in the order of `stream`. Nothing is left behind on
 * failure. */
tsr_status tsr_store_make(const tsr_table *table, const tsr_spec *spec, uint64_t capacity, uint64_t seed, void *stream,
                          tsr_store *store, tsr_error *error) TSR_MUST_CHECK;
/* Memory as a store's, for what makes one, and back: in the order of `stream`, or at once if it is much. NULL: nothing. */
tsr_status tsr_store_allocate(const tsr_table *table, uint64_t bytes, void *stream, void **memory, tsr_error *error)
    TSR_MUST_CHECK;
void tsr_store_release(const tsr_table *table, void *memory, uint64_t bytes, void *stream);
/* Composes again with another seed and takes over the memory, uncleared. The store stays as it was on failure. */
tsr_status tsr_store_reseed(const tsr_table *table, const tsr_spec *spec, uint64_t seed, tsr_store *store,
                            tsr_error *error) TSR_MUST_CHECK;
/* Makes the store as one of `capacity`, in place, and moves what belongs into new buckets: with growth = split. In the order of
 * `stream`, and nothing else works on the table. The store stays as it was on failure. TSR_UNSUPPORTED: this capacity asks for
 * other memory. */
tsr_status tsr_store_extend(const tsr_table *table, tsr_store *store, uint64_t capacity, void *stream, tsr_error *error)
    TSR_MUST_CHECK;
tsr_status tsr_store_clear(const tsr_table *table, tsr_store *store, void *stream, tsr_error *error) TSR_MUST_CHECK;
/* A kernel of a user's that was linked for this code keeps it, so that it can tell when a rebuild has made another. */
tsr_code *tsr_store_keep_code(tsr_store *store);
void tsr_store_leave_code(const tsr_backend *backend, tsr_code *code);
/* In the order of `stream`, which has waited for all work on it; what the host has of it is freed at once. */
void tsr_store_free(const tsr_table *table, tsr_store *store, void *stream);

#endif

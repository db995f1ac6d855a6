/* SPDX-License-Identifier: Apache-2.0
 *
 * A table from the inside: what table.c (operations), store.c (memory), rebuild.c, growth.c and save.c share.
 * Read next: store.c.
 */
#ifndef TSR_TABLE_INSIDE_H
#define TSR_TABLE_INSIDE_H

#include "core/backend.h"

/* Operations of one class may overlap each other, whatever their streams; classes are ordered. */
typedef enum tsr_phase {
  TSR_PHASE_NONE,
  TSR_PHASE_INSERT,
  TSR_PHASE_FIND,
  TSR_PHASE_ERASE,
  TSR_PHASE_MIXED,
  TSR_PHASE_ALONE
} tsr_phase;

enum { TSR_USERS_MAX = 8 }; /* streams that work in one phase before the ninth has to wait for the first */

typedef struct tsr_user {
  void *stream;
  tsr_event *event; /* after its last operation in this phase */
} tsr_user;

/* The operations of a composition. Sizes and seeds are state, so stores that differ only in these share it. */
typedef struct tsr_code {
  tsr_composition *composition; /* what it was made for; freed with it */
  tsr_program *program;
  uint32_t users;
} tsr_code;

/* What a rebuild makes anew: a composition, its memory and its operations. All zero: nothing to free. */
typedef struct tsr_store {
  tsr_composition *composition; /* its own, or its code's */
  tsr_code *code;
  tsr_state state;
} tsr_store;

enum {
  TSR_TALLY_COUNTED = TSR_BULKS, /* of launches that are no calls */
  TSR_TALLY_UNREAD,              /* of launches whose counts nobody wants */
  TSR_TALLIES
};

struct tsr_table {
  const tsr_backend *backend;
  tsr_device *device;
  tsr_store store;
  tsr_spec *spec; /* what the store was made of, with the plugins' search path: for the next one */
  char *plugins;
  tsr_tally *tallies; /* device memory: one for each operation, then TSR_TALLY_ */
  tsr_tally counted;  /* of inserts that used the last one */
  char reason[256];   /* why backend = auto chose this one */
  uint64_t insert_keys, find_keys, erase_keys;
  uint64_t pairs, erased_then; /* growth: the size, and what the tallies of erasing were at that time */
  bool knows_pairs;            /* they are true */

  tsr_phase phase;
  tsr_event *gate; /* the start of this phase: after all of the former one */
  tsr_user users[TSR_USERS_MAX];
  uint32_t user_count, oldest_user;
  tsr_event *timer_from, *timer_to;
};

/* ---- Stores (store.c) ------------------------------------------------------------------------ */

/* A handle with device and composition, but no memory yet; then the memory, cleared. Both leave *table to be destroyed
 * by the caller when they fail; before the first call it is NULL. */
tsr_status tsr_table_open(const tsr_spec *spec, const tsr_options *options, tsr_table **table, tsr_error *error)
    TSR_MUST_CHECK;
tsr_status tsr_table_furnish(tsr_table *table, tsr_error *error) TSR_MUST_CHECK;

/* Composes for the table's device and allocates, uncleared; shares the table's code where it can. Nothing is left
 * behind on failure. The caller frees *store. */
tsr_status tsr_store_make(const tsr_table *table, const tsr_spec *spec, uint64_t capacity, uint64_t seed,
                          tsr_store *store, tsr_error *error) TSR_MUST_CHECK;
/* Composes again with another seed and takes over the memory, uncleared. The store stays as it was on failure. */
tsr_status tsr_store_reseed(const tsr_table *table, const tsr_spec *spec, uint64_t seed, tsr_store *store,
                            tsr_error *error) TSR_MUST_CHECK;
tsr_status tsr_store_clear(const tsr_table *table, tsr_store *store, void *stream, tsr_error *error) TSR_MUST_CHECK;
/* pre: no work on it is under way. */
void tsr_store_free(const tsr_table *table, tsr_store *store);

/* ---- Order and launches (table.c) ------------------------------------------------------------ */

/* Lets `stream` work on the table in phase `next`; notes that it has enqueued its work. */
tsr_status tsr_table_enter(tsr_table *table, tsr_phase next, void *stream, tsr_error *error) TSR_MUST_CHECK;
tsr_status tsr_table_leave(tsr_table *table, void *stream, tsr_error *error) TSR_MUST_CHECK;

/* Launches an operation on a store outside the report's counters and waits for what it counted. bulk: without state and
 * tally. */
tsr_status tsr_store_run(const tsr_table *table, const tsr_store *store, uint32_t op, const tsr_bulk *bulk,
                         void *stream, tsr_tally *tally, tsr_error *error) TSR_MUST_CHECK;

/* An array of an operation: where the caller has it and where the device sees it. */
typedef struct tsr_array {
  void *users;
  void *devices;
  uint64_t bytes;
  bool staged, is_output;
} tsr_array;

tsr_status tsr_stage_in(const tsr_table *table, tsr_array *array, void *stream, tsr_error *error) TSR_MUST_CHECK;
tsr_status tsr_stage_out(const tsr_table *table, tsr_array *array, void *stream, bool failed, tsr_error *error)
    TSR_MUST_CHECK;

/* An insert that is no call of its own for the report: waits, and returns what it counted. */
tsr_status tsr_insert_counted(tsr_table *table, uint64_t n, const void *keys, const void *values, const tsr_call *call,
                              tsr_tally *tally, tsr_error *error) TSR_MUST_CHECK;
/* What tsr_insert refuses. */
tsr_status tsr_check_insert(const tsr_table *table, const char *call, uint64_t n, const void *keys, const void *values,
                            tsr_error *error) TSR_MUST_CHECK;

/* ---- Rebuilding (rebuild.c, growth.c) -------------------------------------------------------- */

/* Moves all pairs to a new store and swaps. In the order of `stream`, which has entered TSR_PHASE_ALONE; waits. */
tsr_status tsr_rebuild(tsr_table *table, const tsr_spec *spec, uint64_t capacity, uint64_t seed, void *stream,
                       tsr_error *error) TSR_MUST_CHECK;
/* The seed of the try-th build, from 1. */
uint64_t tsr_next_seed(uint64_t seed, uint32_t try);

/* tsr_insert (op = TSR_BULK_insert) or the inserts of tsr_find_or_insert (TSR_BULK_find_or_insert), with growth = double;
 * arguments checked. */
tsr_status tsr_insert_growing(tsr_table *table, uint32_t op, uint64_t n, const void *keys, const void *values,
                              const tsr_call *call, tsr_error *error) TSR_MUST_CHECK;

#endif

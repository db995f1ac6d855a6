/* SPDX-License-Identifier: Apache-2.0
 *
 * What a table is made of: data only. Each of the files that work on it has a header of its own and includes only those
 * before it: store <- pages <- launch <- order <- create <- rebuild <- growth <- table <- build, save. Read next: store.h.
 */
#ifndef TSR_TABLE_HANDLE_H
#define TSR_TABLE_HANDLE_H

#include "core/backend.h"

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
  bool is_clear; /* nothing was inserted since it was cleared */
} tsr_store;

/* Operations of one class may overlap each other, whatever their streams; classes are ordered. */
typedef enum tsr_phase {
  TSR_PHASE_NONE,
  TSR_PHASE_INSERT,
  TSR_PHASE_COMBINE, /* what inserts have left, after all of them */
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

/* Which phase the table is in and who works in it. */
typedef struct tsr_order {
  tsr_phase phase;
  tsr_event *gate; /* the start of this phase: after all of the former one */
  tsr_user users[TSR_USERS_MAX];
  uint32_t user_count, oldest_user;
} tsr_order;

enum {
  TSR_TALLY_COUNTED = TSR_BULKS, /* of launches that are no calls */
  TSR_TALLY_UNREAD,              /* of launches whose counts nobody wants */
  TSR_TALLIES
};

struct tsr_table {
  const tsr_backend *backend;
  tsr_device *device;
  char reason[256]; /* why backend = auto chose this one */
  tsr_spec *spec;   /* what the store was made of, with the plugins' search path: for the next one */
  char *plugins;
  tsr_store store;
  tsr_order order;
  tsr_tally *tallies; /* device memory: one for each operation, then TSR_TALLY_ */
  tsr_tally counted;  /* of inserts that used TSR_TALLY_COUNTED */
  uint64_t insert_keys, find_keys, erase_keys;
  uint64_t pairs, erased_then; /* growth: the size, and what the tallies of erasing were at that time */
  bool knows_pairs;            /* whether these two are true */
  tsr_event *timer_from, *timer_to;
};

#endif

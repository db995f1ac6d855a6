/* SPDX-License-Identifier: Apache-2.0
 *
 * What a table is made of: data only. Each of the files that work on it has a header of its own and includes only those
 * before it: store <- launch <- order <- call <- filter <- wide <- create <- rebuild <- clean, enlarge <- piece <-
 * growth <- operate <- table <- build, save; order <- match <- join. The ways of a batch are in ../batch/. Read next:
 * store.h.
 */
#ifndef TSR_TABLE_HANDLE_H
#define TSR_TABLE_HANDLE_H

#include "core/compose/backend.h"

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
  uint64_t held; /* keys that were inserted since then, erased ones too, or loaded: no replay of a graph tells */
  bool in_graph; /* a CUDA graph has a call on it: it may change without a call */
  /* Since slots were counted last: keys that calls may have erased and inserted, and how many more of both it takes until
   * more slots can be erased than empty. erased_slots: how many there were then (clean.h). */
  uint64_t may_erase, may_insert, slack, erased_slots;
  uint64_t paged_keys;         /* that were inserted page by page, */
  uint64_t paged_bytes;        /* ... and the most scratch memory that one call took for it */
  struct tsr_windows *windows; /* NULL: all regions are the device's; else those with pages are the host's */
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
  TSR_TALLY_TOLD,                /* of an insert that whoever asked for it counts himself */
  TSR_TALLIES
};

/* A call under way (call.h). */
typedef struct tsr_call_state {
  void *stream;
  bool is_recorded; /* into a CUDA graph, which runs it later, any number of times */
} tsr_call_state;

/* An operation on n items, its arguments checked; arrays as in tessera.h. */
typedef struct tsr_request {
  uint32_t op; /* retrieve: with the counting and summing that it needs */
  tsr_phase phase;
  uint64_t n;
  const uint8_t *operations; /* apply */
  const void *keys, *values;
  void *values_out, *unplaced_keys, *unplaced_values;
  uint8_t *results;
  uint64_t *times;  /* apply: 2 n */
  uint64_t *counts; /* count: n; retrieve: n + 1 */
  uint64_t room;    /* retrieve: items of values_out; other operations write n */
  uint64_t missing;
  bool tells_presence; /* find, erase: results are 1 and 0 */
  bool is_reached;     /* by the device's kernels, all arrays are: nothing is staged */
  tsr_call_state call;
  tsr_tally *tally; /* whoever names one counts the items too; NULL: the report does */
} tsr_request;

/* Where values of value_bytes lie (wide.h); all zero where the table has none. */
typedef struct tsr_wide {
  void *rows;
  uint64_t count;        /* of them */
  uint32_t *spare;       /* numbers of rows that belong to no pair */
  uint64_t spares, used; /* how many there are, and of them, from the first on, those that were offered since */
  bool has_erased;       /* pairs, since the list was made */
  uint32_t *bits;        /* for users' kernels, as user_rows of ../kernels/user.cuh; NULL: none has inserted yet */
  uint64_t bit_rows;     /* how many rows these tell of */
  bool is_in_bits;       /* they say which rows are spare, and the list is empty */
} tsr_wide;

/* How a table does what it is asked for, once the arguments have been judged: in one store (form.c), or in shards, which
 * are tables of one store each (../devices/). Only create.c chooses. */
typedef struct tsr_form {
  tsr_status (*furnish)(tsr_table *table, tsr_error *error); /* memory, cleared */
  void (*release)(tsr_table *table);                         /* after all work */
  void (*describe)(const tsr_table *table, tsr_table_info *info);
  tsr_status (*prepare)(tsr_table *table, uint32_t calls, tsr_error *error);
  tsr_status (*operate)(tsr_table *table, const tsr_request *request, tsr_error *error);
  tsr_status (*clear)(tsr_table *table, void *stream, tsr_error *error);
  tsr_status (*size)(tsr_table *table, uint64_t *size, tsr_error *error);
  tsr_status (*write_out)(tsr_table *table, uint64_t size, void *keys, void *values, tsr_error *error);
  tsr_status (*use)(tsr_table *table, tsr_usage *usage, tsr_error *error);
  tsr_status (*flush)(tsr_table *table, uint64_t *units, tsr_error *error);
  tsr_status (*build)(tsr_table *table, uint64_t n, const void *keys, const void *values, const tsr_call *call,
                      uint32_t tries, tsr_error *error);
  tsr_status (*rehash)(tsr_table *table, const tsr_rehash_options *options, tsr_error *error);
  tsr_status (*join)(tsr_table *left, tsr_table *right, uint32_t kind, const tsr_join_rows *rows, uint64_t *count,
                     tsr_error *error);
  tsr_status (*save)(tsr_table *table, const char *path, tsr_error *error);
  /* file: at the beginning of `bytes` bytes that make a table. The caller destroys *table, on failure too. */
  tsr_status (*load)(const char *path, int file, uint64_t bytes, const tsr_load_options *options, tsr_table **table,
                     tsr_error *error);
  tsr_status (*report)(tsr_table *table, tsr_report *report, tsr_error *error);
  tsr_status (*report_reset)(tsr_table *table, tsr_error *error);
  tsr_status (*wait)(tsr_table *table, tsr_error *error);
} tsr_form;

extern const tsr_form tsr_form_store, tsr_form_shards;

struct tsr_table {
  const tsr_form *form;
  struct tsr_shards *shards; /* tsr_form_shards alone: then the store below says what a shard is, and has no memory */
  tsr_devices devices;       /* and which these are, the capacity of all together */
  uint64_t capacity;
  const tsr_backend *backend;
  tsr_device *device;
  char reason[256]; /* why backend = auto chose this one */
  tsr_spec *spec;   /* what the store was made of, with the plugins' search path: for the next one */
  char *plugins;
  tsr_store store;
  tsr_wide wide;
  tsr_order order;
  tsr_tally *tallies; /* device memory: one for each operation, then TSR_TALLY_ */
  tsr_tally counted;  /* of inserts that used TSR_TALLY_COUNTED */
  uint64_t insert_keys, find_keys, erase_keys;
  uint64_t cleanings; /* since the report was reset */
  /* growth: the size, what the tallies of erasing were at that time, and what erase_keys was */
  uint64_t pairs, erased_then, erase_keys_then;
  bool knows_pairs;   /* whether `pairs` is true */
  bool erases_unseen; /* a graph may have erased, of which erase_keys does not tell */
  tsr_watch *watch;   /* of the save under way; NULL: nobody listens */
  void *watch_context;
  const char *joined; /* how the last join found matches here; NULL: there was none */
  tsr_event *timer_from, *timer_to;
};

#endif

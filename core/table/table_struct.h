/* SPDX-License-Identifier: Apache-2.0
 *
 * What a table is made of: data only. Each file that works on it has a header of its own and includes only the
 * headers before it. Read next: store.h.
 *
 *   hold; store <- launch <- order <- call <- filter <- values <- wide, numbering <- create <- rebuild <- clean, enlarge <- piece
 *     <- growth <- operate <- table <- build, save
 *   values <- free_numbers <- eviction <- numbering
 *   values <- cache <- operate <- number_rows
 *   order <- match <- join
 *
 * The ways of a batch are in ../batch/.
 */
#ifndef TSR_TABLE_STRUCT_H
#define TSR_TABLE_STRUCT_H

#include "core/batch/work.h"

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

enum { TSR_USES_MAX = 8 }; /* streams that work in one phase before the ninth has to wait for the first */

typedef struct tsr_stream_use {
  void *stream;
  tsr_event *event; /* after its last operation in this phase */
} tsr_stream_use;

/* Who is inside a call, which phase the table is in, and which streams work in it. */
typedef struct tsr_order {
  struct tsr_lock *lock; /* hold.h */
  bool reads_together;   /* calls that only read the table may overlap */
  tsr_phase phase;
  tsr_event *gate; /* the start of this phase: after all of the former one */
  tsr_stream_use uses[TSR_USES_MAX];
  uint32_t use_count, oldest_use;
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

/* What a call says of uses of a cache's pairs. */
typedef struct tsr_use {
  const uint32_t *scores; /* the caller's, of the items */
  uint64_t now;           /* the clock; 0: one more than it was */
  bool peeks;             /* a find is no use */
} tsr_use;

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
  tsr_use use;         /* of a cache */
  bool tells_presence; /* find, erase: results are 1 and 0 */
  bool is_reached;     /* by the device's kernels, all arrays are: nothing is staged */
  bool is_folded;      /* insert: items of one key have become one where they came from */
  tsr_call_state call;
  tsr_tally *tally; /* whoever names one counts the items too; NULL: the report does */
} tsr_request;

/* Where the rows of value_bytes are (wide.h); all zero where the table has none. */
typedef struct tsr_wide {
  void *rows;
  uint64_t count;  /* of them */
  uint32_t *spare; /* numbers of rows that belong to no pair */
  uint64_t spares,
      used; /* how many there are, and of them, from the first on, those that were offered since. In a cache: how
                          * many there are at least, and 0 */
  uint64_t *length;  /* of a cache: how many there are, in device memory */
  bool has_erased;   /* pairs, since the list was made */
  uint32_t *bits;    /* for users' kernels, as user_rows of ../kernels/user.cuh; NULL: none has inserted yet */
  uint64_t bit_rows; /* how many rows these tell of */
  bool is_in_bits;   /* they say which rows are spare, and the list is empty */
} tsr_wide;

/* Which numbers of an index are free (numbering.h); all zero where the table is none. */
typedef struct tsr_numbering {
  struct tsr_free_numbers *all; /* device memory, with room for a list of `room` numbers */
  uint64_t room;
  uint64_t given_at_most; /* with reuse = no: what the host knows of how many were given */
  bool given_is_unknown;  /* kernels of a user's own have given some */
  /* of a table of several devices: it gives the numbers shard, shard + shards, ...; 0, 0: it is alone */
  uint32_t shards, shard;
  uint64_t used_at_most; /* with eviction: ... of how many keys there are; clock: as scores have it */
  uint64_t clock;
  void *evicted_keys; /* of the last call that numbered keys, `evicted` of them, in device memory; NULL: none yet */
  uint32_t *evicted_numbers;
  uint64_t evicted, evicted_room;
  bool is_torn; /* a call failed when keys had marks in place of numbers */
} tsr_numbering;

/* How a table does what it is asked for, once the arguments have been judged: in one store (single.c), or in shards, which
 * are tables of one store each (../devices/). Only create.c chooses. */
struct tsr_snapshot;
typedef struct tsr_methods {
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
  /* What goes into the file (save.h), so that another thread can write it. *snapshot: empty; the caller drops it, on failure
   * too. TSR_UNSUPPORTED in a group. */
  tsr_status (*take)(tsr_table *table, bool copies, struct tsr_snapshot *snapshot, tsr_error *error);
  /* file: at the beginning of `bytes` bytes that make a table. The caller destroys *table, on failure too. */
  tsr_status (*load)(const char *path, int file, uint64_t bytes, const tsr_load_options *options, tsr_table **table,
                     tsr_error *error);
  tsr_status (*report)(tsr_table *table, tsr_report *report, tsr_error *error);
  tsr_status (*report_reset)(tsr_table *table, tsr_error *error);
  tsr_status (*wait)(tsr_table *table, tsr_error *error);
  /* the i-th table of one store that it is made of, at first itself or its first shard; NULL: there are fewer */
  tsr_table *(*part)(tsr_table *table, uint32_t i);
} tsr_methods;

extern const tsr_methods tsr_methods_store, tsr_methods_shards;

/* What is called: about the save under way, and with pairs that a cache has given up. NULL: nothing. */
typedef struct tsr_listener {
  tsr_watch *watch;
  void *context;
  tsr_write *write;
  void *written; /* its context */
} tsr_listener;

typedef struct tsr_timer {
  tsr_event *from, *to;
} tsr_timer;

/* What calls have done since the report was reset, as far as the host counts it. */
typedef struct tsr_done {
  tsr_tally counted; /* of inserts that used TSR_TALLY_COUNTED */
  uint64_t insert_keys, find_keys, erase_keys;
  uint64_t cleanings;
  uint64_t evicted;
  uint64_t swept;   /* pairs of a cache that were erased by their scores */
  uint64_t ungrown; /* pairs handed back because there was no memory to grow */
} tsr_done;

/* How many pairs a table that grows has, and what was erased when that was counted. */
typedef struct tsr_known {
  bool is_known;
  bool erases_unseen; /* a graph may have erased, which erase_keys does not count */
  uint64_t pairs, erased_then, erase_keys_then;
} tsr_known;

typedef struct tsr_values tsr_values;

struct tsr_table {
  const tsr_methods *methods;
  const tsr_values *values;  /* the functions of what its values are (values.h) */
  struct tsr_shards *shards; /* of tsr_methods_shards alone: the store then says what a shard is, and is empty */
  tsr_devices devices;       /* and which these are, the capacity of all together */
  uint64_t capacity;
  const tsr_backend *backend;
  tsr_device *device;
  char reason[256]; /* why backend = auto chose this one */
  tsr_spec *spec;   /* what the store was made of, with the plugins' search path: for the next one */
  char *plugins;
  tsr_store store;
  tsr_wide wide;
  tsr_numbering numbering;
  tsr_order order;
  tsr_tally *tallies; /* device memory: one for each operation, then TSR_TALLY_ */
  tsr_done done;
  tsr_known known;
  tsr_listener listener;
  tsr_timer timer;
  const char *joined; /* how the last join found matches here; NULL: there was none */
};

/* Work on a store of a table, in the order of a stream. */
static inline tsr_work tsr_work_on(const tsr_table *t, tsr_store *store, void *stream, tsr_error *error) {
  return (tsr_work){t->backend, t->device, store, stream, error};
}

#endif

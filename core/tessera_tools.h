/* SPDX-License-Identifier: Apache-2.0
 *
 * The rest of Tessera's public API: what programs around tables need, such as the `tessera` program itself. Order of
 * this file: of a table, how it uses its memory, making its code ready, CUDA graphs, watching a save, memory and time of its
 * backend; filters; joins; plugins and what a spec may say; recipes; checking and linking without a device; the device; pools.
 * The rules of tessera.h on errors, threads, streams and sizes hold here too.
 */
#ifndef TESSERA_TOOLS_H
#define TESSERA_TOOLS_H

#include "tessera.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- How a table uses its memory ------------------------------------------------------------- */

typedef struct tsr_usage {
  size_t size;
  uint64_t pairs;
  uint64_t tombstones; /* slots of erased pairs: inserts take them again, finds pass them, and cleaning ([table] clean),
                          tsr_rehash and tsr_flush free them */
  uint64_t units;      /* of the allocator, that continue buckets */
  uint64_t slots;      /* of the buckets that a hash can name, and of these units */
  double utilization;  /* bytes of keys and values of the pairs over the bytes of these buckets and units; of a
                          multimap with values = buckets a key's bytes count once */
  uint64_t keys;       /* with values = buckets: that have values; else 0, for nobody counts distinct keys */
  double density;      /* the same bytes over all that the table has allocated: WarpCore's storage density (IV-C) */
} tsr_usage;
/* How the memory is used. Waits for the result. */
TSR_API tsr_status tsr_table_usage(tsr_table *table, tsr_usage *usage, tsr_error *error);

/* Packs lists of buckets: their pairs fill the first slots, erased ones become empty, and units that hold nothing go
 * back to the allocator. *units (may be NULL) is their number. In place, without other memory; waits. TSR_UNSUPPORTED
 * unless the layout's buckets link and there is no stash: then use tsr_rehash. */
TSR_API tsr_status tsr_flush(tsr_table *table, uint64_t *units, tsr_error *error);

/* ---- Code made ready, and CUDA graphs -------------------------------------------------------- */

/* Calls whose code a table may be told to make ready. */
enum {
  TSR_PREPARE_INSERT = 1,
  TSR_PREPARE_FIND = 2,
  TSR_PREPARE_CONTAINS = 4,
  TSR_PREPARE_COUNT_ALL = 8,
  TSR_PREPARE_FIND_ALL = 16,
  TSR_PREPARE_ERASE = 32,
  TSR_PREPARE_ERASE_PAIRS = 64,
  TSR_PREPARE_FIND_OR_INSERT = 128,
  TSR_PREPARE_APPLY = 256,
  TSR_PREPARE_SIZE = 512,
  TSR_PREPARE_EXPORT = 1024
};
/* Links these calls now, or reads them from the cache, so that the first of each does not wait for it: the sum of some
 * TSR_PREPARE_. The cpu backend fuses them, where it can, however small the table is. TSR_UNSUPPORTED: the table does not
 * have one of them. A rebuild with other parts makes other code. */
TSR_API tsr_status tsr_table_prepare(tsr_table *table, uint32_t calls, tsr_error *error);

/* A call is recorded, instead of run, where its stream (tsr_call) is being captured into a CUDA graph. It then runs with
 * each launch of the graph, on what the arrays hold at that time.
 *   - It takes device arrays, and code that tsr_table_prepare has made.
 *   - No event is recorded: a launch is ordered against other calls on the table by its stream alone.
 *   - TSR_UNSUPPORTED, and the capture goes on, where the host would have to wait or to allocate: growth = double, lists
 *     made in bulk, value_bytes, device_bytes, several devices, tsr_build, tsr_for_all, tsr_for_each, tsr_call_parts. An
 *     insert that combines values where pairs move needs `results`.
 *   - tsr_find_all adds memory nodes to the graph.
 *   - The report's keys (insert_keys, ..) count calls that ran; its other numbers count what launches did as well.
 *   - A graph is of the table's memory: after tsr_rehash or tsr_build it has to be captured anew. Cleaning ([table] clean)
 *     leaves graphs as they are: it happens in calls that are not captured, and never in a mixed table of a graph.
 *   - Calls that wait (tsr_size, tsr_export, ..) spoil a capture. */

/* ---- Watching a save ------------------------------------------------------------------------- */

/* Hears how many bytes of a file are written, and how many there will be, 0 where that is not known: after some MiB each,
 * in the thread that saves. It must not use the table. */
typedef void tsr_watch(void *context, uint64_t done_bytes, uint64_t whole_bytes);
/* tsr_table_save, and tells `watch` how far it is. */
TSR_API tsr_status tsr_table_save_watched(tsr_table *table, const char *path, tsr_watch *watch, void *context,
                                          tsr_error *error);

/* ---- Memory and time of the table's backend -------------------------------------------------- */

/* Plain memory where the table lives, for callers who have no CUDA runtime of their own. */
TSR_API tsr_status tsr_memory_allocate(tsr_table *table, uint64_t bytes, void **memory, tsr_error *error);
TSR_API_VOID void tsr_memory_free(tsr_table *table, void *memory);
/* Either side may be host memory; complete when it returns. */
TSR_API tsr_status tsr_memory_copy(tsr_table *table, void *to, const void *from, uint64_t bytes, tsr_error *error);
/* Time between two points of a stream, by events of the device (cpu backend: the wall clock). */
TSR_API tsr_status tsr_timer_start(tsr_table *table, void *stream, tsr_error *error);
TSR_API tsr_status tsr_timer_stop(tsr_table *table, void *stream, double *milliseconds, tsr_error *error);

/* ---- Plugins --------------------------------------------------------------------------------- */

typedef struct tsr_parameter_info {
  const char *name, *type, *doc; /* "u32" or "u64" */
  uint64_t initial, minimum, maximum;
} tsr_parameter_info;

typedef struct tsr_plugin_info {
  const char *role, *name, *summary, *source, *path;
  bool has_device_code;
  const tsr_parameter_info *parameters;
  size_t parameter_count;
} tsr_plugin_info;

/* All plugins on the search path (as in tsr_options.plugins), by role and name. The caller frees
 * *list with tsr_plugins_free; names and texts live as long as the process. A file that is not a sound plugin is an
 * error that names it. */
TSR_API tsr_status tsr_plugins_list(const char *plugins, const tsr_plugin_info **list, size_t *count, tsr_error *error);

TSR_API_VOID void tsr_plugins_free(const tsr_plugin_info *list, size_t count);

/* While a plugin's plan() runs on this thread: true, and which one. That is somebody else's code, in this process: a
 * program with handlers for SIGSEGV and the like can say whose crash it was. Async-signal-safe. */
TSR_API bool tsr_plan_running(const char **role, const char **name);

/* A key of a spec's section. initial: its default; NULL = required, "" = none. */
typedef struct tsr_setting_info {
  const char *key, *values, *initial, *doc;
} tsr_setting_info;
/* Each lists all keys of one section, in the order of the manual, and returns how many. They live as long as the
 * process. */
TSR_API size_t tsr_settings_list(const tsr_setting_info **list);        /* of [table] */
TSR_API size_t tsr_filter_settings_list(const tsr_setting_info **list); /* of [filter] */
TSR_API size_t tsr_values_settings_list(const tsr_setting_info **list); /* of [values] */

/* Two features of a table, or a call and a feature, that do not go together. Everything that is no such pair does. law: the
 * law that forbids it; NULL: it is not built. */
typedef struct tsr_incompatible {
  const char *feature, *other, *law, *reason, *way_out; /* live as long as the process */
} tsr_incompatible;
/* The i-th pair, in the order in which a spec is checked; false where there are no more. */
TSR_API bool tsr_incompatible_at(size_t i, tsr_incompatible *pair);

/* ---- Recipes --------------------------------------------------------------------------------- */

typedef struct tsr_recipe_info {
  const char *name;    /* which tsr_spec_read takes; FOLDER/NAME for one of a subfolder */
  const char *summary; /* the first sentence of its file */
  const char *path;
} tsr_recipe_info;

/* The specs that come with Tessera, those without a subfolder first, by name. They are in $TESSERA_SPECS, otherwise in
 * share/tessera/specs of the installed copy. The caller frees *list with tsr_recipes_free. TSR_NOT_FOUND: no folder. */
TSR_API tsr_status tsr_recipes_list(const tsr_recipe_info **list, size_t *count, tsr_error *error);
TSR_API_VOID void tsr_recipes_free(const tsr_recipe_info *list, size_t count);

/* The path of a recipe. The caller frees *path with free(). TSR_NOT_FOUND, with the
 * nearest name. */
TSR_API tsr_status tsr_recipe_path(const char *name, char **path, tsr_error *error);

/* ---- What a spec says ------------------------------------------------------------------------ */

typedef struct tsr_spec_item {
  const char *section, *key, *value; /* valid until the spec changes or is freed */
} tsr_spec_item;
/* The i-th entry of a spec in the order in which they were first written; false where there are no more. */
TSR_API bool tsr_spec_get_at(const tsr_spec *spec, size_t i, tsr_spec_item *entry);

/* ---- Filters --------------------------------------------------------------------------------- */

typedef struct tsr_filter_info {
  size_t size;
  uint32_t block_bytes, functions; /* functions: bits that a key sets in its block */
  uint64_t blocks;
  double bits_per_key;     /* of its capacity */
  double rate;             /* the part of absent keys that seem present now: exact for keys that hash evenly */
  double rate_at_capacity; /* expected, when it holds as many keys as its capacity */
  double keys;             /* about that many distinct keys were inserted, by the bits that are set */
} tsr_filter_info;
/* What a table of kind = filter is, and how full. Reads all of it, through the host. TSR_UNSUPPORTED for another kind.
 * Waits. */
TSR_API tsr_status tsr_filter_describe(tsr_table *table, tsr_filter_info *info, tsr_error *error);
/* The union: `into` then holds the keys of both, as if they had been inserted there. Both of kind = filter, of one
 * capacity, [filter], hasher, seed and key_bits, else TSR_BAD_ARGUMENT; they may be on different devices and backends. The
 * blocks pass through the host. Waits. */
TSR_API tsr_status tsr_filter_merge(tsr_table *into, tsr_table *from, tsr_error *error);

/* ---- Tables against tables ------------------------------------------------------------------- */

/* Which rows a join has. A row is a pair of the left table with a pair of the right one of the same key; with LEFT also
 * each pair of the left table whose key is absent in the right one, with missing for the right value. SEMI and ANTI have the
 * left pairs whose keys are present, or absent, in the right table.
 * Those after them have keys without values, each once, however many pairs it has. UNION: the keys of either table;
 * INTERSECT: of both; DIFFERENCE: of the left one alone. SUM, MIN, MAX and COUNT: the keys of both, and for each, in
 * aggregates, that of all its right values: their sum, the least, the greatest, how many. In SQL: SELECT key,
 * SUM(value) FROM right WHERE key IN (SELECT key FROM left) GROUP BY key. Values of value_bytes come as bytes; there is no
 * SUM, MIN or MAX of them (TSR_UNSUPPORTED). */
enum {
  TSR_JOIN_INNER,
  TSR_JOIN_LEFT,
  TSR_JOIN_SEMI,
  TSR_JOIN_ANTI,
  TSR_JOIN_UNION,
  TSR_JOIN_INTERSECT,
  TSR_JOIN_DIFFERENCE,
  TSR_JOIN_SUM,
  TSR_JOIN_MIN,
  TSR_JOIN_MAX,
  TSR_JOIN_COUNT,
  TSR_JOIN_KINDS
};

typedef struct tsr_join_rows {
  size_t size;
  uint64_t room;        /* of each array, in host or device memory */
  void *keys;           /* each array may be NULL: not wanted */
  void *left_values;    /* INNER to ANTI, where the left table has values; else TSR_BAD_ARGUMENT */
  void *right_values;   /* INNER and LEFT, where the right table has values */
  uint64_t missing;     /* LEFT: the right value where there is none; with value_bytes its bytes, over and over */
  uint64_t *aggregates; /* SUM to COUNT */
  /* SUM: how many keys have a sum past 2^64 - 1; it comes modulo 2^64. NULL: such a join fails: TSR_BAD_ARGUMENT. */
  uint64_t *overflowed;
  uint64_t saturates; /* SUM: 1: such a sum is 2^64 - 1, and the join does not fail because of it */
} tsr_join_rows;

/* Joins two tables of one width of keys on one device, or on the same devices (tessera_devices.h), and writes the rows, in
 * no order, and their number to *count. To learn the room that is needed, call it with rows = NULL or room = 0, which
 * only counts. Room too small: TSR_BAD_ARGUMENT, only *count written. Left and right may be one table. At most 2^32 - 2
 * pairs a table. Both tables are used alone meanwhile; waits.
 * Pages of a table that is in the host's memory (device_bytes) meet run by run, in its windows, so that no copy of it is
 * needed, and it may have any number of pairs; where the room is too small, rows of the first runs are written. A union copies
 * the keys of both tables.
 *
 * How the matches are found follows from the tables:
 *   - With the same pages, or the same number of lists, and one hasher and seed, the tables meet page by page (HashGraph
 *     3.4, "probe new").
 *   - Else each left key is found in the right table ("probe standard"), one find a left pair in its report.
 *   - Or, where the right table keeps every pair of a key, in an index of its keys that is made first, so that no thread
 *     has a long list to itself.
 * tsr_find_all suits a few keys better, for a join reads both tables.
 *
 * Device memory that it needs meanwhile; if that is not there, TSR_NO_MEMORY, and nothing is written:
 *   - where tables are not read in place, a copy of the keys and of the values that are wanted;
 *   - for rows 12 bytes a left pair, and of values of value_bytes 4 a row;
 *   - for an index up to 32 bytes a right pair, and up to 20 a left pair where left keys come again and count once. */
TSR_API tsr_status tsr_join(tsr_table *left, tsr_table *right, uint32_t kind, const tsr_join_rows *rows,
                            uint64_t *count, tsr_error *error);

/* How the last join with this right table found its matches, a phrase such as "page by page"; NULL before the first one. It
 * lives as long as the process. */
TSR_API const char *tsr_join_way(const tsr_table *right);

/* ---- Checking and linking without a device --------------------------------------------------- */

/* Resolves everything and writes a text of several lines: parts, parameters with their defaults, buckets, bytes,
 * regions, constants, what may overlap. The caller frees *text with free(). A spec that names an allocator and no
 * layout is that of a pool, here and in tsr_spec_link. */
TSR_API tsr_status tsr_spec_check(const tsr_spec *spec, const tsr_options *options, char **text, tsr_error *error);

/* What a spec composes. */
typedef struct tsr_resolution {
  size_t size;
  /* The composition in one line of words as --set takes them: kind, parts, what else [table] and [devices] say that is
   * no default, and every parameter of every part. Two specs compose the same table, but for its widths, sizes and seed,
   * if and only if the texts are the same. Where the backend has a value of its own for a parameter (tiles of the cpu
   * backend have one lane), it stands there. */
  char *text;
  uint32_t sm;              /* compute capability; 0: the cpu backend */
  uint64_t capacity, slots; /* pairs; of all shards, as bytes */
  uint64_t bytes;           /* of the table's memory */
  uint32_t bucket_slots, bucket_bytes, tile_lanes;
  double load_factor;  /* what the table is sized for */
  double reached_load; /* the load up to which every pair finds a place; 1 where facts alone do not tell */
} tsr_resolution;
/* Composes as tsr_table_create would, without a device's memory: refuses what that refuses, and measures nothing. Needs
 * a table's spec, not a pool's. Free with tsr_resolution_free. */
TSR_API tsr_status tsr_spec_resolve(const tsr_spec *spec, const tsr_options *options, tsr_resolution *resolution,
                                    tsr_error *error);
TSR_API_VOID void tsr_resolution_free(tsr_resolution *resolution);

/* What the code of some calls costs. */
typedef struct tsr_code_cost {
  size_t size;
  uint32_t registers; /* of a thread: the most of any kernel */
  double link_ms;     /* sum of the kernels' links; 0 when the cache had all of them */
} tsr_code_cost;
/* Links the code of these calls, the sum of some TSR_PREPARE_, for a table on a GPU of compute capability sm, with no GPU,
 * into the cubin cache, where the table finds it. Several threads may do so at once. cost may be NULL. */
TSR_API tsr_status tsr_spec_prepare(const tsr_spec *spec, const tsr_options *options, uint32_t sm, uint32_t calls,
                                    tsr_code_cost *cost, tsr_error *error);
/* Compiles the code of those of these calls that the table has, for the cpu backend, into files of FOLDER/fused, which it
 * makes, by the system's C compiler and for processors with AVX2. Where that folder is one of TESSERA_PLUGINS, or "tessera"
 * beside the library, such tables need no compiler. */
TSR_API tsr_status tsr_spec_fuse(const tsr_spec *spec, const tsr_options *options, uint32_t calls, const char *folder,
                                 tsr_error *error);
/* Begins what takes longest of making a first table on a GPU, on threads of its own, while the caller does something else,
 * such as reading its input: opens the device that the spec names, and links these calls as tsr_spec_prepare does. Then
 * tsr_table_create has less to do; nothing else changes, and what fails here is told there. NULL where there is nothing to
 * do ahead, and is fine for the other function. Spec and options are copied. */
typedef struct tsr_ahead tsr_ahead;
TSR_API tsr_ahead *tsr_ahead_begin(const tsr_spec *spec, const tsr_options *options, uint32_t calls);
/* Waits for these threads, and lets the device go: call it when the table is there, which keeps the device open. */
TSR_API_VOID void tsr_ahead_end(tsr_ahead *ahead);

typedef struct tsr_kernel_info {
  const char *name;
  uint32_t registers, stack_bytes; /* a spill would need a stack */
} tsr_kernel_info;

typedef struct tsr_link {
  size_t size;
  void *cubin;
  size_t cubin_bytes;
  tsr_kernel_info *kernels;
  size_t kernel_count;
  uint32_t other_functions; /* device functions that were not inlined, ptxas's own too: 0 in a sound composition */
  double glue_ms, link_ms;  /* NVRTC and nvJitLink; 0 when the cache had it */
  bool cached;
} tsr_link;

/* Links all operations of the spec's composition for compute capability sm (90), with no GPU; of a table of pages also the
 * steps of inserting page by page, which are no part of the cubin. use_cache: look in and write to the cubin cache. Free with
 * tsr_link_free. */
TSR_API tsr_status tsr_spec_link(const tsr_spec *spec, const tsr_options *options, uint32_t sm, bool use_cache,
                                 tsr_link *link, tsr_error *error);
TSR_API_VOID void tsr_link_free(tsr_link *link);

/* ---- The device ------------------------------------------------------------------------------ */

typedef struct tsr_device_info {
  size_t size;
  char name[256];
  uint32_t sm;
  uint64_t memory_bytes, l2_bytes;
} tsr_device_info;
/* TSR_NO_DEVICE, with the reason, where CUDA cannot be used. */
TSR_API tsr_status tsr_device_describe(int device, tsr_device_info *info, tsr_error *error);

/* One random-access limit: operations of `bytes` each at random places of a footprint. */
typedef struct tsr_roofline_row {
  const char *name; /* "read", "cas", "read+cas", "copy"; of the bus "to_device", "from_device", "both_ways" */
  uint32_t bytes, lanes;
  uint64_t footprint_bytes;
  double giga_per_second; /* operations; for copy bytes read and written, for the bus those that passed it */
} tsr_roofline_row;
/* Measures the device; *rows is freed with free(). footprint_bytes: 0 = 1 GiB. */
TSR_API tsr_status tsr_roofline(int device, uint64_t footprint_bytes, tsr_roofline_row **rows, size_t *count,
                                tsr_error *error);

/* ---- Pools ----------------------------------------------------------------------------------- */

/* An allocator alone, with items that take places from it: to measure and to test allocators. Waits in every call. */
typedef struct tsr_pool tsr_pool;

typedef struct tsr_pool_options {
  size_t size;
  const char *plugins; /* as in tsr_options */
  uint64_t units;      /* at least that many; 0 = the spec's capacity */
  uint64_t items;      /* that hold a place each, or none */
  uint32_t units_each; /* units of a place, in a row; 0 = 1 */
  uint32_t tile_lanes; /* lanes that work on an item together, a power of two up to 32; 0 = 1; the cpu backend has 1 */
  bool system;         /* take places from malloc and free of the backend, in the place of the spec's allocator */
} tsr_pool_options;

/* spec: what [table] says of backend, device, statistics and allocator, and [allocator]; the rest of a table's spec may
 * be there. TSR_INCOMPATIBLE where the allocator cannot give units_each at once. */
TSR_API tsr_status tsr_pool_create(const tsr_spec *spec, const tsr_pool_options *options, tsr_pool **pool,
                                   tsr_error *error);
TSR_API_VOID void tsr_pool_destroy(tsr_pool *pool); /* NULL is fine */

typedef struct tsr_pool_info {
  size_t size;
  const char *backend, *device, *backend_reason; /* as in tsr_table_info */
  const char *allocator;                         /* its name, or malloc */
  uint64_t units, items, bytes;
  uint32_t unit_bytes, units_each, tile_lanes;
  bool reuses_units; /* units given back can be handed out again */
} tsr_pool_info;
/* Strings live as long as the pool. */
TSR_API_VOID void tsr_pool_describe(const tsr_pool *pool, tsr_pool_info *info);

enum {
  TSR_POOL_ALLOCATE, /* every item takes a place; pre: none has one */
  TSR_POOL_RELEASE,  /* every item gives its place back */
  TSR_POOL_CHURN     /* TSR_POOL_ROUNDS times every item gives its place back, if it has one, and takes another */
};
enum { TSR_POOL_ROUNDS = 8 };

typedef struct tsr_pool_result {
  size_t size;
  double milliseconds;           /* of the operation alone */
  uint64_t allocated, exhausted; /* places given; allocations that failed */
  uint64_t released;             /* places given back by TSR_POOL_RELEASE */
  uint64_t changes, lost_claims; /* with statistics = yes: memory blocks left because they were full; lost swaps */
  char complaint[256];           /* what is wrong: places that overlap, or whose number is not right; "" = nothing */
} tsr_pool_result;
/* Runs an operation on all items, and then checks, untimed, that all places can be written without touching another.
 * checks: in the operation as well, which then is not timed for what it is. */
TSR_API tsr_status tsr_pool_operate(tsr_pool *pool, int operation, bool checks, tsr_pool_result *result,
                                    tsr_error *error);
/* Forgets all places: every unit is free again. */
TSR_API tsr_status tsr_pool_clear(tsr_pool *pool, tsr_error *error);
/* Makes the pool larger, if fewer than `units` units are free, until that many are; places stay. On failure the pool is
 * as it was: TSR_INCOMPATIBLE where the allocator cannot have that many units, TSR_NO_MEMORY where old and new memory do
 * not fit together. */
TSR_API tsr_status tsr_pool_reserve(tsr_pool *pool, uint64_t units, tsr_error *error);
/* Units handed out. */
TSR_API tsr_status tsr_pool_used(tsr_pool *pool, uint64_t *units, tsr_error *error);

#ifdef __cplusplus
}
#endif
#endif

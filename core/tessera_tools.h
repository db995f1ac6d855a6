/* SPDX-License-Identifier: Apache-2.0
 *
 * The rest of Tessera's public API: what programs around tables need, such as the `tessera` program itself. It has, of a
 * table: the use of its memory, code made ready, CUDA graphs, watching a save, keys of several columns, memory and time of its
 * backend. Then plugins
 * and what a spec may say, recipes, filters, joins, checking and linking without a device, the device, and pools.
 * The rules of tessera.h on arrays, ownership, errors, threads, streams and sizes hold here.
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
  uint64_t
      tombstones; /* slots of erased pairs. Inserts reuse them, finds pass them; cleaning ([table] clean), tsr_rehash and
                          tsr_flush free them */
  uint64_t units; /* units of the allocator that continue buckets */
  uint64_t slots; /* slots of the buckets that a hash can name, and of these units */
  double
      utilization; /* bytes of the pairs / bytes of these buckets and units; with values = buckets a key counts once */
  uint64_t keys;   /* with values = buckets: keys that have values; otherwise 0, as distinct keys are not counted */
  double density;  /* bytes of the pairs / all allocated bytes: WarpCore's storage density (IV-C) */
} tsr_usage;
/* Counts how the table's memory is used. Waits. */
TSR_API tsr_status tsr_table_usage(tsr_table *table, tsr_usage *usage, tsr_error *error);

/* Packs linked lists of buckets: their pairs move to the first slots, erased slots become empty, and empty
 * units go back to the allocator. Writes the number of these units to *units, which may be NULL. Works in place. Waits.
 * TSR_UNSUPPORTED if the layout's buckets do not link, or with a stash: use tsr_rehash. */
TSR_API tsr_status tsr_flush(tsr_table *table, uint64_t *units, tsr_error *error);

/* ---- Code made ready, and CUDA graphs -------------------------------------------------------- */

/* Calls whose code can be made ready; add those that you want. */
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
/* Links the code of these calls now, or reads it from the cache, so that the first call does not wait for it. calls: a sum
 * of TSR_PREPARE_ values. On the cpu backend their code is compiled, where that is possible, however small the table is.
 * TSR_UNSUPPORTED if the table does not have one of the calls. A rebuild with other parts needs other code. */
TSR_API tsr_status tsr_table_prepare(tsr_table *table, uint32_t calls, tsr_error *error);

/* While a stream is captured into a CUDA graph, a call with this stream (tsr_call) is recorded and does not run. It runs
 * with each launch of the graph, on what the arrays hold at that time.
 *   - The call needs device arrays, and code that tsr_table_prepare has made.
 *   - No event is recorded: a launch is ordered against other calls on the table by its stream alone.
 *   - A call whose host would have to wait or to allocate returns TSR_UNSUPPORTED, and the capture stays valid: with growth =
 *     double, bulk lists, value_bytes, device_bytes or several devices, and tsr_build, tsr_for_all, tsr_for_each and
 *     tsr_call_parts. An insert that combines values where pairs move needs `results`.
 *   - tsr_find_all adds memory nodes to the graph, as do tsr_unique, tsr_number and tsr_erase of an index. Calls that number
 *     keys need reuse = yes. They and tsr_unique need code of TSR_PREPARE_FIND_OR_INSERT.
 *   - In reports insert_keys and the like count calls that ran. The other numbers also count what launches did.
 *   - A graph refers to the table's memory: capture it again after tsr_rehash or tsr_build. Cleaning ([table] clean) does
 *     not invalidate graphs: it happens in calls that are not captured, and never in a mixed table of a graph.
 *   - Calls that wait (tsr_size, tsr_export and others) invalidate a capture. */

/* ---- Watching a save ------------------------------------------------------------------------- */

/* Called every few MiB, in the thread that saves, with the bytes written and the bytes of the whole file (0 = unknown). It
 * must not use the table. */
typedef void tsr_watch(void *context, uint64_t done_bytes, uint64_t whole_bytes);
/* tsr_table_save, which calls `watch` with its progress. */
TSR_API tsr_status tsr_table_save_watched(tsr_table *table, const char *path, tsr_watch *watch, void *context,
                                          tsr_error *error);

/* ---- Saving beside the work ------------------------------------------------------------------ */

/* Saves a table again and again while it is used, as for a job that may be killed. A call copies the table's memory and
 * returns, and a thread writes the copy: so for that time it takes as much host memory as the table. Two files take turns.
 * The last whole one is left alone, and the one before it is made the next: only blocks of 4 KiB that differ are written. Each is
 * a file that tsr_table_load reads. A process that is killed at any moment leaves the last whole one, or the new one as well. */
typedef struct tsr_saver tsr_saver;
typedef struct tsr_saved {
  size_t size;
  /* Of the last file that is whole; "" while a thread writes, and before the first. Valid until the saver's next call. */
  const char *path;
  uint64_t bytes, written_bytes; /* of that file, and how many of them were written */
  bool is_done;                  /* no thread writes */
  bool is_beside; /* the table was copied; false: there was no memory for that, and the call wrote the file */
} tsr_saved;
/* spare: a file of the same folder for what is not whole. One that is there is overwritten. The caller destroys *saver. */
TSR_API tsr_status tsr_saver_create(const char *spare, tsr_saver **saver, tsr_error *error);
/* Waits until the file before is whole, and returns its error if it has one. Then it begins the next, whose name is another than that
 * of the last. While the thread works the table may be used, and destroyed. TSR_UNSUPPORTED for a table of a group. */
TSR_API tsr_status tsr_saver_begin(tsr_saver *saver, tsr_table *table, const char *path, tsr_error *error);
/* Tells how far it is. waits: until it is done. Returns, once, the error of what the thread did. saved may be NULL. */
TSR_API tsr_status tsr_saver_end(tsr_saver *saver, bool waits, tsr_saved *saved, tsr_error *error);
/* Gives up what is under way, and removes the spare file. The last whole file stays. NULL is allowed. */
TSR_API_VOID void tsr_saver_destroy(tsr_saver *saver);

/* ---- Keys of several columns ----------------------------------------------------------------- */

enum { TSR_KEY_PARTS_MAX = 16 };

typedef struct tsr_key_part {
  char name[32];          /* "" = the spec gives none */
  uint32_t bytes, offset; /* 1, 2, 4 or 8; where they are in the key */
  bool is_signed;
} tsr_key_part;

/* A key is the bytes of its columns one after the other, the first column first, then zeros. So an array of structs that have
 * these members, no gaps and 4, 8 or 16 bytes is an array of keys as it is. */
typedef struct tsr_key_parts {
  size_t size;
  uint32_t count; /* 0 = the spec has no key_columns */
  uint32_t bytes; /* of all columns */
  uint32_t key_bits;
  tsr_key_part part[TSR_KEY_PARTS_MAX];
} tsr_key_parts;
/* Fills *parts by [table] key_columns and key_bits. TSR_BAD_SPEC. */
TSR_API tsr_status tsr_spec_key_parts(const tsr_spec *spec, tsr_key_parts *parts, tsr_error *error);

/* Makes keys of columns: item i of column c is at columns[c] + i * strides[c] bytes. strides: NULL = each column is an array of
 * its own. For an array of structs, columns[c] is the address of the first struct's member, and the stride is the struct's
 * size. Each array is in host or in device memory. The call enqueues a kernel, and reads and writes each byte once; if an array
 * is in host memory it waits. TSR_UNSUPPORTED for a table without key_columns, and in a captured stream. */
TSR_API tsr_status tsr_key_pack(tsr_table *table, uint64_t n, const void *const *columns, const size_t *strides,
                                void *keys, void *stream, tsr_error *error);
/* The reverse: writes the columns of n keys. A column that is NULL is left out. */
TSR_API tsr_status tsr_key_unpack(tsr_table *table, uint64_t n, const void *keys, void *const *columns,
                                  const size_t *strides, void *stream, tsr_error *error);

/* Makes keys of 128 bits of n texts: their XXH3 hash with this seed. Text i is the bytes offsets[i] to offsets[i + 1] - 1 of
 * `bytes`; offsets has n + 1 numbers. Two of n different texts have one hash with a probability of about n^2 / 2^129. All arrays
 * are in host memory. */
TSR_API_VOID void tsr_text_keys(uint64_t seed, uint64_t n, const char *bytes, const uint64_t *offsets, void *keys);

/* ---- Memory and time of the table's backend -------------------------------------------------- */

/* Memory of the table's device (cpu backend: host memory), for callers without a CUDA runtime of their own. The caller frees
 * it by tsr_memory_free, before the table is destroyed. TSR_NO_MEMORY. */
TSR_API tsr_status tsr_memory_allocate(tsr_table *table, uint64_t bytes, void **memory, tsr_error *error);
TSR_API_VOID void tsr_memory_free(tsr_table *table, void *memory);
/* Copies `bytes` bytes; either side may be host memory. Waits. */
TSR_API tsr_status tsr_memory_copy(tsr_table *table, void *to, const void *from, uint64_t bytes, tsr_error *error);
/* Time in milliseconds between two points of a stream, by events of the device (cpu backend: the wall clock). Waits. */
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

/* Writes all plugins on the search path (as in tsr_options.plugins) to *list, sorted by role and name. The caller frees
 * *list with tsr_plugins_free; names and texts live as long as the process. A file that is not a valid plugin is an error
 * that names it: TSR_BAD_PLUGIN. */
TSR_API tsr_status tsr_plugins_list(const char *plugins, const tsr_plugin_info **list, size_t *count, tsr_error *error);

TSR_API_VOID void tsr_plugins_free(const tsr_plugin_info *list, size_t count);

/* True while a plugin's plan() runs on this thread, with its role and name. So a handler of SIGSEGV can print whose crash it
 * was. Async-signal-safe. */
TSR_API bool tsr_plan_running(const char **role, const char **name);

/* A key of a spec's section. initial: its default; NULL = required, "" = none. */
typedef struct tsr_setting_info {
  const char *key, *values, *initial, *doc;
} tsr_setting_info;
/* Each writes all keys of one section to *list, in the order of the manual, and returns their number. They live as long as
 * the process. */
TSR_API size_t tsr_settings_list(const tsr_setting_info **list);        /* of [table] */
TSR_API size_t tsr_filter_settings_list(const tsr_setting_info **list); /* of [filter] */
TSR_API size_t tsr_values_settings_list(const tsr_setting_info **list); /* of [values] */

/* Two features of a table, or a call and a feature, that do not go together. All other pairs do. law: the law that forbids
 * the pair; NULL: it is not built. */
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
  uint32_t block_bytes, functions; /* functions: number of bits that a key sets in its block; 0: it has fingerprints */
  uint64_t blocks;
  double bits_per_key; /* of its capacity */
  double rate;         /* false-positive rate now, 0 to 1: exact for keys that hash evenly; of fingerprints a bound */
  double rate_at_capacity; /* the expected rate when it holds as many keys as its capacity */
  double keys;             /* estimate of the distinct keys that were inserted, by the bits that are set; or the exact
                              number of fingerprints */
} tsr_filter_info;
/* Describes a table of kind = filter (WarpCore IV-D), and how full it is. Copies all of it to the host. Waits.
 * One with layout = fingerprint is counted on its device. TSR_UNSUPPORTED for another kind. */
TSR_API tsr_status tsr_filter_describe(tsr_table *table, tsr_filter_info *info, tsr_error *error);
/* Makes `into` the union of both filters, as if all keys had been inserted there. Both must be of kind = filter, with the
 * same capacity, [filter], hasher, seed and key_bits; otherwise TSR_BAD_ARGUMENT. They may be on different devices and
 * backends. The blocks are copied through the host. Waits. */
TSR_API tsr_status tsr_filter_merge(tsr_table *into, tsr_table *from, tsr_error *error);

/* ---- Tables against tables ------------------------------------------------------------------- */

/* Which rows a join has.
 *   INNER       each pair of the left table with each pair of the right one that has its key
 *   LEFT        those, and each left pair whose key the right table does not have, with `missing` as right value
 *   SEMI, ANTI  the left pairs whose key the right table has, or has not
 *   UNION, INTERSECT, DIFFERENCE  keys without values, each once: of either table, of both, of the left one alone
 *   SUM, MIN, MAX, COUNT  the keys of both tables, each once, and in `aggregates` the sum, least, greatest or number of its
 *               right values. In SQL: SELECT key, SUM(value) FROM right WHERE key IN (SELECT key FROM left) GROUP BY key
 * Values of value_bytes are bytes, and have no SUM, MIN or MAX (TSR_UNSUPPORTED). */
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
  uint64_t room; /* items of each array; each is in host or device memory, and NULL if it is not wanted */
  void *keys;
  void *left_values;    /* INNER to ANTI, if the left table has values; otherwise TSR_BAD_ARGUMENT */
  void *right_values;   /* INNER and LEFT, if the right table has values */
  uint64_t missing;     /* LEFT: the right value where there is none; with value_bytes these 8 bytes are repeated */
  uint64_t *aggregates; /* SUM to COUNT */
  /* SUM: gets the number of keys whose sum passes 2^64 - 1; their sums are modulo 2^64. NULL: such a join fails with
   * TSR_BAD_ARGUMENT. */
  uint64_t *overflowed;
  uint64_t saturates; /* SUM, 1: such a sum becomes 2^64 - 1, and the join does not fail because of it */
} tsr_join_rows;

/* Joins two tables with the same key_bits, which are on one device or on the same devices (tessera_devices.h). Writes the
 * rows, in no order, and their number to *count. With rows = NULL or room = 0 it only counts. If the room is too small:
 * TSR_BAD_ARGUMENT, *count is written, and the arrays may have some of the rows. Left and right may be the same table. A
 * table may have 2^32 - 2 pairs. No other operation on the two tables overlaps a join. Waits.
 * A table in host memory (device_bytes) is read run by run, so no copy of it is needed and it may have any number of pairs;
 * if the room is too small, rows of the first runs are written. A union copies the keys of both tables.
 *
 * How the matches are found depends on the tables:
 *   - Tables with the same pages, or the same number of bulk lists, and one hasher and seed are joined page by page
 *     (HashGraph 3.4, "probe new").
 *   - Otherwise each left key is found in the right table ("probe standard"), which its report counts as a find.
 *   - If the right table keeps every pair of a key, a GPU joins the pairs of both tables as tsr_join_arrays does. With few
 *     pairs, with few keys beside lists of another size, and on the CPU, an index of one side's keys is made first, so that no
 *     thread has a long list to itself. That is the side with fewer pairs.
 * A join reads both tables; for a few keys use tsr_find_all.
 *
 * Temporary device memory; TSR_NO_MEMORY, and nothing is written, if there is less:
 *   - where tables are not read in place, a copy of the keys and of the wanted values;
 *   - for rows 12 bytes per left pair, and for values of value_bytes 4 per row. INNER to ANTI need neither if they are joined
 *     page by page, or with few keys beside lists, into arrays in device memory, and values are of value_bits;
 *   - for an index up to 32 bytes per pair of both sides;
 *   - for joins as of arrays what tsr_join_arrays needs. */
TSR_API tsr_status tsr_join(tsr_table *left, tsr_table *right, uint32_t kind, const tsr_join_rows *rows,
                            uint64_t *count, tsr_error *error);

/* How the last join with this right table found its matches, such as "page by page"; NULL before the first join. The text
 * lives as long as the process. */
TSR_API const char *tsr_join_way(const tsr_table *right);

/* One side of tsr_join_arrays: n pairs, in host or device memory. */
typedef struct tsr_join_side {
  uint64_t n;
  const void *keys;
  const void *values;  /* NULL: the values are the numbers of the pairs, 0, 1, 2, ... */
  uint32_t value_bits; /* 32 or 64; without values 0 is 32 */
} tsr_join_side;
typedef struct tsr_join_sides {
  size_t size;
  void *stream;
  tsr_join_side left, right;
} tsr_join_sides;

/* Joins two arrays of pairs without making tables of them: kinds, rows and count are as of tsr_join. The table says on which
 * device, of which key_bits, and with which seed; it is neither read nor changed, and any that is on one device will do, with
 * any capacity. Keys may repeat on both sides, and every key is allowed. At most 2^32 - 2 pairs of a side. Waits.
 *
 * On a GPU both sides are put in order by their keys and joined bin by bin, if they have 2^18 pairs in all, and 2^30 each at
 * most. Keys with more than 65,535 right pairs go by an index of one side's keys, as all do on the CPU. Time grows with pairs
 * and rows, however many pairs share a key. tsr_join_way(table) tells which way was taken.
 *
 * Temporary device memory; TSR_NO_MEMORY, and nothing is written, if there is less: about 2.5 times the keys and the wanted
 * values of both sides, and 8 bytes more per row number; or what an index takes (tsr_join). */
TSR_API tsr_status tsr_join_arrays(tsr_table *table, const tsr_join_sides *sides, uint32_t kind,
                                   const tsr_join_rows *rows, uint64_t *count, tsr_error *error);

/* ---- Columns, without a table ---------------------------------------------------------------- */

/* A column of keys in host memory, on the CPU, by all threads. Its distinct keys have numbers from 0 on, in the order in which
 * they first appear, whatever the number of threads. Needs no spec and no compiler. The keys must stay as they are until
 * tsr_key_column_free. One thread at a time uses a column. */
typedef struct tsr_key_column tsr_key_column;
#define TSR_KEY_COLUMN_MOST ((1ull << 32) - 2) /* rows */
/* What a column can tell. Each has what stands before it, and takes longer. */
enum {
  TSR_KEY_COLUMN_KEYS = 0,    /* the distinct keys, their first rows, and whether other keys are among them */
  TSR_KEY_COLUMN_COUNTS = 1,  /* counts, and the numbers of other keys */
  TSR_KEY_COLUMN_NUMBERS = 2, /* the numbers of rows, and pairs */
};
/* key_bits: 32 or 64. detail: of those above. numbers: NULL, or where the numbers of rows are written at once. They must stay as
 * they are as long as the keys. Writes how many distinct keys there are to *distinct.
 * Takes 4 bytes per row for numbers without an array, and up to 100 bytes per distinct key: once for each thread that
 * meets the key, and once more with several threads; 4 MB for each of these if that is more. TSR_NO_MEMORY, TSR_UNSUPPORTED for
 * too many rows. */
TSR_API tsr_status tsr_key_column_create(uint32_t key_bits, uint32_t detail, uint64_t n, const void *keys,
                                         int64_t *numbers, tsr_key_column **column, uint64_t *distinct,
                                         tsr_error *error);
TSR_API_VOID void tsr_key_column_free(tsr_key_column *column); /* NULL is allowed */

typedef struct tsr_key_column_arrays { /* in host memory; NULL = not wanted */
  size_t size;
  int64_t *numbers;        /* of each row: the number of its key */
  uint32_t *short_numbers; /* the same in 32 bits */
  int64_t *firsts;         /* of each distinct key: its first row, */
  uint64_t *counts;        /* ... how many rows have it, */
  void *keys;              /* ... and the key */
} tsr_key_column_arrays;
/* TSR_BAD_ARGUMENT for what the column cannot tell. */
TSR_API tsr_status tsr_key_column_tell(tsr_key_column *column, const tsr_key_column_arrays *arrays, tsr_error *error);

/* For each of n other keys of the same width: its number in the column, or -1; and whether it is there, 1 or 0. NULL = not
 * wanted. TSR_BAD_ARGUMENT for numbers that the column cannot tell. */
TSR_API tsr_status tsr_key_column_find(tsr_key_column *column, uint64_t n, const void *keys, int64_t *numbers,
                                       uint8_t *present, tsr_error *error);

/* The pairs of rows of a join: those of the left, in their order, each with all rows of the column that have its number. */
typedef struct tsr_key_column_pairs {
  size_t size;
  uint64_t n;             /* left rows, */
  const int64_t *numbers; /* ... and their numbers in the column, as tsr_key_column_find writes them */
  uint32_t keeps_all;     /* 1: a left row with number -1 makes a pair as well, whose right row is -1 */
  uint64_t room;          /* of the next two; 0: pairs are only counted */
  int64_t *left_rows, *right_rows;
  uint32_t keeps_others; /* 1: as keeps_all, for rows of the column that no left row matches; they come last */
} tsr_key_column_pairs;
/* Writes how many pairs there are to *count. TSR_BAD_ARGUMENT if the room is too small; then only *count is written. */
TSR_API tsr_status tsr_key_column_pair(tsr_key_column *column, const tsr_key_column_pairs *pairs, uint64_t *count,
                                       tsr_error *error);

/* The values of rows, and what becomes of those that have one number: aggregates of groups, in one pass over the rows. Arrays in
 * host memory. */
typedef struct tsr_numbered_values {
  size_t size;
  uint64_t n;             /* rows, */
  const int64_t *numbers; /* ... the number of each, as tsr_key_column_tell writes them, */
  const void *values;     /* ... and its value; NULL, where only rows are counted */
  uint32_t type;          /* of values: TSR_VALUES_ */
  uint64_t distinct;      /* numbers are below this, and the arrays below have one word each; NULL = not wanted */
  uint64_t *counts;       /* rows */
  void *sums;             /* int64_t, uint64_t or double. Whole numbers wrap modulo 2^64. */
  double *near;           /* the sums as doubles, near them also where they wrap */
  void *least,
      *largest; /* of the type of values. A NaN is both. Without a row: the largest and the least number there is. */
} tsr_numbered_values;
/* By all threads; sums of floating point depend on their number by rounding. Writes to *passed how many sums wrapped, unless it is
 * NULL. Takes up to 12 bytes per row, and 24 per number where
 * sums of 64-bit values may wrap. TSR_BAD_ARGUMENT for a number that is too large or negative. */
TSR_API tsr_status tsr_combine_by_number(const tsr_numbered_values *values, uint64_t *passed, tsr_error *error);

/* ---- Checking and linking without a device --------------------------------------------------- */

/* Resolves a spec and writes a text of several lines: parts, parameters with their defaults, buckets, bytes, regions,
 * constants, what may overlap. The caller frees *text with free(). A spec with an allocator and without a layout is that of
 * a pool, here and in tsr_spec_link. */
TSR_API tsr_status tsr_spec_check(const tsr_spec *spec, const tsr_options *options, char **text, tsr_error *error);

/* The composition of a spec. */
typedef struct tsr_resolution {
  size_t size;
  /* The composition as one line of words in the form of --set: kind, parts, other entries of [table] and [devices] that are
   * not the default, and every parameter of every part. Two specs have the same text if and only if they compose the same
   * table, apart from widths, sizes and seed. Where the backend sets a parameter (tile_lanes on the CPU is 1), its value is
   * in the text. */
  char *text;
  uint32_t sm;              /* compute capability; 0: the cpu backend */
  uint64_t capacity, slots; /* pairs; of all shards, as bytes */
  uint64_t bytes;           /* of the table's memory */
  uint32_t bucket_slots, bucket_bytes, tile_lanes;
  double load_factor;  /* capacity / slots */
  double reached_load; /* the load up to which every pair finds a slot; 1 where the facts do not determine it */
  /* The fewest pairs that an insert into the empty table puts in the order of pages first, and keys that a find puts in that of
   * zones; 0: none does. */
  uint64_t page_batch, zone_batch;
  uint32_t is_built;       /* 1: an insert makes the table, or what leads to its pairs, anew from all of them */
  uint32_t has_short_keys; /* 1: slots hold the part of a key that its page does not tell */
} tsr_resolution;
/* Composes like tsr_table_create, without memory of a device, and refuses the same specs. The spec must be a table's. The
 * caller frees *resolution with tsr_resolution_free. */
TSR_API tsr_status tsr_spec_resolve(const tsr_spec *spec, const tsr_options *options, tsr_resolution *resolution,
                                    tsr_error *error);
TSR_API_VOID void tsr_resolution_free(tsr_resolution *resolution);

/* The cost of the code of some calls. */
typedef struct tsr_code_cost {
  size_t size;
  uint32_t registers; /* per thread, the most of any kernel */
  double link_ms;     /* time of all links; 0 if the cache had all of them */
} tsr_code_cost;
/* Links the code of these calls (a sum of TSR_PREPARE_ values) for GPUs of compute capability sm, as 90, into the cubin
 * cache, where tables find it. Needs no GPU. Several threads may do so at once. cost may be NULL. TSR_LINK_FAILED. */
TSR_API tsr_status tsr_spec_prepare(const tsr_spec *spec, const tsr_options *options, uint32_t sm, uint32_t calls,
                                    tsr_code_cost *cost, tsr_error *error);
/* Compiles the code of these calls, as far as the table has them, for the cpu backend: by the system's C compiler, into files
 * of FOLDER/fused, which it makes. level: 3 for processors with AVX2 (x86-64-v3), 2 for older ones (x86-64-v2), 0 for most.
 * If the folder is one of TESSERA_PLUGINS, or "tessera" next to the library, such tables need no compiler. */
TSR_API tsr_status tsr_spec_fuse(const tsr_spec *spec, const tsr_options *options, uint32_t calls, uint32_t level,
                                 const char *folder, tsr_error *error);
/* Starts the slow work of making a first table on a GPU on other threads, while the caller reads its input, for example:
 * opens the device of the spec, and links these calls like tsr_spec_prepare. tsr_table_create then has less to do, and
 * reports errors of this work. Returns NULL if there is nothing to do ahead, which tsr_ahead_end accepts. Spec and options
 * are copied. */
typedef struct tsr_ahead tsr_ahead;
TSR_API tsr_ahead *tsr_ahead_begin(const tsr_spec *spec, const tsr_options *options, uint32_t calls);
/* Waits for these threads and releases the device. Call it when the table is made, which keeps the device open. */
TSR_API_VOID void tsr_ahead_end(tsr_ahead *ahead);

/* What compiles and links the code of a backend's tables on this machine: names, versions and flags. "" if nothing can; then
 * tables of the cpu backend go by function tables. The string lives as long as the process. */
TSR_API const char *tsr_compiler(const char *backend);

typedef struct tsr_kernel_info {
  const char *name;
  uint32_t registers, stack_bytes; /* per thread; a spill would need a stack */
} tsr_kernel_info;

typedef struct tsr_link {
  size_t size;
  void *cubin;
  size_t cubin_bytes;
  tsr_kernel_info *kernels;
  size_t kernel_count;
  uint32_t
      other_functions; /* device functions that were not inlined, those of ptxas included: 0 in a sound composition */
  double glue_ms, link_ms; /* time of NVRTC and of nvJitLink; 0 if nothing was linked */
  bool cached;             /* the code was in the user's cache, */
  bool own;                /* ... where this process had put it, */
  bool ahead;              /* ... or linked ahead, in linked.cubins next to the plugins */
} tsr_link;

/* Links all operations of the spec's composition for compute capability sm, as 90; of a table with pages also the steps of
 * inserting page by page, which are not in the cubin. Needs no GPU. use_cache: reads and writes the cubin cache. The caller
 * frees *link with tsr_link_free. TSR_LINK_FAILED. */
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
/* Describes GPU number `device`. TSR_NO_DEVICE, with the reason, if CUDA cannot be used. */
TSR_API tsr_status tsr_device_describe(int device, tsr_device_info *info, tsr_error *error);

/* One limit of the memory: operations of `bytes` bytes each, at random places of a footprint. */
typedef struct tsr_roofline_row {
  const char *name; /* "read", "cas", "read+cas", "copy"; of the bus "to_device", "from_device", "both_ways" */
  uint32_t bytes, lanes;
  uint64_t footprint_bytes;
  double giga_per_second; /* 10^9 operations per second; of copies and the bus 10^9 bytes per second */
} tsr_roofline_row;
/* Measures the device. footprint_bytes: 0 = 1 GiB. The caller frees *rows with free(). */
TSR_API tsr_status tsr_roofline(int device, uint64_t footprint_bytes, tsr_roofline_row **rows, size_t *count,
                                tsr_error *error);

/* ---- Pools ----------------------------------------------------------------------------------- */

/* An allocator without a table, and items that take places from it: to measure and to test allocators. Every call waits. */
typedef struct tsr_pool tsr_pool;

typedef struct tsr_pool_options {
  size_t size;
  const char *plugins; /* as in tsr_options */
  uint64_t units;      /* at least that many; 0 = the spec's capacity */
  uint64_t items;      /* each holds one place or none */
  uint32_t units_each; /* consecutive units per place; 0 = 1 */
  uint32_t tile_lanes; /* lanes that work on an item together, a power of two up to 32; 0 = 1; the cpu backend has 1 */
  bool system;         /* places come from malloc and free of the backend, in place of the spec's allocator */
} tsr_pool_options;

/* spec: backend, device, statistics and allocator of [table], and [allocator]; other entries are ignored.
 * TSR_INCOMPATIBLE if the allocator cannot give units_each units at once. */
TSR_API tsr_status tsr_pool_create(const tsr_spec *spec, const tsr_pool_options *options, tsr_pool **pool,
                                   tsr_error *error);
TSR_API_VOID void tsr_pool_destroy(tsr_pool *pool); /* NULL is allowed */

typedef struct tsr_pool_info {
  size_t size;
  const char *backend, *device, *backend_reason; /* as in tsr_table_info */
  const char *allocator;                         /* its name, or malloc */
  uint64_t units, items, bytes;
  uint32_t unit_bytes, units_each, tile_lanes;
  bool reuses_units; /* released units can be handed out again */
} tsr_pool_info;
/* Strings live as long as the pool. */
TSR_API_VOID void tsr_pool_describe(const tsr_pool *pool, tsr_pool_info *info);

enum {
  TSR_POOL_ALLOCATE, /* every item takes a place; no item may have one */
  TSR_POOL_RELEASE,  /* every item releases its place */
  TSR_POOL_CHURN     /* TSR_POOL_ROUNDS times every item releases its place, if it has one, and takes another */
};
enum { TSR_POOL_ROUNDS = 8 };

typedef struct tsr_pool_result {
  size_t size;
  double milliseconds;           /* of the operation alone */
  uint64_t allocated, exhausted; /* places given; allocations that failed */
  uint64_t released;             /* places given back by TSR_POOL_RELEASE */
  uint64_t changes, lost_claims; /* with statistics = yes: moves away from full memory blocks; lost compare-and-swaps */
  char complaint[256];           /* what is wrong, such as places that overlap; "" = nothing */
} tsr_pool_result;
/* Runs an operation on all items. Then checks, outside the measured time, that all places can be written without touching
 * another. checks: also checks within the operation, whose time then means nothing. */
TSR_API tsr_status tsr_pool_operate(tsr_pool *pool, int operation, bool checks, tsr_pool_result *result,
                                    tsr_error *error);
/* Frees every unit and forgets all places. */
TSR_API tsr_status tsr_pool_clear(tsr_pool *pool, tsr_error *error);
/* Grows the pool until at least `units` units are free; places stay. On failure the pool is unchanged: TSR_INCOMPATIBLE if
 * the allocator cannot have that many units, TSR_NO_MEMORY if old and new memory do not fit together. */
TSR_API tsr_status tsr_pool_reserve(tsr_pool *pool, uint64_t units, tsr_error *error);
/* Writes the number of units that are handed out to *units. */
TSR_API tsr_status tsr_pool_used(tsr_pool *pool, uint64_t *units, tsr_error *error);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Tessera's public API: GPU hash tables composed at run time from plugins that an INI file names.
 *
 *   tsr_spec_read -> tsr_table_create -> tsr_insert, tsr_find, ... -> tsr_table_report -> tsr_table_destroy
 *
 * README.md has a complete program. This file has specs, tables, operations, rebuilding and saving, and reports.
 * tessera_tools.h has what fewer programs need; tessera_devices.h and tessera_kernels.h build on it.
 *
 * Arrays: an array parameter has n items unless its comment gives another size. It is in host or in device memory, each
 * array on its own. Keys are uint32_t, uint64_t or 16 bytes (the lower half first), by the spec's key_bits. Values are
 * uint32_t or uint64_t, by value_bits. A counter's values are its counts; counts of 8 and 16 bits are uint32_t. With
 * value_bytes a value is a row of that many bytes. A set or multiset has no values.
 * Ownership: the caller owns all arrays. What a call makes is freed by the _free or _destroy function next to it.
 * Errors: a call that can fail returns a tsr_status, and writes one sentence to *error unless error is NULL. It writes its
 * outputs on success only. The library never prints, exits or changes signal handlers.
 * Threads: any number of threads may call functions on one tsr_table. On the CPU, tsr_find, tsr_contains, tsr_count_all and
 * tsr_find_all of several threads run at once, except on a table of several devices. Every other call has the table alone, and
 * waits until it does; waiting calls go before later finds. On CUDA the calls take turns on the host, and their
 * work on the device overlaps as far as their streams and the table's order allow. A tsr_spec, a kernel or a group is for
 * one thread at a time. Destroy a table when no other thread uses it.
 * Streams: `stream` is a CUstream or cudaStream_t, passed as void *; NULL is the default stream. On CUDA an operation
 * enqueues its work and returns. The table orders operations that must not overlap, on whatever streams they are, without
 * waiting on the host. Three kinds of calls wait: those whose comment says so, those with host arrays (tsr_call), and
 * inserts that rebuild the table ([table] growth, clean). The cpu backend ignores streams and returns when the work is done.
 * Sizes: the first member of a struct is its size. Set it to sizeof the struct, or to 0 for the members of this version.
 * Later versions add members at the end, and the library reads and fills no more than the size says. Set every struct to
 * zero before a call, also those that the library fills. Options of an impossible size are refused, other structs left alone.
 */
#ifndef TESSERA_H
#define TESSERA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plugins/error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TSR_VERSION "0.1.0"
#define TSR_API __attribute__((visibility("default"), warn_unused_result))
#define TSR_API_VOID __attribute__((visibility("default")))

/* The version of the library that runs; TSR_VERSION is the one that the program was compiled for. */
TSR_API const char *tsr_version(void);

/* ---- Specs ----------------------------------------------------------------------------------- */

/* What a table is made of: the entries of an INI file, not checked against plugins yet. */
typedef struct tsr_spec tsr_spec;

/* Reads a recipe by its name ("quickstart"), or an INI file by its path. A word with a point or a leading '/' is a path.
 * Errors: TSR_NOT_FOUND, TSR_IO, TSR_BAD_SPEC with file and line. The caller frees *spec. */
TSR_API tsr_status tsr_spec_read(const char *name, tsr_spec **spec, tsr_error *error);
/* The same from text. `name` stands for the file in messages. */
TSR_API tsr_status tsr_spec_parse(const char *text, const char *name, tsr_spec **spec, tsr_error *error);
/* Sets one entry, as "section.key=value"; replaces one of the file. "section.key=" takes it out. If it chooses another part,
 * entries of the file that this part does not know do not count. TSR_BAD_SPEC if it is not of this form. */
TSR_API tsr_status tsr_spec_set(tsr_spec *spec, const char *assignment, tsr_error *error);
/* A copy, which the caller frees. */
TSR_API tsr_status tsr_spec_copy(const tsr_spec *spec, tsr_spec **copy, tsr_error *error);
TSR_API_VOID void tsr_spec_free(tsr_spec *spec); /* NULL is allowed */
/* The value of an entry as written, or NULL. Valid until the spec changes or is freed. */
TSR_API const char *tsr_spec_get(const tsr_spec *spec, const char *section, const char *key);

/* ---- Tables ---------------------------------------------------------------------------------- */

typedef struct tsr_table tsr_table;
typedef struct tsr_options { /* all zero = what the spec says */
  size_t size;
  const char
      *plugins; /* folders of plugins, separated by colons; searched before $TESSERA_PLUGINS and the library's own */
  uint64_t capacity; /* pairs, in place of the spec's; 0 = the spec's */
  uint64_t seed;     /* in place of the spec's; 0 = the spec's */
} tsr_options;

/* Composes the table, allocates its memory and clears it. Code is linked when an operation is first used,
 * unless it was linked ahead or is cached (tsr_table_prepare links it at once). The spec is not needed afterwards. Errors: TSR_BAD_SPEC, TSR_NOT_FOUND (a plugin),
 * TSR_INCOMPATIBLE (parts that do not go together), TSR_NO_MEMORY, TSR_NO_DEVICE. */
TSR_API tsr_status tsr_table_create(const tsr_spec *spec, const tsr_options *options, tsr_table **table,
                                    tsr_error *error);
/* Waits for the table's work, then frees it. NULL is allowed. */
TSR_API_VOID void tsr_table_destroy(tsr_table *table);

/* Machine code of a table's operations, by where it came from. */
typedef struct tsr_code_counts {
  uint32_t ahead;  /* made before, in files next to the plugins, */
  uint32_t cached; /* ... in the user's cache, */
  uint32_t made;   /* ... linked or compiled by this process */
} tsr_code_counts;

typedef struct tsr_table_info {
  size_t size;
  const char *backend;           /* "cuda" or "cpu" */
  const char *device;            /* its name */
  const char *backend_reason;    /* why backend = auto chose it; "" if the spec named it */
  uint32_t key_bits, value_bits; /* value_bits: 0 for a set or multiset; with value_bytes 8 times as many */
  uint64_t capacity;             /* pairs that the table was made for */
  uint64_t slots;                /* pairs that fit: buckets * bucket_slots, with the units that can continue them */
  uint64_t buckets, bytes;       /* bytes: all memory of the table */
  uint32_t bucket_slots, bucket_bytes, tile_lanes;
  bool statistics;  /* whether probes are counted */
  uint64_t seed;    /* of the hash functions now in use */
  const char *code; /* cpu: "fused: insert" or "function tables: why"; CUDA: code_counts in words, and whether the file
                          * of code linked ahead is damaged; valid until the next call */
  uint64_t host_bytes;   /* bytes in host memory, a part of `bytes`, of a table larger than device_bytes; otherwise 0 */
  uint64_t window_bytes; /* device memory through which these pages are streamed, not a part of `bytes` */
  bool makes_lists;      /* each insert makes all bulk lists anew: insert in few large batches */
  tsr_code_counts code_counts;
} tsr_table_info;
/* Fills *info. Does not wait for a GPU. Its strings live as long as the table. */
TSR_API_VOID void tsr_table_describe(const tsr_table *table, tsr_table_info *info);

/* ---- Operations ------------------------------------------------------------------------------ */

/* Result codes: what an operation did with one key (tsr_call.results). */
enum {
  TSR_INSERTED = 1,   /* insert: the key is new, or every pair is kept */
  TSR_PRESENT = 2,    /* insert, duplicates = first: the key was present, nothing changed */
  TSR_REPLACED = 3,   /* insert, duplicates = replace */
  TSR_COMBINED = 4,   /* insert, duplicates = add, min, max, or a counter */
  TSR_NOT_PLACED = 5, /* insert: no room; exactly one pair was handed back at this index (unplaced_keys) */
  TSR_FOUND = 6,
  TSR_MISSING = 7,
  TSR_ERASED = 8,
  TSR_EVICTED = 32 /* insert into a cache: as TSR_INSERTED, and the pair given up is handed back at this index */
};

/* Optional parts of an operation: NULL or all zero = none. Each array has n items, in host or device memory.
 * Host arrays on CUDA are copied through device buffers, and the call returns when all is done. Device arrays must stay
 * valid until the work is done (tsr_table_wait, or the caller's own order of streams).
 * Calls may be captured into a CUDA graph (tessera_tools.h). */
typedef struct tsr_call {
  size_t size;
  void *stream;
  uint8_t *results; /* a result code per key */
  /* insert: at the index of each TSR_NOT_PLACED the pair that has no slot now. It may be another pair than the item's, which
   * the insert evicted. Other indices are not written. */
  void *unplaced_keys, *unplaced_values;
  uint64_t missing; /* find: the value for absent keys; with value_bytes these 8 bytes are repeated */
  uint64_t *times;  /* tsr_apply: 2 n times in ns of one clock; item i began at [2 i] and ended at [2 i + 1] */
  uint8_t *present; /* find, erase, erase_pairs: 1 for a key that was present, otherwise 0. results must be NULL */
  /* kind = cache. scores: what the eviction part takes as given, per key of an insert or find. now: the clock of the call; 0:
   * one more than at the call before. peek: tsr_find counts no use, as tsr_contains does. Other tables: TSR_UNSUPPORTED. */
  const uint32_t *scores;
  uint64_t now;
  bool peek;
} tsr_call;

/* Inserts n pairs. The spec's `duplicates` decides what happens to a present key; a multiset or multimap keeps every pair.
 * values: NULL for a set or multiset, otherwise TSR_BAD_ARGUMENT. A counter adds 1 per key where values is NULL, otherwise
 * values[i]; a count stops at 2^value_bits - 1. With duplicates = add values are unsigned. The spec's `overflow` decides
 * what a sum past the largest value becomes. tsr_report.overflows counts additions past the largest value.
 * A full table is not an error, unless growth = double ended for want of memory: see results, unplaced_keys and tsr_table_report. If values are combined
 * and the scheme moves pairs, a call without results takes n bytes of temporary device memory. */
TSR_API tsr_status tsr_insert(tsr_table *table, uint64_t n, const void *keys, const void *values, const tsr_call *call,
                              tsr_error *error);
/* Inserts the absent keys with the offered values, and writes to values[i] the value that keys[i] has then. The spec's
 * `duplicates` does not matter. If a call has a key several times, one item inserts it and all get its value. Results:
 * TSR_INSERTED, TSR_FOUND or TSR_NOT_PLACED; values[i] is call->missing for a key without a slot. offered and values may be
 * the same array. Both are NULL for a set; values may be NULL. In reports and in the order of operations it is an insert.
 * TSR_UNSUPPORTED with promise_unique, and for a multiset, multimap or counter. */
TSR_API tsr_status tsr_find_or_insert(tsr_table *table, uint64_t n, const void *keys, const void *offered, void *values,
                                      const tsr_call *call, tsr_error *error);
/* kind = index: writes to numbers[i] the number of keys[i]. A key without one is inserted and gets one. With reuse = yes that
 * is first a number of an erased key, otherwise the lowest that was never given, from 0 on. The new keys of a call are
 * numbered in the order of their first items with numbering = first_seen, otherwise in any order. Equal keys have one number,
 * also in calls on several streams, which the table orders. numbers may be NULL. A key without a slot has the number
 * call->missing. Results: TSR_INSERTED, TSR_FOUND or TSR_NOT_PLACED. unplaced_values is not written.
 * A call takes 13 bytes of temporary device memory per item, or 9 if numbers is given, and 4 more each where pairs move and
 * with first_seen, for at most 2^24 items at a time; with page_bytes 2^27, and then for what an insert page by page takes as
 * well. It waits only where an insert does. In reports it is an insert.
 * tsr_insert without values and tsr_find_or_insert without values are the same call; tsr_find only looks.
 * TSR_UNSUPPORTED for another kind, if 2^31 numbers were given (reuse = no), or if an earlier call failed when keys had no
 * numbers yet: then the table must be cleared.
 * With eviction = lru or lfu all numbers are below capacity. Where the new keys are more than there is room for, the call first
 * erases as many others: those with the lowest scores, and of equal ones those with the lowest numbers (tsr_evicted). Keys of
 * the call itself stay; TSR_UNSUPPORTED if these are more than capacity. Such a call waits. */
TSR_API tsr_status tsr_number(tsr_table *table, uint64_t n, const void *keys, uint32_t *numbers, const tsr_call *call,
                              tsr_error *error);
/* kind = index: writes to keys[i] the key with the number from + i, or call->missing; call->present[i] is 1 if there is one,
 * otherwise 0. Reads all pairs, so ask for many at once. Waits. TSR_UNSUPPORTED for another kind. */
TSR_API tsr_status tsr_keys_by_number(tsr_table *table, uint32_t from, uint64_t n, void *keys, const tsr_call *call,
                                      tsr_error *error);
/* kind = index with value_bytes: a row of that many bytes for each number. tsr_read_rows writes the rows of the numbers to rows,
 * tsr_write_rows writes rows to them; all arrays hold n items, in host or device memory. An item whose number is 2^31 or more,
 * such as that of a key without room, is passed over: for it tsr_read_rows repeats the 8 bytes of call->missing. If a number
 * comes twice in a call that writes, one of its rows is written, whole. Of call only missing and stream count.
 * The table itself never writes to a row. It is zero at first; it stays while its number is free, and a key that gets the number
 * then has what is left of it: so write the rows of the items whose result of tsr_number is TSR_INSERTED. Growing, rehashing and
 * files keep rows. tsr_insert with values numbers the keys and writes their rows, in one call. tsr_write_rows takes 4 bytes
 * of temporary device memory per item. TSR_UNSUPPORTED for another table. */
TSR_API tsr_status tsr_read_rows(tsr_table *table, uint64_t n, const uint32_t *numbers, void *rows,
                                 const tsr_call *call, tsr_error *error);
TSR_API tsr_status tsr_write_rows(tsr_table *table, uint64_t n, const uint32_t *numbers, const void *rows,
                                  const tsr_call *call, tsr_error *error);
/* kind = index: writes to *given how many numbers were given since the table was cleared. All numbers are below it. Waits.
 * TSR_UNSUPPORTED for another kind. */
TSR_API tsr_status tsr_numbers_given(tsr_table *table, uint64_t *given, tsr_error *error);
/* kind = index, eviction = lru or lfu: the keys that the last call that numbered keys gave up, *count of them, in the order of
 * their numbers. Each key and its number are written once: the number belongs to another key now, or to none. Up to `room`
 * items are written; keys and numbers may be NULL. Waits. TSR_UNSUPPORTED for another table. */
TSR_API tsr_status tsr_evicted(tsr_table *table, uint64_t room, void *keys, uint32_t *numbers, uint64_t *count,
                               tsr_error *error);
/* The same tables: counts a use of the keys that have these numbers, as tsr_number does; tsr_find counts none. Numbers that no
 * key has are passed over, 0xFFFFFFFF too. TSR_UNSUPPORTED for another table. */
TSR_API tsr_status tsr_touch(tsr_table *table, uint64_t n, const uint32_t *numbers, void *stream, tsr_error *error);

/* kind = cache: pairs whose scores are from lowest to highest, both included. A score is what the eviction part stores: with ttl
 * the clock at which the pair expires. */
typedef struct tsr_scored {
  size_t size;
  uint32_t lowest, highest;
  void *keys, *values; /* tsr_export_if: in host or device memory, of `room` items each; NULL = not wanted */
  uint32_t *scores;
  uint64_t room;
} tsr_scored;
/* Erases them, and writes to *erased how many there were, unless it is NULL. Waits. TSR_UNSUPPORTED for another kind. */
TSR_API tsr_status tsr_erase_if(tsr_table *table, const tsr_scored *pairs, uint64_t *erased, tsr_error *error);
/* Writes them to the arrays, in no order, and their number to *count. TSR_BAD_ARGUMENT if `room` is too small; then only *count
 * is written. Without arrays it only counts. Waits. TSR_UNSUPPORTED for another kind. */
TSR_API tsr_status tsr_export_if(tsr_table *table, const tsr_scored *pairs, uint64_t *count, tsr_error *error);

/* kind = cache: what tsr_write_behind calls, with `count` pairs, at least 1, in host memory: keys and values as of
 * unplaced_keys and unplaced_values, without gaps. They are valid until it returns. A key can come twice: a pair that was there
 * before the call stands before the pair that the call has brought. Returns 0, or what its call is
 * to fail with. */
typedef int tsr_write(void *context, uint64_t count, const void *keys, const void *values);
/* From now on each call that inserts, at its end and in its thread, calls `write` with the pairs that it handed back: those
 * that were given up, and items that the eviction part did not take. So they can be written to where all pairs are kept.
 * NULL: no longer. Such a call waits for the device, and takes 6 bytes of temporary device memory per item and a key and a value
 * where its caller has no arrays for them. If `write` returns another number than 0, the call returns TSR_IO; its pairs are
 * inserted. Pairs that tsr_erase and tsr_erase_if erase are not handed over. `write` may call functions on the table. A table
 * that is loaded has none. TSR_UNSUPPORTED for another kind. */
TSR_API tsr_status tsr_write_behind(tsr_table *table, tsr_write *write, void *context, tsr_error *error);

/* What the values of a column become for each distinct key. Sums of whole numbers have 64 bits and wrap, sums of floating
 * point are of doubles; the least and the largest value have the type of the column. */
enum { TSR_COMBINE_SUM, TSR_COMBINE_MIN, TSR_COMBINE_MAX };
enum { TSR_VALUES_U32, TSR_VALUES_I32, TSR_VALUES_F32, TSR_VALUES_U64, TSR_VALUES_I64, TSR_VALUES_F64 };
typedef struct tsr_unique_column {
  const void *values; /* n */
  void *combined;     /* as many as keys */
  uint32_t type, how; /* TSR_VALUES_, TSR_COMBINE_ */
} tsr_unique_column;

typedef struct tsr_unique_arrays { /* in host or device memory; NULL = not wanted */
  size_t size;
  void *stream;
  void *keys;        /* the distinct keys, in the order of their numbers */
  uint32_t *inverse; /* n: keys[i] is distinct key number inverse[i] */
  uint64_t *counts;  /* how often each distinct key occurs */
  uint64_t room;     /* of keys and counts */
  uint32_t keep;     /* 1: the table has the keys afterwards, with their numbers; 0: it is empty afterwards */
  uint32_t column_count;
  const tsr_unique_column
      *columns; /* column_count, or NULL; columns with the same values are best next to each other */
} tsr_unique_arrays;
/* kind = index: clears the table, numbers the keys, and writes how many are distinct to *count. With keep = 0, keys of at most
 * 64 bits and, on a GPU, numbering = any, the batch is worked on without the table, which may then be of any size: that is
 * several times as fast. On a GPU it takes up to 28 bytes of temporary memory a key for 2^20 keys, and for more 14 of
 * 32 bits or 22 of 64 bits, and with inverse 14 more; on the CPU 8 to 12 bytes per key and up to 90 per distinct key.
 * TSR_BAD_ARGUMENT if `room` is too small; then only *count and inverse are of use. TSR_UNSUPPORTED for another kind, or if
 * the table is too small for the keys. Waits, but in a captured stream, where it works on the batch alone: all arrays and
 * count are in device memory, the table stays as it is, and *count may exceed `room`, or be UINT64_MAX for keys that were made
 * to come together with the table's seed. */
TSR_API tsr_status tsr_unique(tsr_table *table, uint64_t n, const void *keys, const tsr_unique_arrays *arrays,
                              uint64_t *count, tsr_error *error);
/* Writes to values[i] the value of keys[i], or call->missing; in a multimap any one of its values. TSR_UNSUPPORTED for a
 * set or multiset: use tsr_contains. */
TSR_API tsr_status tsr_find(tsr_table *table, uint64_t n, const void *keys, void *values, const tsr_call *call,
                            tsr_error *error);
/* Writes to present[i] 1 if keys[i] is in the table, otherwise 0. */
TSR_API tsr_status tsr_contains(tsr_table *table, uint64_t n, const void *keys, uint8_t *present, const tsr_call *call,
                                tsr_error *error);
/* Writes to counts[i] the number of pairs of keys[i]: 0 or 1, except in a multiset or multimap. Results: TSR_FOUND or
 * TSR_MISSING. */
TSR_API tsr_status tsr_count_all(tsr_table *table, uint64_t n, const void *keys, uint64_t *counts, const tsr_call *call,
                                 tsr_error *error);
/* Writes all values of each key. offsets gets n + 1 numbers: the values of keys[i] are values[offsets[i]] to
 * values[offsets[i + 1] - 1], in no order, and offsets[n] is the number of all values. values has room for `room` values,
 * and further ones are not written: so offsets[n] > room means that there are more. With room = 0 and values = NULL the
 * call only counts. Results: as of tsr_count_all. The report counts one find per key. A pair that is erased meanwhile
 * (concurrency = mixed only) may give call->missing. TSR_UNSUPPORTED for a set or multiset. */
TSR_API tsr_status tsr_find_all(tsr_table *table, uint64_t n, const void *keys, uint64_t *offsets, uint64_t room,
                                void *values, const tsr_call *call, tsr_error *error);
/* Erases keys with all their pairs. Results: TSR_ERASED or TSR_MISSING. If a call has a key several times, one item gets
 * TSR_ERASED; in a multiset or multimap several may, as each may erase some of the pairs. The report counts pairs. Of a
 * filter with layout = fingerprint each item takes back one insert of a key; a key that was not inserted may take that of
 * another. */
TSR_API tsr_status tsr_erase(tsr_table *table, uint64_t n, const void *keys, const tsr_call *call, tsr_error *error);
/* Erases for each i one pair of keys[i] whose value is values[i]. Where values is NULL (always of a set or multiset), any
 * one pair of keys[i]. So k equal items erase k pairs, or all if there are fewer. Results: TSR_ERASED or TSR_MISSING. In
 * reports and in the order of operations it is an erase. */
TSR_API tsr_status tsr_erase_pairs(tsr_table *table, uint64_t n, const void *keys, const void *values,
                                   const tsr_call *call, tsr_error *error);
/* The operation of an item of tsr_apply. */
enum {
  TSR_OP_INSERT = 0,  /* as tsr_insert, by the spec's `duplicates` */
  TSR_OP_REPLACE = 1, /* as tsr_insert with duplicates = replace */
  TSR_OP_ERASE = 2,   /* as tsr_erase */
  TSR_OP_FIND = 3     /* as tsr_find; of a set as tsr_contains, in results */
};
/* Does operations[i] with keys[i] for all i at once. The items have no order, but each takes effect at one moment between
 * its beginning and its end (linearizable). values: of inserts and replaces. values_out: of finds, or call->missing. The
 * values of other items are not read or written, and both arrays may be NULL for a set. Results: as of the single calls.
 * An item gets 0, and does nothing, if its operation has another number, or if it replaces in a table that looks for no key
 * (promise_unique, multiset, multimap). The report counts each item under its operation, and probes under `apply`.
 * TSR_UNSUPPORTED unless concurrency = mixed. With growth = double this call does not grow the table. */
TSR_API tsr_status tsr_apply(tsr_table *table, uint64_t n, const uint8_t *operations, const void *keys,
                             const void *values, void *values_out, const tsr_call *call, tsr_error *error);
/* Removes all pairs. The report's counters stay. */
TSR_API tsr_status tsr_clear(tsr_table *table, void *stream, tsr_error *error);
/* Writes the number of pairs in the table to *size. Waits. */
TSR_API tsr_status tsr_size(tsr_table *table, uint64_t *size, tsr_error *error);
/* Writes all pairs, in no particular order, to arrays of at least `room` items, and their number to *size. values may be
 * NULL, and is for a set. If `room` is too small: TSR_BAD_ARGUMENT, and only *size is written. After other errors some pairs
 * may be written. Waits. */
TSR_API tsr_status tsr_export(tsr_table *table, uint64_t room, void *keys, void *values, uint64_t *size,
                              tsr_error *error);

/* ---- Building, rebuilding, saving ------------------------------------------------------------ */

enum { TSR_REHASH_TRIES = 8 }; /* seeds that one rebuild tries at most */

typedef struct tsr_rehash_options { /* all zero = the same table again, without erased slots */
  size_t size;
  uint64_t capacity;    /* pairs; 0 = as before */
  uint64_t seed;        /* of the first try; 0 = as before */
  const tsr_spec *spec; /* other parts, parameters and policies, of the same kind and widths; NULL = as before. Its
                           capacity, seed, backend and device are ignored. Not needed afterwards */
} tsr_rehash_options;
/* Moves all pairs to a new table of these sizes and parts, which takes this one's place. A try that cannot place every pair
 * is repeated with a new seed, up to TSR_REHASH_TRIES tries. On failure the table is unchanged: TSR_UNSUPPORTED if the pairs
 * cannot all be placed, TSR_NO_MEMORY if old table, new table and a copy of the pairs do not fit together. The move is not
 * counted in reports. Waits. */
TSR_API tsr_status tsr_rehash(tsr_table *table, const tsr_rehash_options *options, tsr_error *error);
/* The spec of the table; valid until it is rehashed or destroyed. */
TSR_API const tsr_spec *tsr_table_spec(const tsr_table *table);

/* tsr_insert into an empty table (otherwise TSR_BAD_ARGUMENT), which starts again with a new seed when a pair was not
 * placed, up to `tries` tries (1 = tsr_insert). results, unplaced_keys and the report are those of the last try. On failure
 * the table is empty. With growth = double it is the same as tsr_insert. Waits. */
TSR_API tsr_status tsr_build(tsr_table *table, uint64_t n, const void *keys, const void *values, const tsr_call *call,
                             uint32_t tries, tsr_error *error);

/* growth = double: tsr_insert doubles the capacity and inserts again what was handed back, until all pairs are placed, or
 * memory or growth_limit ends it. If memory ends it, the call returns TSR_NO_MEMORY when all is done: every pair is in the table
 * or handed back, and tsr_report.ungrown counts those that are handed back. It counts distinct keys, so repeated keys do not make the table larger. The call waits for
 * the device, and works through the keys in pieces, in their order. Results are final: a pair that was placed at the end
 * counts as inserted. A call that fails has worked on some of the keys: the results of the others are 0, and every pair is in
 * the table or handed back. `bench --ops insert,grow` measures what growing costs. */

/* Writes the table to a file: spec, capacity, seed and memory, with checksums. The file appears whole or not at all, and
 * replaces a regular file of that name. TSR_IO if it cannot be written. Waits. */
TSR_API tsr_status tsr_table_save(tsr_table *table, const char *path, tsr_error *error);

typedef struct tsr_load_options { /* all zero = as saved */
  size_t size;
  const char *plugins; /* as in tsr_options */
  const char *backend; /* "auto", "cuda" or "cpu": a table may be loaded where it was not saved; NULL = the spec's */
  const char *device;  /* the number of a GPU, as in a spec; NULL = the spec's */
  uint32_t
      mapped; /* not 0, on the cpu backend: regions of 2 MiB or more are the file's pages, which all processes that map it
                        * share. What a process changes stays its own. While a table is open do not change or cut its file. */
} tsr_load_options;
/* Makes a table from such a file. TSR_IO: it is damaged, cut or of an unknown version. TSR_INCOMPATIBLE: today's plugins
 * plan other memory, or do not find a sample of its pairs. Files of every release since 0.1.0 load; where tables are laid
 * out differently today, the pairs are moved, which needs the memory of a second table meanwhile. Load only files that you
 * trust: checksums do not protect against malice. */
TSR_API tsr_status tsr_table_load(const char *path, const tsr_load_options *options, tsr_table **table,
                                  tsr_error *error);

/* ---- What happened --------------------------------------------------------------------------- */

enum { TSR_REPORT_BINS = 32 };

typedef struct tsr_report { /* since the table was created or tsr_table_report_reset */
  size_t size;
  /* keys that were inserted, with their results; the others were present. insert_paged: those that went page by page, or
   * whose batch a sample on the device left to random access, which the host does not see */
  uint64_t insert_keys, inserted, not_placed, insert_paged;
  uint64_t find_keys, found; /* keys of find, contains, count_all and find_all */
  uint64_t erase_keys, erased;
  /* The following are 0 without `statistics = yes`. Items that a GPU combines first count as one key. Probes: in all, and
   * the most of one key: */
  uint64_t insert_probes, insert_probes_max, find_probes, find_probes_max, erase_probes, erase_probes_max;
  uint64_t insert_moves, insert_moves_max;     /* pairs evicted, in all and the most of one key: the longest chain */
  uint64_t insert_lost_claims, insert_stashed; /* slots that another thread took first; pairs that went to the stash */
  uint64_t apply_probes, apply_probes_max;     /* of tsr_apply, whose keys are counted above */
  /* [i]: number of keys with i probes; the last one: with that many or more */
  uint64_t insert_histogram[TSR_REPORT_BINS], find_histogram[TSR_REPORT_BINS], erase_histogram[TSR_REPORT_BINS];
  uint64_t insert_scratch_bytes; /* the most temporary device memory of one insert page by page */
  uint64_t cleanings;            /* inserts that first rebuilt the table without its erased slots (clean = auto) */
  uint64_t erased_slots;         /* an upper bound of erased slots now; tsr_table_usage counts them */
  /* 0: all sums and counts are right. With duplicates = add and overflow = report: how often a sum passed the largest
   * value, which is for each key the true sum / 2^value_bits. If an insert was repeated because pairs found no room, some
   * may count twice. In a counter and with overflow = saturate: how many additions met the largest value and stopped there,
   * at least 1 per key that stopped. A value that alone is larger than a count of 8 or 16 bits is one more of them. */
  uint64_t overflows;
  uint64_t zoned;   /* keys of finds and erases, and of numbers written, that were sorted by zones first (find_batch) */
  uint64_t ungrown; /* a part of not_placed: memory ended growth = double, and these calls returned TSR_NO_MEMORY */
  uint64_t evicted; /* keys that an index with eviction gave up, and pairs that a cache gave up */
  /* 0: no key has very many pairs. Inserts into a multiset or multimap that passed 1024 buckets, because thousands of pairs
   * of their key were there: such a key takes the square of its pairs (`check`, hot keys) */
  uint64_t insert_long;
} tsr_report;

/* Waits for the table's work and reads its counters. */
TSR_API tsr_status tsr_table_report(tsr_table *table, tsr_report *report, tsr_error *error);
TSR_API tsr_status tsr_table_report_reset(tsr_table *table, tsr_error *error);
/* Waits for all work on the table, on all streams. Returns the error of work that failed since the last wait. */
TSR_API tsr_status tsr_table_wait(tsr_table *table, tsr_error *error);

#ifdef __cplusplus
}
#endif
#endif

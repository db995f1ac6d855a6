/* SPDX-License-Identifier: Apache-2.0
 *
 * Tessera's public API: GPU hash tables composed at run time from plugins that an INI file names.
 *
 *   tsr_spec_read -> tsr_table_create -> tsr_insert, tsr_find, ... -> tsr_table_report -> tsr_table_destroy
 *
 * README.md has a complete program of thirty lines. Order of this file: specs, tables, operations, rebuilding and saving,
 * what happened. tessera_tools.h has what fewer programs need; tessera_devices.h and tessera_kernels.h build on that one.
 *
 * Widths: keys are uint32_t or uint64_t by the spec's key_bits, values likewise by value_bits; a set or multiset has none.
 * A counter's values are its counts, as uint32_t those of 8 and 16 bits as well. With value_bytes a value is that many bytes.
 * Errors: every fallible call returns a tsr_status and writes one sentence to *error (may be NULL); outputs are written
 * on success only. The library never prints, exits or changes signal handlers.
 * Threads: a tsr_spec and a tsr_table may be used by one thread at a time; different ones by different threads at once.
 * Streams: `stream` is a CUstream / cudaStream_t passed as void *, NULL for the default stream; the cpu backend ignores
 * it and returns when the work is done. On CUDA, operations only enqueue work (but see tsr_call for host arrays, and [table]
 * growth and clean for inserts that rebuild the table, which wait); the
 * table orders operations that may not overlap, whatever streams they are on, without waiting on the host.
 * Sizes: structs get members at their end in later versions. So that a program and a library of different versions agree,
 * their first member is their size: set it to sizeof the struct, or leave it 0 for the members that this version has. The
 * library fills no more than that. Initialise every struct to zero before a call, also those that the library fills.
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

/* What a table is made of: the entries of an INI file, not yet checked against plugins. */
typedef struct tsr_spec tsr_spec;

/* Reads a recipe, by its name ("quickstart"), or the INI file of this path. A word with a point or a leading '/' is always a
 * path. TSR_NOT_FOUND, TSR_IO, or TSR_BAD_SPEC with file:line. The caller frees *spec. */
TSR_API tsr_status tsr_spec_read(const char *name, tsr_spec **spec, tsr_error *error);
/* The same from text; `name` stands for the file in messages. */
TSR_API tsr_status tsr_spec_parse(const char *text, const char *name, tsr_spec **spec, tsr_error *error);
/* Sets one entry, "section.key=value" (the CLI's --set); replaces an entry of the file. */
TSR_API tsr_status tsr_spec_set(tsr_spec *spec, const char *assignment, tsr_error *error);
TSR_API tsr_status tsr_spec_copy(const tsr_spec *spec, tsr_spec **copy, tsr_error *error);
TSR_API_VOID void tsr_spec_free(tsr_spec *spec); /* NULL is fine */
/* The value of an entry as written, or NULL. Valid until the spec changes or is freed. */
TSR_API const char *tsr_spec_get(const tsr_spec *spec, const char *section, const char *key);

/* ---- Tables ---------------------------------------------------------------------------------- */

typedef struct tsr_table tsr_table;
typedef struct tsr_options { /* all zero = what the spec says */
  size_t size;
  const char *plugins; /* readable directories, colon-separated; then come $TESSERA_PLUGINS and beside the library */
  uint64_t capacity;   /* pairs; overrides the spec's */
  uint64_t seed;       /* overrides the spec's if not 0 */
} tsr_options;

/* Composes, links nothing yet, allocates and clears. The spec is not needed afterwards. */
TSR_API tsr_status tsr_table_create(const tsr_spec *spec, const tsr_options *options, tsr_table **table,
                                    tsr_error *error);
/* Waits for the table's work, then frees it. NULL is fine. */
TSR_API_VOID void tsr_table_destroy(tsr_table *table);

typedef struct tsr_table_info {
  size_t size;
  const char *backend;           /* "cuda" or "cpu" */
  const char *device;            /* its name */
  const char *backend_reason;    /* why backend = auto chose it; "" if the spec named it */
  uint32_t key_bits, value_bits; /* with value_bytes 8 times as many */
  uint64_t capacity;             /* pairs asked for */
  uint64_t slots;                /* pairs that fit: buckets * bucket_slots, with the units that can continue them */
  uint64_t buckets, bytes;
  uint32_t bucket_slots, bucket_bytes, tile_lanes;
  bool statistics;
  uint64_t seed;         /* of the hash functions now in use */
  const char *code;      /* cpu: "fused: insert" or "function tables: why"; valid until the next call; "" on CUDA */
  uint64_t host_bytes;   /* of `bytes`: pages in the host's memory, since the table has more than device_bytes; or 0 */
  uint64_t window_bytes; /* ... and what the device has for those that are worked on, besides `bytes` */
  bool makes_lists;      /* each insert makes all lists anew: insert in few large batches */
} tsr_table_info;
/* Strings live as long as the table. */
TSR_API_VOID void tsr_table_describe(const tsr_table *table, tsr_table_info *info);

/* ---- Operations ------------------------------------------------------------------------------ */

/* What an operation did with one key, as written to tsr_call.results. */
enum {
  TSR_INSERTED = 1,   /* insert: the key is new, or every pair is kept */
  TSR_PRESENT = 2,    /* insert, duplicates = first: it was there, nothing changed */
  TSR_REPLACED = 3,   /* insert, duplicates = replace */
  TSR_COMBINED = 4,   /* insert, duplicates = add, min, max, and of a counter */
  TSR_NOT_PLACED = 5, /* insert: no room; exactly one pair was handed back at this index */
  TSR_FOUND = 6,
  TSR_MISSING = 7,
  TSR_ERASED = 8
};

/* Optional parts of an operation; NULL or all zero = none. Arrays hold n items and are, like the keys, in host or
 * device memory (each on its own). With host arrays on CUDA the call copies through device buffers and returns when all
 * is done. Device arrays must stay valid until the work is done (tsr_table_wait, or the caller's own stream order).
 * Calls may be captured into a CUDA graph: tessera_tools.h says how. */
typedef struct tsr_call {
  size_t size;
  void *stream;
  uint8_t *results;    /* a code per key */
  void *unplaced_keys; /* insert: at the index of each TSR_NOT_PLACED the pair that has no slot now, perhaps another */
  void *unplaced_values; /* one, which was in the table before; other indices are not written */
  uint64_t missing;      /* find: the value written for absent keys; with value_bytes its bytes, over and over */
  uint64_t *times;       /* tsr_apply: 2 n numbers, ns of one clock: item i began at [2 i], ended at [2 i + 1] */
  uint8_t *present;      /* find, erase, erase_pairs: 1 or 0 for a key that was there or not; results is NULL then */
} tsr_call;

/* Inserts n pairs; a key that is present is treated by the spec's `duplicates`, a multiset or multimap keeps every pair.
 * values: NULL for a set, which else would drop them: TSR_BAD_ARGUMENT. A counter counts each key once where values is
 * NULL, else values[i] times; a count stops at 2^value_bits - 1. With duplicates = add values are unsigned; the spec's
 * `overflow` says what a sum past the largest one becomes, and tsr_report.overflows how often that was. A full table is no error: see results, unplaced_*
 * and tsr_table_report. Where pairs move and values combine, a call without results takes n bytes of device memory for a
 * while. */
TSR_API tsr_status tsr_insert(tsr_table *table, uint64_t n, const void *keys, const void *values, const tsr_call *call,
                              tsr_error *error);
/* Inserts the keys that are absent, with the values offered, and writes to values[i] the value that keys[i] then has,
 * whatever the spec's `duplicates`; of equal keys in one call one is inserted and all get its value. Results:
 * TSR_INSERTED, TSR_FOUND, or TSR_NOT_PLACED; values[i] is call->missing for a key that has no slot. offered and values
 * may be one array, and are NULL for a set; values is NULL if not wanted. Counts as an insert, in the report and in
 * what it may overlap. TSR_UNSUPPORTED with promise_unique, and for a multiset, multimap or counter. */
TSR_API tsr_status tsr_find_or_insert(tsr_table *table, uint64_t n, const void *keys, const void *offered, void *values,
                                      const tsr_call *call, tsr_error *error);
/* values[i] = the value of keys[i], or call->missing; in a multimap any one of its values. TSR_UNSUPPORTED for a set: use
 * tsr_contains. */
TSR_API tsr_status tsr_find(tsr_table *table, uint64_t n, const void *keys, void *values, const tsr_call *call,
                            tsr_error *error);
/* present[i] = 1 or 0. */
TSR_API tsr_status tsr_contains(tsr_table *table, uint64_t n, const void *keys, uint8_t *present, const tsr_call *call,
                                tsr_error *error);
/* counts[i] = the number of pairs of keys[i]; 0 or 1 but in a multiset or multimap. Results: TSR_FOUND or TSR_MISSING. */
TSR_API tsr_status tsr_count_all(tsr_table *table, uint64_t n, const void *keys, uint64_t *counts, const tsr_call *call,
                                 tsr_error *error);
/* All values of each key. offsets gets n + 1 numbers, always: the values of keys[i] are values[offsets[i]] up to before
 * values[offsets[i + 1]], in no order, and offsets[n] is the number of all. values has room for `room` values; those that
 * are beyond are not written, so offsets[n] > room says that there are more. To learn the room that is needed, call it
 * with room = 0 and values = NULL, which only counts. Results as of tsr_count_all; in the report it is one find a key.
 * Where a pair is erased while it runs (concurrency = mixed only), call->missing may stand for its value.
 * TSR_UNSUPPORTED for a set. */
TSR_API tsr_status tsr_find_all(tsr_table *table, uint64_t n, const void *keys, uint64_t *offsets, uint64_t room,
                                void *values, const tsr_call *call, tsr_error *error);
/* Removes keys, with all their pairs. A key that one call names several times is reported erased at least once, and but
 * in a multiset or multimap exactly once: there, each may have erased some of its pairs. The report counts pairs. */
TSR_API tsr_status tsr_erase(tsr_table *table, uint64_t n, const void *keys, const tsr_call *call, tsr_error *error);
/* Removes for each i one pair of keys[i]: one that has the value values[i], or where values is NULL (always of a set or
 * multiset) any one; k equal items remove k pairs, if there are that many. Results: TSR_ERASED or TSR_MISSING. Counts as
 * an erase. */
TSR_API tsr_status tsr_erase_pairs(tsr_table *table, uint64_t n, const void *keys, const void *values,
                                   const tsr_call *call, tsr_error *error);
/* What an item of tsr_apply asks for. */
enum {
  TSR_OP_INSERT = 0,  /* as tsr_insert, by the spec's `duplicates` */
  TSR_OP_REPLACE = 1, /* as tsr_insert with duplicates = replace */
  TSR_OP_ERASE = 2,   /* as tsr_erase */
  TSR_OP_FIND = 3     /* as tsr_find; of a set, whether the key is there */
};
/* Does operations[i] with keys[i], for all i at once: in no order, but each as if it happened at one moment between its
 * beginning and its end (linearizable). values: what inserts and replaces offer; values_out: what finds find, or
 * call->missing; other items are not read or written. Both may be NULL for a set. Results: as of the single calls; 0 for an
 * item whose operation has another number, or for a replace where the table looks for no key (promise_unique, multiset,
 * multimap): nothing is done there. In the report each item counts as what it is, their probes under `apply`.
 * TSR_UNSUPPORTED unless the spec says concurrency = mixed. With growth = double nothing grows in this call. */
TSR_API tsr_status tsr_apply(tsr_table *table, uint64_t n, const uint8_t *operations, const void *keys,
                             const void *values, void *values_out, const tsr_call *call, tsr_error *error);
/* Removes everything; the report's counters stay. */
TSR_API tsr_status tsr_clear(tsr_table *table, void *stream, tsr_error *error);
/* Pairs in the table. Waits for the result. */
TSR_API tsr_status tsr_size(tsr_table *table, uint64_t *size, tsr_error *error);
/* Writes all pairs, in no particular order, to arrays of at least `room` items (values NULL for a set or if not wanted)
 * and their number to *size. Room too small: TSR_BAD_ARGUMENT, only *size written; other errors: some may be. Waits. */
TSR_API tsr_status tsr_export(tsr_table *table, uint64_t room, void *keys, void *values, uint64_t *size,
                              tsr_error *error);

/* ---- Building, rebuilding, saving ------------------------------------------------------------ */

enum { TSR_REHASH_TRIES = 8 }; /* seeds that one rebuild tries */

typedef struct tsr_rehash_options { /* all zero = the same again, which gets rid of erased slots */
  size_t size;
  uint64_t capacity;    /* pairs; 0 = as before */
  uint64_t seed;        /* of the first try; 0 = as before */
  const tsr_spec *spec; /* other parts, parameters and policies, NULL = as before; of the same kind and widths. Its
                           capacity, seed, backend and device are not looked at. Not needed afterwards */
} tsr_rehash_options;
/* Moves all pairs to a new table of these sizes and parts, values as they are, and puts it in this one's place. A try
 * that cannot place every pair is repeated with new seeds, TSR_REHASH_TRIES in all. On failure the table is as it was:
 * TSR_UNSUPPORTED when the pairs cannot all be placed, TSR_NO_MEMORY when old table, new table and a copy of the pairs
 * do not fit together. The report's counters do not see the move. Waits. */
TSR_API tsr_status tsr_rehash(tsr_table *table, const tsr_rehash_options *options, tsr_error *error);
/* The spec that the table is made of; valid until it is rehashed or destroyed. */
TSR_API const tsr_spec *tsr_table_spec(const tsr_table *table);

/* tsr_insert into an empty table (else TSR_BAD_ARGUMENT) that starts again with a new seed when a pair was not placed,
 * `tries` times in all (1 = tsr_insert). The last try is what results, unplaced_* and report tell of. On failure the
 * table is empty. With growth = double it is tsr_insert, in failure too. Waits. */
TSR_API tsr_status tsr_build(tsr_table *table, uint64_t n, const void *keys, const void *values, const tsr_call *call,
                             uint32_t tries, tsr_error *error);

/* growth = double: tsr_insert doubles the capacity, and inserts again what was handed back, until all is placed or
 * memory or growth_limit ends it; it counts distinct keys, so that repeated ones do not make the table larger. The call
 * waits for the device, and works through the keys in pieces, in their order. Results are final: a pair that
 * was placed in the end counts as inserted. A call that fails has dealt with some of the keys: results of the others
 * are 0, and every pair is in the table or handed back. `bench --ops insert,grow` shows what growing costs. */

/* Writes the table to a file: spec, capacity, seed and memory, with checksums. The file appears whole or not at all, in
 * place of a regular file of that name. Waits. */
TSR_API tsr_status tsr_table_save(tsr_table *table, const char *path, tsr_error *error);

typedef struct tsr_load_options { /* all zero = as saved */
  size_t size;
  const char *plugins; /* as in tsr_options */
  const char *backend; /* "auto", "cuda" or "cpu": a table may be loaded where it was not saved; NULL = the spec's */
  const char *device;  /* the number of a GPU, as a spec says it; NULL = the spec's */
} tsr_load_options;
/* Makes a table from such a file. TSR_IO: it is damaged, cut or of another version; TSR_INCOMPATIBLE: the plugins found plan
 * other memory, or lack a sample of its pairs. Files of every release since 0.1.0 load: where tables are laid out
 * differently today, the pairs are moved, which needs the memory of a second table meanwhile. Load only files that you
 * trust: checksums do not help against malice. */
TSR_API tsr_status tsr_table_load(const char *path, const tsr_load_options *options, tsr_table **table,
                                  tsr_error *error);

/* ---- What happened --------------------------------------------------------------------------- */

enum { TSR_REPORT_BINS = 32 };

typedef struct tsr_report { /* since the table was created or tsr_table_report_reset */
  size_t size;
  uint64_t insert_keys, inserted, not_placed, insert_paged; /* others were present; insert_paged went page by page */
  uint64_t find_keys, found;                                /* find, contains, count_all, find_all: keys */
  uint64_t erase_keys, erased;
  /* 0 without `statistics = yes`; what a GPU combines first is one key. Buckets seen, in all and at most of a key: */
  uint64_t insert_probes, insert_probes_max, find_probes, find_probes_max, erase_probes, erase_probes_max;
  uint64_t insert_moves, insert_moves_max;     /* pairs evicted, in all and at most by one key: the longest chain */
  uint64_t insert_lost_claims, insert_stashed; /* claims that another thread was first to; pairs in the stash */
  uint64_t apply_probes, apply_probes_max;     /* of tsr_apply, whose keys are among those above */
  /* keys by the buckets that they looked at: [i] looked at i, the last at that many or more */
  uint64_t insert_histogram[TSR_REPORT_BINS], find_histogram[TSR_REPORT_BINS], erase_histogram[TSR_REPORT_BINS];
  uint64_t insert_scratch_bytes; /* the most device memory that one insert page by page took for a while */
  uint64_t cleanings;            /* inserts that rebuilt the table first, to be rid of erased slots (clean = auto) */
  uint64_t erased_slots;         /* there are at most that many now; tsr_table_usage counts them */
  /* duplicates = add with overflow = report: how often a sum passed the largest value: for each key the true sum of its
   * values / 2^value_bits. 0 means that all sums are right. Where an insert was done again, because pairs had found no
   * room, some may count twice. */
  uint64_t overflows;
} tsr_report;

/* Waits for the table's work and reads its counters. */
TSR_API tsr_status tsr_table_report(tsr_table *table, tsr_report *report, tsr_error *error);
TSR_API tsr_status tsr_table_report_reset(tsr_table *table, tsr_error *error);
/* Waits for all work on the table, on all streams; reports what went wrong since. */
TSR_API tsr_status tsr_table_wait(tsr_table *table, tsr_error *error);

#ifdef __cplusplus
}
#endif
#endif

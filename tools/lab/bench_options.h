/* SPDX-License-Identifier: Apache-2.0
 *
 * The command line of `tessera bench`: what was asked for, checked. Read next: bench.c.
 */
#ifndef TSR_BENCH_OPTIONS_H
#define TSR_BENCH_OPTIONS_H

#include "core/tessera.h"
#include "tools/lab/distribution.h"

#ifdef __cplusplus
extern "C" {
#endif

/* In the order in which they are measured: an erased table answers nothing. */
typedef enum tsr_bench_op {
  TSR_BENCH_INSERT,
  TSR_BENCH_INCREMENTAL,
  TSR_BENCH_REBUILD,
  TSR_BENCH_FIND100,
  TSR_BENCH_FIND50,
  TSR_BENCH_FIND0,
  TSR_BENCH_FIND_ALL,
  TSR_BENCH_COUNT_ALL,
  TSR_BENCH_JOIN,
  TSR_BENCH_ERASE,
  TSR_BENCH_MIXED,
  TSR_BENCH_APPLY,
  TSR_BENCH_GROW,
  TSR_BENCH_NUMBER, /* of an index, as the following */
  TSR_BENCH_UNIQUE,
  TSR_BENCH_UNIQUE_COUNTS,
  TSR_BENCH_UNIQUE_INVERSE,
  TSR_BENCH_HITS, /* of a cache */
  TSR_BENCH_TABLE_OPS,
  TSR_BENCH_ALLOCATE = TSR_BENCH_TABLE_OPS, /* of pools from here on */
  TSR_BENCH_RELEASE,
  TSR_BENCH_CHURN,
  TSR_BENCH_OPS
} tsr_bench_op;

#define TSR_BENCH_OP_LIST                                                                                              \
  "insert, incremental, rebuild, find100, find50, find0, find_all, count_all, join, erase, mixed, apply and grow; of " \
  "an "                                                                                                                \
  "index " TSR_BENCH_INDEX_OP_LIST "; of a cache " TSR_BENCH_CACHE_OP_LIST
#define TSR_BENCH_INDEX_OP_LIST "number, unique, unique_counts and unique_inverse"
#define TSR_BENCH_CACHE_OP_LIST "hits"
#define TSR_BENCH_POOL_OP_LIST "allocate, release and churn"
#define TSR_BENCH_OPS_INITIAL "insert,find100,find50,find0,erase"
const char *tsr_bench_op_name(tsr_bench_op op);

/* Files; out and append exclude each other. NULL: none. is_csv: standard output gets CSV, also on a terminal. raw: rows list the
 * rates of all repetitions. */
typedef struct tsr_bench_outputs {
  const char *out, *append, *json;
  bool is_csv, raw;
} tsr_bench_outputs;

typedef struct tsr_bench_loads {
  const char **each; /* `count` numbers, as written */
  size_t count;
  char *texts; /* what they point into */
} tsr_bench_loads;

typedef struct tsr_bench_keys {
  tsr_distribution *each; /* `count` distributions, measured one after the other */
  size_t count;
  char *texts; /* what they point into */
} tsr_bench_keys;

/* The spec that the others are compared with, and files of rivals. */
typedef struct tsr_bench_versus {
  const char *spec; /* as written: one of the specs, or its number; NULL: the first */
  size_t index;
  bool regret;         /* each spec is compared with itself by every order of a batch */
  const char **beside; /* beside_count files */
  size_t beside_count;
} tsr_bench_versus;

typedef enum tsr_bench_compile { TSR_BENCH_WAITS, TSR_BENCH_BY_TABLES, TSR_BENCH_AUTO } tsr_bench_compile;

/* What code is measured. probes: they are counted, by code of their own. */
typedef struct tsr_bench_code {
  bool probes;
  tsr_bench_compile compile; /* on the CPU: waits for a compiler; or goes by function tables */
} tsr_bench_code;

/* --devices: on which, as written; NULL: where the specs say. Then what is expected of others (devices_model.h). */
typedef struct tsr_bench_sharing {
  const char *devices, *expect, *group; /* group: a transport; NULL: this process is alone */
  double link, network;                 /* GB/s of a device, as said; 0: not said */
} tsr_bench_sharing;

typedef struct tsr_bench_pool_shape {
  uint64_t units, tile_lanes;
} tsr_bench_pool_shape;

/* Texts point into argv. */
typedef struct tsr_bench_options {
  const char **specs, **sets; /* spec_count paths; set_count assignments for all of them */
  size_t spec_count, set_count;
  tsr_bench_sharing sharing;
  tsr_bench_versus versus;
  uint64_t n, repeat; /* repeat: 0: nothing is timed, and no code made for it */
  tsr_bench_code code;
  bool n_is_given;             /* otherwise a file of keys has as many as it has */
  uint64_t batch;              /* pairs, of incremental, rebuild and hits */
  double mix[TSR_MIXED_KINDS]; /* shares of a mixed batch */
  tsr_bench_pool_shape pools;
  bool codes; /* inserts, finds and erases write a result code for each key */
  tsr_bench_loads loads;
  bool ops[TSR_BENCH_OPS];
  tsr_bench_keys keys;
  const char *plugins; /* NULL: the default search path */
  tsr_bench_outputs outputs;
  uint64_t seed; /* of the keys; and of the tables, unless it is 0 = not given */
} tsr_bench_options;

/* argv[0] is the command's name and not looked at. TSR_BAD_ARGUMENT with a sentence; then *options holds nothing. The
 * caller frees *options with tsr_bench_options_free. */
TSR_MUST_CHECK tsr_status tsr_bench_options_read(int argc, char **argv, tsr_bench_options *options, tsr_error *error);
/* What an operation does, as far as options say so that have no column: "mix=0.2,0.2,0.3,0.3 codes=yes". "": as always. */
void tsr_bench_options_told(const tsr_bench_options *options, tsr_bench_op op, char *text, size_t bytes);
/* Operations of pools were asked for; then no others were. */
bool tsr_bench_wants_pools(const tsr_bench_options *options);
void tsr_bench_options_free(tsr_bench_options *options);

#ifdef __cplusplus
}
#endif
#endif

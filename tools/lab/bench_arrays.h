/* SPDX-License-Identifier: Apache-2.0
 *
 * What a benchmark puts into tables, asks them, and gets back: arrays in host memory and where the tables are.
 *
 * They are made once and serve all tables of a run, which therefore have the same widths and are in the same memory.
 * Read next: bench_run.h, which uses them.
 */
#ifndef TSR_BENCH_ARRAYS_H
#define TSR_BENCH_ARRAYS_H

#include "core/tessera.h"
#include "tools/lab/bench_options.h"
#include "tools/lab/keys.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TSR_BENCH_MISSING 0x6E6F742068657265ull /* what finds write for absent keys; cut to the value's width */

/* They hold model.pairs items, if nothing else is said. What no operation asked for needs is NULL. */
typedef struct tsr_bench_arrays {
  tsr_table *owner;                 /* in whose memory they are; the caller's */
  const tsr_bench_options *options; /* the caller's */
  tsr_keys model;                   /* what they hold; the caller's */
  tsr_queries asked;                /* what the queries are */
  uint64_t counts[TSR_MIXED_KINDS]; /* of the mixed batch */
  uint32_t out_bits;                /* of an answer: a value, or 8 for a set */
  void *keys, *values;              /* where the tables are; values: NULL for sets */
  void *host_batch;                 /* the keys, if they are compared with their numbers or values */
  uint64_t *total;                  /* on the host: rows of a join, or distinct keys */
  void *queries, *host_queries;
  void *out, *host_out;
  void *offsets,
      *host_offsets; /* of find_all: model.n + 1 numbers of 64 bits; or what count_all and unique_counts count: model.n */
  void *results, *host_results; /* codes of what an operation did with each key */
  uint8_t *codes;               /* `results`, if inserts, finds and erases write them, else NULL */
  void *operations,
      *operands; /* of the mixed batch: what to do, model.n bytes; with which values. Its keys: queries. Of apply model.pairs bytes */
} tsr_bench_arrays;

/* Allocates all, fills keys and values. *arrays is valid after a failure too: free it in any case. */
TSR_MUST_CHECK tsr_status tsr_bench_arrays_create(tsr_table *owner, const tsr_keys *model,
                                                  const tsr_bench_options *options, tsr_bench_arrays *arrays,
                                                  tsr_error *error);
void tsr_bench_arrays_free(tsr_bench_arrays *arrays); /* all zero is fine */

/* Makes the queries. */
TSR_MUST_CHECK tsr_status tsr_bench_arrays_ask(tsr_bench_arrays *arrays, tsr_queries queries, tsr_error *error);
/* Makes the mixed batch; host_results and host_out are scratch. */
TSR_MUST_CHECK tsr_status tsr_bench_arrays_mix(tsr_bench_arrays *arrays, tsr_error *error);

/* Makes operations that all insert; host_results is scratch. */
TSR_MUST_CHECK tsr_status tsr_bench_arrays_insert(tsr_bench_arrays *arrays, tsr_error *error);

/* Arrays of answers. */
enum { TSR_BENCH_OUT = 1, TSR_BENCH_OFFSETS = 2, TSR_BENCH_RESULTS = 4 };

/* Overwrites those of a former run with keys, so that an operation that writes nothing is found out. */
TSR_MUST_CHECK tsr_status tsr_bench_arrays_spoil(tsr_bench_arrays *arrays, uint32_t answers, tsr_error *error);
/* Copies them to the host. */
TSR_MUST_CHECK tsr_status tsr_bench_arrays_fetch(tsr_bench_arrays *arrays, uint32_t answers, tsr_error *error);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * One operation of a benchmark on one table: timed, and its result checked key by key.
 *
 * The arrays are made once and serve all tables of a run, which therefore have the same widths and lie in the same
 * memory. Read next: bench.c, which decides what runs when.
 */
#ifndef TSR_BENCH_RUN_H
#define TSR_BENCH_RUN_H

#include "core/lab/bench_options.h"
#include "core/lab/keys.h"
#include "core/tessera.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All arrays hold n items. */
typedef struct tsr_bench_arrays {
  tsr_table *owner;                    /* in whose memory they lie; the caller's */
  tsr_keys model;                      /* what they hold */
  tsr_absent absent;                   /* of the queries */
  uint32_t out_bits;                   /* of an answer: a value, or 8 for a set */
  void *keys, *values, *queries, *out; /* where the tables are; values: NULL for sets */
  void *host_queries, *host_out;
} tsr_bench_arrays;

/* Allocates and fills keys and values. *arrays is valid after a failure too: free it in any case. */
TSR_MUST_CHECK tsr_status tsr_bench_arrays_create(tsr_table *owner, const tsr_keys *model, tsr_bench_arrays *arrays,
                                                  tsr_error *error);
void tsr_bench_arrays_free(tsr_bench_arrays *arrays); /* all zero is fine */

/* Makes the queries of a find or an erase; an insert has none. */
TSR_MUST_CHECK tsr_status tsr_bench_prepare(tsr_bench_arrays *arrays, tsr_bench_op op, tsr_error *error);

/* A table and the keys that it handed back when it was filled. */
typedef struct tsr_bench_subject {
  tsr_table *table;
  uint64_t *homeless, homeless_count; /* ascending */
} tsr_bench_subject;
void tsr_bench_subject_free(tsr_bench_subject *subject); /* and its table; all zero is fine */

typedef struct tsr_bench_result {
  double milliseconds;
  char complaint[256]; /* what is wrong with the result; "" = it is right */
} tsr_bench_result;

/* Runs a prepared operation and checks it. An insert starts by clearing the table, an erase by filling it, both
 * untimed; a find is asked of the table that tsr_bench_fill left. The status tells whether the operation could run at
 * all. */
TSR_MUST_CHECK tsr_status tsr_bench_measure(tsr_bench_arrays *arrays, const tsr_bench_subject *subject, tsr_bench_op op,
                                            tsr_bench_result *result, tsr_error *error);

/* Fills the table and notes which keys were handed back. Overwrites the queries. */
TSR_MUST_CHECK tsr_status tsr_bench_fill(tsr_bench_arrays *arrays, tsr_bench_subject *subject, tsr_bench_result *result,
                                         tsr_error *error);

/* Mean buckets looked at for a key of the prepared operation. pre: `table` is empty and counts (statistics = yes). */
TSR_MUST_CHECK tsr_status tsr_bench_probes(const tsr_bench_arrays *arrays, tsr_table *table, tsr_bench_op op,
                                           double *probes, tsr_error *error);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * One operation of a benchmark on one table: timed, and its result checked key by key.
 *
 * Read next: bench.c, which decides what runs when; bench_operation.h, what an operation consists of.
 */
#ifndef TSR_BENCH_RUN_H
#define TSR_BENCH_RUN_H

#include "core/tessera_tools.h"
#include "tools/lab/bench_operation.h"
#include "tools/lab/bench_options.h"

#ifdef __cplusplus
extern "C" {
#endif

void tsr_bench_subject_free(tsr_bench_subject *subject); /* and its table; all zero is fine */

/* Makes what the operation works on; an insert needs nothing but the pairs. */
TSR_MUST_CHECK tsr_status tsr_bench_prepare(tsr_bench_arrays *arrays, tsr_bench_op op, tsr_error *error);

/* Runs a prepared operation and checks it. Inserts start by clearing the table, erase and mixed by filling it, both
 * untimed; the others are asked of the table that tsr_bench_fill left. The status tells whether the operation could run
 * at all. */
TSR_MUST_CHECK tsr_status tsr_bench_measure(tsr_bench_arrays *arrays, const tsr_bench_subject *subject, tsr_bench_op op,
                                            tsr_bench_result *result, tsr_error *error);

/* Fills the table and notes which keys were handed back. Overwrites the queries. */
TSR_MUST_CHECK tsr_status tsr_bench_fill(tsr_bench_arrays *arrays, tsr_bench_subject *subject, tsr_bench_result *result,
                                         tsr_error *error);
/* The operation is asked of a table that tsr_bench_fill left. */
bool tsr_bench_needs_fill(tsr_bench_op op);
/* A rival can do it. */
bool tsr_bench_has_rivals(tsr_bench_op op);
/* It is one of kind = index, which has no others. */
bool tsr_bench_is_of_index(tsr_bench_op op);
/* It is one of kind = cache, which has no others. */
bool tsr_bench_is_of_cache(tsr_bench_op op);

typedef struct tsr_bench_counts {
  double probes;      /* mean buckets looked at for a key of the operation */
  double warp_probes; /* the most for one of 32 keys, on average; -1: not counted */
  double utilization; /* tsr_usage.utilization when all pairs are there */
} tsr_bench_counts;
/* Runs the prepared operation once more, on another table. pre: `table` is empty and counts (statistics = yes). */
TSR_MUST_CHECK tsr_status tsr_bench_count(const tsr_bench_arrays *arrays, tsr_table *table, tsr_bench_op op,
                                          tsr_bench_counts *counts, tsr_error *error);

/* The sum of those TSR_PREPARE_ whose code it is that an operation times. */
uint32_t tsr_bench_calls(tsr_bench_op op, bool has_values);
/* ... and of those that are not timed, by which its table is filled and checked. */
uint32_t tsr_bench_other_calls(tsr_bench_op op, bool is_filter);

/* The name of the tsr_roofline_row that bounds it if it touches one bucket a key; NULL = none does. */
const char *tsr_bench_limit(tsr_bench_op op);
/* The same where the table is in the host's memory and all of its pages travel; *times: how often they pass the bus. */
const char *tsr_bench_bus_limit(tsr_bench_op op, uint32_t *times);

#ifdef __cplusplus
}
#endif
#endif

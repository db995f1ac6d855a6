/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of a benchmark, the same for tables and pools. What the columns mean: bench.h.
 */
#ifndef TSR_BENCH_ROWS_H
#define TSR_BENCH_ROWS_H

#include <stdio.h>

#include "core/lab/bench_options.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TSR_BENCH_COLUMNS                                                                                              \
  "spec,backend,device,op,key_bits,value_bits,n,load,mops,probes,pct_limit,ok,utilization,keys,distinct"

typedef struct tsr_bench_row {
  const char *spec, *backend, *device;
  tsr_bench_op op;
  uint32_t key_bits, value_bits;
  uint64_t n;
  double load, mops, probes;
  double limit_mops; /* what the device's memory allows; 0 = unknown */
  bool right;
  double utilization; /* 0 = unknown */
  const char *keys;   /* their distribution; NULL = there are none */
  uint64_t distinct;
} tsr_bench_row;

void tsr_bench_print_row(FILE *csv, const tsr_bench_row *row);

/* The number of one of tsr_bench_options.loads. */
double tsr_bench_load(const char *load);

/* Sorts them. */
double tsr_bench_median(double *times, size_t count);

#ifdef __cplusplus
}
#endif
#endif

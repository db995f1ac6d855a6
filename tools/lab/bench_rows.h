/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of a benchmark, the same for tables and pools, and where they go. What the columns mean: bench.h.
 */
#ifndef TSR_BENCH_ROWS_H
#define TSR_BENCH_ROWS_H

#include <stdio.h>

#include "tools/lab/bench_options.h"
#include "tools/lab/origin.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TSR_BENCH_UNKNOWN UINT64_MAX

typedef enum tsr_bench_verdict { TSR_BENCH_RIGHT, TSR_BENCH_WRONG, TSR_BENCH_REFUSED } tsr_bench_verdict;

/* Texts that are NULL and numbers that are 0 are unknown, if nothing else is said: a '-'. Of a row that is not refused,
 * mops and probes are unknown if they are below 0. */
typedef struct tsr_bench_row {
  const char *spec, *backend, *device;
  const char *op; /* NULL: all of them, of a spec that was refused */
  uint32_t key_bits, value_bits;
  uint64_t n;
  double load, mops, probes;
  double limit_mops; /* what the device's memory allows */
  tsr_bench_verdict verdict;
  double utilization;
  const char *keys; /* their distribution */
  uint64_t distinct;
  const char *composition; /* tsr_resolution.text */
  uint64_t not_placed;     /* pairs; TSR_BENCH_UNKNOWN */
  uint64_t bytes;
  uint32_t registers;
  double link_ms, mops_min, mops_max;
  /* of bench_devices.h */
  const char *devices, *stage;
  double split_ms, exchange_ms, work_ms, answer_ms, pct_link, scaling, scaling_net, model_mops;
  tsr_origin origin;
  double ratio, ratio_low, ratio_high;
  const char *each; /* mops of each repetition, with blanks between */
  double warp_probes;
  double hit_rate; /* of a cache; 0: unknown */
} tsr_bench_row;

/* Where rows go. All of them are kept until the end. */
typedef struct tsr_bench_output tsr_bench_output;

/* csv: a file that is not there yet, or one of this program's that rows are added to (adds_to), or NULL: standard output,
 * unless `json` is that; there, as_table, the rows are an aligned table in the end. json: a file, "-" for standard output, or NULL: none. TSR_IO, TSR_BAD_ARGUMENT: the file is
 * there already, or has other columns. */
TSR_MUST_CHECK tsr_status tsr_bench_output_open(const char *csv, bool adds_to, bool as_table, const char *json,
                                                tsr_bench_output **output, tsr_error *error);
void tsr_bench_output_row(tsr_bench_output *output, const tsr_bench_row *row);
/* A line that starts with '#'; without it, a text of "notes" in JSON. */
TSR_PRINTF(2, 3)
void tsr_bench_output_note(tsr_bench_output *output, const char *format, ...);
/* Writes the CSV file anew, with all rows so far: it is whole at every moment. Does nothing before there is a row, nor for
 * standard output, where rows are at once. */
TSR_MUST_CHECK tsr_status tsr_bench_output_save(tsr_bench_output *output, tsr_error *error);
/* Writes what is not written, and frees the output, in any case. */
TSR_MUST_CHECK tsr_status tsr_bench_output_close(tsr_bench_output *output, tsr_error *error);

/* The names of the columns, with commas between, and the number of one; SIZE_MAX: there is none. */
const char *tsr_bench_columns(void);
size_t tsr_bench_column(const char *name);

/* Writes a text as a CSV field: quoted if it has to be. */
void tsr_bench_print_text(FILE *out, const char *text);

/* The number of one of tsr_bench_options.loads. */
double tsr_bench_load(const char *load);

/* Sorts them. */
double tsr_bench_median(double *times, size_t count);

#ifdef __cplusplus
}
#endif
#endif

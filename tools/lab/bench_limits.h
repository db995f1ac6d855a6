/* SPDX-License-Identifier: Apache-2.0
 *
 * What the device's memory allows at the sizes of the tables that a benchmark measures. Read next: roofline.h.
 */
#ifndef TSR_BENCH_LIMITS_H
#define TSR_BENCH_LIMITS_H

#include "core/tessera.h"
#include "tools/lab/bench_options.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_bench_limits tsr_bench_limits;

/* Room for `most` sizes. NULL if there is no memory. */
tsr_bench_limits *tsr_bench_limits_create(size_t most);
void tsr_bench_limits_free(tsr_bench_limits *limits); /* NULL is fine */

/* Measures device number `device` at the table's size, rounded to a power of two, unless that has been done. Where it
 * cannot, it says so on standard error: the bench goes on. */
void tsr_bench_limits_measure(tsr_bench_limits *limits, int device, const tsr_table_info *info);

/* Rows of that name, in billion operations a second at one bucket each; 0 if unknown. Reads: the smallest that
 * holds a bucket, with the number of lanes that is best at it. name: NULL = nothing bounds it. */
double tsr_bench_limits_of(const tsr_bench_limits *limits, const tsr_table_info *info, const char *name);

#ifdef __cplusplus
}
#endif
#endif

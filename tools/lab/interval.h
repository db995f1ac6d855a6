/* SPDX-License-Identifier: Apache-2.0
 *
 * How sure a median is. Read next: bench.c, which says it of ratios.
 */
#ifndef TSR_INTERVAL_H
#define TSR_INTERVAL_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Fewer samples say nothing of the spread of their median. */
enum { TSR_INTERVAL_SAMPLES_MIN = 5 };

/* The 95 % confidence interval of the median, by the bootstrap: 10,000 medians of samples that are drawn with replacement, the
 * same ones in every call. False: there are too few samples, or no memory. */
bool tsr_interval_of_median(const double *samples, size_t count, double *low, double *high);

/* How many times as fast one table is as another, of repetitions in which they took turns: what slowed down both is gone from
 * each ratio. */
typedef struct tsr_ratio {
  double median, least, most;
  bool has_interval;
  double low, high; /* of the median */
} tsr_ratio;
/* one, other: rates of `count` repetitions. False: no memory, or count is 0. */
bool tsr_ratio_of(const double *one, const double *other, size_t count, tsr_ratio *ratio);

#ifdef __cplusplus
}
#endif
#endif

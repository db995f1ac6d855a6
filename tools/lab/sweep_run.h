/* SPDX-License-Identifier: Apache-2.0
 *
 * Measuring a plan: what its CSV file does not have yet. Read next: sweep.c, which says what came of it.
 */
#ifndef TSR_SWEEP_RUN_H
#define TSR_SWEEP_RUN_H

#include <stdio.h>
#include <time.h>

#include "tools/lab/plan.h"
#include "tools/lab/results.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Measures the points that have not all their rows in the file, and adds them; rows are those of bench, with the point's
 * label in the column spec. The file is written anew after each point, so that whatever ends this leaves it whole, and the
 * next call goes on there. *all_right becomes false when an answer was wrong. Refusals and progress go to standard error.
 * until: a time of CLOCK_MONOTONIC, after which no further point is begun; NULL: none.
 * TSR_BAD_ARGUMENT: the file is no such file, or has rows that were measured under other conditions: on another device, by
 * another version, compiler or driver, with other parts, threads or seed. */
TSR_MUST_CHECK tsr_status tsr_plan_measure(const tsr_plan *plan, const char *csv, const struct timespec *until,
                                           bool *all_right, tsr_error *error);

/* Links the code of all points for this compute capability into the cubin cache, and tells each; no device is needed. */
TSR_MUST_CHECK tsr_status tsr_plan_link(FILE *to, tsr_plan *plan, uint32_t sm, tsr_error *error);

/* Whether a row of a CSV file is a point's: the same table, keys and size. */
bool tsr_point_has_row(const tsr_point *point, const tsr_results *results, size_t row);

#ifdef __cplusplus
}
#endif
#endif

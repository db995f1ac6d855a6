/* SPDX-License-Identifier: Apache-2.0
 *
 * Links the device code of a plan's points on all processors, while others are measured: what is measured finds its code
 * in the cubin cache. Read next: sweep_run.c.
 */
#ifndef TSR_LINKS_H
#define TSR_LINKS_H

#include <time.h>

#include "tools/lab/bench_session.h"
#include "tools/lab/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_links tsr_links;

/* Starts threads for the points of GPUs for which wanted[i]; there are none where no point is. plan and wanted live as
 * long. TSR_NO_MEMORY. */
TSR_MUST_CHECK tsr_status tsr_links_start(const tsr_plan *plan, const bool *wanted, tsr_links **links,
                                          tsr_error *error);
/* Waits for the code of a point, but not longer than until a time of CLOCK_MONOTONIC (NULL: none): false if that has
 * passed. *costs: what each operation's costs; NULL where it is not linked here. Costs that are all zero: it could not be
 * linked, which measuring will say. */
bool tsr_links_wait(tsr_links *links, size_t point, const struct timespec *until, const tsr_bench_cost **costs);
void tsr_links_stop(tsr_links *links); /* waits for links that have begun; NULL is fine */

#ifdef __cplusplus
}
#endif
#endif

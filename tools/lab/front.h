/* SPDX-License-Identifier: Apache-2.0
 *
 * The Pareto front of a plan: the tables that no other one beats in inserts, finds of present keys, finds of absent keys
 * and bytes a pair at once. Read next: sweep.c.
 */
#ifndef TSR_FRONT_H
#define TSR_FRONT_H

#include <stdio.h>

#include "tools/lab/plan.h"
#include "tools/lab/results.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Prints the front of the plan's rows in `results`, a line a table and load, ordered by inserts. Operations that were not
 * measured do not count; a table of which an answer was wrong, or that had no place for a key, is not in it. Tables
 * of other sizes, distributions and widths have fronts of their own. as_json: one object, with a list of all of them. TSR_NO_MEMORY. */
TSR_MUST_CHECK tsr_status tsr_front_print(FILE *out, const tsr_plan *plan, const tsr_results *results, bool as_json,
                                          tsr_error *error);

#ifdef __cplusplus
}
#endif
#endif

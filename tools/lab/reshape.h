/* SPDX-License-Identifier: Apache-2.0
 *
 * Results in another shape, for figures of files that were not written by bench: several columns as one, and several
 * measurements of a row as rows. Read next: plot_chart.h.
 */
#ifndef TSR_RESHAPE_H
#define TSR_RESHAPE_H

#include "tools/lab/results.h"

/* Adds a column that is called `list`, names of columns with commas between: a row's fields there, with blanks between;
 * fields that are not recorded are left out. TSR_BAD_ARGUMENT names a column that is not there; `option` begins the
 * sentence. */
TSR_MUST_CHECK tsr_status tsr_results_join(tsr_results *results, const char *option, const char *list,
                                           tsr_error *error);

/* Makes of each row one for each column of `list`, with its field as `value` and its name as `measurement`. */
TSR_MUST_CHECK tsr_status tsr_results_stack(tsr_results *results, const char *option, const char *list,
                                            tsr_error *error);

/* What a note `NAME: ...` says; NULL: there is none. */
const char *tsr_results_note(const tsr_results *results, const char *name);

#endif

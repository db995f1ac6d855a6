/* SPDX-License-Identifier: Apache-2.0
 *
 * A CSV of results as `tessera bench`, `roofline` and `experiment` write it: a line of names, then rows. Lines that start with
 * '#' are notes; the line of names may come again, where a file was appended to. Fields may be quoted (RFC 4180). A field
 * of '-' or nothing is: not recorded. The column `composition` becomes a column for each of its words SECTION.KEY=VALUE,
 * behind the others. Read next: plot_chart.h, which makes figures of it.
 */
#ifndef TSR_RESULTS_H
#define TSR_RESULTS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/tessera.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All texts are UTF-8 without control characters, so that they may stand in XML once they are escaped. */
typedef struct tsr_results {
  char *text;         /* what the others point into */
  char *joined;       /* that as well, of a column that reshape.h has added; or NULL */
  const char **names; /* column_count of them, no two the same */
  size_t column_count;
  const char **fields; /* row after row: row_count times column_count */
  size_t row_count;
  const char **notes; /* note_count lines, without '#' and the blank behind it */
  size_t note_count;
} tsr_results;

/* Reads the file, "-": standard input. TSR_NOT_FOUND, TSR_IO with the line, or TSR_NO_MEMORY; then *results holds
 * nothing. The caller frees it with tsr_results_free. */
TSR_MUST_CHECK tsr_status tsr_results_read(const char *path, tsr_results *results, tsr_error *error);
void tsr_results_free(tsr_results *results);

/* The number of a column; column_count if there is none of that name. */
size_t tsr_results_column(const tsr_results *results, const char *name);
/* pre: row < row_count, column < column_count. */
const char *tsr_results_field(const tsr_results *results, size_t row, size_t column);
/* False, and *number untouched, where the field is no number that is 0, or from 10^-30 to 10^30. */
bool tsr_results_number(const tsr_results *results, size_t row, size_t column, double *number);
/* Whether the field says anything. */
bool tsr_results_has(const tsr_results *results, size_t row, size_t column);

#ifdef __cplusplus
}
#endif
#endif

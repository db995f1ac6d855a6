/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of an experiment that was measured beside rivals, as specs/results/peers.csv has them: for each operation the fastest of
 * our tables and the fastest of another library. The section [picture] of the experiment's file says how they are drawn:
 *
 *   [picture]
 *   title = WORDS
 *   subtitle = WORDS
 *   plot = OPTIONS OF `tessera plot`     ; required
 *
 * They become notes of the CSV, so that `tessera plot` of it is the picture. Read next: experiment.c, which chooses the rows.
 */
#ifndef TSR_DUELS_H
#define TSR_DUELS_H

#include <stdio.h>

#include "tools/lab/results.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether an experiment's file has such a section. */
bool tsr_duels_are_asked(const tsr_spec *file);
/* Writes notes, the line of names and two rows for each operation that both have. Returns how many operations that are. Failures
 * are left in out's error flag. */
size_t tsr_duels_write(FILE *out, const tsr_spec *file, const tsr_results *rows);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * `tessera sweep`: all tables that a file lists (plan.h), composed, measured and compared.
 *
 *   sweep FILE.ini [--csv FILE.csv] [--plan] [OPTIONS of bench but specs, --csv, --append and --json]
 *
 * Rows go to --csv, else to a file in the working directory that is called like the INI, with .csv behind. What that file
 * has of the sweep already is not measured again. The Pareto front goes to standard output, all else to standard error.
 * Read next: plan.h (what a file lists), sweep_run.h, front.h.
 */
#ifndef TSR_SWEEP_H
#define TSR_SWEEP_H

#include "tools/lab/words.h"

#ifdef __cplusplus
extern "C" {
#endif

extern const tsr_synopsis tsr_sweep_synopsis;

/* argv[0] is the command's name. Returns the exit status, as bench does. */
int tsr_sweep_command(int argc, char **argv);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Running a job. Read next: job.h.
 */
#ifndef TSR_JOB_RUN_H
#define TSR_JOB_RUN_H

#include "tools/cli/console.h"
#include "tools/cli/job.h"

/* Does all of it: opens the files, composes, works, reports, writes. Pairs that found no room do not end the job, but
 * with TSR_FULL_STOP: it says how many there are and returns TSR_EXIT_UNPLACED when all is done. So it does with sums that overflowed. Says what was wrong. The
 * caller frees with tsr_job_free. */
tsr_exit tsr_job_run(tsr_job *job);

/* Frees what was made, not what was given; steps[] itself is given. */
void tsr_job_free(tsr_job *job);

#endif

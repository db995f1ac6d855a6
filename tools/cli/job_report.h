/* SPDX-License-Identifier: Apache-2.0
 *
 * What a job tells while it runs, as lines on job->report, and on standard error of pairs
 * without room and sums that overflow. Read next: job.h.
 */
#ifndef TSR_JOB_REPORT_H
#define TSR_JOB_REPORT_H

#include "tools/cli/job.h"

extern const char *const tsr_job_verbs[TSR_JOB_VERBS]; /* "insert" ... */

void tsr_report_composition(const tsr_job *job);
void tsr_report_step(const tsr_job *job, const tsr_job_step *step);
/* From job->usage, or the filter. */
tsr_status tsr_report_size(const tsr_job *job, tsr_error *error) TSR_MUST_CHECK;
/* Says that pairs of the step found no room, and what helps. */
void tsr_say_not_placed(const tsr_job *job, const tsr_job_step *step);
/* Says that sums of the step passed the largest value, and what helps. */
void tsr_say_overflows(const tsr_job *job, const tsr_job_step *step);

#endif

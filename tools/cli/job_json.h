/* SPDX-License-Identifier: Apache-2.0
 *
 * A finished job as one JSON object, for programs that read what `run` did. Names are only ever added. Read next:
 * job.h.
 */
#ifndef TSR_JOB_JSON_H
#define TSR_JOB_JSON_H

#include "tools/cli/job.h"

/* Writes the object to the file, or to standard output if it is "-". Status: TSR_IO, TSR_NO_MEMORY. */
TSR_MUST_CHECK tsr_status tsr_job_write_json(const tsr_job *job, const char *path, tsr_error *error);

#endif

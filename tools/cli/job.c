/* SPDX-License-Identifier: Apache-2.0
 *
 * What a job's spec says (job.h).
 */
#include "tools/cli/job.h"

const char *tsr_job_setting(const tsr_job *job, const char *key, const char *initial) {
  const char *value = tsr_spec_get(job->spec, "table", key);
  return value ? value : initial;
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Checkpoints of a long job: its table, saved every so often, so that a job that is killed goes on where it was. How far
 * the job was is in the file's name, FILE.at.STEP.KEYS: STEP steps are done, and KEYS keys of the next one. So table and
 * place are written in one step, and a process that is killed at any moment leaves at least one whole checkpoint. Read
 * next: job_run.c, ../../core/spec/file.h.
 */
#ifndef TSR_CHECKPOINT_H
#define TSR_CHECKPOINT_H

#include <linux/limits.h> /* PATH_MAX */

#include "core/tessera.h"
#include "tools/cli/command.h"

typedef struct tsr_checkpoint {
  const char *save; /* the name that checkpoints are called after */
  double every;     /* seconds from the end of one to the next; 0: none are made */
  bool resumes;     /* the job goes on from one that is there */
  /* made */
  char path[PATH_MAX]; /* of the last one; "": there is none */
  uint64_t step, keys; /* where it was made */
  double made;         /* seconds of a monotonic clock */
} tsr_checkpoint;

/* Reads --every ("60s", "5m", "1h") and --resume, which need --save. */
tsr_exit tsr_checkpoint_options(const tsr_arguments *arguments, tsr_checkpoint *checkpoint);

/* Finds the one that got furthest. TSR_BAD_ARGUMENT if there is one and the job does not resume; TSR_IO. */
TSR_MUST_CHECK tsr_status tsr_checkpoint_seek(tsr_checkpoint *checkpoint, tsr_error *error);

/* The steps begin: from now on time counts. */
void tsr_checkpoint_begin(tsr_checkpoint *checkpoint);

/* Saves the table if it is time, and then removes the former checkpoint. A job goes on without one that cannot be written,
 * and that is told. */
void tsr_checkpoint_pass(tsr_checkpoint *checkpoint, tsr_table *table, uint64_t step, uint64_t keys);

/* The job is done, and its table is saved: removes the last one. */
void tsr_checkpoint_end(tsr_checkpoint *checkpoint);

#endif

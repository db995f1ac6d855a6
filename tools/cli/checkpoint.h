/* SPDX-License-Identifier: Apache-2.0
 *
 * Checkpoints of a long job: its table, saved every so often while it goes on, so that a job that is killed can be taken up where
 * it was. How far the job was is in the file's name, FILE.at.STEP.KEYS: STEP steps are done, and KEYS keys of the next one. So
 * table and place become whole in one step. Two files take turns (tsr_saver), and a process that is killed at any moment leaves a
 * whole one. What is being written is FILE.at.tmp. Read
 * next: job_run.c, ../../core/spec/file.h.
 */
#ifndef TSR_CHECKPOINT_H
#define TSR_CHECKPOINT_H

#include <linux/limits.h> /* PATH_MAX */

#include "core/tessera_tools.h"
#include "tools/cli/command.h"

typedef struct tsr_checkpoint {
  const char *save; /* the name that checkpoints are called after */
  double every;     /* seconds from the beginning of one to that of the next; 0: none are made */
  bool resumes;     /* the job goes on from one that is there */
  /* made */
  char path[PATH_MAX]; /* of the last one that is whole; "": there is none */
  uint64_t step, keys; /* where it was made */
  double made;         /* when the last one was begun: seconds of a monotonic clock */
  tsr_saver *saver;    /* NULL: none has been begun */
  bool is_under_way;
  uint64_t count, written_bytes, bytes; /* of those that this job has made: how many, and their bytes together */
} tsr_checkpoint;

/* Reads --every ("60s", "5m", "1h") and --resume, which need --save. */
tsr_exit tsr_checkpoint_options(const tsr_arguments *arguments, tsr_checkpoint *checkpoint);

/* Finds the one that got furthest. TSR_BAD_ARGUMENT if there is one and the job does not resume; TSR_IO. */
TSR_MUST_CHECK tsr_status tsr_checkpoint_seek(tsr_checkpoint *checkpoint, tsr_error *error);

/* The steps begin: from now on time counts. */
void tsr_checkpoint_begin(tsr_checkpoint *checkpoint);

/* Begins one if it is time and none is under way. A job goes on without one that cannot be written, and that is told. */
void tsr_checkpoint_pass(tsr_checkpoint *checkpoint, tsr_table *table, uint64_t step, uint64_t keys);

/* The job is done, and its table is saved: gives up what is under way and removes the last one. Unless it is quiet, it says how
 * many there were, and how much of them was written. */
void tsr_checkpoint_end(tsr_checkpoint *checkpoint, bool is_quiet);
/* The job has failed: what is under way is finished, and the last one stays. */
void tsr_checkpoint_leave(tsr_checkpoint *checkpoint);

#endif

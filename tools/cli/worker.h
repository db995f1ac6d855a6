/* SPDX-License-Identifier: Apache-2.0
 *
 * What a job does with one chunk of keys: the arrays of an operation where the table lives, so that copying is not timed,
 * the operation, and the rows that come of it. Read next: job.h.
 */
#ifndef TSR_WORKER_H
#define TSR_WORKER_H

#include "tools/cli/job.h"

/* Zeroed but for the first three to begin with. */
typedef struct tsr_worker {
  tsr_job *job;
  tsr_row_writer *out, *unplaced; /* where rows of finds go, and pairs that found no room; NULL: nowhere */
  uint64_t room;                  /* keys that the arrays have room for */
  /* where the table lives */
  void *keys, *values;
  uint8_t *codes;
  uint64_t *numbers; /* offsets of each key's values, or its number of pairs */
  void *all_values;
  uint64_t value_room;                   /* of these */
  void *unplaced_keys, *unplaced_values; /* of an insert that lists them */
  /* copies on the host */
  uint8_t *host_codes;
  uint64_t *host_numbers;
  char *host_keys, *host_values;
} tsr_worker;

/* The calls that the job's steps make: a sum of TSR_PREPARE_. */
uint32_t tsr_worker_calls(const tsr_worker *worker);

/* Links the operations of the job's steps, which is done when they are first used, with one key and no trace. */
TSR_MUST_CHECK tsr_status tsr_worker_warm_up(const tsr_worker *worker, tsr_error *error);

/* Performs the step's operation with a chunk of its keys and adds what happened to the step. Status: as of the operation;
 * of tsr_memory_allocate; TSR_NO_MEMORY. */
TSR_MUST_CHECK tsr_status tsr_worker_do(tsr_worker *worker, tsr_job_step *step, const tsr_chunk *chunk,
                                        tsr_error *error);

/* Frees the arrays; the writers are the caller's. */
void tsr_worker_free(tsr_worker *worker);

#endif

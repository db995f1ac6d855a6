/* SPDX-License-Identifier: Apache-2.0
 *
 * Inserting a file in batches that double. A table whose lists are made in bulk makes all of them anew with each batch, so
 * equal batches would cost the square of the file. Read next: stream.h (the chunks); join_command.c and job_run.c (the
 * users).
 */
#ifndef TSR_GATHER_H
#define TSR_GATHER_H

#include "tools/cli/stream.h"

/* Inserts a batch; its memory is free afterwards. */
typedef tsr_status tsr_gather_insert(void *context, const tsr_chunk *batch, tsr_error *error);

/* Of processes that insert together: makes *waits what all of them have. */
typedef tsr_status tsr_gather_agree(void *context, bool *waits, tsr_error *error);

typedef struct tsr_gather { /* begins with the first five, the rest 0 */
  tsr_gather_insert *insert;
  tsr_gather_agree *agree; /* NULL: this process inserts alone. Otherwise batches may be empty */
  void *context;
  uint32_t key_bytes, value_bytes; /* value_bytes: 0 where no values are wanted */
  char *keys, *values;
  uint64_t count, room; /* gathered, and what the arrays have room for */
  uint64_t inserted;
} tsr_gather;

/* Inserts the chunk and all that was gathered, once these are as many as were inserted before; keeps a copy until then. */
TSR_MUST_CHECK tsr_status tsr_gather_add(tsr_gather *gather, const tsr_chunk *chunk, tsr_error *error);
/* Inserts the rest. */
TSR_MUST_CHECK tsr_status tsr_gather_finish(tsr_gather *gather, tsr_error *error);
void tsr_gather_free(tsr_gather *gather);

#endif

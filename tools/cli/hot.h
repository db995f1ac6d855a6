/* SPDX-License-Identifier: Apache-2.0
 *
 * Warns of a key that makes a job take the square of its pairs: in open addressing each insert passes all pairs of its key.
 * Only tables that keep every pair have such keys. `check` says the same before there are any (../../core/table/check.c).
 */
#ifndef TSR_HOT_H
#define TSR_HOT_H

#include "tools/cli/job.h"

/* Zeroed to begin with. */
typedef struct tsr_hot {
  bool is_told;
  uint64_t items; /* that were inserted */
  double equal;   /* how many of these have the commonest key, by samples */
} tsr_hot;

/* Looks at some keys of a chunk before it is inserted. Tells once, when the commonest key costs more than all others. */
void tsr_hot_look(tsr_hot *hot, const tsr_job *job, const char *path, const tsr_chunk *chunk);

#endif

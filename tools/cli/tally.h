/* SPDX-License-Identifier: Apache-2.0
 *
 * How many numbers have each value: a histogram. Most values are small and are counted in an array, the others are kept and
 * sorted. Read next: kmer_counter.h, kmer_kernel.h and pairs.h, which make one.
 */
#ifndef TSR_TALLY_H
#define TSR_TALLY_H

#include "tools/cli/data_file.h"

enum { TSR_TALLY_SMALL = 1 << 12 };

/* A struct of zeros is empty. */
typedef struct tsr_tally {
  uint64_t small[TSR_TALLY_SMALL]; /* how many numbers have this value */
  uint64_t *large;                 /* the others themselves: large_count, and room for large_room */
  uint64_t large_count, large_room;
  bool has_failed; /* for want of memory; some are missing then */
} tsr_tally;

/* Adds a number that is not small. */
void tsr_tally_add_large(tsr_tally *tally, uint64_t value);

static inline void tsr_tally_add(tsr_tally *tally, uint64_t value) {
  if (value < TSR_TALLY_SMALL)
    tally->small[value]++;
  else
    tsr_tally_add_large(tally, value);
}

/* Moves all numbers of one to the other. */
void tsr_tally_move(tsr_tally *to, tsr_tally *from);

/* How many numbers there are. */
uint64_t tsr_tally_count(const tsr_tally *tally);

/* Prints lines "value number" to standard output, in ascending order, of values of at least `least`. Status: TSR_NO_MEMORY. */
TSR_MUST_CHECK tsr_status tsr_tally_print(tsr_tally *tally, uint64_t least, tsr_error *error);

void tsr_tally_end(tsr_tally *tally); /* it is empty then; NULL is fine */

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts k-mers on the CPU without one large table: letters become super-k-mers in bins (supermers.h), and the k-mers of each
 * bin are counted in a table that the caches hold. Memory holds the super-k-mers, and pairs of k-mer and count. When
 * super-k-mers outgrow both a limit and the pairs, they are counted and become pairs. So memory depends on the distinct
 * k-mers, and on the input's size only up to the limit. Read next: count_command.c, the user.
 */
#ifndef TSR_KMER_COUNTER_H
#define TSR_KMER_COUNTER_H

#include "tools/cli/pairs.h"
#include "tools/cli/tally.h"

typedef struct tsr_kmer_counter tsr_kmer_counter;

/* limit: bytes of super-k-mers that memory may hold before they are counted. The caller frees with tsr_kmer_counter_free.
 * pre: kmers is 1 to 64. Status: TSR_NO_MEMORY. */
TSR_MUST_CHECK tsr_status tsr_kmer_counter_new(uint32_t kmers, bool canonical, uint64_t limit,
                                               tsr_kmer_counter **counter, tsr_error *error);
/* Adds the k-mers of letters (tsr_sequence_next) by all cores. 8 bytes behind them may be read. Status: TSR_NO_MEMORY. */
TSR_MUST_CHECK tsr_status tsr_kmer_counter_add(tsr_kmer_counter *counter, const uint8_t *letters, uint64_t count,
                                               tsr_error *error);
/* All distinct k-mers, as keys of key_bits, with their counts of 64 bits; the counter is empty then. The caller frees
 * *pairs. Status: TSR_NO_MEMORY. */
TSR_MUST_CHECK tsr_status tsr_kmer_counter_take(tsr_kmer_counter *counter, uint32_t key_bits, tsr_pairs *pairs,
                                                tsr_error *error);
/* How many distinct k-mers there are of each count, without the k-mers themselves; the counter is empty then. The caller ends
 * the tally. Status: TSR_NO_MEMORY. */
TSR_MUST_CHECK tsr_status tsr_kmer_counter_tally(tsr_kmer_counter *counter, tsr_tally *tally, tsr_error *error);
void tsr_kmer_counter_free(tsr_kmer_counter *counter); /* NULL is fine */

#endif

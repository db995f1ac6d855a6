/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts k-mers in a table on a GPU: letters go to the device, one byte each, a kernel makes k-mers of them there, and the table
 * gets these as one batch. Without a compiler for kernels the host makes the k-mers. Read next: count_command.c, the user.
 */
#ifndef TSR_KMER_KERNEL_H
#define TSR_KMER_KERNEL_H

#include "tools/cli/dataset.h"
#include "tools/cli/tally.h"

typedef struct tsr_kmer_kernel tsr_kmer_kernel;

/* table: a counter with keys of 32 bits up to 16 letters, 64 up to 32, and 128 up to 64. room: the most letters of a call. The
 * caller frees with tsr_kmer_kernel_free, before the table. pre: kmers is 1 to 64. Status: TSR_NO_MEMORY. */
TSR_MUST_CHECK tsr_status tsr_kmer_kernel_new(tsr_table *table, uint32_t kmers, bool canonical, uint64_t room,
                                              tsr_kmer_kernel **kernel, tsr_error *error);
/* Adds the k-mers of letters (tsr_sequence_next). Waits. Status: as of tsr_insert. */
TSR_MUST_CHECK tsr_status tsr_kmer_kernel_add(tsr_kmer_kernel *kernel, const uint8_t *letters, uint64_t count,
                                              tsr_error *error);
/* How many k-mers of the table have each count, without a copy of the table. added: the k-mers that were added so far, which
 * bounds those of large counts. The caller ends the tally. Status: as of tsr_for_all. */
TSR_MUST_CHECK tsr_status tsr_kmer_kernel_tally(tsr_kmer_kernel *kernel, uint64_t added, tsr_tally *tally,
                                                tsr_error *error);
/* Whether the device makes the k-mers; otherwise *why says why it does not. */
bool tsr_kmer_kernel_is_on_device(const tsr_kmer_kernel *kernel, const char **why);
void tsr_kmer_kernel_free(tsr_kmer_kernel *kernel); /* NULL is fine */

#endif

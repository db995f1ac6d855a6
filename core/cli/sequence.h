/* SPDX-License-Identifier: Apache-2.0
 *
 * k-mers of FASTA and FASTQ files, plain or compressed by gzip.
 *
 * A k-mer is K letters in a row, packed with 2 bits a letter: A C G T (either case) are 0 1 2 3,
 * the first letter most significant. Any other letter breaks it; it never spans two records. FASTA
 * sequences may go over any number of lines of any length; FASTQ records have four lines.
 * The text is streamed: memory holds the keys only.
 * Read next: dataset.h, whose reader calls this one and adds the values.
 */
#ifndef TSR_SEQUENCE_H
#define TSR_SEQUENCE_H

#include "core/cli/data_file.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_sequence_format {
  bool is_fastq;
  bool is_gzip;
} tsr_sequence_format;

/* Whether the ending of `path` is one of a sequence file, and which. */
bool tsr_sequence_format_of(const char *path, tsr_sequence_format *out);

/* Reads all k-mers of the open regular file `file`; `path` is for sentences. Sets all of *out but
 * the values, which are NULL; the caller frees it with tsr_dataset_free. On failure *out is
 * untouched. pre: options->kmers is 1 to options->key_bits / 2. Status: TSR_IO, TSR_NO_MEMORY.
 * Thread-safe. */
TSR_MUST_CHECK tsr_status tsr_sequence_read(int file, const char *path, tsr_sequence_format format,
                                            const tsr_dataset_options *options, tsr_dataset *out, tsr_error *error);

#ifdef __cplusplus
}
#endif
#endif

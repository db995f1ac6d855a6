/* SPDX-License-Identifier: Apache-2.0
 *
 * The inputs of `tessera run`: files of keys (and values) as arrays.
 *
 * The ending of a file's name says what it holds, because nothing inside a raw array or a table of
 * numbers does:
 *   .tsv                  lines of `key` or `key value` (tab or spaces between; decimal or 0x hex);
 *                         blank lines and lines starting with '#' are skipped
 *   .csv                  the same with a comma between; the first line may name the columns
 *   .u32 .u64             raw little-endian arrays of keys
 *   .npy                  NumPy arrays of keys, or of rows of a key and a value (npy.h)
 *   .fa .fasta .fna       FASTA; .fq .fastq: FASTQ: the k-mers are the keys
 * The endings may be in capitals, and all but arrays may have .gz behind and be pipes. "-" is standard input, plain or
 * gzip: sequences if there are k-mers to read, else lines of numbers.
 * What cannot be read whole is refused with a sentence; a row is never skipped or cut to fit.
 * Read next: sequence.h (k-mers), rows.h (the output).
 */
#ifndef TSR_DATASET_H
#define TSR_DATASET_H

#include "core/cli/sequence.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads the file at `path`. On success the caller frees *out with tsr_dataset_free; on failure *out
 * is untouched. Status: TSR_NOT_FOUND (no such file), TSR_IO (unreadable, malformed, without a key,
 * or a number that does not fit its width), TSR_NO_MEMORY, TSR_BAD_ARGUMENT (options that
 * contradict the rules above, each other or the kind of file). Thread-safe. */
TSR_MUST_CHECK tsr_status tsr_dataset_read(const char *path, const tsr_dataset_options *options, tsr_dataset *out,
                                           tsr_error *error);

/* The same file by pieces, for what is larger than memory: FASTA and FASTQ only. One thread at a time. */
typedef struct tsr_input tsr_input;

/* Opens it; `path` and *options as above, `path` lives as long. The caller closes. */
TSR_MUST_CHECK tsr_status tsr_input_open(const char *path, const tsr_dataset_options *options, tsr_input **input,
                                         tsr_error *error);
/* As tsr_sequence_next. pre: options->kmers > 0. */
TSR_MUST_CHECK tsr_status tsr_input_kmers(tsr_input *input, void *keys, uint64_t room, uint64_t *count,
                                          tsr_error *error);
uint64_t tsr_input_bytes(const tsr_input *input); /* of the file as it lies there; 0: unknown, of a pipe */
bool tsr_input_is_compressed(const tsr_input *input);
uint64_t tsr_input_consumed(const tsr_input *input); /* of those bytes, so far */
tsr_sequence_facts tsr_input_describe(const tsr_input *input);
void tsr_input_close(tsr_input *input); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif

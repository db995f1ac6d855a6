/* SPDX-License-Identifier: Apache-2.0
 *
 * The inputs of `tessera run`: files of keys (and values) as arrays.
 *
 * The ending of a file's name says what it holds, because nothing inside a raw array or a table of
 * numbers does:
 *   .tsv                  lines of `key` or `key value` (tab or spaces between; decimal or 0x hex);
 *                         blank lines and lines starting with '#' are skipped
 *   .u32 .u64             raw little-endian arrays of keys
 *   .npy                  NumPy arrays of keys, or of rows of a key and a value (npy.h)
 *   .fa .fasta .fna       FASTA; .fq .fastq: FASTQ; each also with .gz behind: the k-mers are the
 *                         keys
 * What cannot be read whole is refused with a sentence; a row is never skipped or cut to fit.
 * Read next: sequence.h (k-mers), rows.h (the output).
 */
#ifndef TSR_DATASET_H
#define TSR_DATASET_H

#include "core/cli/data_file.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads the file at `path`. On success the caller frees *out with tsr_dataset_free; on failure *out
 * is untouched. Status: TSR_NOT_FOUND (no such file), TSR_IO (unreadable, malformed, without a key,
 * or a number that does not fit its width), TSR_NO_MEMORY, TSR_BAD_ARGUMENT (options that
 * contradict the rules above, each other or the kind of file). Thread-safe. */
TSR_MUST_CHECK tsr_status tsr_dataset_read(const char *path, const tsr_dataset_options *options, tsr_dataset *out,
                                           tsr_error *error);

#ifdef __cplusplus
}
#endif
#endif

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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/tessera.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_dataset_options {
  uint32_t key_bits;   /* 32 or 64 */
  uint32_t value_bits; /* 0, 32 or 64; 0 only if want_values is false */
  bool want_values;    /* every key needs a value; else values in a .tsv are read over */
  uint32_t kmers;      /* letters per k-mer, 1 to key_bits / 2; 0 for files that are no sequences */
  bool canonical;      /* the key is the smaller one of a k-mer and its reverse complement */
} tsr_dataset_options;

typedef struct tsr_dataset {
  void *keys;             /* uint32_t[count] or uint64_t[count], by key_bits */
  void *values;           /* the same by value_bits; NULL if none were wanted. Those of arrays of keys and of
                             sequences are the key's index: 0, 1, 2 ... */
  uint64_t count;         /* at least 1 */
  uint64_t records;       /* of a sequence file, as are the next two */
  uint64_t bases;         /* letters of all records, N included */
  uint64_t kmers_skipped; /* windows of K letters that hold another letter than A, C, G or T */
} tsr_dataset;

/* Reads the file at `path`. On success the caller frees *out with tsr_dataset_free; on failure *out
 * is untouched. Status: TSR_NOT_FOUND (no such file), TSR_IO (unreadable, malformed, without a key,
 * or a number that does not fit its width), TSR_NO_MEMORY, TSR_BAD_ARGUMENT (options that
 * contradict the rules above, each other or the kind of file). Thread-safe. */
TSR_MUST_CHECK tsr_status tsr_dataset_read(const char *path, const tsr_dataset_options *options, tsr_dataset *out,
                                           tsr_error *error);

/* Frees the arrays and clears the struct; a cleared one is allowed. */
void tsr_dataset_free(tsr_dataset *dataset);

#ifdef __cplusplus
}
#endif
#endif

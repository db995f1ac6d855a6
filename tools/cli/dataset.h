/* SPDX-License-Identifier: Apache-2.0
 *
 * The inputs of `tessera run`: files of keys (and values), read by pieces, for they may be larger than memory.
 *
 * The ending of a file's name says what it holds, because nothing inside a raw array or a table of
 * numbers does:
 *   .tsv                  rows of text: a key, or a key and a value, with one tab or any blanks between; decimal or 0x hex
 *   .csv                  the same with a comma between, and quotes as of RFC 4180
 *   .txt                  the same; the first row tells whether tabs, commas or blanks are between
 *   .u32 .u64             raw little-endian arrays of keys
 *   .npy                  NumPy arrays of keys, or of rows of a key and a value (npy.h)
 *   .fa .fasta .fna .fas .ffn .fsa .mfa .faa .frn .fq .fastq, and .txt with k-mers: FASTA or FASTQ, as the first letter
 *                         tells: the k-mers are the keys
 * A row of text is read by position: an empty field is an empty field, which is no number. Empty lines are skipped, and so
 * are lines that start with '#', in a .csv before the first row alone. A first row that has names and nothing else names the columns; then, or where columns are chosen
 * by name or number, every row has as many. More than two columns are read only where two are chosen.
 * The endings may be in capitals, and all but arrays may have .gz, .bz2, .xz or .zst behind and be pipes. "-" is standard
 * input, and a pipe may have any name, as a shell makes it for <(command): both may be compressed, and hold sequences if
 * there are k-mers to read, and otherwise rows as of .txt.
 * A part of a file is read where the options say so (data_file.h): arrays are cut by rows, plain text where a row or record
 * begins.
 * A file without any key is an input with none, unless the options are strict. What cannot be read whole is refused with a
 * sentence; a row is left out only where the options say so, and it is counted.
 * Read next: sequence.h (k-mers), tsv.h (rows), stream.h (many files, by a thread), rows.h (the output).
 */
#ifndef TSR_DATASET_H
#define TSR_DATASET_H

#include "tools/cli/sequence.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_input tsr_input;

/* The widths that a table's files are read with, as its spec says them: of counts of 8 and 16 bits 32, of value_bytes
 * eight times as many, and 0 where there are no values. *form gets the columns of a key. Status: TSR_BAD_SPEC. */
TSR_MUST_CHECK tsr_status tsr_dataset_widths(const tsr_spec *spec, tsr_key_form *form, uint32_t *key_bits,
                                             uint32_t *value_bits, tsr_error *error);

typedef struct tsr_input_facts {
  uint64_t keys;              /* so far */
  uint64_t keys_known;        /* of all that is to be read, where the file's size tells; else 0 */
  uint64_t bytes_read, bytes; /* so far, of what is to be read as it is there; bytes is 0 where it is a pipe */
  uint64_t file_bytes;        /* of the whole file; 0: a pipe */
  tsr_sequence_facts sequences;
  tsr_column_names names; /* of rows of text; known to the part that has the file's begin, as is keys_alone */
  uint64_t rows_skipped;  /* by options->skips_null */
  bool keys_alone;        /* with TSR_VALUE_OPTIONAL: no row has a value */
  bool is_others;         /* another part has all of it, and this one nothing */
  bool lacks_end;         /* of bgzip: its last block is missing, so that the file may be cut */
} tsr_input_facts;

/* Opens it, but a pipe that somebody may not write yet; `path` lives as long. The caller closes. Status: TSR_NOT_FOUND (no
 * such file), TSR_IO (unreadable, malformed), TSR_NO_MEMORY, TSR_BAD_ARGUMENT (options that contradict the rules above,
 * each other or the kind of file). One thread at a time. */
TSR_MUST_CHECK tsr_status tsr_input_open(const char *path, const tsr_dataset_options *options, tsr_input **input,
                                         tsr_error *error);
/* Whether it can be opened so, and what that tells of it; it does not stay open. Status: as of tsr_input_open. */
TSR_MUST_CHECK tsr_status tsr_input_look(const char *path, const tsr_dataset_options *options, tsr_input_facts *facts,
                                         tsr_error *error);
/* Writes up to `room` further keys, and their values if they are wanted, in their order; *count = 0 only at the end.
 * Status: TSR_IO (unreadable, malformed, or a number that does not fit its width),
 * TSR_NO_MEMORY; what was written then is to be left alone. pre: room >= TSR_SEQUENCE_ROOM. */
TSR_MUST_CHECK tsr_status tsr_input_read(tsr_input *input, uint64_t room, void *keys, void *values, uint64_t *count,
                                         tsr_error *error);

tsr_input_facts tsr_input_describe(const tsr_input *input);
void tsr_input_close(tsr_input *input); /* NULL is fine */

#ifdef __cplusplus
}
#endif
#endif

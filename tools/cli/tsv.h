/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of text: `key` or `key value`, or any columns two of which are chosen; dataset.h says what is accepted.
 * The text is streamed: memory holds one block of it. Read next: dataset.h, whose reader calls this one.
 */
#ifndef TSR_TSV_H
#define TSR_TSV_H

#include "tools/cli/cut.h"

typedef struct tsr_tsv tsr_tsv;

typedef struct tsr_tsv_facts { /* of the rows so far */
  tsr_column_names names;
  uint64_t rows_skipped; /* by options->skips_null */
  bool keys_alone;       /* with TSR_VALUE_OPTIONAL: no row has a value */
} tsr_tsv_facts;

/* Begins to read the rows that begin in a range of `text`, as `path`, which is for sentences; text, path and options must live
 * as long. The first row of the file says what columns there are, whatever the range. separator: of the file's
 * kind, ',' or '\t' (a row without a tab is cut at blanks), or 0, for the first row to tell; options->separator comes
 * first. The caller frees *tsv with tsr_tsv_free. Status: TSR_NO_MEMORY. */
TSR_MUST_CHECK tsr_status tsr_tsv_begin(tsr_text *text, const char *path, char separator, tsr_range range,
                                        const tsr_dataset_options *options, tsr_tsv **tsv, tsr_error *error);

/* Writes the keys of up to `room` further rows to keys, and their values, if they are wanted, to values; *count = 0 only at
 * the end. Status: TSR_IO, TSR_NO_MEMORY. */
TSR_MUST_CHECK tsr_status tsr_tsv_next(tsr_tsv *tsv, uint64_t room, void *keys, void *values, uint64_t *count,
                                       tsr_error *error);

tsr_tsv_facts tsr_tsv_describe(const tsr_tsv *tsv);

void tsr_tsv_free(tsr_tsv *tsv); /* NULL is fine */

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of numbers: `key` or `key value`, with blanks or, in a .csv, commas between; dataset.h says what is accepted.
 * The text is streamed: memory holds one block of it. Read next: dataset.h, whose reader calls this one.
 */
#ifndef TSR_TSV_H
#define TSR_TSV_H

#include "tools/cli/text.h"

typedef struct tsr_tsv tsr_tsv;

/* Begins to read lines from `text`, as `path`, which is for sentences; all three must live as long. The caller frees *tsv
 * with tsr_tsv_free. Status: TSR_NO_MEMORY. */
TSR_MUST_CHECK tsr_status tsr_tsv_begin(tsr_text *text, const char *path, bool is_csv,
                                        const tsr_dataset_options *options, tsr_tsv **tsv, tsr_error *error);

/* Writes the keys of up to `room` further lines to keys, and their values, if they are wanted, to values; *count = 0 only
 * at the end. Lines without any are refused there. Status: TSR_IO, TSR_NO_MEMORY. */
TSR_MUST_CHECK tsr_status tsr_tsv_next(tsr_tsv *tsv, uint64_t room, void *keys, void *values, uint64_t *count,
                                       tsr_error *error);

void tsr_tsv_free(tsr_tsv *tsv); /* NULL is fine */

#endif

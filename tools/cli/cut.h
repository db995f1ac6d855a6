/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a part of a text file begins, so that processes read a part each. A part has the rows or records that begin in a
 * range of bytes. The place is found in the text around it, and all processes find the same one. Read next: data_file.h
 * (parts), tsv.h and sequence.h (the users).
 */
#ifndef TSR_CUT_H
#define TSR_CUT_H

#include "tools/cli/text.h"

/* Bytes of a file: what begins from `from` on and before `to`. */
typedef struct tsr_range {
  uint64_t from, to; /* to = UINT64_MAX: to the end of the file */
} tsr_range;

static const tsr_range tsr_range_of_all = {0, UINT64_MAX};

/* The part of a text of that many bytes. */
tsr_range tsr_range_of_part(const tsr_part *part, uint64_t bytes);

/* A place before `from` where a row begins, however rows are quoted: 0, or behind a line end before which no quote is near
 * enough to be of the same row. A row has fewer than row_bytes. */
TSR_MUST_CHECK tsr_status tsr_cut_rows(const tsr_text *text, uint64_t from, size_t row_bytes, uint64_t *at,
                                       tsr_error *error);

/* Where the first record begins from `from` on; the end of the file if none does. A FASTQ record is taken to begin in a line
 * with '@' that lines of letters and then one with '+' follow. A line of qualities can look so: whoever reads up to this
 * place knows better. */
TSR_MUST_CHECK tsr_status tsr_cut_records(const tsr_text *text, bool is_fastq, uint64_t from, uint64_t *at,
                                          tsr_error *error);

#endif

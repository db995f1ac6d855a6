/* SPDX-License-Identifier: Apache-2.0
 *
 * The output of `tessera run`: rows of results, or of pairs as its inputs have them, as text or as an array of NumPy,
 * written as they come. Read next: dataset.h (the inputs), npy.h.
 */
#ifndef TSR_ROWS_H
#define TSR_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/cli/data_file.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The results of one bulk query, or pairs. The arrays belong to the caller. */
typedef struct tsr_rows {
  const void *keys;     /* items of 4, 8 or 16 bytes, by key_bits */
  const void *values;   /* the same by value_bits; NULL if value_bits is 0 */
  const uint8_t *found; /* not 0 for keys that were found; NULL: these are pairs */
  uint64_t count;
  uint32_t
      key_bits; /* 32, 64 or 128, whose lines have 0x and 32 digits, and arrays two columns, the lower half first */
  uint32_t value_bits;      /* 0, 32 or 64; or more: of whole bytes, in hexadecimal, the first one first */
  const tsr_key_form *form; /* NULL: a key is a number. Of several columns, each is a column */
  uint32_t letters;         /* not 0: the keys are k-mers of that many letters, and written as these */
  uint32_t right_bits;      /* 0; or of a second value, as value_bits: rows of a join */
  const void *rights;       /* NULL: none of these rows has one, which is written as '-', in an array as 0 */
  bool
      may_lack_right; /* a join that gives rows without a right pair: an array has a further column, 1 if there is one and
                          otherwise 0; lines without right values have '+' or '-' */
  bool has_right;     /* with it: these rows have one */
  /* of a file, when it is begun */
  bool signed_keys, signed_values; /* both values */
  const char
      *names[3]; /* of the columns key, value and right; NULL or "": as they are called here. Those of a key of several
                           columns have commas between */
} tsr_rows;

/* A file of rows of one kind. One line a row: the key, a tab, and the value in decimal, '+' if the key was found but has
 * no value, or '-' if it was not found; of pairs the key, and the value if there are values, as dataset.h reads them.
 * The name's ending may ask for another form, in capitals too: .csv, with commas and a first line that names the columns;
 * .tsv, with such a line if the key is given a name but "key"; .tsv.gz and .csv.gz (any name that ends in .gz), compressed; .npy, an array of
 * columns '<u8', or '<i8' where numbers are signed: key and value (0 if there is none), and of results 1 if the key was
 * found, otherwise 0; of keys alone one column.
 * A file appears under its name whole or not at all, in place of one that is there (file.h). "-" is standard output; a
 * device or pipe is written in place, but no array, whose header says how many rows there are. */
typedef struct tsr_row_writer tsr_row_writer;

/* TSR_BAD_ARGUMENT if the ending of an output's name is one of a form that rows cannot have. `option` is for the
 * sentence. "-" and NULL are fine. */
TSR_MUST_CHECK tsr_status tsr_rows_check_name(const char *option, const char *path, tsr_error *error);

/* The same of values that are no numbers, in an array. */
TSR_MUST_CHECK tsr_status tsr_rows_check_values(const char *option, const char *path, uint32_t value_bits,
                                                tsr_error *error);

/* Begins a file of rows that are like *kind: its widths, and whether there is `found`. `path` lives as long. The caller
 * closes *writer. Status: TSR_IO, TSR_NO_MEMORY, TSR_BAD_ARGUMENT. */
TSR_MUST_CHECK tsr_status tsr_rows_open(const char *path, const tsr_rows *kind, tsr_row_writer **writer,
                                        tsr_error *error);
/* Adds rows. What fails is told at the end, so that other work can go on. */
void tsr_rows_add(tsr_row_writer *writer, const tsr_rows *rows);
/* Ends the file and frees *writer, which may be NULL; with is_kept = false, or where anything failed, nothing of it is
 * left. Status: TSR_IO. */
TSR_MUST_CHECK tsr_status tsr_rows_close(tsr_row_writer *writer, bool is_kept, tsr_error *error);

/* All of it at once. */
TSR_MUST_CHECK tsr_status tsr_rows_write(const char *path, const tsr_rows *rows, tsr_error *error);

#ifdef __cplusplus
}
#endif
#endif

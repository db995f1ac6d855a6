/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays of NumPy: files .npy of the format versions 1.0, 2.0 and 3.0.
 *
 * Read are whole numbers of 1, 2, 4 or 8 bytes, with or without sign, of either byte order, in C or Fortran order: n numbers
 * (or n rows of one) are keys, n rows of two are keys and values. Every number must fit key_bits or value_bits; one below 0
 * fits where the options say so. A file that holds more or less than its header says is refused. Written are n rows of one
 * to four '<u8', or '<i8' where numbers are signed.
 * Read next: dataset.h and rows.h, whose reader and writer call this.
 */
#ifndef TSR_NPY_H
#define TSR_NPY_H

#include "tools/cli/data_file.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_npy tsr_npy;

/* Reads the header of the open regular file of `bytes` bytes, which stays the caller's; `path` is for sentences, and both
 * pointers live as long. The caller frees *npy with tsr_npy_free. Status: TSR_IO, TSR_NO_MEMORY. */
TSR_MUST_CHECK tsr_status tsr_npy_begin(int file, const char *path, uint64_t bytes, const tsr_dataset_options *options,
                                        tsr_npy **npy, tsr_error *error);

uint64_t tsr_npy_count(const tsr_npy *npy);  /* rows of the part that the options say */
uint64_t tsr_npy_first(const tsr_npy *npy);  /* the number of its first row in the file */
bool tsr_npy_has_values(const tsr_npy *npy); /* a row is a key and a value */

/* Writes up to `room` further keys, and their values if the array has them and `values` is not NULL; *count = 0 at the
 * end. Status: TSR_IO. */
TSR_MUST_CHECK tsr_status tsr_npy_next(tsr_npy *npy, uint64_t room, void *keys, void *values, uint64_t *count,
                                       tsr_error *error);

void tsr_npy_free(tsr_npy *npy); /* NULL is fine */

enum { TSR_NPY_HEADER_BYTES = 128 };

/* Writes the header of an array of `rows` rows of `columns` numbers '<u8', or '<i8'. */
void tsr_npy_header(uint64_t rows, uint32_t columns, bool is_signed, char header[TSR_NPY_HEADER_BYTES]);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Arrays of NumPy: files .npy of the format versions 1.0, 2.0 and 3.0.
 *
 * Read are little-endian whole numbers of 4 or 8 bytes ('<u4', '<u8', '<i4', '<i8') in C order: n numbers (or n rows of
 * one) are keys, n rows of two are keys and values. Every number must fit key_bits or value_bits; negative ones never
 * do. A file that holds more or less than its header says is refused. Written are n rows of one to three '<u8'.
 * Read next: dataset.h and rows.h, whose reader and writer call this.
 */
#ifndef TSR_NPY_H
#define TSR_NPY_H

#include "core/cli/data_file.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads the open regular file of `bytes` bytes; `path` is for sentences. Values are filled if they are wanted and the
 * array has two columns; otherwise they are NULL, and the caller adds those of an array of keys. The caller frees *out
 * with tsr_dataset_free; on failure it is untouched. Status: TSR_IO, TSR_NO_MEMORY. Thread-safe. */
TSR_MUST_CHECK tsr_status tsr_npy_read(int file, const char *path, uint64_t bytes, const tsr_dataset_options *options,
                                       tsr_dataset *out, tsr_error *error);

enum { TSR_NPY_HEADER_BYTES = 128 };

/* Writes the header of an array of `rows` rows of `columns` numbers '<u8'. */
void tsr_npy_header(uint64_t rows, uint32_t columns, char header[TSR_NPY_HEADER_BYTES]);

#ifdef __cplusplus
}
#endif
#endif

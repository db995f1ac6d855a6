/* SPDX-License-Identifier: Apache-2.0
 *
 * The output of `tessera run`: rows of results, or of pairs as its inputs have them, as text or as an array of NumPy.
 * Read next: dataset.h (the inputs), npy.h.
 */
#ifndef TSR_ROWS_H
#define TSR_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "core/tessera.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The results of one bulk query, or pairs. The arrays belong to the caller. */
typedef struct tsr_rows {
  const void *keys;     /* uint32_t[count] or uint64_t[count], by key_bits */
  const void *values;   /* the same by value_bits; NULL if value_bits is 0 */
  const uint8_t *found; /* not 0 for keys that were found; NULL: these are pairs */
  uint64_t count;
  uint32_t key_bits;   /* 32 or 64 */
  uint32_t value_bits; /* 0, 32 or 64 */
} tsr_rows;

/* Writes one line per query of all `blocks`, in order: the key, a tab, and the value in decimal, '+' if it was found but
 * has no value, or '-' if it was not found. If the name ends in .npy, the rows are instead those of an array of three
 * columns '<u8': key, value (0 if it was not found or has none), and 1 if it was found, else 0.
 * Pairs are written as dataset.h reads them: the key, and the value if there are values; in an array, one column or two.
 * The blocks of a file are all of one kind and of the same value_bits.
 * A file appears under its name whole or not at all, in place of one that is there (file.h). "-" is standard output; a
 * device or pipe is written in place. Status: TSR_IO, TSR_NO_MEMORY, TSR_BAD_ARGUMENT. */
TSR_MUST_CHECK tsr_status tsr_rows_write(const char *path, const tsr_rows *blocks, size_t block_count,
                                         tsr_error *error);

#ifdef __cplusplus
}
#endif
#endif

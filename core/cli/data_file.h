/* SPDX-License-Identifier: Apache-2.0
 *
 * What the readers and writers of files of keys and values share. Included by them (dataset.c, npy.c, sequence.c,
 * rows.c) and where arrays are printed (demo_command.c), not by headers.
 */
#ifndef TSR_DATA_FILE_H
#define TSR_DATA_FILE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "core/tessera.h"

/* Numbers of an array whose width is known at run time. pre: bits is 32 or 64, and the number fits. */
static inline uint64_t tsr_number_at(const void *array, uint32_t bits, uint64_t i) {
  return bits == 64 ? ((const uint64_t *)array)[i] : ((const uint32_t *)array)[i];
}

static inline void tsr_number_put(void *array, uint32_t bits, uint64_t i, uint64_t number) {
  assert(array);
  if (bits == 64) {
    ((uint64_t *)array)[i] = number;
  } else {
    ((uint32_t *)array)[i] = (uint32_t)number;
  }
}

/* Whether the name of a file, or its first `length` bytes, ends so. */
static inline bool tsr_name_ends(const char *name, size_t length, const char *ending) {
  size_t bytes = strlen(ending);
  return length >= bytes && memcmp(name + length - bytes, ending, bytes) == 0;
}

/* Reads so many bytes; a file that ends before has changed since its size was taken. */
TSR_MUST_CHECK tsr_status tsr_read_exactly(int file, const char *path, void *to, uint64_t bytes, tsr_error *error);

#endif

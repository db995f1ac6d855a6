/* SPDX-License-Identifier: Apache-2.0
 *
 * The arrays that readers of files make, and what the readers and writers of all kinds of files share. Read next:
 * npy.h, sequence.h (two kinds), dataset.h (any file).
 */
#ifndef TSR_DATA_FILE_H
#define TSR_DATA_FILE_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

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

/* Frees the arrays and clears the struct; a cleared one is allowed. */
void tsr_dataset_free(tsr_dataset *dataset);

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

/* Whether the name of a file, or its first `length` bytes, ends so, in small or capital letters. */
static inline bool tsr_name_ends(const char *name, size_t length, const char *ending) {
  size_t bytes = strlen(ending);
  return length >= bytes && strncasecmp(name + length - bytes, ending, bytes) == 0;
}

/* Reads so many bytes; a file that ends before has changed since its size was taken. */
TSR_MUST_CHECK tsr_status tsr_read_exactly(int file, const char *path, void *to, uint64_t bytes, tsr_error *error);

#ifdef __cplusplus
}
#endif

#endif

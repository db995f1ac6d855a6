/* SPDX-License-Identifier: Apache-2.0
 *
 * How files of keys are read, and what the readers and writers of all kinds of files share. Read next:
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

#include "core/tessera_tools.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What value a key gets that a file has none for. */
typedef enum tsr_value_rule {
  TSR_VALUE_NATURAL, /* of arrays of keys and of sequences the key's number in the file: 0, 1, 2 ...; a line is refused */
  TSR_VALUE_OPTIONAL, /* the same, but lines may all be keys alone: tsr_input_facts.keys_alone, and values of 0 */
  TSR_VALUE_NEEDED,   /* every file without is refused: for tables that add values up */
  TSR_VALUE_ORDINAL,  /* the key's number in the file, of a line too */
  TSR_VALUE_CONSTANT, /* tsr_dataset_options.value; of a value that is no number all bytes are 0 */
} tsr_value_rule;

/* How a key is written that is no single number. */
typedef struct tsr_key_form {
  tsr_key_parts parts;     /* count = 0: it has no columns */
  struct tsr_texts *texts; /* texts.h; NULL: it is no text */
} tsr_key_form;

static inline struct tsr_texts *tsr_form_texts(const tsr_key_form *form) { return form ? form->texts : NULL; }

/* How many columns a key has in a file. form: NULL: it is a number. */
static inline uint32_t tsr_form_columns(const tsr_key_form *form) {
  return form && form->parts.count ? form->parts.count : 1;
}

/* Part `index` of `count` of a file: a range of its rows, or what begins in a range of its bytes. The parts together hold
 * each row and record once. What cannot be cut is all in one part: what is compressed or a pipe, standard input (part 0), and
 * text whose keys get their number in the file as values. */
typedef struct tsr_part {
  uint32_t index, count; /* count 0 or 1: all of it */
  uint32_t turn;         /* the part that has all of a file which is not cut */
  bool stays_whole;      /* the file is not cut */
} tsr_part;

static inline bool tsr_part_is_all(const tsr_part *part) { return part->count < 2; }

/* Where a part of that many items begins, which is where the one before it ends. The first part has the first item. */
static inline uint64_t tsr_part_begin(const tsr_part *part, uint32_t index, uint64_t items) {
  return items / part->count * index + (items % part->count * index + part->count - 1) / part->count;
}

typedef struct tsr_dataset_options {
  tsr_part part;
  uint32_t key_bits; /* 32, 64 or 128; or TSR_LETTER_BITS, for the letters of sequences in place of their k-mers */
  uint32_t
      value_bits;   /* 0, 32 or 64; 0 only if want_values is false. Or more: a value is that many bits in whole bytes,
                                which a line has as two hexadecimal digits each, the first byte first */
  bool want_values; /* every key needs a value; else values in a .tsv are read over */
  uint32_t kmers;   /* letters per k-mer, 1 to key_bits / 2; 0 for files that are no sequences */
  bool canonical;   /* the key is the smaller one of a k-mer and its reverse complement */
  tsr_value_rule value_rule; /* where values are wanted */
  uint64_t value;            /* of TSR_VALUE_CONSTANT; fits value_bits */
  const tsr_key_form *form;  /* NULL: a key is a number */
  const char
      *key_column; /* of lines of text: a name, or a number from 1 as "2" or "@2"; NULL: the first column. Of a key
                                of several columns as many between commas */
  const char *value_column; /* NULL: the other one of two, or none */
  char separator;           /* between columns; 0: as the file's name or its first row says; ' ': blanks */
  bool skips_null;          /* leaves rows out whose key or wanted value is empty, \N or -, instead of refusing them */
  bool signed_keys;         /* numbers below 0 are read, as two's complement; then the largest is 2^(bits - 1) - 1 */
  bool signed_values;       /* the same */
  bool is_strict;           /* a file without any key is refused */
} tsr_dataset_options;

enum { TSR_VALUE_BYTES_MAX = 256, TSR_LETTER_BITS = 8 };

/* What the first row of a file calls its columns; "" where there is no such row, or not this column. */
enum { TSR_NAME_BYTES = 64 };
typedef struct tsr_column_names {
  char key[4 * TSR_NAME_BYTES]; /* of several columns with commas between */
  char value[TSR_NAME_BYTES];
} tsr_column_names;

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

/* Keys of any width. */
typedef unsigned __int128 tsr_any_key;

static inline tsr_any_key tsr_key_at(const void *array, uint32_t bits, uint64_t i) {
  tsr_any_key key = 0;
  memcpy(&key, (const char *)array + i * (bits / 8), bits / 8);
  return key;
}

static inline void tsr_key_put(void *array, uint32_t bits, uint64_t i, tsr_any_key key) {
  assert(array);
  memcpy((char *)array + i * (bits / 8), &key, bits / 8);
}

static inline tsr_any_key tsr_part_mask(const tsr_key_part *part) {
  return (((tsr_any_key)1 << (8 * part->bytes - 1)) << 1) - 1;
}

/* The number in a column of a key; one below 0 in two's complement of 64 bits. */
static inline uint64_t tsr_part_of(tsr_any_key key, const tsr_key_part *part) {
  const uint64_t number = (uint64_t)(key >> (8 * part->offset) & tsr_part_mask(part));
  const uint64_t sign = UINT64_C(1) << (8 * part->bytes - 1);
  return part->is_signed && (number & sign) ? number | ~(sign - 1) : number;
}

static inline tsr_any_key tsr_part_put(tsr_any_key key, const tsr_key_part *part, uint64_t number) {
  return key | (number & tsr_part_mask(part)) << (8 * part->offset);
}

/* Whether the name of a file, or its first `length` bytes, ends so, in small or capital letters. */
static inline bool tsr_name_ends(const char *name, size_t length, const char *ending) {
  size_t bytes = strlen(ending);
  return length >= bytes && strncasecmp(name + length - bytes, ending, bytes) == 0;
}

/* The sentence about a key whose number in the file does not fit value_bits = 32. Returns TSR_IO. */
tsr_status tsr_refuse_ordinal(const char *path, tsr_error *error);

/* The sentence about a file without any key: TSR_IO where options say so, otherwise TSR_OK. */
TSR_MUST_CHECK tsr_status tsr_refuse_empty(const char *path, const tsr_dataset_options *options, tsr_error *error);

/* Reads that many bytes; a file that ends before has changed since its size was taken. */
TSR_MUST_CHECK tsr_status tsr_read_exactly(int file, const char *path, void *to, uint64_t bytes, tsr_error *error);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * All pairs of a table in memory: sorted, thinned, written, and how often each number of occurrences occurs. What
 * `count` and `run --export` put out in the end. Read next: rows.h (the files).
 */
#ifndef TSR_PAIRS_H
#define TSR_PAIRS_H

#include "tools/cli/data_file.h"
#include "tools/cli/rows.h"

typedef struct tsr_pairs {
  void *keys, *values; /* of `count` pairs; values: NULL if value_bits is 0 */
  uint64_t count;
  uint32_t key_bits, value_bits;
  bool signed_keys, signed_values; /* given, as are */
  const tsr_key_form *form;        /* NULL: a key is a number */
  const tsr_column_names *names;   /* NULL: none */
} tsr_pairs;

/* Copies all pairs. The caller frees. Status: as of tsr_export, and TSR_NO_MEMORY. */
TSR_MUST_CHECK tsr_status tsr_pairs_export(tsr_table *table, tsr_pairs *pairs, tsr_error *error);

/* The bits of the value at which a table's counts or sums stop; 0: they do not stop. */
uint32_t tsr_bits_of_stop(const tsr_table *table);

/* Says that such values passed the largest one. pairs: all of the table, so that the keys that have it are told; NULL: they
 * are not known. of: a file or table that the sentence begins with, or "". pre: tsr_bits_of_stop. */
void tsr_say_stopped(const char *of, const tsr_table *table, const tsr_pairs *pairs);

/* Keeps those whose value is at least `least`. pre: there are values. */
void tsr_pairs_keep(tsr_pairs *pairs, uint64_t least);

/* Sorts them by key, and those of one key by value. Keys of several columns are compared by the first column, then by the next. Status: TSR_NO_MEMORY. */
TSR_MUST_CHECK tsr_status tsr_pairs_sort(tsr_pairs *pairs, tsr_error *error);

/* Makes one pair of all of a key, sorted by key, whose value is a number of 64 bits with a sign: the sum, the least or the
 * greatest. Status: TSR_NO_MEMORY, TSR_IO (a sum does not fit). pre: signed_values, and value_bits is 32 or 64. */
typedef enum tsr_fold { TSR_FOLD_SUM, TSR_FOLD_MIN, TSR_FOLD_MAX } tsr_fold;
TSR_MUST_CHECK tsr_status tsr_pairs_fold(tsr_pairs *pairs, tsr_fold how, tsr_error *error);

/* Writes them (rows.h), as k-mers of that many letters if `letters` is not 0. */
TSR_MUST_CHECK tsr_status tsr_pairs_write(const tsr_pairs *pairs, uint32_t letters, const char *path, tsr_error *error);

/* Prints to standard output how many keys occur how often, "count number" a line in ascending order: a key occurs as often
 * as its value says, where is_counted, else as often as it has pairs. Status: TSR_NO_MEMORY. */
TSR_MUST_CHECK tsr_status tsr_pairs_histogram(tsr_pairs *pairs, bool is_counted, tsr_error *error);

void tsr_pairs_free(tsr_pairs *pairs);

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Sorting numbers by all cores: digit by digit, from the last one on (radix sort), so that memory is read and written in
 * runs. Read next: pairs.h.
 */
#ifndef TSR_SORT_H
#define TSR_SORT_H

#include <stdint.h>

/* Sorts n items of `words` words each, 1 or 2, by their first word without its `low_bits` low bits; items that are equal there
 * keep their order. spare: as large as items. Returns the one of the two arrays that has the result. */
uint64_t *tsr_sort(uint64_t *items, uint64_t *spare, uint64_t n, uint32_t words, uint32_t low_bits);

#endif

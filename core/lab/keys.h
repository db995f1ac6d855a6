/* SPDX-License-Identifier: Apache-2.0
 *
 * The keys of a benchmark: distinct, in no order, and known by their index, so that every answer can be checked without
 * keeping it.
 *
 * A key is a bijection of its index: keys of different indices differ. Indices below n are the keys that go into the
 * table; those from n to 2n - 1 are never inserted. Queries visit the indices in another order, a permutation of [0,
 * n). Everything is a function of the seed. Read next: bench.c, which asks and checks.
 */
#ifndef TSR_KEYS_H
#define TSR_KEYS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 2n must not exceed 2^key_bits where absent keys are asked for, nor n elsewhere. */
typedef struct tsr_keys {
  uint32_t key_bits, value_bits; /* 32 or 64; value_bits may be 0 */
  uint64_t n, seed;
} tsr_keys;

/* A bijection on the numbers of `bits` bits, 1 to 64. pre: x is one of them. */
uint64_t tsr_keys_mix(uint32_t bits, uint64_t x);

/* pre: index < 2^key_bits. */
uint64_t tsr_keys_at(const tsr_keys *keys, uint64_t index);

/* The value that belongs to a key; neither wider than its width. */
uint64_t tsr_keys_value(const tsr_keys *keys, uint64_t key);

/* The index that query `position` visits: a permutation of [0, n). pre: position < n. */
uint64_t tsr_keys_order(const tsr_keys *keys, uint64_t position);

/* How many queries ask for a key that is not in the table. */
typedef enum tsr_absent { TSR_ABSENT_NONE = 0, TSR_ABSENT_ALL = 1, TSR_ABSENT_HALF = 2 } tsr_absent;

/* Of `absent` = half, the queries of even indices: ceil(n / 2) of them, mixed with the others like a fair coin. */
bool tsr_keys_is_absent(tsr_absent absent, uint64_t index);

/* The following fill arrays of n items of the key's or value's width, on all processors. */
void tsr_keys_fill(const tsr_keys *keys, void *out);
void tsr_keys_fill_values(const tsr_keys *keys, void *out); /* of the keys of tsr_keys_fill */
void tsr_keys_fill_queries(const tsr_keys *keys, tsr_absent absent, void *out);

/* Item i of an array of numbers of 8, 32 or 64 bits. */
uint64_t tsr_keys_load(const void *array, uint32_t bits, uint64_t i);

#ifdef __cplusplus
}
#endif
#endif

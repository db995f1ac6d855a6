/* SPDX-License-Identifier: Apache-2.0
 *
 * The keys of a benchmark: distinct, in no order, and known by their index, so that every answer can be checked without
 * keeping it.
 *
 * A key is a bijection of its index: keys of different indices differ. Indices below n are the keys that go into the
 * table; those from n to 2n - 1 go there in a mixed batch only. Queries visit the indices in another order, a
 * permutation of [0, n). Keys may have several pairs, whose values differ by their rank. Everything is a function of
 * the seed. Read next: bench.c, which asks and checks.
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
  uint64_t pairs; /* of the n keys together, at least n: each key has as many as any other, or one more */
} tsr_keys;

/* A bijection on the numbers of `bits` bits, 1 to 64. pre: x is one of them. */
uint64_t tsr_keys_mix(uint32_t bits, uint64_t x);

/* pre: index < 2^key_bits. */
uint64_t tsr_keys_at(const tsr_keys *keys, uint64_t index);

/* The value that belongs to a key; neither wider than its width. */
uint64_t tsr_keys_value(const tsr_keys *keys, uint64_t key);

/* How many pairs the key of an index below n has. */
uint64_t tsr_keys_pairs_of(const tsr_keys *keys, uint64_t index);

/* Which pair of its key has this value: they are numbered from 0, and that of rank r has tsr_keys_value + r. At least
 * tsr_keys_pairs_of the key if none has it. pre: value_bits is not 0. */
uint64_t tsr_keys_rank(const tsr_keys *keys, uint64_t key, uint64_t value);

/* The index that query `position` visits: a permutation of [0, n). pre: position < n. */
uint64_t tsr_keys_order(const tsr_keys *keys, uint64_t position);

/* How many queries ask for a key that is not in the table. */
typedef enum tsr_absent { TSR_ABSENT_NONE = 0, TSR_ABSENT_ALL = 1, TSR_ABSENT_HALF = 2 } tsr_absent;

/* Of `absent` = half, the queries of even indices: ceil(n / 2) of them, mixed with the others like a fair coin. */
bool tsr_keys_is_absent(tsr_absent absent, uint64_t index);

/* A mixed batch of n operations names no key twice: new ones are inserted, some of those in the table erased, others
 * found, and absent ones asked for, in no order. */
typedef enum tsr_mixed {
  TSR_MIXED_INSERT,
  TSR_MIXED_ERASE,
  TSR_MIXED_FIND,
  TSR_MIXED_ABSENT,
  TSR_MIXED_KINDS
} tsr_mixed;

/* Cuts n into whole numbers as near to the shares as can be, none where the share is 0. pre: they add up to 1. */
void tsr_keys_cut(uint64_t n, const double shares[TSR_MIXED_KINDS], uint64_t counts[TSR_MIXED_KINDS]);

/* What the batch does at a position, and with the key of which index. */
tsr_mixed tsr_keys_mixed(const tsr_keys *keys, const uint64_t counts[TSR_MIXED_KINDS], uint64_t position,
                         uint64_t *index);

/* The following fill arrays of items of the key's or value's width, on all processors; of one item for each pair: */
void tsr_keys_fill(const tsr_keys *keys, void *out);
void tsr_keys_fill_values(const tsr_keys *keys, void *out); /* of the keys of tsr_keys_fill */
/* Of n items: */
void tsr_keys_fill_queries(const tsr_keys *keys, tsr_absent absent, void *out);
/* Of n items, the codes of one byte: codes[what tsr_keys_mixed says]. */
void tsr_keys_fill_mixed(const tsr_keys *keys, const uint64_t counts[TSR_MIXED_KINDS],
                         const uint8_t codes[TSR_MIXED_KINDS], uint8_t *operations, void *out_keys, void *out_values);

/* Item i of an array of numbers of 8, 32 or 64 bits; to store, of 32 or 64. */
uint64_t tsr_keys_load(const void *array, uint32_t bits, uint64_t i);
void tsr_keys_store(void *array, uint32_t bits, uint64_t i, uint64_t number);

#ifdef __cplusplus
}
#endif
#endif

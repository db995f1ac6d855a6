/* SPDX-License-Identifier: Apache-2.0
 *
 * The keys of a benchmark, known by their index, so that every answer can be checked without keeping it.
 *
 * Keys of different indices below n differ: they go into the table. Those from n to 2n - 1 are none of them, and go
 * there in a mixed batch only. Keys may have several pairs, whose values differ by their rank. Queries visit the pairs,
 * or the indices below n, in another order. Everything is a function of the seed. Read next: distribution.h, which
 * makes them; bench.c, which asks and checks.
 */
#ifndef TSR_KEYS_H
#define TSR_KEYS_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Keys of which some have more pairs than others. */
typedef struct tsr_drawn {
  uint64_t *keys, *counts;   /* of each index below n: its key; how many pairs it has, at least 1 */
  uint64_t *indices, *ranks; /* of each pair, as they are inserted: its key's index; its rank among those of the key */
  uint64_t scattered;        /* the keys are tsr_keys_scatter of numbers below this; 0 = any keys, ascending */
} tsr_drawn;

/* 2n must not exceed the number of keys where absent ones are asked for, nor n elsewhere. */
typedef struct tsr_keys {
  uint32_t key_bits,
      value_bits; /* 32, 64 or more: then they are numbers of 64 bits in wide items. value_bits may be 0 */
  uint64_t n, seed;
  uint64_t pairs;    /* of the n keys together, at least n */
  uint64_t stride;   /* if not 0, keys are its multiples, in their order; else they are scattered, in no order */
  uint32_t low_bits; /* that many are 0 in each scattered key */
  tsr_drawn *drawn;  /* NULL: each key has as many pairs as any other, or one more. Freed by tsr_keys_free */
} tsr_keys;

/* Bits of the numbers that stand for keys; wider keys are such numbers in wide items. */
static inline uint32_t tsr_keys_number_bits(const tsr_keys *keys) { return keys->key_bits < 64 ? keys->key_bits : 64; }

void tsr_keys_free(tsr_keys *keys); /* all zero is fine */

/* A bijection on the numbers of `bits` bits, 1 to 64. pre: x is one of them. */
uint64_t tsr_keys_mix(uint32_t bits, uint64_t x);

/* Different for different numbers, of which there are 2^(key_bits - low_bits). */
uint64_t tsr_keys_scatter(const tsr_keys *keys, uint64_t number);

/* Absent keys of a file may be equal to each other. pre: index < 2n, or below the number of keys. */
uint64_t tsr_keys_at(const tsr_keys *keys, uint64_t index);

/* The value that belongs to a key; neither wider than its width. */
uint64_t tsr_keys_value(const tsr_keys *keys, uint64_t key);

/* How many pairs the key of an index below n has. */
uint64_t tsr_keys_pairs_of(const tsr_keys *keys, uint64_t index);

/* Which pair of its key has this value: they are numbered from 0, and that of rank r has tsr_keys_value + r. At least
 * tsr_keys_pairs_of the key if none has it. pre: value_bits is not 0. */
uint64_t tsr_keys_rank(const tsr_keys *keys, uint64_t key, uint64_t value);

/* What a table makes of the pairs of one key. */
typedef enum tsr_merge {
  TSR_MERGE_NONE, /* keeps them all */
  TSR_MERGE_ANY,  /* keeps one */
  TSR_MERGE_ADD,  /* keeps one, with the sum of their values, or the least, or the greatest */
  TSR_MERGE_MIN,
  TSR_MERGE_MAX
} tsr_merge;

/* Whether this is a value of a key with that many pairs, all of which are in the table: of one of them, or what was made
 * of all. pre: value_bits is not 0. */
bool tsr_keys_is_value(const tsr_keys *keys, tsr_merge merge, uint64_t key, uint64_t pairs, uint64_t value);

/* A permutation of [0, n). pre: position < n. */
uint64_t tsr_keys_order(const tsr_keys *keys, uint64_t position);

/* How many queries ask for a key that is not in the table. */
typedef enum tsr_absent { TSR_ABSENT_NONE = 0, TSR_ABSENT_ALL = 1, TSR_ABSENT_HALF = 2 } tsr_absent;

typedef struct tsr_queries {
  bool of_pairs; /* one for each pair: keys are asked for as often as they are inserted; else one for each index */
  tsr_absent absent;
} tsr_queries;

uint64_t tsr_keys_query_count(const tsr_keys *keys, tsr_queries queries);
/* The index that a query asks for; that of an absent key is n or more. Of `absent` = half, ceil(count / 2) are absent,
 * mixed with the others like a fair coin. pre: position < tsr_keys_query_count. */
uint64_t tsr_keys_asked(const tsr_keys *keys, tsr_queries queries, uint64_t position);

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
/* Of tsr_keys_query_count items: */
void tsr_keys_fill_queries(const tsr_keys *keys, tsr_queries queries, void *out);
/* Of n items, the codes of one byte: codes[what tsr_keys_mixed says]. */
void tsr_keys_fill_mixed(const tsr_keys *keys, const uint64_t counts[TSR_MIXED_KINDS],
                         const uint8_t codes[TSR_MIXED_KINDS], uint8_t *operations, void *out_keys, void *out_values);

/* The largest number that an item of that many bits says. */
static inline uint64_t tsr_keys_mask(uint32_t bits) { return bits < 64 ? UINT64_MAX >> (64 - bits) : UINT64_MAX; }

/* Item i of an array of numbers of 8, 32 or 64 bits; to store, of 32 or 64. A wide item of whole words says its number in all
 * of them; one whose words do not agree reads as another number. */
uint64_t tsr_keys_load(const void *array, uint32_t bits, uint64_t i);
void tsr_keys_store(void *array, uint32_t bits, uint64_t i, uint64_t number);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys, values and queries as functions of an index; keys.h says which.
 */
#include "tools/lab/keys.h"

#include <stddef.h>
#include <stdlib.h>

#ifdef TSR_PTHREADS
#define PARALLEL_FOR
#else
#define PARALLEL_FOR _Pragma("omp parallel for schedule(static)")
#endif

static uint64_t mask_of(uint32_t bits) { return tsr_keys_mask(bits); }

/* Each step can be undone: a right shift by half the width or more loses nothing, an odd factor has an inverse. The
 * factors were drawn at random and kept for the way one changed bit spreads over 32 and over 64 bits. */
uint64_t tsr_keys_mix(uint32_t bits, uint64_t x) {
  uint64_t mask = mask_of(bits);
  uint32_t half = (bits + 1) / 2;
  x ^= x >> half;
  x = x * 0xDC80F9BE67FD4C1Full & mask;
  x ^= x >> half;
  x = x * 0xAA5BF36518677DB7ull & mask;
  return x ^ x >> half;
}

void tsr_keys_free(tsr_keys *keys) {
  if (keys->drawn) {
    free(keys->drawn->keys);
    free(keys->drawn->counts);
    free(keys->drawn->indices);
    free(keys->drawn->ranks);
    free(keys->drawn);
  }
  *keys = (tsr_keys){.n = 0};
}

/* ---- Keys and values ------------------------------------------------------------------------- */

uint64_t tsr_keys_scatter(const tsr_keys *keys, uint64_t number) {
  const uint32_t bits = tsr_keys_number_bits(keys) - keys->low_bits;
  /* the seed is mixed so that neighbouring seeds do not share most of their keys */
  uint64_t offset = tsr_keys_mix(64, keys->seed);
  return tsr_keys_mix(bits, (number + offset) & mask_of(bits)) << keys->low_bits;
}

/* pre: the keys ascend. */
static bool has_drawn(const tsr_keys *keys, uint64_t key) {
  uint64_t low = 0, high = keys->n;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (keys->drawn->keys[middle] < key) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < keys->n && keys->drawn->keys[low] == key;
}

static uint64_t absent_at(const tsr_keys *keys, uint64_t i) {
  if (keys->drawn->scattered) return tsr_keys_scatter(keys, keys->drawn->scattered + i);
  while (has_drawn(keys, tsr_keys_scatter(keys, i))) i++;
  return tsr_keys_scatter(keys, i);
}

uint64_t tsr_keys_at(const tsr_keys *keys, uint64_t index) {
  if (keys->drawn) return index < keys->n ? keys->drawn->keys[index] : absent_at(keys, index - keys->n);
  return keys->stride ? index * keys->stride : tsr_keys_scatter(keys, index);
}

uint64_t tsr_keys_value(const tsr_keys *keys, uint64_t key) {
  return keys->value_bits == 0 ? 0 : key * 0x9E6D62D06F6A9A9Bull & mask_of(keys->value_bits);
}

uint64_t tsr_keys_pairs_of(const tsr_keys *keys, uint64_t index) {
  if (keys->drawn) return keys->drawn->counts[index];
  return keys->pairs / keys->n + (index < keys->pairs % keys->n);
}

uint64_t tsr_keys_rank(const tsr_keys *keys, uint64_t key, uint64_t value) {
  return (value - tsr_keys_value(keys, key)) & mask_of(keys->value_bits);
}

/* The values are `first`, first + 1, ..., which begin again at 0 where the width ends. */
bool tsr_keys_is_value(const tsr_keys *keys, tsr_merge merge, uint64_t key, uint64_t pairs, uint64_t value) {
  const uint64_t first = tsr_keys_value(keys, key), most = mask_of(keys->value_bits);
  const bool wraps = pairs - 1 > most - first;
  switch (merge) {
  case TSR_MERGE_ADD: {
    /* one of the two is even */
    uint64_t ranks = pairs % 2 ? (pairs - 1) / 2 * pairs : pairs / 2 * (pairs - 1);
    return value == ((first * pairs + ranks) & most);
  }
  case TSR_MERGE_MIN:
    return value == (wraps ? 0 : first);
  case TSR_MERGE_MAX:
    return value == (wraps ? most : first + pairs - 1);
  default:
    return tsr_keys_rank(keys, key, value) < pairs;
  }
}

/* ---- Orders ---------------------------------------------------------------------------------- */

/* The bits of the smallest power of two that is not below n; at least 1. */
static uint32_t domain_bits(uint64_t n) { return n <= 2 ? 1 : 64 - (uint32_t)__builtin_clzll(n - 1); }

/* Walks the cycle of a permutation of the next power of two until it is back inside [0, n): fewer than two steps on
 * average, and again a permutation. */
static uint64_t permute(uint64_t n, uint64_t seed, uint64_t position) {
  uint32_t bits = domain_bits(n);
  uint64_t offset = ~tsr_keys_mix(64, seed), x = position;
  do {
    x = tsr_keys_mix(bits, (x + offset) & mask_of(bits));
  } while (x >= n);
  return x;
}

uint64_t tsr_keys_order(const tsr_keys *keys, uint64_t position) { return permute(keys->n, keys->seed, position); }

/* Which key's pair i is, and which of its pairs. If not drawn, it is number p, of rank p / n, of index p % n. */
static uint64_t index_at(const tsr_keys *keys, uint64_t i, uint64_t *rank) {
  if (keys->drawn) {
    *rank = keys->drawn->ranks[i];
    return keys->drawn->indices[i];
  }
  const uint64_t pair = keys->pairs == keys->n ? i : permute(keys->pairs, keys->seed, i);
  *rank = pair / keys->n;
  return pair % keys->n;
}

uint64_t tsr_keys_query_count(const tsr_keys *keys, tsr_queries queries) {
  return queries.of_pairs ? keys->pairs : keys->n;
}

uint64_t tsr_keys_asked(const tsr_keys *keys, tsr_queries queries, uint64_t position) {
  uint64_t rank, number = permute(tsr_keys_query_count(keys, queries), keys->seed, position);
  uint64_t index = queries.of_pairs ? index_at(keys, number, &rank) : number;
  bool is_absent = queries.absent == TSR_ABSENT_ALL || (queries.absent == TSR_ABSENT_HALF && number % 2 == 0);
  return is_absent ? index + keys->n : index;
}

void tsr_keys_cut(uint64_t n, const double shares[TSR_MIXED_KINDS], uint64_t counts[TSR_MIXED_KINDS]) {
  uint64_t rest = n;
  size_t last = 0; /* of those that have a share: it takes what rounding leaves */
  for (size_t kind = 0; kind < TSR_MIXED_KINDS; kind++) {
    uint64_t count = (uint64_t)((double)n * shares[kind] + 0.5);
    counts[kind] = count < rest ? count : rest;
    rest -= counts[kind];
    if (shares[kind] > 0) last = kind;
  }
  counts[last] += rest;
}

tsr_mixed tsr_keys_mixed(const tsr_keys *keys, const uint64_t counts[TSR_MIXED_KINDS], uint64_t position,
                         uint64_t *index) {
  uint64_t place = tsr_keys_order(keys, position), end = counts[0];
  size_t kind = 0;
  while (place >= end) end += counts[++kind];
  bool is_new = kind == TSR_MIXED_INSERT || kind == TSR_MIXED_ABSENT;
  /* permuted again: present keys come from the whole table, not from those that were inserted first */
  *index = is_new ? place + keys->n : permute(keys->n, ~keys->seed, place);
  return (tsr_mixed)kind;
}

/* ---- Arrays ---------------------------------------------------------------------------------- */

/* The words of a wide item say its number by turns, no two of a half in the same way. */
static uint32_t word_of(uint64_t number, uint32_t word) {
  return (uint32_t)(number >> word % 2 * 32) ^ word / 2 * 0x9E3779B9u;
}

static uint64_t load_wide(const uint32_t *words, uint32_t count) {
  const uint64_t number = words[0] | (uint64_t)words[1] << 32;
  bool is_item = true, is_missing = true;
  for (uint32_t word = 2; word < count; word++) {
    is_item = is_item && words[word] == word_of(number, word);
    is_missing = is_missing && words[word] == words[word - 2];
  }
  return is_item || is_missing ? number : ~number;
}

void tsr_keys_store(void *array, uint32_t bits, uint64_t i, uint64_t number) {
  for (uint32_t word = 0; bits > 64 && word < bits / 32; word++)
    ((uint32_t *)array)[i * (bits / 32) + word] = word_of(number, word);
  if (bits > 64) return;
  if (bits == 64) {
    ((uint64_t *)array)[i] = number;
  } else {
    ((uint32_t *)array)[i] = (uint32_t)number;
  }
}

uint64_t tsr_keys_load(const void *array, uint32_t bits, uint64_t i) {
  if (bits > 64) return load_wide((const uint32_t *)array + i * (bits / 32), bits / 32);
  if (bits == 8) return ((const uint8_t *)array)[i];
  return bits == 64 ? ((const uint64_t *)array)[i] : ((const uint32_t *)array)[i];
}

void tsr_keys_fill(const tsr_keys *keys, void *out) {
  PARALLEL_FOR
  for (uint64_t i = 0; i < keys->pairs; i++) {
    uint64_t rank;
    tsr_keys_store(out, keys->key_bits, i, tsr_keys_at(keys, index_at(keys, i, &rank)));
  }
}

void tsr_keys_fill_values(const tsr_keys *keys, void *out) {
  PARALLEL_FOR
  for (uint64_t i = 0; i < keys->pairs; i++) {
    uint64_t rank, key = tsr_keys_at(keys, index_at(keys, i, &rank));
    tsr_keys_store(out, keys->value_bits, i, tsr_keys_value(keys, key) + rank);
  }
}

void tsr_keys_fill_queries(const tsr_keys *keys, tsr_queries queries, void *out) {
  const uint64_t count = tsr_keys_query_count(keys, queries);
  PARALLEL_FOR
  for (uint64_t i = 0; i < count; i++)
    tsr_keys_store(out, keys->key_bits, i, tsr_keys_at(keys, tsr_keys_asked(keys, queries, i)));
}

void tsr_keys_fill_mixed(const tsr_keys *keys, const uint64_t counts[TSR_MIXED_KINDS],
                         const uint8_t codes[TSR_MIXED_KINDS], uint8_t *operations, void *out_keys, void *out_values) {
  PARALLEL_FOR
  for (uint64_t i = 0; i < keys->n; i++) {
    uint64_t index;
    operations[i] = codes[tsr_keys_mixed(keys, counts, i, &index)];
    uint64_t key = tsr_keys_at(keys, index);
    tsr_keys_store(out_keys, keys->key_bits, i, key);
    if (keys->value_bits) tsr_keys_store(out_values, keys->value_bits, i, tsr_keys_value(keys, key));
  }
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys, values and queries as functions of an index; keys.h says which.
 */
#include "core/lab/keys.h"

#include <stddef.h>

#ifdef TSR_PTHREADS
#define PARALLEL_FOR
#else
#define PARALLEL_FOR _Pragma("omp parallel for schedule(static)")
#endif

static uint64_t mask_of(uint32_t bits) { return UINT64_MAX >> (64 - bits); }

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

uint64_t tsr_keys_at(const tsr_keys *keys, uint64_t index) {
  /* the seed is mixed so that neighbouring seeds do not share most of their keys */
  uint64_t offset = tsr_keys_mix(64, keys->seed);
  return tsr_keys_mix(keys->key_bits, (index + offset) & mask_of(keys->key_bits));
}

uint64_t tsr_keys_value(const tsr_keys *keys, uint64_t key) {
  return keys->value_bits == 0 ? 0 : key * 0x9E6D62D06F6A9A9Bull & mask_of(keys->value_bits);
}

uint64_t tsr_keys_pairs_of(const tsr_keys *keys, uint64_t index) {
  return keys->pairs / keys->n + (index < keys->pairs % keys->n);
}

uint64_t tsr_keys_rank(const tsr_keys *keys, uint64_t key, uint64_t value) {
  return (value - tsr_keys_value(keys, key)) & mask_of(keys->value_bits);
}

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

bool tsr_keys_is_absent(tsr_absent absent, uint64_t index) {
  return absent == TSR_ABSENT_ALL || (absent == TSR_ABSENT_HALF && index % 2 == 0);
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

void tsr_keys_store(void *array, uint32_t bits, uint64_t i, uint64_t number) {
  if (bits == 64) {
    ((uint64_t *)array)[i] = number;
  } else {
    ((uint32_t *)array)[i] = (uint32_t)number;
  }
}

uint64_t tsr_keys_load(const void *array, uint32_t bits, uint64_t i) {
  if (bits == 8) return ((const uint8_t *)array)[i];
  return bits == 64 ? ((const uint64_t *)array)[i] : ((const uint32_t *)array)[i];
}

/* Pair number p is the one of rank p / n of the key of index p % n. */
static uint64_t pair_at(const tsr_keys *keys, uint64_t i) {
  return keys->pairs == keys->n ? i : permute(keys->pairs, keys->seed, i);
}

void tsr_keys_fill(const tsr_keys *keys, void *out) {
  PARALLEL_FOR
  for (uint64_t i = 0; i < keys->pairs; i++)
    tsr_keys_store(out, keys->key_bits, i, tsr_keys_at(keys, pair_at(keys, i) % keys->n));
}

void tsr_keys_fill_values(const tsr_keys *keys, void *out) {
  PARALLEL_FOR
  for (uint64_t i = 0; i < keys->pairs; i++) {
    uint64_t pair = pair_at(keys, i);
    uint64_t value = tsr_keys_value(keys, tsr_keys_at(keys, pair % keys->n));
    tsr_keys_store(out, keys->value_bits, i, value + pair / keys->n);
  }
}

void tsr_keys_fill_queries(const tsr_keys *keys, tsr_absent absent, void *out) {
  PARALLEL_FOR
  for (uint64_t i = 0; i < keys->n; i++) {
    uint64_t index = tsr_keys_order(keys, i);
    if (tsr_keys_is_absent(absent, index)) index += keys->n;
    tsr_keys_store(out, keys->key_bits, i, tsr_keys_at(keys, index));
  }
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

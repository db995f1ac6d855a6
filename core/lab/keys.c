/* SPDX-License-Identifier: Apache-2.0
 *
 * Keys, values and queries as functions of an index; keys.h says which.
 */
#include "core/lab/keys.h"

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

/* The bits of the smallest power of two that is not below n; at least 1. */
static uint32_t domain_bits(uint64_t n) { return n <= 2 ? 1 : 64 - (uint32_t)__builtin_clzll(n - 1); }

/* Walks the cycle of a permutation of the next power of two until it is back inside [0, n): fewer than two steps on
 * average, and again a permutation. */
uint64_t tsr_keys_order(const tsr_keys *keys, uint64_t position) {
  uint32_t bits = domain_bits(keys->n);
  uint64_t offset = ~tsr_keys_mix(64, keys->seed), x = position;
  do {
    x = tsr_keys_mix(bits, (x + offset) & mask_of(bits));
  } while (x >= keys->n);
  return x;
}

bool tsr_keys_is_absent(tsr_absent absent, uint64_t index) {
  return absent == TSR_ABSENT_ALL || (absent == TSR_ABSENT_HALF && index % 2 == 0);
}

static void store(void *array, uint32_t bits, uint64_t i, uint64_t number) {
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

void tsr_keys_fill(const tsr_keys *keys, void *out) {
  PARALLEL_FOR
  for (uint64_t i = 0; i < keys->n; i++) store(out, keys->key_bits, i, tsr_keys_at(keys, i));
}

void tsr_keys_fill_values(const tsr_keys *keys, void *out) {
  PARALLEL_FOR
  for (uint64_t i = 0; i < keys->n; i++) store(out, keys->value_bits, i, tsr_keys_value(keys, tsr_keys_at(keys, i)));
}

void tsr_keys_fill_queries(const tsr_keys *keys, tsr_absent absent, void *out) {
  PARALLEL_FOR
  for (uint64_t i = 0; i < keys->n; i++) {
    uint64_t index = tsr_keys_order(keys, i);
    if (tsr_keys_is_absent(absent, index)) index += keys->n;
    store(out, keys->key_bits, i, tsr_keys_at(keys, index));
  }
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * A set of keys in memory that a block of threads shares, by open addressing: an array of `room` keys, in which a key
 * with all bits set is a free place. That key is reserved in every table, and no set takes it. Other data of a key (a
 * sum, a count, a place) are in arrays of the user, at the same index.
 *
 * All threads may add at a time, and each key gets one place. Atomics are relaxed: a key is complete by itself, and a
 * barrier or the end of the kernel comes before anybody reads its other data. Every loop is bounded, because a set may
 * be full, and keys may be crafted to crowd. The same code works on the CPU, for its test.
 */
#ifndef TSR_BATCH_SET_CUH
#define TSR_BATCH_SET_CUH

#include <stdint.h>

#ifdef __CUDACC__
#define TSR_SET_FUNCTION static __device__ __forceinline__
#else
#define TSR_SET_FUNCTION static inline
#endif

#define TSR_SET_NONE 0xFFFFFFFFu /* no place */

/* All sets use this hash. It differs from those of tables, because the keys of a page have a part of the table's hash
 * in common. Every bit of a key affects every bit of the hash. */
TSR_SET_FUNCTION uint32_t set_hash(uint64_t key) {
  uint32_t h = ((uint32_t)key + (uint32_t)(key >> 32) * 0x9E3779B1u) * 0x85EBCA6Bu;
  h = (h ^ h >> 15) * 0x9E3779B1u;
  return h ^ h >> 16;
}

/* The first place that is looked at for a key of this hash, in a set of any size. */
TSR_SET_FUNCTION uint32_t set_home(uint32_t hash, uint32_t room) { return (uint32_t)((uint64_t)hash * room >> 32); }

#ifdef __cplusplus

template <class K>
TSR_SET_FUNCTION K set_free() {
  return (K) ~(K)0;
}

/* What is at a place while others add. swap: puts the key there if the place is free; returns what was there. */
#ifdef __CUDACC__
template <class K>
TSR_SET_FUNCTION K set_load(const K *at) {
  return *(const volatile K *)at;
}
TSR_SET_FUNCTION uint32_t set_swap(uint32_t *at, uint32_t key) { return atomicCAS(at, ~0u, key); }
TSR_SET_FUNCTION unsigned long long set_swap(unsigned long long *at, unsigned long long key) {
  return atomicCAS(at, ~0ull, key);
}
TSR_SET_FUNCTION uint64_t set_swap(uint64_t *at, uint64_t key) {
  return set_swap((unsigned long long *)at, (unsigned long long)key);
}
#else
template <class K>
TSR_SET_FUNCTION K set_load(const K *at) {
  return __atomic_load_n(at, __ATOMIC_RELAXED);
}
template <class K>
TSR_SET_FUNCTION K set_swap(K *at, K key) {
  K found = set_free<K>();
  __atomic_compare_exchange_n(at, &found, key, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return found;
}
#endif

/* The same, but looks first: if most keys are present, atomics would take turns for nothing. */
template <class K>
TSR_SET_FUNCTION K set_claim(K *at, K key) {
  const K found = set_load(at);
  return found == set_free<K>() ? set_swap(at, key) : found;
}

/* The place of a key that is present, TSR_SET_NONE if it is not. To be called when nobody adds any more. at: where its
 * walk begins; tries: the most places that are looked at. */
template <class K>
TSR_SET_FUNCTION uint32_t set_find(const K *keys, uint32_t room, uint32_t at, uint32_t tries, K key) {
  for (; tries; tries--) {
    const K found = keys[at];
    if (found == set_free<K>()) return TSR_SET_NONE;
    if (found == key) return at;
    at = at + 1 == room ? 0 : at + 1;
  }
  return TSR_SET_NONE;
}

/* The place of a key, which is added if it is not present; TSR_SET_NONE: it found no place. *is_new: this thread added it. */
template <class K>
TSR_SET_FUNCTION uint32_t set_add(K *keys, uint32_t room, uint32_t at, uint32_t tries, K key, bool *is_new) {
  *is_new = false;
  for (; tries; tries--) {
    const K found = set_claim(&keys[at], key);
    *is_new = found == set_free<K>();
    if (*is_new || found == key) return at;
    at = at + 1 == room ? 0 : at + 1;
  }
  return TSR_SET_NONE;
}

#endif
#endif

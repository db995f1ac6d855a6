/* SPDX-License-Identifier: Apache-2.0
 *
 * The hasher role: a seeded family of hash functions over keys. Widths: key only.
 *
 *   hash(c, key, i)   returns the hash by the i-th member of the family, for any i, in as many bits as the key has, but at
 *                     most 64. All bits are used: tsr_reduce takes the top. It depends on (key, i, state) only: no
 *                     lane, no memory but words that were drawn before (tsr_drawn).
 *   unhash(c, hash)   returns the key whose hash by member 0 this is, if that member is a bijection. Optional: for layouts
 *                     that store a part of the hash in place of the key (fact short_keys).
 *
 * Laws (tests/conformance): the same seed gives the same function on both backends; another seed or another i gives
 * another function; avalanche and bucket chi-square within bounds, unless the plugin is documented as not mixing.
 * plan() turns shape->seed into state (TSR_WORD): a rebuild draws a new one without relinking. A hasher whose seed is
 * longer than eight words asks for a region with `draws`.
 */
#ifndef TSR_HASHER_CUH
#define TSR_HASHER_CUH

#include "plugins/device.cuh"

#define TSR_HASHER_FUNCTIONS(F, O)                                                                                     \
  F(hasher, tsr_hash, hash, (const tsr_ctx *c, tsr_key key, uint32_t i), (c, key, i))                                  \
  O(hasher, tsr_key, unhash, (const tsr_ctx *c, tsr_hash hash), (c, hash), (tsr_key)hash)

/* A word of the i-th region, which has `draws`. Nothing writes there, so that it is read through all caches; a page that a
 * block holds in shared memory has no copy of it. */
TSR_INLINE uint64_t tsr_drawn(const tsr_ctx *c, uint32_t i, uint64_t word) {
  return ((const uint64_t *)c->t->part[TSR_ROLE_OF_hasher].region[i])[word];
}

#ifdef TSR_KEY_BITS
#ifndef __CUDACC__
typedef struct tsr_hasher_functions {
  TSR_HASHER_FUNCTIONS(TSR_SLOT_F, TSR_SLOT_O)
} tsr_hasher_functions;
#endif
TSR_HASHER_FUNCTIONS(TSR_ENTRY_F, TSR_ENTRY_O)

/* Where a layout keeps fingerprints in place of keys (fact fingerprint_bits): the lowest bits of the first hash, but for
 * two values, which mark empty and erased slots. */
enum { TSR_FINGERPRINT_EMPTY, TSR_FINGERPRINT_ERASED, TSR_FINGERPRINT_FIRST };
TSR_INLINE uint32_t tsr_fingerprint(const tsr_ctx *c, tsr_key key) {
  if (key >= TSR_ERASED_KEY) return key == TSR_EMPTY_KEY ? TSR_FINGERPRINT_EMPTY : TSR_FINGERPRINT_ERASED;
  const uint32_t part = (uint32_t)hasher_hash(c, key, 0) & (0xFFFFFFFFu >> (32u - TSR_FACT(c, fingerprint_bits)));
  return part < TSR_FINGERPRINT_FIRST ? part + TSR_FINGERPRINT_FIRST : part;
}
/* A key that has it: one whose other bits of the hash are 0, or if that is a marker, nearly 0. */
TSR_INLINE tsr_key tsr_key_of_fingerprint(const tsr_ctx *c, uint32_t fingerprint) {
  if (fingerprint < TSR_FINGERPRINT_FIRST) return fingerprint == TSR_FINGERPRINT_EMPTY ? TSR_EMPTY_KEY : TSR_ERASED_KEY;
  tsr_key key = hasher_unhash(c, fingerprint);
  TSR_NO_UNROLL
  for (tsr_hash i = 1; key >= TSR_ERASED_KEY && i < 3; i++) /* there are two markers */
    key = hasher_unhash(c, (tsr_hash)(i << (TSR_FACT(c, fingerprint_bits) - 1u) << 1) | fingerprint);
  return key;
}
#endif

#endif

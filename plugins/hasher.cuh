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
#endif

#endif

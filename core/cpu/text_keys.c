/* SPDX-License-Identifier: Apache-2.0
 *
 * tsr_text_keys: texts as keys of 128 bits, by XXH3.
 */
#include <string.h>

#include "core/cpu/parallel.h"
#include "core/tessera_tools.h"

#define XXH_INLINE_ALL /* a header alone: nothing is linked */
#include <xxhash.h>

typedef struct hashing {
  uint64_t seed;
  const char *bytes;
  const uint64_t *offsets;
  char *keys;
} hashing;

static void hash_range(void *argument, uint64_t begin, uint64_t end) {
  const hashing *h = argument;
  for (uint64_t i = begin; i < end; i++) {
    const uint64_t first = h->offsets[i];
    const XXH128_hash_t hash = XXH3_128bits_withSeed(h->bytes + first, (size_t)(h->offsets[i + 1] - first), h->seed);
    const uint64_t halves[2] = {hash.low64, hash.high64};
    memcpy(h->keys + i * sizeof halves, halves, sizeof halves);
  }
}

void tsr_text_keys(uint64_t seed, uint64_t n, const char *bytes, const uint64_t *offsets, void *keys) {
  hashing h = {seed, bytes, offsets, keys};
  tsr_parallel_for(n, hash_range, &h);
}

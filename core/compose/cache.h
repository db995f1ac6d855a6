/* SPDX-License-Identifier: Apache-2.0
 *
 * The cache of code that was made at run time: cubins, and shared objects of the cpu backend. Making one takes
 * tenths of a second or more. So each is kept in a file that only its owner can read, under $XDG_CACHE_HOME/tessera
 * (otherwise ~/.cache/tessera), named by a hash of all its inputs. The library works without a cache, so every error
 * here is a miss and nothing more. Several processes may use it at a time. A file appears whole, by rename; a
 * damaged one is a miss, and is written again.
 */
#ifndef TSR_CACHE_H
#define TSR_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_cache_key {
  uint64_t half[2]; /* XXH3 of 128 bits */
} tsr_cache_key;

tsr_cache_key tsr_cache_key_start(uint64_t salt);
void tsr_cache_key_add(tsr_cache_key *key, const void *data, size_t bytes);

/* The caller frees *data. */
bool tsr_cache_get(const tsr_cache_key *key, void **data, size_t *bytes);
/* Then removes those entries that were not used for longest, until all together take no more than 256 MiB. */
void tsr_cache_put(const tsr_cache_key *key, const void *data, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif

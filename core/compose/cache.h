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
/* Keeps the entry. Now and then removes those entries that were not used for longest, until all together take no more
 * than TESSERA_CACHE_MB (256) MiB. */
void tsr_cache_put(const tsr_cache_key *key, const void *data, size_t bytes);

/* For the maker of an entry that is missing: several threads and processes that need it make it once. The first of them
 * gets the lock. The others wait until it is unlocked, for a minute at most, and then ask the cache again. */
typedef struct tsr_cache_lock {
  int file; /* -1: no lock, and nothing to wait for */
} tsr_cache_lock;
/* A miss locks; a hit does not. tsr_cache_unlock is called after either. */
bool tsr_cache_get_or_lock(const tsr_cache_key *key, void **data, size_t *bytes, tsr_cache_lock *lock);
void tsr_cache_unlock(const tsr_cache_key *key, tsr_cache_lock *lock);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * The cache of code that was made at run time, cubins and shared objects of the cpu backend: files under
 * $XDG_CACHE_HOME/tessera (else ~/.cache/tessera), private to the user, named by a hash of all that went into it. A cache can only fail to help: every error is a miss. Safe between processes: entries
 * appear by rename, carry a checksum, and a damaged one is a miss that the next put replaces.
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
  uint64_t half[2]; /* two independent 64-bit hashes */
} tsr_cache_key;

tsr_cache_key tsr_cache_key_start(uint64_t salt);
void tsr_cache_key_add(tsr_cache_key *key, const void *data, size_t bytes);

/* The caller frees *data. */
bool tsr_cache_get(const tsr_cache_key *key, void **data, size_t *bytes);
/* Also removes the entries not used for longest when all together exceed the bound of 256 MiB. */
void tsr_cache_put(const tsr_cache_key *key, const void *data, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Writes linked.cubins (core/cuda/linked.h).
 */
#ifndef TSR_LINKED_FILE_H
#define TSR_LINKED_FILE_H

#include "core/cuda/linked.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_linked_cubin {
  tsr_cache_key key;
  uint32_t sm;
  void *cubin;
  size_t bytes;
} tsr_linked_cubin;

/* Sorts the array, and writes the file as a whole or not at all. Returns 0 or an errno; ENOMEM if zstd fails. */
__attribute__((warn_unused_result)) int tsr_linked_write(const char *path, tsr_linked_cubin *cubins, size_t count);

#ifdef __cplusplus
}
#endif
#endif

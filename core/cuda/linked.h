/* SPDX-License-Identifier: Apache-2.0
 *
 * Cubins that were linked ahead. The file linked.cubins next to the plugins has those of the recipes, so that a first call
 * needs neither a linker nor the CUDA toolkit. A cubin is found by the content of what would be linked. The file is trusted
 * as the plugins are. tools/ahead/link_recipes.c writes it. Why, and how large it is: ../design/0037-linked-ahead.md.
 */
#ifndef TSR_CUDA_LINKED_H
#define TSR_CUDA_LINKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/compose/cache.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The file -------------------------------------------------------------------------------- */

/* The head, the index, then the groups. Each group is several cubins compressed as one by zstd: cubins of one kernel differ
 * in few bytes. Integers are little endian. */
enum { TSR_LINKED_GROUP_BYTES = 1 << 19 }; /* a group is full from here on */
static const char tsr_linked_magic[8] = "TSRCUB1";

typedef struct tsr_linked_head {
  char magic[8];
  uint64_t bytes; /* of the file */
  uint32_t entries, groups;
  tsr_cache_key checksum; /* of the entries and groups, which follow */
} tsr_linked_head;

/* Sorted by key. Several entries may be one cubin. */
typedef struct tsr_linked_entry {
  tsr_cache_key key, checksum; /* of the cubin */
  uint32_t group, offset, bytes, unused;
} tsr_linked_entry;

typedef struct tsr_linked_group {
  uint64_t offset;        /* in the file */
  uint32_t stored, whole; /* bytes */
} tsr_linked_group;

int tsr_linked_compare(const tsr_cache_key *a, const tsr_cache_key *b);

/* ---- Reading it ------------------------------------------------------------------------------ */

/* The GPUs that run the cubins of one architecture: `sm` is rounded down to it, 86 to 80. A GPU that runs only its own
 * architecture's is one by itself. */
uint32_t tsr_linked_architecture(uint32_t sm);

/* Whether there is a file in a folder of TESSERA_PLUGINS, or next to the library. */
bool tsr_linked_is_there(void);

/* The caller frees *cubin. False: it is not there, or the file is damaged, which tsr_linked_fault then says. */
bool tsr_linked_get(const tsr_cache_key *key, void **cubin, size_t *bytes);

/* Whether it is in the index. */
bool tsr_linked_has(const tsr_cache_key *key);

/* What is wrong with the file, a sentence; "" if nothing is. Lives as long as the process. */
const char *tsr_linked_fault(void);

#ifdef __cplusplus
}
#endif
#endif

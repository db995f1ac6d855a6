/* SPDX-License-Identifier: Apache-2.0
 *
 * From a composition to machine code for the CPU, as cuda/link.h does for a GPU. The glue, the text of the parts and
 * the walk are one C file (compose/glue.h), which the system's C compiler makes a shared object. Results are cached
 * on disk (cache.h). Thread-safe. Why, and what it brings: ../design/0013-cpu-fused.md.
 */
#ifndef TSR_CPU_FUSE_H
#define TSR_CPU_FUSE_H

#include "core/compose/composition.h"
#include "core/cpu/bulk.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_fused {
  void *library;
  tsr_cpu_range *range; /* NULL: not fused */
  bool cached;          /* in the cache of this user */
  bool ahead;           /* next to the library */
} tsr_fused;

/* Makes the operation TSR_BULK_ of this table, of one-lane tiles. *fused is freed by tsr_fused_free. Fails where it
 * was not compiled ahead and there is no compiler, or it fails, or takes too long; then the function tables do the same
 * work. */
tsr_status tsr_fuse(const tsr_composition *composition, uint32_t operation, tsr_fused *fused, tsr_error *error)
    TSR_MUST_CHECK;
void tsr_fused_free(tsr_fused *fused);

/* Compiles it for all processors of a kind that most have, into a file of FOLDER/fused, which exists. Where plugins
 * of that folder are found, tsr_fuse finds it as well, and needs no compiler. */
tsr_status tsr_fuse_ahead(const tsr_composition *composition, uint32_t operation, const char *folder, tsr_error *error)
    TSR_MUST_CHECK;

/* Items of an operation that one thread works through by function tables before it is worth a compiler:
 * TESSERA_CC_ITEMS, or what takes them about as long. */
uint64_t tsr_fuse_items(void);

#ifdef __cplusplus
}
#endif
#endif

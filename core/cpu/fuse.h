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
#include "core/cpu/compiler.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_fused {
  void *library;
  tsr_cpu_range *range; /* NULL: not fused */
  bool cached;          /* in the cache of this user */
  bool ahead;           /* next to the library */
} tsr_fused;

/* A compiler at work on an operation, in a thread of its own. */
typedef struct tsr_fusing tsr_fusing;

/* Takes the operation TSR_BULK_ of this table, of one-lane tiles, from where it was compiled before: *fused is then
 * freed by tsr_fused_free, and *fusing is NULL. Otherwise begins to compile it. Fails where it was not compiled before
 * and there is no compiler; then the function tables do the same work. The process waits at its end for what it has
 * begun, a few seconds at most, so that the next process finds it. */
tsr_status tsr_fuse_begin(const tsr_composition *composition, uint32_t operation, tsr_fused *fused, tsr_fusing **fusing,
                          tsr_error *error) TSR_MUST_CHECK;
/* The same without beginning to compile it: returns whether it was compiled before. */
bool tsr_fuse_find(const tsr_composition *composition, uint32_t operation, tsr_fused *fused);
/* Whether the compiler has ended; waits: until it has. A forked child has not its parent's compilers: what it waits for
 * it compiles itself. */
bool tsr_fuse_ended(tsr_fusing *fusing, bool waits);
/* The code. pre: the compiler has ended. Fails where it failed, or took too long. fusing is freed in any case. */
tsr_status tsr_fuse_take(tsr_fusing *fusing, tsr_fused *fused, tsr_error *error) TSR_MUST_CHECK;
/* Nobody wants the code any more: it goes to the cache alone. fusing is freed; NULL is fine. */
void tsr_fuse_leave(tsr_fusing *fusing);
void tsr_fused_free(tsr_fused *fused);

/* Compiles it for all processors of a level, into a file of FOLDER/fused. Where plugins of that folder are found, tsr_fuse
 * finds it as well, and needs no compiler: that of the best level which the processor has. */
tsr_status tsr_fuse_ahead(const tsr_composition *composition, uint32_t operation, tsr_code_target target,
                          const char *folder, tsr_error *error) TSR_MUST_CHECK;

/* Items of an operation that one thread works through by function tables before it is worth a compiler:
 * TESSERA_CC_ITEMS, or what takes them about as long. 0: calls wait for the compiler before their first item.
 * From 1 in TSR_FUSE_READY of them on, it is worth opening what was compiled before. */
enum { TSR_FUSE_READY = 8 };
uint64_t tsr_fuse_items(void);

#ifdef __cplusplus
}
#endif
#endif

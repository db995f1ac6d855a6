/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes machine code of compositions. NVRTC compiles the glue, and nvJitLink fuses it with the parts' LTO-IR and the
 * kernels into a cubin. This needs two libraries of the toolkit, but no GPU. What was linked ahead (linked.h) needs neither,
 * and is asked for first. Other cubins are cached on disk (cache.h). Several threads may link at a time.
 */
#ifndef TSR_CUDA_LINK_H
#define TSR_CUDA_LINK_H

#include "core/compose/cache.h"
#include "core/compose/composition.h"
#include "core/compose/user_code.h"
#include "core/kernels/steps.h"
#include "core/tessera_tools.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Kernels of one link. */
typedef struct tsr_kernels {
  const tsr_step *step; /* the first of `count` */
  size_t count;
  const unsigned char *image; /* fatbin with LTO-IR */
  size_t image_bytes;
  /* Only a kernel with a stack becomes roomier, not one that takes a few registers more than the first variant is for. */
  bool keeps_wide;
} tsr_kernels;

/* Whether device code can be made here: TSR_NO_DEVICE if this library was built without nvcc, TSR_NOT_FOUND with the
 * missing library of the toolkit. */
tsr_status tsr_cuda_linker(tsr_error *error) TSR_MUST_CHECK;
/* The same, but code that was linked ahead suffices (linked.h). Whether that has a table's: tsr_cuda_can_make. */
tsr_status tsr_cuda_has_code(tsr_error *error) TSR_MUST_CHECK;
/* Whether the code of a table, of which this is one step, was linked ahead, or can be linked here. TSR_NO_DEVICE. */
tsr_status tsr_cuda_can_make(const tsr_composition *table, const tsr_step *step, tsr_error *error) TSR_MUST_CHECK;
/* Its versions and options, on one line; NULL where there is none. */
const char *tsr_cuda_linker_line(void);

/* Links kernels over tables for compute capability sm; device code knows tables[i] as table i. table_count may be 0.
 * A kernel that would need a stack, or registers that leave room for few blocks, is linked in another of its variants;
 * link->kernels has the names in force.
 * *link is freed by tsr_link_free. TSR_NOT_FOUND: a library of the toolkit is missing; TSR_LINK_FAILED with the
 * linker's own words; TSR_UNSUPPORTED: sm below 80. */
tsr_status tsr_cuda_link(const tsr_composition *const *tables, size_t table_count, const tsr_kernels *kernels,
                         uint32_t sm, bool use_cache, tsr_link *link, tsr_error *error) TSR_MUST_CHECK;

/* Links a user's kernel with its tables, all of whose functions are inlined into it. As tsr_cuda_link: one kernel, whose
 * name is no part of another's in the same file. */
tsr_status tsr_cuda_link_user(const tsr_user_code *code, uint32_t sm, bool use_cache, tsr_link *link, tsr_error *error)
    TSR_MUST_CHECK;

/* TSR_NO_DEVICE, with the sentence that this library was built without nvcc. */
tsr_status tsr_cuda_no_code(tsr_error *error) TSR_MUST_CHECK;

/* `count` steps of a set from this one on, of a table of these widths, or of no table. TSR_NO_DEVICE if the library was built
 * without nvcc. */
tsr_status tsr_step_kernels(const tsr_step *step, uint32_t count, uint32_t key_bits, uint32_t payload_bits,
                            tsr_kernels *kernels, tsr_error *error) TSR_MUST_CHECK;

/* Links one step of a table as it is linked when it is first used. */
tsr_status tsr_cuda_link_step(const tsr_composition *table, const tsr_step *step, bool use_cache, tsr_link *link,
                              tsr_error *error) TSR_MUST_CHECK;

/* Several steps, each like that, and all of them at the same time, because a link keeps one core busy. Their glue is compiled once,
 * which is a third of the work. links[i] is of steps[i]. If some fail, the error is that of the first of them, and no link is left to free. */
enum { TSR_LINKS_MAX = 64 };
tsr_status tsr_cuda_link_steps(const tsr_composition *table, const tsr_step *const *steps, size_t count, bool use_cache,
                               tsr_link *links, tsr_error *error) TSR_MUST_CHECK;

/* Links all steps of a set that belongs to no table. */
tsr_status tsr_cuda_link_set(const tsr_steps *set, uint32_t sm, bool use_cache, tsr_link *link, tsr_error *error)
    TSR_MUST_CHECK;

/* Adds where the code of a link came from. */
void tsr_link_count(const tsr_link *link, tsr_code_counts *counts);

/* Under which keys these are in the file of cubins that were linked ahead. */
tsr_status tsr_cuda_ahead_key(const tsr_composition *table, const tsr_step *step, tsr_cache_key *key, tsr_error *error)
    TSR_MUST_CHECK;
tsr_cache_key tsr_cuda_ahead_key_of_set(const tsr_steps *set, uint32_t sm);

/* Reads kernels, registers and stack from a cubin into *link, whose cubin is set and holds the names. TSR_LINK_FAILED
 * if it is not a sound cubin of all these kernels. */
tsr_status tsr_cubin_inspect(tsr_link *link, const tsr_kernels *kernels, tsr_error *error) TSR_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes machine code of compositions. NVRTC compiles the glue, and nvJitLink fuses it with the parts' LTO-IR and the
 * kernels into a cubin. This needs two libraries of the toolkit, but no GPU. Cubins are cached on disk (cache.h).
 * Several threads may link at a time.
 */
#ifndef TSR_CUDA_LINK_H
#define TSR_CUDA_LINK_H

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
/* Its versions and options, on one line; NULL where there is none. */
const char *tsr_cuda_linker_line(void);

/* Links kernels over tables for compute capability sm; device code knows tables[i] as table i. table_count may be 0.
 * A kernel that would need a stack, or registers that leave room for few blocks, is linked in another of its variants;
 * link->kernels has the names in force.
 * *link is freed by tsr_link_free. TSR_NOT_FOUND: a library of the toolkit is missing; TSR_LINK_FAILED with the
 * linker's own words; TSR_UNSUPPORTED: sm below 80. */
tsr_status tsr_cuda_link(const tsr_composition *const *tables, size_t table_count, const tsr_kernels *kernels,
                         uint32_t sm, bool use_cache, tsr_link *link, tsr_error *error) TSR_MUST_CHECK;

/* The same, but each kernel in a link of its own, and all links at the same time, because each keeps one core busy.
 * links[i] is of kernels->step[i]. If some fail, the error is that of the first of them, and no link is left to free. */
tsr_status tsr_cuda_link_each(const tsr_composition *const *tables, size_t table_count, const tsr_kernels *kernels,
                              uint32_t sm, bool use_cache, tsr_link *links, tsr_error *error) TSR_MUST_CHECK;

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

/* Reads kernels, registers and stack from a cubin into *link, whose cubin is set and holds the names. TSR_LINK_FAILED
 * if it is not a sound cubin of all these kernels. */
tsr_status tsr_cubin_inspect(tsr_link *link, const tsr_kernels *kernels, tsr_error *error) TSR_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif

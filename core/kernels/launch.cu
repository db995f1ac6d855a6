/* SPDX-License-Identifier: Apache-2.0
 *
 * The bulk operations as kernels: one thread an item, one launch a call. What they do: ops.cuh.
 */
#define TSR_ONE_TABLE
#include "core/kernels/context.cuh"
#include "core/kernels/tally.cuh"

/* `bounds`: with the block size alone ptxas aims at the next step of occupancy, which makes insert up to 20 % faster,
 * but may spill a register or two for it. Mostly that happens at 40 registers, and five blocks a multiprocessor leave a
 * thread 48; "at least one block" demands nothing and makes ptxas stop aiming. The linker takes the first of these three
 * forms that has no stack, and the second where the first takes 49 to 56 registers. */
#define BULK_KERNEL_AS(op, name, bounds)                                                                               \
  extern "C" __global__ void bounds name(const __grid_constant__ tsr_bulk a) {                                         \
    tsr_scratch scratch;                                                                                               \
    tsr_ctx c = kernel_context(&a.state, &scratch);                                                                    \
    __shared__ bulk_statistics statistics;                                                                             \
    bulk_begin_statistics(&c, &statistics);                                                                            \
    uint64_t i = io_item(0);                                                                                           \
    bulk_add(a.tally, bulk_##op(&c, &a, i, i < a.n));                                                                  \
    bulk_end_statistics(&c, &statistics, a.tally);                                                                     \
  }
#define BULK_KERNEL(op)                                                                                                \
  BULK_KERNEL_AS(op, tsr_##op##_kernel, __launch_bounds__(TSR_BLOCK_THREADS))                                          \
  BULK_KERNEL_AS(op, tsr_medium_##op##_kernel, __launch_bounds__(TSR_BLOCK_THREADS, 5))                                \
  BULK_KERNEL_AS(op, tsr_roomy_##op##_kernel, __launch_bounds__(TSR_BLOCK_THREADS, 1))
TSR_BULK_OPS(BULK_KERNEL)

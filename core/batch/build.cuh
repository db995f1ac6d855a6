/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory of a scheme that is built from whole batches, as a kernel: a block calls the scheme's build() for a page of
 * the keys. Included by batch.cu; the partition has brought the keys into the order of pages. Why:
 * ../design/0042-built-from-a-batch.md.
 */
#ifndef TSR_BATCH_BUILD_CUH
#define TSR_BATCH_BUILD_CUH

#include "core/batch/order.cuh"

extern "C" __global__ void __launch_bounds__(TSR_BUILD_THREADS)
    tsr_pages_build_kernel(const __grid_constant__ tsr_build_step a) {
  tsr_scratch scratch;
  const tsr_ctx c = batch_context(&a.bulk, &scratch);
  const uint64_t page = blockIdx.x, begin = a.pages.begins[page], end = a.pages.begins[page + 1];
  const tsr_build_page own = {(const tsr_key *)a.bulk.keys + begin, (uint32_t)(end - begin), page, begin,
                              tsr_page_memory};
  probing_build(&c, &own);
}

#endif

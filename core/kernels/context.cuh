/* SPDX-License-Identifier: Apache-2.0
 *
 * How a kernel's thread becomes a lane of a tile: shared by launch.cu and pool.cu, for table 0 of their link.
 */
#ifndef TSR_KERNEL_CONTEXT_CUH
#define TSR_KERNEL_CONTEXT_CUH

#include "plugins/device.cuh"

static __device__ __forceinline__ tsr_ctx kernel_context(const tsr_state *state, tsr_scratch *scratch) {
  tsr_ctx c = {state, 0, 0, 0, 1, scratch};
  uint32_t lanes = TSR_FACT(&c, tile_lanes), warp_lane = threadIdx.x & 31u;
  c.lane = warp_lane & (lanes - 1u);
  c.base = warp_lane & ~(lanes - 1u);
  *scratch = tsr_scratch();
  return c;
}

#endif

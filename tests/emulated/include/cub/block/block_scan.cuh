// SPDX-License-Identifier: Apache-2.0
//
// In place of CUB's: a prefix sum over a block, as ../../../block.h runs it.
#pragma once

namespace cub {

enum { BLOCK_SCAN_WARP_SCANS };

template <class T, int THREADS, int WAY>
struct BlockScan {
  struct TempStorage {
    T values[THREADS];
  };
  TempStorage &storage;
  explicit BlockScan(TempStorage &room) : storage(room) {}
  void ExclusiveSum(T mine, T &before) {
    storage.values[threadIdx.x] = mine;
    __syncthreads();
    T sum = 0;
    for (unsigned i = 0; i < threadIdx.x; i++) sum += storage.values[i];
    __syncthreads();
    before = sum;
  }
};

} // namespace cub

/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of scan.h. CUB's device-wide scan launches through the CUDA runtime, which this library does not use.
 * So these kernels call CUB's block-wide steps: one sums up each tile, the other scans the tiles with the totals
 * before them. Reading the numbers twice costs a small part of the search that counted them.
 */
#include <cub/block/block_load.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>

#include "core/kernels/scan.h"

typedef unsigned long long number;
typedef cub::BlockLoad<number, TSR_BLOCK_THREADS, TSR_SCAN_THREAD_NUMBERS, cub::BLOCK_LOAD_WARP_TRANSPOSE> tile_load;
typedef cub::BlockStore<number, TSR_BLOCK_THREADS, TSR_SCAN_THREAD_NUMBERS, cub::BLOCK_STORE_WARP_TRANSPOSE> tile_store;
typedef cub::BlockReduce<number, TSR_BLOCK_THREADS> tile_reduce;
typedef cub::BlockScan<number, TSR_BLOCK_THREADS> tile_scan;

#define KERNEL(kernel)                                                                                                 \
  extern "C" __global__ void __launch_bounds__(TSR_BLOCK_THREADS) kernel(const __grid_constant__ tsr_scan a)

/* How many numbers of this block's tile there are, of n in all. */
static __device__ __forceinline__ int tile_numbers(uint64_t first, uint64_t n) {
  return n <= first ? 0 : n - first < TSR_SCAN_TILE ? (int)(n - first) : TSR_SCAN_TILE;
}

KERNEL(tsr_scan_totals) {
  __shared__ union {
    typename tile_load::TempStorage load;
    typename tile_reduce::TempStorage reduce;
  } shared;
  number own[TSR_SCAN_THREAD_NUMBERS];
  uint64_t first = (uint64_t)blockIdx.x * TSR_SCAN_TILE;
  tile_load(shared.load).Load((number *)a.numbers + first, own, tile_numbers(first, a.n), 0ull);
  __syncthreads();
  number total = tile_reduce(shared.reduce).Sum(own);
  if (threadIdx.x == 0) a.tiles[blockIdx.x] = total;
}

KERNEL(tsr_scan_tiles) {
  __shared__ union {
    typename tile_load::TempStorage load;
    typename tile_scan::TempStorage scan;
    typename tile_store::TempStorage store;
  } shared;
  number own[TSR_SCAN_THREAD_NUMBERS];
  uint64_t first = (uint64_t)blockIdx.x * TSR_SCAN_TILE;
  number begin = a.tiles ? a.tiles[blockIdx.x] : 0;
  tile_load(shared.load).Load((number *)a.numbers + first, own, tile_numbers(first, a.n), 0ull);
  __syncthreads();
  tile_scan(shared.scan).ExclusiveSum(own, own);
#pragma unroll
  for (int i = 0; i < TSR_SCAN_THREAD_NUMBERS; i++) own[i] += begin;
  __syncthreads();
  tile_store(shared.store).Store((number *)a.numbers + first, own, tile_numbers(first, a.n + 1));
}

// SPDX-License-Identifier: Apache-2.0
//
// A block of a GPU's threads on one thread of the CPU, so that a kernel's own source runs without a GPU. Each thread is a coroutine. It
// runs until a barrier or a vote, and the others follow in another order each time. What follows an asynchronous copy sees it
// only once it has waited. Shared memory is full of rubbish before a block begins, and what a launch did not ask for cannot
// be read. Included before the source of a kernel. Read next: block.cc, groups_kernels.cc.
#ifndef TSR_TESTS_EMULATED_BLOCK_H
#define TSR_TESTS_EMULATED_BLOCK_H

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace emulated {

struct Index {
  unsigned x;
};

// Runs `kernel` for each block.
void launch(void (*kernel)(const void *argument), const void *argument, unsigned blocks, unsigned threads,
            size_t shared_bytes);

// For the functions below, and for kernels of emulated code alone.
void barrier();
void exchange(uint64_t mine, uint64_t *of_warp); // what each lane of the warp brings
void copy_later(void *to, const void *from, size_t bytes);
void wait_for_copies();

template <class T>
uint64_t word_of(T value) {
  uint64_t word = 0;
  std::memcpy(&word, &value, sizeof value);
  return word;
}
template <class T>
T value_of(uint64_t word) {
  T value;
  std::memcpy(&value, &word, sizeof value);
  return value;
}

} // namespace emulated

struct alignas(16) uint4 {
  unsigned x, y, z, w;
};

// ---- The names of CUDA ---------------------------------------------------------------------------

#define __CUDACC__ 1
#define __device__
#define __global__
#define __forceinline__ inline
#define __grid_constant__
#define __launch_bounds__(...)
#define __shared__ thread_local // all coroutines are of one thread

extern emulated::Index threadIdx, blockIdx, gridDim;

inline void __syncthreads() { emulated::barrier(); }
inline int __syncthreads_or(int yes) {
  static int any;
  emulated::barrier(); // all have read what the call before found
  if (threadIdx.x == 0) any = 0;
  emulated::barrier();
  any |= yes != 0;
  emulated::barrier();
  return any;
}

template <class T>
T __shfl_sync(unsigned, T value, unsigned lane) {
  uint64_t all[32];
  emulated::exchange(emulated::word_of(value), all);
  return emulated::value_of<T>(all[lane % 32]);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, unsigned distance) {
  return __shfl_sync(mask, value, threadIdx.x ^ distance);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned distance) {
  const unsigned lane = threadIdx.x % 32;
  return __shfl_sync(mask, value, lane < distance ? lane : lane - distance);
}
inline unsigned __ballot_sync(unsigned, int yes) {
  uint64_t all[32];
  unsigned votes = 0;
  emulated::exchange(yes != 0, all);
  for (unsigned lane = 0; lane < 32; lane++) votes |= static_cast<unsigned>(all[lane]) << lane;
  return votes;
}
inline int __all_sync(unsigned mask, int yes) { return __ballot_sync(mask, yes) == ~0u; }
inline int __any_sync(unsigned mask, int yes) { return __ballot_sync(mask, yes) != 0; }
inline unsigned __match_any_sync(unsigned, unsigned value) {
  uint64_t all[32];
  unsigned same = 0;
  emulated::exchange(value, all);
  for (unsigned lane = 0; lane < 32; lane++) same |= static_cast<unsigned>(all[lane] == value) << lane;
  return same;
}
inline unsigned __reduce_add_sync(unsigned, unsigned value) {
  uint64_t all[32];
  unsigned sum = 0;
  emulated::exchange(value, all);
  for (uint64_t one : all) sum += static_cast<unsigned>(one);
  return sum;
}
inline int __ffs(int bits) { return __builtin_ffs(bits); }
inline unsigned __popc(unsigned bits) { return static_cast<unsigned>(__builtin_popcount(bits)); }

template <class T>
T __ldcs(const T *from) {
  return *from;
}
template <class T>
void __stcs(T *to, T value) {
  *to = value;
}
template <class T, class U>
T atomicAdd(T *to, U value) {
  const T before = *to;
  *to = before + static_cast<T>(value);
  return before;
}
template <class T>
T atomicOr(T *to, T value) {
  const T before = *to;
  *to = before | value;
  return before;
}
template <class T>
T atomicMin(T *to, T value) {
  const T before = *to;
  if (value < before) *to = value;
  return before;
}
template <class T>
T atomicMax(T *to, T value) {
  const T before = *to;
  if (before < value) *to = value;
  return before;
}
template <class T>
T atomicCAS(T *to, T expected, T value) {
  const T before = *to;
  if (before == expected) *to = value;
  return before;
}

inline void __pipeline_memcpy_async(void *to, const void *from, size_t bytes) { emulated::copy_later(to, from, bytes); }
inline void __pipeline_commit() {}
inline void __pipeline_wait_prior(int) { emulated::wait_for_copies(); }

#endif

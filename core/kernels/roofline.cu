/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of roofline.h, which says what they do. They are written like the kernels of a table, with one access
 * per thread or tile and no loop over accesses. So the rates bound what a table can reach, and not what memory can.
 */
#include "core/kernels/roofline.h"
#include "plugins/device.cuh"

#define KERNEL(kernel)                                                                                                 \
  extern "C" __global__ void __launch_bounds__(TSR_BLOCK_THREADS)                                                      \
      tsr_roofline_##kernel(const __grid_constant__ tsr_roofline_run a)

static __device__ __forceinline__ uint64_t thread_number() {
  return blockIdx.x * (uint64_t)TSR_BLOCK_THREADS + threadIdx.x;
}

/* Random bits of an access: cheap, so that arithmetic is no part of the limit. */
static __device__ __forceinline__ uint64_t random_bits(const tsr_roofline_run &a, uint64_t access) {
  uint64_t x = (access + a.seed) * 0xDC80F9BE67FD4C1Full;
  x ^= x >> 32;
  x *= 0xAA5BF36518677DB7ull;
  return x ^ x >> 29;
}

/* The chunk of an access. Multiply-high, because a remainder would cost more than the read. */
static __device__ __forceinline__ uint64_t random_chunk(const tsr_roofline_run &a, uint64_t bits) {
  return __umul64hi(bits, a.chunks);
}

/* A store that never happens in practice and that the compiler cannot rule out. */
static __device__ __forceinline__ void keep_alive(const tsr_roofline_run &a, uint32_t bits) {
  if (bits == 0x7E55E8A1u) *a.sink = bits;
}

static __device__ __forceinline__ uint32_t fold16(const char *at) {
  uint4 word = *(const uint4 *)at;
  return word.x ^ word.y ^ word.z ^ word.w;
}

static __device__ __forceinline__ uint32_t fold8(const char *at) {
  uint2 word = *(const uint2 *)at;
  return word.x ^ word.y;
}

/* bytes and lanes are constants at each call. */
static __device__ __forceinline__ void read(const tsr_roofline_run &a, uint32_t bytes, uint32_t lanes) {
  uint64_t thread = thread_number(), access = thread / lanes;
  if (access >= a.accesses) return;
  uint32_t lane_bytes = bytes / lanes, folded = 0;
  const char *at =
      (const char *)a.memory + random_chunk(a, random_bits(a, access)) * bytes + thread % lanes * lane_bytes;
  if (lane_bytes == 8) {
    folded = fold8(at);
  } else {
#pragma unroll
    for (uint32_t i = 0; i < lane_bytes / 16; i++) folded ^= fold16(at + 16 * i);
  }
  keep_alive(a, folded);
}

static __device__ __forceinline__ uint64_t swap(uint64_t *word, uint64_t number) {
  return atomicCAS((unsigned long long *)word, ~0ull, (unsigned long long)number);
}

#define READ_KERNEL(bytes, lanes)                                                                                      \
  KERNEL(read_##bytes##_##lanes) { read(a, bytes, lanes); }
READ_KERNEL(32, 1)
READ_KERNEL(64, 1)
READ_KERNEL(64, 2)
READ_KERNEL(64, 4)
READ_KERNEL(64, 8)
READ_KERNEL(128, 1)
READ_KERNEL(128, 8)
READ_KERNEL(128, 16)
READ_KERNEL(256, 16)
READ_KERNEL(512, 32)

KERNEL(cas) {
  uint64_t access = thread_number();
  if (access >= a.accesses) return;
  uint64_t *word = (uint64_t *)a.memory + random_chunk(a, random_bits(a, access));
  keep_alive(a,
             (uint32_t)swap(word, access)); /* an answer that is not used would make it a reduction, which is faster */
}

KERNEL(cas_128) {
  uint64_t access = thread_number();
  if (access >= a.accesses) return;
  tsr_u128 *word = (tsr_u128 *)a.memory + random_chunk(a, random_bits(a, access));
  keep_alive(a, (uint32_t)tsr_cas128(word, ~(tsr_u128)0, access));
}

KERNEL(read_cas) {
  uint64_t access = thread_number();
  if (access >= a.accesses) return;
  uint64_t bits = random_bits(a, access);
  uint64_t *sector = (uint64_t *)a.memory + 4 * random_chunk(a, bits);
  uint32_t folded = fold16((const char *)sector) ^ fold16((const char *)(sector + 2));
  uint32_t slot = ((uint32_t)bits ^ folded) & 3u;
  keep_alive(a, folded ^ (uint32_t)swap(sector + slot, access));
}

KERNEL(copy) {
  uint64_t access = thread_number();
  if (access >= a.accesses) return;
  const uint4 *from = (const uint4 *)a.memory + access;
  ((uint4 *)a.memory)[a.chunks + access] = *from;
}

/* Every row of the list has its kernel here; a missing one does not compile. */
#define LISTED(kernel, name, bytes, lanes, kind)                                                                       \
  static_assert(sizeof(&tsr_roofline_##kernel) > 0 && bytes % lanes == 0, "roofline.h lists a kernel that is not "     \
                                                                          "here");
TSR_ROOFLINE_KERNELS(LISTED)

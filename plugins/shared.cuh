/* SPDX-License-Identifier: Apache-2.0
 *
 * The accesses of device.cuh to a page that a block of threads holds in shared memory (fact in_page). There a part's
 * address is an offset in that memory, the sum of what its region holds and what the part adds, and never a pointer that
 * could be followed. All accesses are relaxed and of the block's scope, but for those named acquire and release.
 */
#ifndef TSR_SHARED_CUH
#define TSR_SHARED_CUH

#include "plugins/table.h"

#ifdef __CUDACC__
extern "C" __device__ const uint32_t tsr_fact_in_page;
/* Whether this link's tables are pages in shared memory; a constant. */
#define TSR_IN_PAGE (tsr_fact_in_page != 0)

extern __shared__ __align__(16) unsigned char tsr_page_memory[]; /* the page */

static __device__ __forceinline__ uint32_t tsr_shared_offset(const void *address) {
  return (uint32_t)__cvta_generic_to_shared(tsr_page_memory) + (uint32_t)(unsigned long long)address;
}

#define TSR_SHARED_LOAD_(bits, letter, type)                                                                           \
  static __device__ __forceinline__ type tsr_shared_load##bits(const void *address) {                                  \
    type found;                                                                                                        \
    asm volatile("ld.relaxed.cta.shared.b" #bits " %0, [%1];"                                                          \
                 : "=" letter(found)                                                                                   \
                 : "r"(tsr_shared_offset(address))                                                                     \
                 : "memory");                                                                                          \
    return found;                                                                                                      \
  }                                                                                                                    \
  static __device__ __forceinline__ void tsr_shared_store##bits(void *address, type value) {                           \
    asm volatile("st.relaxed.cta.shared.b" #bits " [%0], %1;"                                                          \
                 :                                                                                                     \
                 : "r"(tsr_shared_offset(address)), letter(value)                                                      \
                 : "memory");                                                                                          \
  }
TSR_SHARED_LOAD_(32, "r", uint32_t)
TSR_SHARED_LOAD_(64, "l", unsigned long long)

static __device__ __forceinline__ void tsr_shared_store8(void *address, uint8_t value) {
  asm volatile("st.relaxed.cta.shared.b8 [%0], %1;"
               :
               : "r"(tsr_shared_offset(address)), "r"((uint32_t)value)
               : "memory");
}

/* One instruction of the hardware, which reads all 16 aligned bytes as a whole, as ATOMS swaps them. */
static __device__ __forceinline__ void tsr_shared_load128(const void *address, uint64_t *low, uint64_t *high) {
  unsigned long long a, b;
  asm volatile("ld.volatile.shared.v2.u64 {%0, %1}, [%2];"
               : "=l"(a), "=l"(b)
               : "r"(tsr_shared_offset(address))
               : "memory");
  *low = a;
  *high = b;
}

static __device__ __forceinline__ void tsr_shared_store128(void *address, unsigned long long low,
                                                           unsigned long long high) {
  asm volatile("st.volatile.shared.v2.u64 [%0], {%1, %2};"
               :
               : "r"(tsr_shared_offset(address)), "l"(low), "l"(high)
               : "memory");
}

#define TSR_SHARED_ATOMIC_(name, instruction, letter, type)                                                            \
  static __device__ __forceinline__ type tsr_shared_##name(void *address, type value) {                                \
    type found;                                                                                                        \
    asm volatile("atom." instruction " %0, [%1], %2;"                                                                  \
                 : "=" letter(found)                                                                                   \
                 : "r"(tsr_shared_offset(address)), letter(value)                                                      \
                 : "memory");                                                                                          \
    return found;                                                                                                      \
  }
#define TSR_SHARED_CAS_(bits, order, letter, type)                                                                     \
  static __device__ __forceinline__ type tsr_shared_cas##bits##_##order(void *address, type expected, type desired) {  \
    type found;                                                                                                        \
    asm volatile("atom." #order ".cta.shared.cas.b" #bits " %0, [%1], %2, %3;"                                         \
                 : "=" letter(found)                                                                                   \
                 : "r"(tsr_shared_offset(address)), letter(expected), letter(desired)                                  \
                 : "memory");                                                                                          \
    return found;                                                                                                      \
  }
TSR_SHARED_ATOMIC_(add32, "relaxed.cta.shared.add.u32", "r", uint32_t)
TSR_SHARED_ATOMIC_(add64, "relaxed.cta.shared.add.u64", "l", unsigned long long)
TSR_SHARED_ATOMIC_(min32, "relaxed.cta.shared.min.u32", "r", uint32_t)
TSR_SHARED_ATOMIC_(min64, "relaxed.cta.shared.min.u64", "l", unsigned long long)
TSR_SHARED_ATOMIC_(max32, "relaxed.cta.shared.max.u32", "r", uint32_t)
TSR_SHARED_ATOMIC_(max64, "relaxed.cta.shared.max.u64", "l", unsigned long long)
TSR_SHARED_ATOMIC_(exchange32, "relaxed.cta.shared.exch.b32", "r", uint32_t)
TSR_SHARED_ATOMIC_(exchange64, "relaxed.cta.shared.exch.b64", "l", unsigned long long)
TSR_SHARED_ATOMIC_(or32_acquire, "acquire.cta.shared.or.b32", "r", uint32_t)
TSR_SHARED_ATOMIC_(and32, "relaxed.cta.shared.and.b32", "r", uint32_t)
TSR_SHARED_ATOMIC_(and32_release, "release.cta.shared.and.b32", "r", uint32_t)
TSR_SHARED_CAS_(32, relaxed, "r", uint32_t)
TSR_SHARED_CAS_(32, acquire, "r", uint32_t)
TSR_SHARED_CAS_(32, release, "r", uint32_t)
TSR_SHARED_CAS_(64, relaxed, "l", unsigned long long)
TSR_SHARED_CAS_(64, acquire, "l", unsigned long long)
TSR_SHARED_CAS_(64, release, "l", unsigned long long)

/* 128 bits, compute capability 9.0 */
static __device__ __forceinline__ unsigned __int128 tsr_shared_cas128(void *address, unsigned __int128 expected,
                                                                      unsigned __int128 desired) {
#if __CUDA_ARCH__ >= 900
  unsigned long long low, high;
  asm volatile("{ .reg .b128 e, d, f; mov.b128 e, {%2, %3}; mov.b128 d, {%4, %5};"
               " atom.relaxed.cta.shared.cas.b128 f, [%6], e, d; mov.b128 {%0, %1}, f; }"
               : "=l"(low), "=l"(high)
               : "l"((unsigned long long)expected), "l"((unsigned long long)(expected >> 64)),
                 "l"((unsigned long long)desired), "l"((unsigned long long)(desired >> 64)),
                 "r"(tsr_shared_offset(address))
               : "memory");
  return (unsigned __int128)high << 64 | low;
#else
  return ~expected;
#endif
}

static __device__ __forceinline__ unsigned __int128 tsr_shared_exchange128(void *address, unsigned __int128 desired) {
#if __CUDA_ARCH__ >= 900
  unsigned long long low, high;
  asm volatile("{ .reg .b128 d, f; mov.b128 d, {%2, %3};"
               " atom.relaxed.cta.shared.exch.b128 f, [%4], d; mov.b128 {%0, %1}, f; }"
               : "=l"(low), "=l"(high)
               : "l"((unsigned long long)desired), "l"((unsigned long long)(desired >> 64)),
                 "r"(tsr_shared_offset(address))
               : "memory");
  return (unsigned __int128)high << 64 | low;
#else
  return desired;
#endif
}
#endif

#endif

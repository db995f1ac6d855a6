/* SPDX-License-Identifier: Apache-2.0
 *
 * How the items of a call are read and its answers written: they stream past the caches, which belong to the table.
 */
#ifndef TSR_IO_CUH
#define TSR_IO_CUH

#include "plugins/device.cuh"
#ifndef __CUDACC__
#include <time.h>
#endif

#ifdef __CUDACC__
#define IO_READ(pointer) __ldcs(pointer)
#define IO_WRITE(pointer, value) __stcs(pointer, value)
#define IO_ADD(pointer, value) atomicAdd((unsigned long long *)(pointer), (unsigned long long)(value))
typedef unsigned long long io_u64; /* the type that __ldcs knows */
#else
#define IO_READ(pointer) (*(pointer))
#define IO_WRITE(pointer, value) (*(pointer) = (value))
#define IO_ADD(pointer, value) __atomic_fetch_add(pointer, value, __ATOMIC_RELAXED) /* a count orders nothing */
typedef uint64_t io_u64;
#endif
#if TSR_KEY_BITS == 128
typedef tsr_key io_key;
#elif TSR_KEY_BITS == 64
typedef io_u64 io_key;
#else
typedef uint32_t io_key;
#endif
#if TSR_PAYLOAD_BITS == 64
typedef io_u64 io_payload;
#else
typedef uint32_t io_payload;
#endif

/* This thread's item; on the CPU `i`. The device reads it again, so that it takes no register during the walk. With one
 * read for the whole kernel finds needed 35 registers instead of 32: three quarters of the warps. */
TSR_INLINE uint64_t io_item(uint64_t i) {
#ifdef __CUDACC__
  uint32_t block, thread; /* volatile: otherwise the compiler would see that it has read them before */
  asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(block));
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
  (void)i;
  return block * (uint64_t)TSR_BLOCK_THREADS + thread;
#else
  return i;
#endif
}

#if TSR_KEY_BITS == 128
/* On a GPU one vector of two words. On the CPU the array may begin at any address. */
TSR_INLINE tsr_key io_key_at(const void *keys, uint64_t i, uint32_t mine) {
  if (!mine) return 0;
#ifdef __CUDACC__
  const ulonglong2 words = __ldcs((const ulonglong2 *)keys + i);
  return (tsr_key)words.y << 64 | words.x;
#else
  tsr_key key;
  __builtin_memcpy(&key, (const char *)keys + i * sizeof key, sizeof key);
  return key;
#endif
}

TSR_INLINE void io_put_key(void *keys, uint64_t i, tsr_key key) {
#ifdef __CUDACC__
  __stcs((ulonglong2 *)keys + i, make_ulonglong2((unsigned long long)key, (unsigned long long)(key >> 64)));
#else
  __builtin_memcpy((char *)keys + i * sizeof key, &key, sizeof key);
#endif
}
#else
TSR_INLINE tsr_key io_key_at(const void *keys, uint64_t i, uint32_t mine) {
  return mine ? IO_READ((const io_key *)keys + i) : 0;
}

TSR_INLINE void io_put_key(void *keys, uint64_t i, tsr_key key) { IO_WRITE((io_key *)keys + i, key); }
#endif

/* 0 where there is none. */
TSR_INLINE tsr_payload io_payload_at(const void *payloads, uint64_t i, uint32_t mine) {
#if TSR_PAYLOAD_BITS > 0
  return mine ? IO_READ((const io_payload *)payloads + i) : 0;
#else
  (void)payloads, (void)i, (void)mine;
  return 0;
#endif
}

TSR_INLINE void io_put_payload(void *payloads, uint64_t i, tsr_payload payload) {
#if TSR_PAYLOAD_BITS > 0
  if (payloads) IO_WRITE((io_payload *)payloads + i, payload);
#else
  (void)payloads, (void)i, (void)payload;
#endif
}

/* Nanoseconds of a clock that all threads share. */
TSR_INLINE uint64_t io_clock(void) {
#ifdef __CUDACC__
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now) : : "memory");
  return now;
#else
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
#endif
}

#endif

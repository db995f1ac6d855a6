/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of wide.h. The threads of a row are neighbours and take a word each, so that a warp reads and writes
 * whole sectors. Their number is a power of two, so that a thread finds its item and word without a division.
 */
#include "core/kernels/wide.h"

#define EACH(step) TSR_STEP_EACH(tsr_wide_##step, tsr_wide_run, tsr_wide_##step##_item)
TSR_WIDE_STEPS(EACH, TSR_STEP_NOTHING)

#define KERNEL(step) TSR_STEP_KERNEL(tsr_wide_##step, tsr_wide_run, __launch_bounds__(TSR_BLOCK_THREADS))

/* Appends to a list. Relaxed: it gives out places, and the next kernel reads them. A block takes its places at once, so that
 * neighbours in the list are neighbours in memory, and few atomics meet at the count. */
static __device__ __forceinline__ void append(uint32_t *list, uint64_t *count, uint32_t is_one, uint32_t number) {
  enum { WARPS = TSR_BLOCK_THREADS / 32 };
  __shared__ unsigned long long begin;
  __shared__ uint32_t befores[WARPS]; /* the places of the warps before */
  const uint32_t mates = __ballot_sync(0xFFFFFFFFu, is_one), lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (lane == 0) befores[warp] = (uint32_t)__popc(mates);
  __syncthreads();
  if (threadIdx.x == 0) {
    uint32_t sum = 0;
    for (uint32_t i = 0; i < WARPS; i++) {
      const uint32_t own = befores[i];
      befores[i] = sum;
      sum += own;
    }
    if (sum) begin = atomicAdd((unsigned long long *)count, (unsigned long long)sum);
  }
  __syncthreads();
  if (is_one) list[begin + befores[warp] + (uint32_t)__popc(mates & ((1u << lane) - 1))] = number;
}

KERNEL(spare) {
  const uint32_t is_spare = tsr_step_thread() < a.n && !a.marks[tsr_step_thread()];
  append(a.numbers, a.count, is_spare, (uint32_t)tsr_step_thread());
}

KERNEL(back) {
  const uint32_t number = tsr_step_thread() < a.n ? a.numbers[tsr_step_thread()] : TSR_WIDE_NONE;
  append(a.listed, a.count, number != TSR_WIDE_NONE, number);
}

/* The item of a thread, and its word of the row; words: of a row. */
typedef struct place {
  uint64_t item;
  uint32_t word, is_one;
} place;

static __device__ __forceinline__ place place_of(const tsr_wide_run &a) {
  const uint32_t words = a.row_bytes / a.word_bytes, threads_log2 = 32 - __clz((int)words - 1);
  place p;
  p.item = tsr_step_thread() >> threads_log2;
  p.word = (uint32_t)tsr_step_thread() & ((1u << threads_log2) - 1);
  p.is_one = p.item < a.n && p.word < words && tsr_wide_is_wanted(&a, p.item);
  return p;
}

static __device__ __forceinline__ void copy_word(const tsr_wide_run &a, void *to, const void *from, uint32_t word) {
  switch (a.word_bytes) {
  case 16:
    ((uint4 *)to)[word] = ((const uint4 *)from)[word];
    break;
  case 8:
    ((uint64_t *)to)[word] = ((const uint64_t *)from)[word];
    break;
  case 4:
    ((uint32_t *)to)[word] = ((const uint32_t *)from)[word];
    break;
  default:
    ((uint8_t *)to)[word] = ((const uint8_t *)from)[word];
  }
}

/* Word `word` of the missing value's bytes, repeated. */
static __device__ __forceinline__ void miss_word(const tsr_wide_run &a, void *to, uint32_t word) {
  const uint32_t low = (uint32_t)a.missing, high = (uint32_t)(a.missing >> 32);
  switch (a.word_bytes) {
  case 16:
    ((uint4 *)to)[word] = make_uint4(low, high, low, high);
    break;
  case 8:
    ((uint64_t *)to)[word] = a.missing;
    break;
  case 4:
    ((uint32_t *)to)[word] = word % 2 ? high : low;
    break;
  default:
    ((uint8_t *)to)[word] = (uint8_t)(a.missing >> word % 8 * 8);
  }
}

KERNEL(put) {
  const place p = place_of(a);
  if (!p.is_one || a.numbers[p.item] >= a.row_count) return;
  copy_word(a, tsr_wide_row(&a, a.numbers[p.item]), (const char *)a.values + p.item * a.row_bytes, p.word);
}

KERNEL(get) {
  const place p = place_of(a);
  if (!p.is_one) return;
  char *to = (char *)a.values + p.item * a.row_bytes;
  if (a.numbers[p.item] < a.row_count)
    copy_word(a, to, tsr_wide_row(&a, a.numbers[p.item]), p.word);
  else
    miss_word(a, to, p.word);
}

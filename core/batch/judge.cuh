/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether the keys of a batch repeat so often that random access is faster than pages, where an insert looks for its
 * key and does not combine values. All slots of the frequent keys are then in the cache, and a page with a hot key
 * would keep one block busy. The sample is judged on the device, because the host waits for nothing: the steps of the order
 * that follow have all items of the batch, or are idle (idle.cuh), and a last step inserts those that they had not.
 */
#ifndef TSR_BATCH_JUDGE_CUH
#define TSR_BATCH_JUDGE_CUH

#include "core/batch/hot.cuh"

/* A thread looks for the hash of its item in a set that all blocks share. Two keys of one hash are rare enough to be taken for
 * one. Atomics are relaxed: they count, or let one of several threads win. A barrier comes before a block's count is read, and a
 * fence before the last block reads that of all. All words of `counted` begin with all bits set, as a free place does. */
extern "C" __global__ void __launch_bounds__(TSR_BLOCK_THREADS)
    tsr_pages_judge_kernel(const __grid_constant__ tsr_judge_step a) {
  enum { TRIES = 64 }; /* of four places, one is taken */
  const uint32_t room = TSR_JUDGED_SLOTS(a.judged.sample_log2);
  const uint64_t sample = 1ull << a.judged.sample_log2, i = io_item(0);
  tsr_key key = TSR_EMPTY_KEY;
  if (i < sample && i < a.bulk.n) key = io_key_at(a.bulk.keys, sample_at(a.bulk.n, i, a.judged.sample_log2), 1);
  const uint32_t hash = set_hash(key) & ~1u; /* never a free place */
  bool is_new = true;
  if (!walk_is_reserved(key)) set_add(a.seen, room, set_home(hash, room), TRIES, hash, &is_new);
  const uint32_t own = __syncthreads_count(!is_new);
  if (threadIdx.x) return;
  atomicAdd(&a.counted[0], own);
  __threadfence();
  if (atomicAdd(&a.counted[1], 1u) + 2 != gridDim.x) return;
  __threadfence();
  const uint32_t repeats = atomicAdd(&a.counted[0], 0u) + 1;
  const uint32_t is_left = (repeats >= a.judged.from && repeats < a.judged.before) || repeats >= a.judged.hot;
  *a.idle = is_left;
  if (a.told) *(volatile uint32_t *)a.told = 2 * a.ticket + is_left;
}

/* All items as they came, if none of them was put in order; the filter before the table has not seen them. COPIES: a block reads
 * its argument from shared memory, again in each turn. The compiler keeps what it reads from a constant in registers, and
 * fewer blocks would run at a time. The atomic counts, so it is relaxed: a barrier comes before the count is read. */
template <bool COPIES>
static __device__ __forceinline__ void insert_unordered(const tsr_judge_step *a) {
  __shared__ bulk_statistics statistics;
  __shared__ tsr_bulk copy;
  __shared__ uint32_t hits;
  const tsr_bulk *own = COPIES ? &copy : &a->bulk;
  if (!is_idle(a->idle)) return;
  if (threadIdx.x == 0) hits = 0;
  if (threadIdx.x == 0 && COPIES) copy = a->bulk;
  __syncthreads();
  tsr_scratch scratch;
  const tsr_ctx c = batch_context(own, &scratch);
  bulk_begin_statistics(&c, &statistics);
  TSR_NO_UNROLL
  for (uint32_t row = blockIdx.x * TSR_UNORDERED_THREADS; row < (uint32_t)own->n; /* of TSR_PIECE_MAX */
       row += gridDim.x * TSR_UNORDERED_THREADS) {
    if (COPIES) asm volatile("" : : : "memory");
    const uint32_t i = row + threadIdx.x;
    bulk_mark(&c, own, i, i < (uint32_t)own->n);
    if (bulk_insert(&c, own, i, i < (uint32_t)own->n)) atomicAdd(&hits, 1u);
  }
  __syncthreads();
  if (threadIdx.x == 0 && hits) IO_ADD(&own->tally->hits, hits);
  bulk_tell_overflows(&c, own->tally, 1);
  bulk_end_statistics(&c, &statistics, own->tally);
}

/* If a form spills, the linker takes the next one. */
extern "C" __global__ void __launch_bounds__(TSR_UNORDERED_THREADS, 5)
    tsr_pages_unordered_kernel(const __grid_constant__ tsr_judge_step a) {
  insert_unordered<false>(&a);
}
extern "C" __global__ void __launch_bounds__(TSR_UNORDERED_THREADS, 4)
    tsr_medium_pages_unordered_kernel(const __grid_constant__ tsr_judge_step a) {
  insert_unordered<true>(&a);
}
extern "C" __global__ void __launch_bounds__(TSR_UNORDERED_THREADS, 1)
    tsr_roomy_pages_unordered_kernel(const __grid_constant__ tsr_judge_step a) {
  insert_unordered<false>(&a);
}

#endif

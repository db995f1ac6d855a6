/* SPDX-License-Identifier: Apache-2.0
 *
 * The bulk operations as kernels: one thread per item, one launch per call. ops.cuh says what they do.
 */
#define TSR_ONE_TABLE
/* The build compiles this file for them as well (plugins/build_common.sh). */
#define TSR_KEYS_128 0, 32, 64

#include "core/kernels/context.cuh"
#include "core/kernels/tally.cuh"

/* ---- Operations of all kinds, where inserts and erases take turns ------------------------------ */

/* Works on the items of one class, a constant. They are listed, so that no lane of a warp idles. Returns this thread's
 * hits. */
static __device__ __forceinline__ uint32_t bulk_apply_listed(const tsr_ctx *c, const tsr_bulk *a, uint64_t begin,
                                                             const uint16_t *listed, uint32_t count,
                                                             uint32_t report_class) {
  uint32_t hits = 0;
  TSR_NO_UNROLL
  for (uint32_t at = threadIdx.x; tsr_warp_any(c, at < count); at += TSR_BLOCK_THREADS) {
    const uint32_t mine = at < count;
    hits += apply_class(c, a, begin + (mine ? listed[at] : 0), mine, report_class).answered != 0;
  }
  return hits;
}

/* A block lists TSR_TURN_ITEMS items by what they ask for: its finds, and from the end its erases, or otherwise its
 * inserts. The atomics give out places. They are relaxed, because a barrier comes before anybody reads the list. */
static __device__ __forceinline__ void bulk_take_turn(const tsr_ctx *c, const tsr_bulk *a, bool inserts) {
  enum { ERASED_SHIFT = 16, READ = 4 }; /* operations that a thread reads before it waits for them */
  __shared__ uint16_t listed[TSR_TURN_ITEMS_MAX];
  __shared__ uint32_t count[TSR_CLASSES], sum;
  const uint32_t items = TSR_TURN_ITEMS(a->n);
  const uint64_t begin = blockIdx.x * (uint64_t)items, left = a->n - begin;
  const uint32_t here = left < items ? (uint32_t)left : items;
  if (threadIdx.x < TSR_CLASSES) count[threadIdx.x] = 0;
  __syncthreads();
  for (uint32_t first = threadIdx.x; first < here; first += READ * TSR_BLOCK_THREADS) {
    uint32_t operation[READ];
#pragma unroll
    for (uint32_t k = 0; k < READ; k++) {
      const uint32_t nth = first + k * TSR_BLOCK_THREADS;
      operation[k] = nth < here ? a->operations[begin + nth] : 0;
    }
#pragma unroll
    for (uint32_t k = 0; k < READ; k++) {
      const uint32_t nth = first + k * TSR_BLOCK_THREADS, report_class = class_of(policy_of(c, operation[k]));
      if (nth >= here) continue;
      if (report_class == TSR_CLASSES) {
        const tsr_item nothing = item_of(a, begin + nth, 0);
        if (!inserts) answer_item(c, a, begin + nth, 1, TSR_CLASSES, &nothing);
      } else if (inserts == (report_class == TSR_CLASS_INSERT)) {
        const uint32_t at = atomicAdd(&count[report_class], 1u);
        listed[report_class == TSR_CLASS_ERASE ? TSR_TURN_ITEMS_MAX - 1 - at : at] = (uint16_t)nth;
      }
    }
  }
  __syncthreads();
  uint32_t hits;
  if (inserts) {
    hits = bulk_apply_listed(c, a, begin, listed, count[TSR_CLASS_INSERT], TSR_CLASS_INSERT);
  } else {
    const uint32_t erases = count[TSR_CLASS_ERASE];
    hits = bulk_apply_listed(c, a, begin, listed, count[TSR_CLASS_FIND], TSR_CLASS_FIND);
    hits += bulk_apply_listed(c, a, begin, listed + TSR_TURN_ITEMS_MAX - erases, erases, TSR_CLASS_ERASE)
            << ERASED_SHIFT;
  }
  const uint32_t all = bulk_block_sum(&sum, hits), found = all & ((1u << ERASED_SHIFT) - 1u);
  if (threadIdx.x >= TSR_CLASSES || inserts != (threadIdx.x == TSR_CLASS_INSERT)) return;
  IO_ADD(&a->tally->asked[threadIdx.x], count[threadIdx.x]);
  IO_ADD(&a->tally->answered[threadIdx.x], threadIdx.x == TSR_CLASS_ERASE ? all >> ERASED_SHIFT : found);
}

/* ---- What inserts have left to combine ---------------------------------------------------------- */

/* A block lists those of its TSR_COMBINE_ITEMS items that wait, often none, so that no lane idles. All threads take the
 * same number of turns, because the lanes of a warp merge items of one key. The atomics give out places. They are
 * relaxed, because a barrier comes before anybody reads the list. */
static __device__ __forceinline__ void bulk_combine_listed(const tsr_ctx *c, const tsr_bulk *a) {
  enum { ROWS = TSR_COMBINE_ITEMS / TSR_BLOCK_THREADS };
  __shared__ uint16_t listed[TSR_COMBINE_ITEMS];
  __shared__ uint32_t count;
  const uint64_t begin = blockIdx.x * (uint64_t)TSR_COMBINE_ITEMS;
  const uint32_t made = made_of(c, a, begin); /* a span has the items of many blocks */
  uint32_t waits[ROWS];
  if (threadIdx.x == 0) count = 0;
#pragma unroll
  for (uint32_t r = 0; r < ROWS; r++) {
    const uint64_t i = begin + r * TSR_BLOCK_THREADS + threadIdx.x;
    waits[r] = waits_to_combine(a, i, i < a->n, made);
  }
  __syncthreads();
#pragma unroll
  for (uint32_t r = 0; r < ROWS; r++)
    if (waits[r]) listed[atomicAdd(&count, 1u)] = (uint16_t)(r * TSR_BLOCK_THREADS + threadIdx.x);
  __syncthreads();
  for (uint32_t row = 0; row < count; row += TSR_BLOCK_THREADS) {
    const uint32_t at = row + threadIdx.x, mine = at < count;
    combine_item(c, a, begin + (mine ? listed[at] : 0), mine);
  }
}

/* `bounds`: with the block size alone ptxas aims at the next step of occupancy. That makes insert up to 20 % faster,
 * but may spill a register or two, mostly at 40 registers. Five blocks per multiprocessor leave a thread 48. "At least
 * one block" demands nothing, and ptxas stops aiming. The linker takes the first of these three forms that has no
 * stack, and the second if the first takes 49 to 56 registers. */
#define BULK_KERNEL_AS(op, name, bounds)                                                                               \
  extern "C" __global__ void bounds name(const __grid_constant__ tsr_bulk a) {                                         \
    tsr_scratch scratch;                                                                                               \
    tsr_ctx c = kernel_context(&a.state, &scratch);                                                                    \
    __shared__ bulk_statistics statistics;                                                                             \
    bulk_begin_statistics(&c, &statistics);                                                                            \
    const uint64_t i = io_item(0);                                                                                     \
    const bool inserts = TSR_BULK_##op == TSR_BULK_apply_inserts;                                                      \
    if (TSR_BULK_##op == TSR_BULK_combine)                                                                             \
      bulk_combine_listed(&c, &a);                                                                                     \
    else if ((inserts || TSR_BULK_##op == TSR_BULK_apply) && TAKES_TURNS(&c))                                          \
      bulk_take_turn(&c, &a, inserts);                                                                                 \
    else                                                                                                               \
      bulk_add(a.tally, bulk_##op(&c, &a, i, i < a.n));                                                                \
    bulk_tell_overflows(&c, a.tally, 1);                                                                               \
    bulk_end_statistics(&c, &statistics, a.tally);                                                                     \
  }
#define BULK_KERNEL(op)                                                                                                \
  BULK_KERNEL_AS(op, tsr_##op##_kernel, __launch_bounds__(TSR_BLOCK_THREADS))                                          \
  BULK_KERNEL_AS(op, tsr_medium_##op##_kernel, __launch_bounds__(TSR_BLOCK_THREADS, 5))                                \
  BULK_KERNEL_AS(op, tsr_roomy_##op##_kernel, __launch_bounds__(TSR_BLOCK_THREADS, 1))
TSR_BULK_OPS(BULK_KERNEL)

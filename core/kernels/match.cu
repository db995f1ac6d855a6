/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of match.h. A thread works on an item; only pages are matched by a block each, in shared memory.
 *
 * All atomics here are relaxed. They count items and rows, give out places, or let one of several threads make a group:
 * each is complete by itself, and what it has made is read after a barrier of the block or by the next kernel.
 */
#include "core/kernels/match.h"

#include <cub/block/block_scan.cuh>

#define KERNEL(step)                                                                                                   \
  extern "C" __global__ void __launch_bounds__(TSR_BLOCK_THREADS)                                                      \
      tsr_match_##step##_kernel(const __grid_constant__ tsr_match a)

enum { ALL_LANES = 0xFFFFFFFF };

static __device__ __forceinline__ uint64_t item_number() {
  return blockIdx.x * (uint64_t)TSR_BLOCK_THREADS + threadIdx.x;
}

/* ---- Groups ---------------------------------------------------------------------------------- */

KERNEL(group) {
  if (item_number() < a.n) a.leaders[item_number()] = tsr_match_lead(&a, item_number());
}

/* A key may be in every lane of the grid, so lanes of one group take their numbers by one addition. This is a step of its
 * own, and without a shuffle, because behind a loop or a branch ptxas does not see that lanes meet again (sm_80). */
KERNEL(rank) {
  __shared__ uint32_t begins[TSR_BLOCK_THREADS];
  const uint64_t i = item_number();
  const uint32_t lane = threadIdx.x % 32, leader = i < a.n ? a.leaders[i] : TSR_MATCH_NONE;
  const uint32_t mates = __match_any_sync(ALL_LANES, leader), first = (uint32_t)__ffs((int)mates) - 1;
  if (leader != TSR_MATCH_NONE && lane == first)
    begins[threadIdx.x] =
        (uint32_t)atomicAdd((unsigned long long *)&a.groups[leader], (unsigned long long)__popc(mates));
  __syncthreads();
  if (leader != TSR_MATCH_NONE && a.ranks)
    a.ranks[i] = begins[threadIdx.x - lane + first] + (uint32_t)__popc(mates & ((1u << lane) - 1));
}

KERNEL(place) {
  if (item_number() < a.n) tsr_match_place_item(&a, item_number());
}

/* ---- Matches --------------------------------------------------------------------------------- */

/* Adds the block's rows to the total by one atomic. Additions in shared memory have 32 bits, so that the thread whose sum
 * overflows adds the carry to the upper half. Shuffles would be collectives behind loops (core/design/0008). */
static __device__ __forceinline__ void add_rows(const tsr_match &a, uint64_t rows) {
  __shared__ uint32_t low, high;
  if (threadIdx.x == 0) low = high = 0;
  __syncthreads();
  const uint32_t own = (uint32_t)rows, before = own ? atomicAdd(&low, own) : 0;
  const uint32_t carry = (uint32_t)(rows >> 32) + (before + own < before);
  if (carry) atomicAdd(&high, carry);
  __syncthreads();
  const uint64_t all = (uint64_t)high << 32 | low;
  if (threadIdx.x == 0 && all && !a.begins) atomicAdd((unsigned long long *)a.total, (unsigned long long)all);
}

#define MATCHES(step)                                                                                                  \
  KERNEL(step) {                                                                                                       \
    const uint64_t rows = item_number() < a.n ? tsr_match_##step##_item(&a, item_number()) : 0;                        \
    add_rows(a, rows);                                                                                                 \
  }
MATCHES(look)
MATCHES(found)
MATCHES(alone)
MATCHES(sketch)

/* ---- Pages ----------------------------------------------------------------------------------- */

KERNEL(bounds) {
  if (item_number() < a.n) tsr_match_bounds_item(&a, item_number());
}

enum { GROUPS_OF_THREAD = TSR_MATCH_GROUPS / TSR_MATCH_THREADS };
static_assert(GROUPS_OF_THREAD * TSR_MATCH_THREADS == TSR_MATCH_GROUPS, "each thread sums as many groups up");
typedef cub::BlockScan<uint32_t, TSR_MATCH_THREADS, cub::BLOCK_SCAN_WARP_SCANS> groups_scan;

extern __shared__ uint4 match_memory[];

/* The groups of a page: the key of each, how many right pairs it has, later where these end, and whether a left pair of it
 * has come. */
template <class K>
struct page_groups {
  K *keys;
  uint32_t *ends, *seen;
};

static __device__ __forceinline__ uint32_t swap_key(uint32_t *at, uint32_t key) { return atomicCAS(at, ~0u, key); }
static __device__ __forceinline__ uint64_t swap_key(uint64_t *at, uint64_t key) {
  return atomicCAS((unsigned long long *)at, ~0ull, (unsigned long long)key);
}

/* The group of a key, which is made where there is none if `makes` says so; TSR_MATCH_NONE: it would lie too far away. The
 * upper bits choose it; they are independent of where a table keeps the key, because the index has a hash of its own. */
template <class K>
static __device__ __forceinline__ uint32_t group_of(const page_groups<K> &g, K key, bool makes) {
  uint32_t e = (uint32_t)(tsr_match_hash(key) >> 40) % TSR_MATCH_GROUPS;
  for (uint32_t probes = 0; probes < TSR_MATCH_PROBES; probes++, e = (e + 1) % TSR_MATCH_GROUPS) {
    K seen = *(volatile K *)&g.keys[e];
    if (seen == (K) ~(K)0) {
      if (!makes) return TSR_MATCH_NONE;
      seen = swap_key(&g.keys[e], key);
      if (seen == (K) ~(K)0) return e;
    }
    if (seen == key) return e;
  }
  return TSR_MATCH_NONE;
}

/* Makes of the groups' counts where they begin. */
static __device__ __forceinline__ void sum_groups(uint32_t *ends) {
  __shared__ typename groups_scan::TempStorage storage;
  uint32_t own[GROUPS_OF_THREAD];
#pragma unroll
  for (uint32_t j = 0; j < GROUPS_OF_THREAD; j++) own[j] = ends[threadIdx.x * GROUPS_OF_THREAD + j];
  groups_scan(storage).ExclusiveSum(own, own);
#pragma unroll
  for (uint32_t j = 0; j < GROUPS_OF_THREAD; j++) ends[threadIdx.x * GROUPS_OF_THREAD + j] = own[j];
  __syncthreads();
}

/* The right pairs of a page become groups, and its left pairs look their keys up there. When a thread finds no room for a
 * key, the whole call is done another way (gave_up). No thread leaves early, because all meet again at each step. */
template <class K>
static __device__ __forceinline__ void match_page(const tsr_match &a) {
  page_groups<K> g;
  g.keys = (K *)match_memory;
  g.ends = (uint32_t *)(g.keys + TSR_MATCH_GROUPS);
  g.seen = g.ends + TSR_MATCH_GROUPS;
  const uint64_t page = blockIdx.x;
  const uint64_t begin = a.page_begins[1][page], left_begin = a.page_begins[0][page];
  uint64_t end = a.page_begins[1][page + 1], left_end = a.page_begins[0][page + 1];
  const bool makes = a.keys_once && tsr_match_wants_absent(&a);
  bool fails = end - begin > TSR_MATCH_PAGE_ITEMS || left_end - left_begin > TSR_MATCH_PAGE_ITEMS;
  uint64_t rows = 0;
  if (fails) {
    end = begin;
    left_end = left_begin;
  }
  for (uint32_t e = threadIdx.x; e < TSR_MATCH_GROUPS; e += TSR_MATCH_THREADS) {
    g.keys[e] = (K) ~(K)0;
    g.ends[e] = 0;
    if (e < TSR_MATCH_GROUPS / 32) g.seen[e] = 0;
  }
  __syncthreads();
  for (uint64_t i = begin + threadIdx.x; i < end; i += TSR_MATCH_THREADS) {
    const K key = __ldcs((const K *)a.right_keys + i);
    if (key == (K) ~(K)0) continue;
    const uint32_t e = group_of(g, key, true);
    fails |= e == TSR_MATCH_NONE;
    if (e != TSR_MATCH_NONE) atomicAdd(&g.ends[e], 1u);
  }
  __syncthreads();
  if (a.grouped) {
    sum_groups(g.ends);
    for (uint64_t i = begin + threadIdx.x; i < end; i += TSR_MATCH_THREADS) {
      const K key = ((const K *)a.right_keys)[i];
      if (key == (K) ~(K)0) continue;
      const uint32_t e = group_of(g, key, false);
      if (e != TSR_MATCH_NONE)
        tsr_match_put(a.grouped, begin + atomicAdd(&g.ends[e], 1u), a.right_bytes,
                      tsr_match_number(a.right_values, i, a.right_bytes));
    }
    __syncthreads();
  }
  for (uint64_t p = left_begin + threadIdx.x; p < left_end; p += TSR_MATCH_THREADS) {
    const K key = __ldcs((const K *)a.left_keys + p);
    if (key == (K) ~(K)0) {
      tsr_match_tell(&a, p, 0, 0, 0);
      continue;
    }
    const uint32_t e = group_of(g, key, makes), is_there = e != TSR_MATCH_NONE;
    const uint32_t first = is_there && e && a.grouped ? g.ends[e - 1] : 0, matches = is_there ? g.ends[e] - first : 0;
    uint32_t leads = 1;
    if (a.keys_once) {
      fails |= makes && !is_there;
      leads = is_there && !(atomicOr(&g.seen[e / 32], 1u << e % 32) >> e % 32 & 1u);
    }
    rows += tsr_match_tell(&a, p, (uint32_t)begin + first, matches, leads);
  }
  if (fails) *a.gave_up = 1;
  add_rows(a, rows);
}

#define PAGES(step, K)                                                                                                 \
  extern "C" __global__ void __launch_bounds__(TSR_MATCH_THREADS)                                                      \
      tsr_match_##step##_kernel(const __grid_constant__ tsr_match a) {                                                 \
    match_page<K>(a);                                                                                                  \
  }
PAGES(narrow, uint32_t)
PAGES(wide, uint64_t)

/* ---- Rows ------------------------------------------------------------------------------------ */

/* A block's rows belong to neighbours, so two of its threads find the first and the last of these for all. */
KERNEL(rows) {
  __shared__ unsigned long long bound[2];
  const uint64_t r = item_number(), first = blockIdx.x * (uint64_t)TSR_MATCH_ROWS;
  const uint64_t last = a.n - first > TSR_MATCH_ROWS ? first + TSR_MATCH_ROWS - 1 : a.n - 1;
  if (threadIdx.x < 2) bound[threadIdx.x] = tsr_match_pair_of(&a, threadIdx.x ? last : first, 0, a.lefts);
  __syncthreads();
  if (r < a.n) tsr_match_row(&a, r, tsr_match_pair_of(&a, r, bound[0], bound[1] + 1));
}

KERNEL(fold) {
  if (item_number() < a.n) tsr_match_fold_item(&a, item_number());
}

KERNEL(mark) {
  if (item_number() < a.n) tsr_match_mark_item(&a, item_number());
}

KERNEL(emit) {
  if (item_number() < a.n) tsr_match_emit_item(&a, item_number());
}

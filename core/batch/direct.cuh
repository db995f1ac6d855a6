/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of groups.h for batches that a GPU's cache holds. Each key has a place among the claims, and each item writes its own
 * number there. Whichever item stays leads all items of its key. Another key may have the same place: its items see that at
 * their leader's key, and find a leader of their own by open addressing. Claims need no clearing: each word that is read was written
 * by the kernel before.
 *
 * Included by groups.cu. Atomics and racing stores are relaxed. What they give out is read by a later kernel, or it is the number of
 * an item, whose key nobody writes.
 */

#define NOBODY 0xFFFFFFFFu

/* Each thread has one item: with more, the block waits longer for those whose key finds its place late. */
static __device__ __forceinline__ uint32_t direct_item() { return blockIdx.x * TSR_GROUP_THREADS + threadIdx.x; }

/* Where a key is among `count` places: by its first bits, and among the others by its last. */
static __device__ __forceinline__ uint32_t direct_place(uint32_t bits, uint32_t count) {
  return (uint32_t)((uint64_t)bits * count >> 32);
}
template <class K>
static __device__ __forceinline__ uint32_t claim_place(const tsr_group_direct &a, K mixed) {
  return direct_place((uint32_t)(mixed >> (8 * sizeof(K) - 32)), a.claim_count);
}

template <class K>
static __device__ __forceinline__ void claim(const tsr_group_direct &a) {
  const uint32_t own = direct_item();
  if (own == 0) {
    const tsr_group_told told = {0};
    *a.told = told;
  }
  if (own >= a.n) return;
  store(&a.claims[claim_place(a, mix(((const K *)a.from)[own], a.seed))], own);
  a.others[own] = NOBODY;
}
KERNEL(claim_32, tsr_group_direct, TSR_GROUP_THREADS, 4) { claim<uint32_t>(a); }
KERNEL(claim_64, tsr_group_direct, TSR_GROUP_THREADS, 4) { claim<wide_key>(a); }

/* Which item leads those of a key whose place among the claims another key has. There are as many places as items, so one is
 * free or the key's. Bounded, because keys may be crafted. */
template <class K>
static __device__ __forceinline__ uint32_t find_other(const tsr_group_direct &a, K key, uint32_t own) {
  uint32_t at = direct_place((uint32_t)mix(key, a.seed) * 0x9E3779B1u, (uint32_t)a.n);
#pragma unroll 1
  for (uint32_t tries = 0; tries < TSR_GROUP_DIRECT_TRIES; tries++, at = at + 1 == a.n ? 0 : at + 1) {
    uint32_t seen = load(&a.others[at]);
    if (seen == NOBODY) seen = swap(&a.others[at], own);
    if (seen == NOBODY) return own;
    if (((const K *)a.from)[seen] == key) return seen;
  }
  *(volatile uint32_t *)&a.told->fails = 1;
  return NOBODY;
}

template <class K>
static __device__ __forceinline__ void lead(const tsr_group_direct &a) {
  __shared__ page_sums sums;
  const K *from = (const K *)a.from;
  const uint32_t own = direct_item();
  uint32_t leader = NOBODY;
  K key = 0;
  if (own < a.n) {
    key = from[own];
    leader = a.claims[claim_place(a, mix(key, a.seed))];
    if (from[leader] != key) leader = find_other(a, key, own);
    if (a.leaders) a.leaders[own] = leader;
  }
  const bool leads = own < a.n && leader == own;
  const uint32_t all = __ballot_sync(~0u, leads), before = take_numbers(leads, &sums, &a.told->found);
  const uint64_t to = sums.base + before + lanes_before(all);
  if (!leads) return;
  if (a.leaders) a.numbers[own] = (uint32_t)to;
  if (a.keys && to < a.room) ((K *)a.keys)[to] = key;
  if (a.counts && to < a.room) a.counts[to] = 1;
}
KERNEL(lead_32, tsr_group_direct, TSR_GROUP_THREADS, 4) { lead<uint32_t>(a); }
KERNEL(lead_64, tsr_group_direct, TSR_GROUP_THREADS, 4) { lead<wide_key>(a); }

/* Counts the items that do not lead: lanes of one key together, and those of the first item's key in the block, because a frequent
 * key would otherwise keep one address busy. All threads of a block call it. */
static __device__ __forceinline__ void count_follower(const tsr_group_direct &a, uint32_t number) {
  __shared__ uint32_t common, common_items;
  const uint32_t same = __match_any_sync(~0u, number), items = __popc(same);
  if (threadIdx.x == 0) {
    common = number;
    common_items = 0;
  }
  __syncthreads();
  if (number < a.room && number != NOBODY && lanes_before(same) == 0) {
    if (number == common)
      atomicAdd(&common_items, items);
    else
      atomicAdd((unsigned long long *)&a.counts[number], (unsigned long long)items);
  }
  __syncthreads();
  if (threadIdx.x == 0 && common_items)
    atomicAdd((unsigned long long *)&a.counts[number], (unsigned long long)common_items);
}

KERNEL(answer, tsr_group_direct, TSR_GROUP_THREADS, 4) {
  const uint32_t own = direct_item(), is_item = own < a.n;
  if (a.found && own == 0) *a.found = a.told->fails ? ~0ull : a.told->found;
  if (!a.leaders || a.told->fails) return;
  const uint32_t leader = is_item ? a.leaders[own] : 0, number = is_item ? a.numbers[leader] : 0;
  if (is_item) a.leaders[own] = number;
  if (a.counts) count_follower(a, is_item && leader != own ? number : NOBODY);
}

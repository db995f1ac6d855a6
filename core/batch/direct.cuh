/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels of groups.h for batches that a GPU's cache holds. An item's key has a place among the claims, and there each
 * item writes which item it is. Whichever stays there leads all items of its key. Another key may have the same place: its items
 * see at their leader's key that they have none, and find one by open addressing. Words of the claims need no clearing: all that
 * are read have been written by the kernel before.
 *
 * Included by groups.cu. Atomics and racing stores are relaxed: what they give out is read by a later kernel, or is the number of an
 * item, whose key nobody writes.
 */

#define NOBODY 0xFFFFFFFFu

template <class K>
struct direct_rows {
  K key[TSR_GROUP_DIRECT_ROWS];
  uint32_t leader[TSR_GROUP_DIRECT_ROWS], there;
};
#define EACH_DIRECT(r, rows)                                                                                           \
  _Pragma("unroll") for (uint32_t r = 0; r < TSR_GROUP_DIRECT_ROWS; r++) if ((rows) >> r & 1u)

static __device__ __forceinline__ uint32_t direct_item(uint32_t row) {
  return (blockIdx.x * TSR_GROUP_DIRECT_ROWS + row) * TSR_GROUP_THREADS + threadIdx.x;
}

static __device__ __forceinline__ uint32_t direct_items_there(uint64_t n) {
  uint32_t there = 0;
  EACH_DIRECT(r, ~0u) there |= (uint32_t)(direct_item(r) < n) << r;
  return there;
}

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
  const uint32_t there = direct_items_there(a.n);
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    const tsr_group_told told = {0};
    *a.told = told;
  }
  EACH_DIRECT(r, there) {
    store(&a.claims[claim_place(a, mix(((const K *)a.from)[direct_item(r)], a.seed))], direct_item(r));
    a.others[direct_item(r)] = NOBODY;
  }
}
KERNEL(claim_32, tsr_group_direct, TSR_GROUP_THREADS, 2) { claim<uint32_t>(a); }
KERNEL(claim_64, tsr_group_direct, TSR_GROUP_THREADS, 2) { claim<wide_key>(a); }

/* Who leads the items of a key whose place among the claims another key has. There are as many places as items, so one is free
 * or the key's; bounded, because keys may be crafted. */
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
  direct_rows<K> own;
  uint32_t others = 0, leads = 0;
  own.there = direct_items_there(a.n);
  EACH_DIRECT(r, own.there) own.key[r] = from[direct_item(r)];
  EACH_DIRECT(r, own.there) own.leader[r] = a.claims[claim_place(a, mix(own.key[r], a.seed))];
  EACH_DIRECT(r, own.there) others |= (uint32_t)(from[own.leader[r]] != own.key[r]) << r;
  EACH_DIRECT(r, others) own.leader[r] = find_other(a, own.key[r], direct_item(r));
  EACH_DIRECT(r, own.there) {
    if (a.leaders) a.leaders[direct_item(r)] = own.leader[r];
    leads |= (uint32_t)(own.leader[r] == direct_item(r)) << r;
  }
  uint32_t number = take_numbers(__popc(leads), &sums, &a.told->found);
#pragma unroll
  for (uint32_t r = 0; r < TSR_GROUP_DIRECT_ROWS; r++) {
    const uint32_t all = __ballot_sync(~0u, leads >> r & 1u);
    const uint64_t to = sums.base + number + lanes_before(all);
    number += __popc(all);
    if (!(leads >> r & 1u)) continue;
    if (a.leaders) a.numbers[direct_item(r)] = (uint32_t)to;
    if (a.keys && to < a.room) ((K *)a.keys)[to] = own.key[r];
    if (a.counts && to < a.room) a.counts[to] = 1;
  }
}
KERNEL(lead_32, tsr_group_direct, TSR_GROUP_THREADS, 2) { lead<uint32_t>(a); }
KERNEL(lead_64, tsr_group_direct, TSR_GROUP_THREADS, 2) { lead<wide_key>(a); }

/* Counts the items that do not lead: lanes of one key together. All lanes of a warp call it. */
static __device__ __forceinline__ void count_follower(const tsr_group_direct &a, uint32_t number) {
  const uint32_t same = __match_any_sync(~0u, number);
  if (number < a.room && number != NOBODY && lanes_before(same) == 0)
    atomicAdd((unsigned long long *)&a.counts[number], (unsigned long long)__popc(same));
}

KERNEL(answer, tsr_group_direct, TSR_GROUP_THREADS, 2) {
  uint32_t leader[TSR_GROUP_DIRECT_ROWS], number[TSR_GROUP_DIRECT_ROWS];
  const uint32_t there = direct_items_there(a.n);
  if (a.found && blockIdx.x == 0 && threadIdx.x == 0) *a.found = a.told->fails ? ~0ull : a.told->found;
  if (!a.leaders || a.told->fails) return;
  EACH_DIRECT(r, there) leader[r] = a.leaders[direct_item(r)];
  EACH_DIRECT(r, there) number[r] = a.numbers[leader[r]];
  EACH_DIRECT(r, there) a.leaders[direct_item(r)] = number[r];
#pragma unroll
  for (uint32_t r = 0; a.counts && r < TSR_GROUP_DIRECT_ROWS; r++)
    count_follower(a, there >> r & 1u && leader[r] != direct_item(r) ? number[r] : NOBODY);
}

/* SPDX-License-Identifier: Apache-2.0
 *
 * An empty page, made by counting. If the keys of its items are distinct, the slots of a bucket can be given out in
 * order by a count. A pair then costs one atomic, and no look, no compare-and-swap and no second try. Why:
 * ../design/0014-pages.md.
 *
 * First each item tries the first bucket of its walk. Items that find it full are listed, and try their next buckets
 * when all others are done, so that no warp waits for a few of its lanes. Items for which no bucket of their walk has
 * room are listed again. They evict, if the scheme moves pairs; otherwise they go by the walk itself, when all counted
 * pairs are in their slots. Counts are halves of words, in shared memory behind the page. The atomics are relaxed:
 * they give out slots and places, and a barrier comes before anybody reads what is put there.
 */
#ifndef TSR_BATCH_COUNTED_CUH
#define TSR_BATCH_COUNTED_CUH

#include "core/batch/items.cuh"

struct __align__(16) page_left {
  uint32_t firsts, items; /* how many were turned away by their first bucket, and by all */
  uint32_t next;          /* of the latter, the first for which nobody evicts yet */
  uint32_t handed;        /* pairs in hand without a place; stored where `first` was */
  uint16_t first[TSR_PAGES_FIRSTS], item[TSR_PAGES_LEFT];
  uint32_t repeats[TSR_PAGES_COUNTED_ITEMS / 32]; /* a bit for each item: an earlier one has its key */
};

/* ---- Counts ---------------------------------------------------------------------------------- */

static __device__ __forceinline__ void counts_clear(const tsr_place_step *a, uint64_t buckets, page_left *left) {
  uint32_t *counts = (uint32_t *)(tsr_page_memory + a->room.counts_offset_bytes);
  for (uint32_t at = threadIdx.x; at < (buckets + 1) / 2; at += blockDim.x) counts[at] = 0;
  if (threadIdx.x == 0) left->firsts = left->items = left->next = left->handed = 0;
}

static __device__ __forceinline__ uint32_t *count_of(const tsr_place_step *a, uint64_t bucket) {
  return (uint32_t *)(tsr_page_memory + a->room.counts_offset_bytes) + (uint32_t)bucket / 2;
}

/* The slot that the bucket gives to the caller, or a number that is none. An item asks few buckets, and a page has few
 * items, so no count overflows into the next. */
static __device__ __forceinline__ uint32_t count_slot(const tsr_place_step *a, uint64_t bucket, uint32_t asks) {
  const uint32_t shift = (uint32_t)bucket % 2 * 16;
  return atomicAdd(count_of(a, bucket), asks << shift) >> shift & 0xFFFFu;
}
static_assert(TSR_PAGES_COUNTED_ITEMS * TSR_PAGES_COUNTED < 1 << 16, "a count has 16 bits");

static __device__ __forceinline__ bool has_slots(const tsr_ctx *c, const tsr_place_step *a, uint64_t bucket) {
  const uint32_t counts = *(const volatile uint32_t *)count_of(a, bucket);
  return (counts >> (uint32_t)bucket % 2 * 16 & 0xFFFFu) < TSR_FACT(c, bucket_slots);
}

/* ---- Pairs into slots ------------------------------------------------------------------------ */

/* The walk in a page, which has neither a stash nor links. The walk of a reserved key would begin elsewhere, but its
 * page gives up in any case. */
static __device__ __forceinline__ void walk_page(const tsr_ctx *c, tsr_key key, tsr_probe *probe) {
  const tsr_probe start = {0, {0, 0}, 0, 0, tsr_page_of(c, key)};
  *probe = start;
  walk_scheme(c, key, probe);
}
static __device__ __forceinline__ uint32_t walk_page_on(const tsr_ctx *c, tsr_key key, tsr_probe *probe) {
  probe->visited++;
  WALK_ASSUME(probe->visited != 0); /* as in walk_after */
  return walk_scheme(c, key, probe);
}

/* Raises the first `passed` buckets of the key's walk, by this thread alone. */
static __device__ __forceinline__ void raise_counted(const tsr_ctx *c, tsr_key key, uint32_t passed) {
  tsr_probe probe;
  walk_page(c, key, &probe);
#pragma unroll 1
  for (uint32_t i = 0; i < passed; i++) {
    layout_raise(c, probe.ref);
    walk_page_on(c, key, &probe);
  }
}

/* Puts a pair into a slot that was given out. Others look at it meanwhile and have to see all of it or nothing.
 * Bounded: only the bucket's flag can change before, once. */
static __device__ __forceinline__ void put_seen(const tsr_ctx *c, uint64_t ref, uint32_t slot, tsr_key key,
                                                tsr_payload payload) {
  tsr_bucket b;
  do {
    look_at(c, ref, 1, &b);
  } while (!layout_cas(c, &b, slot, key, payload));
}

/* ---- Repeated keys --------------------------------------------------------------------------- */

/* Counting gives each item a slot. So if inserts look for their keys, all but one item of each key are taken out first.
 * Before the page is made, its memory is a set of these keys, which needs room for half as many keys again as there are
 * items. Only with policies for which it does not matter whose value a key gets. */
static __device__ __forceinline__ bool counts_distinct(const tsr_ctx *c) {
  return TSR_FACT(c, guard) != TSR_GUARD_NONE;
}

static __device__ __forceinline__ bool takes_any(const tsr_ctx *c) {
  return TSR_POLICY_TAKES_ANY(TSR_FACT(c, duplicates));
}

static __device__ __forceinline__ uint32_t repeats_room(const tsr_place_step *a) {
  return a->room.counts_offset_bytes / (uint32_t)sizeof(tsr_key);
}

static __device__ __forceinline__ void repeats_clear(const tsr_place_step *a, page_left *left) {
  const uint4 empty = {~0u, ~0u, ~0u, ~0u}; /* TSR_EMPTY_KEY */
  uint4 *seen = (uint4 *)tsr_page_memory;
  for (uint32_t at = threadIdx.x; at < a->room.counts_offset_bytes / 16; at += blockDim.x) seen[at] = empty;
  for (uint32_t at = threadIdx.x; at < TSR_PAGES_COUNTED_ITEMS / 32; at += blockDim.x) left->repeats[at] = 0;
}

/* Whether an earlier item had the key. */
static __device__ __forceinline__ bool repeats_add(const tsr_place_step *a, tsr_key key, uint32_t *gives_up) {
  enum { TRIES = 256 }; /* only keys that were crafted for it need more */
  const uint32_t room = repeats_room(a);
  bool is_new;
  if (set_add((io_key *)tsr_page_memory, room, set_home(set_hash(key), room), TRIES, (io_key)key, &is_new) ==
      TSR_SET_NONE)
    *gives_up = is_new = true;
  return !is_new;
}

static __device__ __forceinline__ void page_find_repeats(const tsr_ctx *c, const tsr_place_step *a, uint64_t begin,
                                                         uint32_t items, page_left *left, uint32_t *gives_up) {
  repeats_clear(a, left);
  __syncthreads();
  for (uint32_t item = threadIdx.x; item < items; item += TSR_PAGES_THREADS) {
    const tsr_key key = ((const io_key *)a->bulk.keys)[item_place(&a->bulk, begin + item)];
    if (walk_is_reserved(key) || !repeats_add(a, key, gives_up)) continue;
    atomicOr(&left->repeats[item / 32], 1u << item % 32);
    put_result(&a->bulk, begin + item, 1, result_for_present(TSR_FACT(c, duplicates)));
  }
  __syncthreads();
}

static __device__ __forceinline__ bool is_repeat(const tsr_ctx *c, const tsr_place_step *a, const page_left *left,
                                                 uint32_t item) {
  return counts_distinct(c) && !a->made && left->repeats[item / 32] >> item % 32 & 1u;
}

/* ---- All items of a page --------------------------------------------------------------------- */

/* Some items of a thread, as rows; a mask says which rows have an item. */
template <uint32_t ROWS>
struct item_rows {
  tsr_key key[ROWS];
  tsr_payload payload[ROWS];
  tsr_probe probe[ROWS];
};

/* Puts rows into slots of the bucket that the walk of each has reached, after `passed` others; returns those that got
 * one. All ask before the first is put, so that the requests are under way together. */
template <uint32_t ROWS>
static __device__ __forceinline__ uint32_t put_rows(const tsr_ctx *c, const tsr_place_step *a,
                                                    const item_rows<ROWS> *own, uint32_t asks, uint32_t passed) {
  uint32_t slot[ROWS], placed = 0;
#pragma unroll
  for (uint32_t r = 0; r < ROWS; r++) slot[r] = count_slot(a, own->probe[r].ref, asks >> r & 1u);
#pragma unroll
  for (uint32_t r = 0; r < ROWS; r++)
    if (asks >> r & (uint32_t)(slot[r] < TSR_FACT(c, bucket_slots))) {
      if (TSR_FACT(c, ends_at_flag)) raise_counted(c, own->key[r], passed);
      layout_put(c, own->probe[r].ref, slot[r], own->key[r], own->payload[r]);
      placed |= 1u << r;
    }
  lanes_meet();
  return placed;
}

template <uint32_t ROWS>
static __device__ __forceinline__ uint32_t put_later(const tsr_ctx *c, const tsr_place_step *a, item_rows<ROWS> *own,
                                                     uint32_t asks) {
  uint32_t placed = 0;
#pragma unroll
  for (uint32_t r = 0; r < ROWS; r++) walk_page(c, own->key[r], &own->probe[r]);
#pragma unroll
  for (uint32_t i = 1; i < TSR_PAGES_COUNTED; i++) {
    uint32_t there = 0;
#pragma unroll
    for (uint32_t r = 0; r < ROWS; r++) there |= walk_page_on(c, own->key[r], &own->probe[r]) << r;
    if (!lanes_any(asks & there & ~placed)) break;
    placed |= put_rows<ROWS>(c, a, own, asks & there & ~placed, i);
  }
  return placed;
}

/* Rows are TSR_PAGES_THREADS items apart, or as many places of a list of items. */
template <uint32_t ROWS>
static __device__ __forceinline__ uint32_t rows_before(uint32_t first, uint32_t end) {
  uint32_t rows = 0;
#pragma unroll
  for (uint32_t r = 0; r < ROWS; r++) rows |= (uint32_t)(first + r * TSR_PAGES_THREADS < end) << r;
  return rows;
}

/* Lists rows that got no slot; returns those for which the list has no room. */
template <uint32_t ROWS>
static __device__ __forceinline__ uint32_t list_rows(uint32_t *length, uint16_t *list, uint32_t room,
                                                     const uint32_t item[ROWS], uint32_t rows) {
  uint32_t at = lanes_append(length, __popc(rows)), late = rows;
#pragma unroll
  for (uint32_t r = 0; r < ROWS; r++) {
    const uint32_t fits = rows >> r & (uint32_t)(at < room);
    if (fits) list[at] = (uint16_t)item[r];
    late &= ~(fits << r);
    at += rows >> r & 1u;
  }
  lanes_meet();
  return late;
}

/* Works on rows whose first bucket was full. Returns how many got a slot of another one. */
template <uint32_t ROWS>
static __device__ __forceinline__ uint32_t insert_later(const tsr_ctx *c, const tsr_place_step *a, uint64_t begin,
                                                        const uint32_t item[ROWS], uint32_t rows, page_left *left,
                                                        uint32_t *gives_up) {
  item_rows<ROWS> own;
  read_rows<ROWS>(&a->bulk, begin, item, rows, own.key, own.payload);
  const uint32_t placed = put_later<ROWS>(c, a, &own, rows);
#pragma unroll
  for (uint32_t r = 0; r < ROWS; r++) put_result(&a->bulk, begin + item[r], placed >> r & 1u, TSR_RESULT_INSERTED);
  if (list_rows<ROWS>(&left->items, left->item, TSR_PAGES_LEFT, item, rows & ~placed)) *gives_up = 1;
  return __popc(placed);
}

/* Works on rows of a thread from item `first` on: all are read before the first asks. Returns how many got a slot. */
template <uint32_t ROWS>
static __device__ __forceinline__ uint32_t insert_rows(const tsr_ctx *c, const tsr_place_step *a, uint64_t begin,
                                                       uint32_t first, uint32_t items, page_left *left,
                                                       uint32_t *gives_up) {
  item_rows<ROWS> own;
  uint32_t at[ROWS], item[ROWS], reserved = 0, rows = rows_before<ROWS>(first, items);
#pragma unroll
  for (uint32_t r = 0; r < ROWS; r++) at[r] = r * TSR_PAGES_THREADS;
  read_rows<ROWS>(&a->bulk, begin + first, at, rows, own.key, own.payload);
#pragma unroll
  for (uint32_t r = 0; r < ROWS; r++) {
    item[r] = first + at[r];
    if ((rows >> r & 1u) && is_repeat(c, a, left, item[r])) rows &= ~(1u << r);
  }
#pragma unroll
  for (uint32_t r = 0; r < ROWS; r++) {
    walk_page(c, own.key[r], &own.probe[r]);
    reserved |= (rows >> r & 1u) && is_left_to_walk(c, own.key[r]);
  }
  if (reserved) *gives_up = 1;
  const uint32_t placed = put_rows<ROWS>(c, a, &own, rows, 0);
  if (a->bulk.results)
#pragma unroll
    for (uint32_t r = 0; r < ROWS; r++) put_result(&a->bulk, begin + item[r], placed >> r & 1u, TSR_RESULT_INSERTED);
  uint32_t hits = __popc(placed);
  uint32_t late = list_rows<ROWS>(&left->firsts, left->first, TSR_PAGES_FIRSTS, item, rows & ~placed);
#pragma unroll 1
  while (lanes_any(late)) { /* the list is full */
    const uint32_t one[1] = {first + (late ? tsr_lowest(late) : 0) * TSR_PAGES_THREADS};
    hits += insert_later<1>(c, a, begin, one, late != 0, left, gives_up);
    late &= late - 1;
  }
  return hits;
}

/* Returns how many items of this thread got a slot. ROWS items are under way at a time, and half as many at the end,
 * because rows without an item cost as much as others. Collective. */
template <uint32_t ROWS>
static __device__ __forceinline__ uint32_t page_count_in(const tsr_ctx *c, const tsr_place_step *a, uint64_t begin,
                                                         uint32_t items, page_left *left, uint32_t *gives_up) {
  enum { LATER_ROWS = 2, LAST_ROWS = ROWS / 2 };
  const uint32_t lane = threadIdx.x % 32;
  uint32_t hits = 0, first = threadIdx.x;
#pragma unroll 1
  for (; first - lane + LAST_ROWS * TSR_PAGES_THREADS < items; first += ROWS * TSR_PAGES_THREADS)
    hits += insert_rows<ROWS>(c, a, begin, first, items, left, gives_up);
  if (first - lane < items) hits += insert_rows<LAST_ROWS>(c, a, begin, first, items, left, gives_up);
  __syncthreads();
  const uint32_t firsts = left->firsts < TSR_PAGES_FIRSTS ? left->firsts : TSR_PAGES_FIRSTS;
#pragma unroll 1
  for (uint32_t at = threadIdx.x; at - lane < firsts; at += LATER_ROWS * TSR_PAGES_THREADS) {
    uint32_t item[LATER_ROWS];
    const uint32_t rows = rows_before<LATER_ROWS>(at, firsts);
#pragma unroll
    for (uint32_t r = 0; r < LATER_ROWS; r++) item[r] = rows >> r & 1u ? left->first[at + r * TSR_PAGES_THREADS] : 0;
    hits += insert_later<LATER_ROWS>(c, a, begin, item, rows, left, gives_up);
  }
  return hits;
}

/* ---- Evictions ------------------------------------------------------------------------------- */

/* If a scheme moves pairs, an item without room in its walk takes the slot of another pair. That pair gets a slot of
 * any bucket of its own walk, by counting, or takes another's in turn. A pair that has room elsewhere is preferred:
 * most chains then end at once. Otherwise the scheme chooses. A slot that was given out may still be without its pair.
 * Then the eviction is lost, as if the pair had just gone. Few threads evict. They take their next item as soon as they
 * are done with one, and all lanes of a warp go on together. Below sm_90, where they do not, the walk evicts, as
 * everywhere else. */
static __device__ __forceinline__ uint32_t evicts_counted(const tsr_ctx *c) {
  return LANES_MEET && TSR_FACT(c, moves_pairs) && TSR_FACT(c, asks_scheme) && !TSR_FACT(c, warp_sync) &&
         !TSR_FACT(c, has_notes);
}

/* A pair in hand, and the item that it came from, or came after. */
struct page_pair {
  tsr_key key;
  tsr_payload payload;
  uint32_t item;
  tsr_placing placing;
};

/* A slot whose pair has room elsewhere: in a bucket with slots to give, and how many buckets of its walk come before
 * that. */
struct page_room {
  uint32_t found, slot, passed;
  uint64_t ref;
};

/* Which pair of a bucket has a bucket with slots to give in its walk, and the first such bucket. It is never the first
 * one of the walk: the pair is there, in the way of others, or was passed on. Without a branch, so that all looks are
 * under way together. */
static __device__ __forceinline__ page_room seek_room(const tsr_ctx *c, const tsr_place_step *a, const tsr_bucket *b) {
  page_room room = {0, 0, 0, 0};
  const uint32_t vacant = layout_vacant(c, b);
#pragma unroll 8
  for (uint32_t slot = 0; slot < TSR_FACT(c, bucket_slots); slot++) {
    const tsr_key key = layout_key(c, b, slot);
    uint32_t there = 1, seeks = ~vacant >> slot & 1u;
    tsr_probe probe;
    walk_page(c, key, &probe);
#pragma unroll
    for (uint32_t i = 1; i < TSR_PAGES_COUNTED; i++) {
      there &= walk_page_on(c, key, &probe);
      if (!there || !has_slots(c, a, probe.ref) || !seeks) continue;
      room = {1, slot, i, probe.ref};
      seeks = 0;
    }
  }
  return room;
}

/* A page in which few pairs have no place is finished without them, if nobody wants answers: they become its items and
 * go by random access. So its block need not wait for the longest chains. */
enum { HANDED = sizeof(uint16_t) * TSR_PAGES_FIRSTS / (sizeof(io_key) + sizeof(io_payload)), HANDED_AFTER = 32 };

static __device__ __forceinline__ uint32_t hands_over(const tsr_place_step *a) {
  return a->pages.ends && !a->bulk.results && !a->made;
}

static __device__ __forceinline__ io_key *handed_keys(page_left *left) { return (io_key *)left->first; }
static __device__ __forceinline__ io_payload *handed_payloads(page_left *left) {
  return (io_payload *)(handed_keys(left) + HANDED);
}

/* Returns whether there is room for the pair. */
static __device__ __forceinline__ uint32_t hand_over(const tsr_place_step *a, page_left *left, const page_pair *own) {
  const uint32_t at = hands_over(a) ? atomicAdd(&left->handed, 1u) : (uint32_t)HANDED;
  if (at >= HANDED) return 0;
  handed_keys(left)[at] = own->key;
  if (TSR_PAYLOAD_BITS > 0) handed_payloads(left)[at] = own->payload;
  return 1;
}

/* Makes all pairs that were handed over the page's items; returns how many they are. To be called after a barrier. */
static __device__ __forceinline__ uint32_t page_hand_over(const tsr_place_step *a, uint64_t page, uint64_t begin,
                                                          page_left *left) {
  for (uint32_t i = threadIdx.x; i < left->handed; i += TSR_PAGES_THREADS) {
    const uint64_t to = item_place(&a->bulk, begin + i);
    ((io_key *)a->bulk.keys)[to] = handed_keys(left)[i];
    if (TSR_PAYLOAD_BITS > 0) ((io_payload *)a->bulk.values)[to] = handed_payloads(left)[i];
  }
  if (left->handed && threadIdx.x == 0) a->pages.ends[page] = begin + left->handed;
  return left->handed;
}

/* One eviction, by lanes that have a pair in hand. Returns whether that pair, or the one that it evicted, has a slot
 * now; *ends: the scheme knows no place for it. Collective. */
static __device__ __forceinline__ uint32_t evict_counted(const tsr_ctx *c, const tsr_place_step *a, page_pair *own,
                                                         uint32_t has, uint32_t *ends) {
  tsr_bucket b;
  const uint64_t begin = tsr_page_begin(c, own->placing.page), ref = own->placing.ref;
  look_at(c, ref, 1, &b);
  const page_room room = seek_room(c, a, &b);
  const tsr_sight seen = {&b, ref - begin, 0};
  tsr_choice choice = place_decide(c, own->key, &seen, &own->placing);
  if (room.found) choice = tsr_evict(room.slot);
  *ends = has && !(choice.passes | choice.evicts);
  const tsr_key victim = layout_key(c, &b, choice.slot);
  const tsr_payload payload = layout_payload(c, &b, choice.slot);
  const uint32_t tries = has & choice.evicts;
  uint32_t evicts = tries && !(layout_vacant(c, &b) >> choice.slot & 1u), slot = TSR_FACT(c, bucket_slots);
  lanes_meet();
  if (evicts && TSR_FACT(c, ends_at_flag)) walk_raise_before(c, own->key, ref);
  if (evicts) evicts = layout_cas(c, &b, choice.slot, own->key, own->payload);
  own->placing.lost += tries & (evicts ^ 1u);
  own->key = evicts ? victim : own->key;
  own->payload = evicts ? payload : own->payload;
  lanes_meet();
  if (evicts & room.found) slot = count_slot(a, room.ref, 1);
  const uint32_t placed = slot < TSR_FACT(c, bucket_slots);
  if (placed && TSR_FACT(c, ends_at_flag)) raise_counted(c, own->key, room.passed);
  if (placed) put_seen(c, room.ref, slot, own->key, own->payload);
  lanes_meet();
  if ((has & choice.passes) | (evicts & (placed ^ 1u))) {
    own->placing.passed++;
    own->placing.ref = begin + probing_after(c, own->key, ref - begin, &own->placing);
  }
  lanes_meet();
  return placed;
}

static __device__ __forceinline__ uint32_t page_evict_for(const tsr_ctx *c, const tsr_place_step *a, uint64_t begin,
                                                          page_left *left, uint32_t *gives_up) {
  const uint32_t items = left->items < TSR_PAGES_LEFT ? left->items : TSR_PAGES_LEFT;
  const uint32_t begins = threadIdx.x < TSR_PAGES_EVICTORS && !*(volatile uint32_t *)gives_up; /* no key is reserved */
  uint32_t has = 0, hits = 0, next = begins ? 0 : items;
  page_pair own;
  own.key = 0;
  own.payload = 0;
  place_begin(c, own.key, &own.placing);
#pragma unroll 1
  while (lanes_any(has | (uint32_t)(next < items))) { /* bounded by the scheme */
    if (!has && next < items) next = atomicAdd(&left->next, 1u);
    if (!has && next < items) {
      own.item = left->item[next];
      own.key = io_key_at(a->bulk.keys, item_place(&a->bulk, begin + own.item), 1);
      own.payload = io_payload_at(a->bulk.values, item_place(&a->bulk, begin + own.item), 1);
      place_begin(c, own.key, &own.placing);
      has = 1;
    }
    if (!lanes_any(has)) break;
    uint32_t ends;
    const uint32_t placed = evict_counted(c, a, &own, has, &ends);
    put_result(&a->bulk, begin + own.item, placed, TSR_RESULT_INSERTED);
    hits += placed;
    has &= placed ^ 1u;
    ends |= has && own.placing.passed >= HANDED_AFTER && hands_over(a);
    if (ends && !hand_over(a, left, &own)) *gives_up = 1;
    has &= ends ^ 1u;
    if (*(volatile uint32_t *)gives_up) { /* the page is as it was */
      has = 0;
      next = items;
    }
    lanes_meet();
  }
  return hits;
}

#endif

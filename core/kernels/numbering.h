/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps that give the keys of an index their numbers (kind = index): their list, their argument, and what an item
 * does. While a batch is inserted, a new key's value is a mark: the item that inserted it. Read next: steps.h,
 * ../table/numbering.h.
 */
#ifndef TSR_KERNELS_NUMBERING_H
#define TSR_KERNELS_NUMBERING_H

#include "core/kernels/steps.h"

#define TSR_NUMBER_NONE 0xFFFFFFFFu    /* the key is absent */
#define TSR_NUMBER_MARK 0x80000000u    /* added to an item's number: that item inserted the key. Numbers are below it */
#define TSR_NUMBERING_ITEMS (1u << 24) /* the most of one batch of marks */
/* The code of an item whose value TSR_BULK_combine writes; NEEDS_COMBINE of look.cuh. */
#define TSR_NUMBERING_WRITES (TSR_RESULTS + 5)

/* offer    each item offers its mark
 * first    first[m] becomes the least item whose key item m inserted
 * lead     ranks: 1 for the item of each new key that takes its number, otherwise 0
 * settle   marks become numbers, and the codes say which items write theirs to the table. ranks: summed
 * say_found  page by page: an item whose mark was no less than what its key had, has found the key
 * take     one item: the numbers that settle gave are no longer free
 * leave    ranks: 1 for each item whose number comes back, otherwise 0
 * keep     the numbers that come back go behind the free ones. ranks: summed
 * count    one item: they are free
 * blank    no key has a number
 * place    each item writes its key to the place of its number
 * add      each item adds 1 to the count of its number
 * with eviction; of marked, below, level and choose the items are numbers:
 * pin      the numbers of the items stay
 * meet     ranks: 1 for one item of each key that has no number, otherwise 0
 * marked   ranks: 1 for each number with the mark `wanted`, otherwise 0
 * below    ranks: 1 for each number that may go and has at most the score `limit`, otherwise 0
 * level    the same with exactly that score
 * choose   marks the numbers below `limit`, and the first `from` ones with it. ranks: of level, summed
 * hand_out the keys of chosen numbers, and these, go to the list. ranks: of marked, summed
 * use      the items' numbers stay, and their scores say that they were used
 * touch    the scores of those of the items' numbers that have keys say so
 * b128_..  the same as blank, place, meet and hand_out, for keys of 128 bits (tsr_numbering_for) */
#define TSR_NUMBERING_STEPS(ITEM)                                                                                      \
  ITEM(offer)                                                                                                          \
  ITEM(first)                                                                                                          \
  ITEM(lead)                                                                                                           \
  ITEM(settle)                                                                                                         \
  ITEM(say_found)                                                                                                      \
  ITEM(take)                                                                                                           \
  ITEM(leave)                                                                                                          \
  ITEM(keep)                                                                                                           \
  ITEM(count)                                                                                                          \
  ITEM(blank)                                                                                                          \
  ITEM(place)                                                                                                          \
  ITEM(add)                                                                                                            \
  ITEM(pin)                                                                                                            \
  ITEM(meet)                                                                                                           \
  ITEM(marked)                                                                                                         \
  ITEM(below)                                                                                                          \
  ITEM(level)                                                                                                          \
  ITEM(choose)                                                                                                         \
  ITEM(hand_out)                                                                                                       \
  ITEM(use)                                                                                                            \
  ITEM(touch)                                                                                                          \
  ITEM(b128_blank)                                                                                                     \
  ITEM(b128_place)                                                                                                     \
  ITEM(b128_meet)                                                                                                      \
  ITEM(b128_hand_out)
#define TSR_NUMBERING_ENUM(step) TSR_NUMBERING_##step,
enum { TSR_NUMBERING_STEPS(TSR_NUMBERING_ENUM) TSR_NUMBERING_STEP_COUNT };

/* The step that does this for keys of that size. */
static inline uint32_t tsr_numbering_for(uint32_t step, uint32_t key_bytes) {
  if (key_bytes <= 8) return step;
  return step == TSR_NUMBERING_blank      ? (uint32_t)TSR_NUMBERING_b128_blank
         : step == TSR_NUMBERING_place    ? (uint32_t)TSR_NUMBERING_b128_place
         : step == TSR_NUMBERING_meet     ? (uint32_t)TSR_NUMBERING_b128_meet
         : step == TSR_NUMBERING_hand_out ? (uint32_t)TSR_NUMBERING_b128_hand_out
                                          : step;
}

/* Which numbers are free, in device memory. The list of those that came back follows it: `spares` uint32_t. */
typedef struct tsr_free_numbers {
  uint64_t given; /* numbers from this one on were never given */
  uint64_t spares;
} tsr_free_numbers;

/* The marks of numbers: nothing is known, stays because this call has its key, or chosen to be given up. */
enum { TSR_NUMBER_MAY_GO, TSR_NUMBER_STAYS, TSR_NUMBER_GOES };

/* Arrays hold n items, or are NULL if a step does not use them. */
typedef struct tsr_numbering_run {
  uint64_t n;        /* of take and count 1 */
  uint32_t *numbers; /* marks or numbers of the items */
  uint64_t *ranks;   /* n + 1 */
  uint32_t *first;   /* NULL: the item that inserted a key takes its number */
  uint8_t *codes;    /* settle: written; leave, keep: results, of which `wanted` counts; NULL: all items do */
  uint32_t wanted;
  uint32_t key_bytes;
  uint64_t missing; /* settle: the number of an absent key; blank: the key of a number that no key has */
  tsr_free_numbers *all;
  const void *keys;
  void *keys_out;      /* blank, place: the keys of numbers from `from` on, ... */
  uint8_t *present;    /* ... and whether there is one; NULL: nobody asks */
  uint64_t *counts;    /* add: of numbers from `from` on */
  uint64_t from, room; /* settle: from, and then each limit-th, are the numbers that this shard gives */
  uint64_t *scores;    /* of numbers, 0: it has no key; before the first one is the clock. NULL: nothing is evicted */
  uint8_t *marks;      /* of numbers: TSR_NUMBER_MAY_GO, ... */
  uint64_t limit;      /* use, touch: the clock */
  uint32_t adds_uses;  /* use, touch: scores count uses; otherwise they are the clock's */
} tsr_numbering_run;

/* ---- Numbers for new keys -------------------------------------------------------------------- */

TSR_STEP_FUNCTION uint32_t tsr_numbering_is_marked(uint32_t number) {
  return number >= TSR_NUMBER_MARK && number != TSR_NUMBER_NONE;
}

/* Relaxed: the next step reads it. */
TSR_STEP_FUNCTION void tsr_numbering_lower(uint32_t *to, uint32_t item) {
#ifdef __CUDACC__
  atomicMin(to, item);
#else
  uint32_t seen = __atomic_load_n(to, __ATOMIC_RELAXED);
  while (item < seen && !__atomic_compare_exchange_n(to, &seen, item, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
#endif
}

/* The item that takes the number of a key that is marked so. */
TSR_STEP_FUNCTION uint32_t tsr_numbering_leader(const tsr_numbering_run *r, uint32_t mark) {
  return r->first ? r->first[mark - TSR_NUMBER_MARK] : mark - TSR_NUMBER_MARK;
}

TSR_STEP_FUNCTION uint32_t tsr_numbering_leads(const tsr_numbering_run *r, uint64_t i) {
  return tsr_numbering_is_marked(r->numbers[i]) && tsr_numbering_leader(r, r->numbers[i]) == i;
}

TSR_STEP_FUNCTION void tsr_numbering_offer_item(const tsr_numbering_run *r, uint64_t i) {
  r->numbers[i] = TSR_NUMBER_MARK + (uint32_t)i;
}

TSR_STEP_FUNCTION void tsr_numbering_first_item(const tsr_numbering_run *r, uint64_t i) {
  if (tsr_numbering_is_marked(r->numbers[i]))
    tsr_numbering_lower(&r->first[r->numbers[i] - TSR_NUMBER_MARK], (uint32_t)i);
}

TSR_STEP_FUNCTION void tsr_numbering_lead_item(const tsr_numbering_run *r, uint64_t i) {
  r->ranks[i] = tsr_numbering_leads(r, i);
}

/* The free number of a rank: those that came back first, the last one first of all. Shards take turns in all numbers. */
TSR_STEP_FUNCTION uint32_t tsr_numbering_free(const tsr_numbering_run *r, uint64_t rank) {
  const uint32_t *spare = (const uint32_t *)(r->all + 1);
  if (rank < r->all->spares) return spare[r->all->spares - 1 - rank];
  return (uint32_t)((r->all->given + rank - r->all->spares) * r->limit + r->from);
}

TSR_STEP_FUNCTION void tsr_numbering_settle_item(const tsr_numbering_run *r, uint64_t i) {
  const uint32_t seen = r->numbers[i];
  r->codes[i] = tsr_numbering_leads(r, i) ? TSR_NUMBERING_WRITES : 0;
  if (seen == TSR_NUMBER_NONE)
    r->numbers[i] = (uint32_t)r->missing;
  else if (tsr_numbering_is_marked(seen))
    r->numbers[i] = tsr_numbering_free(r, r->ranks[tsr_numbering_leader(r, seen)]);
}

TSR_STEP_FUNCTION void tsr_numbering_say_found_item(const tsr_numbering_run *r, uint64_t i) {
  if (r->codes[i] == TSR_RESULT_COMBINED) r->codes[i] = TSR_RESULT_FOUND;
}

/* pre: one thread does it. ranks: of the items before, whose number is `room`. */
TSR_STEP_FUNCTION void tsr_numbering_take_item(const tsr_numbering_run *r, uint64_t i) {
  const uint64_t taken = r->ranks[r->room];
  const uint64_t again = taken < r->all->spares ? taken : r->all->spares;
  (void)i;
  r->all->spares -= again;
  r->all->given += taken - again;
}

/* ---- Numbers that come back ------------------------------------------------------------------ */

TSR_STEP_FUNCTION uint32_t tsr_numbering_comes_back(const tsr_numbering_run *r, uint64_t i) {
  return r->numbers[i] < TSR_NUMBER_MARK && (!r->codes || r->codes[i] == r->wanted);
}

TSR_STEP_FUNCTION void tsr_numbering_leave_item(const tsr_numbering_run *r, uint64_t i) {
  r->ranks[i] = tsr_numbering_comes_back(r, i);
}

TSR_STEP_FUNCTION void tsr_numbering_keep_item(const tsr_numbering_run *r, uint64_t i) {
  uint32_t *spare = (uint32_t *)(r->all + 1);
  if (!tsr_numbering_comes_back(r, i)) return;
  spare[r->all->spares + r->ranks[i]] = r->numbers[i];
  if (r->scores && r->numbers[i] < r->room) r->scores[r->numbers[i]] = 0;
}

TSR_STEP_FUNCTION void tsr_numbering_count_item(const tsr_numbering_run *r, uint64_t i) {
  (void)i;
  r->all->spares += r->ranks[r->room];
}

/* ---- Keys that are given up ------------------------------------------------------------------ */

TSR_STEP_FUNCTION uint64_t tsr_numbering_key(const tsr_numbering_run *r, uint64_t i) {
  return r->key_bytes == sizeof(uint32_t) ? ((const uint32_t *)r->keys)[i] : ((const uint64_t *)r->keys)[i];
}

TSR_STEP_FUNCTION void tsr_numbering_pin_item(const tsr_numbering_run *r, uint64_t i) {
  if (r->numbers[i] < r->room) TSR_STEP_STORE(&r->marks[r->numbers[i]], TSR_NUMBER_STAYS);
}

/* Takes a place for the item, or returns who has it. Relaxed: the keys were there before. */
TSR_STEP_FUNCTION uint32_t tsr_numbering_meet_at(uint32_t *place, uint32_t item) {
#ifdef __CUDACC__
  return atomicCAS(place, TSR_NUMBER_NONE, item);
#else
  uint32_t seen = TSR_NUMBER_NONE;
  __atomic_compare_exchange_n(place, &seen, item, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return seen;
#endif
}

/* In `first`, of `room` places, a power of two and more than the items. So there is always an empty one. */
TSR_STEP_FUNCTION void tsr_numbering_meet_item(const tsr_numbering_run *r, uint64_t i) {
  r->ranks[i] = 0;
  if (r->numbers[i] != TSR_NUMBER_NONE) return;
  const uint64_t key = tsr_numbering_key(r, i);
  uint64_t mixed = (key ^ key >> 32) * 0x9E3779B97F4A7C15ull;
  for (uint64_t at = mixed >> 32;; at++) {
    const uint32_t seen = tsr_numbering_meet_at(&r->first[at & (r->room - 1)], (uint32_t)i);
    if (seen == TSR_NUMBER_NONE) r->ranks[i] = 1;
    if (seen == TSR_NUMBER_NONE || tsr_numbering_key(r, seen) == key) return;
  }
}

TSR_STEP_FUNCTION void tsr_numbering_marked_item(const tsr_numbering_run *r, uint64_t i) {
  r->ranks[i] = r->marks[i] == r->wanted;
}

TSR_STEP_FUNCTION uint32_t tsr_numbering_may_go(const tsr_numbering_run *r, uint64_t i) {
  return r->scores[i] != 0 && r->marks[i] == TSR_NUMBER_MAY_GO;
}

TSR_STEP_FUNCTION void tsr_numbering_below_item(const tsr_numbering_run *r, uint64_t i) {
  r->ranks[i] = tsr_numbering_may_go(r, i) && r->scores[i] <= r->limit;
}

TSR_STEP_FUNCTION void tsr_numbering_level_item(const tsr_numbering_run *r, uint64_t i) {
  r->ranks[i] = tsr_numbering_may_go(r, i) && r->scores[i] == r->limit;
}

TSR_STEP_FUNCTION void tsr_numbering_choose_item(const tsr_numbering_run *r, uint64_t i) {
  const uint32_t goes = r->scores[i] < r->limit || (r->scores[i] == r->limit && r->ranks[i] < r->from);
  if (tsr_numbering_may_go(r, i) && goes) r->marks[i] = TSR_NUMBER_GOES;
}

/* The count of uses, or when the number was used last. Relaxed: a later step reads it. */
TSR_STEP_FUNCTION void tsr_numbering_raise(const tsr_numbering_run *r, uint32_t number) {
#ifdef __CUDACC__
  if (r->adds_uses) atomicAdd((unsigned long long *)&r->scores[number], 1ull);
#else
  if (r->adds_uses) __atomic_fetch_add(&r->scores[number], 1, __ATOMIC_RELAXED);
#endif
  if (!r->adds_uses) TSR_STEP_STORE(&r->scores[number], r->limit);
}

TSR_STEP_FUNCTION void tsr_numbering_use_item(const tsr_numbering_run *r, uint64_t i) {
  const uint32_t number = r->numbers[i];
  if (i == 0) r->scores[-1] = r->limit;
  if (number == TSR_NUMBER_NONE) r->numbers[i] = (uint32_t)r->missing;
  if (number >= r->room) return;
  tsr_numbering_raise(r, number);
  TSR_STEP_STORE(&r->marks[number], TSR_NUMBER_STAYS);
}

/* No key appears or goes meanwhile, so that a score is 0 before or never. */
TSR_STEP_FUNCTION void tsr_numbering_touch_item(const tsr_numbering_run *r, uint64_t i) {
  if (i == 0) r->scores[-1] = r->limit;
  if (r->numbers[i] < r->room && r->scores[r->numbers[i]]) tsr_numbering_raise(r, r->numbers[i]);
}

/* ---- Keys by number -------------------------------------------------------------------------- */

TSR_STEP_FUNCTION void tsr_numbering_write_key(const tsr_numbering_run *r, uint64_t at, uint64_t key) {
  if (r->key_bytes == sizeof(uint32_t))
    TSR_STEP_STORE((uint32_t *)r->keys_out + at, (uint32_t)key);
  else
    TSR_STEP_STORE((uint64_t *)r->keys_out + at, key);
}

TSR_STEP_FUNCTION void tsr_numbering_blank_item(const tsr_numbering_run *r, uint64_t i) {
  tsr_numbering_write_key(r, i, r->missing);
  if (r->present) r->present[i] = 0;
}

/* Whether item i has one of the numbers asked for; *at: which. */
TSR_STEP_FUNCTION uint32_t tsr_numbering_is_asked(const tsr_numbering_run *r, uint64_t i, uint64_t *at) {
  *at = (uint64_t)r->numbers[i] - r->from;
  return r->numbers[i] < TSR_NUMBER_MARK && r->numbers[i] >= r->from && *at < r->room;
}

/* Items of one number have one key. */
TSR_STEP_FUNCTION void tsr_numbering_place_item(const tsr_numbering_run *r, uint64_t i) {
  uint64_t at;
  if (!tsr_numbering_is_asked(r, i, &at)) return;
  tsr_numbering_write_key(r, at, tsr_numbering_key(r, i));
  if (r->present) TSR_STEP_STORE(&r->present[at], 1);
}

TSR_STEP_FUNCTION void tsr_numbering_hand_out_item(const tsr_numbering_run *r, uint64_t i) {
  const uint32_t number = r->numbers[i];
  if (number >= r->room || r->marks[number] != TSR_NUMBER_GOES) return;
  tsr_numbering_write_key(r, r->ranks[number], tsr_numbering_key(r, i));
  r->first[r->ranks[number]] = number;
}

/* Relaxed: counts order nothing. */
TSR_STEP_FUNCTION void tsr_numbering_add_item(const tsr_numbering_run *r, uint64_t i) {
  uint64_t at;
  if (!tsr_numbering_is_asked(r, i, &at)) return;
#ifdef __CUDACC__
  atomicAdd((unsigned long long *)&r->counts[at], 1ull);
#else
  __atomic_fetch_add(&r->counts[at], 1, __ATOMIC_RELAXED);
#endif
}

/* ---- Keys of 128 bits ------------------------------------------------------------------------ */

/* Two words. The arrays are the table's own, or the caller's at addresses that are multiples of 16. */
typedef struct tsr_numbering_b128 {
  uint64_t low, high;
} tsr_numbering_b128;

TSR_STEP_FUNCTION tsr_numbering_b128 tsr_numbering_b128_key(const tsr_numbering_run *r, uint64_t i) {
  return ((const tsr_numbering_b128 *)r->keys)[i];
}

/* Items that write one place have one key, so that its words may come from two of them. */
TSR_STEP_FUNCTION void tsr_numbering_b128_write(const tsr_numbering_run *r, uint64_t at, tsr_numbering_b128 key) {
  TSR_STEP_STORE((uint64_t *)r->keys_out + 2 * at, key.low);
  TSR_STEP_STORE((uint64_t *)r->keys_out + 2 * at + 1, key.high);
}

TSR_STEP_FUNCTION void tsr_numbering_b128_blank_item(const tsr_numbering_run *r, uint64_t i) {
  const tsr_numbering_b128 missing = {r->missing, 0};
  tsr_numbering_b128_write(r, i, missing);
  if (r->present) r->present[i] = 0;
}

TSR_STEP_FUNCTION void tsr_numbering_b128_place_item(const tsr_numbering_run *r, uint64_t i) {
  uint64_t at;
  if (!tsr_numbering_is_asked(r, i, &at)) return;
  tsr_numbering_b128_write(r, at, tsr_numbering_b128_key(r, i));
  if (r->present) TSR_STEP_STORE(&r->present[at], 1);
}

TSR_STEP_FUNCTION void tsr_numbering_b128_meet_item(const tsr_numbering_run *r, uint64_t i) {
  r->ranks[i] = 0;
  if (r->numbers[i] != TSR_NUMBER_NONE) return;
  const tsr_numbering_b128 key = tsr_numbering_b128_key(r, i);
  const uint64_t word = key.low ^ key.high * 0xC2B2AE3D27D4EB4Full;
  for (uint64_t at = ((word ^ word >> 32) * 0x9E3779B97F4A7C15ull) >> 32;; at++) {
    const uint32_t seen = tsr_numbering_meet_at(&r->first[at & (r->room - 1)], (uint32_t)i);
    if (seen == TSR_NUMBER_NONE) r->ranks[i] = 1;
    if (seen == TSR_NUMBER_NONE) return;
    const tsr_numbering_b128 other = tsr_numbering_b128_key(r, seen);
    if (other.low == key.low && other.high == key.high) return;
  }
}

TSR_STEP_FUNCTION void tsr_numbering_b128_hand_out_item(const tsr_numbering_run *r, uint64_t i) {
  const uint32_t number = r->numbers[i];
  if (number >= r->room || r->marks[number] != TSR_NUMBER_GOES) return;
  tsr_numbering_b128_write(r, r->ranks[number], tsr_numbering_b128_key(r, i));
  r->first[r->ranks[number]] = number;
}

TSR_STEPS(tsr_numbering_steps)

#endif

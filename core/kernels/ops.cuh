/* SPDX-License-Identifier: Apache-2.0
 *
 * The bulk operations, for one lane and its item: read it, work through the tile's queue, write the answer. All lanes
 * of a warp call together, `mine` = 0 past the end. Each call returns its lane's hits. Wrapped by launch.cu and
 * ../cpu/bulk.c.
 */
#ifndef TSR_OPS_CUH
#define TSR_OPS_CUH

#include "core/kernels/bulk.h"
#include "core/kernels/merge.cuh"
#include "core/kernels/value.cuh"

/* The number of item i among the keys, and among the values: in pages both may be in one array (../batch/batch.cu). */
#ifdef TSR_MAY_BE_PAIRS
TSR_INLINE uint64_t item_place(const tsr_bulk *a, uint64_t i) { return i << a->are_pairs; }
#else
TSR_INLINE uint64_t item_place(const tsr_bulk *a, uint64_t i) {
  (void)a;
  return i;
}
#endif

TSR_INLINE tsr_item item_of(const tsr_bulk *a, uint64_t i, uint32_t mine) {
  tsr_item item;
  item.key = io_key_at(a->keys, item_place(a, i), mine);
  item.payload = 0;
  item.policy = 0;
  item.mixes = item.any_payload = 0;
  item.result = TSR_RESULT_NONE;
  item.pairs = item.at = item.end = 0;
  item.payloads = a->values_out;
  item.missing = (tsr_payload)a->missing;
  item.times = NULL;
  item.i = 0;
  return item;
}

/* The number of this thread's item after its walk. */
TSR_INLINE uint64_t item_again(const tsr_ctx *c, uint64_t i) { return TSR_FACT(c, loops) ? i : io_item(i); }

/* How many pairs were made of the items of item i's span, or TSR_AS_IT_CAME. */
TSR_INLINE uint32_t made_of(const tsr_ctx *c, const tsr_bulk *a, uint64_t i) {
  return TSR_FACT(c, makes_spans) && a->spans.made ? a->spans.made[i >> a->spans.log2] : TSR_AS_IT_CAME;
}

/* Whether there is an item i, if `made` pairs were made of its span. */
TSR_INLINE uint32_t is_made(const tsr_bulk *a, uint64_t i, uint32_t made) {
  return made == TSR_AS_IT_CAME || (i & ((1ull << a->spans.log2) - 1)) < made;
}

TSR_INLINE void put_result(const tsr_bulk *a, uint64_t i, uint32_t mine, uint32_t result) {
  if (mine && a->results) a->results[i] = (uint8_t)result;
}

/* Where the results of inserts go, if `made` pairs were made of the item's span. */
TSR_INLINE uint8_t *insert_results(const tsr_bulk *a, uint32_t made) {
  return made != TSR_AS_IT_CAME && a->spans.results ? a->spans.results : a->results;
}

/* How many were made is read only where a span's pairs have answers of their own. */
TSR_INLINE void put_insert_result(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine, uint32_t result) {
  if (!mine) return;
  uint8_t *results = a->spans.results ? insert_results(a, made_of(c, a, i)) : a->results;
  if (results) results[i] = (uint8_t)result;
}

/* The result of an operation whose code for a present key is `code`. */
TSR_INLINE void put_presence(const tsr_bulk *a, uint64_t i, uint32_t mine, uint32_t is_there, uint32_t code) {
  put_result(a, i, mine, a->tells_presence ? is_there : is_there ? code : (uint32_t)TSR_RESULT_MISSING);
}

/* ---- Inserts --------------------------------------------------------------------------------- */

/* What an insert offers: for a counter at most the largest count, and 1 if the call has no values. */
TSR_INLINE tsr_payload offered(const tsr_ctx *c, tsr_payload payload) {
  return TSR_POLICY_COUNTS(TSR_FACT(c, duplicates)) ? tsr_combine(TSR_FACT(c, duplicates), 0, payload) : payload;
}

TSR_INLINE tsr_payload offered_at(const tsr_ctx *c, const void *values, uint64_t i, uint32_t mine) {
  if (TSR_POLICY_COUNTS(TSR_FACT(c, duplicates)) && !values) return 1;
  return offered(c, io_payload_at(values, i, mine));
}

/* Reads what item i offers, or the pair that was made in its place; returns whether there is one. The item itself is
 * loaded as well, so that a span that was not combined does not wait for memory twice. */
TSR_INLINE uint32_t take_offer(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine, tsr_item *item) {
  const uint32_t made = made_of(c, a, i), takes = mine && is_made(a, i, made);
  item->key = io_key_at(a->keys, item_place(a, i), mine);
  item->payload = offered_at(c, a->values, item_place(a, i), mine);
  if (made == TSR_AS_IT_CAME) return mine;
  item->key = io_key_at(a->spans.keys, i, takes);
  item->payload = offered_at(c, a->spans.values, i, takes);
  return takes;
}

/* Counts and hands back a pair that found no place. A pair made of several items counts as all of them. */
TSR_INLINE void hand_back(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, const tsr_item *item) {
  if (item->result != TSR_RESULT_NOT_PLACED) return;
  const bool was_made = made_of(c, a, i) != TSR_AS_IT_CAME; /* of items of a span */
  const bool is_whole = was_made && io_key_at(a->spans.keys, i, 1) == item->key;
  void *keys = was_made ? a->spans.unplaced_keys : a->unplaced_keys;
  IO_ADD(&a->tally->not_placed, is_whole ? a->spans.counts[i] : 1);
  if (keys) io_put_key(keys, i, item->key);
  VALUE(c, put_unplaced, c, a, i, item, was_made ? a->spans.unplaced_values : a->unplaced_values);
}

/* Works on the lanes' items by OP_INSERT or OP_COMBINE. Lanes of one key are merged first, if the policy allows it, and
 * the first of them works for all. If its pair finds no place, each lane hands back the pair that it was offered. If
 * another key's pair was evicted and found none, the first lane alone hands that back. */
TSR_INLINE void work(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine, uint32_t kind, tsr_item *item) {
  const uint32_t leader = MERGES(c, item->policy) ? merge_payloads(c, item, mine) : merge_lane();
  if (kind == OP_COMBINE)
    run(c, item, mine && leader == merge_lane(), OP_COMBINE, 0, 0);
  else
    insert(c, item, mine && leader == merge_lane());
  if (item->result == TSR_RESULT_MISSING)
    item->result = TSR_RESULT_NOT_PLACED; /* OP_COMBINE: the key is not there, because its pair found no place */
  if (!MERGES(c, item->policy) || !merge_any(leader)) return;
  if (kind != OP_COMBINE) i = item_again(c, i); /* a block works on some of the others (launch.cu) */
  tsr_item offer = item_of(a, i, 0);
  offer.key = item->key;
  if (item->result == TSR_RESULT_NOT_PLACED) take_offer(c, a, i, 1, &offer);
  if (!merge_results(item, offer.key, leader)) return;
  take_offer(c, a, i, 1, &offer);
  item->payload = offer.payload;
}

/* Where values are combined later, one lane of a warp works per key: the others would try in vain, one after the other.
 * What the others bring is combined with the rest; an item that nobody worked on waits. */
TSR_INLINE void work_for_later(const tsr_ctx *c, uint32_t mine, tsr_item *item) {
  const uint32_t leader = MERGES(c, TSR_FACT(c, duplicates)) ? merge_leader(item->key, mine) : merge_lane();
  insert(c, item, mine && leader == merge_lane());
  item->result = mine && item->result == TSR_RESULT_NONE ? (uint32_t)NEEDS_COMBINE : item->result;
}

/* Inserts the keys, each once for all lanes of a warp that have it, and appends the values. If a slot was taken with
 * the key's lock, its place is looked up. */
TSR_INLINE uint32_t list_value_insert(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine) {
  const uint64_t unknown = ~(uint64_t)0;
  tsr_item item = item_of(a, i, mine);
  const uint32_t rank = value_list_group_of(c, item.key, mine).rank; /* of all lanes, behind no `mine &&` */
  const uint32_t leads = mine && rank == 0;
  item.policy = TSR_FACT(c, duplicates);
  item.at = unknown;
  insert(c, &item, leads);
  const uint32_t is_there = is_in_table(item.result);
  run(c, &item, leads && is_there && item.at == unknown, OP_LOCATE, 1, 0);
  const value_list_group group =
      value_list_group_of(c, item.key, mine); /* read again, so that no register keeps it during the walk */
  const uint64_t at = value_list_from_leader(c, &group, leads && is_there ? item.at : unknown);
  const uint32_t appends = mine && at != unknown;
  i = item_again(c, i);
  const uint32_t appended = value_list_append(c, &group, appends ? at : 0,
                                              value_list_value_at(c, a->values, item_place(a, i), appends), appends);
  item.result = !mine ? TSR_RESULT_NONE : appended ? TSR_RESULT_INSERTED : TSR_RESULT_NOT_PLACED;
  hand_back(c, a, i, &item);
  put_result(a, i, mine, item.result);
  return appended;
}

TSR_INLINE uint32_t insert_item(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine, uint32_t policy) {
  tsr_item item = item_of(a, i, 0);
  mine = take_offer(c, a, i, mine, &item);
  item.policy = policy;
  if (policy == POLICY_LATER)
    work_for_later(c, mine, &item);
  else
    work(c, a, i, mine, OP_INSERT, &item);
  hand_back(c, a, i, &item);
#if TSR_PAYLOAD_BITS > 0
  if (mine && policy == POLICY_FIND_OR_INSERT && a->values_out) {
    bool is_unplaced = item.result == TSR_RESULT_NOT_PLACED && item.key == io_key_at(a->keys, i, 1);
    /* the payload of a new pair may be gone: evictions end with another pair in hand */
    if (item.result != TSR_RESULT_FOUND)
      item.payload = is_unplaced ? (tsr_payload)a->missing : io_payload_at(a->values, i, 1);
    io_put_payload(a->values_out, i, item.payload);
  }
#endif
  put_insert_result(c, a, i, mine, item.result);
  return item.result == TSR_RESULT_INSERTED;
}

TSR_INLINE uint32_t insert_policy(const tsr_ctx *c) {
  return TSR_FACT(c, combines_later) ? (uint32_t)POLICY_LATER : TSR_FACT(c, duplicates);
}

TSR_INLINE uint32_t slot_value_insert(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine) {
  return insert_item(c, a, i, mine, insert_policy(c));
}

TSR_INLINE uint32_t bulk_insert(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine) {
  return VALUE(c, insert, c, a, i, mine);
}

/* Whether a key has no place in a page: it is behind all pages, or could meet one that is. */
TSR_INLINE bool is_left_to_walk(const tsr_ctx *c, tsr_key key) {
  return walk_is_reserved(key) || (TSR_FACT(c, has_meanings) && key == 0);
}

/* The same in a page that a block holds alone. *fails: a pair found no place there, or has none in any page (reserved
 * keys). Then the page is given up, as if nothing had been done. */
TSR_INLINE uint32_t page_insert(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine, uint32_t *fails) {
  tsr_item item = item_of(a, i, mine);
  const uint32_t is_reserved = mine && is_left_to_walk(c, item.key), works_on = mine && !is_reserved;
  item.payload = offered_at(c, a->values, item_place(a, i), works_on);
  item.policy = insert_policy(c);
  work(c, a, i, works_on, OP_INSERT, &item);
  *fails |= is_reserved || (works_on && item.result == TSR_RESULT_NOT_PLACED);
  put_result(a, i, works_on, item.result);
  return works_on && item.result == TSR_RESULT_INSERTED;
}

/* What inserts have left for later where pairs move. While they move, a thread that combines its value into a slot
 * might find another key there by then. To be safe it would have to hold the key's lock, and the threads of a hot key
 * would take turns at it. Here all inserts are done, and nothing moves any more. */
TSR_INLINE uint32_t combine_item(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t waits) {
  tsr_item item = item_of(a, i, 0);
  tsr_ctx still = *c;
  still.still = 1;
  take_offer(c, a, i, waits, &item);
  item.policy = TSR_FACT(c, duplicates);
  work(&still, a, i, waits, OP_COMBINE, &item);
  hand_back(c, a, i, &item);
  put_insert_result(c, a, i, waits, item.result);
  return 0;
}

/* Whether there is an item i that waits, if `made` pairs were made of its span. */
TSR_INLINE uint32_t waits_to_combine(const tsr_bulk *a, uint64_t i, uint32_t mine, uint32_t made) {
  return mine && insert_results(a, made)[i] == NEEDS_COMBINE && is_made(a, i, made);
}

TSR_INLINE uint32_t bulk_combine(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine) {
  return combine_item(c, a, i, waits_to_combine(a, i, mine, made_of(c, a, i)));
}

TSR_INLINE uint32_t bulk_find_or_insert(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine) {
  return insert_item(c, a, i, mine, POLICY_FIND_OR_INSERT);
}

/* Before an insert: sets the bits of its keys in the filter before the table. A launch of its own, so that inserts of
 * all kinds have the same code with a filter and without. */
TSR_INLINE uint32_t bulk_mark(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine) {
  const uint32_t inserts = mine && (!a->operations || a->operations[i] <= TSR_APPLY_REPLACE);
  filter_mark(c, io_key_at(a->keys, i, inserts), inserts);
  return 0;
}

/* ---- Finds ----------------------------------------------------------------------------------- */

TSR_INLINE uint32_t bulk_find(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine) {
  tsr_item item = item_of(a, i, mine);
  const uint64_t value = VALUE(c, find, c, a, &item, mine);
  i = io_item(i);
  mine = i < a->n;
  const uint32_t found = item.result == TSR_RESULT_FOUND;
  if (mine) VALUE(c, put, c, a->values_out, i, value);
  put_presence(a, i, mine, found, TSR_RESULT_FOUND);
  return found;
}

TSR_INLINE uint32_t bulk_contains(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine) {
  tsr_item item = item_of(a, i, mine);
  VALUE(c, look_up, c, &item, mine, OP_CONTAINS);
  const uint32_t found = item.result == TSR_RESULT_FOUND;
  i = io_item(i);
  put_result(a, i, i < a->n, found);
  return found;
}

/* kind: OP_COUNT or OP_NOTE. */
TSR_INLINE uint32_t count_item(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine, uint32_t kind) {
  tsr_item item = item_of(a, i, mine);
  VALUE(c, look_up, c, &item, mine, kind);
  i = io_item(i);
  mine = i < a->n;
  if (mine) a->counts[i] = item.pairs;
  if (kind == OP_NOTE && mine && a->values_out) VALUE(c, put_note, a, i, &item);
  put_result(a, i, mine, item.pairs ? TSR_RESULT_FOUND : TSR_RESULT_MISSING);
  return item.pairs != 0;
}

TSR_INLINE uint32_t bulk_count(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine) {
  return count_item(c, a, i, mine, OP_COUNT);
}

/* Notes for each key its only value, or its list, so that nobody walks to it again. */
TSR_INLINE uint32_t bulk_note(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine) {
  return count_item(c, a, i, mine, OP_NOTE);
}

TSR_INLINE uint32_t slot_value_retrieve(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine) {
  const uint32_t knows = mine && slot_value_is_noted(a, i);
  tsr_item item = item_of(a, i, mine && !knows);
  if (mine) {
    item.at = a->counts[i];
    item.end = a->counts[i + 1] < a->room ? a->counts[i + 1] : a->room;
  }
  if (mine && knows && item.at < item.end) io_put_payload(a->values_out, item.at, io_payload_at(a->values, i, 1));
  run(c, &item, passes_filter(c, &item, mine && !knows), OP_RETRIEVE, 0, 0);
  return item.pairs != 0 || (knows && item.at < item.end);
}

TSR_INLINE uint32_t bulk_retrieve(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine) {
  return VALUE(c, retrieve, c, a, i, mine);
}

/* ---- Erases ---------------------------------------------------------------------------------- */

/* Adds the pairs that a key has lost to the block's sum. What exceeds its bits goes to *hits directly, and only that:
 * additions to one counter take turns, and one per key bounded all erases of multimaps. */
TSR_INLINE uint32_t add_erased(uint64_t *hits, uint64_t erased) {
  const uint32_t most = 1u << 20;
  if (erased <= most) return (uint32_t)erased;
  IO_ADD(hits, erased - most);
  return most;
}

TSR_INLINE uint32_t erase_item(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine, uint32_t kind) {
  tsr_item item = item_of(a, i, mine);
  item.any_payload = !a->values;
  if (kind == OP_ERASE_PAIR) item.payload = io_payload_at(a->values, i, mine && a->values);
  run(c, &item, passes_filter(c, &item, mine), kind, !TSR_FACT(c, first_look_cached), 0);
  if (TSR_FACT(c, first_look_cached) && item.result == NEEDS_COHERENT) run(c, &item, 1, kind, 1, 1);
  if (kind == OP_ERASE) VALUE(c, release, c, &item);
  i = io_item(i);
  put_presence(a, i, i < a->n, item.pairs != 0, TSR_RESULT_ERASED);
  return add_erased(&a->tally->hits, item.pairs);
}

/* Of a fingerprint an erase takes one: the others may be other keys'. */
TSR_INLINE uint32_t bulk_erase(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine) {
  return erase_item(c, a, i, mine, TSR_FACT(c, fingerprint_bits) ? OP_ERASE_PAIR : OP_ERASE);
}

TSR_INLINE uint32_t bulk_erase_pair(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine) {
  return erase_item(c, a, i, mine, OP_ERASE_PAIR);
}

/* ---- Operations of all kinds at once --------------------------------------------------------- */

/* What one lane of `apply` did: 10 bits of a word per class, so that the lanes of a block add up in it. */
typedef struct bulk_answer {
  uint32_t asked, answered;
} bulk_answer;
enum { BULK_CLASS_BITS = 10, BULK_CLASS_MASK = (1 << BULK_CLASS_BITS) - 1 };

/* What an item asks for, as a policy; POLICIES if it asks for nothing that this table does. */
TSR_INLINE uint32_t policy_of(const tsr_ctx *c, uint32_t operation) {
  uint32_t looks = TSR_POLICY_LOOKS(TSR_FACT(c, duplicates));
  if (operation == TSR_APPLY_FIND) return POLICY_FIND;
  if (operation == TSR_APPLY_ERASE) return POLICY_ERASE;
  if (operation == TSR_APPLY_INSERT) return TSR_FACT(c, duplicates);
  return operation == TSR_APPLY_REPLACE && looks ? TSR_DUPLICATES_REPLACE : POLICIES;
}

/* What it belongs to in the report; TSR_CLASSES for one that asks for nothing. */
TSR_INLINE uint32_t class_of(uint32_t policy) {
  if (policy == POLICIES) return TSR_CLASSES;
  return policy == POLICY_FIND ? TSR_CLASS_FIND : policy == POLICY_ERASE ? TSR_CLASS_ERASE : TSR_CLASS_INSERT;
}

/* Writes what became of an item, and counts it. */
TSR_INLINE bulk_answer answer_item(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine,
                                   uint32_t report_class, const tsr_item *item) {
  bulk_answer answer = {0, 0};
  hand_back(c, a, i, item);
  const uint32_t result = item->pairs ? TSR_RESULT_ERASED : item->result;
  if (report_class == TSR_CLASS_FIND && mine)
    io_put_payload(a->values_out, i, result == TSR_RESULT_FOUND ? item->payload : (tsr_payload)a->missing);
  put_result(a, i, mine, result);
  if (mine && report_class != TSR_CLASSES) {
    const uint32_t hit = result == TSR_RESULT_INSERTED || result == TSR_RESULT_FOUND || result == TSR_RESULT_ERASED;
    if (item->pairs > 1) IO_ADD(&a->tally->answered[TSR_CLASS_ERASE], item->pairs - 1);
    answer.asked = 1u << report_class * BULK_CLASS_BITS;
    answer.answered = hit << report_class * BULK_CLASS_BITS;
  } else if (mine && a->times) {
    a->times[2 * i] = a->times[2 * i + 1] = io_clock();
  }
  return answer;
}

/* The items of a call have no order; finds and erases are steps, inserts are as far as they need no lock. */
TSR_INLINE void apply(const tsr_ctx *c, tsr_item *item) {
  const uint32_t inserts = item->policy < POLICY_FIND, asks = !inserts && item->policy < POLICIES;
  const uint32_t looks = passes_filter(c, item, asks);
  item->mixes = 1;
  item->result = inserts ? NEEDS_LOCK : asks && !looks ? TSR_RESULT_MISSING : TSR_RESULT_NONE;
  run(c, item, inserts ? BEGINS_WITH_STEPS(c) : looks, OP_MIXED, 1, 0);
  const uint32_t waits = item->result == NEEDS_LOCK;
  if (HAS_GUARD(c)) run(c, item, waits, OP_INSERT_LOCKED, 1, BEGINS_WITH_STEPS(c));
  if (TSR_FACT(c, places_first) && tsr_warp_any(c, waits)) insert_unseen(c, item, waits);
}

/* Works on items of one class, a constant, where inserts and erases take turns. Inserts do not begin with steps: where
 * keys are erased there are erased slots, and past one the whole walk has to be seen. */
TSR_INLINE bulk_answer apply_class(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine,
                                   uint32_t report_class) {
  tsr_item item = item_of(a, i, mine);
  item.times = a->times;
  item.i = i;
  if (report_class == TSR_CLASS_INSERT) {
    item.payload = offered_at(c, a->values, i, mine);
    item.policy = mine ? policy_of(c, a->operations[i]) : TSR_FACT(c, duplicates);
    item.mixes = 1;
    run(c, &item, mine, OP_INSERT_LOCKED, 1, 0);
  } else {
    run(c, &item, passes_filter(c, &item, mine), report_class == TSR_CLASS_FIND ? OP_FIND : OP_ERASE, 1, 0);
    if (item.result == TSR_RESULT_NONE) item.result = TSR_RESULT_MISSING;
  }
  return answer_item(c, a, i, mine, report_class, &item);
}

TSR_INLINE bulk_answer bulk_apply(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine) {
  const uint32_t policy = mine ? policy_of(c, a->operations[i]) : (uint32_t)POLICIES, report_class = class_of(policy);
  const uint32_t works = policy < POLICIES;
  tsr_item item = item_of(a, i, works && !TAKES_TURNS(c));
  if (TAKES_TURNS(c)) { /* the inserts are for bulk_apply_inserts */
    const bulk_answer found = apply_class(c, a, i, report_class == TSR_CLASS_FIND, TSR_CLASS_FIND);
    const bulk_answer erased = apply_class(c, a, i, report_class == TSR_CLASS_ERASE, TSR_CLASS_ERASE);
    const bulk_answer nothing = answer_item(c, a, i, mine && !works, TSR_CLASSES, &item);
    const bulk_answer all = {found.asked + erased.asked + nothing.asked,
                             found.answered + erased.answered + nothing.answered};
    return all;
  }
  item.payload = offered_at(c, a->values, i, policy < POLICY_FIND);
  item.policy = policy;
  item.times = a->times;
  item.i = i;
  apply(c, &item);
  return answer_item(c, a, io_item(i), mine, report_class, &item);
}

TSR_INLINE bulk_answer bulk_apply_inserts(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine) {
  const uint32_t inserts = mine && class_of(policy_of(c, a->operations[i])) == TSR_CLASS_INSERT;
  const bulk_answer none = {0, 0};
  return TAKES_TURNS(c) ? apply_class(c, a, i, inserts, TSR_CLASS_INSERT) : none;
}

/* ---- Scans ----------------------------------------------------------------------------------- */

/* The items of a scan are buckets: first those with an index, then the allocator's units, if these are buckets. Returns
 * false past the end, and for a unit that is not in use. Even then *ref is a bucket that exists, because a masked tile
 * may read there. */
TSR_INLINE uint32_t bulk_scanned(const tsr_ctx *c, uint64_t i, uint32_t mine, uint64_t *ref) {
  uint64_t buckets = walk_tail(c) + TSR_TAIL_RESERVED + c->t->stash_buckets;
  *ref = mine ? i : 0;
  if (!TSR_FACT(c, has_link) || i < buckets || !mine) return mine;
  uint32_t unit = allocator_used(c, i - buckets), is_used = unit != TSR_NO_HANDLE;
  *ref = is_used ? TSR_UNIT_REF | unit : 0;
  return is_used;
}

/* Pairs in bucket `ref`, and erased slots, as masks of slots; 0 unless the tile is active. Collective. */
TSR_INLINE uint32_t bulk_occupied(const tsr_ctx *c, uint64_t ref, uint32_t active, tsr_bucket *b, uint32_t *erased) {
  layout_load(c, ref, active, tsr_load_mode(c, 0), b);
  *erased = 0;
  if (!TSR_FACT(c, warp_sync) && !active) return 0;
  uint32_t vacant = layout_vacant(c, b), empties = layout_empties(c, b);
  if (!active) return 0;
  *erased = vacant & ~empties;
  return tsr_slot_mask(c) & ~vacant;
}

TSR_INLINE uint32_t bulk_size(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine) {
  uint64_t mine_ref;
  uint32_t is_there = bulk_scanned(c, i, mine, &mine_ref), hits = 0, todo = tsr_ballot(c, is_there);
  if (is_there && mine_ref & TSR_UNIT_REF) IO_ADD(&a->tally->units, 1);
  TSR_NO_UNROLL
  for (uint32_t turn = 0; turn < TSR_FACT(c, tile_lanes); turn++) {
    tsr_bucket b;
    const uint64_t ref = tsr_shuffle64(c, mine_ref, turn);
    uint32_t erased, pairs = bulk_occupied(c, ref, todo >> turn & 1u, &b, &erased);
    const uint32_t counted = VALUE(c, count, c, a, ref, pairs);
    if (c->lane != turn) continue;
    hits = counted;
    if (erased) IO_ADD(&a->tally->tombstones, tsr_count_bits(erased));
  }
  return hits;
}

/* Writes pairs one after another, in no order, from keys_out[tally->hits] on. n there bounds what the caller allocated,
 * because it counted first and nothing inserts meanwhile. in_place: each goes to the number of its slot in the table
 * instead, so that joins meet the pairs of a page. */
TSR_INLINE uint32_t bulk_export(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine) {
  uint64_t mine_ref;
  uint32_t hits = 0, todo = tsr_ballot(c, bulk_scanned(c, i, mine, &mine_ref));
  TSR_NO_UNROLL
  for (uint32_t turn = 0; turn < TSR_FACT(c, tile_lanes); turn++) {
    tsr_bucket b;
    const uint64_t ref = tsr_shuffle64(c, mine_ref, turn);
    uint32_t erased, pairs = bulk_occupied(c, ref, todo >> turn & 1u, &b, &erased);
    VALUE(c, export, c, a, &b, ref, pairs, &hits);
  }
  return hits; /* the others are counted where they get their place */
}

/* Where the pair of a key belongs that is in bucket `from` of `former` buckets: there, if that is still one of its buckets, or
 * in a new one that comes from it. Bounded by the walk. */
TSR_INLINE uint64_t split_target(const tsr_ctx *c, tsr_key key, uint64_t former, uint64_t from) {
  tsr_probe probe = {0, {0, 0}, 0, 0, 0};
  uint64_t target = from;
  TSR_NO_UNROLL
  for (; walk_scheme(c, key, &probe); probe.visited++) {
    if (tsr_split_from(probe.ref, former) != from) continue;
    target = probe.ref;
    if (target == from) break;
  }
  return target;
}

/* Moves pairs of bucket `ref` to slots of the same numbers in new buckets, which are empty: all pairs of a new bucket come from
 * one bucket, and so from one tile. Nothing else runs. Returns how many. Collective. */
TSR_INLINE uint32_t split_bucket(const tsr_ctx *c, uint64_t former, uint64_t ref, uint32_t active) {
  tsr_bucket b;
  uint32_t erased, moved = 0;
  const uint32_t pairs = bulk_occupied(c, ref, active, &b, &erased);
  TSR_NO_UNROLL
  for (uint32_t slot = 0; slot < TSR_FACT(c, bucket_slots); slot++) {
    const uint32_t is_pair = pairs >> slot & 1u;
    if (!tsr_warp_any(c, is_pair) || (!TSR_FACT(c, warp_sync) && !is_pair)) continue;
    const tsr_key key = layout_key(c, &b, slot);
    const tsr_payload payload = layout_payload(c, &b, slot);
    const uint64_t to = is_pair ? split_target(c, key, former, ref) : ref;
    const uint32_t leaves = is_pair && to != ref;
    if (!tsr_warp_any(c, leaves) || (!TSR_FACT(c, warp_sync) && !leaves)) continue;
    tsr_bucket other;
    tsr_ctx moving = tsr_masked(c, leaves);
    layout_load(&moving, to, leaves, tsr_load_mode(c, TSR_LOAD_COHERENT), &other);
    tsr_ctx leaving = tsr_masked(c, layout_cas(&moving, &other, slot, key, payload) && leaves);
    moved += layout_erase(&leaving, &b, slot) && leaving.active;
  }
  return moved;
}

/* Items are the buckets that lose pairs to new ones (tsr_split_nth). */
TSR_INLINE uint32_t bulk_split(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine) {
  const uint64_t mine_ref = mine ? tsr_split_nth(a->former, c->t->buckets, i) : 0;
  uint32_t todo = tsr_ballot(c, mine), hits = 0;
  TSR_NO_UNROLL
  for (uint32_t turn = 0; turn < TSR_FACT(c, tile_lanes); turn++) {
    const uint32_t active = todo >> turn & 1u;
    if (!tsr_warp_any(c, active)) continue;
    tsr_ctx splitting = tsr_masked(c, active);
    const uint32_t moved = split_bucket(&splitting, a->former, tsr_shuffle64(c, mine_ref, turn), active);
    if (c->lane == turn) hits = moved;
  }
  return hits;
}

/* Items are the buckets with an index, except the stash's. */
TSR_INLINE uint32_t bulk_flush(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint32_t mine) {
  uint32_t todo = tsr_ballot(c, mine), released = 0;
  if (!TSR_FACT(c, has_link)) return 0;
  TSR_NO_UNROLL
  for (uint32_t turn = 0; turn < TSR_FACT(c, tile_lanes); turn++) {
    uint32_t active = todo >> turn & 1u;
    if (!tsr_warp_any(c, active)) continue;
    tsr_ctx flushing = tsr_masked(c, active);
    released += link_flush(&flushing, tsr_shuffle64(c, i, turn));
  }
  if (c->lane == 0 && released) IO_ADD(&a->tally->units, released);
  return 0;
}

#endif

/* SPDX-License-Identifier: Apache-2.0
 *
 * A range of an operation's items, worked through by one thread: CPU_RANGE(find) defines range_find. Compiled into the
 * function tables (bulk.c) and, with constants for facts and parameters, into what is fused at run time (fuse.h).
 */
#ifndef TSR_CPU_RANGE_CUH
#define TSR_CPU_RANGE_CUH

#include "core/kernels/ops.cuh"

enum {
  CPU_BATCH = 1 << 16, /* items whose counts fit 32 bits */
  CPU_AHEAD = 16,      /* items between asking for a bucket and working on it: a miss takes about as long */
  CPU_WALKS = 32       /* walks in flight */
};

TSR_INLINE uint32_t count_hits(tsr_tally *tally, uint32_t hits) {
  tally->hits += hits;
  return hits;
}

TSR_INLINE uint32_t count_answer(tsr_tally *tally, bulk_answer answer) {
  for (uint32_t class = 0; class < TSR_CLASSES; class ++) {
    tally->asked[class] += answer.asked >> class * BULK_CLASS_BITS & BULK_CLASS_MASK;
    tally->answered[class] += answer.answered >> class * BULK_CLASS_BITS & BULK_CLASS_MASK;
  }
  return answer.answered != 0;
}

#define CPU_COUNT(tally, did) _Generic(did, uint32_t : count_hits, bulk_answer : count_answer)(tally, did)

TSR_INLINE void cpu_tally(tsr_tally *tally, const tsr_scratch *scratch) {
  tally->probes += scratch->sum.probes;
  tally->moves += scratch->sum.moves;
  tally->lost_claims += scratch->sum.lost_claims;
  tally->stashed += scratch->sum.stashed;
  if (scratch->probes_max > tally->probes_max) tally->probes_max = scratch->probes_max;
  if (scratch->moves_max > tally->moves_max) tally->moves_max = scratch->moves_max;
  for (uint32_t i = 0; i < TSR_HISTOGRAM_BINS; i++) tally->histogram[i] += scratch->histogram[i];
}

/* The context of a thread alone. cpu: the tables to read from; fused code has none. */
TSR_INLINE tsr_ctx cpu_context(const void *cpu, const tsr_bulk *bulk, tsr_scratch *scratch) {
  tsr_ctx c = {.t = &bulk->state, .active = 1, .scratch = scratch};
#ifdef TSR_FUSED
  (void)cpu;
#else
  c.cpu = (const tsr_cpu *)cpu;
#endif
  return c;
}

/* Asks for the memory of a bucket. */
TSR_INLINE void cpu_ask_for(const tsr_ctx *c, uint64_t ref) {
  tsr_bucket b;
  layout_load(c, ref, 1, TSR_LOAD_SETTLED | TSR_LOAD_AHEAD, &b);
}

/* The same for a key's block of a filter. */
TSR_INLINE void cpu_ask_for_block(const tsr_ctx *c, const tsr_bulk *bulk, uint64_t i) {
  __builtin_prefetch(filter_block(c, filter_block_of(c, io_key_at(bulk->keys, i, 1))));
}

/* The same for an item's first bucket, or whatever this operation looks at first. */
TSR_INLINE void cpu_look_ahead(const tsr_ctx *c, const tsr_bulk *bulk, uint32_t operation, uint64_t i) {
  const bool inserts = operation == TSR_BULK_insert || operation == TSR_BULK_find_or_insert;
  tsr_probe probe;
  if (TSR_FACT(c, filter_words) && !(inserts && filter_is_before(c))) cpu_ask_for_block(c, bulk, i);
  if (TSR_FACT(c, is_filter) || operation == TSR_BULK_mark) return;
  if (operation == TSR_BULK_retrieve && (HAS_CHAINS(c) || is_noted(bulk, i))) return;
  if (walk_begin(c, io_key_at(bulk->keys, i, 1), &probe)) cpu_ask_for(c, probe.ref);
}

/* ---- Walks ----------------------------------------------------------------------------------- */

/* A walk asks for its next bucket and lets the others go on meanwhile: so it waits for none but the first. Of two items of
 * one key in flight either may be first, as on a GPU, and their guard keeps the key unique. */
typedef struct cpu_walk {
  tsr_op op;
  uint64_t i;
} cpu_walk;

/* Asks for the bucket that a walk looks at next; of a new pair for all that it chooses from. */
TSR_INLINE void cpu_ask_for_next(const tsr_ctx *c, uint32_t kind, const cpu_walk *walk) {
  const tsr_placing *placing = &walk->op.placing;
  tsr_probe probe = {placing->ref, {0, 0}, 0, 0, placing->page};
  if (kind != OP_PLACE || !TSR_FACT(c, choices) || TSR_FACT(c, first_slots) || !has_choice(c, placing)) {
    cpu_ask_for(c, kind == OP_PLACE ? placing->ref : walk->op.probe.ref);
    return;
  }
  for (; probe.visited < TSR_FACT(c, choices); probe.visited++)
    if (walk_scheme(c, walk->op.key, &probe)) cpu_ask_for(c, probe.ref);
}

TSR_INLINE void cpu_begin_walk(const tsr_ctx *c, const tsr_bulk *bulk, uint32_t kind, uint64_t i, cpu_walk *walk) {
  tsr_item item = item_of(bulk, i, 1);
  if (op_has_payload(kind)) {
    item.payload = offered_at(c, bulk->values, i, 1);
    item.policy = insert_policy(c);
  }
  take_item(c, &item, 0, kind, &walk->op);
  walk->op.result = kind == OP_PLACE ? TSR_RESULT_NONE : TSR_RESULT_MISSING;
  begin(c, &item, 0, kind, 1, 0, &walk->op);
  if (kind == OP_PLACE) walk->op.walking = !walk_is_reserved(item.key);
  walk->i = i;
  cpu_ask_for_next(c, kind, walk);
}

/* An insert goes on with what its walk could not give: a lock, or a place for the pair in hand. A reserved key has not
 * walked, and so has no result; the key in hand does not tell, since who took a vacant slot holds the one that marks it. */
TSR_INLINE uint32_t cpu_answer_insert(const tsr_ctx *c, const tsr_bulk *bulk, uint32_t kind, const cpu_walk *walk) {
  tsr_item item = item_of(bulk, walk->i, 0);
  item.key = walk->op.key;
  item.payload = walk->op.payload;
  item.policy = insert_policy(c);
  item.result = walk->op.result;
  if (kind == OP_PLACE)
    insert_unplaced(c, &item, 1, item.result == TSR_RESULT_NONE);
  else
    insert_on(c, &item);
  hand_back(c, bulk, walk->i, &item);
  put_result(bulk, walk->i, 1, item.result);
  return item.result == TSR_RESULT_INSERTED;
}

/* Returns whether the item is a hit. */
TSR_INLINE uint32_t cpu_answer_walk(const tsr_ctx *c, const tsr_bulk *bulk, uint32_t kind, const cpu_walk *walk) {
  const uint32_t found = walk->op.result == TSR_RESULT_FOUND;
  if (op_has_payload(kind)) return cpu_answer_insert(c, bulk, kind, walk);
  if (kind == OP_FIND) {
    io_put_payload(bulk->values_out, walk->i, found ? walk->op.payload : (tsr_payload)bulk->missing);
    put_presence(bulk, walk->i, 1, found, TSR_RESULT_FOUND);
  } else {
    put_result(bulk, walk->i, 1, found);
  }
  return found;
}

/* Answers finds that the filter before the table stops; returns the first item that passes. */
TSR_INLINE uint64_t cpu_pass_filter(const tsr_ctx *c, const tsr_bulk *bulk, uint32_t kind, uint64_t i, uint64_t end) {
  for (; op_looks(kind) && filter_is_before(c) && i < end; i++) {
    if (i + CPU_AHEAD < end) cpu_ask_for_block(c, bulk, i + CPU_AHEAD);
    if (filter_contains(c, io_key_at(bulk->keys, i, 1), 1)) break;
    cpu_walk stopped;
    stopped.op.result = TSR_RESULT_MISSING;
    stopped.i = i;
    cpu_answer_walk(c, bulk, kind, &stopped);
  }
  return i;
}

/* As bulk_find, bulk_contains and bulk_insert, without statistics, which are of one key at a time. Returns the hits. */
TSR_INLINE uint32_t cpu_walk_all(const tsr_ctx *c, const tsr_bulk *bulk, uint32_t kind, uint64_t begin, uint64_t end) {
  cpu_walk walks[CPU_WALKS];
  uint32_t count = 0, hits = 0;
  for (begin = cpu_pass_filter(c, bulk, kind, begin, end); count < CPU_WALKS && begin < end;
       begin = cpu_pass_filter(c, bulk, kind, begin + 1, end))
    cpu_begin_walk(c, bulk, kind, begin, &walks[count++]);
  while (count)
    for (uint32_t w = 0; w < count;) {
      cpu_walk *walk = &walks[w];
      if (walk->op.walking) take_step(c, &walk->op, kind, !op_looks(kind));
      if (walk->op.walking) {
        cpu_ask_for_next(c, kind, walk);
        w++;
        continue;
      }
      hits += cpu_answer_walk(c, bulk, kind, walk);
      if (begin < end) {
        cpu_begin_walk(c, bulk, kind, begin, walk);
        begin = cpu_pass_filter(c, bulk, kind, begin + 1, end);
        w++;
      } else {
        *walk = walks[--count];
      }
    }
  return hits;
}

/* ---- Inserts of keys that come again --------------------------------------------------------- */

/* Items of one key behind each other are combined into the first, where the policy combines, as a warp's are: threads
 * that share a hot key would take turns at its slot for each of them. Returns the item behind them. */
TSR_INLINE uint64_t cpu_insert_equal(const tsr_ctx *c, const tsr_bulk *a, uint64_t i, uint64_t end, tsr_tally *tally) {
  tsr_item item = item_of(a, i, 1);
  const tsr_key key = item.key;
  uint64_t next = i + 1;
  item.policy = insert_policy(c);
  item.payload = offered_at(c, a->values, i, 1);
  for (; next < end && io_key_at(a->keys, next, 1) == key; next++)
    item.payload = tsr_combine(item.policy, item.payload, offered_at(c, a->values, next, 1));
  insert(c, &item, 1);
  count_hits(tally, item.result == TSR_RESULT_INSERTED);
  const uint32_t is_unplaced = item.result == TSR_RESULT_NOT_PLACED && item.key == key;
  for (; i < next; i++) {
    if (is_unplaced) item.payload = offered_at(c, a->values, i, 1); /* each its own */
    hand_back(c, a, i, &item);
    put_result(a, i, 1, item.result);
    if (!is_unplaced) item.result = result_for_present(item.policy); /* of those that follow */
  }
  return next;
}

/* Where pairs move combining is for later, and where a multimap's values have buckets each value is kept. */
TSR_INLINE uint32_t cpu_combines(const tsr_ctx *c) {
  return TSR_POLICY_COMBINES(insert_policy(c)) && !HAS_CHAINS(c) && !TSR_FACT(c, is_filter);
}

/* ---- Ranges ---------------------------------------------------------------------------------- */

/* Works through items as walks, if an operation does so; the kinds are constants. */
TSR_INLINE bool cpu_walks(const tsr_ctx *c, const tsr_bulk *bulk, uint32_t operation, uint64_t begin, uint64_t end,
                          tsr_tally *tally) {
  const bool inserts = operation == TSR_BULK_insert;
  if (operation != TSR_BULK_find && operation != TSR_BULK_contains && !inserts) return false;
  if (TSR_FACT(c, statistics) || TSR_FACT(c, is_filter) || HAS_CHAINS(c)) return false;
  if (!inserts) {
    count_hits(tally, cpu_walk_all(c, bulk, operation == TSR_BULK_find ? OP_FIND : OP_CONTAINS, begin, end));
  } else if (TSR_FACT(c, places_first)) {
    count_hits(tally, cpu_walk_all(c, bulk, OP_PLACE, begin, end));
  } else if (BEGINS_WITH_STEPS(c) && !TSR_POLICY_COMBINES(TSR_FACT(c, duplicates))) {
    count_hits(tally, cpu_walk_all(c, bulk, OP_INSERT, begin, end));
  } else {
    return false;
  }
  return true;
}

#define CPU_RANGE(op)                                                                                                  \
  static void range_##op(const void *cpu, const tsr_bulk *bulk, uint64_t begin, uint64_t end, tsr_tally *tally) {      \
    for (uint64_t from = begin, to; from < end; from = to) {                                                           \
      to = end - from > CPU_BATCH ? from + CPU_BATCH : end;                                                            \
      uint32_t histogram[TSR_HISTOGRAM_BINS] = {0};                                                                    \
      tsr_scratch scratch = {.histogram = histogram};                                                                  \
      const tsr_ctx c = cpu_context(cpu, bulk, &scratch);                                                              \
      if (!cpu_walks(&c, bulk, TSR_BULK_##op, from, to, tally))                                                        \
        for (uint64_t i = from; i < to;) {                                                                             \
          if (bulk->keys && i + CPU_AHEAD < to) cpu_look_ahead(&c, bulk, TSR_BULK_##op, i + CPU_AHEAD);                \
          if (TSR_BULK_##op == TSR_BULK_insert && cpu_combines(&c)) {                                                  \
            i = cpu_insert_equal(&c, bulk, i, to, tally);                                                              \
          } else {                                                                                                     \
            CPU_COUNT(tally, bulk_##op(&c, bulk, i, 1));                                                               \
            i++;                                                                                                       \
          }                                                                                                            \
        }                                                                                                              \
      cpu_tally(tally, &scratch);                                                                                      \
    }                                                                                                                  \
  }

#endif

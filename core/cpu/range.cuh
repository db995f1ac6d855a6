/* SPDX-License-Identifier: Apache-2.0
 *
 * Works through a range of an operation's items, by one thread: CPU_RANGE(find) defines range_find. Compiled into
 * the function tables (bulk.c) and, with constants for facts and parameters, into what is fused at run time
 * (fuse.h).
 */
#ifndef TSR_CPU_RANGE_CUH
#define TSR_CPU_RANGE_CUH

#include "core/kernels/ops.cuh"

enum {
  CPU_BATCH = 1 << 16, /* items whose counts fit 32 bits */
  CPU_AHEAD = 16,      /* items between asking for a bucket and working on it: a miss takes about as long */
  CPU_WALKS = 32,      /* inserts in flight */
  CPU_FINDS = 32       /* finds in flight */
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
  tally->overflows += scratch->overflows;
  if (scratch->probes_max > tally->probes_max) tally->probes_max = scratch->probes_max;
  if (scratch->moves_max > tally->moves_max) tally->moves_max = scratch->moves_max;
  for (uint32_t i = 0; i < TSR_HISTOGRAM_BINS; i++) tally->histogram[i] += scratch->histogram[i];
}

/* The context of a thread alone. cpu: the tables to read from; fused code has none. */
TSR_INLINE tsr_ctx cpu_context(const void *cpu, const tsr_bulk *bulk, uint32_t alone, tsr_scratch *scratch) {
  tsr_ctx c = {.t = &bulk->state, .active = 1, .scratch = scratch, .alone = alone};
#ifdef TSR_FUSED
  (void)cpu;
#else
  c.cpu = (const tsr_cpu *)cpu;
#endif
  return c;
}

/* Asks for the memory of a bucket: for all of it, even where a find looks at tags first. */
TSR_INLINE void cpu_ask_for(const tsr_ctx *c, uint64_t ref) {
  tsr_bucket b;
  layout_load(c, ref, 1, TSR_LOAD_AHEAD, &b);
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
  if (operation == TSR_BULK_retrieve && VALUE(c, is_noted, bulk, i)) return;
  if (walk_begin(c, io_key_at(bulk->keys, i, 1), &probe)) cpu_ask_for(c, probe.ref);
}

/* ---- Finds ----------------------------------------------------------------------------------- */

/* Finds go in a ring: each looks at one bucket, asks for its next one and lets the others go on meanwhile, so it waits for
 * none but the first. */
typedef struct cpu_find {
  tsr_probe probe;
  tsr_key key;
  uint64_t i;
} cpu_find;

TSR_INLINE void cpu_answer(const tsr_bulk *bulk, uint32_t kind, uint64_t i, uint32_t found, tsr_payload payload) {
  if (kind == OP_FIND) {
    /* no branch, which could not be predicted */
    const tsr_payload mask = (tsr_payload)0 - found, missing = (tsr_payload)bulk->missing;
    io_put_payload(bulk->values_out, i, (payload & mask) | (missing & ~mask));
    put_presence(bulk, i, 1, found, TSR_RESULT_FOUND);
  } else {
    put_result(bulk, i, 1, found);
  }
}

/* Answers finds that the filter before the table stops; returns the first item that passes. */
TSR_INLINE uint64_t cpu_pass_filter(const tsr_ctx *c, const tsr_bulk *bulk, uint32_t kind, uint64_t i, uint64_t end) {
  for (; filter_is_before(c) && i < end; i++) {
    if (i + CPU_AHEAD < end) cpu_ask_for_block(c, bulk, i + CPU_AHEAD);
    if (filter_contains(c, io_key_at(bulk->keys, i, 1), 1)) break;
    cpu_answer(bulk, kind, i, 0, 0);
  }
  return i;
}

/* The payload of a bucket's match, if there is one. Where buckets are loaded with payloads, that of the last slot is
 * read if there is none, in place of a branch. Tags, if a layout has them, are next to it. */
TSR_INLINE tsr_payload cpu_payload(const tsr_ctx *c, const tsr_bucket *b, uint32_t matches) {
  if (!TSR_FACT(c, whole_pairs) && !matches) return 0;
  return layout_payload(c, b, tsr_lowest(matches | 1u << (TSR_FACT(c, bucket_slots) - 1)));
}

/* Begins the first find from item i on that has a bucket to look at, and asks for that; returns the item after it. If there is
 * none, find->i is `end`. */
TSR_INLINE uint64_t cpu_begin_find(const tsr_ctx *c, const tsr_bulk *bulk, uint32_t kind, uint64_t i, uint64_t end,
                                   cpu_find *find) {
  for (find->i = end; find->i == end && (i = cpu_pass_filter(c, bulk, kind, i, end)) < end; i++) {
    find->key = io_key_at(bulk->keys, i, 1);
    if (walk_begin(c, find->key, &find->probe))
      find->i = i;
    else
      cpu_answer(bulk, kind, i, 0, 0);
  }
  if (find->i < end) cpu_ask_for(c, find->probe.ref);
  return i;
}

/* Looks at the bucket at which a find is, and answers the find as if it were the last. Returns whether its key is
 * there; *goes: whether there is another bucket to look at. */
TSR_INLINE uint32_t cpu_take_look(const tsr_ctx *c, const tsr_bulk *bulk, uint32_t kind, cpu_find *find,
                                  uint32_t *goes) {
  tsr_op op;
  tsr_bucket b;
  op.key = find->key;
  op.probe.visited = find->probe.visited;
  op.walking = 1;
  layout_load(c, find->probe.ref, 1, op_load_mode(c, kind, 0), &b);
  const tsr_view v = look(c, &op, kind, &b);
  cpu_answer(bulk, kind, find->i, v.matches != 0, kind == OP_FIND ? cpu_payload(c, &b, v.matches) : 0);
  *goes = (v.matches == 0) & !walk_ends_here(c, &op, kind, &v, &b) &&
          walk_after(c, find->key, &find->probe, walk_link(c, &b));
  return v.matches != 0;
}

/* As bulk_find and bulk_contains, without statistics, which are of one key at a time. Returns the hits. */
TSR_INLINE uint32_t cpu_find_all(const tsr_ctx *c, const tsr_bulk *bulk, uint32_t kind, uint64_t i, uint64_t end) {
  cpu_find ring[CPU_FINDS];
  uint32_t count = 0, hits = 0, goes;
  while (count < CPU_FINDS && i < end) {
    i = cpu_begin_find(c, bulk, kind, i, end, &ring[count]);
    count += ring[count].i < end;
  }
  while (count)
    for (uint32_t n = 0; n < count; n++) {
      cpu_find *find = &ring[n];
      hits += cpu_take_look(c, bulk, kind, find, &goes);
      if (goes)
        cpu_ask_for(c, find->probe.ref);
      else
        i = cpu_begin_find(c, bulk, kind, i, end, find);
      if (find->i == end) *find = ring[--count];
    }
  return hits;
}

/* ---- Inserts ---------------------------------------------------------------------------------- */

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
  if (kind != OP_PLACE || !TSR_FACT(c, choices) || TSR_FACT(c, first_slots) || TSR_FACT(c, ordered) ||
      !has_choice(c, placing)) {
    cpu_ask_for(c, kind == OP_PLACE ? placing->ref : walk->op.probe.ref);
    return;
  }
  for (; probe.visited < TSR_FACT(c, choices); probe.visited++)
    if (walk_scheme(c, walk->op.key, &probe)) cpu_ask_for(c, probe.ref);
}

TSR_INLINE void cpu_begin_walk(const tsr_ctx *c, const tsr_bulk *bulk, uint32_t kind, uint64_t i, cpu_walk *walk) {
  tsr_item item = item_of(bulk, i, 1);
  item.payload = offered_at(c, bulk->values, i, 1);
  item.policy = insert_policy(c);
  take_item(c, &item, 0, kind, &walk->op);
  walk->op.result = TSR_RESULT_NONE;
  begin(c, &item, 0, kind, 1, 0, &walk->op);
  if (kind == OP_PLACE) walk->op.walking = !walk_is_reserved(item.key);
  walk->i = i;
  cpu_ask_for_next(c, kind, walk);
}

/* An insert goes on with what its walk could not give: a lock, or a place for the pair in hand. A reserved key has
 * not walked, and so has no result. The key in hand does not show that: after taking a vacant slot an insert holds
 * the key that marks it. */
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

/* As bulk_insert, without statistics. Returns the hits. */
TSR_INLINE uint32_t cpu_walk_all(const tsr_ctx *c, const tsr_bulk *bulk, uint32_t kind, uint64_t begin, uint64_t end) {
  cpu_walk walks[CPU_WALKS];
  uint32_t count = 0, hits = 0;
  for (; count < CPU_WALKS && begin < end; begin++) cpu_begin_walk(c, bulk, kind, begin, &walks[count++]);
  while (count)
    for (uint32_t w = 0; w < count;) {
      cpu_walk *walk = &walks[w];
      if (walk->op.walking) take_step(c, &walk->op, kind, 1);
      if (walk->op.walking) {
        cpu_ask_for_next(c, kind, walk);
        w++;
        continue;
      }
      hits += cpu_answer_insert(c, bulk, kind, walk);
      if (begin < end) {
        cpu_begin_walk(c, bulk, kind, begin++, walk);
        w++;
      } else {
        *walk = walks[--count];
      }
    }
  return hits;
}

/* ---- Inserts of keys that come again --------------------------------------------------------- */

/* Threads that share a hot key take turns at its slot. So a thread holds the first keys of a span of items back,
 * combines with each what follows, and works on the results at the end, as the spans of a GPU do
 * (../batch/spans.cuh). Where pairs move, items that follow are left to `combine`, which then does this. */
enum {
  CPU_SPAN = 1 << 14,
  CPU_HELD = 2048, /* keys that are held back, */
  CPU_TRIES = 2,   /* ... the places that each may have, */
  CPU_JUDGED = 16, /* ... and one of this many items is looked at first, whether it pays: */
  CPU_LEAST = 64,  /* of those, */
  CPU_SHARE = 8    /* one of this many of them has a key that another one has */
};

typedef struct cpu_held {
  tsr_key key;
  tsr_payload payload;
  uint32_t items; /* 0: the place is free */
  uint16_t first, last;
} cpu_held;

typedef struct cpu_hold {
  cpu_held held[CPU_HELD];
  uint32_t alone;            /* how many items have no place among them, */
  uint16_t ones[CPU_SPAN];   /* ... and which */
  uint16_t before[CPU_SPAN]; /* of an item that is not its key's first one: the one before it */
} cpu_hold;

/* The place of a key, or a free one for it; NULL: there is none. */
TSR_INLINE cpu_held *cpu_held_for(cpu_hold *hold, tsr_key key) {
  const uint64_t hash = tsr_key_word(key) * 0x9E3779B97F4A7C15u >> 32;
  for (uint32_t tries = 0; tries < CPU_TRIES; tries++) {
    cpu_held *held = &hold->held[(hash + tries) % CPU_HELD];
    if (!held->items || held->key == key) return held;
  }
  return NULL;
}

/* Works on the combined items of a key. Their answers say that the key is present, and are corrected if it has no
 * place. */
TSR_INLINE uint32_t cpu_work_held(const tsr_ctx *c, const tsr_bulk *a, uint32_t operation, uint64_t begin,
                                  const cpu_hold *hold, const cpu_held *held) {
  const bool is_combine = operation == TSR_BULK_combine;
  tsr_item item = item_of(a, begin + held->first, 0);
  item.key = held->key;
  item.payload = held->payload;
  item.policy = is_combine ? TSR_FACT(c, duplicates) : insert_policy(c);
  work(c, a, begin + held->first, 1, is_combine ? OP_COMBINE : OP_INSERT, &item);
  /* With POLICY_LATER the pair is the first item's alone, with what others have added while it was in the table. */
  const bool gives_back = item.result == TSR_RESULT_NOT_PLACED && item.key == held->key && item.policy != POLICY_LATER;
  for (uint32_t i = held->last; gives_back && i != held->first; i = hold->before[i]) {
    item.payload = offered_at(c, a->values, begin + i, 1);
    hand_back(c, a, begin + i, &item);
    put_result(a, begin + i, 1, item.result);
  }
  if (gives_back) item.payload = offered_at(c, a->values, begin + held->first, 1);
  hand_back(c, a, begin + held->first, &item);
  put_result(a, begin + held->first, 1, item.result);
  return item.result == TSR_RESULT_INSERTED;
}

/* Holds item i back, if there is a place for it. Returns whether its key was there. */
TSR_INLINE uint32_t cpu_hold_item(const tsr_ctx *c, const tsr_bulk *a, uint32_t policy, uint64_t begin, uint64_t i,
                                  cpu_hold *hold) {
  const tsr_key key = io_key_at(a->keys, i, 1);
  cpu_held *held = walk_is_reserved(key) ? NULL : cpu_held_for(hold, key);
  if (!held) {
    hold->ones[hold->alone++] = (uint16_t)(i - begin);
    return 0;
  }
  const uint32_t follows = held->items++ != 0;
  if (follows) {
    if (policy != POLICY_LATER)
      held->payload = tsr_combine_and_tell(c, policy, held->payload, offered_at(c, a->values, i, 1));
    hold->before[i - begin] = held->last;
    put_result(a, i, 1, result_for_present(policy));
  } else {
    held->key = key;
    held->payload = offered_at(c, a->values, i, 1);
    held->first = (uint16_t)(i - begin);
  }
  held->last = (uint16_t)(i - begin);
  return follows;
}

/* Works on what is held back, and then on those that are not. */
TSR_INLINE void cpu_work_hold(const tsr_ctx *c, const tsr_bulk *a, uint32_t operation, uint64_t begin,
                              const cpu_hold *hold, tsr_tally *tally) {
  tsr_ctx still = *c;
  still.still = operation == TSR_BULK_combine;
  for (uint32_t k = 0; k < CPU_HELD; k++) {
    const cpu_held *held = &hold->held[k], *ahead = &hold->held[(k + CPU_AHEAD) % CPU_HELD];
    if (ahead->items) cpu_look_ahead(c, a, operation, begin + ahead->first);
    if (held->items) count_hits(tally, cpu_work_held(&still, a, operation, begin, hold, held));
  }
  for (uint32_t k = 0; k < hold->alone; k++) {
    if (k + CPU_AHEAD < hold->alone) cpu_look_ahead(c, a, operation, begin + hold->ones[k + CPU_AHEAD]);
    const uint64_t i = begin + hold->ones[k];
    count_hits(tally, operation == TSR_BULK_combine ? bulk_combine(c, a, i, 1) : bulk_insert(c, a, i, 1));
  }
}

/* Works on a span's items so, where they are many. Returns the item that is worked on next as ever:
 * the first one, or, where hardly a key repeats, the first that was not judged. */
TSR_INLINE uint64_t cpu_work_holding(const tsr_ctx *c, const tsr_bulk *a, uint32_t operation, uint64_t begin,
                                     uint64_t end, tsr_tally *tally) {
  const bool is_combine = operation == TSR_BULK_combine;
  const uint32_t policy = is_combine ? TSR_FACT(c, duplicates) : insert_policy(c);
  const uint64_t judged = (end - begin) / CPU_JUDGED;
  if (judged < CPU_LEAST) return begin;
  cpu_hold hold;
  uint64_t i = begin, repeats = 0;
  hold.alone = 0;
  for (uint32_t k = 0; k < CPU_HELD; k++) hold.held[k].items = 0;
  for (; i < end; i++) {
    if (!is_combine && i - begin == judged && repeats * CPU_SHARE < judged) break;
    if (!is_combine || waits_to_combine(a, i, 1, TSR_AS_IT_CAME))
      repeats += cpu_hold_item(c, a, policy, begin, i, &hold);
  }
  cpu_work_hold(c, a, operation, begin, &hold, tally);
  return i;
}

/* ---- Ranges ---------------------------------------------------------------------------------- */

/* The ways in which operations of a table go. They are no functions, because a compiler that reads a constant condition
 * drops at once what hangs on it. What hangs on an argument it first puts into each function on the way and optimises
 * there, which took it two thirds of its time (core/design/0013-cpu-fused.md). Items overlap where none needs more than
 * its key and payload; probes are counted of one key at a time. */
#define CPU_MAY_OVERLAP(c) (!TSR_FACT(c, statistics) && !TSR_FACT(c, is_filter) && !HAS_VALUE_LISTS(c))
#define CPU_RINGS_FINDS(c, operation)                                                                                  \
  (((operation) == TSR_BULK_find || (operation) == TSR_BULK_contains) && CPU_MAY_OVERLAP(c))
#define CPU_RINGS_PLACES(c, operation)                                                                                 \
  ((operation) == TSR_BULK_insert && CPU_MAY_OVERLAP(c) && TSR_FACT(c, places_first))
#define CPU_RINGS_STEPS(c, operation)                                                                                  \
  ((operation) == TSR_BULK_insert && CPU_MAY_OVERLAP(c) && !TSR_FACT(c, places_first) && BEGINS_WITH_STEPS(c) &&       \
   !TSR_POLICY_COMBINES(TSR_FACT(c, duplicates)))
#define CPU_HOLDS(c, operation)                                                                                        \
  (((operation) == TSR_BULK_insert || (operation) == TSR_BULK_combine) && CPU_MAY_OVERLAP(c) &&                        \
   TSR_POLICY_COMBINES(TSR_FACT(c, duplicates)))
/* Inserts that go in a ring have code of their own for a thread that is alone: a compare-and-swap is a fifth of them. A
 * compiler needs as long for it again. */
#define CPU_HAS_ALONE(c, operation)                                                                                    \
  ((operation) == TSR_BULK_insert && TSR_FACT(c, whole_pairs) && !TSR_FACT(c, has_link) &&                             \
   !TSR_POLICY_COMBINES(TSR_FACT(c, duplicates)))

#define CPU_RANGE(op)                                                                                                  \
  TSR_INLINE void batch_##op(const void *cpu, const tsr_bulk *bulk, uint32_t alone, uint64_t begin, uint64_t to,       \
                             tsr_tally *tally) {                                                                       \
    uint32_t histogram[TSR_HISTOGRAM_BINS] = {0};                                                                      \
    tsr_scratch scratch = {.histogram = histogram};                                                                    \
    const tsr_ctx c = cpu_context(cpu, bulk, alone, &scratch);                                                         \
    if (CPU_RINGS_FINDS(&c, TSR_BULK_##op))                                                                            \
      count_hits(tally, cpu_find_all(&c, bulk, TSR_BULK_##op == TSR_BULK_find ? OP_FIND : OP_CONTAINS, begin, to));    \
    else if (CPU_RINGS_PLACES(&c, TSR_BULK_##op))                                                                      \
      count_hits(tally, cpu_walk_all(&c, bulk, OP_PLACE, begin, to));                                                  \
    else if (CPU_RINGS_STEPS(&c, TSR_BULK_##op))                                                                       \
      count_hits(tally, cpu_walk_all(&c, bulk, OP_INSERT, begin, to));                                                 \
    else                                                                                                               \
      for (uint64_t i = begin, end; i < to;) {                                                                         \
        end = CPU_HOLDS(&c, TSR_BULK_##op) && to - i > CPU_SPAN ? i + CPU_SPAN : to;                                   \
        if (CPU_HOLDS(&c, TSR_BULK_##op)) i = cpu_work_holding(&c, bulk, TSR_BULK_##op, i, end, tally);                \
        for (; i < end; i++) {                                                                                         \
          if (bulk->keys && i + CPU_AHEAD < to) cpu_look_ahead(&c, bulk, TSR_BULK_##op, i + CPU_AHEAD);                \
          CPU_COUNT(tally, bulk_##op(&c, bulk, i, 1));                                                                 \
        }                                                                                                              \
      }                                                                                                                \
    cpu_tally(tally, &scratch);                                                                                        \
  }                                                                                                                    \
  static void range_##op(const void *cpu, const tsr_bulk *given, uint32_t alone, uint64_t begin, uint64_t end,         \
                         tsr_tally *tally) {                                                                           \
    const tsr_bulk own = *given; /* a compiler knows that nobody changes it */                                         \
    const tsr_ctx c = cpu_context(cpu, &own, alone, NULL);                                                             \
    for (uint64_t from = begin, to; from < end; from = to) {                                                           \
      to = end - from > CPU_BATCH ? from + CPU_BATCH : end;                                                            \
      if (CPU_HAS_ALONE(&c, TSR_BULK_##op) && alone)                                                                   \
        batch_##op(cpu, &own, 1, from, to, tally);                                                                     \
      else                                                                                                             \
        batch_##op(cpu, &own, 0, from, to, tally);                                                                     \
    }                                                                                                                  \
  }

#endif

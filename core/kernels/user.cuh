/* SPDX-License-Identifier: Apache-2.0
 *
 * What a user's kernel (../tessera.cuh) may call, for one table of its link: each function takes one item of every lane
 * and works through them in the tile's queue, as the bulk operations do. It is compiled once for each table, of its
 * widths, under the table's name and number: USER_finds(counts, 0). The kernel itself is another unit, which knows no
 * width; linking makes one of all (core/design/0017-user-kernels.md).
 */
#ifndef TSR_USER_CUH
#define TSR_USER_CUH

#include "core/kernels/ops.cuh"

#ifdef __CUDACC__
#define USER_FUNCTION extern "C" __device__ __attribute__((always_inline))
#else
#define USER_FUNCTION __attribute__((visibility("hidden")))
#endif

/* What a tsr_table_ref is: on the device it lies in the kernel's parameters. */
typedef struct user_table {
  tsr_state state;
  tsr_tally *tally;
} user_table;

/* Where a lane has come in its key's values: tsr_values of ../tessera.cuh. */
typedef struct user_values {
  uint64_t key, ref, word[2];
  uint32_t visited, stashed, page;
  uint32_t passed; /* slots of this bucket whose values were given */
  uint32_t walks, bucket;
} user_values;

/* This thread as a lane of the table's tiles. A kernel keeps no statistics, so that the scratch is never used. */
TSR_INLINE tsr_ctx user_context(const void *table, uint32_t number, tsr_scratch *scratch) {
#ifdef __CUDACC__
  tsr_ctx c = {&((const user_table *)table)->state, number, 0, 0, 1, scratch, 0};
  const uint32_t lanes = TSR_FACT(&c, tile_lanes), warp_lane = threadIdx.x & 31u;
  c.lane = warp_lane & (lanes - 1u);
  c.base = warp_lane & ~(lanes - 1u);
#else
  const user_table *const *at = (const user_table *const *)table;
  const tsr_ctx c = {.t = &(*at)->state, .table = number, .active = 1, .scratch = scratch};
#endif
  return c;
}

TSR_INLINE tsr_tally *user_tally(const void *table) {
#ifdef __CUDACC__
  return ((const user_table *)table)->tally;
#else
  return (*(const user_table *const *)table)->tally;
#endif
}

TSR_INLINE tsr_item user_item(tsr_key key, tsr_payload payload, uint32_t policy) {
  tsr_item item;
  item.key = key;
  item.payload = payload;
  item.policy = policy;
  item.mixes = item.any_payload = 0;
  item.result = TSR_RESULT_NONE;
  item.pairs = item.at = item.end = 0;
  item.payloads = 0;
  item.missing = 0;
  item.times = 0;
  item.i = 0;
  return item;
}

/* ---- Finds ----------------------------------------------------------------------------------- */

TSR_INLINE uint32_t user_find(const tsr_ctx *c, uint32_t mine, tsr_key key, uint64_t *value) {
  tsr_item item = user_item(key, 0, 0);
  run(c, &item, passes_filter(c, &item, mine), OP_FIND, 0, 0);
  const uint32_t found = mine && item.result == TSR_RESULT_FOUND;
  if (found) *value = item.payload;
  return found;
}

TSR_INLINE uint32_t user_contains(const tsr_ctx *c, uint32_t mine, tsr_key key) {
  tsr_item item = user_item(key, 0, 0);
  look_up(c, &item, mine, OP_CONTAINS);
  return mine && item.result == TSR_RESULT_FOUND;
}

TSR_INLINE uint64_t user_count(const tsr_ctx *c, uint32_t mine, tsr_key key) {
  tsr_item item = user_item(key, 0, 0);
  run(c, &item, passes_filter(c, &item, mine), OP_COUNT, 0, 0);
  return mine ? item.pairs : 0;
}

/* ---- The values of a key --------------------------------------------------------------------- */

TSR_INLINE void user_values_begin(const tsr_ctx *c, uint32_t mine, tsr_key key, user_values *v) {
  tsr_probe probe;
  const tsr_item item = user_item(key, 0, 0);
  v->walks = walk_begin(c, key, &probe) && passes_filter(c, &item, mine);
  v->key = key;
  v->ref = probe.ref;
  v->word[0] = probe.word[0];
  v->word[1] = probe.word[1];
  v->visited = probe.visited;
  v->stashed = probe.stashed;
  v->page = probe.page;
  v->passed = v->bucket = 0;
}

/* The next value of each lane's key. A tile looks for one lane after another, until each has a value or none is left:
 * the bucket is loaded anew for each value, from a cache, for a lane of a tile cannot keep those of all its lanes. */
TSR_INLINE uint32_t user_values_next(const tsr_ctx *c, user_values *v, uint64_t *value) {
  uint32_t todo = tsr_ballot(c, v->walks), found = 0;
  TSR_NO_UNROLL
  while (tsr_warp_any(c, todo)) {
    const uint32_t turn = todo ? tsr_lowest(todo) : 0, works = todo != 0, is_turn = c->lane == turn && works;
    tsr_ctx working = tsr_masked(c, works);
    tsr_bucket b;
    tsr_op op;
    op.key = tsr_shuffle_key(c, (tsr_key)v->key, turn);
    op.probe.ref = tsr_shuffle64(c, v->ref, turn);
    op.probe.word[0] = tsr_shuffle64(c, v->word[0], turn);
    op.probe.word[1] = tsr_shuffle64(c, v->word[1], turn);
    op.probe.visited = tsr_shuffle32(c, v->visited, turn);
    op.probe.stashed = tsr_shuffle32(c, v->stashed, turn);
    op.probe.page = tsr_shuffle32(c, v->page, turn);
    const uint32_t passed = tsr_shuffle32(c, v->passed, turn);
    op.walking = works;
    layout_load(&working, op.probe.ref, works, op_load_mode(c, OP_COUNT, 0), &b);
    const tsr_view seen = look(&working, &op, OP_COUNT, &b);
    const uint32_t left = seen.matches & ~passed, is_there = left != 0, slot = is_there ? tsr_lowest(left) : 0;
    const tsr_payload payload = layout_payload(&working, &b, slot);
    const uint32_t ends = walk_ends_here(&working, &op, OP_COUNT, &seen, &b);
    const uint32_t stops = is_there && TSR_FACT(c, duplicates) != TSR_DUPLICATES_KEEP;
    const uint32_t goes =
        walk_advance(&working, op.key, &op.probe, walk_link(&working, &b), works && !is_there && !ends);
    if (is_turn) {
      if (is_there) *value = payload;
      found = is_there;
      v->passed = is_there ? passed | 1u << slot : 0;
      v->ref = op.probe.ref;
      v->word[0] = op.probe.word[0];
      v->word[1] = op.probe.word[1];
      v->visited = op.probe.visited;
      v->stashed = op.probe.stashed;
      v->walks = is_there ? !stops : goes;
    }
    const uint32_t done = works && (is_there || !goes);
    todo = done ? todo & (todo - 1u) : todo;
  }
  return found;
}

/* ---- All pairs ------------------------------------------------------------------------------- */

/* The next slot of the bucket that is each lane's item (bulk_scanned), and whether it holds a pair. All lanes pass through
 * all slots, because the loop is a user's, and ptxas has to see that its lanes make the same turns (core/design/0008). */
TSR_INLINE uint32_t user_pairs_next(const tsr_ctx *c, user_values *v, uint64_t *key, uint64_t *value,
                                    uint32_t *is_there) {
  const uint32_t slot = v->passed++, todo = tsr_ballot(c, v->walks);
  *is_there = 0;
  if (slot >= TSR_FACT(c, bucket_slots)) return 0;
  TSR_NO_UNROLL
  for (uint32_t turn = 0; turn < TSR_FACT(c, tile_lanes); turn++) {
    const uint32_t works = todo >> turn & 1u;
    const uint64_t ref = tsr_shuffle64(c, v->ref, turn);
    tsr_bucket b;
    layout_load(c, ref, works, tsr_load_mode(c, 0), &b);
    const uint32_t vacant = layout_vacant(c, &b) >> slot & 1u;
    const tsr_key seen = walk_user_key(c, ref, layout_key(c, &b, slot));
    const tsr_payload payload = layout_payload(c, &b, slot);
    const uint32_t gives = works && !vacant && c->lane == turn; /* selects: a branch hides that lanes meet */
    *is_there = gives ? 1u : *is_there;
    *key = gives ? seen : *key;
    *value = gives ? payload : *value;
  }
  return 1;
}

/* ---- Inserts --------------------------------------------------------------------------------- */

/* Where pairs move, and a policy combines payloads, a bulk insert leaves that to a second pass. Here there is none, so
 * each insert holds its key's lock. */
TSR_INLINE void user_insert_locked(const tsr_ctx *c, tsr_item *own, uint32_t mine) {
  own->result = mine ? (uint32_t)NEEDS_LOCK : (uint32_t)TSR_RESULT_NONE;
  TSR_NO_UNROLL
  do {
    run(c, own, own->result == NEEDS_LOCK || own->result == NEEDS_COHERENT, OP_INSERT_LOCKED, 1, 0);
  } while (LOOKS_AGAIN(c) && tsr_warp_any(c, own->result == NEEDS_COHERENT));
}

/* Inserts the lanes' pairs; what is handed back is in *key and *payload. Items of one key are combined in the warp
 * before memory is touched, where a policy combines. */
TSR_INLINE uint32_t user_insert(const tsr_ctx *c, tsr_tally *tally, uint32_t mine, uint32_t policy, tsr_key *key,
                                tsr_payload *payload) {
  tsr_item item = user_item(*key, *payload, policy);
  filter_mark(c, *key, mine);
  const uint32_t leader = MERGES(c, policy) ? merge_payloads(&item, mine) : merge_lane();
  const uint32_t works = mine && leader == merge_lane();
  if (TSR_FACT(c, combines_later) && policy != POLICY_FIND_OR_INSERT)
    user_insert_locked(c, &item, works);
  else
    insert(c, &item, works);
  if (item.result == TSR_RESULT_MISSING) item.result = TSR_RESULT_NOT_PLACED;
  if (MERGES(c, policy) && merge_results(&item, *key, leader)) item.payload = *payload;
  if (!mine) return 0;
  if (item.result == TSR_RESULT_NOT_PLACED) {
    IO_ADD(&tally->not_placed, 1);
    *key = item.key;
    *payload = item.payload;
  } else if (policy == POLICY_FIND_OR_INSERT && item.result == TSR_RESULT_FOUND) {
    *payload = item.payload;
  }
  return item.result;
}

/* ---- Erases ---------------------------------------------------------------------------------- */

TSR_INLINE uint64_t user_erase(const tsr_ctx *c, uint32_t mine, tsr_key key) {
  tsr_item item = user_item(key, 0, 0);
  item.any_payload = 1;
  run(c, &item, passes_filter(c, &item, mine), OP_ERASE, !TSR_FACT(c, first_look_cached), 0);
  if (TSR_FACT(c, first_look_cached) && item.result == NEEDS_COHERENT) run(c, &item, 1, OP_ERASE, 1, 1);
  return mine ? item.pairs : 0;
}

/* ---- Under a table's name -------------------------------------------------------------------- */

#define USER_CONTEXT(number)                                                                                           \
  tsr_scratch scratch;                                                                                                 \
  const tsr_ctx c = user_context(t, number, &scratch);

#define USER_finds(name, number)                                                                                       \
  USER_FUNCTION uint32_t tsr_find_in_##name(const void *t, uint32_t mine, uint64_t key, uint64_t *value) {             \
    USER_CONTEXT(number)                                                                                               \
    return user_find(&c, mine, (tsr_key)key, value);                                                                   \
  }                                                                                                                    \
  USER_FUNCTION uint32_t tsr_contains_in_##name(const void *t, uint32_t mine, uint64_t key) {                          \
    USER_CONTEXT(number)                                                                                               \
    return user_contains(&c, mine, (tsr_key)key);                                                                      \
  }                                                                                                                    \
  USER_FUNCTION uint64_t tsr_count_in_##name(const void *t, uint32_t mine, uint64_t key) {                             \
    USER_CONTEXT(number)                                                                                               \
    return user_count(&c, mine, (tsr_key)key);                                                                         \
  }                                                                                                                    \
  USER_FUNCTION void tsr_values_in_##name(const void *t, uint32_t mine, uint64_t key, user_values *values) {           \
    USER_CONTEXT(number)                                                                                               \
    user_values_begin(&c, mine, (tsr_key)key, values);                                                                 \
  }                                                                                                                    \
  USER_FUNCTION uint32_t tsr_next_value_in_##name(const void *t, user_values *values, uint64_t *value) {               \
    USER_CONTEXT(number)                                                                                               \
    return user_values_next(&c, values, value);                                                                        \
  }

/* Of a filter, which has no more. */
#define USER_asks(name, number)                                                                                        \
  USER_FUNCTION uint32_t tsr_contains_in_##name(const void *t, uint32_t mine, uint64_t key) {                          \
    USER_CONTEXT(number)                                                                                               \
    return user_contains(&c, mine, (tsr_key)key);                                                                      \
  }

#define USER_scans(name, number)                                                                                       \
  USER_FUNCTION void tsr_pairs_in_##name(const void *t, uint32_t mine, uint64_t item, user_values *values) {           \
    USER_CONTEXT(number)                                                                                               \
    values->passed = 0;                                                                                                \
    values->walks = bulk_scanned(&c, item, mine, &values->ref);                                                        \
  }                                                                                                                    \
  USER_FUNCTION uint32_t tsr_next_pair_in_##name(const void *t, user_values *values, uint64_t *key, uint64_t *value,   \
                                                 uint32_t *is_there) {                                                 \
    USER_CONTEXT(number)                                                                                               \
    return user_pairs_next(&c, values, key, value, is_there);                                                          \
  }

#define USER_inserts(name, number)                                                                                     \
  USER_FUNCTION uint32_t tsr_insert_pair_in_##name(const void *t, uint32_t mine, uint64_t *key, uint64_t *value) {     \
    USER_CONTEXT(number)                                                                                               \
    tsr_key k = (tsr_key)*key;                                                                                         \
    tsr_payload p = offered(&c, (tsr_payload)*value);                                                                  \
    const uint32_t result = user_insert(&c, user_tally(t), mine, TSR_FACT(&c, duplicates), &k, &p);                    \
    if (result == TSR_RESULT_NOT_PLACED) {                                                                             \
      *key = k;                                                                                                        \
      *value = p;                                                                                                      \
    }                                                                                                                  \
    return result;                                                                                                     \
  }                                                                                                                    \
  USER_FUNCTION uint32_t tsr_insert_in_##name(const void *t, uint32_t mine, uint64_t key, uint64_t value) {            \
    return tsr_insert_pair_in_##name(t, mine, &key, &value);                                                           \
  }

/* Only where a value is there as soon as its key is, and keys are looked up. */
#define USER_looks_up(name, number)                                                                                    \
  USER_FUNCTION uint32_t tsr_find_or_insert_in_##name(const void *t, uint32_t mine, uint64_t key, uint64_t *value) {   \
    USER_CONTEXT(number)                                                                                               \
    tsr_key k = (tsr_key)key;                                                                                          \
    tsr_payload p = (tsr_payload)*value;                                                                               \
    const uint32_t result = user_insert(&c, user_tally(t), mine, POLICY_FIND_OR_INSERT, &k, &p);                       \
    if (result == TSR_RESULT_FOUND) *value = p;                                                                        \
    return result;                                                                                                     \
  }

#define USER_erases(name, number)                                                                                      \
  USER_FUNCTION uint64_t tsr_erase_in_##name(const void *t, uint32_t mine, uint64_t key) {                             \
    USER_CONTEXT(number)                                                                                               \
    return user_erase(&c, mine, (tsr_key)key);                                                                         \
  }

#endif

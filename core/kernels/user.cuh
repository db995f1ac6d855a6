/* SPDX-License-Identifier: Apache-2.0
 *
 * What a user's kernel (../tessera.cuh) may call, for one table of its link. Each function takes one item of every
 * lane and works through them in the tile's queue, as the bulk operations do. It is compiled once for each table, with
 * its widths, under the table's name and number: USER_erases(counts, 0). The kernel itself is another unit, which
 * knows no width; linking makes one of all (core/design/0017-user-kernels.md).
 */
#ifndef TSR_USER_CUH
#define TSR_USER_CUH

#include "core/kernels/ops.cuh"

#ifdef __CUDACC__
#define USER_FUNCTION extern "C" __device__ __attribute__((always_inline))
#else
#define USER_FUNCTION __attribute__((visibility("hidden")))
#endif

/* The rows of a table with value_bytes, and which belong to a pair; all zero if there are none. */
typedef struct user_rows {
  char *rows;
  uint32_t *taken;   /* a bit for each row: it is a pair's, or will be */
  uint32_t *written; /* a bit for each row: a thread writes it (duplicates = replace) */
  uint64_t words;    /* of either */
} user_rows;

/* Which numbers of an index are free (tsr_free_numbers of numbering.h). The list of those that came back follows it. */
typedef struct user_numbers {
  uint64_t given, spares;
} user_numbers;

/* What a tsr_table_ref is: on the device it is in the kernel's parameters. */
typedef struct user_table {
  tsr_state state;
  tsr_tally *tally;
  user_rows rows;
  user_numbers *numbers; /* NULL: the table is no index */
} user_table;

/* How far a lane has come in its key's values: tsr_values of ../tessera.cuh. */
typedef struct user_values {
  uint64_t key, ref, word[2];
  uint32_t visited, stashed, page;
  uint32_t passed; /* slots of this bucket whose values were given */
  uint32_t walks, bucket;
  uint64_t upper; /* of a key of 128 bits */
} user_values;

/* A key in a kernel. */
#if TSR_KEY_BITS == 128
typedef tsr_key user_key;
#else
typedef uint64_t user_key;
#endif

TSR_INLINE void user_values_put_key(user_values *v, tsr_key key) {
  v->key = (uint64_t)key;
#if TSR_KEY_BITS == 128
  v->upper = (uint64_t)(key >> 64);
#endif
}

TSR_INLINE tsr_key user_values_key(const user_values *v) {
#if TSR_KEY_BITS == 128
  return (tsr_key)v->upper << 64 | v->key;
#else
  return (tsr_key)v->key;
#endif
}

TSR_INLINE const user_table *user_table_of(const void *table) {
#ifdef __CUDACC__
  return (const user_table *)table;
#else
  return *(const user_table *const *)table;
#endif
}

TSR_INLINE tsr_tally *user_tally(const void *table) { return user_table_of(table)->tally; }

/* This thread as a lane of the table's tiles. A kernel keeps no statistics, so the scratch is used only for sums that
 * overflow. */
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
  scratch->overflows = 0;
  return c;
}

/* Adds this thread's sums that passed the largest value to the table's count. Relaxed: a count orders nothing. */
TSR_INLINE void user_tell_overflows(const tsr_ctx *c, tsr_tally *tally) {
  if (!TSR_FACT(c, tells_overflow) || !c->scratch->overflows) return;
#ifdef __CUDACC__
  atomicAdd((unsigned long long *)&tally->overflows, (unsigned long long)c->scratch->overflows);
#else
  __atomic_fetch_add(&tally->overflows, c->scratch->overflows, __ATOMIC_RELAXED);
#endif
}

/* What a kernel sees as a value: with value_bytes the address of the row whose number is in the slot. */
TSR_INLINE uint64_t user_value(const void *table, uint32_t row_bytes, uint64_t payload) {
  return row_bytes ? (uint64_t)(user_table_of(table)->rows.rows + payload * row_bytes) : payload;
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
  user_values_put_key(v, key);
  v->ref = probe.ref;
  v->word[0] = probe.word[0];
  v->word[1] = probe.word[1];
  v->visited = probe.visited;
  v->stashed = probe.stashed;
  v->page = probe.page;
  v->passed = v->bucket = 0;
}

/* The next value of each lane's key. A tile looks for one lane after another, until each has a value or none is
 * left. The bucket is loaded again for each value, from a cache, because a lane of a tile cannot keep those of all
 * its lanes. */
TSR_INLINE uint32_t user_values_next(const tsr_ctx *c, user_values *v, uint64_t *value) {
  uint32_t todo = tsr_ballot(c, v->walks), found = 0;
  TSR_NO_UNROLL
  while (tsr_warp_any(c, todo)) {
    const uint32_t turn = todo ? tsr_lowest(todo) : 0, works = todo != 0, is_turn = c->lane == turn && works;
    tsr_ctx working = tsr_masked(c, works);
    tsr_bucket b;
    tsr_op op;
    op.key = tsr_shuffle_key(c, user_values_key(v), turn);
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

/* The next slot of the bucket that is each lane's item (bulk_scanned), and whether it holds a pair. All lanes pass
 * through all slots: the loop is a user's, and ptxas has to see that its lanes make the same turns
 * (core/design/0008). */
TSR_INLINE uint32_t user_pairs_next(const tsr_ctx *c, user_values *v, user_key *key, uint64_t *value,
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
    const tsr_key seen = walk_user_key(c, ref, slot, layout_key(c, &b, slot));
    const tsr_payload payload = layout_payload(c, &b, slot);
    const uint32_t gives = works && !vacant && c->lane == turn; /* selects: a branch hides that lanes meet */
    *is_there = gives ? 1u : *is_there;
    *key = gives ? seen : *key;
    *value = gives ? payload : *value;
  }
  return 1;
}

/* ---- Inserts --------------------------------------------------------------------------------- */

/* Where pairs move and a policy combines payloads, a bulk insert leaves combining to a second pass. A kernel has none,
 * so each such insert holds its key's lock. */
TSR_INLINE void user_insert_locked(const tsr_ctx *c, tsr_item *own, uint32_t mine) {
  own->result = mine ? (uint32_t)NEEDS_LOCK : (uint32_t)TSR_RESULT_NONE;
  TSR_NO_UNROLL
  do {
    run(c, own, own->result == NEEDS_LOCK || own->result == NEEDS_COHERENT, OP_INSERT_LOCKED, 1, 0);
  } while (LOOKS_AGAIN(c) && tsr_warp_any(c, own->result == NEEDS_COHERENT));
}

/* Inserts the lanes' pairs; what is handed back is in *key and *payload. Items of one key are combined in the warp
 * before memory is touched, if a policy combines. */
TSR_INLINE uint32_t user_insert(const tsr_ctx *c, tsr_tally *tally, uint32_t mine, uint32_t policy, tsr_key *key,
                                tsr_payload *payload) {
  tsr_item item = user_item(*key, *payload, policy);
  filter_mark(c, *key, mine);
  const uint32_t leader = MERGES(c, policy) ? merge_payloads(c, &item, mine) : merge_lane();
  const uint32_t works = mine && leader == merge_lane();
  if (TSR_FACT(c, combines_later) && policy != POLICY_FIND_OR_INSERT)
    user_insert_locked(c, &item, works);
  else
    insert(c, &item, works);
  if (item.result == TSR_RESULT_MISSING) item.result = TSR_RESULT_NOT_PLACED;
  if (MERGES(c, policy))
    merge_give_back(&item, user_item(*key, *payload, policy), mine, leader, merge_results(&item, *key, leader));
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

/* ---- Inserts of rows ------------------------------------------------------------------------- */

#ifdef __CUDACC__
#define ROW_BITS(word) (*(volatile const uint32_t *)(word))
#define ROW_SET(word, bits) atomicOr(word, bits)
#define ROW_CLEAR(word, bits) atomicAnd(word, ~(bits))
#else
#define ROW_BITS(word) __atomic_load_n(word, __ATOMIC_RELAXED)
#define ROW_SET(word, bits) __atomic_fetch_or(word, bits, __ATOMIC_RELAXED)
#define ROW_CLEAR(word, bits) __atomic_fetch_and(word, ~(bits), __ATOMIC_RELAXED)
#endif

#define ROW_NONE 0xFFFFFFFFu

/* One row in nine is spare when a table is full. A second round comes if many threads hold a row that they will give
 * back, and a last one if there is really none. */
enum { ROW_TRIES = 64, ROW_ROUNDS = 256 };

TSR_INLINE uint64_t user_thread(void) {
#ifdef __CUDACC__
  return blockIdx.x * (uint64_t)TSR_BLOCK_THREADS + threadIdx.x;
#else
  return 0; /* any bit will do, if neighbours do not write the rows */
#endif
}

/* A row for each lane that is `mine`; ROW_NONE: none was found. The first look is at a bit of the lane's own, so that a
 * warp's rows are neighbours and its writes are whole lines. Then rows are looked for at random, where lanes take the
 * fewest turns at a word. Relaxed: a thread that gives a row back has not written it, so there is nothing to be seen of
 * it. */
TSR_INLINE uint32_t user_take_row(const tsr_ctx *c, const user_rows *r, uint32_t mine, uint64_t key, uint32_t round) {
  const uint64_t thread = user_thread();
  uint64_t random = (key ^ thread << 20) + round * 0x9E3779B97F4A7C15u;
  uint64_t word = (uint32_t)(thread / 32) % (uint32_t)r->words;
  uint32_t number = ROW_NONE, wanted = 1u << thread % 32;
  TSR_NO_UNROLL
  for (uint32_t turn = 0; turn < ROW_TRIES && tsr_warp_any(c, mine && number == ROW_NONE); turn++) {
    const uint32_t looks = mine && number == ROW_NONE, spare = looks ? ~ROW_BITS(&r->taken[word]) : 0;
    const uint32_t bit = spare & wanted ? wanted : spare & (0u - spare);
    if (bit && !(ROW_SET(&r->taken[word], bit) & bit)) number = (uint32_t)word * 32 + tsr_lowest(bit);
    random = random * 6364136223846793005u + 1442695040888963407u;
    word = (random >> 32) * r->words >> 32;
    wanted = 0;
  }
  return number;
}

TSR_INLINE void user_give_row_back(const user_rows *r, uint32_t number) {
  ROW_CLEAR(&r->taken[number / 32], 1u << number % 32);
}

/* Whether this thread may write the row; if another thread does, that is as if it came last. The fences order the
 * writes of the former writer before those of the next one, so that a row is never made of two values. */
TSR_INLINE uint32_t user_hold_row(const user_rows *r, uint32_t number) {
  const uint32_t bit = 1u << number % 32, is_free = !(ROW_SET(&r->written[number / 32], bit) & bit);
  tsr_fence();
  return is_free;
}

TSR_INLINE void user_leave_row(const user_rows *r, uint32_t number) {
  tsr_fence();
  ROW_CLEAR(&r->written[number / 32], 1u << number % 32);
}

/* Copies a row. Reads words of 4 bytes, because only that alignment of a value is known, and a row that the kernel has
 * made stays in registers. Writes words as long as rows allow. */
TSR_INLINE void user_write_row(const user_rows *r, uint32_t bytes, uint32_t number, uint64_t value) {
  char *to = r->rows + number * (uint64_t)bytes;
  const uint32_t *from = (const uint32_t *)value;
#ifdef __CUDACC__
  TSR_UNROLL
  for (uint32_t word = 0; bytes % 16 == 0 && word < bytes / 4; word += 4)
    ((uint4 *)to)[word / 4] = make_uint4(from[word], from[word + 1], from[word + 2], from[word + 3]);
  TSR_UNROLL
  for (uint32_t word = 0; bytes % 16 && word < bytes / 4; word++) ((uint32_t *)to)[word] = from[word];
#else
  __builtin_memcpy(to, from, bytes);
#endif
}

/* user_insert of a table with value_bytes. *value is the address of what is to be written, or of a row that is handed
 * back. Each lane offers the number of a row that it alone has, and gives the row back if the slot does not take it.
 * replaces: a present key's row is written. */
TSR_INLINE uint32_t user_insert_row(const tsr_ctx *c, const user_table *t, uint32_t bytes, uint32_t replaces,
                                    uint32_t mine, user_key *key, uint64_t *value) {
  const user_rows *r = &t->rows;
  const uint32_t policy = replaces ? (uint32_t)POLICY_FIND_OR_INSERT : TSR_FACT(c, duplicates);
  const uint64_t from = *value;
  uint32_t todo = mine, result = TSR_RESULT_NONE;
  TSR_NO_UNROLL
  for (uint32_t round = 0; round < ROW_ROUNDS && tsr_warp_any(c, todo); round++) {
    const uint32_t own = user_take_row(c, r, todo, tsr_key_word((tsr_key)*key), round);
    const uint32_t works = todo && own != ROW_NONE;
    tsr_key k = (tsr_key)*key;
    tsr_payload row = own;
    if (works && replaces) user_hold_row(r, own);
    const uint32_t did = user_insert(c, t->tally, works, policy, &k, &row);
    const uint32_t is_back = did == TSR_RESULT_NOT_PLACED,
                   is_kept = did == TSR_RESULT_INSERTED || (is_back && row != own);
    const uint32_t is_other = replaces && did == TSR_RESULT_FOUND, writes_other = is_other && user_hold_row(r, row);
    if (works && is_kept) user_write_row(r, bytes, own, from);
    if (writes_other) user_write_row(r, bytes, row, from);
    if (writes_other) user_leave_row(r, row);
    if (works && replaces) user_leave_row(r, own);
    if (works && !is_kept) user_give_row_back(r, own);
    if (is_back && is_kept) {
      *key = k;
      *value = (uint64_t)(r->rows + row * (uint64_t)bytes);
    }
    result = works ? is_other ? (uint32_t)TSR_RESULT_REPLACED : did : result;
    todo = todo && !works;
  }
  if (!todo) return result;
  IO_ADD(&t->tally->not_placed, 1);
  return TSR_RESULT_NOT_PLACED;
}

/* ---- Erases ---------------------------------------------------------------------------------- */

TSR_INLINE uint64_t user_erase(const tsr_ctx *c, uint32_t mine, tsr_key key) {
  tsr_item item = user_item(key, 0, 0);
  item.any_payload = 1;
  run(c, &item, passes_filter(c, &item, mine), OP_ERASE, !TSR_FACT(c, first_look_cached), 0);
  if (TSR_FACT(c, first_look_cached) && item.result == NEEDS_COHERENT) run(c, &item, 1, OP_ERASE, 1, 1);
  return mine ? item.pairs : 0;
}

/* ---- Numbers --------------------------------------------------------------------------------- */

/* What a new key holds until its number is known. Numbers are below it. */
#define NUMBER_IS_COMING 0x80000000u

/* With reuse = no numbers run out. More threads than this are never between their look and their number. */
#define NUMBERS_IN_HAND (1u << 25)

#ifdef __CUDACC__
#define NUMBERS_LOAD(word) (*(volatile const uint64_t *)(word))
#define NUMBERS_ADD(word, count) atomicAdd((unsigned long long *)(word), (unsigned long long)(count))
#define NUMBERS_SWAP(word, seen, to)                                                                                   \
  atomicCAS((unsigned long long *)(word), (unsigned long long)(seen), (unsigned long long)(to))
#else
#define NUMBERS_LOAD(word) __atomic_load_n(word, __ATOMIC_RELAXED)
#define NUMBERS_ADD(word, count) __atomic_fetch_add(word, count, __ATOMIC_RELAXED)
#define NUMBERS_SWAP(word, seen, to) user_swap(word, seen, to)
TSR_INLINE uint64_t user_swap(uint64_t *word, uint64_t seen, uint64_t to) {
  __atomic_compare_exchange_n(word, &seen, to, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  return seen;
}
#endif

/* Takes up to `count` numbers off the list of those that came back. Returns how many, and in *end how long the list was.
 * Relaxed: no kernel takes numbers and gives them back, so the list stays as it is. */
TSR_INLINE uint64_t user_take_spares(user_numbers *all, uint64_t count, uint64_t *end) {
  uint64_t seen = NUMBERS_LOAD(&all->spares), taken = 0;
  TSR_NO_UNROLL
  while (seen) {
    taken = seen < count ? seen : count;
    *end = NUMBERS_SWAP(&all->spares, seen, seen - taken);
    if (*end == seen) return taken;
    seen = *end;
  }
  return 0;
}

TSR_INLINE uint32_t user_number_at(const user_numbers *all, uint64_t rank, uint64_t again, uint64_t end,
                                   uint64_t given) {
  return rank < again ? ((const uint32_t *)(all + 1))[end - 1 - rank] : (uint32_t)(given + rank - again);
}

#ifdef __CUDACC__
TSR_INLINE uint32_t user_any(uint32_t condition) { return __any_sync(0xFFFFFFFFu, condition != 0) != 0; }

/* A free number for each lane that takes one: those that came back first. One lane takes them for its warp. */
TSR_INLINE uint32_t user_take_number(user_numbers *all, uint32_t takes) {
  const uint32_t lanes = __ballot_sync(0xFFFFFFFFu, takes != 0), lane = threadIdx.x & 31u;
  uint64_t again = 0, end = 0, given = 0;
  if (lane == 0 && lanes) {
    again = user_take_spares(all, __popc(lanes), &end);
    if (again < __popc(lanes)) given = NUMBERS_ADD(&all->given, __popc(lanes) - again);
  }
  again = __shfl_sync(0xFFFFFFFFu, (unsigned long long)again, 0);
  end = __shfl_sync(0xFFFFFFFFu, (unsigned long long)end, 0);
  given = __shfl_sync(0xFFFFFFFFu, (unsigned long long)given, 0);
  return takes ? user_number_at(all, __popc(lanes & ((1u << lane) - 1u)), again, end, given) : 0;
}

TSR_INLINE void user_give_number_back(user_numbers *all, uint32_t gives, uint32_t number) {
  const uint32_t lanes = __ballot_sync(0xFFFFFFFFu, gives != 0), lane = threadIdx.x & 31u;
  uint64_t at = 0;
  if (lane == 0 && lanes) at = NUMBERS_ADD(&all->spares, __popc(lanes));
  at = __shfl_sync(0xFFFFFFFFu, (unsigned long long)at, 0) + __popc(lanes & ((1u << lane) - 1u));
  if (gives) ((uint32_t *)(all + 1))[at] = number;
}
#else
TSR_INLINE uint32_t user_any(uint32_t condition) { return condition; }

TSR_INLINE uint32_t user_take_number(user_numbers *all, uint32_t takes) {
  uint64_t end = 0;
  if (!takes) return 0;
  const uint64_t again = user_take_spares(all, 1, &end);
  return user_number_at(all, 0, again, end, again ? 0 : NUMBERS_ADD(&all->given, 1));
}

TSR_INLINE void user_give_number_back(user_numbers *all, uint32_t gives, uint32_t number) {
  if (gives) ((uint32_t *)(all + 1))[NUMBERS_ADD(&all->spares, 1)] = number;
}
#endif

/* Finds or gives the number of each lane's key. A new key holds NUMBER_IS_COMING until the lane that inserted it has
 * written its number. Only lanes that found the key meanwhile wait. They wait for a thread that is running, and that waits
 * for nobody: its own warp comes to the loop below after it has written. Needs pairs that are whole and stay in their
 * slots. A find may miss a key that another thread has just inserted, so such a lane looks again. */
TSR_INLINE uint32_t user_number(const tsr_ctx *c, const user_table *t, uint32_t reuses, uint32_t mine, tsr_key key,
                                uint64_t *number) {
  const uint32_t works = mine && (reuses || NUMBERS_LOAD(&t->numbers->given) <= NUMBER_IS_COMING - NUMBERS_IN_HAND);
  tsr_key own = key;
  tsr_payload seen = NUMBER_IS_COMING;
  const uint32_t did = user_insert(c, t->tally, works, POLICY_FIND_OR_INSERT, &own, &seen);
  const uint32_t is_new = works && did == TSR_RESULT_INSERTED;
  if (mine && !works) IO_ADD(&t->tally->not_placed, 1);
  const uint32_t taken = user_take_number(t->numbers, is_new);
  if (user_any(is_new)) {
    tsr_item item = user_item(key, taken, TSR_DUPLICATES_REPLACE);
    run(c, &item, is_new, OP_COMBINE, 1, 0);
    seen = is_new ? taken : seen;
  }
  uint32_t waits = works && did == TSR_RESULT_FOUND && seen == NUMBER_IS_COMING;
  TSR_NO_UNROLL
  while (user_any(waits)) {
    tsr_item item = user_item(key, 0, 0);
    run(c, &item, waits, OP_FIND, 1, 0);
    seen = waits && item.result == TSR_RESULT_FOUND ? item.payload : seen;
    waits = waits && seen == NUMBER_IS_COMING;
  }
  if (is_new || did == TSR_RESULT_FOUND) *number = seen;
  return mine && !works ? (uint32_t)TSR_RESULT_NOT_PLACED : did;
}

/* Numbers of keys that this erases come back. Of lanes with one key a single one erases it. */
TSR_INLINE uint64_t user_erase_number(const tsr_ctx *c, const user_table *t, uint32_t reuses, uint32_t mine,
                                      tsr_key key) {
  uint64_t number = 0;
  if (reuses) user_find(c, mine, key, &number);
  const uint64_t erased = user_erase(c, mine, key);
  if (reuses) user_give_number_back(t->numbers, erased != 0, (uint32_t)number);
  return erased;
}

/* ---- Under a table's name -------------------------------------------------------------------- */

#define USER_CONTEXT(number)                                                                                           \
  tsr_scratch scratch;                                                                                                 \
  const tsr_ctx c = user_context(t, number, &scratch);

#define USER_finds(name, number, row_bytes)                                                                            \
  USER_FUNCTION uint32_t tsr_find_in_##name(const void *t, uint32_t mine, user_key key, uint64_t *value) {             \
    USER_CONTEXT(number)                                                                                               \
    const uint32_t found = user_find(&c, mine, (tsr_key)key, value);                                                   \
    if (found) *value = user_value(t, row_bytes, *value);                                                              \
    return found;                                                                                                      \
  }                                                                                                                    \
  USER_FUNCTION uint32_t tsr_contains_in_##name(const void *t, uint32_t mine, user_key key) {                          \
    USER_CONTEXT(number)                                                                                               \
    return user_contains(&c, mine, (tsr_key)key);                                                                      \
  }                                                                                                                    \
  USER_FUNCTION uint64_t tsr_count_in_##name(const void *t, uint32_t mine, user_key key) {                             \
    USER_CONTEXT(number)                                                                                               \
    return user_count(&c, mine, (tsr_key)key);                                                                         \
  }                                                                                                                    \
  USER_FUNCTION void tsr_values_in_##name(const void *t, uint32_t mine, user_key key, user_values *values) {           \
    USER_CONTEXT(number)                                                                                               \
    user_values_begin(&c, mine, (tsr_key)key, values);                                                                 \
  }                                                                                                                    \
  USER_FUNCTION uint32_t tsr_next_value_in_##name(const void *t, user_values *values, uint64_t *value) {               \
    USER_CONTEXT(number)                                                                                               \
    const uint32_t found = user_values_next(&c, values, value);                                                        \
    if (found) *value = user_value(t, row_bytes, *value);                                                              \
    return found;                                                                                                      \
  }

/* For a filter, which has no more. */
#define USER_asks(name, number)                                                                                        \
  USER_FUNCTION uint32_t tsr_contains_in_##name(const void *t, uint32_t mine, user_key key) {                          \
    USER_CONTEXT(number)                                                                                               \
    return user_contains(&c, mine, (tsr_key)key);                                                                      \
  }

#define USER_scans(name, number, row_bytes)                                                                            \
  USER_FUNCTION void tsr_pairs_in_##name(const void *t, uint32_t mine, uint64_t item, user_values *values) {           \
    USER_CONTEXT(number)                                                                                               \
    values->passed = 0;                                                                                                \
    values->walks = bulk_scanned(&c, item, mine, &values->ref);                                                        \
  }                                                                                                                    \
  USER_FUNCTION uint32_t tsr_next_pair_in_##name(const void *t, user_values *values, user_key *key, uint64_t *value,   \
                                                 uint32_t *is_there) {                                                 \
    USER_CONTEXT(number)                                                                                               \
    const uint32_t goes_on = user_pairs_next(&c, values, key, value, is_there);                                        \
    *value = *is_there ? user_value(t, row_bytes, *value) : *value;                                                    \
    return goes_on;                                                                                                    \
  }

#define USER_inserts(name, number)                                                                                     \
  USER_FUNCTION uint32_t tsr_insert_pair_in_##name(const void *t, uint32_t mine, user_key *key, uint64_t *value) {     \
    USER_CONTEXT(number)                                                                                               \
    tsr_key k = (tsr_key)*key;                                                                                         \
    tsr_payload p = offered(&c, (tsr_payload)*value);                                                                  \
    if (mine && p != (tsr_payload)*value) c.scratch->overflows++; /* a count of 8 or 16 bits alone */                  \
    const uint32_t result = user_insert(&c, user_tally(t), mine, TSR_FACT(&c, duplicates), &k, &p);                    \
    user_tell_overflows(&c, user_tally(t));                                                                            \
    if (result == TSR_RESULT_NOT_PLACED) {                                                                             \
      *key = k;                                                                                                        \
      *value = p;                                                                                                      \
    }                                                                                                                  \
    return result;                                                                                                     \
  }                                                                                                                    \
  USER_FUNCTION uint32_t tsr_insert_in_##name(const void *t, uint32_t mine, user_key key, uint64_t value) {            \
    return tsr_insert_pair_in_##name(t, mine, &key, &value);                                                           \
  }

#define USER_inserts_rows(name, number, row_bytes, replaces)                                                           \
  USER_FUNCTION uint32_t tsr_insert_pair_in_##name(const void *t, uint32_t mine, user_key *key, uint64_t *value) {     \
    USER_CONTEXT(number)                                                                                               \
    return user_insert_row(&c, user_table_of(t), row_bytes, replaces, mine, key, value);                               \
  }                                                                                                                    \
  USER_FUNCTION uint32_t tsr_insert_in_##name(const void *t, uint32_t mine, user_key key, uint64_t value) {            \
    return tsr_insert_pair_in_##name(t, mine, &key, &value);                                                           \
  }

/* Only if a value is there as soon as its key is, and keys are looked up. */
#define USER_looks_up(name, number)                                                                                    \
  USER_FUNCTION uint32_t tsr_find_or_insert_in_##name(const void *t, uint32_t mine, user_key key, uint64_t *value) {   \
    USER_CONTEXT(number)                                                                                               \
    tsr_key k = (tsr_key)key;                                                                                          \
    tsr_payload p = (tsr_payload)*value;                                                                               \
    const uint32_t result = user_insert(&c, user_tally(t), mine, POLICY_FIND_OR_INSERT, &k, &p);                       \
    if (result == TSR_RESULT_FOUND) *value = p;                                                                        \
    return result;                                                                                                     \
  }

/* Of an index, in the place of USER_inserts and USER_erases. */
#define USER_numbers(name, number, reuses)                                                                             \
  USER_FUNCTION uint32_t tsr_number_in_##name(const void *t, uint32_t mine, user_key key, uint64_t *value) {           \
    USER_CONTEXT(number)                                                                                               \
    return user_number(&c, user_table_of(t), reuses, mine, (tsr_key)key, value);                                       \
  }

/* With value_bytes. */
#define USER_rows(name, row_bytes)                                                                                     \
  USER_FUNCTION void *tsr_row_in_##name(const void *t, uint64_t number) {                                              \
    return user_table_of(t)->rows.rows + number * row_bytes;                                                           \
  }

#define USER_erases_numbers(name, number, reuses)                                                                      \
  USER_FUNCTION uint64_t tsr_erase_in_##name(const void *t, uint32_t mine, user_key key) {                             \
    USER_CONTEXT(number)                                                                                               \
    return user_erase_number(&c, user_table_of(t), reuses, mine, (tsr_key)key);                                        \
  }

#define USER_erases(name, number)                                                                                      \
  USER_FUNCTION uint64_t tsr_erase_in_##name(const void *t, uint32_t mine, user_key key) {                             \
    USER_CONTEXT(number)                                                                                               \
    return user_erase(&c, mine, (tsr_key)key);                                                                         \
  }

#endif

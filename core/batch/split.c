/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps of split.h as data, and what the CPU does other than item by item.
 */
#include "core/batch/split.h"

#include <string.h>

#include "core/batch/runs_cpu.h"
#include "core/batch/set.cuh"

/* ---- The memory of a block ------------------------------------------------------------------- */

/* Items of at most a word are put in order there; of larger ones their numbers. */
static uint32_t room_bytes(uint32_t item_bytes) {
  return TSR_RUNS_TILE * (item_bytes > sizeof(uint64_t) ? (uint32_t)sizeof(uint32_t) : item_bytes);
}

static void fit_question(const tsr_shape *table, const void *argument, tsr_grid *grid) {
  const tsr_split *s = argument;
  (void)table;
  for (uint32_t c = 0; c < TSR_SPLIT_COLUMNS; c++)
    if (s->items[c] && grid->shared_bytes < room_bytes(s->bytes[c])) grid->shared_bytes = room_bytes(s->bytes[c]);
}

static void fit_answer(const tsr_shape *table, const void *argument, tsr_grid *grid) {
  (void)table;
  grid->shared_bytes = room_bytes(((const tsr_split *)argument)->answers.column_bytes);
}

static void fit_fold(const tsr_shape *table, const void *argument, tsr_grid *grid) {
  const tsr_split *s = argument;
  const uint32_t value_bytes = s->bytes[TSR_SPLIT_VALUES] == 8 ? 8 : 4;
  (void)table;
  grid->shared_bytes = TSR_FOLD_ROOM * (s->bytes[TSR_SPLIT_KEYS] + value_bytes + (uint32_t)sizeof(uint32_t));
}

/* ---- Tiles ----------------------------------------------------------------------------------- */

static bool has_b128(const tsr_split *s) { return s->bytes[TSR_SPLIT_KEYS] == sizeof(tsr_split_b128); }

/* What decides about item i's bin: its key, or a word of a longer key. */
static uint64_t word_of(const tsr_split *s, uint64_t i) {
  if (!has_b128(s)) return tsr_split_key(s, i);
  const tsr_split_b128 key = tsr_split_b128_key(s->items[TSR_SPLIT_KEYS], i);
  return tsr_split_b128_word(key.lower, key.upper);
}

/* Relaxed: the sums are read after the team has joined. */
static void bins_item(const tsr_split *s, uint64_t i) {
  __atomic_fetch_add(&s->bins[tsr_split_bin(word_of(s, i), s->seed)], 1, __ATOMIC_RELAXED);
}

static void shards_of(const void *split, uint64_t begin, uint64_t end, uint32_t *shards) {
  for (uint64_t i = begin; i < end; i++) shards[i - begin] = tsr_split_shard(split, word_of(split, i));
}

static void count_item(const tsr_split *s, uint64_t tile) { tsr_runs_count(&s->runs, tile, shards_of, s); }

/* A span as a thread folds it: by the hash of a key, the first of its items. */
typedef struct span {
  uint64_t begin, items;
  uint16_t first_at[2 * TSR_FOLD_SPAN]; /* ... and one more, so that 0 is a free place */
  uint16_t number[TSR_FOLD_SPAN];       /* of each item that is a first one: what was made of it */
} span;
_Static_assert(TSR_FOLD_SPAN < UINT16_MAX, "the number of an item in its span has 16 bits");

/* The first item of the span that has item i's key: i itself, which is noted, if there is none before. */
static uint64_t first_of(const tsr_split *s, span *own, uint64_t i) {
  const void *keys = s->items[TSR_SPLIT_KEYS];
  uint32_t at = set_home(set_hash(word_of(s, i)), 2 * TSR_FOLD_SPAN);
  for (; own->first_at[at]; at = (at + 1) % (2 * TSR_FOLD_SPAN)) {
    const uint64_t first = own->begin + own->first_at[at] - 1;
    if (has_b128(s) ? tsr_split_b128_is(s, keys, first, i) : tsr_split_key(s, first) == tsr_split_key(s, i))
      return first;
  }
  own->first_at[at] = (uint16_t)(i - own->begin + 1);
  return i;
}

static void make_item(const tsr_split *s, uint64_t at, uint64_t i, uint32_t *overflows) {
  const tsr_fold *f = &s->fold;
  if (!f->keys) return;
  *overflows += tsr_split_passes(s, i);
  tsr_split_put(f->keys, at, s->items[TSR_SPLIT_KEYS], i, s->bytes[TSR_SPLIT_KEYS]);
  if (f->values) tsr_split_set_word(f->values, s->bytes[TSR_SPLIT_VALUES], at, tsr_split_offer(s, i));
  f->more[at] = 0;
}

static void add_item(const tsr_split *s, uint64_t at, uint64_t i, uint32_t *overflows) {
  const tsr_fold *f = &s->fold;
  const uint32_t bytes = s->bytes[TSR_SPLIT_VALUES];
  if (!f->keys) return;
  f->more[at]++;
  if (!f->values) return;
  *overflows += tsr_split_passes(s, i);
  const uint64_t sum =
      tsr_fold_two(f->policy, f->most, tsr_split_word(f->values, bytes, at), tsr_split_offer(s, i), overflows);
  tsr_split_set_word(f->values, bytes, at, sum);
}

static void fold_item(const tsr_split *s, uint64_t number) {
  const tsr_fold *f = &s->fold;
  const uint64_t begin = number * f->every, left = s->runs.n - begin;
  span own = {.begin = begin, .items = left < f->span ? left : f->span};
  uint32_t made = 0, overflows = 0;
  for (uint64_t i = begin; i < begin + own.items; i++) {
    const uint64_t first = first_of(s, &own, i);
    if (first == i) {
      own.number[i - begin] = (uint16_t)made;
      make_item(s, begin + made++, i, &overflows);
    } else {
      add_item(s, begin + own.number[first - begin], i, &overflows);
    }
    if (f->parts) f->parts[i] = own.number[first - begin] | (first == i ? TSR_FOLD_FIRST : 0);
  }
  f->made[number] = made;
  if (f->overflows && overflows) __atomic_fetch_add(f->overflows, overflows, __ATOMIC_RELAXED);
}

static void unpack_item(const tsr_split *s, uint64_t i) {
  const uint16_t *more = s->items[TSR_SPLIT_MORE];
  const uint64_t value = tsr_split_made(s, NULL, more, i);
  tsr_split_set_word(s->fold.values, s->bytes[TSR_SPLIT_VALUES], i, value);
  if (s->fold.overflows && value <= more[i]) __atomic_fetch_add(s->fold.overflows, 1, __ATOMIC_RELAXED);
}

static void weigh_item(const tsr_split *s, uint64_t i) {
  const uint64_t weight = tsr_split_weight(s, i, has_b128(s));
  if (weight) __atomic_fetch_add(s->not_placed, weight, __ATOMIC_RELAXED);
}

static void scatter_item(const tsr_split *s, uint64_t tile) {
  tsr_runs_column columns[TSR_SPLIT_COLUMNS];
  for (uint32_t c = 0; c < TSR_SPLIT_COLUMNS; c++)
    columns[c] = (tsr_runs_column){(void *)(uintptr_t)s->items[c], s->to[c], s->bytes[c]};
  tsr_runs_scatter(&s->runs, tile, shards_of, s, columns, TSR_SPLIT_COLUMNS);
}

static void collect_item(const tsr_split *s, uint64_t tile) {
  const tsr_split_answers *a = &s->answers;
  if (s->runs.places)
    tsr_runs_gather(&s->runs, tile, &(tsr_runs_column){a->ordered, s->from, a->column_bytes}, a->only, a->only_code);
  for (uint64_t i = tile * TSR_RUNS_TILE; !s->runs.places && i < tsr_runs_end(&s->runs, tile); i++)
    if (!a->only || a->only[i] == a->only_code) tsr_split_put(a->ordered, i, s->from[0], i, a->column_bytes);
}

static void spans_item(const tsr_split *s, uint64_t tile) {
  tsr_tile_runs runs;
  uint32_t shard;
  tsr_runs_find(&s->runs, tile, &runs);
  for (uint64_t i = tile * TSR_RUNS_TILE; i < tsr_runs_end(&s->runs, tile); i++)
    s->lists.spans[tsr_runs_number(&s->runs, &runs, i, &shard)] = s->lists.offsets[i + 1] - s->lists.offsets[i];
}

static void spread_item(const tsr_split *s, uint64_t tile) {
  const tsr_split_lists *l = &s->lists;
  const uint32_t bytes = s->answers.column_bytes;
  tsr_tile_runs runs;
  tsr_runs_find(&s->runs, tile, &runs);
  for (uint64_t i = tile * TSR_RUNS_TILE; i < tsr_runs_end(&s->runs, tile); i++) {
    uint32_t shard;
    const uint64_t *span = &l->spans[tsr_runs_number(&s->runs, &runs, i, &shard)];
    const uint64_t begin = span[0] - l->spans[s->runs.counts[shard * s->runs.tiles]];
    memcpy((char *)s->answers.ordered + (l->offsets[i] - l->offsets[0]) * bytes,
           (const char *)s->from[shard] + begin * bytes, (span[1] - span[0]) * bytes);
  }
}

static void unfold_item(const tsr_split *s, uint64_t i) { tsr_split_unfold_item(s, i, has_b128(s)); }

#define gather_item tsr_split_gather_item
#define sizes_item tsr_split_sizes_item
/* The items above do the work of both widths. */
#define b128_bins_item bins_item
#define b128_fold_item fold_item
#define b128_weigh_item weigh_item
#define b128_unfold_item unfold_item
#define b128_count_item count_item
#define b128_scatter_item scatter_item
#define RANGE(step, ...) TSR_STEP_RANGE(step##_range, tsr_split, step##_item)
TSR_SPLIT_STEPS(RANGE)

#define ROW(name, ...) {.set = &tsr_split_steps, .kernel = "tsr_split_" #name, .range = name##_range, __VA_ARGS__},
static const tsr_step steps[] = {TSR_SPLIT_STEPS(ROW)};
extern const tsr_image tsr_split_images[];
const tsr_steps tsr_split_steps = {.images = tsr_split_images, .step = steps, .count = TSR_SPLIT_STEP_COUNT};

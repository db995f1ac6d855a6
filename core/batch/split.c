/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps of split.h as data, and what the CPU does other than item by item: a thread works on a tile as a block
 * does on a GPU, and a tile's items keep their order.
 */
#include "core/batch/split.h"

/* Relaxed: the sums are read after the team has joined. */
static void bins_item(const tsr_split *s, uint64_t i) {
  __atomic_fetch_add(&s->bins[tsr_split_bin(tsr_split_key(s, i), s->seed)], 1, __ATOMIC_RELAXED);
}

static uint64_t end_of(const tsr_split *s, uint64_t tile) {
  const uint64_t end = (tile + 1) * TSR_SPLIT_TILE;
  return end < s->n ? end : s->n;
}

static void count_tile(const tsr_split *s, uint64_t tile) {
  uint64_t counts[TSR_SPLIT_SHARDS_MAX] = {0};
  for (uint64_t i = tile * TSR_SPLIT_TILE; i < end_of(s, tile); i++) counts[tsr_split_shard(s, tsr_split_key(s, i))]++;
  for (uint32_t shard = 0; shard < s->shards; shard++) s->counts[shard * s->tiles + tile] = counts[shard];
}

/* Item i is number `at` of its shard's. */
static void place(const tsr_split *s, uint64_t i, uint32_t shard, uint64_t at) {
  tsr_split_put(s->to.keys[shard], at, s->items.keys, i, s->bytes.key);
  if (s->items.values) tsr_split_put(s->to.values[shard], at, s->items.values, i, s->bytes.value);
  if (s->items.operations) tsr_split_put(s->to.operations[shard], at, s->items.operations, i, 1);
  if (s->numbers) s->numbers[i] = (uint32_t)(s->first_at[shard] + at);
}

static void scatter_tile(const tsr_split *s, uint64_t tile) {
  uint64_t next[TSR_SPLIT_SHARDS_MAX];
  for (uint32_t shard = 0; shard < s->shards; shard++)
    next[shard] = s->counts[shard * s->tiles + tile] - s->first_at[shard];
  for (uint64_t i = tile * TSR_SPLIT_TILE; i < end_of(s, tile); i++) {
    const uint32_t shard = tsr_split_shard(s, tsr_split_key(s, i));
    place(s, i, shard, next[shard]++);
  }
}

#define EACH(step) TSR_STEP_RANGE(step##_range, tsr_split, tsr_split_##step##_item)
#define NOTHING(step, ...)
TSR_SPLIT_STEPS(EACH, NOTHING)
TSR_STEP_RANGE(bins_range, tsr_split, bins_item)
TSR_STEP_RANGE(count_range, tsr_split, count_tile)
TSR_STEP_RANGE(scatter_range, tsr_split, scatter_tile)
TSR_STEP_RANGE(collect_range, tsr_split, tsr_split_collect_item)

#define ROW(name, ...) {.set = &tsr_split_steps, .kernel = "tsr_split_" #name, .range = name##_range, __VA_ARGS__},
static const tsr_step steps[] = {TSR_SPLIT_STEPS(ROW, ROW)};
extern const tsr_image tsr_split_images[];
const tsr_steps tsr_split_steps = {.images = tsr_split_images, .step = steps, .count = TSR_SPLIT_STEP_COUNT};

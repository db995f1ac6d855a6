/* SPDX-License-Identifier: Apache-2.0
 *
 * Splitting on the CPU (split.h): a thread works on a tile, as a block does on a GPU, and here a tile's items keep their
 * order.
 */
#include "core/batch/split_cpu.h"

#include <string.h>

#include "core/cpu/parallel.h"

typedef struct split_job {
  const tsr_split *split;
  uint32_t step;
} split_job;

/* Relaxed: the sums are read after the team has joined. */
static void add_bins(const tsr_split *s, uint64_t begin, uint64_t end) {
  for (uint64_t i = begin; i < end; i++)
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
  tsr_split_put(s->keys_to[shard], at, s->keys, i, s->key_bytes);
  if (s->values) tsr_split_put(s->values_to[shard], at, s->values, i, s->value_bytes);
  if (s->operations) tsr_split_put(s->operations_to[shard], at, s->operations, i, 1);
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

static void work_tiles(void *argument, uint64_t begin, uint64_t end) {
  const split_job *job = argument;
  for (uint64_t tile = begin; tile < end; tile++)
    if (job->step == TSR_SPLIT_count)
      count_tile(job->split, tile);
    else
      scatter_tile(job->split, tile);
}

static void work_items(void *argument, uint64_t begin, uint64_t end) {
  const split_job *job = argument;
  if (job->step == TSR_SPLIT_bins) add_bins(job->split, begin, end);
  for (uint64_t i = begin; i < end && job->step == TSR_SPLIT_collect; i++) tsr_split_collect_item(job->split, i);
  for (uint64_t i = begin; i < end && job->step == TSR_SPLIT_gather; i++) tsr_split_gather_item(job->split, i);
  for (uint64_t i = begin; i < end && job->step == TSR_SPLIT_spans; i++) tsr_split_span_item(job->split, i);
  for (uint64_t i = begin; i < end && job->step == TSR_SPLIT_spread; i++) tsr_split_spread_item(job->split, i);
}

void tsr_cpu_split(uint32_t step, const tsr_split *split) {
  split_job job = {split, step};
  if (step == TSR_SPLIT_count || step == TSR_SPLIT_scatter)
    tsr_parallel_each(split->tiles, work_tiles, &job);
  else
    tsr_parallel_for(split->n, work_items, &job);
}

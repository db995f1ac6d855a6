/* SPDX-License-Identifier: Apache-2.0
 *
 * The steps by which a batch is split among the shards of a table, and brought back into its order: their list, their
 * argument, and what an item does. Read next: ../kernels/steps.h, ../devices/batch.h.
 *
 * A key has a bin, by a hash of its own. It must not be a table's hasher: that one sees the keys of one shard, and
 * must find them as different as all keys are. The bins of a shard are consecutive.
 */
#ifndef TSR_BATCH_SPLIT_H
#define TSR_BATCH_SPLIT_H

#include "core/kernels/steps.h"

enum {
  TSR_SPLIT_BINS_LOG2 = 12,
  TSR_SPLIT_BINS = 1 << TSR_SPLIT_BINS_LOG2,
  TSR_SPLIT_SHARDS_MAX = 64,
  TSR_SPLIT_TILE = 16 * TSR_BLOCK_THREADS, /* items that a block counts and places */
  TSR_SPLIT_AHEAD = 4                      /* items that a thread reads before it works on the first of them */
};

/* Items of count and scatter are tiles, otherwise those of the batch.
 * bins     adds how many keys each bin has
 * count    how many items each tile has for each shard; their prefix sum is where scatter puts them
 * scatter  puts items there, which may be another device's memory
 * collect  each item reads its answer from its shard, in the caller's order, so that writes are in sequence
 * spans    how many values each item has, in the order of the split
 * spread   an item's values go where the caller expects them
 * gather   an answer goes where its item came from, in batches that were ordered in another way (travel.c) */
#define TSR_SPLIT_STEPS(ITEM, OWN)                                                                                     \
  OWN(bins, .grid = {.blocks_max = 1024})                                                                              \
  OWN(count, .grid = {.block_items = 1})                                                                               \
  OWN(scatter, .grid = {.block_items = 1})                                                                             \
  OWN(collect, .grid = {.block_items = TSR_SPLIT_AHEAD * TSR_BLOCK_THREADS})                                           \
  ITEM(spans)                                                                                                          \
  ITEM(spread)                                                                                                         \
  ITEM(gather)
#define TSR_SPLIT_ENUM(step, ...) TSR_SPLIT_##step,
enum { TSR_SPLIT_STEPS(TSR_SPLIT_ENUM, TSR_SPLIT_ENUM) TSR_SPLIT_STEP_COUNT };

/* The columns of a batch: n items each, or NULL where there is none. */
typedef struct tsr_split_items {
  const void *keys, *values;
  const uint8_t *operations;
} tsr_split_items;

/* Where each shard's items go. */
typedef struct tsr_split_to {
  void *keys[TSR_SPLIT_SHARDS_MAX], *values[TSR_SPLIT_SHARDS_MAX], *operations[TSR_SPLIT_SHARDS_MAX];
} tsr_split_to;

/* collect, gather, spread: one column of answers. */
typedef struct tsr_split_answers {
  void *ordered; /* as the caller expects them */
  uint32_t column_bytes;
  const uint8_t *only; /* collect, gather: NULL, or only answers with only_code here are written */
  uint8_t only_code;
  const void *column;     /* gather: answers in another order, */
  const uint32_t *places; /* and the number that each had before */
} tsr_split_answers;

/* spans, spread: the values of each item. */
typedef struct tsr_split_lists {
  const uint64_t *offsets; /* n + 1: where the values of each of the caller's items begin */
  uint64_t *spans;         /* n + 1: spans: out; spread: their prefix sum: where they begin in a shard's answers */
} tsr_split_lists;

typedef struct tsr_split {
  uint64_t n, tiles;
  uint64_t seed;
  uint32_t shards;
  struct {
    uint32_t key, value;
  } bytes;
  uint32_t first_bin[TSR_SPLIT_SHARDS_MAX]; /* of each shard; the first one's is 0 */
  tsr_split_items items;
  uint64_t first_at[TSR_SPLIT_SHARDS_MAX]; /* in the order of shards: the number of each shard's first item */
  tsr_split_to to;
  void *from[TSR_SPLIT_SHARDS_MAX]; /* collect, spread: where each shard's answers are */
  uint32_t
      *numbers;     /* of each item, in the order of shards; NULL: nobody asks (scatter), or the same order (collect) */
  uint64_t *bins;   /* TSR_SPLIT_BINS */
  uint64_t *counts; /* shards * tiles, a shard's together, and one more: counts, then their prefix sum */
  tsr_split_answers answers;
  tsr_split_lists lists;
} tsr_split;

/* The finalizer of MurmurHash3, of 64 bits: each bit of the key and of the seed affects each bit of the bin. */
TSR_STEP_FUNCTION uint32_t tsr_split_bin(uint64_t key, uint64_t seed) {
  uint64_t h = key + seed * 0x9E3779B97F4A7C15u;
  h = (h ^ h >> 33) * 0xFF51AFD7ED558CCDu;
  h = (h ^ h >> 33) * 0xC4CEB9FE1A85EC53u;
  return (uint32_t)((h ^ h >> 33) >> (64 - TSR_SPLIT_BINS_LOG2));
}

/* The last shard that begins at `at` or before, by a binary search. The numbers where shards begin ascend from one that
 * is not above `at`. */
#define TSR_SPLIT_HALVING(name, number)                                                                                \
  TSR_STEP_FUNCTION uint32_t name(const number *begins, uint32_t shards, number at) {                                  \
    uint32_t shard = 0;                                                                                                \
    for (uint32_t after = shards; after - shard > 1;) {                                                                \
      const uint32_t middle = (shard + after) / 2;                                                                     \
      if (begins[middle] <= at)                                                                                        \
        shard = middle;                                                                                                \
      else                                                                                                             \
        after = middle;                                                                                                \
    }                                                                                                                  \
    return shard;                                                                                                      \
  }
TSR_SPLIT_HALVING(tsr_split_last32, uint32_t)
TSR_SPLIT_HALVING(tsr_split_last64, uint64_t)

TSR_STEP_FUNCTION uint32_t tsr_split_shard(const tsr_split *s, uint64_t key) {
  return tsr_split_last32(s->first_bin, s->shards, tsr_split_bin(key, s->seed));
}

TSR_STEP_FUNCTION uint64_t tsr_split_key(const tsr_split *s, uint64_t i) {
  return s->bytes.key == 8 ? ((const uint64_t *)s->items.keys)[i] : ((const uint32_t *)s->items.keys)[i];
}

/* An item of more than a word, in words of 8 bytes, or 4. */
TSR_STEP_FUNCTION void tsr_split_put_row(void *to, uint64_t at, const void *from, uint64_t i, uint32_t bytes) {
  const uint64_t words = bytes / 8;
  for (uint64_t w = 0; bytes % 8 == 0 && w < words; w++)
    ((uint64_t *)to)[at * words + w] = ((const uint64_t *)from)[i * words + w];
  for (uint64_t w = 0; bytes % 8 && w < bytes / 4; w++)
    ((uint32_t *)to)[at * (bytes / 4) + w] = ((const uint32_t *)from)[i * (bytes / 4) + w];
}

TSR_STEP_FUNCTION void tsr_split_put(void *to, uint64_t at, const void *from, uint64_t i, uint32_t bytes) {
  switch (bytes) {
  case 1:
    ((uint8_t *)to)[at] = ((const uint8_t *)from)[i];
    break;
  case 4:
    ((uint32_t *)to)[at] = ((const uint32_t *)from)[i];
    break;
  case 8:
    ((uint64_t *)to)[at] = ((const uint64_t *)from)[i];
    break;
  default:
    tsr_split_put_row(to, at, from, i, bytes);
  }
}

/* The shard that has item number `at` in the order of shards. */
TSR_STEP_FUNCTION uint32_t tsr_split_holder(const tsr_split *s, uint64_t at) {
  return tsr_split_last64(s->first_at, s->shards, at);
}

TSR_STEP_FUNCTION void tsr_split_collect_item(const tsr_split *s, uint64_t i) {
  const uint64_t at = s->numbers ? s->numbers[i] : i;
  const uint32_t shard = tsr_split_holder(s, at);
  if (!s->answers.only || s->answers.only[i] == s->answers.only_code)
    tsr_split_put(s->answers.ordered, i, s->from[shard], at - s->first_at[shard], s->answers.column_bytes);
}

TSR_STEP_FUNCTION void tsr_split_gather_item(const tsr_split *s, uint64_t i) {
  if (!s->answers.only || s->answers.only[i] == s->answers.only_code)
    tsr_split_put(s->answers.ordered, s->answers.places ? s->answers.places[i] : i, s->answers.column, i,
                  s->answers.column_bytes);
}

TSR_STEP_FUNCTION void tsr_split_spans_item(const tsr_split *s, uint64_t i) {
  s->lists.spans[s->numbers[i]] = s->lists.offsets[i + 1] - s->lists.offsets[i];
}

TSR_STEP_FUNCTION void tsr_split_spread_item(const tsr_split *s, uint64_t i) {
  const uint64_t at = s->numbers[i], to = s->lists.offsets[i] - s->lists.offsets[0];
  const uint32_t shard = tsr_split_holder(s, at);
  const uint64_t begin = s->lists.spans[at] - s->lists.spans[s->first_at[shard]];
  for (uint64_t k = 0; k < s->lists.spans[at + 1] - s->lists.spans[at]; k++)
    tsr_split_put(s->answers.ordered, to + k, s->from[shard], begin + k, s->answers.column_bytes);
}

TSR_STEPS(tsr_split_steps)

#endif

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

#include "core/batch/fold.h"
#include "core/batch/mix.h"
#include "core/batch/runs.h"
#include "core/kernels/steps.h"

enum { TSR_SPLIT_BINS_LOG2 = 12, TSR_SPLIT_BINS = 1 << TSR_SPLIT_BINS_LOG2, TSR_SPLIT_SHARDS_MAX = 64 };

/* The steps of a batch in runs (runs.h), whose bins are the shards. Items are tiles; of `bins` and `gather` those of the
 * batch, of `sizes` the shards, of `fold` spans.
 * bins     adds how many keys each bin has
 * fold     items of one key become one (fold.h)
 * unpack   makes values of how many items each item of a counter was made
 * weigh    counts the items that stand for one that found no place
 * unfold   gives the items of the batch the answers of those that were made of them
 * count    how many items each tile has for each shard
 * sizes    how many items each shard gets in all, after the prefix sum of the counts
 * scatter  puts items there, which may be another device's memory
 * collect  brings answers back from there
 * spans    how many values each item has, in the order of shards
 * spread   an item's values go where the caller expects them
 * gather   an answer goes where its item came from, in batches that were ordered in another way (travel.c)
 * b128_..  the same as bins, fold, weigh, unfold, count and scatter, for keys of 128 bits (tsr_split_for) */
#define TSR_SPLIT_STEPS(F)                                                                                             \
  F(bins, .grid = {.blocks_max = 1024})                                                                                \
  F(fold, .grid = TSR_SPLIT_TILES, .fit = fit_fold)                                                                    \
  F(unpack)                                                                                                            \
  F(weigh)                                                                                                             \
  F(unfold)                                                                                                            \
  F(count, .grid = TSR_SPLIT_TILES)                                                                                    \
  F(sizes)                                                                                                             \
  F(scatter, .grid = TSR_SPLIT_TILES, .fit = fit_question)                                                             \
  F(collect, .grid = TSR_SPLIT_TILES, .fit = fit_answer)                                                               \
  F(spans, .grid = TSR_SPLIT_TILES)                                                                                    \
  F(spread, .grid = TSR_SPLIT_TILES)                                                                                   \
  F(gather)                                                                                                            \
  F(b128_bins, .grid = {.blocks_max = 1024})                                                                           \
  F(b128_fold, .grid = TSR_SPLIT_TILES, .fit = fit_fold)                                                               \
  F(b128_weigh)                                                                                                        \
  F(b128_unfold)                                                                                                       \
  F(b128_count, .grid = TSR_SPLIT_TILES)                                                                               \
  F(b128_scatter, .grid = TSR_SPLIT_TILES, .fit = fit_question)
#define TSR_SPLIT_TILES                                                                                                \
  { .threads = TSR_RUNS_THREADS, .block_items = 1 }
#define TSR_SPLIT_ENUM(step, ...) TSR_SPLIT_##step,
enum { TSR_SPLIT_STEPS(TSR_SPLIT_ENUM) TSR_SPLIT_STEP_COUNT };

/* The step that does the same for keys of this width. */
TSR_STEP_FUNCTION uint32_t tsr_split_for(uint32_t step, uint64_t key_bytes) {
  if (key_bytes <= sizeof(uint64_t)) return step;
  return step == TSR_SPLIT_bins      ? (uint32_t)TSR_SPLIT_b128_bins
         : step == TSR_SPLIT_fold    ? (uint32_t)TSR_SPLIT_b128_fold
         : step == TSR_SPLIT_weigh   ? (uint32_t)TSR_SPLIT_b128_weigh
         : step == TSR_SPLIT_unfold  ? (uint32_t)TSR_SPLIT_b128_unfold
         : step == TSR_SPLIT_count   ? (uint32_t)TSR_SPLIT_b128_count
         : step == TSR_SPLIT_scatter ? (uint32_t)TSR_SPLIT_b128_scatter
                                     : step;
}

/* The columns of a batch: n items each, or NULL where there is none. MORE: of how many items, but one, each was folded. */
enum { TSR_SPLIT_KEYS, TSR_SPLIT_VALUES, TSR_SPLIT_OPERATIONS, TSR_SPLIT_MORE, TSR_SPLIT_COLUMNS };

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
  uint64_t
      *spans; /* n + 1, in the order of shards: spans: out; spread: their prefix sum: where they begin in answers */
} tsr_split_lists;

typedef struct tsr_split {
  tsr_runs runs;
  uint64_t seed;
  uint32_t first_bin[TSR_SPLIT_SHARDS_MAX]; /* of each shard; the first one's is 0 */
  uint32_t bytes[TSR_SPLIT_COLUMNS];        /* of an item */
  const void *items[TSR_SPLIT_COLUMNS];
  void *to[TSR_SPLIT_COLUMNS][TSR_SPLIT_SHARDS_MAX]; /* scatter: where each shard's items go */
  void
      *from[TSR_SPLIT_SHARDS_MAX]; /* collect, spread: where each shard's answers are; the first has all if not apart */
  uint64_t *bins;                  /* TSR_SPLIT_BINS */
  uint64_t *sizes;                 /* of each shard */
  tsr_split_answers answers;
  tsr_split_lists lists;
  tsr_fold fold;
  tsr_unfold unfold;
  uint64_t *not_placed; /* weigh: a counter of the shard's */
} tsr_split;

/* A key of 128 bits, the lower half first. */
typedef struct tsr_split_b128 {
  uint64_t lower, upper;
} tsr_split_b128;

/* The word whose bin such a key has. Its lower half alone gives any word, and so does the upper one. */
TSR_STEP_FUNCTION uint64_t tsr_split_b128_word(uint64_t lower, uint64_t upper) { return lower ^ tsr_mix_64(upper, 0); }

/* The finalizer of MurmurHash3, of 64 bits: each bit of the key and of the seed affects each bit of the bin. */
TSR_STEP_FUNCTION uint32_t tsr_split_bin(uint64_t key, uint64_t seed) {
  uint64_t h = key + seed * 0x9E3779B97F4A7C15u;
  h = (h ^ h >> 33) * 0xFF51AFD7ED558CCDu;
  h = (h ^ h >> 33) * 0xC4CEB9FE1A85EC53u;
  return (uint32_t)((h ^ h >> 33) >> (64 - TSR_SPLIT_BINS_LOG2));
}

/* The shard of a key: the last one whose bins begin at the key's or before, by a binary search. */
TSR_STEP_FUNCTION uint32_t tsr_split_shard(const tsr_split *s, uint64_t key) {
  const uint32_t bin = tsr_split_bin(key, s->seed);
  uint32_t shard = 0;
  for (uint32_t after = s->runs.bins; after - shard > 1;) {
    const uint32_t middle = (shard + after) / 2;
    if (s->first_bin[middle] <= bin)
      shard = middle;
    else
      after = middle;
  }
  return shard;
}

TSR_STEP_FUNCTION uint64_t tsr_split_word(const void *column, uint32_t bytes, uint64_t i) {
  return bytes == 8 ? ((const uint64_t *)column)[i] : ((const uint32_t *)column)[i];
}

TSR_STEP_FUNCTION uint64_t tsr_split_key(const tsr_split *s, uint64_t i) {
  return tsr_split_word(s->items[TSR_SPLIT_KEYS], s->bytes[TSR_SPLIT_KEYS], i);
}

TSR_STEP_FUNCTION tsr_split_b128 tsr_split_b128_key(const void *keys, uint64_t i) {
  const tsr_split_b128 key = {((const uint64_t *)keys)[2 * i], ((const uint64_t *)keys)[2 * i + 1]};
  return key;
}

/* Whether key `at` of these is that of item i. */
TSR_STEP_FUNCTION bool tsr_split_b128_is(const tsr_split *s, const void *keys, uint64_t at, uint64_t i) {
  const tsr_split_b128 one = tsr_split_b128_key(keys, at), other = tsr_split_b128_key(s->items[TSR_SPLIT_KEYS], i);
  return one.lower == other.lower && one.upper == other.upper;
}

/* What item i of a batch that is folded offers. */
TSR_STEP_FUNCTION uint64_t tsr_split_offer(const tsr_split *s, uint64_t i) {
  const void *values = s->items[TSR_SPLIT_VALUES];
  return tsr_fold_offer(&s->fold, values != 0, values ? tsr_split_word(values, s->bytes[TSR_SPLIT_VALUES], i) : 0);
}

/* Whether that alone passes the largest count. */
TSR_STEP_FUNCTION uint32_t tsr_split_passes(const tsr_split *s, uint64_t i) {
  const void *values = s->items[TSR_SPLIT_VALUES];
  return values && tsr_fold_passes(&s->fold, tsr_split_word(values, s->bytes[TSR_SPLIT_VALUES], i));
}

TSR_STEP_FUNCTION void tsr_split_set_word(void *column, uint32_t bytes, uint64_t i, uint64_t word) {
  if (bytes == 8)
    ((uint64_t *)column)[i] = word;
  else
    ((uint32_t *)column)[i] = (uint32_t)word;
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
  case 2:
    ((uint16_t *)to)[at] = ((const uint16_t *)from)[i];
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

TSR_STEP_FUNCTION void tsr_split_gather_item(const tsr_split *s, uint64_t i) {
  if (!s->answers.only || s->answers.only[i] == s->answers.only_code)
    tsr_split_put(s->answers.ordered, s->answers.places ? s->answers.places[i] : i, s->answers.column, i,
                  s->answers.column_bytes);
}

TSR_STEP_FUNCTION void tsr_split_sizes_item(const tsr_split *s, uint64_t shard) {
  s->sizes[shard] = s->runs.counts[(shard + 1) * s->runs.tiles] - s->runs.counts[shard * s->runs.tiles];
}

/* The value of folded item i: a counter's that was given none is how many items it was made of. */
TSR_STEP_FUNCTION uint64_t tsr_split_made(const tsr_split *s, const void *values, const uint16_t *more, uint64_t i) {
  if (values) return tsr_split_word(values, s->bytes[TSR_SPLIT_VALUES], i);
  return tsr_fold_offer(&s->fold, 1, more[i] + 1u);
}

/* Items that stand for item i, which its shard has counted as one that found no place. If another key's pair is in hand,
 * theirs have one. */
TSR_STEP_FUNCTION uint64_t tsr_split_weight(const tsr_split *s, uint64_t i, bool is_b128) {
  if (s->unfold.codes[i] != TSR_RESULT_NOT_PLACED) return 0;
  const bool is_own = is_b128
                          ? tsr_split_b128_is(s, s->unfold.unplaced_keys, i, i)
                          : tsr_split_word(s->unfold.unplaced_keys, s->bytes[TSR_SPLIT_KEYS], i) == tsr_split_key(s, i);
  return is_own ? ((const uint16_t *)s->items[TSR_SPLIT_MORE])[i] : 0;
}

/* The value that comes back with it. */
TSR_STEP_FUNCTION void tsr_split_hand_value(const tsr_split *s, uint64_t i, uint64_t at, bool is_own, bool is_first) {
  const uint32_t value_bytes = s->bytes[TSR_SPLIT_VALUES];
  const uint64_t hand = tsr_split_word(s->unfold.unplaced_values, value_bytes, at);
  const uint64_t made = tsr_split_made(s, s->fold.values, s->fold.more, at), own = tsr_split_offer(s, i);
  const uint64_t value = !is_own ? hand : is_first ? tsr_fold_share(&s->fold, own, made, hand) : own;
  tsr_split_set_word(s->unfold.to_values, value_bytes, i, value);
}

/* Hands item i back, whose key's pair found no place, or for the first of its key's items a pair that was evicted for it;
 * returns whether. at: the item that was made of it. */
TSR_STEP_FUNCTION bool tsr_split_hand_back(const tsr_split *s, uint64_t i, uint64_t at, bool is_first) {
  const uint32_t key_bytes = s->bytes[TSR_SPLIT_KEYS], value_bytes = s->bytes[TSR_SPLIT_VALUES];
  const uint64_t key = tsr_split_word(s->unfold.unplaced_keys, key_bytes, at);
  const bool is_own = key == tsr_split_key(s, i);
  if (!is_own && !is_first) return false;
  if (s->unfold.to_keys) tsr_split_set_word(s->unfold.to_keys, key_bytes, i, key);
  if (!s->unfold.to_values || !value_bytes) return true;
  tsr_split_hand_value(s, i, at, is_own, is_first);
  return true;
}

TSR_STEP_FUNCTION bool tsr_split_b128_hand_back(const tsr_split *s, uint64_t i, uint64_t at, bool is_first) {
  const bool is_own = tsr_split_b128_is(s, s->unfold.unplaced_keys, at, i);
  if (!is_own && !is_first) return false;
  if (s->unfold.to_keys) tsr_split_put_row(s->unfold.to_keys, i, s->unfold.unplaced_keys, at, sizeof(tsr_split_b128));
  if (s->unfold.to_values && s->bytes[TSR_SPLIT_VALUES]) tsr_split_hand_value(s, i, at, is_own, is_first);
  return true;
}

/* is_b128: a constant where it is called, so that narrow keys have code of their own. */
TSR_STEP_FUNCTION void tsr_split_unfold_item(const tsr_split *s, uint64_t i, bool is_b128) {
  const uint32_t part = s->fold.parts[i];
  const bool is_first = (part & TSR_FOLD_FIRST) != 0;
  const uint64_t at = i / TSR_FOLD_SPAN * TSR_FOLD_SPAN + (part & TSR_FOLD_NUMBER);
  uint32_t code = s->unfold.codes[at];
  const bool comes_back = code == TSR_RESULT_NOT_PLACED && (is_b128 ? tsr_split_b128_hand_back(s, i, at, is_first)
                                                                    : tsr_split_hand_back(s, i, at, is_first));
  if (!is_first && !comes_back) code = tsr_fold_present(s->fold.policy);
  if (s->unfold.to_codes) s->unfold.to_codes[i] = (uint8_t)code;
}

TSR_STEPS(tsr_split_steps)

#endif

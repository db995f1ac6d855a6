/* SPDX-License-Identifier: Apache-2.0
 *
 * The distinct keys of a batch, without a table: how often each occurs, what its values add up to, and which of them
 * each item has. Keys are mixed by a function that has an inverse. Passes bring the mixed keys into pages by their first
 * bits, and a block of threads finds the distinct keys of each page in its own memory. Numbers of keys go back to the
 * caller's order tile by tile, as the answers of runs.h do.
 *
 * A pass needs no count of its bins first: each bin has some room to spare, and a tile takes a run of it by one atomic.
 * If a bin gets more than its room, the batch begins again with counts. Why: ../design/0034-groups.md. Read next:
 * groups.c, groups.cu.
 *
 * Joins of arrays (../table/match_arrays.c) take the passes alone, of both sides.
 */
#ifndef TSR_BATCH_GROUPS_H
#define TSR_BATCH_GROUPS_H

#include "core/kernels/aggregate.h"

enum {
  TSR_GROUP_THREADS = 512,
  TSR_GROUP_TILE_BYTES = 1 << 15, /* keys that a block brings into order at once */
  TSR_GROUP_BINS_LOG2 = 8,        /* the most of a segment: more would make a tile's runs shorter than a line */
  TSR_GROUP_BINS = 1 << TSR_GROUP_BINS_LOG2,
  TSR_GROUP_PASSES = 3,
  TSR_GROUP_PAGE_BYTES = 1 << 15, /* of the first level of a page's set; at most half as many keys are expected */
  TSR_GROUP_LAST = 512,           /* keys of the last level */
  TSR_GROUP_LARGE_BLOCKS = 264,
  TSR_GROUP_VALUES = 16, /* arrays of values, and what is made of them */
  TSR_GROUP_HOT = 512,   /* the most frequent keys, which take another way, */
  TSR_GROUP_HOT_SLOTS = 2 * TSR_GROUP_HOT,
  TSR_GROUP_HOT_LEAST = 4,     /* ... and how often each must be in the sample */
  TSR_GROUP_DIRECT_CLAIMS = 4, /* places per item of a batch that is worked on directly, */
  TSR_GROUP_DIRECT_TRIES = 1024
};
#define TSR_GROUP_TILE(key_bytes) (TSR_GROUP_TILE_BYTES / (key_bytes))
#define TSR_GROUP_FIRST(key_bytes) (TSR_GROUP_PAGE_BYTES / (key_bytes))
/* Keys that are expected in a page at most, and items that a block has in hand at once. */
#define TSR_GROUP_EXPECTED(key_bytes) (TSR_GROUP_FIRST(key_bytes) / 2)
#define TSR_GROUP_IN_HAND(key_bytes) (TSR_GROUP_EXPECTED(key_bytes) + TSR_GROUP_THREADS)
/* Keys of all levels of a page's set, without the one that is not like the others. */
#define TSR_GROUP_SLOTS(key_bytes) (TSR_GROUP_FIRST(key_bytes) + TSR_GROUP_FIRST(key_bytes) / 2 + TSR_GROUP_LAST)
#define TSR_GROUP_SET_BYTES(key_bytes) (TSR_GROUP_SLOTS(key_bytes) * (key_bytes) + 16)

/* Of keys of 32 and of 64 bits:
 * sample   which keys are frequent
 * begin    where the bins of a pass begin, and where their next keys go
 * tiles    how many tiles each segment has
 * count    how many keys of each bin there are
 * order    brings keys into the bins of a pass
 * sift     the same, of the first pass, but frequent keys are counted and go nowhere
 * carry    the same as order, with values
 * cull     the same as sift, with values, which are combined for frequent keys
 * page     the distinct keys of each page; pages of too many items are listed
 * merge    the same, and what their values become
 * large    the distinct keys of the pages that were listed; and the frequent ones
 * back     numbers go back, from the order after a pass to the order before it
 * combine  what the values become in the pages that were listed; and those of frequent keys
 * claim    each item claims its key's place, of a batch that is worked on directly
 * lead     which item leads those of its key; the distinct keys
 * answer   each item gets its key's number; counts; and how many there are, where no host reads it
 * tell     how many distinct keys there are, where no host reads it */
#define TSR_GROUP_TILED .grid = {.threads = TSR_GROUP_THREADS, .block_items = 1}
#define TSR_GROUP_DIRECT .grid = {.threads = TSR_GROUP_THREADS}
#define TSR_GROUP_STEPS(F)                                                                                             \
  F(begin, .fit = NULL)                                                                                                \
  F(tiles, .fit = NULL)                                                                                                \
  F(tell, .fit = NULL)                                                                                                 \
  F(sample_32, .grid = {.threads = TSR_GROUP_THREADS, .blocks = 1}, .fit = fit_page)                                   \
  F(sample_64, .grid = {.threads = TSR_GROUP_THREADS, .blocks = 1}, .fit = fit_page)                                   \
  F(count_32, TSR_GROUP_TILED)                                                                                         \
  F(count_64, TSR_GROUP_TILED)                                                                                         \
  F(order_32, TSR_GROUP_TILED, .fit = fit_tile)                                                                        \
  F(order_64, TSR_GROUP_TILED, .fit = fit_tile)                                                                        \
  F(sift_32, TSR_GROUP_TILED, .fit = fit_tile)                                                                         \
  F(sift_64, TSR_GROUP_TILED, .fit = fit_tile)                                                                         \
  F(carry_32, TSR_GROUP_TILED, .fit = fit_carried)                                                                     \
  F(carry_64, TSR_GROUP_TILED, .fit = fit_carried)                                                                     \
  F(cull_32, TSR_GROUP_TILED, .fit = fit_carried)                                                                      \
  F(cull_64, TSR_GROUP_TILED, .fit = fit_carried)                                                                      \
  F(page_32, TSR_GROUP_TILED, .fit = fit_page)                                                                         \
  F(page_64, TSR_GROUP_TILED, .fit = fit_page)                                                                         \
  F(merge_32, TSR_GROUP_TILED, .fit = fit_merged)                                                                      \
  F(merge_64, TSR_GROUP_TILED, .fit = fit_merged)                                                                      \
  F(large_32, .grid = {.threads = TSR_GROUP_THREADS, .blocks = TSR_GROUP_LARGE_BLOCKS}, .fit = fit_large)              \
  F(large_64, .grid = {.threads = TSR_GROUP_THREADS, .blocks = TSR_GROUP_LARGE_BLOCKS}, .fit = fit_large)              \
  F(back_32, TSR_GROUP_TILED, .fit = fit_tile)                                                                         \
  F(back_64, TSR_GROUP_TILED, .fit = fit_tile)                                                                         \
  F(combine_32, .grid = {.threads = TSR_GROUP_THREADS, .blocks = TSR_GROUP_LARGE_BLOCKS}, .fit = fit_combined)         \
  F(combine_64, .grid = {.threads = TSR_GROUP_THREADS, .blocks = TSR_GROUP_LARGE_BLOCKS}, .fit = fit_combined)         \
  F(claim_32, TSR_GROUP_DIRECT)                                                                                        \
  F(claim_64, TSR_GROUP_DIRECT)                                                                                        \
  F(lead_32, TSR_GROUP_DIRECT)                                                                                         \
  F(lead_64, TSR_GROUP_DIRECT)                                                                                         \
  F(answer, TSR_GROUP_DIRECT)
#define TSR_GROUP_ENUM(step, ...) TSR_GROUP_##step,
enum { TSR_GROUP_STEPS(TSR_GROUP_ENUM) TSR_GROUP_STEP_COUNT };

/* What the device and the host tell each other. */
typedef struct tsr_group_told {
  uint64_t found;  /* distinct keys; at first the frequent ones, whose numbers come first */
  uint32_t hot;    /* frequent keys */
  uint32_t pairs;  /* items of the sample that repeat a key of it that is not frequent */
  uint32_t fails;  /* 1: a bin has no room, or a set is full */
  uint32_t larges; /* pages that have more items than a block has in hand */
} tsr_group_told;

/* The frequent keys. */
typedef struct tsr_group_hot {
  void *keys;         /* TSR_GROUP_HOT, mixed */
  uint64_t *counts;   /* of each */
  void *slot_keys;    /* TSR_GROUP_HOT_SLOTS: the same by open addressing, */
  uint32_t *slot_ids; /* ... and which key that is */
} tsr_group_hot;

/* A tile's run in a bin: where it begins in the bins, and in the tile, and its items. */
#define TSR_GROUP_RUN(begin, place, items) ((uint64_t)(items) << 48 | (uint64_t)(place) << 32 | (begin))
/* The place of an item with a frequent key: this and the number of the key. */
#define TSR_GROUP_HOT_PLACE 0x8000u

/* Keys in segments, which are the bins of a pass; after the last pass these are pages. begins NULL: there is one segment, of
 * all items. */
typedef struct tsr_group_segments {
  const uint64_t *begins; /* count + 1 */
  const uint32_t *ends;
  uint64_t *tiles; /* count + 1: tiles before each */
  uint32_t count;
} tsr_group_segments;

/* Values that go with their keys, and what is made of them. */
typedef struct tsr_group_array {
  const void *from; /* of a pass: in the order before it; page: in the order of pages */
  void *to;         /* in the order after it */
  uint32_t bytes;   /* of a value: 4 or 8 */
} tsr_group_array;
typedef struct tsr_group_made {
  void *combined; /* of each distinct key; never written past the room of the page */
  uint32_t array, type, how;
} tsr_group_made;
typedef struct tsr_group_values {
  uint32_t array_count, made_count;
  uint32_t widest;    /* the most bytes of a value */
  uint64_t *hot_sums; /* TSR_GROUP_HOT for each that is made; zero before the first pass */
  uint64_t *bases;    /* of each page that is listed: the number of its first key, and how many it has */
  tsr_group_array array[TSR_GROUP_VALUES];
  tsr_group_made made[TSR_GROUP_VALUES];
} tsr_group_values;

/* A pass: from segments, which are the bins of the pass before, to bins. */
typedef struct tsr_group_pass {
  uint64_t n; /* begin: bins + 1; tiles: segments; others: items, if there is one segment */
  uint64_t seed;
  const void *from; /* keys; of the first pass they are not mixed; back: numbers in the order after the pass */
  void *to;         /* mixed keys; back: numbers in the order before it */
  tsr_group_segments segments;
  uint64_t *bin_begins; /* bins of all segments + 1; count: how many keys; then their prefix sum. tell: 1 number */
  uint32_t *cursors;    /* of each bin: where its next key goes; then where it ends */
  uint64_t *runs;       /* of each tile and bin: the tile's run (TSR_GROUP_RUN); NULL: nobody wants to know */
  uint16_t *places;     /* of each item, its place in the tile in the order of bins */
  tsr_group_told *told;
  tsr_group_hot hot;         /* keys NULL: there are none, or they were taken out before */
  uint32_t room;             /* begin: of each bin, 0: bin_begins are known; tiles, carry, cull: items of a tile */
  uint16_t shift, bins_log2; /* a mixed key's bin: these bits of it */
  tsr_group_values values;   /* carry */
} tsr_group_pass;

/* sample, page, large, combine */
typedef struct tsr_group_page {
  uint64_t n; /* items, if there is one page */
  uint64_t seed;
  const void *from; /* keys */
  tsr_group_segments pages;
  void *keys;        /* each once */
  uint64_t *counts;  /* NULL: nobody wants to know */
  uint32_t *numbers; /* of items, in the order of pages; of pages that are listed also if values are combined */
  uint64_t room;     /* of keys and counts, which are never written past it */
  uint32_t *larges;  /* which pages are listed */
  tsr_group_told *told;
  tsr_group_hot hot;
  tsr_group_values values;
  uint16_t is_first; /* keys are not mixed yet */
  uint16_t wants_numbers;
  uint32_t key_bytes; /* for the host */
} tsr_group_page;

/* claim, lead, answer */
typedef struct tsr_group_direct {
  uint64_t n, seed;
  const void *from;  /* keys */
  void *keys;        /* each once */
  uint64_t *counts;  /* of keys and counts: NULL: nobody wants to know */
  uint64_t room;     /* of keys and counts, which are never written past it */
  uint32_t *leaders; /* of each item, which item leads those of its key; then its key's number; NULL: as counts */
  uint32_t *numbers; /* of an item that leads */
  uint32_t *claims;  /* claim_count: an item whose key has its place here */
  uint32_t *others;  /* n: items that lead and whose key has no place there, by open addressing */
  uint32_t claim_count;
  uint64_t *found; /* how many distinct keys there are, or UINT64_MAX; NULL: the host reads it */
  tsr_group_told *told;
} tsr_group_direct;

TSR_STEPS(tsr_group_steps)

#ifndef __CUDACC__
#include "core/compose/backend.h"
#include "core/tessera.h"

/* A batch whose distinct keys are wanted. Arrays in device memory. */
typedef struct tsr_groups {
  uint64_t n; /* from 1 to TSR_GROUPS_MOST */
  const void *keys;
  uint32_t key_bytes; /* 4 or 8 */
  uint64_t seed;
  void *distinct; /* of the next two: NULL: not wanted */
  uint64_t *counts;
  uint64_t room;     /* of both */
  uint32_t *numbers; /* n: keys[i] is distinct key number numbers[i]; NULL: not wanted */
  const tsr_unique_column *columns;
  uint32_t column_count;
  uint32_t bins_log2; /* of the last pass; 0: as many as pages need */
  uint64_t *found;    /* of tsr_groups_record: how many distinct keys there are; otherwise NULL */
} tsr_groups;
#define TSR_GROUPS_MOST (1ull << 30)

/* A batch that is only brought into bins. Arrays in device memory. */
typedef struct tsr_groups_order {
  uint64_t n; /* from 1 to TSR_GROUPS_MOST */
  const void *keys, *values;
  uint32_t key_bytes, value_bytes; /* 4 or 8; value_bytes 0: no values */
  uint64_t seed;
  uint32_t bins_log2; /* at least 1 */
  /* What tsr_groups_bring writes: keys, mixed by tsr_mix_32 or 64, and their values, in bins by their first bits. */
  const void *mixed, *brought;
  uint64_t room;          /* of both, with what bins have to spare */
  const uint64_t *begins; /* 2^bins_log2 + 1: where each bin begins, */
  const uint32_t *ends;   /* ... and ends */
} tsr_groups_order;

/* Writes how many distinct keys there are to *found. Only a device with kernels has this (tsr_groups_are_made). Waits. */
tsr_status tsr_groups_make(tsr_device *device, const tsr_groups *groups, void *stream, uint64_t *found,
                           tsr_error *error) TSR_MUST_CHECK;
/* The same, recorded into a graph, so it does not wait: groups->found gets the number, or UINT64_MAX if the keys were made to come
 * together with the seed. */
tsr_status tsr_groups_record(tsr_device *device, const tsr_groups *groups, void *stream, tsr_error *error)
    TSR_MUST_CHECK;
/* The passes alone. Writes where what they made is, in memory which the caller frees in the order of the stream. Waits. */
tsr_status tsr_groups_bring(tsr_device *device, tsr_groups_order *order, void *stream, void **memory, tsr_error *error)
    TSR_MUST_CHECK;
#endif
#endif

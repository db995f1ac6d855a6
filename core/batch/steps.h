/* SPDX-License-Identifier: Apache-2.0
 *
 * A batch inserted page by page, as the host sees it: the steps and their arguments. First the partition sorts the
 * batch by its keys' pages, in passes; each pass splits every segment of the pass before into bins. Then each page is
 * worked on in the memory of a block of threads. Shared by the kernels (batch.cu), both backends and the plan
 * (place.c); compiles as C11 and CUDA C.
 */
#ifndef TSR_BATCH_STEPS_H
#define TSR_BATCH_STEPS_H

#include "core/kernels/bulk.h"
#include "core/kernels/steps.h"

/* The partition:
 *   count        how many items of each tile fall into each bin; items: the most tiles that there can be
 *   count_pages  the same for all pages at once, on a GPU; items: its blocks
 *   bins         where the bins of a pass begin, after count_pages; items: the bins
 *   tiles        how many tiles each segment has; items: the segments
 *   scatter      moves each item to its bin; items as in count
 *   answer       returns results to the caller's order; items: those of the batch
 * Whether keys repeat so often that random access is faster (judge.cuh); items: those of the sample, those of the batch:
 *   judge        looks at a sample; what follows then has all items, or is idle
 *   unordered    inserts all items by random access, if what came before was idle
 * Keys that a batch repeats (hot.cuh); items: those of the sample, slots, those of the batch:
 *   sample       counts the keys of a sample
 *   choose       which of them are hot
 *   hot_answer   the answers of their items
 * A filter, as the table or before it:
 *   mark         sets the bits of a tile's keys, all of one page; items as in count
 * Pages; items: the pages, or pieces of them:
 *   bar          finds pages with a pair in the stash, which a page alone does not show; items: the stash's buckets
 *   distinct, merge   items of one key become one (distinct.cuh)
 *   insert       makes a page
 *   rest         inserts the items that a page has left, by random access
 *   rest_combine what `rest` has left to combine
 *   spilled      inserts the items of bins without room, in a batch that was not counted, by random access; items: those
 *                of the batch
 * Without pages; items: the spans:
 *   spans        neighbouring items of one key become one (spans.cuh), for the insert that follows
 *   told_spans   the same, and notes which item became part of which
 *   spans_answer gives them their answers
 *   spans_list   makes one list of the spans' pairs
 * Lists that are made in bulk (lists.cuh); items: the pages:
 *   lists        those of a page
 *   large_count, large_sum, large_place   the same for pages that all blocks work on, for their many items; items:
 *                the most large pages that there can be
 *   build        the memory of a scheme that is built from whole batches (build.cuh); items: the pages
 *   any_count, any_begin, any_place       all lists by random access; items: those of the batch, of any_begin the lists
 *                and one more */
#define TSR_PAGES_OPS(F)                                                                                               \
  F(count, .range = tsr_order_count, .grid = {.threads = TSR_TILE_THREADS, .block_items = 1})                          \
  F(count_pages, .grid = {.threads = TSR_COUNT_THREADS, .block_items = 1}, .fit = fit_pages_counts)                    \
  F(bins)                                                                                                              \
  F(tiles, .range = tsr_order_tiles)                                                                                   \
  F(scatter, .range = tsr_order_scatter, .grid = {.threads = TSR_TILE_THREADS, .block_items = 1}, .fit = fit_tile)     \
  F(answer, .range = tsr_order_answer, .grid = {.block_items = TSR_ANSWER_ITEMS})                                      \
  F(judge)                                                                                                             \
  F(unordered, .grid = {.threads = TSR_UNORDERED_THREADS, .blocks_max = TSR_REST_BLOCKS},                              \
    .roomier = {"tsr_medium_pages_unordered_kernel", "tsr_roomy_pages_unordered_kernel"})                              \
  F(sample)                                                                                                            \
  F(choose, .grid = {.threads = TSR_TILE_THREADS, .blocks = 1})                                                        \
  F(hot_answer, .grid = {.blocks_max = TSR_REST_BLOCKS})                                                               \
  F(mark, .whole = tsr_mark_all, .grid = {.threads = TSR_TILE_THREADS, .block_items = 1}, .fit = fit_marks)            \
  F(rest, .grid = {.block_items = 1, .blocks_max = TSR_REST_BLOCKS})                                                   \
  F(spilled, .grid = {.blocks_max = TSR_REST_BLOCKS})                                                                  \
  F(bar)                                                                                                               \
  F(distinct, .grid = {.threads = TSR_SET_THREADS, .block_items = 1}, .fit = fit_set)                                  \
  F(merge, .grid = {.threads = TSR_SET_THREADS, .block_items = 1}, .fit = fit_set)                                     \
  F(insert, .whole = tsr_place_insert, .grid = {.threads = TSR_PAGES_THREADS, .block_items = 1}, .fit = fit_page,      \
    .in_page = true, .roomier = {"tsr_medium_pages_insert_kernel", "tsr_roomy_pages_insert_kernel"})                   \
  F(rest_combine, .grid = {.block_items = 1, .blocks_max = TSR_REST_BLOCKS})                                           \
  F(spans, .grid = {.threads = TSR_SPAN_THREADS, .block_items = 1}, .fit = fit_span,                                   \
    .roomier = {"tsr_roomy_pages_spans_kernel"})                                                                       \
  F(told_spans, .grid = {.threads = TSR_SPAN_THREADS, .block_items = 1}, .fit = fit_span,                              \
    .roomier = {"tsr_roomy_pages_told_spans_kernel"})                                                                  \
  F(spans_answer, .grid = {.threads = TSR_SPAN_THREADS, .block_items = 1})                                             \
  F(spans_list, .grid = {.threads = TSR_SPAN_THREADS, .block_items = 1})                                               \
  F(lists, .range = tsr_lists_make, .grid = {.threads = TSR_LISTS_THREADS, .block_items = 1}, .fit = fit_staged)       \
  F(large_count, .grid = {.threads = TSR_LISTS_THREADS, .blocks = TSR_REST_BLOCKS})                                    \
  F(large_sum, .grid = {.threads = TSR_LISTS_THREADS, .block_items = 1})                                               \
  F(large_place, .grid = {.threads = TSR_LISTS_THREADS, .blocks = TSR_REST_BLOCKS},                                    \
    .roomier = {"tsr_roomy_pages_large_place_kernel"})                                                                 \
  F(build, .range = tsr_build_make, .grid = {.threads = TSR_BUILD_THREADS, .block_items = 1}, .fit = fit_build)        \
  F(any_count, .range = tsr_lists_any_count)                                                                           \
  F(any_begin, .range = tsr_lists_any_begin)                                                                           \
  F(any_place, .range = tsr_lists_any_place)

#define TSR_PAGES_ENUM(op, ...) TSR_PAGES_##op,
enum { TSR_PAGES_OPS(TSR_PAGES_ENUM) TSR_PAGES_STEPS };

enum {
  TSR_PAGES_FAN_LOG2 = 9,          /* bins of a segment: more would make a tile's runs shorter than a sector */
  TSR_PAGES_REGIONS = 8,           /* regions with bytes for each bucket that make up a page */
  TSR_PAGES_THREADS = 384,         /* of a block that works on a page */
  TSR_PAGES_LOCK_BYTES = 1024,     /* key locks of a page that a block holds */
  TSR_PAGES_COUNTED_ITEMS = 16000, /* the most items of a page whose slots are given out by counting, */
  TSR_PAGES_COUNTED = 4,           /* ... the buckets that one asks for, */
  TSR_PAGES_FIRSTS = 3072,         /* ... those that wait for another bucket, */
  TSR_PAGES_LEFT = 1024,           /* ... those for which no bucket had room, */
  TSR_PAGES_EVICTORS = 192,        /* ... and the threads that evict other pairs for these */
  TSR_SET_THREADS = 512,           /* of a block that makes items of one key one, */
  TSR_SET_BLOCKS = 2,              /* ... how many work on a multiprocessor, */
  TSR_SET_ROWS = 4,                /* ... and the items that a thread has in hand */
  TSR_SPAN_THREADS = 384,          /* of a block that combines items of a span, */
  TSR_SPAN_BLOCKS = 4,             /* ... how many work on a multiprocessor, */
  TSR_SPAN_ROWS = 4,               /* ... the items that a thread has in hand, */
  TSR_SPAN_ROOM = 4096,            /* ... the keys that they are combined for, */
  TSR_SPAN_JUDGED = TSR_SPAN_ROWS * TSR_SPAN_THREADS, /* ... and the first items, which show whether keys repeat */
  TSR_JUDGED_LOG2 = 12,                               /* items of the smallest sample that shows whether keys repeat, */
  TSR_JUDGED_MOST_LOG2 = 16,                          /* ... and of the largest */
  TSR_UNORDERED_THREADS = 224, /* of a block that inserts items as they came: of four, each thread has 72 registers */
  TSR_HOT_SAMPLE_LOG2 = 14,
  TSR_HOT_SAMPLE = 1 << TSR_HOT_SAMPLE_LOG2, /* items of a batch in which keys that repeat are looked for, */
  TSR_HOT_SAMPLE_SLOTS_LOG2 = 15,            /* ... where they are counted, */
  TSR_HOT_SAMPLE_SLOTS = 1 << TSR_HOT_SAMPLE_SLOTS_LOG2,
  TSR_HOT_LEAST = 6,       /* ... how often a key must be among them to be hot, */
  TSR_HOT_MOST = 16,       /* ... and how often one of the hot keys must be, for there to be any; */
  TSR_HOT_KEYS = 512,      /* the most hot keys, */
  TSR_HOT_SLOTS_LOG2 = 10, /* ... and where a block looks for them */
  TSR_HOT_SLOTS = 1 << TSR_HOT_SLOTS_LOG2,
  TSR_LISTS_THREADS = 512,  /* of a block that makes the lists of a page */
  TSR_LISTS_STAGED = 6144,  /* items that it has in hand at a time */
  TSR_LARGE_PAGE = 1 << 16, /* items of a page that is worked on by all blocks */
  TSR_COUNT_THREADS = 1024, /* of a block that counts the items of all pages, */
  TSR_COUNT_BLOCKS = 256,   /* ... and how many do so: two on each multiprocessor of a large GPU */
  TSR_TILE_THREADS = 512,
  TSR_ANSWER_ROWS = 4,                                    /* answers that a thread returns, */
  TSR_ANSWER_ITEMS = TSR_ANSWER_ROWS * TSR_BLOCK_THREADS, /* ... and a block */
  TSR_REST_BLOCKS = 1024,                                 /* for work on few items */
  TSR_CPU_TILE_ITEMS = 1 << 16                            /* items that a thread of the CPU orders at once */
};

/* Items that a block of the GPU orders at once: as many as its threads have registers for. */
#define TSR_TILE_ITEMS(item_bytes) (((item_bytes) > 8 ? 10u : 11u) * (uint32_t)TSR_TILE_THREADS)

/* Memory for an item's bin between counting and moving it; a wide item is hashed again, for want of memory. */
#define TSR_TILE_BIN_BYTES(item_bytes) ((item_bytes) > 8 ? 0u : 2u)

#define TSR_NO_SET 0xFFFFFFFFu /* of a piece: a key is reserved, or there are too many keys */

/* A region's part of a page: where it is in the memory of the block, and in the table. */
typedef struct tsr_page_region {
  char *table;
  uint32_t offset_bytes, page_bytes, fill; /* fill: the byte of an empty table, four times */
} tsr_page_region;

/* Keys that repeat so often that they take another way, as a table of TSR_HOT_SLOTS that all blocks read. keys NULL:
 * there are none. Arrays have the table's widths. */
typedef struct tsr_hot {
  void *sampled_keys; /* TSR_HOT_SAMPLE_SLOTS, as sampled_counts */
  uint32_t *sampled_counts;
  uint32_t *count;                       /* of hot keys */
  void *keys, *values;                   /* of each slot; empty ones have the empty key */
  void *unplaced_keys, *unplaced_values; /* what random access returns for the pairs of keys and values */
  uint8_t *results;
  uint32_t *told;   /* whether one of the key's items has got the result of its pair */
  uint64_t *begins; /* 2: the slots, as one page */
  uint32_t *rest;   /* 2: that page, if it has pairs */
} tsr_hot;

/* ---- What steps read --------------------------------------------------------------------------- */

/* Each stage has an argument of its own. bulk: the state, keys, values, n and results of the items in the order of the
 * step; in insert the state is that of a page. */

/* Items in segments, which are bins of the partition, pages or lists. The tiles of a segment are the parts of it that a
 * block works on. */
typedef struct tsr_segments {
  uint64_t count;
  const uint64_t
      *begins;     /* count + 1: where each begins, then where the last one ends; NULL: there is one, of all items */
  uint64_t *ends;  /* where each ends; NULL: where the next one begins. An end before its beginning: it has no items */
  uint64_t *tiles; /* count + 1: how many tiles come before each; NULL if begins is NULL */
  const uint32_t
      *idle; /* not 0 where judge has left all items to random access, so that there are none; NULL: there are */
} tsr_segments;

/* Items in one order. */
typedef struct tsr_columns {
  void *keys, *values;
  uint32_t *places;   /* of each item, its number in the caller's order; NULL: nobody wants to know */
  uint32_t are_pairs; /* 1: keys and values are pairs from keys on (bulk.are_pairs) */
} tsr_columns;

/* count, count_pages, bins, scatter, spilled */
typedef struct tsr_order_step {
  tsr_bulk bulk;
  const uint32_t *places; /* of each item, its number in the caller's order; NULL: it is the item's own number here */
  tsr_segments segments;
  uint32_t shift;    /* an item's bin is its page >> shift */
  uint32_t fan_log2; /* bins of a segment */
  uint64_t bins;     /* of all segments; the last one may have fewer; count_pages: pages */
  uint64_t pages, tile_items;
  const uint64_t *page_ends; /* bins: pages + 1: where the items of each page begin when all passes are done */
  uint64_t *counts;          /* bins + 1: items of each; summed up, where each begins */
  uint64_t *cursors;         /* bins: where the next item of each goes */
  /* the items that each page has room for, if they were not counted; 0: they were. A bin that would get more than it
   * has room for gets none, and *spills is 1. spilled: cursors are of the first pass's bins, segments of the last's */
  uint64_t room;
  uint32_t *spills;
  tsr_columns to;
  tsr_hot hot; /* whose items the first pass takes out */
} tsr_order_step;

/* tiles */
typedef struct tsr_tiles_step {
  tsr_segments segments;
  uint32_t tile_items;
} tsr_tiles_step;

/* answer: from bulk.results, bulk.keys and bulk.unplaced_values, by places. results say TSR_RESULT_INSERTED everywhere:
 * that is most of them, and a write to a random byte is dear. */
typedef struct tsr_answer_step {
  tsr_bulk bulk;
  const uint32_t *places;
  const uint64_t *end; /* how many items there are; those of hot keys have other answers. 0 where the batch is idle */
  uint8_t *results;
  void *unplaced_keys, *unplaced_values;
} tsr_answer_step;

/* Whether a batch is left to random access: if, in a sample of 2^sample_log2 items, at least `from` and less than `before`, or
 * at least `hot`, have the key of another one that is counted already. sample_log2: 0: it is not, without a sample. */
typedef struct tsr_judged {
  uint32_t from, before, hot, sample_log2;
} tsr_judged;

#define TSR_JUDGED_SLOTS(sample_log2) (4u << (sample_log2))

/* judge, unordered */
typedef struct tsr_judge_step {
  tsr_bulk bulk;
  tsr_judged judged;
  uint32_t *counted; /* 2: repeats in the sample, and the blocks that have counted theirs, each less one */
  uint32_t *seen;    /* TSR_JUDGED_SLOTS: a set of hashes */
  uint32_t *idle;    /* 1: all items are left to random access, so that the order and the pages have none; 0: none is */
  uint32_t *told;    /* a notice for the host (tsr_notice), odd for 1; NULL: none */
  uint32_t ticket;
} tsr_judge_step;

/* sample, choose, hot_answer */
typedef struct tsr_hot_step {
  tsr_bulk bulk;
  tsr_hot hot;
  const uint32_t *idle; /* choose: as in tsr_segments; then no key is hot */
  uint8_t *results;
  void *unplaced_keys, *unplaced_values;
} tsr_hot_step;

/* mark: segments are pages */
typedef struct tsr_mark_step {
  tsr_bulk bulk;
  tsr_segments segments;
  double page_blocks;   /* of the filter, for each page */
  uint32_t block_bytes; /* of the blocks that the keys of a page can name */
} tsr_mark_step;

/* distinct, merge: segments are pages, their tiles are called pieces. The pairs of a piece go to `to`, where its items
 * begin; those of a page go where its first piece's items do. */
typedef struct tsr_group_step {
  tsr_bulk bulk;
  tsr_segments pages;
  tsr_columns to;
  uint32_t *made; /* pairs of each piece, or TSR_NO_SET */
  uint32_t set_room, piece_items;
} tsr_group_step;

/* spans, told_spans: pieces of the batch; places of `to` say of how many items each pair was made. spans_answer: gives
 * the items of bulk the answers for their pairs. spans_list: bulk.spans become one list in
 * `to`. */
typedef struct tsr_spans_step {
  tsr_bulk bulk;
  uint32_t piece_log2; /* items of a span, as a power of two */
  uint32_t *made;      /* pairs of each span, or TSR_AS_IT_CAME */
  tsr_columns to;
  /* what each item became part of (spans.cuh), and where in its span the pairs of a block's set are, TSR_SPAN_ROOM per
   * block */
  uint32_t *parts, *set_places;
} tsr_spans_step;

/* What a block needs to hold a page. */
typedef struct tsr_page_room {
  tsr_page_region region[TSR_PAGES_REGIONS];
  uint32_t regions, bytes;      /* of all of them, with the page's locks */
  uint32_t counts_offset_bytes; /* where a block counts the slots that it gives out; 0: it does not */
  uint32_t is_clear;            /* 1: the table is empty, so that pages need not be read */
} tsr_page_room;

/* bar, insert, rest, rest_combine */
typedef struct tsr_place_step {
  tsr_bulk bulk;
  tsr_segments pages;
  const uint32_t *made; /* as in tsr_group_step, whose pairs are then the items; NULL: items are as they came */
  tsr_page_room room;   /* insert */
  uint32_t *barred;     /* pages: 1 where a page must be worked on by random access; NULL: none */
  uint32_t *rest;       /* how many pages gave up, then which */
  uint32_t is_hot;      /* rest: 1: items are the slots of hot keys */
} tsr_place_step;

/* lists, large_, any_ */
typedef struct tsr_lists_step {
  tsr_bulk bulk;
  tsr_segments pages;
  uint32_t *offsets;     /* lists + 1: the scheme's region */
  uint32_t *large;       /* how many pages have more than TSR_LARGE_PAGE items, then which */
  uint32_t *list_counts; /* of each of these the TSR_PAGE_LISTS lists: items; then where the next one goes */
  uint64_t *counts;      /* any_: of lists, then where the next item of each goes */
} tsr_lists_step;

/* build: the keys of bulk are in the order of pages */
typedef struct tsr_build_step {
  tsr_bulk bulk;
  tsr_segments pages;
} tsr_build_step;

TSR_STEPS(tsr_pages_steps)

#endif

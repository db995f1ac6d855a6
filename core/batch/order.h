/* SPDX-License-Identifier: Apache-2.0
 *
 * A batch brought into the order of its keys' pages: the first step of inserts by pages and of lists that are made in
 * bulk. Read next: place.h, lists.h.
 */
#ifndef TSR_BATCH_ORDER_H
#define TSR_BATCH_ORDER_H

#include "core/batch/plan.h"
#include "core/batch/steps.h"
#include "core/batch/work.h"
#include "core/batch/zones.h"

enum { TSR_PASSES_MAX = 4, TSR_COPIES = 2 };

/* How a batch is partitioned, and its scratch memory. */
typedef struct tsr_partition {
  const tsr_composition *composition;
  uint64_t pages, tile_items;
  uint32_t passes, log2_pages;
  struct {
    bool answers; /* what becomes of each item */
    bool spare;   /* the copy that the last pass has not written */
    bool pairs;   /* what follows can read keys and values that are stored as pairs */
    bool runs;    /* the first pass is one of runs.h, by which answers go back */
    bool guesses; /* keys are distinct: pages get about as many items each, and need not be counted */
  } wants;
  tsr_columns copy[TSR_COPIES]; /* passes go to and fro between them */
  uint64_t room;                /* items that each page has room for, where they are not counted; 0: they are */
  uint64_t *counts[TSR_PASSES_MAX], *cursors[TSR_PASSES_MAX];
  uint64_t *tiles;
  uint32_t *idle; /* where judge.cuh writes whether the order has no items; NULL: it has all */
  uint32_t *rest; /* what a stage leaves, then what spills */
  struct {
    tsr_zone_step step;
    uint8_t *told; /* results in its order, if it is not the only pass */
  } first;         /* wants.runs: the first pass */
  tsr_hot hot;     /* keys whose items the first pass takes out; none unless the caller says so */
} tsr_partition;

/* Whether the caller of an insert wants to know what became of each item. */
bool tsr_wants_answers(const tsr_bulk *bulk);
/* What the plan of a batch of n items for a store as it is depends on. */
tsr_batch tsr_store_batch(const tsr_store *store, uint32_t op, uint64_t n, bool has_answers);
tsr_partition tsr_partition_plan(const tsr_composition *composition, uint64_t pages, bool has_answers);
/* Lays the scratch memory for n items out, beginning at *used_bytes, or only counts its bytes. */
void tsr_partition_lay_out(tsr_partition *partition, uint64_t n, char *memory, uint64_t *used_bytes);
/* Enqueues the count of the tiles of all segments, of tile_items items each. */
tsr_status tsr_work_tiles(const tsr_work *b, const tsr_segments *segments, uint64_t tile_items) TSR_MUST_CHECK;

/* A batch in its order, as the stages that follow read it. */
typedef struct tsr_ordered {
  tsr_bulk bulk;
  const uint32_t *places; /* of each item, its number in the caller's order; NULL: nobody wants to know */
  tsr_segments pages;     /* or lists */
  uint64_t tile_items;    /* of a full tile */
  uint32_t *rest;         /* pages + 1: for what a stage leaves */
} tsr_ordered;

/* Enqueues the partition of bulk. */
tsr_status tsr_partition_run(const tsr_partition *partition, const tsr_work *b, const tsr_bulk *bulk,
                             tsr_ordered *ordered) TSR_MUST_CHECK;
/* Enqueues the insert of the items of pages that had no room for them, after all other pages have been made. */
tsr_status tsr_partition_spilled(const tsr_partition *partition, const tsr_work *b, const tsr_bulk *bulk)
    TSR_MUST_CHECK;
/* Enqueues the answers for each item of bulk, as far as the caller wants them. told: the results, in the order of
 * `ordered`. */
tsr_status tsr_partition_answer(const tsr_partition *partition, const tsr_work *b, const tsr_bulk *bulk,
                                const tsr_ordered *ordered, const uint8_t *told) TSR_MUST_CHECK;

#endif

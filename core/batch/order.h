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

/* Items that one piece of a batch may have: their numbers have 32 bits. */
#define TSR_PIECE_MAX (1ull << 31)

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
  uint32_t *rest, *spills;
  tsr_zone_step first; /* wants.runs: the first pass */
  uint8_t *told;       /* ... and results in its order, if it is not the only one */
  tsr_hot hot;         /* keys whose items the first pass takes out; none unless the caller says so */
} tsr_partition;

/* Whether the caller of an insert wants to know what became of each item. */
bool tsr_wants_answers(const tsr_bulk *bulk);
/* What the plan of a batch of n items for a store as it is depends on. */
tsr_batch tsr_store_batch(const tsr_store *store, uint32_t op, uint64_t n, bool has_answers);
tsr_partition tsr_partition_plan(const tsr_composition *composition, uint64_t pages, bool has_answers);
/* Takes the next bytes of a block of memory, or only counts them if there is none. */
void *tsr_partition_take(char *memory, uint64_t *used_bytes, uint64_t bytes);
/* Lays the scratch memory for n items out, beginning at *used_bytes, or only counts its bytes. */
void tsr_partition_lay_out(tsr_partition *partition, uint64_t n, char *memory, uint64_t *used_bytes);
/* Allocates, in the stream's order, what `lay_out` asks for n items, or for fewer if memory is short, down to about
 * 2^20: *piece. *memory: NULL if there is none even for these. *bytes: of *memory. lay_out is called with the memory at
 * the end. */
tsr_status tsr_partition_allocate(const tsr_work *work, void *job,
                                  uint64_t (*lay_out)(void *job, uint64_t n, char *memory), uint64_t n, uint64_t *piece,
                                  uint64_t *bytes, void **memory) TSR_MUST_CHECK;

/* argument: of the step. */
tsr_status tsr_work_step(const tsr_work *b, uint32_t step, const void *argument, uint64_t n) TSR_MUST_CHECK;
/* An operation TSR_BULK_ by random access; and an insert, after which offers for keys that were present are
 * combined. */
tsr_status tsr_work_random(const tsr_work *b, uint32_t op, const tsr_bulk *bulk) TSR_MUST_CHECK;
tsr_status tsr_work_insert(const tsr_work *b, const tsr_bulk *bulk) TSR_MUST_CHECK;
tsr_status tsr_work_zero(const tsr_work *b, void *memory, uint64_t bytes) TSR_MUST_CHECK;
tsr_status tsr_work_sum(const tsr_work *b, uint64_t *numbers, uint64_t n) TSR_MUST_CHECK;
/* Part `begin` to before `begin + n` of all arrays of a batch. */
tsr_bulk tsr_work_part(const tsr_work *b, const tsr_bulk *bulk, uint64_t begin, uint64_t n);

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

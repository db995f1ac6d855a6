/* SPDX-License-Identifier: Apache-2.0
 *
 * A batch brought into the order of its keys' pages: what inserts page by page, and lists that are made in bulk, begin
 * with. Read next: place.h, lists.h.
 */
#ifndef TSR_BATCH_ORDER_H
#define TSR_BATCH_ORDER_H

#include "core/batch/plan.h"
#include "core/batch/steps.h"
#include "core/table/handle.h"

/* Items that one piece of a batch may have: their numbers have 32 bits. */
#define TSR_PIECE_MAX (1ull << 31)

enum { TSR_PASSES_MAX = 4, TSR_COPIES = 2 };

/* The items in one order. */
typedef struct tsr_columns {
  void *keys, *values;
  uint32_t *places; /* of each item, its number in the batch; NULL: nobody wants to know */
} tsr_columns;

/* How a batch is partitioned, and its scratch memory. */
typedef struct tsr_partition {
  const tsr_composition *composition;
  uint64_t pages, tile_items;
  uint32_t passes, log2_pages;
  bool has_answers; /* what becomes of each item is wanted */
  bool has_spare;   /* the copy that the last pass has not written is wanted, too */
  bool takes_pairs; /* what follows can read keys and values that lie as pairs */
  bool may_guess;   /* keys are distinct, so that a page gets as many items as others, and need not count them */
  tsr_columns copy[TSR_COPIES]; /* passes go to and fro between them */
  uint64_t room;                /* items that each page has room for, where they are not counted; 0: they are */
  uint64_t *counts[TSR_PASSES_MAX], *cursors[TSR_PASSES_MAX];
  uint64_t *tiles;
  uint32_t *rest, *spills;
  tsr_hot hot; /* keys whose items the first pass takes out; none unless the caller says so */
} tsr_partition;

/* Whether the caller of an insert is told what became of each item. */
bool tsr_wants_answers(const tsr_bulk *bulk);
/* The plan of a batch of n items for a store as it is. */
tsr_stages tsr_store_plan(const tsr_store *store, uint32_t op, uint64_t n, bool has_answers, bool is_recorded);
tsr_partition tsr_partition_plan(const tsr_composition *composition, uint64_t pages, bool has_answers);
/* Takes the next bytes of a block of memory, or only counts them where there is none. */
void *tsr_partition_take(char *memory, uint64_t *used_bytes, uint64_t bytes);
/* Lays the scratch memory for n items out, beginning at *used_bytes, or only counts its bytes. */
void tsr_partition_lay_out(tsr_partition *partition, uint64_t n, char *memory, uint64_t *used_bytes);
/* Allocates, in the stream's order, what `lay_out` asks for n items, or for fewer if the memory is short, down to some
 * 2^20: *piece. *memory: NULL where there is none even for these. *bytes: of *memory. lay_out: called with memory, too, at last. */
tsr_status tsr_partition_allocate(const tsr_table *table, void *job,
                                  uint64_t (*lay_out)(void *job, uint64_t n, char *memory), uint64_t n, void *stream,
                                  uint64_t *piece, uint64_t *bytes, void **memory) TSR_MUST_CHECK;

/* Whatever works on a batch: where, and who hears of errors. */
typedef struct tsr_work {
  const tsr_table *t;
  const tsr_store *store;
  void *stream;
  tsr_error *error;
} tsr_work;

tsr_status tsr_work_step(const tsr_work *b, uint32_t step, const tsr_pages *pages, uint64_t n) TSR_MUST_CHECK;
tsr_status tsr_work_zero(const tsr_work *b, void *memory, uint64_t bytes) TSR_MUST_CHECK;
tsr_status tsr_work_sum(const tsr_work *b, uint64_t *numbers, uint64_t n) TSR_MUST_CHECK;
/* Part `begin` to before `begin + n` of all arrays of a batch. */
tsr_bulk tsr_work_part(const tsr_work *b, const tsr_bulk *bulk, uint64_t begin, uint64_t n);

/* Enqueues the count of the tiles of all segments; *tiles: how many there are at most, since each may end with a short
 * one. */
tsr_status tsr_partition_tiles(const tsr_work *b, const tsr_pages *pages, uint64_t *tiles) TSR_MUST_CHECK;

/* Enqueues the partition of bulk; *pages is then the argument of the steps that follow. */
tsr_status tsr_partition_run(const tsr_partition *partition, const tsr_work *b, const tsr_bulk *bulk, tsr_pages *pages)
    TSR_MUST_CHECK;
/* Enqueues the insert of the items of pages that had no room for them, after all other pages have been made. */
tsr_status tsr_partition_spilled(const tsr_partition *partition, const tsr_work *b, const tsr_bulk *bulk)
    TSR_MUST_CHECK;
/* Enqueues what the caller learns of each item, where he wants to; results are in pages->bulk. */
tsr_status tsr_partition_answer(const tsr_partition *partition, const tsr_work *b, const tsr_bulk *bulk,
                                tsr_pages *pages) TSR_MUST_CHECK;

#endif

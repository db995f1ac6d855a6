/* SPDX-License-Identifier: Apache-2.0
 *
 * A store, which is the memory and the code of a table, and work on it: the argument of every stage of a batch. Read
 * next: plan.h.
 */
#ifndef TSR_BATCH_WORK_H
#define TSR_BATCH_WORK_H

#include "core/compose/backend.h"

/* The operations of a composition. Sizes and seeds are state, so stores that differ only in these share it. */
typedef struct tsr_code {
  tsr_composition *composition; /* what it was made for; freed with it */
  tsr_program *program;
  uint32_t holders;
  uint32_t plain, others; /* a bit for each TSR_BULK_ whose code is there for batches as they come, and for others */
} tsr_code;

/* What a rebuild makes new: a composition, its memory and its operations. All zero: nothing to free. */
typedef struct tsr_store {
  tsr_composition *composition; /* its own, or its code's */
  tsr_code *code;
  tsr_state state;
  bool is_clear; /* nothing was inserted since it was cleared */
  uint64_t
      held; /* keys that were inserted since then, including erased ones, or loaded; replays of graphs are not counted */
  bool in_graph; /* a CUDA graph has a call on it: it may change without a call */
  /* Since slots were counted last: keys that calls may have erased and inserted, and how many more of both it takes
   * until more than half as many slots can be erased as empty. erased_slots: how many there were then (clean.h). */
  uint64_t may_erase, may_insert, slack, erased_slots;
  uint64_t paged_keys;         /* that were inserted page by page, */
  uint64_t paged_bytes;        /* ... and the most scratch memory that one call took for it */
  uint64_t zoned_keys;         /* of finds and erases that were worked on in the order of zones */
  tsr_extent *extents;         /* with growth = split: TSR_REGIONS_MAX for each role, of the regions with buckets */
  struct tsr_windows *windows; /* NULL: all regions are on the device; otherwise those with pages are in host memory */
} tsr_store;

/* The context of work on a store: where, in which order, and where errors go. */
typedef struct tsr_work {
  const tsr_backend *backend;
  tsr_device *device;
  tsr_store *store;
  void *stream;
  tsr_error *error; /* may be NULL */
} tsr_work;

/* Items that one piece of a batch may have: their numbers have 32 bits. */
#define TSR_PIECE_MAX (1ull << 31)

/* Takes the next bytes of a block of memory, or only counts them if there is none. */
void *tsr_work_take(char *memory, uint64_t *used_bytes, uint64_t bytes);
/* Allocates, in the stream's order, what `lay_out` asks for n items, or for fewer if memory is short, down to about
 * 2^20: *piece. *memory: NULL if there is none even for these. *bytes: of *memory. lay_out is called with the memory at
 * the end. */
tsr_status tsr_work_allocate(const tsr_work *work, void *job, uint64_t (*lay_out)(void *job, uint64_t n, char *memory),
                             uint64_t n, uint64_t *piece, uint64_t *bytes, void **memory) TSR_MUST_CHECK;

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

#endif

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

#endif

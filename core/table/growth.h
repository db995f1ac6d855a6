/* SPDX-License-Identifier: Apache-2.0
 *
 * One piece of a growing insert: its arrays, and the pairs that have no slot yet. Shared by growth.c and settle.c.
 */
#ifndef TSR_GROWTH_H
#define TSR_GROWTH_H

#include "core/table/stage.h"

/* A pair without a slot; `index` is the input at which it would be handed back. */
typedef struct tsr_unplaced {
  uint64_t key, value, index;
} tsr_unplaced;

typedef struct tsr_piece {
  tsr_table *table;
  void *stream;
  uint32_t op;     /* insert or obtain */
  uint32_t policy; /* what that does with a present key */
  uint8_t present; /* the result that tells so */
  uint64_t n;
  uint64_t key_bytes, value_bytes;
  /* device memory of n items; keys and values may be the caller's */
  const void *keys, *values;
  void *some_keys, *some_values, *back_keys, *back_values;
  uint8_t *results;
  /* host memory of n items */
  void *host_keys, *host_values; /* to and from the device */
  uint8_t *codes;                /* what the last launch answered */
  uint8_t *own;                  /* what an input's own key gets, should no pair be handed back at it */
  tsr_unplaced *unplaced;
  uint64_t unplaced_count;
} tsr_piece;

/* Launches `op` (also find, contains, erase) for the keys, and values where there are any, of the first `count`
 * unplaced pairs; writes codes, and back_keys and back_values on the device. */
tsr_status tsr_piece_run(tsr_piece *piece, uint32_t op, uint64_t count, tsr_tally *tally, tsr_error *error)
    TSR_MUST_CHECK;
/* Copies n items from the device to host_keys and host_values; values may be NULL. */
tsr_status tsr_piece_fetch(tsr_piece *piece, uint64_t n, const void *keys, const void *values, tsr_error *error)
    TSR_MUST_CHECK;
uint64_t tsr_piece_item(const void *items, uint64_t bytes, uint64_t i);

/* Where a scheme moves pairs, a key of the piece may have been handed back and then inserted again in one launch, as if
 * it were new. Leaves one pair of each such key, in the table or unplaced, with a value that the policy allows, and
 * corrects `own`. Afterwards the keys of unplaced pairs are distinct, and none is in the table. */
tsr_status tsr_piece_settle(tsr_piece *piece, tsr_error *error) TSR_MUST_CHECK;

/* tsr_insert (op = TSR_BULK_insert) or the inserts of tsr_find_or_insert (TSR_BULK_find_or_insert), with growth = double;
 * arguments checked. */
tsr_status tsr_insert_growing(tsr_table *table, uint32_t op, uint64_t n, const void *keys, const void *values,
                              const tsr_call *call, tsr_error *error) TSR_MUST_CHECK;

#endif

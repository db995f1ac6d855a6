/* SPDX-License-Identifier: Apache-2.0
 *
 * A piece of the items that are inserted into a table which grows. Pairs of a piece that come back are inserted
 * again, into a larger table. Read next: piece.c; growth.c, which cuts the pieces.
 *
 * A scheme may hand back pairs below the capacity. Where pairs stay in place, such a pair is its own input's, and is
 * inserted again after the capacity was doubled. Where a scheme moves pairs, it may be one that was in the table
 * before, and a later input of the same launch may have inserted its key as if it were new. So a piece of such a
 * table begins with a find, and the keys that come back are undone. The rebuild leaves their pairs out and adds what
 * they had before the piece, and their inputs are inserted again.
 */
#ifndef TSR_TABLE_PIECE_H
#define TSR_TABLE_PIECE_H

#include "core/table/enlarge.h"

/* A key of any width, with upper bits of 0. */
typedef unsigned __int128 tsr_piece_key;

/* A pair to insert, or that came back, and the input of the piece whose result it decides. */
typedef struct tsr_piece_item {
  tsr_piece_key key;
  uint64_t value, index;
} tsr_piece_item;

/* A key that came back, and what the table held of it before the piece. */
typedef struct tsr_piece_undone {
  tsr_piece_key key;
  uint64_t value;
  bool was_there;
} tsr_piece_undone;

/* Device memory for the items of a piece, in one block. */
typedef struct tsr_piece_device {
  void *block;
  void *results, *back_keys, *back_values, *again_keys, *again_values;
  void *olds, *old_values; /* what a find before the insert says */
} tsr_piece_device;

/* Host memory for as many. */
typedef struct tsr_piece_host {
  void *block;
  void *keys, *values, *old_values;
  uint8_t *codes;   /* what the caller learns */
  uint8_t *answers; /* of one launch */
  uint8_t *were;    /* of the find before it */
  tsr_piece_item *now, *back, *next;
  tsr_piece_undone *undone;
} tsr_piece_host;

/* What works on one piece after another. */
typedef struct tsr_pieces {
  tsr_growth growth;
  uint32_t op;
  uint32_t key_bytes, value_bytes;
  const tsr_request *asked; /* with the caller's arrays for answers */
  bool undoes;              /* a launch may hand back pairs that are not its inputs', and a key that is present stays */
  tsr_piece_device device;
  tsr_piece_host host;
  uint64_t back_count, next_count;
} tsr_pieces;

/* Items in device memory. */
typedef struct tsr_piece {
  uint64_t n;
  const void *keys, *values;
  const uint32_t *counts; /* of how many items of the caller's each was made; NULL: of one */
  uint64_t first;         /* the first item's place in the caller's arrays */
} tsr_piece;

/* Memory for pieces of at most n items. All that a piece can need is there before the first launch: later, a pair could
 * get lost for want of memory. The caller closes them, on failure too. */
tsr_status tsr_pieces_open(tsr_pieces *pieces, uint64_t n, tsr_error *error) TSR_MUST_CHECK;
tsr_status tsr_pieces_close(tsr_pieces *pieces, tsr_error *error) TSR_MUST_CHECK;

/* Inserts a piece and tells the caller what became of its items. Whatever fails, its pairs are accounted for and told of.
 * *inserted: new pairs. Waits. */
tsr_status tsr_piece_insert(tsr_pieces *pieces, const tsr_piece *piece, uint64_t *inserted, tsr_error *error)
    TSR_MUST_CHECK;

/* How many of the first n keys have so few new ones among them that `room` pairs have room. 0: not even the first one.
 * Waits. */
tsr_status tsr_piece_measure(tsr_pieces *pieces, uint64_t n, const void *keys, uint64_t room, uint64_t *size,
                             tsr_error *error) TSR_MUST_CHECK;

#endif

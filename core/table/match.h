/* SPDX-License-Identifier: Apache-2.0
 *
 * The matches of a table's pairs in another table, with which each join begins. Read next: match.c; join.c writes
 * rows.
 */
#ifndef TSR_TABLE_MATCH_H
#define TSR_TABLE_MATCH_H

#include "core/batch/match.h"
#include "core/batch/windows.h"

enum { TSR_JOINING_MEMORIES = 26 };

/* A side that is arrays of the device in place of a table. */
typedef struct tsr_joining_side {
  uint64_t n;
  const void *keys, *values;
  uint32_t value_bytes;
} tsr_joining_side;

typedef struct tsr_joining {
  tsr_table *left,
      *right; /* right: NULL: each left pair has a row, and no match. With sides: both are the table of the call */
  const tsr_joining_side *sides[2]; /* NULL: the pairs of the tables */
  void *stream;
  uint32_t rows_as; /* TSR_ROWS_ */
  bool keys_once;   /* a left key has its rows once, however many pairs it has */
  bool wants_rows, wants_left_values, wants_right_values;
  tsr_error *error;
  tsr_page_run run;  /* the pages that are to meet; end = 0: all */
  tsr_match_out out; /* of tsr_joining_meet */
  bool has_no_pages; /* tsr_joining_meet found that they do not meet page by page */
  /* Of tsr_joining_match: */
  tsr_match match; /* for steps that write rows */
  uint64_t rows;
  uint64_t rows_of_large; /* match_arrays.c: of pages that were joined by an index */
  const char *way;        /* how the matches were found, a phrase */
  void *memory[TSR_JOINING_MEMORIES];
  uint32_t memories;
} tsr_joining;

/* Finds the matches, the way that suits the tables; waits. The caller frees them, on failure too. */
tsr_status tsr_joining_match(tsr_joining *joining) TSR_MUST_CHECK;
/* Tables that are in host memory, one or both, meet run by run of *pages pages; 0: they do not. match_run: the same
 * as match for these pages alone; *matched: false: all of them have to go another way. */
tsr_status tsr_joining_run_pages(const tsr_joining *joining, uint64_t *pages) TSR_MUST_CHECK;
tsr_status tsr_joining_match_run(tsr_joining *joining, tsr_page_run run, bool *matched) TSR_MUST_CHECK;
/* Writes the rows to `out` as they are found, if the tables are joined page by page. *met: whether they are; then `rows`
 * says how many rows there are, also where there is no room for all of them. Otherwise there may be parts of rows in `out`. */
tsr_status tsr_joining_meet(tsr_joining *joining, bool *met) TSR_MUST_CHECK;
void tsr_joining_free(tsr_joining *joining);
/* Says to the steps where the pairs of a side are, one after the other. */
void tsr_joining_columns(tsr_joining *joining, uint32_t side, uint64_t count, const void *keys, const void *values);
/* Takes memory for where rows begin, none of each left pair at first, or for how many there are. */
tsr_status tsr_joining_take_rows(tsr_joining *joining) TSR_MUST_CHECK;
/* match_arrays.c: cuts the left pairs of pages into tiles. may: all left pairs have their rows, and nobody asks where. */
bool tsr_joining_may_cut(const tsr_joining *joining);
tsr_status tsr_joining_cut(tsr_joining *joining) TSR_MUST_CHECK;
tsr_status tsr_joining_take_counters(tsr_joining *joining) TSR_MUST_CHECK;
/* Has pages meet, whose counters were taken: finds matches, or writes rows to `out`. Waits. *matched: false: a page has too many
 * pairs, or a pair is in none. */
tsr_status tsr_joining_meet_pages(tsr_joining *joining, bool *matched) TSR_MUST_CHECK;
/* The same by an index that was made, in which left pairs look their keys up. */
tsr_status tsr_joining_probe(tsr_joining *joining, bool *matched) TSR_MUST_CHECK;
/* The pairs of a side, in no order: written out of a table, or the arrays that it is. */
tsr_status tsr_joining_write_out(tsr_joining *joining, uint32_t side) TSR_MUST_CHECK;
/* match_arrays.c: makes pages of both sides, and matches them page by page. *matched: false: another way is better. */
tsr_status tsr_joining_match_arrays(tsr_joining *joining, bool *matched) TSR_MUST_CHECK;

/* Device memory that is freed with them, NULL for no bytes; `what` it is for, in an error. Its bytes are `byte`, if that is
 * not negative. */
tsr_status tsr_joining_take(tsr_joining *joining, const char *what, uint64_t bytes, int byte, void **memory)
    TSR_MUST_CHECK;
/* Enqueues a step over n items. */
tsr_status tsr_joining_step(const tsr_joining *joining, uint32_t step, uint64_t n) TSR_MUST_CHECK;
/* Copies something to the host, and waits for it. */
tsr_status tsr_joining_read(const tsr_joining *joining, const void *from, void *to, uint64_t bytes) TSR_MUST_CHECK;
/* Sums n numbers up and waits for the sum. */
tsr_status tsr_joining_sum(const tsr_joining *joining, uint64_t *numbers, uint64_t n, uint64_t *sum) TSR_MUST_CHECK;

#endif
